//! What a plugin may touch. The plugin asks for capabilities by name, the operator
//! grants in this form, the sandbox gets what both name.

use std::{collections::BTreeMap, path::PathBuf};

use crate::tool::NamePattern;

/// All grants of one plugin. The default grants nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PluginGrants {
    /// Folders, in order: relative paths resolve in the first.
    pub fs: Vec<FsGrant>,
    /// Programs.
    pub process: Option<ProcessGrant>,
    /// Tools that it may call, by glob. The caller's rights bind as well.
    pub tools: Vec<NamePattern>,
    /// Environment of the guest.
    pub env: BTreeMap<String, String>,
}

/// One folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FsGrant {
    /// Absolute, resolved.
    pub host: PathBuf,
    /// Absolute path inside the guest.
    pub guest: String,
    /// May it be changed?
    pub writable: bool,
}

/// What the `process` import may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessGrant {
    /// Names, looked up in the granted `PATH`, or absolute paths.
    pub programs: Vec<String>,
    /// Whether text for a shell is taken.
    pub shell: bool,
    /// Names of variables that are passed on from the host.
    pub env: Vec<String>,
    /// Working folders, absolute, resolved; the first is the default.
    pub cwd: Vec<PathBuf>,
    /// Bytes kept of each stream.
    pub output: usize,
}

impl Default for ProcessGrant {
    fn default() -> Self {
        Self {
            programs: Vec::new(),
            shell: false,
            env: Vec::new(),
            cwd: Vec::new(),
            output: 32_000,
        }
    }
}
