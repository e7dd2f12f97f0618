//! From a source to a plugin that can serve: read, compile, describe, check. Any failure
//! is that plugin's alone; one bad tool definition sets aside that tool.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Read as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::Semaphore;

use super::{Origin, Plugin, PluginTool, Source, Standard, serial::SerialLock};
use crate::{
    arguments::{OutputSchema, Parameters},
    config::PluginConfig,
    metrics::Metrics,
    policy::FsGrant,
    process::Launcher,
    runtime::{
        Capability, CodeCache, Component, ComponentError, Described, Engines, MAX_BYTES, Quota,
        Sandbox, SandboxParts,
    },
    tool::{Digest, Implementation, PluginName, ToolSpec},
};

/// Tools of one plugin. More is no plugin but a platform of its own.
const TOOLS: usize = 1_000;

/// No more of a file than tells that it is too large for a component.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for its writer.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let most = u64::try_from(MAX_BYTES).map_or(u64::MAX, |most| most.saturating_add(1));
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Names of the host's own tools, which no plugin may take.
fn is_reserved(name: &str) -> bool {
    name.starts_with("output_send__") || name == "read_result"
}

/// What a loader is made of.
#[derive(Debug)]
pub struct LoaderParts {
    /// Where components run.
    pub engines: Engines,
    /// Where compiled code is kept.
    pub cache: CodeCache,
    /// Starts programs.
    pub launcher: Arc<Launcher>,
    /// The host's environment, from which programs get what is granted.
    pub host_env: Arc<[(String, String)]>,
    /// Holds plugins' private folders and locks.
    pub data_dir: Option<PathBuf>,
    /// File calls on the current thread.
    pub inline_io: bool,
    /// The most that a tool's own time limit may be.
    pub max_timeout: Duration,
    /// The embedded plugins.
    pub standard: Vec<Standard>,
    /// Counts loads and compile times.
    pub metrics: Metrics,
}

/// Loads plugins, and remembers what their versions share.
#[derive(Debug)]
pub struct Loader {
    parts: LoaderParts,
    locks: Mutex<BTreeMap<PluginName, SerialLock>>,
    quotas: Mutex<BTreeMap<PluginName, Arc<Quota>>>,
}

/// One version of a plugin that can serve.
#[derive(Debug, Clone)]
pub struct Fresh {
    /// The version.
    pub plugin: Arc<Plugin>,
    /// Its tools.
    pub tools: Vec<Arc<PluginTool>>,
    /// What was set aside, and why.
    pub problems: Vec<String>,
    /// What it says about itself.
    pub described: Arc<Described>,
}

/// Why a plugin cannot serve.
#[derive(Debug, Clone)]
pub struct LoadError {
    /// For its author and the operator.
    pub problem: String,
    /// It may be a file that is still being written.
    pub unfinished: bool,
}

/// Why a plugin's bytes cannot be had.
#[derive(Debug, Clone)]
pub struct ReadError {
    /// For the operator.
    pub problem: String,
    /// There is no such file.
    pub missing: bool,
}

impl From<String> for LoadError {
    fn from(problem: String) -> Self {
        Self {
            problem,
            unfinished: false,
        }
    }
}

impl From<ComponentError> for LoadError {
    fn from(error: ComponentError) -> Self {
        Self {
            problem: error.to_string(),
            unfinished: error.may_be_unfinished(),
        }
    }
}

impl Loader {
    /// A loader with these parts.
    #[must_use]
    pub fn new(parts: LoaderParts) -> Self {
        Self {
            parts,
            locks: Mutex::default(),
            quotas: Mutex::default(),
        }
    }

    /// The embedded plugins.
    #[must_use]
    pub fn standard(&self) -> &[Standard] {
        &self.parts.standard
    }

