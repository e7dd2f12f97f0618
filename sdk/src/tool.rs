//! What `#[tool]` implements.

use crate::{Context, Failure, Output, ToolDef};

/// One tool: its definition and its call. Implemented by `#[tool]`.
pub trait Tool {
    /// The tool's name. Equals `definition().name`.
    const NAME: &'static str;

    /// What the host is told at load.
    fn definition() -> ToolDef;

    /// One call; `arguments` is JSON text of an object.
    ///
    /// # Errors
    ///
    /// The tool's own failure, or `arguments` where the text does not fit.
    fn call(context: &Context, arguments: &str) -> Result<Output, Failure>;
}

/// The arguments of a tool that takes none.
#[derive(Debug, Default, serde::Deserialize, schemars::JsonSchema)]
pub struct NoArguments {}
