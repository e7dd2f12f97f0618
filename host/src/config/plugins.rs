//! `[plugins.<name>]`: where the code comes from, what it may touch, how much it may use.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    EMBEDDED, HostConfig, PluginConfig, Source, ToolConfig,
    check::Check,
    document::KeyPath,
    error::did_you_mean,
    folders::{Protected, resolve},
    json::from_toml,
    shape,
};
use crate::{
    policy::{
        FsGrant, Limits, ParallelRule, ParallelSafety, PluginGrants, ProcessGrant, Stance,
        name_pattern,
    },
    tool::{PluginName, ToolName},
};

/// Together with the default of the whole host a plugin needs no more at once.
const MOST_CONCURRENT: u32 = 65_536;

impl Check<'_> {
    /// All sections.
    pub(super) fn plugins(
        &mut self,
        shapes: &BTreeMap<String, shape::Plugin>,
        host: &HostConfig,
    ) -> BTreeMap<PluginName, PluginConfig> {
        let top = KeyPath::of(&["plugins"]);
        // First all sources: no plugin's grant may lay open another one's code.
        let mut sources = BTreeMap::new();
        for (name, shape) in shapes {
            let source = self.source(&top.key(name), name, shape.source.as_deref(), host);
            if let Some(Source::Path(path)) = &source {
                self.protected
                    .push(Protected::from_writing("plugin file", path));
            }
            sources.insert(name, source);
        }
        let mut plugins = BTreeMap::new();
        for (name, shape) in shapes {
            let key = top.key(name);
            let plugin = self.plugin(&key, shape, host, sources.remove(name).flatten());
            match PluginName::new(name) {
                Ok(name) => {
                    plugins.insert(name, plugin);
                }
                Err(error) => self.problem(
                    &key,
                    error,
                    "use the name that the plugin describes itself with",
                ),
            }
        }
        plugins
    }

    fn source(
        &mut self,
        key: &KeyPath,
        name: &str,
        text: Option<&str>,
        host: &HostConfig,
    ) -> Option<Source> {
        let at = key.key("source");
        match text {
            Some("embedded") if EMBEDDED.contains(&name) => Some(Source::Embedded),
            Some("embedded") => {
                self.problem(
                    &at,
                    format!("no plugin {name:?} is embedded"),
                    did_you_mean(name, &EMBEDDED),
                );
                None
            }
            Some("") => {
                self.problem(
                    &at,
                    "an empty path names no file",
                    "use \"embedded\" or a path",
                );
                None
            }
            Some(text) => Some(Source::Path(resolve(&self.path(&at, text)))),
            None if EMBEDDED.contains(&name) => Some(Source::Embedded),
            None => {
                if host.plugin_dir.is_none() {
                    // Grants for a plugin that never loads look like provisions.
                    let near = super::error::nearest(name, EMBEDDED.iter().copied())
                        .map_or_else(String::new, |near| {
                            format!(" (did you mean [plugins.{near}]?)")
                        });
                    self.problem(
                        key,
                        "there is nothing to load: no source is named, and [host] has no plugin_dir",
                        format!("add `source = \"path/to/{name}.wasm\"`{near}"),
                    );
                }
                None
            }
        }
    }

    fn plugin(
        &mut self,
        key: &KeyPath,
        shape: &shape::Plugin,
        host: &HostConfig,
        source: Option<Source>,
    ) -> PluginConfig {
        let limits_key = key.key("limits");
        let limits = self.limits(&limits_key, &shape.limits, &host.limits);
        self.timeout_fits(&limits_key, &shape.limits, host.max_timeout);
        let timeout_set = shape.limits.timeout.is_some();
        let mut tools = BTreeMap::new();
        for (name, tool) in &shape.tools {
            let key = key.key("tools").key(name);
            let config = self.tool(&key, tool, &limits, timeout_set, host);
            match ToolName::new(name) {
                Ok(name) => {
                    tools.insert(name, config);
                }
                Err(error) => self.problem(
                    &key,
                    error,
                    "use the tool's full name, as `toolgate tools` shows it",
                ),
            }
        }
        let max_concurrent = shape.max_concurrent.map(|_| {
            self.count(
                &key.key("max_concurrent"),
                shape.max_concurrent,
                1,
                MOST_CONCURRENT,
            )
        });
        let settings =
            from_toml(&toml::Value::Table(shape.settings.clone())).unwrap_or_else(|what| {
                self.problem(
                    &key.key("settings"),
                    what,
                    "settings reach the plugin as JSON",
                );
                serde_json::Value::Null
            });
        PluginConfig {
            source,
            grants: self.grants(&key.key("grants"), &shape.grants),
            limits,
            timeout_set,
            tools,
            max_concurrent,
            settings,
        }
    }

    fn tool(
        &mut self,
        key: &KeyPath,
        shape: &shape::Tool,
        under: &Limits,
        timeout_set: bool,
        host: &HostConfig,
    ) -> ToolConfig {
        let limits_key = key.key("limits");
        self.timeout_fits(&limits_key, &shape.limits, host.max_timeout);
        let parallel_key = key.key("parallel_safe");
        let parallel_safe = match &shape.parallel_safe {
            None => None,
            Some(shape::Parallel::Fixed(safe)) => Some(ParallelSafety::fixed(*safe)),
            Some(shape::Parallel::When(rules)) => {
                let rules = rules.iter().enumerate().map(|(i, rule)| {
                    let key = parallel_key.item(i);
                    let when = self.conditions(&key.key("when"), &rule.when, Stance::Permits);
                    ParallelRule::new(when, key.to_string())
                });
                Some(ParallelSafety::when(rules.collect()))
            }
        };
        ToolConfig {
            limits: self.limits(&limits_key, &shape.limits, under),
            timeout_set: timeout_set || shape.limits.timeout.is_some(),
            parallel_safe,
        }
    }

    fn grants(&mut self, key: &KeyPath, shape: &shape::Grants) -> PluginGrants {
        let mut tools = Vec::new();
        for (i, pattern) in shape.tools.iter().enumerate() {
            match name_pattern(pattern) {
                Ok(glob) => tools.push(glob),
                Err(error) => self.problem(&key.key("tools").item(i), &error, error.hint()),
            }
        }
        for name in shape.env.keys() {
            self.variable(&key.key("env").key(name), name);
        }
        PluginGrants {
            fs: self.fs(&key.key("fs"), &shape.fs),
            process: shape
                .process
                .as_ref()
                .map(|p| self.process(&key.key("process"), p)),
            tools,
            env: shape.env.clone(),
        }
    }

    fn fs(&mut self, key: &KeyPath, shapes: &[shape::Fs]) -> Vec<FsGrant> {
        let mut grants: Vec<FsGrant> = Vec::new();
        let mut aliases = Vec::new();
        let mut taken = BTreeSet::new();
        for (i, shape) in shapes.iter().enumerate() {
            let key = key.item(i);
            let writable = shape.mode == shape::Mode::Rw;
            let Some(folder) = self.folder(&key.key("host"), &shape.host, writable) else {
                continue;
            };
            let guest = match &shape.guest {
                Some(guest) => match guest_path(guest) {
                    Ok(guest) => guest,
                    Err(what) => {
                        self.problem(&key.key("guest"), what, "such as \"/workspace\"");
                        continue;
                    }
                },
                None => folder.real.display().to_string(),
            };
            if !taken.insert(guest.clone()) {
                let at = if shape.guest.is_some() {
                    key.key("guest")
                } else {
                    key.key("host")
                };
                self.problem(
                    &at,
                    format!("{guest} is granted twice"),
                    "grant each folder once, or give it another `guest`",
                );
                continue;
            }
            // The outer folder's handle reaches the inner one with its own rights, so the
            // line would protect nothing.
            let undone = grants.iter().find(|other| {
                let (outer, inner) = if writable {
                    (&folder.real, &other.host)
                } else {
                    (&other.host, &folder.real)
                };
                other.writable != writable && inner.starts_with(outer)
            });
            if let Some(other) = undone {
                self.problem(
                    &key.key("host"),
                    format!(
                        "{} and {} lie one in the other, and the outer one may be written",
                        folder.real.display(),
                        other.host.display()
                    ),
                    "what lies in a folder for writing cannot be for reading only: grant folders that lie apart",
                );
                continue;
            }
            // A folder that was named through a link is reached by that name as well.
            if let (None, Some(named)) = (&shape.guest, folder.named.to_str())
                && named != guest
            {
                aliases.push(FsGrant {
                    host: folder.real.clone(),
                    guest: named.to_owned(),
                    writable,
                });
            }
            grants.push(FsGrant {
                host: folder.real,
                guest,
                writable,
            });
        }
        grants.extend(
            aliases
                .into_iter()
                .filter(|alias| taken.insert(alias.guest.clone())),
        );
        grants
    }

    fn process(&mut self, key: &KeyPath, shape: &shape::Process) -> ProcessGrant {
        for (i, program) in shape.programs.iter().enumerate() {
            let key = key.key("programs").item(i);
            let name = !program.is_empty() && !program.contains(['/', '\0']);
            if !name && !program.starts_with('/') {
                self.problem(
                    &key,
                    format!("{program:?} is no program"),
                    "use a name, such as \"git\", or an absolute path",
                );
            } else if name && program.contains(char::is_whitespace) {
                self.problem(
                    &key,
                    format!("{program:?} is no program: a program is named without arguments"),
                    "rule its arguments in [principals.<name>], by conditions on `/argv/1` and so on",
                );
            }
        }
        for (i, name) in shape.env.iter().enumerate() {
            self.variable(&key.key("env").item(i), name);
        }
        let mut cwd = Vec::new();
        for (i, folder) in shape.cwd.iter().enumerate() {
            if let Some(folder) = self.folder(&key.key("cwd").item(i), folder, true) {
                cwd.push(folder.real);
            }
        }
        let default = ProcessGrant::default();
        ProcessGrant {
            programs: shape.programs.clone(),
            shell: shape.shell,
            env: shape.env.clone(),
            cwd,
            output: shape.output.map_or(default.output, |size| {
                usize::try_from(size.0).unwrap_or(usize::MAX)
            }),
        }
    }

    fn variable(&mut self, key: &KeyPath, name: &str) {
        if name.is_empty() || name.contains(['=', '\0']) {
            self.problem(
                key,
                format!("{name:?} names no variable"),
                "a name has no `=`",
            );
        }
    }
}

/// A guest's path, without a trailing slash.
fn guest_path(text: &str) -> Result<String, String> {
    let path = text
        .strip_suffix('/')
        .filter(|path| !path.is_empty())
        .unwrap_or(text);
    let Some(inner) = path.strip_prefix('/') else {
        return Err(format!("{text:?} is not absolute"));
    };
    let odd = |part: &str| matches!(part, "" | "." | "..") || part.contains('\0');
    if !inner.is_empty() && inner.split('/').any(odd) {
        return Err(format!("{text:?} has empty, `.` or `..` parts"));
    }
    Ok(path.to_owned())
}
