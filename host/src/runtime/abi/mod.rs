//! Which version of the plugin world a component speaks, and the translation of each
//! version into the host's own words. A version is a folder here and under `wit/`.

pub(super) mod v0_1;

use crate::tool::ToolSpec;

/// The newest world that this host speaks.
pub const WORLD: &str = "toolgate:plugin/plugin@0.1.0";

/// The export that tells the version.
pub(super) const TOOL_EXPORT: &str = "toolgate:tool/tool@";
/// The versions of that export that this host can call.
pub(super) const OFFERED: [&str; 1] = ["0.1.0"];

/// What a plugin says about itself, before any of it is believed.
#[derive(Debug, Clone)]
pub struct Described {
    /// Its own name; has to equal the file's stem.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// What it is for.
    pub description: String,
    /// Its tools; those whose definition cannot be read are `Err`, with the name as given.
    pub tools: Vec<Result<ToolSpec, (String, String)>>,
    /// Capabilities by name, with the reason for the operator.
    pub capabilities: Vec<(String, String)>,
}
