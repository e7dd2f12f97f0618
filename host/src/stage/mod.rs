//! Everything the kernel knows about one call while it runs. One per call, never shared:
//! what a call leaves here can never reach another call.
//!
//! It lies below the sandbox, because a store's data *is* its call's [`StageContext`], and
//! below the ports, because native tools are handed one.

mod deadline;
mod lane;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::tool::{
    Block, Extra, Failure, FailureKind, NamePattern, PluginName, Principal, ToolName,
};

pub use deadline::{Deadline, Pause};
pub use lane::{Lane, RootGate, Step};

/// One call's context.
#[derive(Debug)]
pub struct StageContext {
    /// Unique in its batch.
    pub call_id: Arc<str>,
    /// Position in the batch.
    pub index: u32,
    /// Unique in this host.
    pub batch_id: Arc<str>,
    /// Who stands behind the call.
    pub principal: Principal,
    /// The calls that led here, outermost first; empty for a model's own call.
    pub chain: Arc<[Link]>,
    /// When the call has to end.
    pub deadline: Arc<Deadline>,
    /// Set when the caller gives up.
    pub cancel: CancellationToken,
    /// What came down from the calls above.
    pub extra: Extra,
    /// This call's hold on its root batch's gate.
    pub lane: Lane,
    /// Media that native code adds to this call's result.
    pub blocks: Blocks,
}

/// Media of one call.
#[derive(Debug, Default)]
pub struct Blocks(Mutex<Vec<Block>>);

/// One call above this one.
#[derive(Debug, Clone)]
pub struct Link {
    /// Whose code made the call below.
    pub plugin: PluginName,
    /// In which tool.
    pub tool: ToolName,
    /// Whether that tool holds its plugin's serial lock.
    pub serial: bool,
    /// The tools that this plugin may call: everything below is bound by them.
    pub may_call: Arc<[NamePattern]>,
}

impl StageContext {
    /// 0 for a model's own call.
    #[must_use]
    pub fn depth(&self) -> u32 {
        u32::try_from(self.chain.len()).unwrap_or(u32::MAX)
    }

    /// Runs `work` until it ends, the deadline passes or the caller gives up. What is
    /// still running then is dropped.
    ///
    /// # Errors
    ///
    /// `timeout` or `cancelled`.
    pub async fn bounded<T>(&self, work: impl Future<Output = T>) -> Result<T, Failure> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(cancelled()),
            value = work => Ok(value),
            () = self.deadline.passed() => Err(self.deadline.failure()),
        }
    }
}

impl Blocks {
    /// Adds media to the call's result.
    pub fn add(&self, block: Block) {
        self.all().push(block);
    }

    /// Takes the media that were added.
    #[must_use]
    pub fn take(&self) -> Vec<Block> {
        std::mem::take(&mut self.all())
    }

    fn all(&self) -> MutexGuard<'_, Vec<Block>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The caller gave up.
#[must_use]
pub fn cancelled() -> Failure {
    Failure::host(FailureKind::Cancelled, "the caller cancelled the call")
}
