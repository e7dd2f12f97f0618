//! What a model asks for, before anything about it is believed.

use serde_json::Value;

/// All calls of one model reply, in its order.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// The calls; index is the position.
    pub calls: Vec<ToolCall>,
    /// The reply was cut by its length limit: the last call never runs.
    pub cut: bool,
}

/// One intent of a model. Untrusted.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The model's id; replaced if missing or not unique.
    pub id: Option<String>,
    /// As the model wrote it.
    pub name: String,
    /// As the model wrote them.
    pub arguments: RawArguments,
}

impl ToolCall {
    /// A call without an id.
    pub fn new(name: impl Into<String>, arguments: impl Into<RawArguments>) -> Self {
        Self {
            id: None,
            name: name.into(),
            arguments: arguments.into(),
        }
    }

    /// Sets the model's id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }
}

/// Arguments before they are read.
#[derive(Debug, Clone, Default)]
pub enum RawArguments {
    /// Nothing was given: means `{}`.
    #[default]
    Absent,
    /// JSON text, or what was meant to be.
    Text(String),
    /// Already JSON, from an embedder or a protocol that parsed it.
    Value(Value),
}

impl From<String> for RawArguments {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for RawArguments {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Value> for RawArguments {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}
