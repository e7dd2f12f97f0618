//! What one generation of a plugin may touch: built once, lent to each of its calls.

use std::{collections::BTreeSet, fmt, io, path::PathBuf, sync::Arc};

use wasmtime_wasi::{FsPerms, WasiCtx, filesystem::WasiFilesystemCtx};

use super::{beneath::Roots, quota::Quota};
use crate::{
    policy::PluginGrants,
    process::Launcher,
    tool::{PluginName, Reason, ToolError},
};

/// The doors of the sandbox. A plugin asks for them by name, the operator grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// Folders.
    Fs,
    /// A private folder; the only one that needs no grant.
    Data,
    /// Programs.
    Process,
    /// Other tools.
    Tools,
    /// Environment variables.
    Env,
    /// Outgoing HTTP.
    Http,
}

impl Capability {
    /// The word in `describe` and in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fs => "fs",
            Self::Data => "data",
            Self::Process => "process",
            Self::Tools => "tools",
            Self::Env => "env",
            Self::Http => "http",
        }
    }

    /// The capability of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [
            Self::Fs,
            Self::Data,
            Self::Process,
            Self::Tools,
            Self::Env,
            Self::Http,
        ]
        .into_iter()
        .find(|capability| capability.as_str() == name)
    }

    fn example(self) -> &'static str {
        match self {
            Self::Fs => "fs = [{ host = \"workspace\", mode = \"ro\" }]",
            Self::Data => "(none needed)",
            Self::Process => "process = { programs = [\"git\"] }",
            Self::Tools => "tools = [\"files_*\"]",
            Self::Env => "env = { NAME = \"value\" }",
            Self::Http => "(nothing: this host has no HTTP for plugins yet)",
        }
    }
}

/// What a sandbox is made of.
#[derive(Debug)]
pub struct SandboxParts {
    /// Whose it is.
    pub plugin: PluginName,
    /// What the plugin asked for.
    pub requested: BTreeSet<Capability>,
    /// What the operator granted.
    pub grants: PluginGrants,
    /// Its private folder, if it asked for one.
    pub data: Option<Arc<Quota>>,
    /// The operator's settings for it, a JSON object as text.
    pub settings: String,
    /// Starts programs.
    pub launcher: Arc<Launcher>,
    /// The host's environment, from which programs get what is granted.
    pub host_env: Arc<[(String, String)]>,
    /// File calls on the current thread instead of a pool of threads.
    pub inline_io: bool,
}

/// What one generation of a plugin may touch.
pub struct Sandbox {
    pub(super) plugin: PluginName,
    pub(super) requested: BTreeSet<Capability>,
    pub(super) grants: PluginGrants,
    pub(super) settings: String,
    pub(super) launcher: Arc<Launcher>,
    pub(super) host_env: Arc<[(String, String)]>,
    pub(super) roots: Arc<Roots>,
    pub(super) inline_io: bool,
    /// Of the private folder, which is the last that is opened.
    pub(super) quota: Option<Arc<Quota>>,
    filesystem: WasiFilesystemCtx,
}

/// A granted folder that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the granted folder {folder}: {error}", folder = .folder.display())]
pub struct SandboxError {
    folder: PathBuf,
    #[source]
    error: io::Error,
}

impl Sandbox {
    /// Nothing granted: for `describe`.
    ///
    /// # Errors
    ///
    /// Never: there is no folder to open.
    pub fn closed(plugin: PluginName) -> Result<Self, SandboxError> {
        Self::open(SandboxParts {
            plugin,
            requested: BTreeSet::new(),
            grants: PluginGrants::default(),
            data: None,
            settings: "{}".into(),
            launcher: Arc::new(Launcher::new(crate::process::Shim::None)),
            host_env: Arc::new([]),
            inline_io: true,
        })
    }

    /// Opens the granted folders.
    ///
    /// # Errors
    ///
    /// If one cannot be opened.
    pub fn open(parts: SandboxParts) -> Result<Self, SandboxError> {
        let mut grants = parts.grants;
        if !parts.requested.contains(&Capability::Fs) {
            grants.fs.clear();
        }
        if !parts.requested.contains(&Capability::Process) {
            grants.process = None;
        }
        if !parts.requested.contains(&Capability::Tools) {
            grants.tools.clear();
        }
        if !parts.requested.contains(&Capability::Env) {
            grants.env.clear();
        }
        let failed = |folder: PathBuf, error| SandboxError { folder, error };
        let roots = Roots::open(&grants.fs).map_err(|(folder, error)| failed(folder, error))?;

        let mut builder = WasiCtx::builder();
        builder.allow_blocking_current_thread(parts.inline_io);
        for grant in &grants.fs {
            let perms = if grant.writable {
                FsPerms::ReadWrite
            } else {
                FsPerms::ReadOnly
            };
            builder
                .preopened_dir(&grant.host, &grant.guest, perms)
                .map_err(|error| {
                    failed(grant.host.clone(), io::Error::other(format!("{error:#}")))
                })?;
        }
        if let Some(data) = &parts.data {
            let folder = data.folder();
            builder
                .preopened_dir(folder, "/data", FsPerms::ReadWrite)
                .map_err(|error| {
                    failed(folder.to_owned(), io::Error::other(format!("{error:#}")))
                })?;
        }
        let filesystem = builder.build().filesystem().clone();

        Ok(Self {
            plugin: parts.plugin,
            requested: parts.requested,
            grants,
            settings: parts.settings,
            launcher: parts.launcher,
            host_env: parts.host_env,
            roots: Arc::new(roots),
            inline_io: parts.inline_io,
            quota: parts.data,
            filesystem,
        })
    }

    /// Whether the plugin asked for it: without that, a grant gives nothing.
    #[must_use]
    pub fn requests(&self, capability: Capability) -> bool {
        self.requested.contains(&capability)
    }

    /// The folders were opened once, so a call only clones handles.
    pub(super) fn filesystem(&self) -> WasiFilesystemCtx {
        self.filesystem.clone()
    }

    /// Which of the two keys is missing, and the line that would add it.
    #[must_use]
    pub fn refusal(&self, capability: Capability) -> ToolError {
        let (plugin, name) = (&self.plugin, capability.as_str());
        if self.requested.contains(&capability) {
            ToolError::new(
                Reason::Unauthorized,
                format!("capability `{name}` is not granted to plugin `{plugin}`"),
            )
            .hint(format!(
                "the operator would add to [plugins.{plugin}.grants]: {}",
                capability.example()
            ))
        } else {
            ToolError::new(
                Reason::Unauthorized,
                format!("plugin `{plugin}` does not ask for capability `{name}`"),
            )
            .hint(format!(
                "its author would add `{name}` to the plugin's capabilities"
            ))
        }
    }
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox")
            .field("plugin", &self.plugin)
            .field("requested", &self.requested)
            .field("grants", &self.grants)
            .finish_non_exhaustive()
    }
}
