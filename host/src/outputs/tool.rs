//! What all channels have in common: the tool's definition, its arguments, and the words
//! for a channel that did not take a message.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::Message;
use crate::{
    ports::NativeTool,
    stage::StageContext,
    tool::{Failure, FailureKind, Hints, Output, ToolError, ToolName, ToolSpec},
};

/// Where messages go.
pub(super) trait Channel: Send + Sync {
    /// For the description: neither a path nor an address, which are the operator's.
    fn kind(&self) -> &'static str;

    /// Whether media arrive, or only a line that names them.
    fn keeps_media(&self) -> bool;

    /// Delivers one message, once. Dropped at the call's deadline.
    fn send(self: Arc<Self>, message: Message) -> BoxFuture<'static, Result<(), Undelivered>>;
}

/// Why a message was not delivered, as far as one knows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Undelivered {
    reason: &'static str,
    detail: String,
    hint: &'static str,
}

impl Undelivered {
    /// The channel cannot be reached or written.
    pub(super) fn unavailable(detail: impl Into<String>, hint: &'static str) -> Self {
        Self {
            reason: "unavailable_channel",
            detail: detail.into(),
            hint,
        }
    }

    /// The channel was reached and said no.
    pub(super) fn refused(detail: impl Into<String>, hint: &'static str) -> Self {
        Self {
            reason: "refused_by_channel",
            detail: detail.into(),
            hint,
        }
    }

    /// It broke off in the middle.
    pub(super) fn unknown(detail: impl Into<String>, hint: &'static str) -> Self {
        Self {
            reason: "delivery_unknown",
            detail: detail.into(),
            hint,
        }
    }

    fn failure(self, channel: &str) -> Failure {
        let error = ToolError {
            field: None,
            reason: self.reason.into(),
            detail: Some(format!("channel `{channel}`: {}", self.detail)),
            hint: Some(self.hint.into()),
        };
        Failure::new(FailureKind::Failed, error)
    }
}

/// `output_send__<name>`.
pub(super) struct SendTool {
    spec: ToolSpec,
    name: Arc<str>,
    channel: Arc<dyn Channel>,
}

impl SendTool {
    pub(super) fn new(tool: ToolName, name: &str, channel: Arc<dyn Channel>) -> Self {
        let media = if channel.keeps_media() {
            ""
        } else {
            " It takes text: media are noted by type, name and size, and their bytes are not kept."
        };
        let description = format!(
            "Sends a message to the output channel `{name}` ({}). Messages of one reply to one channel keep their order.{media}",
            channel.kind()
        );
        let spec = ToolSpec {
            title: Some(format!("Send to {name}")),
            // Beside other tools; among themselves the scheduler keeps their order.
            parallel_safe: true,
            hints: Hints {
                read_only: Some(false),
                destructive: Some(false),
                idempotent: Some(false),
                open_world: Some(true),
            },
            ..ToolSpec::new(tool, description, Message::schema())
        };
        Self {
            spec,
            name: name.into(),
            channel,
        }
    }
}

impl NativeTool for SendTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(
        self: Arc<Self>,
        _: Arc<StageContext>,
        args: Arc<Value>,
    ) -> BoxFuture<'static, Result<Output, Failure>> {
        Box::pin(async move {
            let message = Message::read(&args).map_err(|failure| *failure)?;
            drop(args);
            let mut value = json!({ "channel": &*self.name, "text_bytes": message.text.len() });
            if !message.blocks.is_empty() {
                // Success must not claim more than what arrived.
                let key = if self.channel.keeps_media() {
                    "blocks"
                } else {
                    "blocks_noted"
                };
                value[key] = message.blocks.len().into();
            }
            let sent = Arc::clone(&self.channel).send(message).await;
            sent.map_err(|undelivered| undelivered.failure(&self.name))?;
            Ok(Output {
                value,
                blocks: Vec::new(),
            })
        })
    }
}
