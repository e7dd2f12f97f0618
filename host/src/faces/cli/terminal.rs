//! Questions to a person: on the terminal itself, never through standard input or output,
//! which may be a model's reply or its data.

use std::{
    fs::File,
    io::{self, IsTerminal as _, Read as _, Write as _},
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    termios::{QueueSelector, tcflush},
};

/// How soon a question that nobody waits for any more is dropped.
const ROUND: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Whether a person sees questions and can answer them.
pub(super) fn is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks, and waits for a line. Only `y` and `yes` are yes. Blocks this thread, until
/// `given_up` at the latest.
pub(super) fn ask(text: &str, given_up: &AtomicBool) -> io::Result<bool> {
    let mut tty = File::options().read(true).write(true).open("/dev/tty")?;
    // What was typed before the question was seen is no answer to it.
    tcflush(&tty, QueueSelector::IFlush)?;
    tty.write_all(text.as_bytes())?;
    loop {
        if given_up.load(Ordering::Relaxed) {
            return Ok(false);
        }
        match poll(&mut [PollFd::new(&tty, PollFlags::IN)], Some(&ROUND)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => break,
            Err(error) => return Err(error.into()),
        }
    }
    let mut line = [0; 256];
    let length = tty.read(&mut line)?;
    Ok(is_yes(&line[..length]))
}

fn is_yes(line: &[u8]) -> bool {
    let line = line.trim_ascii().to_ascii_lowercase();
    line == b"y" || line == b"yes"
}

#[cfg(test)]
mod tests {
    use super::is_yes;

    #[test]
    fn only_yes_is_yes() {
        for yes in ["y\n", "Y\n", " yes \n", "YES"] {
            assert!(is_yes(yes.as_bytes()), "{yes:?}");
        }
        for no in ["", "\n", "n\n", "yy\n", "yes please\n", "\u{1b}y\n"] {
            assert!(!is_yes(no.as_bytes()), "{no:?}");
        }
    }
}
