//! Builds the floors and plugs the ports: what embedders hold. No global state, so two
//! hosts in one process do not know each other.

use std::{path::PathBuf, sync::Arc};

use crate::{
    config::{AuditArguments, Config, FileIo, OnAuditError},
    dispatch::{
        Audit, AuditError, AuditSettings, Bounds, Dispatcher, DispatcherParts, EventBus, OnError,
        Scope,
    },
    outputs::{self, MemoryOutputs, NoConsole},
    ports::{Approver, Console, NativeTool},
    process::{Launcher, Shim},
    registry::{
        Catalog, Layer, LayerError, Loader, LoaderParts, PluginTool, Registry, Shelf, Standard,
        discover,
    },
    runtime::{CodeCache, EngineSettings, Engines},
    tool::{Batch, Principal, ToolResult},
};

/// Pooled instances beyond this run on demand: each reserves address space.
const SLOTS: usize = 512;

/// A host with its plugins loaded. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Host(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: Config,
    engines: Engines,
    registry: Arc<Registry>,
    dispatcher: Dispatcher,
    memory_outputs: MemoryOutputs,
    problems: Vec<String>,
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

/// Makes a [`Host`].
pub struct HostBuilder {
    config: Config,
    approver: Option<Arc<dyn Approver>>,
    console: Arc<dyn Console>,
    native: Vec<Arc<dyn NativeTool>>,
    shim: Shim,
    host_env: Vec<(String, String)>,
    standard: Vec<Standard>,
    code_cache: Option<PathBuf>,
    audit: bool,
    slots: usize,
}

