//! What a tool says about itself.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::ToolName;

/// A tool's definition, checked at load.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// Unique in a catalog.
    pub name: ToolName,
    /// For people.
    pub title: Option<String>,
    /// For models.
    pub description: String,
    /// JSON Schema of the arguments; the root is a closed object unless it says otherwise.
    pub parameters: Value,
    /// JSON Schema of the value.
    pub output_schema: Option<Value>,
    /// May run beside other calls of its batch.
    pub parallel_safe: bool,
    /// At most one such call of the plugin at a time.
    pub serial: bool,
    /// Claims about behaviour. They inform; they grant nothing.
    pub hints: Hints,
    /// Replaces the default time limit, up to the operator's maximum.
    pub timeout: Option<Duration>,
}

impl ToolSpec {
    /// A tool without optional parts: closed schema, not parallel-safe.
    #[must_use]
    pub fn new(name: ToolName, description: impl Into<String>, parameters: Value) -> Self {
        Self {
            name,
            title: None,
            description: description.into(),
            parameters,
            output_schema: None,
            parallel_safe: false,
            serial: false,
            hints: Hints::default(),
            timeout: None,
        }
    }
}

/// What a tool says about its behaviour; absent where it says nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Hints {
    /// Changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// May destroy what was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// A second call with the same arguments changes nothing more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// Reaches things that the host does not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}
