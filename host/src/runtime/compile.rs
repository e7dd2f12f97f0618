//! Threads for compiling, below the calls in rank: a component of 20 MB takes seconds of
//! all cores, and no call shall feel it.

use std::sync::OnceLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Niceness of a compiling thread: beside one that runs calls it gets a tenth of a core,
/// alone all of it.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// Started at the first need; ends with its owner.
#[derive(Debug, Default)]
pub(super) struct CompileThreads(OnceLock<Option<ThreadPool>>);

impl CompileThreads {
    /// Runs `work` there, and what it runs in parallel too.
    pub(super) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match self.0.get_or_init(start) {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}

fn start() -> Option<ThreadPool> {
    let built = ThreadPoolBuilder::new()
        .thread_name(|index| format!("toolgate-compile-{index}"))
        .start_handler(|_| {
            // Of the calling thread alone: that is what Linux takes "this process" for.
            #[cfg(target_os = "linux")]
            if let Err(error) = rustix::process::setpriority_process(None, NICE) {
                tracing::debug!(%error, "compiling runs at the rank of calls");
            }
        })
        .build();
    built
        .inspect_err(|error| tracing::warn!(%error, "no threads for compiling"))
        .ok()
}
