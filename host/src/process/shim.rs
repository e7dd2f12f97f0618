//! The process between the host and one command. It owns the command's descendants: as
//! their reaper it becomes the parent of every orphan below it, so nothing gets away.
//!
//! One thread only reaps and kills, and it kills only its own children and its own
//! command's group. The command itself stays a zombie to the end. So no process id can
//! have come to mean somebody else's process when a signal is sent to it.
//!
//! It never asks to be killed with its parent (`PDEATHSIG`): that would follow the thread
//! that started it, not the host.

use std::{
    collections::HashSet,
    fs, io,
    io::{Read as _, Seek as _},
    os::{fd::AsFd as _, unix::net::UnixStream},
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    fs::{FileType, MemfdFlags},
    process::{Pid, Signal, WaitOptions},
};
use signal_hook::consts::SIGCHLD;

use super::{
    GRACE, table,
    wire::{Job, Report, peek, readable},
};

/// From TERM to KILL for what a command leaves behind when it ends by itself. Shorter:
/// its caller waits for an answer that is already there.
const LEFTOVER_GRACE: Duration = Duration::from_millis(100);

/// How long KILL is repeated. What lives on then waits in the kernel or is another user's.
const KILL_TIME: Duration = Duration::from_secs(1);

/// Between two rounds of KILL, for children that were born between them.
const KILL_ROUND: Duration = Duration::from_millis(5);

/// The whole life of a shim.
pub(super) fn serve() -> io::Result<()> {
    let mut socket = socket()?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // A session of its own: no terminal, and no Ctrl-C from the host's.
    rustix::process::setsid()?;
    // What the host inherited without close-on-exec would go on to the command.
    close_fds::set_fds_cloexec(3, &[]);
    let child_ends = child_ends()?;

    Report::Ready.send(&socket);
    let job = Job::receive(&mut socket)?;
    let stdin = stdin(&mut socket, job.stdin)?;
    Report::Starting.send(&socket);
    match job.command().stdin(stdin).spawn() {
        Ok(child) => own(child, &socket, &child_ends),
        Err(error) => Report::not_started(&error).send(&socket),
    }
    Ok(())
}

/// Readable after a child has ended. The handler also replaces an ignored `SIGCHLD` that
/// the host may have inherited: the system would bury the children itself, unseen.
fn child_ends() -> io::Result<UnixStream> {
    let (reader, writer) = UnixStream::pair()?;
    reader.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(SIGCHLD, writer)?;
    Ok(reader)
}

/// The host, at standard input. Anything else there means that a person typed the mark.
fn socket() -> io::Result<UnixStream> {
    let stdin = io::stdin();
    let stat = rustix::fs::fstat(stdin.as_fd())?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
        return Err(io::Error::other("standard input is no socket"));
    }
    Ok(stdin.as_fd().try_clone_to_owned()?.into())
}

/// A file in memory: a command that reads its input late, or not at all, blocks nobody.
fn stdin(socket: &mut UnixStream, length: u64) -> io::Result<Stdio> {
    if length == 0 {
        return Ok(Stdio::null());
    }
    let mut file = fs::File::from(rustix::fs::memfd_create("stdin", MemfdFlags::CLOEXEC)?);
    if io::copy(&mut socket.take(length), &mut file)? < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    file.rewind()?;
    Ok(file.into())
}

enum Phase {
    Running,
    /// TERM was sent; KILL follows at this time.
    Terminating(Instant),
    /// KILL is repeated until this time.
    Killing(Instant),
}

/// Until nothing of the command is left.
fn own(mut child: Child, socket: &UnixStream, mut child_ends: &UnixStream) {
    let main = Pid::from_child(&child);
    let mut phase = Phase::Running;
    let mut ended = false;
    let mut leftovers: HashSet<Pid> = HashSet::new();
    loop {
        let strays = reap(main);
        if !ended && let Some(end) = peek(main) {
            ended = true;
            Report::Ended(end).send(socket);
        }
        if ended && strays.is_empty() {
            break;
        }
        let now = Instant::now();
        let wait = match phase {
            Phase::Running if ended => {
                // What was started in the background does not outlive the call.
                leftovers.extend(&strays);
                end(main, &strays, Signal::TERM);
                phase = Phase::Terminating(now + LEFTOVER_GRACE);
                Some(LEFTOVER_GRACE)
            }
            Phase::Running => None,
            Phase::Terminating(until) if now < until => Some(until - now),
            Phase::Terminating(_) => {
                phase = Phase::Killing(now + KILL_TIME);
                continue;
            }
            Phase::Killing(until) if now < until => {
                if ended {
                    leftovers.extend(&strays);
                }
                end(main, &strays, Signal::KILL);
                Some(KILL_ROUND)
            }
            Phase::Killing(_) => break,
        };
        // Once ending has begun the host has nothing more to say.
        let running = matches!(phase, Phase::Running);
        let stop = if running {
            readable([child_ends.as_fd(), socket.as_fd()], wait)[1]
        } else {
            readable([child_ends.as_fd()], wait);
            false
        };
        while child_ends.read(&mut [0; 64]).is_ok_and(|length| length > 0) {}
        if stop {
            end(main, &strays, Signal::TERM);
            phase = Phase::Terminating(Instant::now() + GRACE);
        }
    }
    // Where the list of children cannot be read, this is what still works.
    let _ = rustix::process::kill_process_group(main, Signal::KILL);
    let _ = child.try_wait();
    Report::Done {
        leftovers: u32::try_from(leftovers.len()).unwrap_or(u32::MAX),
    }
    .send(socket);
}

/// Sends `signal` to the command's group and to the orphans that left it.
fn end(main: Pid, strays: &[Pid], signal: Signal) {
    let _ = rustix::process::kill_process_group(main, signal);
    for stray in strays {
        let _ = rustix::process::kill_process(*stray, signal);
    }
}

/// Buries the dead children but `main`, and gives those that live. One that died after
/// the list was read may have left an orphan that the list does not hold: so the list is
/// read until nobody in it was dead.
fn reap(main: Pid) -> Vec<Pid> {
    loop {
        let mut children = children();
        children.retain(|child| *child != main);
        let listed = children.len();
        children.retain(|child| {
            matches!(
                rustix::process::waitpid(Some(*child), WaitOptions::NOHANG),
                Ok(None)
            )
        });
        if children.len() == listed {
            return children;
        }
    }
}

/// The list is exact: only this thread buries children.
fn children() -> Vec<Pid> {
    match fs::read_to_string("/proc/thread-self/children") {
        Ok(list) => list.split_whitespace().filter_map(table::id).collect(),
        // A kernel built without the list.
        Err(_) => table::children(rustix::process::getpid()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lists_know_a_child() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let id = Pid::from_child(&child);
        let listed = (
            children().contains(&id),
            table::children(rustix::process::getpid()).contains(&id),
        );
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(listed, (true, true));
    }
}
