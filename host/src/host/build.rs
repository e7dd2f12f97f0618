//! Puts a host together: floor by floor, from the engine to the dispatcher.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use arc_swap::ArcSwap;

use super::{Host, HostError, Inner, Notes, wanted};
use crate::{
    config::{AuditArguments, Config, FileIo, OnAuditError, Request},
    dispatch::{
        Audit, AuditSettings, Bounds, Circuits, Dispatcher, DispatcherParts, Event, EventBus,
        Health, OnError,
    },
    metrics::Metrics,
    outputs::{self, NoConsole},
    ports::{Approver, Console, NativeTool},
    process::{Launcher, Shim},
    registry::{Catalog, Change, Layer, Loader, LoaderParts, Registry, Roster, Shelf, Standard},
    runtime::{CodeCache, EngineSettings, Engines},
    tool::Digest,
};

/// Pooled instances beyond this run on demand: each reserves address space.
const SLOTS: usize = 512;

/// Makes a [`Host`].
pub struct HostBuilder {
    config: Config,
    request: Option<Request>,
    approver: Option<Arc<dyn Approver>>,
    console: Arc<dyn Console>,
    native: Vec<Arc<dyn NativeTool>>,
    shim: Shim,
    host_env: Vec<(String, String)>,
    standard: Vec<Standard>,
    code_cache: Option<PathBuf>,
    audit: bool,
    slots: usize,
    circuits: Circuits,
}

impl HostBuilder {
    /// Of this configuration, with the standard plugins, without anybody to ask.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            code_cache: Some(config.host.cache_dir.join("code")),
            slots: config.host.max_concurrent_calls.min(SLOTS),
            config,
            request: None,
            approver: None,
            console: Arc::new(NoConsole),
            native: Vec::new(),
            shim: Shim::None,
            host_env: Vec::new(),
            standard: vec![
                Standard {
                    name: "files",
                    bytes: toolgate_guests::FILES,
                    digest: Some(Digest::known(toolgate_guests::FILES_SHA256)),
                },
                Standard {
                    name: "cmd",
                    bytes: toolgate_guests::CMD,
                    digest: Some(Digest::known(toolgate_guests::CMD_SHA256)),
                },
                Standard {
                    name: "seq",
                    bytes: toolgate_guests::SEQ,
                    digest: Some(Digest::known(toolgate_guests::SEQ_SHA256)),
                },
            ],
            audit: true,
            circuits: Circuits::default(),
        }
    }

    /// Where the configuration was found, so that it can be read again when it changes.
    /// Without this, [`Host::reload`] only looks at the plugins.
    #[must_use]
    pub fn reread(mut self, request: Request) -> Self {
        self.request = Some(request);
        self
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

    /// When a plugin that keeps trapping is left alone, and for how long.
    #[must_use]
    pub fn circuits(mut self, circuits: Circuits) -> Self {
        self.circuits = circuits;
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
        let (channels, memory_outputs) =
            outputs::channels(&config.outputs, &self.console, &self.host_env);
        let metrics = Metrics::new();
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
            metrics: metrics.clone(),
        });
        let registry = Arc::new(Registry::new(Catalog::default()));
        let events = EventBus::default();
        let health = Health::new(self.circuits, events.clone());
        let told = told(events.clone(), health.clone());
        let roster = Roster::new(loader, Arc::clone(&registry), told);
        roster.refresh(Arc::new(wanted(&config)), false).await;

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
            events,
            health,
            metrics,
        });
        Ok(Host(Arc::new(Inner {
            config: ArcSwap::from_pointee(config),
            request: self.request,
            engines,
            registry,
            roster,
            dispatcher,
            memory_outputs,
            notes: Mutex::new(Notes::default()),
            rereading: tokio::sync::Mutex::default(),
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

/// Changes of plugins as everybody sees them: in the log and as events.
fn told(events: EventBus, health: Health) -> impl Fn(Change) + Send + Sync + 'static {
    move |change| {
        match &change {
            Change::Loaded {
                implementation: it,
                took,
            } => {
                health.renewed(it);
                tracing::info!(plugin = %it.plugin, version = %it.version, generation = it.generation,
                    digest = %it.digest, took_ms = took.as_millis(), "plugin loaded");
            }
            Change::Configured { implementation: it } => {
                tracing::info!(plugin = %it.plugin, generation = it.generation,
                    "plugin has another configuration");
            }
            Change::Failed {
                plugin,
                problem,
                serving,
            } => {
                tracing::warn!(%plugin, %problem, serving, "plugin cannot be loaded");
            }
            Change::Removed { implementation: it } => {
                tracing::info!(plugin = %it.plugin, generation = it.generation, "plugin removed");
            }
        }
        events.emit(|| Event::of_change(change));
    }
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
