//! Builds the floors and plugs the ports: what embedders hold. No global state, so two
//! hosts in one process do not know each other.

mod build;
mod reload;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;

use crate::{
    config::{Config, Request},
    dispatch::{AuditError, Dispatcher, Scope},
    outputs::MemoryOutputs,
    registry::{Catalog, LayerError, PluginTool, Registry, Roster, Wanted},
    runtime::Engines,
    tool::{Batch, Principal, ToolResult},
};

pub use build::HostBuilder;
pub use reload::{ReloadError, Reloaded, Watching};

/// A host with its plugins loaded. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Host(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: ArcSwap<Config>,
    request: Option<Request>,
    engines: Engines,
    registry: Arc<Registry>,
    roster: Roster,
    dispatcher: Dispatcher,
    memory_outputs: MemoryOutputs,
    notes: Mutex<Notes>,
    rereading: tokio::sync::Mutex<()>,
}

/// What the operator should know about how the host runs.
#[derive(Debug, Default)]
struct Notes {
    /// The configuration as it is in its file now, and why not all of it holds.
    configuration: Vec<String>,
    /// Files are looked at every second although nobody asked for that.
    watching: Option<String>,
}

/// Why a host cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// This machine cannot run the engine.
    #[error("the WebAssembly engine cannot start: {0}")]
    Engine(String),
    /// The audit log cannot be written, and calls shall not run without it.
    #[error("the audit log cannot be written: {0}")]
    Audit(#[from] AuditError),
    /// A native tool cannot be offered.
    #[error(transparent)]
    Native(#[from] LayerError),
}

impl Host {
    /// The configuration in force.
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        self.0.config.load_full()
    }

    /// The principal of this name, if the configuration knows it.
    #[must_use]
    pub fn principal(&self, id: &str) -> Option<Principal> {
        self.0.dispatcher.policy().principal(id)
    }

    /// Runs one batch: exactly one result a call, in ascending index.
    pub async fn run(&self, scope: Scope, batch: Batch) -> Vec<ToolResult> {
        self.0.dispatcher.run(scope, batch).await
    }

    /// What runs batches.
    #[must_use]
    pub fn dispatcher(&self) -> &Dispatcher {
        &self.0.dispatcher
    }

    /// Which plugins and tools exist now.
    #[must_use]
    pub fn catalog(&self) -> Arc<Catalog> {
        self.0.registry.snapshot()
    }

    /// What is wrong with the host as it runs now: files that are passed over, rules that
    /// never match, an edited configuration that does not hold yet. What is wrong with one
    /// plugin is in its entry of the catalog.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let config = self.config();
        let mut problems = self.0.roster.passed_over();
        problems.extend(
            self.catalog()
                .tools()
                .flat_map(|tool| rules_that_never_match(&config, tool)),
        );
        let notes = self.0.notes();
        problems.extend(notes.configuration.iter().cloned());
        problems.extend(notes.watching.iter().cloned());
        problems
    }

    /// What output channels of kind `memory` keep.
    #[must_use]
    pub fn memory_outputs(&self) -> &MemoryOutputs {
        &self.0.memory_outputs
    }

    /// What this host has counted, in the text format of OpenMetrics.
    #[must_use]
    pub fn metrics_text(&self) -> String {
        let metrics = self.0.dispatcher.metrics();
        metrics.circuits_open(self.0.dispatcher.health().open());
        metrics.text(self.live_instances())
    }

    /// Why no call would run now, if that is so. A plugin that the configuration names
    /// and that did not load is a reason; a broken file in the plugin folder is not.
    ///
    /// # Errors
    ///
    /// The reason, for an operator.
    pub fn ready(&self) -> Result<(), String> {
        self.0
            .dispatcher
            .ready()
            .map_err(|error| format!("the audit log cannot be written: {error}"))?;
        let config = self.config();
        let catalog = self.catalog();
        let missing = catalog
            .plugins()
            .find(|(name, entry)| entry.plugin.is_none() && config.plugins.contains_key(*name));
        match missing {
            Some((name, _)) => Err(format!("plugin {name} is not loaded")),
            None => Ok(()),
        }
    }

    /// Live pooled instances, for leak tests and metrics.
    #[must_use]
    pub fn live_instances(&self) -> usize {
        self.0.engines.pooled_instances()
    }
}

impl Inner {
    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The plugins that a configuration asks for.
fn wanted(config: &Config) -> Wanted {
    Wanted {
        plugins: config.plugins.clone(),
        unconfigured: config.plugin(""),
        folder: config.host.plugin_dir.clone(),
    }
}

/// Rules that the tools' schemas make void: an operator would believe in them.
fn rules_that_never_match(config: &Config, tool: &PluginTool) -> Vec<String> {
    let (name, schema) = (tool.spec.name.as_str(), &tool.spec.parameters);
    let mut problems = config.policy.check_against(name, schema);
    problems.extend(
        tool.parallel
            .iter()
            .flat_map(|safety| safety.check_against(name, schema)),
    );
    problems
}
