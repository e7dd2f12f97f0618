//! Native tools by name, with their schemas compiled: an overlay over the plugins.

use std::{collections::BTreeMap, error::Error, fmt, sync::Arc};

use super::{Shelf, Target};
use crate::{
    arguments::{OutputSchema, Parameters, SchemaError},
    ports::NativeTool,
    tool::{Digest, ErrToolNotFound, Implementation, NameError, PluginName, ToolName, ToolSpec},
};

/// An immutable set of native tools.
#[derive(Debug, Clone, Default)]
pub struct Layer(BTreeMap<ToolName, Arc<NativeEntry>>);

/// One native tool, ready to be called.
pub struct NativeEntry {
    /// The tool.
    pub tool: Arc<dyn NativeTool>,
    /// Its definition, the root of the schema closed.
    pub spec: Arc<ToolSpec>,
    /// Its compiled schema.
    pub parameters: Parameters,
    /// Its compiled output schema.
    pub output: Option<OutputSchema>,
    /// What stands for a component's identity: the host's own version.
    pub implementation: Implementation,
}

/// A native tool that cannot be offered.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    /// Two of one name.
    #[error("two native tools are called `{0}`")]
    Duplicate(ToolName),
    /// A schema that no call could be checked against.
    #[error("native tool `{tool}`: {error}")]
    Schema {
        /// Whose.
        tool: ToolName,
        /// What is wrong with it.
        error: SchemaError,
    },
    /// The host's own name is no name: never in practice.
    #[error(transparent)]
    Name(#[from] NameError),
}

impl Layer {
    /// Of these tools.
    ///
    /// # Errors
    ///
    /// If two have one name, or a schema is not usable.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn NativeTool>>) -> Result<Self, LayerError> {
        let mut map = BTreeMap::new();
        for tool in tools {
            let entry = NativeEntry::new(tool)?;
            let name = entry.spec.name.clone();
            if map.insert(name.clone(), Arc::new(entry)).is_some() {
                return Err(LayerError::Duplicate(name));
            }
        }
        Ok(Self(map))
    }
}

impl NativeEntry {
    fn new(tool: Arc<dyn NativeTool>) -> Result<Self, LayerError> {
        let mut spec = tool.spec().clone();
        let schema = |error| LayerError::Schema {
            tool: tool.spec().name.clone(),
            error,
        };
        let parameters = Parameters::compile(&spec.parameters).map_err(schema)?;
        spec.parameters = parameters.schema().clone();
        let output = match &spec.output_schema {
            Some(output) => Some(OutputSchema::compile(output).map_err(schema)?),
            None => None,
        };
        let version = env!("CARGO_PKG_VERSION");
        let implementation = Implementation {
            plugin: PluginName::new("host")?,
            version: version.into(),
            digest: Digest::of(format!("{version}/{}", spec.name).as_bytes()),
            generation: 1,
        };
        Ok(Self {
            spec: Arc::new(spec),
            tool,
            parameters,
            output,
            implementation,
        })
    }
}

impl Shelf for Layer {
    fn lookup(&self, name: &str) -> Result<Target, Box<dyn Error + Send + Sync>> {
        match self.0.get(name) {
            Some(entry) => Ok(Target::Native(Arc::clone(entry))),
            None => Err(Box::new(ErrToolNotFound {
                name: name.to_owned(),
            })),
        }
    }

    fn names(&self) -> Vec<ToolName> {
        self.0.keys().cloned().collect()
    }
}

impl fmt::Debug for NativeEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeEntry")
            .field("name", &self.spec.name)
            .finish_non_exhaustive()
    }
}
