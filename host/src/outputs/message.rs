//! One message: read from a call's arguments under caps of its own, and shown as text by
//! the channels that have no place for media.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::tool::{Block, Failure, FailureKind, Reason, ToolError};

/// Bytes of text in one message: more is a file.
pub(super) const TEXT: usize = 1 << 20;
/// Bytes of media in one message, as in one call's result.
const MEDIA: usize = 16 << 20;
/// Media in one message. Each is a line in channels of text.
const BLOCKS: usize = 32;

/// What is sent. As JSON: `{"text", "blocks": [{"mime", "name", "data"}]}`, data in base64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// At most 1 MiB.
    pub text: String,
    /// Media, at most 32 of them and 16 MiB in all.
    pub blocks: Vec<Block>,
}

#[derive(Deserialize)]
struct Arguments {
    text: String,
    #[serde(default)]
    blocks: Vec<Encoded>,
}

#[derive(Deserialize)]
struct Encoded {
    mime: String,
    #[serde(default)]
    name: Option<String>,
    data: String,
}

impl Message {
    /// The tool's parameters. What is said here is checked before a call comes.
    pub(super) fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "text": { "type": "string", "description": "The message, at most 1 MiB." },
                "blocks": {
                    "type": "array",
                    "description": "Media that belongs to it, at most 16 MiB in all.",
                    "maxItems": BLOCKS,
                    "items": {
                        "type": "object",
                        "properties": {
                            "mime": {
                                "type": "string",
                                "description": "Such as image/png.",
                                "pattern": "^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+$",
                                "maxLength": 127
                            },
                            "name": { "type": "string", "description": "Such as a file's name.", "maxLength": 255 },
                            "data": { "type": "string", "description": "The bytes, in base64.", "contentEncoding": "base64" }
                        },
                        "required": ["mime", "data"],
                        "additionalProperties": false
                    }
                }
            },
            "required": ["text"],
            "additionalProperties": false
        })
    }

    /// Of arguments that fit the schema.
    ///
    /// # Errors
    ///
    /// `limit` for too much, `invalid` for data that is no base64.
    pub(super) fn read(arguments: &Value) -> Result<Self, Box<Failure>> {
        let arguments = Arguments::deserialize(arguments)
            .map_err(|error| Failure::host(FailureKind::Invalid, error.to_string()))?;
        if arguments.text.len() > TEXT {
            return Err(too_large("text", arguments.text.len(), TEXT));
        }
        // Four characters are three bytes at most: measured before anything is decoded.
        let encoded: usize = arguments.blocks.iter().map(|block| block.data.len()).sum();
        if encoded / 4 * 3 > MEDIA {
            return Err(too_large("blocks", encoded / 4 * 3, MEDIA));
        }
        let mut blocks = Vec::with_capacity(arguments.blocks.len());
        let mut errors = Vec::new();
        for (at, block) in arguments.blocks.into_iter().enumerate() {
            match BASE64_STANDARD.decode(&block.data) {
                Ok(data) => blocks.push(Block { mime: block.mime, name: block.name, data: data.into() }),
                Err(error) => errors.push(
                    ToolError::new(Reason::Format, format!("this is no base64: {error}"))
                        .field(format!("blocks[{at}].data"))
                        .hint("encode the bytes in the standard alphabet, with padding and without line breaks"),
                ),
            }
        }
        if errors.is_empty() {
            Ok(Self {
                text: arguments.text,
                blocks,
            })
        } else {
            Err(Box::new(Failure::invalid(errors)))
        }
    }

    /// The text, then a line for each block: channels of text have no place for its bytes.
    pub(super) fn as_text(&self) -> String {
        let mut text = self.text.clone();
        for block in &self.blocks {
            let name = block
                .name
                .as_ref()
                .map(|name| format!(" {name:?}"))
                .unwrap_or_default();
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!(
                "[block {}{name} {} bytes]",
                block.mime,
                block.data.len()
            ));
        }
        text
    }

    /// Bytes in memory, roughly.
    pub(super) fn size(&self) -> usize {
        self.text.len()
            + self
                .blocks
                .iter()
                .map(|block| block.data.len())
                .sum::<usize>()
    }
}

fn too_large(field: &str, size: usize, cap: usize) -> Box<Failure> {
    let mut failure = Failure::host(
        FailureKind::Limit,
        format!("{size} bytes; the limit of one message is {cap}"),
    )
    .hint("send several messages, or write a file and send its path");
    failure.error = failure.error.field(field);
    Box::new(failure)
}
