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
    time::Duration,
};

use tokio::sync::Semaphore;

use super::{Loaded, Origin, Plugin, PluginTool, Source, Standard, serial::SerialLock};
use crate::{
    arguments::{OutputSchema, Parameters},
    config::PluginConfig,
    policy::FsGrant,
    process::Launcher,
    runtime::{
        Capability, CodeCache, Component, Described, Engines, MAX_BYTES, Quota, Sandbox,
        SandboxParts,
    },
    tool::{Implementation, PluginName, ToolSpec},
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
    /// Grants, limits and settings by plugin.
    pub plugins: BTreeMap<PluginName, PluginConfig>,
    /// What a plugin without configuration gets.
    pub unconfigured: PluginConfig,
}

/// Loads plugins, and remembers what their versions share.
#[derive(Debug)]
pub struct Loader {
    parts: LoaderParts,
    locks: Mutex<BTreeMap<PluginName, SerialLock>>,
    quotas: Mutex<BTreeMap<PluginName, Arc<Quota>>>,
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

    /// Loads one plugin as its `generation`. Compiling takes seconds of processor time:
    /// call it off the call path.
    pub async fn load(&self, source: Source, generation: u64) -> Loaded {
        let mut problems = Vec::new();
        let outcome = self.try_load(&source, generation, &mut problems).await;
        Loaded {
            name: source.name,
            origin: source.origin,
            outcome,
            problems,
        }
    }

    async fn try_load(
        &self,
        source: &Source,
        generation: u64,
        problems: &mut Vec<String>,
    ) -> Result<(Arc<Plugin>, Vec<Arc<PluginTool>>), String> {
        let name = &source.name;
        let bytes = self.read(source)?;
        let (engines, cache) = (self.parts.engines.clone(), self.parts.cache.clone());
        let component =
            tokio::task::spawn_blocking(move || Component::load(&engines, &cache, &bytes))
                .await
                .map_err(|error| format!("compiling it ended the task: {error}"))?
                .map_err(|error| error.to_string())?;
        let described = component
            .describe(name)
            .await
            .map_err(|error| error.to_string())?;
        if described.name != name.as_str() {
            return Err(format!(
                "it calls itself {:?}; file, configuration and component have to agree, so that no file inherits another plugin's grants",
                described.name.chars().take(80).collect::<String>()
            ));
        }

        let config = self
            .parts
            .plugins
            .get(name)
            .unwrap_or(&self.parts.unconfigured);
        let requested = requested(&described, problems);
        let plugin =
            Arc::new(self.plugin(source, config, component, &described, requested, generation)?);
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
        let tools = self.tools(&plugin, config, described, problems);
        for tool in config
            .tools
            .keys()
            .filter(|tool| !tools.iter().any(|t| &t.spec.name == *tool))
        {
            problems.push(format!(
                "[plugins.{name}.tools.{tool}]: the plugin offers no such tool"
            ));
        }
        Ok((plugin, tools))
    }

    fn read(&self, source: &Source) -> Result<Cow<'static, [u8]>, String> {
        match &source.origin {
            Origin::Embedded => {
                let found = self
                    .parts
                    .standard
                    .iter()
                    .find(|plugin| plugin.name == source.name.as_str());
                found
                    .map(|plugin| Cow::Borrowed(plugin.bytes))
                    .ok_or_else(|| "not embedded".into())
            }
            Origin::Configured(path) | Origin::Folder(path) => read(path)
                .map(Cow::Owned)
                .map_err(|error| format!("cannot read {}: {error}", path.display())),
        }
    }

    fn plugin(
        &self,
        source: &Source,
        config: &PluginConfig,
        component: Component,
        described: &Described,
        requested: BTreeSet<Capability>,
        generation: u64,
    ) -> Result<Plugin, String> {
        let name = &source.name;
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
        described: Described,
        problems: &mut Vec<String>,
    ) -> Vec<Arc<PluginTool>> {
        let mut tools: Vec<Arc<PluginTool>> = Vec::new();
        let mut count = 0;
        for definition in described.tools {
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
                    self.tool(plugin, config, spec)
                        .map_err(|problem| (name, problem))
                }
                Err(unreadable) => Err(unreadable),
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
