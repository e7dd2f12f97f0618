//! From `toolgate.toml` and the environment to one checked value. A configuration is used
//! whole or not at all: every key is known, every name resolves, every grant leads to a
//! folder that may be granted.
//!
//! Nothing here reads the environment, prints, or asks; what was found lying around is
//! used only if it was trusted before.

mod check;
mod describe;
mod document;
mod environment;
mod error;
mod explain;
mod find;
mod folders;
mod host;
mod json;
mod meet;
mod plugins;
mod principals;
mod serve;
mod shape;
mod starter;
mod trust;
mod units;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{
    policy::{FsGrant, Limits, ParallelSafety, PluginGrants, Policy, name_pattern},
    tool::{PluginName, ToolName},
};
use check::Check;
use environment::Environment;
use error::Place;
use find::{Found, How, find};

pub use error::ConfigError;
pub use explain::Explained;
pub use serve::{RateLimit, ServeConfig};
pub use starter::{STARTER, WORKSPACE};
pub use trust::{TrustStore, Trusted, difference};

/// The file's name.
pub const FILE_NAME: &str = "toolgate.toml";

/// The plugins inside the binary, which need no source. Replaced by an explicit `source`
/// only.
pub const EMBEDDED: [&str; 3] = ["cmd", "files", "seq"];

/// Toolgate's own folders of this user.
#[derive(Debug, Clone)]
pub struct Dirs {
    /// Holds `toolgate.toml`.
    pub config: PathBuf,
    /// Data: trust, audit, what plugins keep.
    pub data: PathBuf,
    /// Compiled code.
    pub cache: PathBuf,
}

/// Where to look for a configuration.
#[derive(Debug, Clone)]
pub struct Request {
    /// As given by `--config`.
    pub explicit: Option<PathBuf>,
    /// The working folder, absolute.
    pub start: PathBuf,
    /// The environment; only names that begin with `TOOLGATE_` are looked at.
    pub env: Vec<(String, String)>,
    /// This user's folders.
    pub dirs: Dirs,
}

/// A checked configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// The process.
    pub host: HostConfig,
    /// The plugins that have a section. For the others see [`Config::plugin`].
    pub plugins: BTreeMap<PluginName, PluginConfig>,
    /// The principals and their rules.
    pub policy: Policy,
    /// The output channels.
    pub outputs: BTreeMap<String, OutputConfig>,
    /// The audit log.
    pub audit: AuditConfig,
    /// The HTTP face.
    pub serve: ServeConfig,
    /// The file, resolved; none for the defaults.
    pub path: Option<PathBuf>,
    /// For the operator to see; one line each.
    pub warnings: Vec<String>,
    sources: Vec<Explained>,
}

/// `[host]`.
#[derive(Debug, Clone, PartialEq)]
pub struct HostConfig {
    /// Absolute; may not exist yet.
    pub data_dir: PathBuf,
    /// Absolute; may not exist yet.
    pub cache_dir: PathBuf,
    /// Absolute; may not exist yet.
    pub plugin_dir: Option<PathBuf>,
    /// How changes of plugins and of the configuration are noticed.
    pub watch: Watch,
    /// Where file calls of guests run.
    pub file_io: FileIo,
    /// In the whole process, at the outermost level.
    pub max_concurrent_calls: usize,
    /// How long a call waits for its slot.
    pub queue_timeout: Duration,
    /// The longest timeout that a tool may declare.
    pub max_timeout: Duration,
    /// How deep calls may nest.
    pub max_depth: u32,
    /// Which principal each face acts as.
    pub acts_as: ActsAs,
    /// For plugins and tools that say nothing else.
    pub limits: Limits,
}

/// How a running host notices that plugins or the configuration changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Watch {
    /// The system says so; where it cannot, as `poll`.
    Auto,
    /// Looks every second: for network file systems.
    Poll,
    /// Only `toolgate reload` does.
    Off,
}

impl Watch {
    /// The word of the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Poll => "poll",
            Self::Off => "off",
        }
    }
}

/// Where file calls of guests run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileIo {
    /// On the thread of the call: fast on a local disk.
    Inline,
    /// On a pool of threads: for network file systems.
    Pool,
}

impl FileIo {
    /// The word of the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inline => "inline",
            Self::Pool => "pool",
        }
    }
}

/// Principals of faces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActsAs {
    /// Of the command line.
    pub cli: String,
}

/// Where a plugin's code comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The binary itself.
    Embedded,
    /// A file; absolute, may not exist yet.
    Path(PathBuf),
}

