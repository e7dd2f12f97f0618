//! What can be watched while it happens: numbered, lossy for slow readers with a count of
//! what they missed. Nobody waits for a watcher.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::broadcast;

use super::{Branch, call::Numbered as Call, gate::AskedCall, plan::Mode};
use crate::{
    registry::{Change, Target},
    tool::{FailureKind, Implementation, ToolResult},
};

/// Events that a reader may be behind.
const BEHIND: usize = 4_096;

/// Where events come from. Cheap to clone.
#[derive(Debug, Clone)]
pub struct EventBus(Arc<Bus>);

#[derive(Debug)]
struct Bus {
    sender: broadcast::Sender<Arc<Numbered>>,
    next: AtomicU64,
    /// Held while an event gets its number and is sent: readers see rising numbers.
    order: Mutex<()>,
}

/// One event, as readers get it.
#[derive(Debug, Clone, Serialize)]
pub struct Numbered {
    /// Counts from 1 in this host.
    pub seq: u64,
    /// UTC, milliseconds.
    pub time: String,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// A reader.
#[derive(Debug)]
pub struct Subscription(broadcast::Receiver<Arc<Numbered>>);

impl Default for EventBus {
    fn default() -> Self {
        Self(Arc::new(Bus {
            sender: broadcast::channel(BEHIND).0,
            next: AtomicU64::new(1),
            order: Mutex::default(),
        }))
    }
}

impl EventBus {
    /// Everything from now on.
    #[must_use]
    pub fn subscribe(&self) -> Subscription {
        Subscription(self.0.sender.subscribe())
    }

    /// The number of the last event so far; 0 before the first.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.0.next.load(Ordering::Relaxed) - 1
    }

    /// Made only if somebody watches.
    pub(crate) fn emit(&self, event: impl FnOnce() -> Event) {
        if self.0.sender.receiver_count() == 0 {
            self.0.next.fetch_add(1, Ordering::Relaxed);
            return;
        }
        // Made before the lock, which everybody who runs a call comes through.
        let (time, event) = (now(), event());
        let _order = self.0.order.lock().unwrap_or_else(PoisonError::into_inner);
        let numbered = Numbered {
            seq: self.0.next.fetch_add(1, Ordering::Relaxed),
            time,
            event,
        };
        // The last reader may have left meanwhile.
        let _ = self.0.sender.send(Arc::new(numbered));
    }
}

impl Subscription {
    /// The next event, or how many were missed. `None` after the host has ended.
    pub async fn next(&mut self) -> Option<Result<Arc<Numbered>, u64>> {
        match self.0.recv().await {
            Ok(event) => Some(Ok(event)),
            Err(broadcast::error::RecvError::Lagged(missed)) => Some(Err(missed)),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    /// What is there already.
    pub fn try_next(&mut self) -> Option<Arc<Numbered>> {
        loop {
            match self.0.try_recv() {
                Ok(event) => return Some(event),
                Err(broadcast::error::TryRecvError::Lagged(_)) => {}
                Err(_) => return None,
            }
        }
    }
}

/// UTC with milliseconds, as events and audit lines show it.
pub(super) fn now() -> String {
    format!("{:.3}", Timestamp::now())
}

/// What happened.
#[derive(Debug, Clone, Serialize)]
pub struct Event {
    /// Which kind of thing.
    #[serde(rename = "type")]
    pub kind: EventKind,
    /// In which batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<Arc<str>>,
    /// Which call, or which question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The call's position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// Which tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Whose tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// Which version of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// On whose behalf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// 0 for a model's own call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<usize>,
    /// How it ended: `ok`, `denied`, or the failure's kind; of a question: the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    /// How many calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<usize>,
    /// Whether they run side by side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel: Option<bool>,
    /// Of the version that was loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What is to be said about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Milliseconds in the tool, or of loading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<f64>,
    /// Milliseconds spent waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_ms: Option<f64>,
}

/// The kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A batch was planned.
    BatchStarted,
    /// A call was admitted.
    CallStarted,
    /// A call ended, whichever way.
    ToolCall,
    /// All calls of a batch ended.
    BatchFinished,
    /// A person is asked.
    ApprovalRequested,
    /// The person answered, or nobody did.
    ApprovalDecided,
    /// A version of a plugin serves from now on, or has another configuration.
    PluginLoaded,
    /// A version of a plugin cannot serve.
    PluginFailed,
    /// A plugin serves no longer.
    PluginRemoved,
    /// A plugin that keeps trapping is left alone.
    CircuitOpen,
    /// It is called again.
    CircuitClosed,
}

impl Event {
    fn of(kind: EventKind, branch: &Branch) -> Self {
        let depth = branch
            .parent
            .as_ref()
            .map_or(0, |parent| parent.cx.chain.len() + 1);
        Self {
            batch: Some(Arc::clone(&branch.batch_id)),
            principal: Some(branch.scope.principal.id().to_owned()),
            depth: Some(depth),
            ..Self::empty(kind)
        }
    }

