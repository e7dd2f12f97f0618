//! When a call has to end. While a person is asked, the clock of the call and of all
//! calls above it stands still.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::Notify;

use crate::tool::{Failure, FailureKind};

/// A deadline that can be paused. Cheap to ask.
#[derive(Debug)]
pub struct Deadline {
    parent: Option<Arc<Deadline>>,
    limit: Duration,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    at: Instant,
    pauses: u32,
    since: Instant,
}

impl Deadline {
    /// `limit` from now, and never later than what `parent` has left.
    #[must_use]
    pub fn after(limit: Duration, parent: Option<Arc<Self>>) -> Arc<Self> {
        let left = parent.as_ref().map_or(Duration::MAX, |p| p.remaining());
        let limit = limit.min(left);
        let now = Instant::now();
        Arc::new(Self {
            parent,
            limit,
            state: Mutex::new(State {
                // A limit of centuries stays representable.
                at: now
                    .checked_add(limit)
                    .unwrap_or(now + Duration::from_secs(u32::MAX.into())),
                pauses: 0,
                since: now,
            }),
            changed: Notify::new(),
        })
    }

    /// What the call may take in all.
    #[must_use]
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// What is left; does not shrink while paused.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        let state = self.state();
        let now = if state.pauses > 0 {
            state.since
        } else {
            Instant::now()
        };
        state.at.saturating_duration_since(now)
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        self.remaining().is_zero()
    }

    /// Resolves when nothing is left.
    pub async fn passed(&self) {
        loop {
            let changed = self.changed.notified();
            let (at, paused) = {
                let state = self.state();
                (state.at, state.pauses > 0)
            };
            if paused {
                changed.await;
                continue;
            }
            if at <= Instant::now() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep_until(at.into()) => {}
                () = changed => {}
            }
        }
    }

    /// The failure of a call that ran into this deadline.
    #[must_use]
    pub fn failure(&self) -> Failure {
        Failure::host(
            FailureKind::Timeout,
            format!(
                "the call ran past its limit of {:?} and was stopped",
                self.limit
            ),
        )
        .hint("ask for less in one call; the operator sets the limit (limits.timeout)")
    }

    /// Stops the clock of this call and of all calls above it until the guard is dropped.
    #[must_use]
    pub fn pause(self: &Arc<Self>) -> Pause {
        let mut next = Some(self);
        while let Some(deadline) = next {
            let mut state = deadline.state();
            if state.pauses == 0 {
                state.since = Instant::now();
            }
            state.pauses += 1;
            drop(state);
            deadline.changed.notify_waiters();
            next = deadline.parent.as_ref();
        }
        Pause(Arc::clone(self))
    }

    fn resume(&self) {
        let mut next = Some(self);
        while let Some(deadline) = next {
            let mut state = deadline.state();
            state.pauses -= 1;
            if state.pauses == 0 {
                let waited = state.since.elapsed();
                state.at += waited;
            }
            drop(state);
            deadline.changed.notify_waiters();
            next = deadline.parent.as_deref();
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// While this lives, the clocks stand still.
#[derive(Debug)]
pub struct Pause(Arc<Deadline>);

impl Drop for Pause {
    fn drop(&mut self) {
        self.0.resume();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nested_limit_is_what_the_parent_has_left() {
        let parent = Deadline::after(Duration::from_millis(50), None);
        let child = Deadline::after(Duration::from_secs(60), Some(Arc::clone(&parent)));
        assert!(child.limit() <= Duration::from_millis(50));
    }

    #[test]
    fn a_pause_stops_this_clock_and_those_above() {
        let parent = Deadline::after(Duration::from_secs(5), None);
        let child = Deadline::after(Duration::from_secs(5), Some(Arc::clone(&parent)));
        let pause = child.pause();
        let (before_child, before_parent) = (child.remaining(), parent.remaining());
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(child.remaining(), before_child);
        assert_eq!(parent.remaining(), before_parent);
        drop(pause);
        std::thread::sleep(Duration::from_millis(5));
        assert!(parent.remaining() < before_parent);
    }

    #[tokio::test]
    async fn passed_wakes_after_a_pause() {
        let deadline = Deadline::after(Duration::from_millis(10), None);
        let pause = deadline.pause();
        let waiting = {
            let deadline = Arc::clone(&deadline);
            tokio::spawn(async move { deadline.passed().await })
        };
        tokio::task::yield_now().await;
        drop(pause);
        waiting.await.unwrap();
        assert!(deadline.has_passed());
    }
}
