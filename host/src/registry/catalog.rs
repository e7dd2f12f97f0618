//! An immutable view of all plugins: what is there, what was set aside, and why.

use std::{collections::BTreeMap, error::Error, sync::Arc};

use super::{Origin, Plugin, PluginTool, Shelf, Target};
use crate::tool::{ErrToolNotFound, PluginName, ToolName};

/// All plugins of one moment.
#[derive(Debug, Default)]
pub struct Catalog {
    tools: BTreeMap<ToolName, Arc<PluginTool>>,
    plugins: BTreeMap<PluginName, Entry>,
}

/// One plugin, loaded or not.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Where it comes from.
    pub origin: Origin,
    /// The version that serves, if one does.
    pub plugin: Option<Arc<Plugin>>,
    /// Its tools that are offered.
    pub tools: Vec<ToolName>,
    /// What was set aside, and why.
    pub problems: Vec<String>,
}

/// One plugin as the loader gives it, before names are compared.
#[derive(Debug)]
pub struct Loaded {
    /// Its name.
    pub name: PluginName,
    /// Where it comes from.
    pub origin: Origin,
    /// The version and its tools, or why there is none.
    pub outcome: Result<(Arc<Plugin>, Vec<Arc<PluginTool>>), String>,
    /// What was set aside, and why.
    pub problems: Vec<String>,
}

impl Catalog {
    /// In the order given: of two plugins with one tool name, the first keeps it.
    #[must_use]
    pub fn new(loaded: impl IntoIterator<Item = Loaded>) -> Self {
        let mut catalog = Self::default();
        for one in loaded {
            catalog.add(one);
        }
        catalog
    }

    fn add(&mut self, loaded: Loaded) {
        let Loaded {
            name,
            origin,
            outcome,
            mut problems,
        } = loaded;
        if let Some(first) = self.plugins.get_mut(&name) {
            first
                .problems
                .push(format!("{origin} has the same name and is not used"));
            return;
        }
        let mut offered = Vec::new();
        let plugin = match outcome {
            Err(problem) => {
                problems.insert(0, problem);
                None
            }
            Ok((plugin, tools)) => {
                for tool in tools {
                    let tool_name = tool.spec.name.clone();
                    if let Some(other) = self.tools.get(&tool_name) {
                        problems.push(format!(
                            "tool `{tool_name}` is set aside: plugin `{}` has one of that name",
                            other.plugin.implementation.plugin
                        ));
                    } else {
                        offered.push(tool_name.clone());
                        self.tools.insert(tool_name, tool);
                    }
                }
                Some(plugin)
            }
        };
        let entry = Entry {
            origin,
            plugin,
            tools: offered,
            problems,
        };
        self.plugins.insert(name, entry);
    }

    /// All plugins, by name.
    pub fn plugins(&self) -> impl Iterator<Item = (&PluginName, &Entry)> {
        self.plugins.iter()
    }

    /// All tools, by name.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<PluginTool>> {
        self.tools.values()
    }
}

impl Shelf for Catalog {
    fn lookup(&self, name: &str) -> Result<Target, Box<dyn Error + Send + Sync>> {
        match self.tools.get(name) {
            Some(tool) => Ok(Target::Plugin(Arc::clone(tool))),
            None => Err(Box::new(ErrToolNotFound {
                name: name.to_owned(),
            })),
        }
    }

    fn names(&self) -> Vec<ToolName> {
        self.tools.keys().cloned().collect()
    }
}
