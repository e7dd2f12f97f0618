//! What this plugin asks of its host, as a trait: natively tested runs have a host made of
//! closures.

use std::time::{Duration, Instant};

use toolgate_sdk::tools::{self, CallResult, NestedCall, Options, Permission, ToolInfo};

/// The host's side of a run.
pub(crate) trait Kernel {
    /// What this chain may call now.
    fn list(&self) -> Vec<ToolInfo>;

    /// What the gate would say now.
    fn can_use(&self, tool: &str, arguments: &str) -> Permission;

    /// One batch.
    fn execute(&self, calls: &[NestedCall], options: &Options) -> Vec<CallResult>;

    /// Since this call began.
    fn elapsed(&self) -> Duration;

    /// For whoever waits.
    fn progress(&self, done: usize, total: usize, what: &str);
}

/// The real one.
#[derive(Debug)]
pub(crate) struct Host(Instant);

impl Host {
    pub(crate) fn now() -> Self {
        Self(Instant::now())
    }
}

impl Kernel for Host {
    fn list(&self) -> Vec<ToolInfo> {
        tools::list()
    }

    fn can_use(&self, tool: &str, arguments: &str) -> Permission {
        tools::can_use(tool, arguments)
    }

    fn execute(&self, calls: &[NestedCall], options: &Options) -> Vec<CallResult> {
        tools::execute(calls, options)
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    #[expect(clippy::cast_precision_loss, reason = "a sequence has few steps")]
    fn progress(&self, done: usize, total: usize, what: &str) {
        toolgate_sdk::progress::report(done as f64, Some(total as f64), Some(what));
    }
}
