//! The log of this program: standard error only, quiet unless asked.

use std::io::{self, IsTerminal as _};

use clap::ValueEnum;
use tracing_subscriber::{
    EnvFilter, Layer as _, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use super::{environment::wants_colour, problem::Problem};

/// How lines on standard error look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// For people.
    Text,
    /// One object a line, for programs that collect logs.
    Json,
}

impl LogFormat {
    /// A terminal is read by a person, anything else by a program.
    pub(super) fn for_whoever_reads() -> Self {
        if io::stderr().is_terminal() {
            Self::Text
        } else {
            Self::Json
        }
    }
}

/// Keeps the log going; what it collected is sent when this is dropped.
#[derive(Debug)]
pub(super) struct Log {
    #[cfg(feature = "otel")]
    _telemetry: Option<super::telemetry::Telemetry>,
}

/// `filter` is `TOOLGATE_LOG` and beats `-v`.
pub(super) fn start(verbose: u8, filter: Option<&str>, format: LogFormat) -> Result<Log, Problem> {
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
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_target(false);
    let lines = match format {
        LogFormat::Json => lines.json().boxed(),
        LogFormat::Text => lines
            .with_ansi(io::stderr().is_terminal() && wants_colour())
            .without_time()
            .boxed(),
    };
    let log = tracing_subscriber::registry().with(lines.with_filter(filter));
    #[cfg(feature = "otel")]
    let (layer, telemetry) = super::telemetry::start()?.unzip();
    #[cfg(feature = "otel")]
    let log = log.with(layer);
    // Somebody else's log stays in force, where an embedder calls this `main`.
    let _ = log.try_init();
    Ok(Log {
        #[cfg(feature = "otel")]
        _telemetry: telemetry,
    })
}