    fn empty(kind: EventKind) -> Self {
        Self {
            kind,
            batch: None,
            id: None,
            index: None,
            tool: None,
            plugin: None,
            generation: None,
            principal: None,
            depth: None,
            status: None,
            calls: None,
            parallel: None,
            digest: None,
            detail: None,
            elapsed_ms: None,
            queue_ms: None,
        }
    }

    fn of_version(kind: EventKind, implementation: &Implementation) -> Self {
        Self {
            plugin: Some(implementation.plugin.to_string()),
            generation: Some(implementation.generation),
            digest: Some(implementation.digest.to_string()),
            ..Self::empty(kind)
        }
    }

    pub(crate) fn of_change(change: Change) -> Self {
        match change {
            Change::Loaded {
                implementation,
                took,
            } => Self {
                elapsed_ms: Some(milliseconds(took)),
                ..Self::of_version(EventKind::PluginLoaded, &implementation)
            },
            Change::Configured { implementation } => Self {
                detail: Some("another configuration".to_owned()),
                ..Self::of_version(EventKind::PluginLoaded, &implementation)
            },
            Change::Failed {
                plugin,
                problem,
                serving,
            } => Self {
                plugin: Some(plugin.to_string()),
                generation: serving,
                detail: Some(problem),
                ..Self::empty(EventKind::PluginFailed)
            },
            Change::Removed { implementation } => {
                Self::of_version(EventKind::PluginRemoved, &implementation)
            }
        }
    }

    pub(super) fn circuit(
        open: bool,
        implementation: &Implementation,
        caller: &str,
        detail: Option<String>,
    ) -> Self {
        let kind = if open {
            EventKind::CircuitOpen
        } else {
            EventKind::CircuitClosed
        };
        Self {
            principal: Some(caller.to_owned()),
            detail,
            ..Self::of_version(kind, implementation)
        }
    }

    pub(super) fn batch_started(branch: &Branch, calls: usize, mode: Mode) -> Self {
        Self {
            calls: Some(calls),
            parallel: Some(mode == Mode::Parallel && calls > 1),
            ..Self::of(EventKind::BatchStarted, branch)
        }
    }

    pub(super) fn batch_finished(
        branch: &Branch,
        results: &[ToolResult],
        elapsed: Duration,
    ) -> Self {
        let failed = results.iter().any(|result| !result.success());
        Self {
            calls: Some(results.len()),
            parallel: Some(results.iter().any(|result| result.parallel)),
            status: Some(if failed { "failed" } else { "ok" }),
            elapsed_ms: Some(milliseconds(elapsed)),
            ..Self::of(EventKind::BatchFinished, branch)
        }
    }

    fn call(kind: EventKind, branch: &Branch, call: &Call, target: &Target) -> Self {
        Self {
            id: Some(call.id.to_string()),
            index: Some(call.index),
            tool: Some(call.name.clone()),
            plugin: Some(target.implementation().plugin.to_string()),
            generation: Some(target.implementation().generation),
            ..Self::of(kind, branch)
        }
    }

    pub(super) fn call_started(branch: &Branch, call: &Call, target: &Target) -> Self {
        Self::call(EventKind::CallStarted, branch, call, target)
    }

    pub(super) fn tool_call(branch: &Branch, result: &ToolResult) -> Self {
        let implementation = result.implementation.as_ref();
        Self {
            id: Some(result.id.clone()),
            index: Some(result.index),
            tool: Some(result.name.chars().take(200).collect()),
            plugin: implementation.map(|of| of.plugin.to_string()),
            generation: implementation.map(|of| of.generation),
            status: Some(status(result)),
            parallel: Some(result.parallel),
            elapsed_ms: Some(milliseconds(result.elapsed)),
            queue_ms: Some(milliseconds(result.queue)),
            ..Self::of(EventKind::ToolCall, branch)
        }
    }

    pub(super) fn approval_requested(branch: &Branch, asked: &AskedCall, question: &str) -> Self {
        Self::approval(EventKind::ApprovalRequested, branch, asked, question)
    }

    pub(super) fn approval_decided(
        branch: &Branch,
        asked: &AskedCall,
        question: &str,
        word: &'static str,
    ) -> Self {
        Self {
            status: Some(word),
            ..Self::approval(EventKind::ApprovalDecided, branch, asked, question)
        }
    }

    fn approval(kind: EventKind, branch: &Branch, asked: &AskedCall, question: &str) -> Self {
        Self {
            id: Some(question.to_owned()),
            ..Self::call(kind, branch, &asked.valid.call, &asked.valid.target)
        }
    }
}

/// `ok`, `denied`, or the failure's kind.
pub(super) fn status(result: &ToolResult) -> &'static str {
    match &result.outcome {
        Ok(_) => "ok",
        Err(failure) if failure.kind == FailureKind::Unauthorized => "denied",
        Err(failure) => failure.kind.as_str(),
    }
}

/// With microseconds as decimals.
pub(super) fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
