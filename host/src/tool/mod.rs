//! The nouns of a tool call. No I/O, no engine, no protocol: everything above speaks
//! in these words, and nothing here knows who does.

mod call;
mod error;
mod failure;
mod implementation;
mod name;
mod pattern;
mod principal;
mod result;
mod spec;

pub use call::{Batch, RawArguments, ToolCall};
pub use error::{ErrToolNotFound, Reason, ToolError, is_tool_not_found};
pub use failure::{Failure, FailureKind};
pub use implementation::{Digest, Implementation};
pub use name::{NameError, PluginName, ToolName};
pub use pattern::NamePattern;
pub use principal::{Extra, Kind, Principal};
pub use result::{Block, Output, ToolResult};
pub use spec::{Hints, ToolSpec};