/// `[plugins.<name>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginConfig {
    /// None: the file of this name in the plugin folder.
    pub source: Option<Source>,
    /// What it may touch.
    pub grants: PluginGrants,
    /// The host's, with its own on top.
    pub limits: Limits,
    /// The operator named a timeout for this plugin; it beats what a tool declares.
    pub timeout_set: bool,
    /// The tools that have a section. For the others see [`PluginConfig::tool`].
    pub tools: BTreeMap<ToolName, ToolConfig>,
    /// Calls of this plugin at once; none: only the host's number binds.
    pub max_concurrent: Option<usize>,
    /// An object, handed to the plugin.
    pub settings: serde_json::Value,
}

impl PluginConfig {
    /// The tool's section, or what holds without one.
    #[must_use]
    pub fn tool(&self, name: &str) -> ToolConfig {
        self.tools.get(name).cloned().unwrap_or_else(|| ToolConfig {
            limits: self.limits.clone(),
            timeout_set: self.timeout_set,
            parallel_safe: None,
        })
    }
}

/// `[plugins.<name>.tools.<tool>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolConfig {
    /// The plugin's, with its own on top.
    pub limits: Limits,
    /// The operator named a timeout for this tool or its plugin; it beats what the tool
    /// declares. The host's default does not.
    pub timeout_set: bool,
    /// The operator's word; none: as declared.
    pub parallel_safe: Option<ParallelSafety>,
}

/// `[outputs.<name>]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputConfig {
    /// The console of the face.
    Stdout,
    /// Appended to.
    File {
        /// Absolute; may not exist yet.
        path: PathBuf,
    },
    /// An HTTP POST.
    Webhook {
        /// `http://` or `https://`.
        url: String,
        /// The variable that holds a bearer token.
        token_env: Option<String>,
    },
    /// Kept in memory.
    Memory,
}

/// `[audit]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditConfig {
    /// Absolute; may not exist yet.
    pub path: PathBuf,
    /// What is kept of arguments.
    pub arguments: AuditArguments,
    /// JSON pointers whose values are never kept.
    pub redact: Vec<String>,
    /// Bytes.
    pub rotate_at: u64,
    /// Rotated files that are kept.
    pub keep: u32,
    /// When a line cannot be written.
    pub on_error: OnAuditError,
}

/// What the audit log keeps of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditArguments {
    /// Their digest.
    Digest,
    /// The arguments, without what `redact` names.
    Redacted,
}

impl AuditArguments {
    fn as_str(self) -> &'static str {
        match self {
            Self::Digest => "digest",
            Self::Redacted => "redacted",
        }
    }
}

/// When an audit line cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OnAuditError {
    /// The call is `unavailable`.
    Refuse,
    /// The call runs, with a warning.
    Warn,
}

impl OnAuditError {
    fn as_str(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Warn => "warn",
        }
    }
}

/// A configuration for the operator to look at, trusted or not.
#[derive(Debug)]
pub struct Examined {
    /// What it would be. Not to be used before it is trusted.
    pub config: Config,
    /// The file.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// What was trusted at this place before.
    pub before: Option<Trusted>,
    /// [`Config::load`] would take it as it is.
    pub usable: bool,
    store: TrustStore,
}

impl Examined {
    /// Trusts it: this text, at this place, with grants that lead where they lead now.
    ///
    /// # Errors
    ///
    /// If the record cannot be written.
    pub fn trust(&self) -> std::io::Result<()> {
        self.store
            .record(&self.path, &self.text, &self.config.folders())
    }
}

impl Config {
    /// Finds, reads and checks the configuration; without a file the defaults.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, with file, line, key and what to do; or that it
    /// was found where anybody may have put it and has not been trusted.
    pub fn load(request: &Request) -> Result<Self, ConfigError> {
        let environment = Environment::read(&request.env)?;
        let Some(found) = find(request, &environment)? else {
            return defaults(request, &environment);
        };
        let store = TrustStore::new(trust::folder(&environment, &request.start, &request.dirs));
        let (path, text) = (found.document.path(), found.document.text());
        // Before anything in it is looked at.
        if found.how == How::Upward && !store.is_trusted(path, text.as_bytes()) {
            return Err(untrusted(path, store.recorded(path).as_ref(), text));
        }
        let config = compile(request, &environment, &found)?;
        if usable(&config, &found, &store) {
            Ok(config)
        } else {
            Err(untrusted(path, store.recorded(path).as_ref(), text))
        }
    }

