//! The end of a serving host: new calls are refused, running ones may finish, and what
//! still runs after that is cancelled.

use std::time::Duration;

use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

/// After calls were cancelled: guests stop within milliseconds, commands are killed.
const CLEAN_UP: Duration = Duration::from_secs(5);

/// The calls that run now.
#[derive(Debug, Default)]
pub(super) struct Running {
    tasks: TaskTracker,
    draining: CancellationToken,
    given_up: CancellationToken,
    over: CancellationToken,
}

/// How the calls ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::faces) enum Drained {
    /// By themselves.
    Finished,
    /// So many were cancelled.
    Cancelled(usize),
}

impl Running {
    /// A place for one request's calls; none while the host ends.
    pub(super) fn begin(&self) -> Option<TaskTrackerToken> {
        // Counted first: whoever drains sees this call, or this call sees the draining.
        let place = self.tasks.token();
        (!self.is_draining()).then_some(place)
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// Cancelled when running calls shall end.
    pub(super) fn give_up(&self) -> CancellationToken {
        self.given_up.child_token()
    }

    /// Resolves when there will be nothing more to see.
    pub(super) fn over(&self) -> &CancellationToken {
        &self.over
    }

    /// Refuses new calls from now on, and waits for the others.
    pub(super) async fn drain(&self, patience: Duration) -> Drained {
        self.draining.cancel();
        self.tasks.close();
        let drained = match tokio::time::timeout(patience, self.tasks.wait()).await {
            Ok(()) => Drained::Finished,
            Err(_) => {
                let left = self.tasks.len();
                self.given_up.cancel();
                let _ = tokio::time::timeout(CLEAN_UP, self.tasks.wait()).await;
                Drained::Cancelled(left)
            }
        };
        self.over.cancel();
        drained
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn what_runs_may_finish_and_nothing_new_begins() {
        let running = Arc::new(Running::default());
        let place = running.begin().unwrap();
        let draining = tokio::spawn({
            let running = Arc::clone(&running);
            async move { running.drain(Duration::from_secs(60)).await }
        });
        running.draining.cancelled().await;
        assert!(running.begin().is_none());
        assert!(!running.give_up().is_cancelled());
        drop(place);
        assert_eq!(draining.await.unwrap(), Drained::Finished);
        assert!(running.over().is_cancelled());
    }

    #[tokio::test]
    async fn what_takes_too_long_is_cancelled() {
        let running = Running::default();
        let place = running.begin().unwrap();
        let given_up = running.give_up();
        let call = tokio::spawn(async move {
            given_up.cancelled().await;
            drop(place);
        });
        let drained = running.drain(Duration::from_millis(1)).await;
        assert_eq!(drained, Drained::Cancelled(1));
        call.await.unwrap();
    }
}
