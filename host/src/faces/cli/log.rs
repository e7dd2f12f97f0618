//! The log of this program: standard error only, quiet unless asked.

use std::io;

use tracing_subscriber::EnvFilter;

use super::{environment::wants_colour, problem::Problem};

/// `filter` is `TOOLGATE_LOG` and beats `-v`.
pub(super) fn start(verbose: u8, filter: Option<&str>) -> Result<(), Problem> {
    let level = match verbose {
        0 => "warn",
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let filter = EnvFilter::try_new(filter.unwrap_or(level)).map_err(|error| {
        Problem::usage(format!("TOOLGATE_LOG is no log filter: {error}"))
            .hint("such as `info` or `toolgate=debug`")
    })?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::IsTerminal::is_terminal(&io::stderr()) && wants_colour())
        .with_target(false)
        .without_time();
    // Somebody else's log stays in force, where an embedder calls this `main`.
    let _ = log.try_init();
    Ok(())
}
