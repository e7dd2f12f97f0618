//! Starts the supervisor of one command, and sees it off. Refuses to talk to a program
//! that does not say it is one.

use std::{
    io,
    os::{fd::OwnedFd, unix::net::UnixStream},
    thread,
};
#[cfg(target_os = "linux")]
use std::{
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command},
    time::Duration,
};

#[cfg(target_os = "linux")]
use rustix::process::{Pid, Signal, kill_process};
use tokio::net::unix::pipe::Receiver;

use super::Shim;
#[cfg(target_os = "linux")]
use super::wire;
use crate::tool::{Reason, ToolError};

/// A supervisor and the host's ends of what connects them.
#[derive(Debug)]
pub(super) struct Started {
    /// First, so that the socket is closed before anybody waits for the process.
    pub(super) socket: tokio::net::UnixStream,
    pub(super) stdout: Receiver,
    pub(super) stderr: Receiver,
    pub(super) process: Process,
}

/// # Errors
///
/// Nothing runs: `unavailable` where the system has no room, else `internal`.
pub(super) fn start(shim: &Shim) -> Result<Started, ToolError> {
    connect(shim).map_err(|error| could_not_start(shim, &error))
}

fn connect(shim: &Shim) -> io::Result<Started> {
    let (socket, far_socket) = UnixStream::pair()?;
    let (stdout, far_stdout) = io::pipe()?;
    let (stderr, far_stderr) = io::pipe()?;
    socket.set_nonblocking(true)?;
    let socket = tokio::net::UnixStream::from_std(socket)?;
    let stdout = Receiver::from_owned_fd(stdout.into())?;
    let stderr = Receiver::from_owned_fd(stderr.into())?;
    let process = execute(shim, far_socket, far_stdout.into(), far_stderr.into())?;
    Ok(Started {
        socket,
        stdout,
        stderr,
        process,
    })
}

fn could_not_start(shim: &Shim, error: &io::Error) -> ToolError {
    use rustix::io::Errno;
    let busy = [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE];
    if busy
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
    {
        return ToolError::new(
            Reason::Unavailable,
            format!("the system has no room for a process: {error}"),
        )
        .hint("try again later, or run fewer commands at once");
    }
    ToolError::new(
        Reason::Internal,
        format!("nothing was started: the shim of commands ({shim:?}) cannot be executed: {error}"),
    )
    .hint("only the operator can repair this")
}

fn in_thread(socket: UnixStream, stdout: OwnedFd, stderr: OwnedFd) -> io::Result<Process> {
    thread::Builder::new()
        .name("toolgate-group".into())
        .spawn(move || super::group::serve(socket, stdout, stderr))?;
    Ok(Process::Thread)
}

#[cfg(not(target_os = "linux"))]
fn execute(_: &Shim, socket: UnixStream, stdout: OwnedFd, stderr: OwnedFd) -> io::Result<Process> {
    in_thread(socket, stdout, stderr)
}

#[cfg(target_os = "linux")]
fn execute(
    shim: &Shim,
    socket: UnixStream,
    stdout: OwnedFd,
    stderr: OwnedFd,
) -> io::Result<Process> {
    let path = match shim {
        // Also right after the file was replaced or deleted by an update.
        Shim::CurrentExe => Path::new("/proc/self/exe"),
        Shim::Path(path) => path,
        Shim::None => return in_thread(socket, stdout, stderr),
    };
    let child = Command::new(path)
        .arg0("toolgate")
        .arg(super::MARK)
        // A command can read the environment of its parent.
        .env_clear()
        .current_dir("/")
        .stdin(OwnedFd::from(socket))
        .stdout(stdout)
        .stderr(stderr)
        .spawn()?;
    Ok(Process::Shim(Some(child)))
}

/// The supervisor itself. Dropped, it is waited for: no zombie stays.
#[derive(Debug)]
pub(super) enum Process {
    /// Ends by itself when its socket closes.
    Thread,
    #[cfg(target_os = "linux")]
    Shim(Option<Child>),
}

impl Process {
    /// A command may have stopped its shim; a stopped one would not hear *stop*.
    pub(super) fn wake(&self) {
        #[cfg(target_os = "linux")]
        if let Self::Shim(Some(child)) = self {
            let _ = kill_process(Pid::from_child(child), Signal::CONT);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.wake();
        #[cfg(target_os = "linux")]
        if let Self::Shim(child) = self
            && let Some(child) = child.take()
        {
            if wire::peek(Pid::from_child(&child)).is_some() {
                return bury(child);
            }
            // A thread, since the runtime may be gone. Where there is room for none, the
            // shim still does its work and stays a zombie until the host ends.
            let _ = thread::Builder::new()
                .name("toolgate-reap".into())
                .spawn(move || see_off(child));
        }
    }
}

/// Waits for a shim, which ends within its grace and its time to kill; twice that is
/// enough for a busy machine. One that still lives serves nobody.
#[cfg(target_os = "linux")]
fn see_off(mut child: Child) {
    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        process::{PidfdFlags, pidfd_open},
    };
    const PATIENCE: Duration = Duration::from_secs(3);
    if let Ok(handle) = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())
        && let Ok(patience) = Timespec::try_from(PATIENCE)
    {
        let ended = || PollFd::new(&handle, PollFlags::IN);
        if let Ok(0) = poll(&mut [ended()], Some(&patience)) {
            let _ = child.kill();
            let _ = poll(&mut [ended()], Some(&patience));
        }
    }
    bury(child);
}

/// A shim that was killed leaves its command behind: what is in its session is ended. The
/// shim's id, which is the session's, cannot have come to mean another one before the
/// last line.
#[cfg(target_os = "linux")]
fn bury(mut child: Child) {
    let shim = Pid::from_child(&child);
    if let Some(wire::End::Signaled(_)) = wire::peek(shim) {
        // Some may start others meanwhile; the number of rounds bounds the time.
        for _ in 0..8 {
            let mut rest = super::table::session(shim);
            rest.retain(|process| *process != shim);
            if rest.is_empty() {
                break;
            }
            for process in rest {
                let _ = kill_process(process, Signal::KILL);
            }
        }
    }
    let _ = child.wait();
}
