//! Output channels: for each `[outputs.<name>]` of the configuration one native tool
//! `output_send__<name>`. A channel that cannot take a message says so as the failure of
//! that call, and nothing is ever sent twice.
//!
//! Who may send where is the gate's matter, and the order of a batch's messages to one
//! channel the scheduler's; neither is decided here.

mod console;
mod file;
mod memory;
mod message;
mod tool;
mod webhook;

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    config::OutputConfig,
    ports::{Console, NativeTool},
    tool::ToolName,
};

pub use console::NoConsole;
pub use memory::MemoryOutputs;
pub use message::Message;

use tool::{Channel, SendTool};

/// The tools of these channels, and what channels of kind `memory` will have kept.
///
/// `env` is the environment from which webhooks take their tokens, now. Nothing is opened
/// or contacted before the first message.
#[must_use]
pub fn channels(
    outputs: &BTreeMap<String, OutputConfig>,
    console: &Arc<dyn Console>,
    env: &[(String, String)],
) -> (Vec<Arc<dyn NativeTool>>, MemoryOutputs) {
    let memory = MemoryOutputs::default();
    let mut tools: Vec<Arc<dyn NativeTool>> = Vec::with_capacity(outputs.len());
    for (name, output) in outputs {
        // The configuration refuses such names; an embedder may make its own.
        let tool = match ToolName::new(&format!("{}{name}", crate::policy::OUTPUT_TOOL)) {
            Ok(tool) => tool,
            Err(error) => {
                tracing::error!(%error, "an output channel without a usable name is left out");
                continue;
            }
        };
        let channel: Arc<dyn Channel> = match output {
            OutputConfig::Stdout => {
                Arc::new(console::ConsoleChannel::new(name, Arc::clone(console)))
            }
            OutputConfig::File { path } => Arc::new(file::FileChannel::new(path.clone())),
            OutputConfig::Webhook { url, token_env } => {
                Arc::new(webhook::Webhook::new(name, url, token_env.as_deref(), env))
            }
            OutputConfig::Memory => Arc::new(memory.channel(name)),
        };
        tools.push(Arc::new(SendTool::new(tool, name, channel)));
    }
    (tools, memory)
}

#[cfg(test)]
mod tests;