    /// The same without the question of trust, for `toolgate trust` and `toolgate init`.
    /// None: there is no file.
    ///
    /// # Errors
    ///
    /// As [`Config::load`], but for trust.
    pub fn examine(request: &Request) -> Result<Option<Examined>, ConfigError> {
        let environment = Environment::read(&request.env)?;
        let Some(found) = find(request, &environment)? else {
            return Ok(None);
        };
        let store = TrustStore::new(trust::folder(&environment, &request.start, &request.dirs));
        let config = compile(request, &environment, &found)?;
        let path = found.document.path().to_owned();
        Ok(Some(Examined {
            usable: usable(&config, &found, &store),
            before: store.recorded(&path),
            text: found.document.text().to_owned(),
            config,
            path,
            store,
        }))
    }

    /// Without any file: `files` reads the working folder, `cmd` may start nothing, `seq`
    /// may call what its caller may, `local` may call all of them. Where the working folder holds Toolgate's own folders, as a
    /// home folder does, `files` is granted nothing either, with a warning.
    #[must_use]
    pub fn embedded_default(cwd: &Path, dirs: &Dirs) -> Self {
        let environment = Environment::default();
        let mut check = Check::new(None, &environment, cwd, cwd, dirs);
        build_default(&mut check, &shape::Host::default())
    }

    /// The plugin's section, or what holds without one: no grants, the host's limits.
    #[must_use]
    pub fn plugin(&self, name: &str) -> PluginConfig {
        self.plugins
            .get(name)
            .cloned()
            .unwrap_or_else(|| PluginConfig {
                source: EMBEDDED.contains(&name).then_some(Source::Embedded),
                grants: PluginGrants::default(),
                limits: self.host.limits.clone(),
                timeout_set: false,
                tools: BTreeMap::new(),
                max_concurrent: None,
                settings: serde_json::Value::Object(serde_json::Map::new()),
            })
    }

    /// Every value in effect and where it came from, by key.
    #[must_use]
    pub fn explain(&self) -> &[Explained] {
        &self.sources
    }

    /// What it allows, in plain lines that are safe on a terminal.
    #[must_use]
    pub fn describe(&self) -> Vec<String> {
        describe::describe(self)
    }

    /// The folders to which its grants lead, resolved.
    fn folders(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = Vec::new();
        for plugin in self.plugins.values() {
            folders.extend(plugin.grants.fs.iter().map(|grant| grant.host.clone()));
            folders.extend(
                plugin
                    .grants
                    .process
                    .iter()
                    .flat_map(|process| process.cwd.clone()),
            );
        }
        folders.sort();
        folders.dedup();
        folders
    }

    /// Whether what it grants could change the file at this path.
    fn can_write(&self, path: &Path) -> bool {
        let writable = |grants: &PluginGrants| {
            let fs = grants
                .fs
                .iter()
                .filter(|grant| grant.writable)
                .map(|grant| grant.host.clone());
            let cwd = grants
                .process
                .iter()
                .flat_map(|process| process.cwd.clone());
            fs.chain(cwd).any(|folder| path.starts_with(folder))
        };
        self.plugins.values().any(|plugin| writable(&plugin.grants))
    }
}

/// A file that was named or is the user's own is used as it is, unless what it grants
/// could change it. Anything else was trusted as it is now.
fn usable(config: &Config, found: &Found, store: &TrustStore) -> bool {
    let path = found.document.path();
    if found.how != How::Upward && !found.places.iter().any(|place| config.can_write(place)) {
        return true;
    }
    store.recorded(path).is_some_and(|record| {
        store.is_trusted(path, found.document.text().as_bytes())
            && record.folders == config.folders()
    })
}

fn untrusted(path: &Path, before: Option<&Trusted>, text: &str) -> ConfigError {
    let what = match before {
        Some(before) if before.text == text => {
            "a folder that this configuration grants leads elsewhere since it was trusted"
        }
        Some(_) => "this configuration has changed since it was trusted",
        None => "this configuration is not trusted",
    };
    ConfigError::new(
        format!("{what}, so nothing in it is used"),
        Some(Place::File {
            path: path.to_owned(),
            at: None,
        }),
        "`toolgate trust` shows what it grants and records it",
    )
}

