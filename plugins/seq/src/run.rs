//! Runs groups and sequences: inputs by name, one batch of the host for each group, slots
//! filled in the items' order whatever the order of their ends.

mod attempts;
mod bind;
mod facts;
mod group;
mod outcome;
mod report;

use serde_json::{Map, Value};
use toolgate_sdk::{Block, ToolError};

use crate::{
    kernel::Kernel,
    sequence::{Group, OnError},
    stack::Stack,
    store::Stored,
};
pub(crate) use bind::inputs;
use facts::Facts;
pub(crate) use group::{GroupRun, ItemStatus, Status};
pub(crate) use outcome::within_cap;
pub(crate) use report::{group_report, report};

/// A run of a whole sequence.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: RunStatus,
    /// One for each step, in order, those that were not reached too.
    pub(crate) groups: Vec<GroupRun>,
    pub(crate) out: Map<String, Value>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) warnings: Vec<String>,
}

#[derive(Debug, Clone)]
pub(crate) enum RunStatus {
    Ok,
    /// Something failed under `continue`, or was skipped for that.
    Partial,
    /// Why, in the words of the first failure that ended it.
    Failed(ToolError),
}

/// What runs belong to.
#[derive(Debug)]
pub(crate) struct Runner<'a, K> {
    kernel: &'a K,
    stored: &'a Stored,
    stack: Stack,
    facts: Facts,
    warnings: Vec<String>,
}

impl<'a, K: Kernel> Runner<'a, K> {
    /// `stack` ends with this sequence.
    pub(crate) fn new(kernel: &'a K, stored: &'a Stored, stack: Stack) -> Self {
        Self {
            kernel,
            stored,
            stack,
            facts: Facts::default(),
            warnings: Vec::new(),
        }
    }

    /// One group alone, with inputs that were checked.
    pub(crate) fn group(
        &mut self,
        at: usize,
        group: &Group,
        inputs: &Map<String, Value>,
    ) -> GroupRun {
        match self.stack.enter_group(self.stored, at) {
            Ok(stack) => self.run_group(group, inputs, &stack),
            Err(error) => GroupRun::failed(group, error),
        }
    }

    /// What there is to say besides the results.
    pub(crate) fn warnings(self) -> Vec<String> {
        self.warnings
    }

    /// All steps, with arguments that were checked.
    pub(crate) fn sequence(mut self, args: &Map<String, Value>) -> Run {
        let sequence = &self.stored.record.sequence;
        let total = sequence.steps().count();
        let mut flow = bind::Flow::new(args);
        let mut runs: Vec<GroupRun> = Vec::with_capacity(total);
        let mut status = RunStatus::Ok;
        for (at, group) in sequence.steps() {
            if matches!(status, RunStatus::Failed(_)) {
                let why = "not reached: an earlier step failed".to_owned();
                runs.push(GroupRun::skipped(group, why));
                continue;
            }
            self.kernel.progress(runs.len(), total, &group.name);
            let run = match flow.bind(group) {
                Ok(inputs) => self.group(at, group, &inputs),
                Err(bind::Unbound::Skip { why, tainted }) => {
                    if tainted {
                        status = RunStatus::Partial;
                    }
                    flow.unset(group, &why, tainted);
                    runs.push(GroupRun::skipped(group, why));
                    continue;
                }
                Err(bind::Unbound::Wrong(error)) => GroupRun::failed(group, error),
            };
            let failed = matches!(run.status, Status::Failed | Status::Timeout);
            if failed && group.on_error == OnError::Continue {
                status = RunStatus::Partial;
            } else if failed {
                status = RunStatus::Failed(run.failure());
            }
            flow.take(group, &run, failed);
            runs.push(run);
        }
        self.kernel.progress(total, total, "done");
        let out = flow.out();
        let blocks = within_cap(
            runs.iter_mut()
                .flat_map(|run| std::mem::take(&mut run.blocks))
                .collect(),
            &mut self.warnings,
        );
        Run {
            status,
            groups: runs,
            out,
            blocks,
            warnings: self.warnings,
        }
    }
}

#[cfg(test)]
mod tests;
