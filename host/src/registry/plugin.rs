//! One loaded version of a plugin, and its tools.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use serde_json::Value;
use tokio::sync::Semaphore;

use super::{NativeEntry, serial::SerialLock};
use crate::{
    arguments::{OutputSchema, Parameters},
    policy::{FsGrant, Limits, ParallelSafety},
    runtime::{Capability, Component, Sandbox},
    tool::{Implementation, NamePattern, ToolSpec},
};

/// One loaded version of one plugin.
#[derive(Debug)]
pub struct Plugin {
    /// Which version.
    pub implementation: Implementation,
    /// What it is for.
    pub description: String,
    /// Its code.
    pub component: Component,
    /// What it may touch.
    pub sandbox: Arc<Sandbox>,
    /// What it asked for and was not granted.
    pub shortfall: BTreeSet<Capability>,
    /// Where its paths lie, for rules over arguments: its folders, then the working folders
    /// of its commands. Relative paths resolve in the first.
    pub folders: Vec<FsGrant>,
    /// The tools that it may call.
    pub may_call: Arc<[NamePattern]>,
    /// Its own bound on calls at once.
    pub concurrency: Option<Arc<Semaphore>>,
    /// For its serial tools; shared by all its versions.
    pub serial: SerialLock,
}

/// One tool of a plugin, ready to be called.
#[derive(Debug)]
pub struct PluginTool {
    /// Its definition, the root of the schema closed.
    pub spec: Arc<ToolSpec>,
    /// Its compiled schema.
    pub parameters: Parameters,
    /// Its compiled output schema.
    pub output: Option<OutputSchema>,
    /// Whose it is.
    pub plugin: Arc<Plugin>,
    /// What a call may use.
    pub limits: Limits,
    /// The operator's word on parallel safety, if there is one.
    pub parallel: Option<ParallelSafety>,
}

/// What a name means: where a call goes.
#[derive(Debug, Clone)]
pub enum Target {
    /// A plugin's tool.
    Plugin(Arc<PluginTool>),
    /// A tool of the host.
    Native(Arc<NativeEntry>),
}

impl Target {
    /// Its definition.
    #[must_use]
    pub fn spec(&self) -> &Arc<ToolSpec> {
        match self {
            Self::Plugin(tool) => &tool.spec,
            Self::Native(entry) => &entry.spec,
        }
    }

    /// Its compiled schema.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        match self {
            Self::Plugin(tool) => &tool.parameters,
            Self::Native(entry) => &entry.parameters,
        }
    }

    /// Its compiled output schema.
    #[must_use]
    pub fn output(&self) -> Option<&OutputSchema> {
        match self {
            Self::Plugin(tool) => tool.output.as_ref(),
            Self::Native(entry) => entry.output.as_ref(),
        }
    }

    /// Which code stands behind it.
    #[must_use]
    pub fn implementation(&self) -> &Implementation {
        match self {
            Self::Plugin(tool) => &tool.plugin.implementation,
            Self::Native(entry) => &entry.implementation,
        }
    }

    /// Where its paths lie; nowhere for native tools.
    #[must_use]
    pub fn folders(&self) -> &[FsGrant] {
        match self {
            Self::Plugin(tool) => &tool.plugin.folders,
            Self::Native(_) => &[],
        }
    }

    /// May it run beside others, with these arguments? The operator's word comes first.
    #[must_use]
    pub fn parallel_safe(&self, arguments: &Value) -> bool {
        let spec = self.spec();
        match self {
            Self::Plugin(tool) => match &tool.parallel {
                Some(safety) => safety.applies(spec.parallel_safe, &spec.parameters, arguments),
                None => spec.parallel_safe,
            },
            Self::Native(_) => spec.parallel_safe,
        }
    }

    /// The same whatever the arguments, for those who plan before they know them.
    #[must_use]
    pub fn always_parallel_safe(&self) -> bool {
        let declared = self.spec().parallel_safe;
        match self {
            Self::Plugin(tool) => tool
                .parallel
                .as_ref()
                .map_or(declared, |safety| safety.always(declared)),
            Self::Native(_) => declared,
        }
    }

    /// How long a call may take, unless the caller gives less.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        match self {
            Self::Plugin(tool) => tool.limits.timeout,
            Self::Native(entry) => entry.spec.timeout.unwrap_or(Limits::default().timeout),
        }
    }
}
