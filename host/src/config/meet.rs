//! What two configurations allow both: how a running host takes over an edited file.
//! What the edit takes away is gone at once; what it adds waits for the operator's word.

use std::{collections::BTreeMap, sync::Arc};

use super::{Config, HostConfig, PluginConfig, Source, ToolConfig};
use crate::{policy::ParallelSafety, tool::PluginName};

impl Config {
    /// Of plugins and principals what both allow; the rest as it runs.
    #[must_use]
    pub fn meet(&self, new: &Self) -> Self {
        let plugins = self
            .plugins
            .keys()
            .chain(new.plugins.keys())
            .filter_map(|name| Some((name.clone(), self.plugin_of_both(new, name)?)))
            .collect();
        Self {
            plugins,
            policy: Arc::new(self.policy.clone()).meet(new.policy.clone()),
            host: HostConfig {
                limits: self.host.limits.meet(&new.host.limits),
                ..self.host.clone()
            },
            path: new.path.clone(),
            ..self.clone()
        }
    }

    /// All of `new`, but for what only a new start takes over.
    #[must_use]
    pub fn replaced_by(&self, new: Self) -> Self {
        Self {
            host: HostConfig {
                limits: new.host.limits,
                ..self.host.clone()
            },
            outputs: self.outputs.clone(),
            audit: self.audit.clone(),
            serve: self.serve.clone(),
            ..new
        }
    }

    /// What of `new` does not hold while this one runs, in plain words; nothing if all of
    /// it does.
    #[must_use]
    pub fn waiting(&self, new: &Self) -> Vec<String> {
        let mut waiting = Vec::new();
        for name in self.plugins.keys().chain(new.plugins.keys()) {
            let line = format!("[plugins.{name}]");
            if self.plugins.get(name) != new.plugins.get(name)
                && self.plugin(name.as_str()) != new.plugin(name.as_str())
                && !waiting.contains(&line)
            {
                waiting.push(line);
            }
        }
        if self.host.limits != new.host.limits {
            waiting.push("[host.limits]".to_owned());
        }
        if !self.policy.is(&new.policy) {
            waiting.push("[principals]".to_owned());
        }
        waiting
    }

    /// What of `new` is only taken over by a new start.
    #[must_use]
    pub fn needs_restart(&self, new: &Self) -> Vec<&'static str> {
        // Limits are taken over.
        let host = HostConfig {
            limits: self.host.limits.clone(),
            ..new.host.clone()
        };
        let differ = [
            ("[host]", self.host != host),
            ("[outputs]", self.outputs != new.outputs),
            ("[audit]", self.audit != new.audit),
            ("[serve]", self.serve != new.serve),
        ];
        differ
            .into_iter()
            .filter_map(|(section, differs)| differs.then_some(section))
            .collect()
    }

    /// None: the plugin is to be loaded by neither, or from a place that one of them does
    /// not name.
    fn plugin_of_both(&self, new: &Self, name: &PluginName) -> Option<PluginConfig> {
        let path = |config: &Self| match config.plugins.get(name).map(|one| &one.source) {
            Some(Some(Source::Path(path))) => Some(path.clone()),
            _ => None,
        };
        match (path(self), path(new)) {
            // Code from a place that nobody confirmed.
            (None, Some(_)) if !self.plugins.contains_key(name) => return None,
            // The section with the code's place is gone.
            (Some(_), None) => return None,
            _ => {}
        }
        Some(self.plugin(name.as_str()).meet(&new.plugin(name.as_str())))
    }
}

impl PluginConfig {
    /// What both allow. Code and settings stay as they run.
    fn meet(&self, new: &Self) -> Self {
        let tools: BTreeMap<_, _> = self
            .tools
            .keys()
            .chain(new.tools.keys())
            .map(|tool| {
                let (running, new) = (self.tool(tool.as_str()), new.tool(tool.as_str()));
                (tool.clone(), running.meet(&new))
            })
            .collect();
        Self {
            source: self.source.clone(),
            grants: self.grants.meet(&new.grants),
            limits: self.limits.meet(&new.limits),
            timeout_set: self.timeout_set || new.timeout_set,
            tools,
            max_concurrent: match (self.max_concurrent, new.max_concurrent) {
                (Some(running), Some(new)) => Some(running.min(new)),
                (running, new) => running.or(new),
            },
            settings: self.settings.clone(),
        }
    }
}

impl ToolConfig {
    fn meet(&self, new: &Self) -> Self {
        let (running, wanted) = (self.parallel_safe.as_ref(), new.parallel_safe.as_ref());
        Self {
            limits: self.limits.meet(&new.limits),
            timeout_set: self.timeout_set || new.timeout_set,
            parallel_safe: ParallelSafety::meet(running, wanted),
        }
    }
}
