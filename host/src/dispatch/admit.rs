//! Slots. Each depth has its own, so that calls never wait for a slot that their own
//! callers hold. Waiting has a bound of its own and is not billed to the call.

use std::{sync::Arc, time::Duration};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Bounds;
use crate::{
    registry::{SerialGuard, Target},
    stage::Link,
    tool::{Failure, FailureKind},
};

/// The slots of one host.
#[derive(Debug)]
pub(super) struct Slots {
    depths: Vec<Depth>,
    queue_timeout: Duration,
}

#[derive(Debug)]
struct Depth {
    slots: Arc<Semaphore>,
    /// Callers that wait: a second semaphore, since one has no length to ask for.
    queue: Arc<Semaphore>,
}

/// What a running call holds.
#[derive(Debug, Default)]
pub(super) struct Admission {
    _slot: Option<OwnedSemaphorePermit>,
    _plugin: Option<OwnedSemaphorePermit>,
    _serial: Option<SerialGuard>,
}

impl Slots {
    pub(super) fn new(bounds: &Bounds) -> Self {
        let depth = || Depth {
            slots: Arc::new(Semaphore::new(bounds.concurrent)),
            queue: Arc::new(Semaphore::new(bounds.queue)),
        };
        Self {
            depths: (0..=bounds.max_depth).map(|_| depth()).collect(),
            queue_timeout: bounds.queue_timeout,
        }
    }

    /// Waits for everything that a call of `target` at this depth needs.
    ///
    /// # Errors
    ///
    /// `unavailable` if that takes too long, `limit` for re-entry or too deep nesting.
    pub(super) async fn admit(
        &self,
        target: &Target,
        chain: &[Link],
    ) -> Result<Admission, Failure> {
        let Some(depth) = self.depths.get(chain.len()) else {
            return Err(Failure::host(
                FailureKind::Limit,
                format!(
                    "calls are nested {} deep; the limit is {}",
                    chain.len(),
                    self.depths.len() - 1
                ),
            )
            .hint("let the tools call each other less deeply; the operator sets host.max_depth"));
        };
        let serial = match target {
            Target::Plugin(tool) if tool.spec.serial => Some(&tool.plugin),
            _ => None,
        };
        if let Some(plugin) = serial
            && chain
                .iter()
                .any(|link| link.serial && link.plugin == plugin.implementation.plugin)
        {
            return Err(Failure::host(
                FailureKind::Limit,
                format!(
                    "re-entrant call: a serial tool of `{}` is running above this call",
                    plugin.implementation.plugin
                ),
            )
            .hint("call it after the other one has ended"));
        }
        // The common case costs no timer.
        if serial.is_none()
            && let Ok(slot) = Arc::clone(&depth.slots).try_acquire_owned()
            && let Some(plugin) = plugin_slot_now(target)
        {
            return Ok(Admission {
                _slot: Some(slot),
                _plugin: plugin,
                _serial: None,
            });
        }
        let Ok(_waiting) = Arc::clone(&depth.queue).try_acquire_owned() else {
            return Err(busy("too many calls are waiting already"));
        };
        let all = async {
            let closed = |_| Failure::host(FailureKind::Unavailable, "the host is shutting down");
            // The plugin's own first: a call that waits for those holds no slot of the host.
            let plugin_slots = match target {
                Target::Plugin(tool) => tool.plugin.concurrency.clone(),
                Target::Native(_) => None,
            };
            let plugin_slot = match plugin_slots {
                Some(slots) => Some(slots.acquire_owned().await.map_err(closed)?),
                None => None,
            };
            let serial = match serial {
                Some(plugin) => Some(plugin.serial.enter().await.map_err(|error| {
                    Failure::host(
                        FailureKind::Internal,
                        format!("the plugin's lock cannot be used: {error}"),
                    )
                })?),
                None => None,
            };
            let slot = Arc::clone(&depth.slots)
                .acquire_owned()
                .await
                .map_err(closed)?;
            Ok(Admission {
                _slot: Some(slot),
                _plugin: plugin_slot,
                _serial: serial,
            })
        };
        match tokio::time::timeout(self.queue_timeout, all).await {
            Ok(admitted) => admitted,
            Err(_) => Err(busy(&format!(
                "no slot became free within {:?}",
                self.queue_timeout
            ))),
        }
    }
}

/// `None`: its slots are taken. `Some(None)`: it has no bound of its own.
#[expect(
    clippy::option_option,
    reason = "the two absences differ, as said above"
)]
fn plugin_slot_now(target: &Target) -> Option<Option<OwnedSemaphorePermit>> {
    match target {
        Target::Plugin(tool) => match &tool.plugin.concurrency {
            Some(slots) => Arc::clone(slots).try_acquire_owned().ok().map(Some),
            None => Some(None),
        },
        Target::Native(_) => Some(None),
    }
}

fn busy(detail: &str) -> Failure {
    Failure::host(FailureKind::Unavailable, detail)
        .hint("try again later, with fewer calls at once")
}
