//! The epoch clock: an OS thread of its own, so that no spinning guest can stop it. It
//! ticks while calls run and is parked otherwise.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, Thread},
    time::Duration,
};

use wasmtime::EngineWeak;

/// A guest is stopped one tick after its deadline at the latest, and yields this often.
const TICK: Duration = Duration::from_millis(2);

/// Ticks without a call before the thread parks: waking it costs a system call, which
/// one call after another shall not pay each.
const LINGER: u32 = 50;

#[derive(Debug)]
pub(super) struct Ticker {
    shared: Arc<Shared>,
    thread: Option<Thread>,
}

#[derive(Debug, Default)]
struct Shared {
    running: AtomicUsize,
    parked: AtomicBool,
    stop: AtomicBool,
}

impl Ticker {
    pub(super) fn start(engines: Vec<EngineWeak>) -> Self {
        let shared = Arc::new(Shared::default());
        let thread = {
            let shared = Arc::clone(&shared);
            thread::Builder::new()
                .name("toolgate-epoch".into())
                .spawn(move || tick(&shared, &engines))
        };
        let thread = match thread {
            Ok(handle) => Some(handle.thread().clone()),
            Err(error) => {
                // Guests then stop only where they wait; say so rather than not start.
                tracing::error!(%error, "no thread for the epoch clock");
                None
            }
        };
        Self { shared, thread }
    }

    /// Ticks at least until the guard is dropped.
    pub(super) fn running(&self) -> Running<'_> {
        self.shared.running.fetch_add(1, Ordering::SeqCst);
        if self.shared.parked.load(Ordering::SeqCst)
            && let Some(thread) = &self.thread
        {
            thread.unpark();
        }
        Running(&self.shared)
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = &self.thread {
            thread.unpark();
        }
    }
}

pub(super) struct Running<'a>(&'a Shared);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

fn tick(shared: &Shared, engines: &[EngineWeak]) {
    let mut idle = 0;
    while !shared.stop.load(Ordering::SeqCst) {
        if shared.running.load(Ordering::SeqCst) > 0 {
            idle = 0;
        } else {
            idle += 1;
        }
        if idle > LINGER {
            shared.parked.store(true, Ordering::SeqCst);
            // Looked at again after the flag is up: a call that came in between either
            // sees the flag or is seen here.
            if shared.running.load(Ordering::SeqCst) == 0 && !shared.stop.load(Ordering::SeqCst) {
                thread::park();
            }
            shared.parked.store(false, Ordering::SeqCst);
            idle = 0;
            continue;
        }
        thread::sleep(TICK);
        for engine in engines.iter().filter_map(EngineWeak::upgrade) {
            engine.increment_epoch();
        }
    }
}
