//! The port to a model: messages and tools in, a stream of pieces out. Implementations
//! know one provider's protocol each; nothing here does.

use std::{sync::Arc, time::Duration};

use futures_util::stream::BoxStream;

use crate::tool::{Block, ToolSpec};

/// Something that answers a conversation.
pub trait Model: Send + Sync {
    /// As the configuration calls it, for messages and logs.
    fn name(&self) -> &str;

    /// One reply, in pieces. Nothing is sent before the stream is polled; dropping it gives
    /// the request up. After an error the stream ends.
    fn reply(&self, request: Request) -> BoxStream<'static, Result<Piece, ModelError>>;
}

/// What a model is asked.
#[derive(Debug, Clone)]
pub struct Request {
    /// The conversation so far; every call in it is answered.
    pub messages: Arc<[Message]>,
    /// What it may call.
    pub tools: Arc<[Arc<ToolSpec>]>,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Instructions.
    System(String),
    /// What a person, or the runtime on its behalf, says; media after the text.
    User {
        /// The text.
        text: String,
        /// Images and the like.
        media: Vec<Block>,
    },
    /// A whole reply of the model.
    Assistant {
        /// What it said beside its calls.
        text: String,
        /// All calls of the reply, by ascending index, each with an id of its own.
        calls: Vec<MadeCall>,
    },
    /// The answer to one call of the reply before.
    Tool {
        /// Which call.
        call_id: String,
        /// Of the tool.
        name: String,
        /// For the model.
        text: String,
        /// The call failed.
        is_error: bool,
    },
}

/// A call as it stands in the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeCall {
    /// Unique in the conversation.
    pub id: String,
    /// As the model wrote it.
    pub name: String,
    /// As the model wrote them; empty means none.
    pub arguments: String,
}

/// What comes out of a model's stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// More text.
    Text(String),
    /// More of a call.
    Call(Fragment),
    /// What the reply cost; the last one counts.
    Usage(Usage),
    /// The model has ended its reply, and why.
    Finished(Finish),
    /// The provider asked to wait, or the connection failed, before anything of the reply
    /// came: it is tried again.
    Retrying {
        /// How long from now.
        after: Duration,
        /// Why, for a person.
        why: String,
    },
}

/// A part of one call. Which call: its index; without one, its id; without both, the call
/// that is being written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fragment {
    /// The call's place in the reply.
    pub index: Option<u64>,
    /// The model's id for it.
    pub id: Option<String>,
    /// The tool's name.
    pub name: Option<String>,
    /// The next part of the arguments' text.
    pub arguments: String,
}

/// Tokens, as the provider counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Of what it read.
    pub input: u64,
    /// Of what it wrote.
    pub output: u64,
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// It was complete.
    Stop,
    /// It wants its calls run.
    ToolCalls,
    /// It was cut by a length limit: the last call is not whole.
    Length,
    /// The provider withheld the rest.
    Filtered,
}

/// Why there is no (whole) reply.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The configuration of the model cannot work: no key, an unusable address.
    #[error("{0}")]
    Configuration(String),
    /// The provider refused the request for good.
    #[error("the model's provider refused the request ({status}): {detail}")]
    Refused {
        /// Of HTTP.
        status: u16,
        /// What it said, shortened.
        detail: String,
    },
    /// It could not be reached, or not in time, after all retries.
    #[error("the model did not answer: {0}")]
    Unavailable(String),
    /// The stream broke off before the reply ended.
    #[error("the model's reply broke off: {0}")]
    Interrupted(String),
    /// What came is not of the protocol.
    #[error("the model's reply cannot be read: {0}")]
    Malformed(String),
}
