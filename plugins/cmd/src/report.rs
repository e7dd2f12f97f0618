//! From how a command ended to the tool's result: an exit code is a result whatever its
//! number, a timeout and a signal are failures that carry the output so far.

use std::time::Duration;

use serde::Serialize;
use toolgate_sdk::{
    Failure, ToolError,
    process::{Ending, Finished},
    schemars::{self, JsonSchema},
};

/// What a command did.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Report {
    status: Status,
    /// With `exited`.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// With `signaled`, such as SIGKILL.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    stdout: String,
    stderr: String,
    /// Both, in order of arrival.
    output: String,
    /// Whether the middle of one of them is cut.
    truncated: bool,
    /// Of both, cut or not.
    total_bytes: u64,
    elapsed_ms: u64,
    /// Processes that outlived the command and were killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    leftovers: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Exited,
    Signaled,
    Timeout,
}

/// `timeout` is what the command had.
pub(crate) fn report(done: Finished, timeout: Duration) -> Result<Report, Failure> {
    let note = note(&done);
    let (status, exit_code, signal, error) = match done.ending {
        Ending::Exited(code) => (Status::Exited, Some(code), None, None),
        Ending::Signaled(signal) => {
            let error = signaled(&signal.name);
            (Status::Signaled, None, Some(signal.name), Some(error))
        }
        Ending::TimedOut => (Status::Timeout, None, None, Some(timed_out(timeout))),
    };
    let report = Report {
        status,
        exit_code,
        signal,
        truncated: done.stdout.truncated || done.stderr.truncated || done.combined.truncated,
        total_bytes: done
            .stdout
            .total_bytes
            .saturating_add(done.stderr.total_bytes),
        stdout: done.stdout.text,
        stderr: done.stderr.text,
        output: done.combined.text,
        elapsed_ms: done.elapsed_ms,
        leftovers: (done.leftovers > 0).then_some(done.leftovers),
        note,
    };
    match error {
        None => Ok(report),
        Some(error) => Err(Failure::from(error).with_value(&report)),
    }
}

fn timed_out(timeout: Duration) -> ToolError {
    let seconds = timeout.as_secs_f64();
    ToolError::new("timeout", format!("command ran past {seconds} s and was killed")).hint(
        "raise `timeout` (seconds, at most 600), do less at once, or check whether it waits for input or never \
         ends; its output so far is in the value",
    )
}

fn signaled(signal: &str) -> ToolError {
    let hint = match signal {
        "SIGKILL" => "it may have used too much memory, or killed itself: do less at once",
        "SIGSEGV" | "SIGBUS" | "SIGABRT" | "SIGFPE" | "SIGILL" => {
            "the program crashed: its arguments or input may have caused it; see stderr"
        }
        "SIGPIPE" => "it wrote to a pipe that nobody read any more",
        _ => "another process ended it, or it ended itself",
    };
    ToolError::new("signaled", format!("command was ended by {signal}"))
        .hint(format!("{hint}; its output so far is in the value"))
}

/// What a reader would otherwise take for the command's own doing.
fn note(done: &Finished) -> Option<String> {
    let mut notes = Vec::new();
    if done.leftovers > 0 {
        let what = if done.leftovers == 1 {
            "1 process that the command left running was"
        } else {
            &format!(
                "{} processes that the command left running were",
                done.leftovers
            )
        };
        notes.push(format!(
            "{what} killed: nothing that a command starts outlives it"
        ));
    }
    if done.stdout.truncated || done.stderr.truncated || done.combined.truncated {
        notes.push("the middle of the output is cut: filter it, or write it to a file and read that in parts".into());
    }
    if done.stdout.invalid_utf8 || done.stderr.invalid_utf8 {
        notes.push("the output is not all UTF-8: bytes that are not are shown as U+FFFD".into());
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}