fn compile(
    request: &Request,
    environment: &Environment,
    found: &Found,
) -> Result<Config, ConfigError> {
    let document = &found.document;
    let shape: shape::File =
        toml::from_str(document.text()).map_err(|e| error::from_toml(&e, document))?;
    let shape = if environment.overrides.is_empty() {
        shape
    } else {
        // It was read once already, with the places of its errors.
        let table = document
            .text()
            .parse()
            .map_err(|e| error::from_toml(&e, document))?;
        overridden(table, environment)?
    };
    let base = document.path().parent().unwrap_or(&request.start);
    let mut check = Check::new(
        Some(document),
        environment,
        base,
        &request.start,
        &request.dirs,
    );
    let host = check.host(&shape.host);
    let audit = check.audit(&shape.audit, &host);
    // Their files first: no grant may lead to them.
    let outputs = check.outputs(&shape.outputs);
    let plugins = check.plugins(&shape.plugins, &host);
    let policy = check.policy(&shape.principals, &outputs, &host);
    let serve = check.serve(&shape.serve);
    if let Some(error) = ConfigError::of(check.problems) {
        return Err(error);
    }
    Ok(Config {
        sources: explain::explain(Some(document), environment, &host, &audit, &serve),
        host,
        plugins,
        policy,
        outputs,
        audit,
        serve,
        path: Some(document.path().to_owned()),
        warnings: check.warnings,
    })
}

/// The defaults, with what the environment says on top.
fn defaults(request: &Request, environment: &Environment) -> Result<Config, ConfigError> {
    let shape = overridden(toml::Table::new(), environment)?;
    let start = &request.start;
    let mut check = Check::new(None, environment, start, start, &request.dirs);
    let config = build_default(&mut check, &shape.host);
    ConfigError::of(check.problems).map_or(Ok(config), Err)
}

fn build_default(check: &mut Check<'_>, shape: &shape::Host) -> Config {
    let host = check.host(shape);
    let audit = check.audit(&shape::Audit::default(), &host);
    let policy = check.policy(&BTreeMap::new(), &BTreeMap::new(), &host);
    let serve = ServeConfig::default();
    let sources = explain::explain(None, check.environment, &host, &audit, &serve);
    let mut config = Config {
        host,
        plugins: BTreeMap::new(),
        policy,
        outputs: BTreeMap::new(),
        audit,
        serve,
        path: None,
        warnings: Vec::new(),
        sources,
    };
    for name in EMBEDDED {
        let mut plugin = config.plugin(name);
        if name == "files" {
            match working_folder(check) {
                Ok(grant) => plugin.grants.fs.push(grant),
                Err(warning) => config.warnings.push(warning),
            }
        }
        if name == "seq" {
            // Gives nothing away: each call of a sequence needs its caller's right as well.
            plugin.grants.tools.extend(name_pattern("*"));
        }
        if let Ok(name) = PluginName::new(name) {
            config.plugins.insert(name, plugin);
        }
    }
    config
}

fn working_folder(check: &Check<'_>) -> Result<FsGrant, String> {
    let folder = folders::resolve(check.start);
    let shown = folder.display();
    let Some(guest) = folder.to_str() else {
        return Err(format!("{shown} is no UTF-8 path, so no folder is granted"));
    };
    if check.conflict(&folder, false).is_some() {
        return Err(format!(
            "{shown} holds Toolgate's own folders, so it is not granted as the workspace; \
             work in another folder, or `toolgate init` makes one"
        ));
    }
    if !folder.is_dir() {
        return Err(format!(
            "there is no folder {shown}, so no folder is granted"
        ));
    }
    Ok(FsGrant {
        guest: guest.to_owned(),
        host: folder,
        writable: false,
    })
}

/// The table with the environment's values in it. Each is put in alone, so that an error
/// is its own.
fn overridden(
    mut table: toml::Table,
    environment: &Environment,
) -> Result<shape::File, ConfigError> {
    for one in &environment.overrides {
        let mut alone = toml::Table::new();
        document::insert(&mut alone, &one.path, one.value.clone());
        if let Err(error) = alone.try_into::<shape::File>() {
            let (what, hint) = error::in_words(error.message(), &one.path.join("."));
            let place = Some(Place::Environment(one.variable.clone()));
            return Err(ConfigError::new(
                what,
                place,
                hint.unwrap_or_else(|| "change or unset it".to_owned()),
            ));
        }
        document::insert(&mut table, &one.path, one.value.clone());
    }
    table.try_into().map_err(|error: toml::de::Error| {
        ConfigError::new(
            error.message().to_owned(),
            None,
            "check the file and the TOOLGATE_ variables",
        )
    })
}

#[cfg(test)]
mod tests;
