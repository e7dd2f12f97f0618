//! What the host and the supervisor of a command say to each other, over one socket.
//!
//! The supervisor says [`Report::Ready`]. The host sends the [`Job`] (length, JSON, then
//! the bytes of standard input) and keeps its sending side open; closing that side means
//! *stop*, and so the death of the host does too. Reports are lines of JSON.

use std::{
    ffi::OsString,
    io::{self, Read, Write},
    os::{fd::BorrowedFd, unix::process::CommandExt as _},
    process::Command,
    time::Duration,
};

use serde::{Deserialize, Serialize};

/// One command, admitted and resolved.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    /// Absolute path of the file to execute.
    pub(super) program: OsString,
    /// Never empty.
    pub(super) argv: Vec<String>,
    /// The whole environment.
    pub(super) env: Vec<(String, String)>,
    /// Absolute path of the working folder.
    pub(super) cwd: OsString,
    /// Bytes of standard input that follow.
    pub(super) stdin: u64,
}

impl Job {
    /// The length and the JSON; the bytes of standard input come after it.
    pub(super) fn encode(&self) -> io::Result<Vec<u8>> {
        let json = serde_json::to_vec(self)?;
        let length = u32::try_from(json.len()).map_err(io::Error::other)?;
        Ok([&length.to_le_bytes(), json.as_slice()].concat())
    }

    pub(super) fn receive(socket: &mut impl Read) -> io::Result<Self> {
        let mut length = [0; 4];
        socket.read_exact(&mut length)?;
        let mut json = Vec::new();
        socket
            .take(u32::from_le_bytes(length).into())
            .read_to_end(&mut json)?;
        Ok(serde_json::from_slice(&json)?)
    }

    /// In a process group of its own, without standard streams as yet.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if let Some((name, rest)) = self.argv.split_first() {
            command.arg0(name).args(rest);
        }
        command
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.cwd)
            .process_group(0);
        command
    }
}

/// What a supervisor tells the host, in this order.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// The program that was executed is a supervisor.
    Ready,
    /// The command is executed next. Said before, since a command that kills its shim at
    /// once would otherwise pass for one that never ran.
    Starting,
    /// It could not be executed. The last report.
    NotStarted { errno: i32 },
    /// The program itself has ended.
    Ended(End),
    /// Nothing of the command is left. The last report.
    Done { leftovers: u32 },
}

/// How a program ended.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) enum End {
    Exited(i32),
    Signaled(i32),
}

impl Report {
    /// A host that is gone hears nothing; the supervisor goes on, since it has to clean up.
    pub(super) fn send(&self, mut socket: impl Write) {
        if let Ok(mut line) = serde_json::to_vec(self) {
            line.push(b'\n');
            let _ = socket.write_all(&line);
        }
    }

    pub(super) fn not_started(error: &io::Error) -> Self {
        Self::NotStarted {
            errno: error.raw_os_error().unwrap_or_default(),
        }
    }
}

/// How a child that nobody has waited for ended; `None` while it runs. It stays a zombie,
/// so that neither its id nor its group's can come to mean another process.
pub(super) fn peek(pid: rustix::process::Pid) -> Option<End> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    let status = waitid(WaitId::Pid(pid), options).ok()??;
    let end = status.exit_status().map(End::Exited);
    end.or_else(|| status.terminating_signal().map(End::Signaled))
}

/// Waits until `fds` have something to read, at most `timeout`; says for each whether.
pub(super) fn readable<const N: usize>(
    fds: [BorrowedFd<'_>; N],
    timeout: Option<Duration>,
) -> [bool; N] {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut polled = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    match poll(&mut polled, timeout.as_ref()) {
        Ok(_) => polled.map(|fd| !fd.revents().is_empty()),
        // Interrupted: nothing was readable as yet.
        Err(_) => [false; N],
    }
}
