//! Stays with one command from its job to the last byte of its output: reads both
//! streams while it runs, ends it at its timeout, and never waits for longer than that
//! and a fixed time, whatever the command, its descendants or its shim do.

use std::{future::pending, time::Duration};

use bytes::Bytes;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    net::unix::{OwnedReadHalf, OwnedWriteHalf, pipe::Receiver},
    time::{Instant, sleep_until, timeout},
};

use super::{
    Ending, Finished, GRACE, admit,
    capture::{Capture, Captured, Whole},
    supervisor::Started,
    wire::{End, Job, Report},
};
use crate::tool::{Reason, ToolError};

/// How long a program may take to say that it is a shim. It is the first thing one says;
/// this is for a machine that swaps.
const HELLO: Duration = Duration::from_secs(10);

/// For what is still in the pipes when nothing of the command is left. More is coming
/// only where a stranger was handed the pipe.
const DRAIN: Duration = Duration::from_millis(500);

/// From the end of the program, or from KILL, until the host goes without the shim's last
/// word. The shim itself goes on; it is seen off elsewhere.
const LAST_WORD: Duration = Duration::from_millis(1_500);

/// As much as a pipe holds by default: one read empties it.
const CHUNK: usize = 64 << 10;

/// What bounds one command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) timeout: Duration,
    /// Bytes kept of each stream.
    pub(super) output: usize,
}

/// # Errors
///
/// See [`super::Launcher::run`].
pub(super) async fn run(
    started: Started,
    job: &Job,
    stdin: Bytes,
    limits: Limits,
) -> Result<Finished, ToolError> {
    let Started {
        process,
        socket,
        stdout,
        stderr,
    } = started;
    let header = job
        .encode()
        .map_err(|error| internal(format!("the job cannot be sent: {error}")))?;
    let begun = Instant::now();
    let (reports, sender) = socket.into_split();
    let mut reports = BufReader::new(reports).lines();
    hello(&mut reports).await?;

    let mut stdout = Stream::new(stdout, limits.output);
    let mut stderr = Stream::new(stderr, limits.output);
    let mut both = Capture::new(limits.output);
    let mut fate = Fate::default();
    // Holds the sending side of the socket; dropping it says *stop*.
    let mut line = Some(Box::pin(hold(sender, header, stdin)));
    let mut listening = true;
    let mut deadline = begun.checked_add(limits.timeout);
    let mut give_up = None;

    while listening || stdout.is_open() || stderr.is_open() {
        tokio::select! {
            report = reports.next_line(), if listening => match report.ok().flatten() {
                Some(text) => match serde_json::from_str(&text) {
                    Ok(Report::Ready) | Err(_) => {}
                    Ok(Report::Starting) => fate.started = true,
                    Ok(Report::NotStarted { errno }) => return Err(admit::not_executed(job, errno)),
                    Ok(Report::Ended(end)) => {
                        fate.end = Some((end, begun.elapsed()));
                        deadline = None;
                        give_up = Some(Instant::now() + LAST_WORD);
                    }
                    Ok(Report::Done { leftovers }) => {
                        fate.leftovers = Some(leftovers);
                        give_up = Some(Instant::now() + DRAIN);
                    }
                },
                None => {
                    listening = false;
                    deadline = None;
                    give_up = Some(Instant::now() + DRAIN);
                }
            },
            length = stdout.read() => stdout.keep(length, &mut both),
            length = stderr.read() => stderr.keep(length, &mut both),
            () = at(deadline) => {
                fate.timed_out = true;
                line = None;
                process.wake();
                deadline = None;
                give_up = Some(Instant::now() + GRACE + LAST_WORD);
            }
            () = at(give_up) => break,
            () = async { if let Some(line) = &mut line { line.as_mut().await } }, if line.is_some() => {}
        }
    }
    let (ending, elapsed) = fate.ending(begun)?;
    Ok(Finished {
        ending,
        stdout: stdout.finish(&mut both),
        stderr: stderr.finish(&mut both),
        combined: both.finish(),
        elapsed,
        leftovers: fate.leftovers.unwrap_or_default(),
    })
}

/// An embedder who forgot the first line of `main` would otherwise run a second copy of
/// the whole program, and hand it the job.
async fn hello(reports: &mut Lines<BufReader<OwnedReadHalf>>) -> Result<(), ToolError> {
    let first = timeout(HELLO, reports.next_line()).await;
    let first = first.ok().and_then(Result::ok).flatten();
    match first.map(|line| serde_json::from_str(&line)) {
        Some(Ok(Report::Ready)) => Ok(()),
        _ => Err(internal(
            "nothing was started: the program that was executed as the shim of commands does not act as one; \
             its `main` has to begin with `run_child_if_asked()`",
        )),
    }
}

/// Sends the job, then keeps the line open. A supervisor that does not listen is gone,
/// and its reports end too.
async fn hold(mut sender: OwnedWriteHalf, header: Vec<u8>, stdin: Bytes) {
    if sender.write_all(&header).await.is_ok() {
        let _ = sender.write_all(&stdin).await;
    }
    pending::<()>().await;
    drop(sender);
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}

fn internal(detail: impl Into<String>) -> ToolError {
    ToolError::new(Reason::Internal, detail).hint("only the operator can repair this")
}

/// What is known of the command.
#[derive(Debug, Default)]
struct Fate {
    started: bool,
    end: Option<(End, Duration)>,
    timed_out: bool,
    leftovers: Option<u32>,
}

impl Fate {
    fn ending(&self, begun: Instant) -> Result<(Ending, Duration), ToolError> {
        match self.end {
            _ if self.timed_out => Ok((Ending::TimedOut, begun.elapsed())),
            Some((End::Exited(code), elapsed)) => Ok((Ending::Exited(code), elapsed)),
            Some((End::Signaled(number), elapsed)) => Ok((signaled(number), elapsed)),
            None if self.started => Err(internal(
                "the command ran, but its shim was killed: how it ended is not known, and what it started may \
                 still run",
            )),
            None => Err(internal(
                "nothing was started: the shim of commands ended before it had begun",
            )),
        }
    }
}

fn signaled(number: i32) -> Ending {
    // Real-time signals have numbers only.
    let name = signal_hook::low_level::signal_name(number)
        .map_or_else(|| format!("signal {number}"), str::to_owned);
    Ending::Signaled {
        number: number.unsigned_abs(),
        name,
    }
}

/// One output stream.
struct Stream {
    /// Absent after its end.
    pipe: Option<Receiver>,
    buffer: Vec<u8>,
    capture: Capture,
    whole: Whole,
}

impl Stream {
    fn new(pipe: Receiver, cap: usize) -> Self {
        Self {
            pipe: Some(pipe),
            buffer: vec![0; CHUNK],
            capture: Capture::new(cap),
            whole: Whole::default(),
        }
    }

    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// The bytes that are now in the buffer; 0 at the end. Waits forever after it.
    /// Nothing is lost when it is dropped.
    async fn read(&mut self) -> usize {
        match &mut self.pipe {
            Some(pipe) => pipe.read(&mut self.buffer).await.unwrap_or(0),
            None => pending().await,
        }
    }

    fn keep(&mut self, length: usize, both: &mut Capture) {
        if length == 0 {
            self.pipe = None;
        }
        let bytes = &self.buffer[..length];
        self.capture.push(bytes);
        self.whole.pass(bytes, both);
    }

    fn finish(self, both: &mut Capture) -> Captured {
        self.whole.finish(both);
        self.capture.finish()
    }
}