impl HostBuilder {
    /// Of this configuration, with the standard plugins, without anybody to ask.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            code_cache: Some(config.host.cache_dir.join("code")),
            slots: config.host.max_concurrent_calls.min(SLOTS),
            config,
            approver: None,
            console: Arc::new(NoConsole),
            native: Vec::new(),
            shim: Shim::None,
            host_env: Vec::new(),
            standard: vec![
                Standard {
                    name: "files",
                    bytes: toolgate_guests::FILES,
                },
                Standard {
                    name: "cmd",
                    bytes: toolgate_guests::CMD,
                },
                Standard {
                    name: "seq",
                    bytes: toolgate_guests::SEQ,
                },
            ],
            audit: true,
        }
    }

    /// Whom to ask where a rule says so. Without one, such calls are `unauthorized`.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Where output channels of kind `stdout` write. Without one, sending there fails.
    #[must_use]
    pub fn console(mut self, console: Arc<dyn Console>) -> Self {
        self.console = console;
        self
    }

    /// Adds a native tool, which comes before plugins' tools of its name.
    #[must_use]
    pub fn native_tool(mut self, tool: Arc<dyn NativeTool>) -> Self {
        self.native.push(tool);
        self
    }

    /// How commands are started. The default, [`Shim::None`], promises less: descendants
    /// that leave the process group survive. A program whose `main` begins with
    /// [`crate::process::run_child_if_asked`] says [`Shim::CurrentExe`].
    #[must_use]
    pub fn shim(mut self, shim: Shim) -> Self {
        self.shim = shim;
        self
    }

    /// The environment from which commands get what is granted, and webhooks their tokens;
    /// empty unless said.
    #[must_use]
    pub fn host_env(mut self, env: Vec<(String, String)>) -> Self {
        self.host_env = env;
        self
    }

    /// Other embedded plugins than the standard ones.
    #[must_use]
    pub fn standard(mut self, standard: Vec<Standard>) -> Self {
        self.standard = standard;
        self
    }

    /// Where compiled code is kept: a folder of this user alone. `None`: nowhere.
    #[must_use]
    pub fn code_cache(mut self, folder: Option<PathBuf>) -> Self {
        self.code_cache = folder;
        self
    }

    /// Keeps no audit log, whatever the configuration says.
    #[must_use]
    pub fn without_audit(mut self) -> Self {
        self.audit = false;
        self
    }

    /// Loads all plugins and is ready. A plugin that does not load is a problem of that
    /// plugin: see [`Host::problems`] and the catalog.
    ///
    /// # Errors
    ///
    /// If the engine or the audit log cannot work, or a native tool cannot be offered.
    pub async fn build(self) -> Result<Host, HostError> {
        let config = self.config;
        let slots = u32::try_from(self.slots.max(1)).unwrap_or(u32::MAX);
        let engines = Engines::new(&EngineSettings { slots })
            .map_err(|error| HostError::Engine(format!("{error:#}")))?;
        let audit = if self.audit {
            Audit::open(audit_settings(&config))?
        } else {
            Audit::none()
        };

        let (sources, mut problems) = discover(
            &self.standard,
            &config.plugins,
            config.host.plugin_dir.as_deref(),
        );
        let (channels, memory_outputs) =
            outputs::channels(&config.outputs, &self.console, &self.host_env);
        let loader = Loader::new(LoaderParts {
            engines: engines.clone(),
            cache: self
                .code_cache
                .map_or_else(CodeCache::default, CodeCache::at),
            launcher: Arc::new(Launcher::new(self.shim)),
            host_env: self.host_env.into(),
            data_dir: Some(config.host.data_dir.clone()),
            inline_io: config.host.file_io == FileIo::Inline,
            max_timeout: config.host.max_timeout,
            standard: self.standard,
            unconfigured: config.plugin(""),
            plugins: config.plugins.clone(),
        });
        let mut loaded = Vec::with_capacity(sources.len());
        for source in sources {
            loaded.push(loader.load(source, 1).await);
        }
        let catalog = Catalog::new(loaded);
        problems.extend(
            catalog
                .tools()
                .flat_map(|tool| rules_that_never_match(&config, tool)),
        );
        let registry = Arc::new(Registry::new(catalog));

        let native: Vec<Arc<dyn Shelf>> = vec![Arc::new(Layer::new(
            self.native.into_iter().chain(channels),
        )?)];
        let dispatcher = Dispatcher::new(DispatcherParts {
            registry: Arc::clone(&registry),
            policy: config.policy.clone(),
            approver: self.approver,
            native,
            bounds: Bounds {
                concurrent: config.host.max_concurrent_calls,
                queue_timeout: config.host.queue_timeout,
                max_depth: config.host.max_depth,
                ..Bounds::default()
            },
            audit,
            events: EventBus::default(),
        });
        Ok(Host(Arc::new(Inner {
            config,
            engines,
            registry,
            dispatcher,
            memory_outputs,
            problems,
        })))
    }
}

impl std::fmt::Debug for HostBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostBuilder")
            .field("config", &self.config.path)
            .finish_non_exhaustive()
    }
}

impl Host {
    /// The configuration in force.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.0.config
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

    /// What was found wrong while plugins were looked for. What is wrong with one plugin
    /// is in its entry of the catalog.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.0.problems
    }

    /// What output channels of kind `memory` keep.
    #[must_use]
    pub fn memory_outputs(&self) -> &MemoryOutputs {
        &self.0.memory_outputs
    }

    /// Live pooled instances, for leak tests and metrics.
    #[must_use]
    pub fn live_instances(&self) -> usize {
        self.0.engines.pooled_instances()
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

fn audit_settings(config: &Config) -> AuditSettings {
    let audit = &config.audit;
    AuditSettings {
        path: audit.path.clone(),
        redacted: match audit.arguments {
            AuditArguments::Digest => None,
            AuditArguments::Redacted => Some(audit.redact.clone()),
        },
        rotate_at: audit.rotate_at,
        keep: audit.keep,
        on_error: match audit.on_error {
            OnAuditError::Refuse => OnError::Refuse,
            OnAuditError::Warn => OnError::Warn,
        },
    }
}
