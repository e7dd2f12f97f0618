//! One shared/exclusive gate per root batch. Parallel-safe calls hold it shared, others
//! exclusively, at any depth; a call lets go of it while it waits for calls of its own.
//! So two parallel branches that each end in an unsafe tool never run those two at once.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// The gate of one root batch.
#[derive(Debug, Clone, Default)]
pub struct RootGate(Arc<RwLock<()>>);

/// How a call holds its gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Beside other parallel-safe calls.
    Shared,
    /// Alone.
    Exclusive,
}

#[derive(Debug)]
enum Hold {
    Shared(#[expect(dead_code, reason = "held for its drop")] OwnedRwLockReadGuard<()>),
    Exclusive(#[expect(dead_code, reason = "held for its drop")] OwnedRwLockWriteGuard<()>),
}

/// One call's hold on the gate.
#[derive(Debug)]
pub struct Lane {
    gate: RootGate,
    step: Step,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    hold: Option<Hold>,
    /// Calls of its own that it waits for: a native tool may have several at once.
    away: u32,
}

impl Lane {
    /// A call that has not entered yet.
    #[must_use]
    pub fn new(gate: RootGate, step: Step) -> Self {
        Self {
            gate,
            step,
            state: Mutex::default(),
        }
    }

    /// The gate, for the calls that this call makes.
    #[must_use]
    pub fn gate(&self) -> &RootGate {
        &self.gate
    }

    /// Waits for its turn. Leaves at the end of the call, when the lane is dropped.
    pub async fn enter(&self) {
        let lock = Arc::clone(&self.gate.0);
        let hold = match self.step {
            Step::Shared => Hold::Shared(lock.read_owned().await),
            Step::Exclusive => Hold::Exclusive(lock.write_owned().await),
        };
        self.state().hold = Some(hold);
    }

    /// Lets go while `work`, the calls that this call makes, runs.
    pub async fn outside<T>(&self, work: impl Future<Output = T>) -> T {
        {
            let mut state = self.state();
            state.away += 1;
            state.hold = None;
        }
        let value = work.await;
        let last = {
            let mut state = self.state();
            state.away -= 1;
            state.away == 0
        };
        if last {
            self.enter().await;
        }
        value
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
