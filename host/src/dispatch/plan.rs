//! How a batch runs: pure. All parallel-safe: side by side, but for calls to one output
//! channel, which keep their order. Otherwise one after another.

use super::gate::Checked;
use crate::policy::OUTPUT_TOOL;

/// How the calls of a batch run among themselves. The text that models read about it is
/// made from [`Mode::RULES`], so it cannot promise what the scheduler does not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Side by side.
    Parallel,
    /// One after another, in index order.
    Serial,
}

impl Mode {
    /// What a model may rely on.
    pub const RULES: [&'static str; 4] = [
        "Calls of one reply run in parallel if every one of them is declared parallel-safe.",
        "Do not depend on order inside one reply: if a call needs another's result, make it in the next reply.",
        "Outputs to one channel keep their order.",
        "One call that is not parallel-safe makes the whole reply run one by one, in order.",
    ];
}

/// What runs side by side: lanes; and within a lane one after another.
#[derive(Debug)]
pub struct Plan {
    pub(super) mode: Mode,
    pub(super) lanes: Vec<Vec<Checked>>,
}

impl Plan {
    pub(super) fn new(checked: Vec<Checked>, serial: bool) -> Self {
        let parallel = !serial && checked.iter().all(may_run_beside_others);
        if !parallel {
            return Self {
                mode: Mode::Serial,
                lanes: vec![checked],
            };
        }
        let mut lanes: Vec<(Option<String>, Vec<Checked>)> = Vec::new();
        for call in checked {
            let channel = channel(&call);
            let same = channel
                .is_some()
                .then(|| lanes.iter_mut().find(|(key, _)| *key == channel))
                .flatten();
            match same {
                Some((_, lane)) => lane.push(call),
                None => lanes.push((channel, vec![call])),
            }
        }
        Self {
            mode: Mode::Parallel,
            lanes: lanes.into_iter().map(|(_, lane)| lane).collect(),
        }
    }
}

/// Calls that never run do not count.
fn may_run_beside_others(call: &Checked) -> bool {
    match call {
        Checked::Refused(_) => true,
        Checked::Permitted(call) => call.target.parallel_safe(&call.arguments),
        Checked::Asked(asked) => asked.valid.target.parallel_safe(&asked.valid.arguments),
    }
}

fn channel(call: &Checked) -> Option<String> {
    let name = match call {
        Checked::Refused(_) => return None,
        Checked::Permitted(call) => &call.call.name,
        Checked::Asked(asked) => &asked.valid.call.name,
    };
    name.starts_with(OUTPUT_TOOL).then(|| name.clone())
}
