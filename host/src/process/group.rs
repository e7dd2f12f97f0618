//! The weaker supervisor, a thread of the host: it ends the command's process group. A
//! descendant that left the group lives on, and if the host is killed all of them do.
//!
//! It speaks the same words as the shim, so the host knows no difference.

use std::{
    io::{self, Read as _, Write as _},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream,
    },
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};

use super::{
    GRACE,
    wire::{Job, Report, peek, readable},
};

/// How often the command is looked at: there is no portable way to wait for a process
/// and a socket at once.
const LOOK: Duration = Duration::from_millis(5);

/// The whole life of one supervisor; the host hears of its end by the closed socket.
pub(super) fn serve(mut socket: UnixStream, stdout: OwnedFd, stderr: OwnedFd) {
    Report::Ready.send(&socket);
    let Ok(job) = Job::receive(&mut socket) else {
        return;
    };
    let Ok(stdin) = stdin(&mut socket, job.stdin) else {
        return;
    };
    Report::Starting.send(&socket);
    // A statement of its own: the command's builder holds ends of the pipes.
    let spawned = job
        .command()
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr)
        .spawn();
    match spawned {
        Ok(child) => own(child, &socket),
        Err(error) => Report::not_started(&error).send(&socket),
    }
}

/// A pipe, and a thread that fills it until the text or the command ends.
fn stdin(socket: &mut UnixStream, length: u64) -> io::Result<Stdio> {
    if length == 0 {
        return Ok(Stdio::null());
    }
    let mut text = Vec::new();
    socket.take(length).read_to_end(&mut text)?;
    let (reader, mut writer) = io::pipe()?;
    thread::Builder::new()
        .name("toolgate-stdin".into())
        .spawn(move || {
            // A command need not read all of it.
            let _ = writer.write_all(&text);
        })?;
    Ok(reader.into())
}

fn own(mut child: Child, socket: &UnixStream) {
    let main = Pid::from_child(&child);
    let mut kill_at = None;
    let end = loop {
        if let Some(end) = peek(main) {
            break Some(end);
        }
        match kill_at {
            None if readable([socket.as_fd()], Some(LOOK))[0] => {
                let _ = kill_process_group(main, Signal::TERM);
                kill_at = Some(Instant::now() + GRACE);
            }
            Some(time) if Instant::now() >= time => break None,
            None => {}
            Some(_) => thread::sleep(LOOK),
        }
    };
    let _ = kill_process_group(main, Signal::KILL);
    if let Some(end) = end {
        Report::Ended(end).send(socket);
    }
    let _ = child.wait();
    Report::Done { leftovers: 0 }.send(socket);
}