    /// The bytes of a plugin, as they are now, and their digest.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub fn read(&self, source: &Source) -> Result<(Cow<'static, [u8]>, Digest), ReadError> {
        match &source.origin {
            Origin::Embedded => {
                let found = self
                    .parts
                    .standard
                    .iter()
                    .find(|plugin| plugin.name == source.name.as_str());
                found
                    .map(|plugin| {
                        let digest = plugin.digest.unwrap_or_else(|| Digest::of(plugin.bytes));
                        (Cow::Borrowed(plugin.bytes), digest)
                    })
                    .ok_or_else(|| ReadError {
                        problem: "not embedded".into(),
                        missing: true,
                    })
            }
            Origin::Configured(path) | Origin::Folder(path) => {
                let read = read(path).map(|bytes| {
                    let digest = Digest::of(&bytes);
                    (Cow::Owned(bytes), digest)
                });
                read.map_err(|error| ReadError {
                    problem: format!("cannot read {}: {error}", path.display()),
                    missing: error.kind() == io::ErrorKind::NotFound,
                })
            }
        }
    }

    /// Makes these bytes a plugin, as its `generation`. Compiling takes up to seconds of
    /// processor time: call it off the call path.
    ///
    /// # Errors
    ///
    /// What is wrong with it. One bad tool definition only sets aside that tool.
    pub async fn load(
        &self,
        name: &PluginName,
        component: (Cow<'static, [u8]>, Digest),
        config: &PluginConfig,
        generation: u64,
    ) -> Result<Fresh, LoadError> {
        let loaded = self.try_load(name, component, config, generation).await;
        self.parts
            .metrics
            .plugin_loaded(name.as_str(), loaded.is_ok());
        loaded
    }

    async fn try_load(
        &self,
        name: &PluginName,
        (bytes, digest): (Cow<'static, [u8]>, Digest),
        config: &PluginConfig,
        generation: u64,
    ) -> Result<Fresh, LoadError> {
        let (engines, cache) = (self.parts.engines.clone(), self.parts.cache.clone());
        let started = Instant::now();
        let component =
            tokio::task::spawn_blocking(move || Component::load(&engines, &cache, &bytes, digest))
                .await
                .map_err(|error| format!("compiling it ended the task: {error}"))??;
        self.parts.metrics.compiled(started.elapsed());
        let described = component.describe(name).await?;
        if described.name != name.as_str() {
            return Err(format!(
                "it calls itself {:?}; file, configuration and component have to agree, so that no file inherits another plugin's grants",
                described.name.chars().take(80).collect::<String>()
            ).into());
        }
        self.assemble(name, component, Arc::new(described), config, generation)
    }

    /// The same version under another configuration: nothing is compiled.
    ///
    /// # Errors
    ///
    /// If a granted folder cannot be opened.
    pub fn configure(&self, fresh: &Fresh, config: &PluginConfig) -> Result<Fresh, LoadError> {
        let Implementation {
            plugin: name,
            generation,
            ..
        } = &fresh.plugin.implementation;
        let component = fresh.plugin.component.clone();
        let described = Arc::clone(&fresh.described);
        self.assemble(name, component, described, config, *generation)
    }

    fn assemble(
        &self,
        name: &PluginName,
        component: Component,
        described: Arc<Described>,
        config: &PluginConfig,
        generation: u64,
    ) -> Result<Fresh, LoadError> {
        let mut problems = Vec::new();
        let requested = requested(&described, &mut problems);
        let plugin =
            Arc::new(self.plugin(name, config, component, &described, requested, generation)?);
        if !plugin.shortfall.is_empty() {
            let names: Vec<&str> = plugin
                .shortfall
                .iter()
                .map(|capability| capability.as_str())
                .collect();
            problems.push(format!(
                "asks for `{}`, which [plugins.{name}.grants] does not give",
                names.join("`, `")
            ));
        }
        let tools = self.tools(&plugin, config, &described, &mut problems);
        for tool in config
            .tools
            .keys()
            .filter(|tool| !tools.iter().any(|t| &t.spec.name == *tool))
        {
            problems.push(format!(
                "[plugins.{name}.tools.{tool}]: the plugin offers no such tool"
            ));
        }
        Ok(Fresh {
            plugin,
            tools,
            problems,
            described,
        })
    }

    fn plugin(
        &self,
        name: &PluginName,
        config: &PluginConfig,
        component: Component,
        described: &Described,
        requested: BTreeSet<Capability>,
        generation: u64,
    ) -> Result<Plugin, String> {
        let grants = config.grants.clone();
        let shortfall = requested
            .iter()
            .copied()
            .filter(|capability| match capability {
                Capability::Fs => grants.fs.is_empty(),
                Capability::Process => grants.process.is_none(),
                Capability::Tools => grants.tools.is_empty(),
                Capability::Env => grants.env.is_empty(),
                Capability::Data => self.parts.data_dir.is_none(),
                Capability::Http => true,
            })
            .collect();
        let mut folders = grants.fs.clone();
        for cwd in grants.process.iter().flat_map(|process| &process.cwd) {
            if let Some(guest) = cwd.to_str() {
                folders.push(FsGrant {
                    host: cwd.clone(),
                    guest: guest.to_owned(),
                    writable: true,
                });
            }
        }
        let may_call = if requested.contains(&Capability::Tools) {
            grants.tools.clone().into()
        } else {
            Arc::from([])
        };
        let data = match &self.parts.data_dir {
            Some(folder) if requested.contains(&Capability::Data) => {
                let folder = folder.join("plugins").join(name.as_str());
                fs::DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(&folder)
                    .map_err(|error| {
                        format!("cannot make its data folder {}: {error}", folder.display())
                    })?;
                Some(self.quota(name, folder))
            }
            _ => None,
        };
        let implementation = Implementation {
            plugin: name.clone(),
            version: described
                .version
                .chars()
                .take(64)
                .collect::<String>()
                .into(),
            digest: component.digest(),
            generation,
        };
        let sandbox = Sandbox::open(SandboxParts {
            plugin: name.clone(),
            requested,
            grants,
            data,
            settings: config.settings.to_string(),
            launcher: Arc::clone(&self.parts.launcher),
            host_env: Arc::clone(&self.parts.host_env),
            inline_io: self.parts.inline_io,
        })
        .map_err(|error| error.to_string())?;
        Ok(Plugin {
            implementation,
            description: described.description.clone(),
            component,
            sandbox: Arc::new(sandbox),
            shortfall,
            folders,
            may_call,
            concurrency: config
                .max_concurrent
                .map(|calls| Arc::new(Semaphore::new(calls))),
            serial: self.serial_lock(name),
        })
    }

    /// One count for all versions of a plugin; a new version counts anew.
    fn quota(&self, name: &PluginName, folder: PathBuf) -> Arc<Quota> {
        let mut quotas = self.quotas.lock().unwrap_or_else(PoisonError::into_inner);
        let quota = quotas
            .entry(name.clone())
            .or_insert_with(|| Arc::new(Quota::of(folder)));
        quota.recount();
        Arc::clone(quota)
    }

    fn serial_lock(&self, name: &PluginName) -> SerialLock {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        let file = self
            .parts
            .data_dir
            .as_ref()
            .map(|folder| folder.join("locks").join(format!("{name}.lock")));
        locks
            .entry(name.clone())
            .or_insert_with(|| SerialLock::new(file))
            .clone()
    }

    fn tools(
        &self,
        plugin: &Arc<Plugin>,
        config: &PluginConfig,
        described: &Described,
        problems: &mut Vec<String>,
    ) -> Vec<Arc<PluginTool>> {
        let mut tools: Vec<Arc<PluginTool>> = Vec::new();
        let mut count = 0;
        for definition in &described.tools {
            count += 1;
            if count > TOOLS {
                problems.push(format!("more than {TOOLS} tools: the rest is set aside"));
                break;
            }
            let checked = match definition {
                Ok(spec) if tools.iter().any(|tool| tool.spec.name == spec.name) => {
                    Err((spec.name.to_string(), "defined twice".into()))
                }
                Ok(spec) => {
                    let name = spec.name.to_string();
                    self.tool(plugin, config, spec.clone())
                        .map_err(|problem| (name, problem))
                }
                Err(unreadable) => Err(unreadable.clone()),
            };
            match checked {
                Ok(tool) => tools.push(Arc::new(tool)),
                Err((name, problem)) => {
                    let name: String = name.chars().take(80).collect();
                    problems.push(format!("tool {name:?} is set aside: {problem}"));
                }
            }
        }
        tools
    }

    fn tool(
        &self,
        plugin: &Arc<Plugin>,
        config: &PluginConfig,
        mut spec: ToolSpec,
    ) -> Result<PluginTool, String> {
        if is_reserved(spec.name.as_str()) {
            return Err("the name is the host's own".into());
        }
        let parameters = Parameters::compile(&spec.parameters)
            .map_err(|error| format!("parameters: {error}"))?;
        spec.parameters = parameters.schema().clone();
        let output = match &spec.output_schema {
            Some(schema) => Some(
                OutputSchema::compile(schema).map_err(|error| format!("output-schema: {error}"))?,
            ),
            None => None,
        };
        let own = config.tools.get(&spec.name);
        let mut limits = own.map_or(&config.limits, |tool| &tool.limits).clone();
        let operator_says = config.timeout_set || own.is_some_and(|tool| tool.timeout_set);
        if let Some(declared) = spec.timeout.filter(|_| !operator_says) {
            limits.timeout = declared;
        }
        limits.timeout = limits.timeout.min(self.parts.max_timeout);
        Ok(PluginTool {
            parameters,
            output,
            plugin: Arc::clone(plugin),
            limits,
            parallel: own.and_then(|tool| tool.parallel_safe.clone()),
            spec: Arc::new(spec),
        })
    }
}

fn requested(described: &Described, problems: &mut Vec<String>) -> BTreeSet<Capability> {
    let mut requested = BTreeSet::new();
    for (name, _) in &described.capabilities {
        match Capability::parse(name) {
            Some(capability) => {
                requested.insert(capability);
            }
            None => {
                let name: String = name.chars().take(80).collect();
                problems.push(format!("asks for {name:?}, which is no capability"));
            }
        }
    }
    requested
}
