//! What faces show of a host: plain data, the same on the command line, over the control
//! socket and over HTTP.

use serde::{Deserialize, Serialize};

use crate::{
    Host,
    dispatch::Trouble,
    registry::{Entry, Origin, Plugin},
    runtime::Capability,
    tool::PluginName,
};

const CAPABILITIES: [Capability; 6] = [
    Capability::Fs,
    Capability::Data,
    Capability::Process,
    Capability::Tools,
    Capability::Env,
    Capability::Http,
];

/// All plugins, and what is wrong with the host itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PluginsView {
    pub(super) plugins: Vec<PluginView>,
    pub(super) problems: Vec<String>,
}

/// One plugin, loaded or not.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PluginView {
    pub(super) name: String,
    pub(super) loaded: bool,
    pub(super) source: String,
    pub(super) path: Option<String>,
    pub(super) version: Option<String>,
    pub(super) digest: Option<String>,
    pub(super) generation: Option<u64>,
    pub(super) description: Option<String>,
    pub(super) requested: Vec<String>,
    pub(super) granted: Vec<String>,
    pub(super) short: Vec<String>,
    /// What it is granted, in words.
    pub(super) grants: Vec<String>,
    pub(super) tools: Vec<String>,
    pub(super) problems: Vec<String>,
    pub(super) health: Vec<HealthView>,
}

/// The traps in a row of one caller of a plugin.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct HealthView {
    pub(super) principal: String,
    pub(super) circuit: CircuitView,
    pub(super) last_trap: String,
    /// UTC.
    pub(super) last_trap_at: String,
    /// Until a call is let through again.
    pub(super) next_try_seconds: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CircuitView {
    Open,
    Closed,
}

impl PluginsView {
    pub(super) fn of(host: &Host) -> Self {
        let catalog = host.catalog();
        let plugins = catalog
            .plugins()
            .map(|(name, entry)| PluginView::of(host, name, entry));
        Self {
            plugins: plugins.collect(),
            problems: host.problems(),
        }
    }
}

impl PluginView {
    fn of(host: &Host, name: &PluginName, entry: &Entry) -> Self {
        let plugin = entry.plugin.as_deref();
        let from = plugin.map(|plugin| &plugin.implementation);
        let words = |wanted: &dyn Fn(&Plugin, Capability) -> bool| -> Vec<String> {
            let Some(plugin) = plugin else {
                return Vec::new();
            };
            let all = CAPABILITIES
                .into_iter()
                .filter(|capability| wanted(plugin, *capability));
            all.map(|capability| capability.as_str().to_owned())
                .collect()
        };
        let (source, path) = match &entry.origin {
            Origin::Embedded => ("embedded", None),
            Origin::Configured(path) => ("configured", Some(path)),
            Origin::Folder(path) => ("folder", Some(path)),
        };
        let troubles = from.map_or_else(Vec::new, |from| host.dispatcher().health().troubles(from));
        Self {
            name: name.to_string(),
            loaded: plugin.is_some(),
            source: source.to_owned(),
            path: path.map(|path| path.display().to_string()),
            version: from.map(|from| from.version.to_string()),
            digest: from.map(|from| from.digest.to_string()),
            generation: from.map(|from| from.generation),
            description: plugin.map(|plugin| plugin.description.clone()),
            requested: words(&|plugin, capability| plugin.sandbox.requests(capability)),
            granted: words(&|plugin, capability| {
                plugin.sandbox.requests(capability) && !plugin.shortfall.contains(&capability)
            }),
            short: words(&|plugin, capability| plugin.shortfall.contains(&capability)),
            grants: plugin.map_or_else(Vec::new, |_| grants(host, name)),
            tools: entry.tools.iter().map(ToString::to_string).collect(),
            problems: entry.problems.clone(),
            health: troubles.into_iter().map(HealthView::of).collect(),
        }
    }

    /// From where, as a person reads it.
    pub(super) fn origin(&self) -> &str {
        self.path.as_deref().unwrap_or(&self.source)
    }

    /// What it asks for; a `-` marks what is not granted.
    pub(super) fn capabilities(&self) -> String {
        let asked = self.requested.iter().map(|name| {
            let sign = if self.short.contains(name) { "-" } else { "" };
            format!("{sign}{name}")
        });
        asked.collect::<Vec<_>>().join(" ")
    }
}

impl HealthView {
    fn of(trouble: Trouble) -> Self {
        Self {
            principal: trouble.principal,
            circuit: match trouble.refused_for {
                Some(_) => CircuitView::Open,
                None => CircuitView::Closed,
            },
            last_trap: trouble.trap,
            last_trap_at: format!("{:.0}", trouble.at),
            next_try_seconds: trouble.refused_for.map(|wait| wait.as_secs_f64()),
        }
    }
}

fn grants(host: &Host, name: &PluginName) -> Vec<String> {
    let grants = host.config().plugin(name.as_str()).grants;
    let mut lines = Vec::new();
    for grant in &grants.fs {
        let mode = if grant.writable {
            "reads and writes"
        } else {
            "reads"
        };
        lines.push(format!("{mode} {}", grant.host.display()));
    }
    if let Some(process) = &grants.process {
        let shell = if process.shell {
            ", and any text in a shell"
        } else {
            ""
        };
        lines.push(format!("runs {}{shell}", process.programs.join(", ")));
    }
    lines
}
