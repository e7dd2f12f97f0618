//! From what a tool's function returns to what the host takes.

use serde::Serialize;

use crate::{Block, Failure, Output, ToolError};

impl ToolError {
    /// `reason` is machine-readable snake case; `detail` says what happened.
    pub fn new(reason: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            field: None,
            reason: reason.into(),
            detail: Some(detail.into()),
            hint: None,
        }
    }

    /// Names the failing argument, such as `edits[0].old`.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        Self {
            error,
            value: None,
            blocks: Vec::new(),
        }
    }
}

impl Failure {
    /// Adds what there is in spite of the failure.
    ///
    /// # Panics
    ///
    /// Where `value` cannot be JSON, such as a map with keys that are no text.
    #[must_use]
    pub fn with_value(mut self, value: &impl Serialize) -> Self {
        self.value = Some(json(value));
        self
    }
}

impl Output {
    /// # Panics
    ///
    /// Where `value` cannot be JSON, such as a map with keys that are no text.
    pub fn new(value: &impl Serialize) -> Self {
        Self {
            value: json(value),
            blocks: Vec::new(),
        }
    }

    /// Adds media to the result.
    #[must_use]
    pub fn with_block(
        mut self,
        mime: impl Into<String>,
        name: Option<String>,
        data: Vec<u8>,
    ) -> Self {
        self.blocks.push(Block {
            mime: mime.into(),
            name,
            data,
        });
        self
    }
}

/// What a tool's function may return.
pub trait ToolResult {
    /// The structured value, for the output schema.
    type Value;

    /// # Errors
    ///
    /// The tool's failure.
    fn into_outcome(self) -> Result<Output, Failure>;
}

impl<T: IntoOutput, E: Into<Failure>> ToolResult for Result<T, E> {
    type Value = T;

    fn into_outcome(self) -> Result<Output, Failure> {
        self.map(IntoOutput::into_output).map_err(Into::into)
    }
}

/// Anything that serialises, and [`Output`] itself.
pub trait IntoOutput {
    /// Gives the value and the media of one result.
    fn into_output(self) -> Output;
}

impl<T: Serialize> IntoOutput for T {
    fn into_output(self) -> Output {
        Output::new(&self)
    }
}

impl IntoOutput for Output {
    fn into_output(self) -> Output {
        self
    }
}

/// A value that cannot be JSON is a fault of the plugin: it traps, and the host says so.
#[expect(
    clippy::expect_used,
    reason = "a fault of the plugin's author, found by the first call"
)]
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a tool's value serialises as JSON")
}
