//! How the operator's commands reach a host that runs: a Unix socket in the data folder,
//! which belongs to its owner alone. One line of JSON asks, lines of JSON answer.

mod client;
mod server;
mod socket;

use serde::{Deserialize, Serialize};

use super::view::PluginsView;

pub(super) use client::{HostLink, Lines, running};
pub(super) use server::Control;

/// What may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Request {
    /// Take over plugins and configuration as they are now.
    Reload,
    /// Show the plugins.
    Plugins,
    /// Show events until the asker leaves.
    Events,
}

/// The one answer to everything but `events`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Plugins(PluginsView),
    Reloaded(ReloadedView),
    Refused(String),
}

/// What a reload came to.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ReloadedView {
    /// Why the configuration in its file is not used.
    pub(super) error: Option<String>,
    /// Sections of the configuration that need a new start.
    pub(super) needs_restart: Vec<String>,
    pub(super) now: PluginsView,
}
