//! `seq_help`: the format in one page, with an example that a test creates.

use toolgate_sdk::{ToolError, tool};

/// Explains the format of sequences in one page, with an example.
#[tool(parallel_safe, read_only)]
pub(crate) fn seq_help() -> Result<String, ToolError> {
    Ok(HELP.replace("{example}", EXAMPLE.trim()))
}

pub(crate) const EXAMPLE: &str = include_str!("help/example.json");
const HELP: &str = include_str!("help/help.md");
