//! `cmd_run`: from arguments to the host's request.

use std::{collections::BTreeMap, time::Duration};

use toolgate_sdk::{
    Context, Failure, ToolError, arguments,
    process::{self, Finished, Program, Request},
    tool,
};

use crate::report::{self, Report};

/// Long enough for a build step or a test, short enough to notice a command that hangs.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// What a command gets less than the call has left, so that its output still arrives: the
/// host takes half a second from TERM to KILL.
const RESERVE_MS: u64 = 1_500;

#[arguments]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    /// A line for the shell (`sh -c`). Give this or `argv`, not both.
    #[serde(default)]
    #[schemars(with = "String", extend("format" = "shell-command"))]
    command: Option<String>,
    /// A program and its arguments; no shell reads them, so nothing needs quoting. Give this or `command`, not both.
    #[serde(default)]
    #[schemars(with = "Vec<String>", length(min = 1))]
    argv: Option<Vec<String>>,
    /// The folder to run in: inside a granted folder, by default the first of them. Relative paths start there.
    #[serde(default)]
    #[schemars(with = "String")]
    cwd: Option<String>,
    /// Seconds, or text such as "90s" or "5m" (default 30 s, at most 600 s). Then the command is ended.
    #[serde(default)]
    #[schemars(
        with = "f64",
        extend("format" = "duration", "exclusiveMinimum" = 0, "maximum" = 600)
    )]
    timeout: Option<f64>,
    /// The command's standard input. Without it the command sees the end of its input at once.
    #[serde(default)]
    #[schemars(with = "String")]
    stdin: Option<String>,
    /// Variables to add to the granted environment; only granted names are taken.
    #[serde(default)]
    env: BTreeMap<String, String>,
}

/// Runs a command to its end, with `command` (a line for the shell) or `argv` (a program and its arguments, no shell).
///
/// Gives `status`, `exit_code`, `stdout`, `stderr`, `output` (both, in order of arrival), `truncated`, `total_bytes`, `elapsed_ms`. An exit code other than 0 is a result, not a failure: read it. A timeout (`reason: timeout`) and a signal (`signaled`) are failures that carry the output so far. Of long output the head and the tail are kept. There is no terminal: a program that asks gets end of file. Whatever the command leaves running is killed when it ends, so nothing can be started in the background.
#[tool(destructive, open_world, output, timeout = "10m")]
pub(crate) fn cmd_run(context: &Context, arguments: Run) -> Result<Report, Failure> {
    run(arguments, context.remaining_ms, process::run)
}

fn run(
    arguments: Run,
    remaining_ms: u64,
    host: impl FnOnce(&Request) -> Result<Finished, ToolError>,
) -> Result<Report, Failure> {
    let request = request(arguments, remaining_ms)?;
    let timeout = Duration::from_millis(request.timeout_ms);
    report::report(host(&request)?, timeout)
}

fn request(arguments: Run, remaining_ms: u64) -> Result<Request, ToolError> {
    let program = match (arguments.command, arguments.argv) {
        (Some(line), None) => Program::Shell(line),
        (None, Some(argv)) => Program::Argv(argv),
        (Some(_), Some(_)) => {
            return Err(ToolError::new("arguments", "both `command` and `argv` are given")
                .field("command")
                .hint("give one: `command` for a shell line, `argv` for a program without a shell"));
        }
        (None, None) => {
            return Err(ToolError::new("required", "neither `command` nor `argv` is given")
                .field("command")
                .hint("give one: {\"argv\": [\"ls\", \"-l\"]} or {\"command\": \"ls -l | wc -l\"}"));
        }
    };
    Ok(Request {
        program,
        cwd: arguments.cwd,
        env: arguments.env.into_iter().collect(),
        stdin: arguments.stdin.map(String::into_bytes),
        timeout_ms: timeout_ms(arguments.timeout, remaining_ms)?,
    })
}

/// What was asked for, or what the call has left, whichever is less.
fn timeout_ms(asked: Option<f64>, remaining_ms: u64) -> Result<u64, ToolError> {
    let asked = match asked {
        None => DEFAULT_TIMEOUT,
        Some(seconds) => Duration::try_from_secs_f64(seconds).map_err(|_| {
            ToolError::new("range", format!("{seconds} is no number of seconds"))
                .field("timeout")
                .hint("give a number over 0, at most 600")
        })?,
    };
    let asked = u64::try_from(asked.as_millis()).unwrap_or(u64::MAX);
    // A call that has little time left gives the command half of it.
    let left = remaining_ms
        .saturating_sub(RESERVE_MS)
        .max(remaining_ms / 2);
    Ok(asked.min(left).max(1))
}

#[cfg(test)]
mod tests;
