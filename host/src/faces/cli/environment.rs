//! What this process was given: variables, the working folder, the user's folders. The
//! one file that reads them.

use std::{env, path::PathBuf};

use etcetera::BaseStrategy as _;

use super::problem::Problem;
use crate::config::Dirs;

/// All that the command line knows about where it runs.
#[derive(Debug)]
pub(super) struct Environment {
    /// Every variable that is UTF-8.
    pub(super) variables: Vec<(String, String)>,
    /// `TOOLGATE_LOG`.
    pub(super) log: Option<String>,
    /// The working folder.
    pub(super) start: PathBuf,
    /// Toolgate's folders of this user.
    pub(super) dirs: Dirs,
}

impl Environment {
    #[expect(
        clippy::disallowed_methods,
        reason = "the command line is the floor that reads them"
    )]
    pub(super) fn read() -> Result<Self, Problem> {
        let mut variables = Vec::new();
        for (name, value) in env::vars_os() {
            match (name.into_string(), value.into_string()) {
                (Ok(name), Ok(value)) => variables.push((name, value)),
                // Not passed by: a limit that nobody reads must not silently be no limit.
                (Ok(name), Err(_)) if name.starts_with("TOOLGATE_") => {
                    return Err(Problem::usage(format!(
                        "the environment variable {name} is not UTF-8"
                    ))
                    .hint("change or unset it"));
                }
                _ => {}
            }
        }
        let start = env::current_dir().map_err(|error| {
            Problem::usage(format!("the working folder cannot be found: {error}"))
                .hint("change into a folder that exists")
        })?;
        let base = etcetera::choose_base_strategy().map_err(|error| {
            Problem::usage(format!("your home folder cannot be found: {error}")).hint("set HOME")
        })?;
        let dirs = Dirs {
            config: base.config_dir().join("toolgate"),
            data: base.data_dir().join("toolgate"),
            cache: base.cache_dir().join("toolgate"),
        };
        let log = variables
            .iter()
            .find(|(name, value)| name == "TOOLGATE_LOG" && !value.is_empty());
        Ok(Self {
            log: log.map(|(_, value)| value.clone()),
            variables,
            start,
            dirs,
        })
    }
}

/// Unless the user or the terminal says otherwise (`NO_COLOR`, see no-color.org).
#[expect(
    clippy::disallowed_methods,
    reason = "the command line is the floor that reads them"
)]
pub(super) fn wants_colour() -> bool {
    let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let plain = env::var_os("TERM").is_none_or(|terminal| terminal == "dumb");
    !refused && !plain
}

/// Whether the standard variables name a collector; the exporter itself reads the rest.
#[cfg(feature = "otel")]
#[expect(
    clippy::disallowed_methods,
    reason = "the command line is the floor that reads them"
)]
pub(super) fn names_a_collector() -> bool {
    let named = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    named("OTEL_EXPORTER_OTLP_ENDPOINT") || named("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
}

/// Whether they name this service.
#[cfg(feature = "otel")]
#[expect(
    clippy::disallowed_methods,
    reason = "the command line is the floor that reads them"
)]
pub(super) fn names_the_service() -> bool {
    env::var_os("OTEL_SERVICE_NAME").is_some() || env::var_os("OTEL_RESOURCE_ATTRIBUTES").is_some()
}
