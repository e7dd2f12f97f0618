//! Kind `memory`: the youngest messages, for tests and for programs that show them.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::BoxFuture;

use super::{
    Message,
    tool::{Channel, Undelivered},
};

/// What a channel keeps, in bytes and in messages: two of the largest fit.
const BYTES: usize = 36 << 20;
const MESSAGES: usize = 1_024;

/// What the channels of kind `memory` keep. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct MemoryOutputs(Arc<Mutex<BTreeMap<String, Kept>>>);

#[derive(Debug, Default)]
struct Kept {
    messages: VecDeque<Message>,
    bytes: usize,
    dropped: u64,
}

impl MemoryOutputs {
    /// The channel's messages, oldest first; empty if there is no such channel. At most
    /// 1,024 messages and 36 MiB are kept.
    #[must_use]
    pub fn messages(&self, channel: &str) -> Vec<Message> {
        self.kept()
            .get(channel)
            .map(|kept| kept.messages.iter().cloned().collect())
            .unwrap_or_default()
    }

    /// How many older messages had to make room.
    #[must_use]
    pub fn dropped(&self, channel: &str) -> u64 {
        self.kept().get(channel).map_or(0, |kept| kept.dropped)
    }

    pub(super) fn channel(&self, name: &str) -> MemoryChannel {
        self.kept().insert(name.to_owned(), Kept::default());
        MemoryChannel {
            name: name.to_owned(),
            outputs: self.clone(),
        }
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<String, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn push(&mut self, message: Message) {
        self.bytes += message.size();
        self.messages.push_back(message);
        while self.bytes > BYTES || self.messages.len() > MESSAGES {
            let Some(oldest) = self.messages.pop_front() else {
                break;
            };
            self.bytes -= oldest.size();
            self.dropped += 1;
        }
    }
}

pub(super) struct MemoryChannel {
    name: String,
    outputs: MemoryOutputs,
}

impl Channel for MemoryChannel {
    fn kind(&self) -> &'static str {
        "memory"
    }

    fn keeps_media(&self) -> bool {
        true
    }

    fn send(self: Arc<Self>, message: Message) -> BoxFuture<'static, Result<(), Undelivered>> {
        if let Some(kept) = self.outputs.kept().get_mut(&self.name) {
            kept.push(message);
        }
        Box::pin(std::future::ready(Ok(())))
    }
}
