//! Runs one program under a plugin's grant, and owns whatever that program starts.
//!
//! It refuses to start what the grant does not name, to hand on an environment, a
//! descriptor or a terminal of the host's, to keep more output than the cap, and to leave
//! a process behind: everything that a command started ends with it, whether the command
//! ends, runs out of time, is given up by its caller, or loses its host to `kill -9`.
//!
//! On Linux the command runs below a small supervisor, the *shim*: the host's own program
//! executed again. Being the reaper of its descendants, it also finds those that left the
//! process group (`setsid`, double forks). Neither the host nor an embedder's process
//! becomes a reaper. Elsewhere, and with [`Shim::None`], only the process group is ended:
//! a descendant that left it lives on, and so does the group if the host is killed.
//!
//! What no shim can do: a command runs as the same user, so it could kill its shim (what
//! is left in the shim's session is ended then, and the call fails), and programs of
//! another user (set-uid) cannot be killed.

mod admit;
mod capture;
mod group;
mod program;
#[cfg(target_os = "linux")]
mod shim;
mod supervisor;
mod surroundings;
#[cfg(target_os = "linux")]
mod table;
mod watch;
mod wire;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use bytes::Bytes;

use crate::{policy::ProcessGrant, tool::ToolError};

pub use capture::Captured;

/// From TERM to KILL. Long enough to remove a lock file, short enough to wait for.
const GRACE: Duration = Duration::from_millis(500);

/// The argument that makes a program the shim; see [`run_child_if_asked`].
const MARK: &str = "__run-child";

/// Starts programs. Cheap to clone; holds no process.
#[derive(Debug, Clone)]
pub struct Launcher {
    shim: Shim,
}

/// What owns the descendants of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shim {
    /// The running program, executed again: its `main` begins with [`run_child_if_asked`].
    CurrentExe,
    /// Another program whose `main` begins so. An absolute path.
    Path(PathBuf),
    /// Nothing: the process group alone is ended, descendants that left it are not.
    None,
}

/// What to run.
#[derive(Debug, Clone)]
pub struct Request {
    /// The program and its arguments.
    pub program: Program,
    /// Absolute, or relative to the first granted folder, which is the default.
    pub cwd: Option<String>,
    /// Added to the allow-listed environment of the host.
    pub env: Vec<(String, String)>,
    /// The command's standard input; absent: end of file at once.
    pub stdin: Option<Bytes>,
    /// The command is ended after this time.
    pub timeout: Duration,
}

/// A program by its arguments, or a line for the shell.
#[derive(Debug, Clone)]
pub enum Program {
    /// `argv[0]` names the program. No shell reads it.
    Argv(Vec<String>),
    /// Text for `/bin/sh -c`; needs `shell = true` in the grant.
    Shell(String),
}

/// A command that was started, and has ended.
#[derive(Debug, Clone)]
pub struct Finished {
    /// How the program itself ended.
    pub ending: Ending,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// Both, in the order in which they arrived, under one more cap of the same size.
    pub combined: Captured,
    /// Until the program itself ended.
    pub elapsed: Duration,
    /// Descendants that outlived the program and were killed. Not known without a shim.
    pub leftovers: u32,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that the host did not send.
    Signaled {
        /// Its number.
        number: u32,
        /// Such as `SIGKILL`.
        name: String,
    },
    /// The host ended it at its timeout.
    TimedOut,
}

impl Launcher {
    /// A launcher whose commands are owned by `shim`. Outside Linux every shim is
    /// [`Shim::None`].
    #[must_use]
    pub fn new(shim: Shim) -> Self {
        Self { shim }
    }

    /// Runs one command to its end. `host_env` is the environment of the host, of which
    /// the command sees the allow-listed names only.
    ///
    /// Needs a tokio runtime with I/O and time. Dropping the future ends the command and
    /// all its descendants (TERM, KILL 500 ms later), whether or not the runtime lives.
    ///
    /// # Errors
    ///
    /// Nothing was started: `unauthorized`, `not_found`, `not_a_folder`, `not_executable`,
    /// `arguments`, `limit` (arguments too long for the system), `unavailable` (the system
    /// has no room for a process now), `internal` (the shim does not work). In one case
    /// `internal` means that the command ran: its shim was killed, and nobody knows how it
    /// ended; the detail says so.
    pub async fn run(
        &self,
        grant: &ProcessGrant,
        host_env: &[(String, String)],
        request: Request,
    ) -> Result<Finished, ToolError> {
        let job = admit::job(grant, host_env, &request)?;
        let started = supervisor::start(&self.shim)?;
        let limits = watch::Limits {
            timeout: request.timeout,
            output: grant.output,
        };
        watch::run(started, &job, request.stdin.unwrap_or_default(), limits).await
    }
}

/// The shim, if this process was asked to be it (its first argument is `__run-child`).
/// Call it in the first line of `main`, before there is a thread or a runtime, and return
/// the exit code where there is one:
///
/// ```no_run
/// # use std::process::ExitCode;
/// fn main() -> ExitCode {
///     if let Some(code) = toolgate::process::run_child_if_asked() {
///         return code;
///     }
///     ExitCode::SUCCESS
/// }
/// ```
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "a shim has no face above it: it is told by this argument alone"
)]
pub fn run_child_if_asked() -> Option<ExitCode> {
    if std::env::args_os().nth(1)? != MARK {
        return None;
    }
    #[cfg(target_os = "linux")]
    let served = shim::serve().is_ok();
    #[cfg(not(target_os = "linux"))]
    let served = false;
    Some(if served {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
