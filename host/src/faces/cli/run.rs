//! Runs a batch for a person who may press Ctrl-C: the first time the calls are cancelled
//! and their results still come, the second time nothing is waited for.

use std::time::{Duration, Instant};

use super::{context::Context, exit::Exit, problem::Problem, signals::Signals, terminal};
use crate::{
    Host,
    dispatch::Scope,
    tool::{Batch, Principal, ToolResult},
};

/// What came of a batch.
#[derive(Debug)]
pub(super) struct Ran {
    /// Cancelled ones included.
    pub(super) results: Vec<ToolResult>,
    pub(super) exit: Exit,
    /// From the first call's start to the last one's end.
    pub(super) elapsed: Duration,
}

/// None: interrupted twice, and there are no results.
pub(super) async fn run(
    cx: &Context<'_>,
    host: &Host,
    principal: Principal,
    batch: Batch,
) -> Result<Option<Ran>, Problem> {
    let mut signals = Signals::listen()?;
    let scope = Scope::new(principal);
    let cancel = scope.cancel.clone();
    let started = Instant::now();
    let mut running = Box::pin(host.run(scope, batch));
    let mut interrupted = false;
    loop {
        tokio::select! {
            biased;
            results = &mut running => {
                let exit = if interrupted { Exit::Interrupted } else { Exit::of(&results) };
                return Ok(Some(Ran { results, exit, elapsed: started.elapsed() }));
            }
            () = signals.next() => {
                if interrupted {
                    return Ok(None);
                }
                interrupted = true;
                if terminal::is_there() {
                    // Behind the `^C` that the terminal shows, and a question perhaps.
                    cx.out.note("");
                }
                cx.out.note("interrupted: cancelling what runs (once more ends at once)");
                cancel.cancel();
            }
        }
    }
}
