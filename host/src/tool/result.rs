//! What every call ends in: exactly one [`ToolResult`].

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use serde::{Serialize, Serializer, ser::SerializeStruct};
use serde_json::Value;

use super::{Failure, Implementation};

/// Media that belongs to one call's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Such as `image/png`.
    pub mime: String,
    /// Such as a file's name.
    pub name: Option<String>,
    /// The bytes.
    pub data: Bytes,
}

impl Serialize for Block {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut block = serializer.serialize_struct("Block", 3)?;
        block.serialize_field("mime", &self.mime)?;
        block.serialize_field("name", &self.name)?;
        block.serialize_field("data", &BASE64_STANDARD.encode(&self.data))?;
        block.end()
    }
}

/// What a tool gave.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Output {
    /// The structured value.
    pub value: Value,
    /// Its media.
    pub blocks: Vec<Block>,
}

/// How one call ended. `success` is derived from the outcome, so it cannot lie.
#[derive(Debug, Clone)]
pub struct ToolResult {
    /// Unique in its batch.
    pub id: String,
    /// What the model had given, where it had to be replaced.
    pub original_id: Option<String>,
    /// Position in the batch.
    pub index: u32,
    /// As the model wrote it.
    pub name: String,
    /// The output, or why there is none.
    pub outcome: Result<Output, Failure>,
    /// The text for the model.
    pub text: String,
    /// Whether the batch ran in parallel.
    pub parallel: bool,
    /// Time in the tool.
    pub elapsed: Duration,
    /// Time spent waiting for a slot.
    pub queue: Duration,
    /// Which code answered, where one was reached and may be known.
    pub implementation: Option<Implementation>,
}

impl ToolResult {
    /// No failure, and the value is none either.
    #[must_use]
    pub fn success(&self) -> bool {
        self.outcome.is_ok()
    }
}

impl Serialize for ToolResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let failure = self.outcome.as_ref().err();
        let (value, blocks) = match &self.outcome {
            Ok(output) => (Some(&output.value), &output.blocks),
            Err(failure) => (failure.value.as_ref(), &failure.blocks),
        };
        let mut result = serializer.serialize_struct("ToolResult", 15)?;
        result.serialize_field("id", &self.id)?;
        if let Some(original) = &self.original_id {
            result.serialize_field("original_id", original)?;
        }
        result.serialize_field("index", &self.index)?;
        result.serialize_field("name", &self.name)?;
        result.serialize_field("success", &self.success())?;
        result.serialize_field("failure", &failure.map(|f| f.kind))?;
        result.serialize_field("value", &value)?;
        result.serialize_field("error", &failure.map(|f| &f.error))?;
        if let Some(also) = failure.map(|f| &f.also).filter(|also| !also.is_empty()) {
            result.serialize_field("also", also)?;
        }
        result.serialize_field("blocks", blocks)?;
        result.serialize_field("text", &self.text)?;
        result.serialize_field("parallel", &self.parallel)?;
        result.serialize_field("elapsed_ms", &milliseconds(self.elapsed))?;
        result.serialize_field("queue_ms", &milliseconds(self.queue))?;
        result.serialize_field("implementation", &self.implementation)?;
        result.end()
    }
}

/// Milliseconds with microseconds as decimals: what a reader can compare.
fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
