//! Runs a plan: one result a call, put back by index. A call that panics ends as its own
//! failure; a dropped batch ends everything that it started.

use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::FutureExt as _;
use tokio::task::JoinSet;
use tracing::Instrument as _;

use super::{
    Branch, Dispatcher,
    admit::Admission,
    call::{Numbered, Refused, Timing},
    events::Event,
    gate::{Checked, PermittedCall},
    health::Pass,
    plan::{Mode, Plan},
    settle::{DecisionRecord, Ended},
    steps::step,
};
use crate::{
    registry::Target,
    stage::{Blocks, Deadline, Lane, Link, StageContext, Step, cancelled},
    tool::{Failure, FailureKind, ToolResult},
};

impl Dispatcher {
    pub(super) async fn run_plan(&self, branch: &Arc<Branch>, plan: Plan) -> Vec<ToolResult> {
        let started = Instant::now();
        let count = plan.lanes.iter().map(Vec::len).sum();
        self.0
            .events
            .emit(|| Event::batch_started(branch, count, plan.mode));
        let mut results = match plan.mode {
            Mode::Serial => self.run_serial(branch, plan).await,
            Mode::Parallel => self.run_parallel(branch, plan).await,
        };
        results.sort_by_key(|result| result.index);
        self.0
            .events
            .emit(|| Event::batch_finished(branch, &results, started.elapsed()));
        results
    }

    async fn run_serial(&self, branch: &Arc<Branch>, plan: Plan) -> Vec<ToolResult> {
        let calls: Vec<Checked> = plan.lanes.into_iter().flatten().collect();
        let alone = calls.len() == 1;
        let mut results = Vec::with_capacity(calls.len());
        let mut stopped = false;
        for checked in calls {
            let checked = if stopped {
                skipped(checked)
            } else if alone {
                checked
            } else {
                // Tools and rights come and go while the calls before this one run.
                let call = checked.into_call();
                self.check(branch, &self.overlay(&branch.scope.layers), call)
            };
            let result = self.run_guarded(branch, checked, false).await;
            stopped |= branch.stop_on_failure && !result.success();
            results.push(result);
        }
        results
    }

    async fn run_parallel(&self, branch: &Arc<Branch>, plan: Plan) -> Vec<ToolResult> {
        let parallel = plan.lanes.iter().map(Vec::len).sum::<usize>() > 1;
        let mut lanes = plan.lanes.into_iter();
        let first = lanes.next();
        let mut others = JoinSet::new();
        for lane in lanes {
            let (dispatcher, branch) = (self.clone(), Arc::clone(branch));
            others.spawn(async move { dispatcher.run_lane(&branch, lane, parallel).await });
        }
        // The first runs here: a hop to another thread costs more than a short call.
        let mut results = match first {
            Some(lane) => self.run_lane(branch, lane, parallel).await,
            None => Vec::new(),
        };
        while let Some(lane) = others.join_next().await {
            match lane {
                Ok(lane) => results.extend(lane),
                Err(error) => tracing::error!(%error, "a lane ended without its results"),
            }
        }
        results
    }

    async fn run_lane(
        &self,
        branch: &Branch,
        lane: Vec<Checked>,
        parallel: bool,
    ) -> Vec<ToolResult> {
        let mut results = Vec::with_capacity(lane.len());
        for checked in lane {
            results.push(self.run_guarded(branch, checked, parallel).await);
        }
        results
    }

    /// A panic below is this call's failure and nobody else's.
    async fn run_guarded(&self, branch: &Branch, checked: Checked, parallel: bool) -> ToolResult {
        let call = checked.call().clone();
        let run = AssertUnwindSafe(self.run_one(branch, checked, parallel));
        if let Ok(result) = run.catch_unwind().await {
            return result;
        }
        tracing::error!(tool = %call.name, "a call panicked: a fault of the host");
        let failure = Failure::host(
            FailureKind::Internal,
            "the host failed while it ran this call",
        )
        .hint("whether it took effect is not known; the operator finds the reason in the log");
        self.settle(
            branch,
            Ended {
                outcome: Err(failure),
                call,
                target: None,
                arguments: None,
                decision: DecisionRecord::none(),
                parallel,
                timing: Timing::none(),
            },
        )
    }

    async fn run_one(&self, branch: &Branch, checked: Checked, parallel: bool) -> ToolResult {
        let permitted = match checked {
            Checked::Permitted(call) => Ok(call),
            Checked::Refused(refused) => Err(refused),
            Checked::Asked(asked) => self.ask(branch, *asked).await,
        };
        match permitted {
            Ok(call) => self.execute(branch, call, parallel).await,
            Err(refused) => self.refuse(branch, *refused, parallel),
        }
    }

    fn refuse(&self, branch: &Branch, refused: Refused, parallel: bool) -> ToolResult {
        self.settle(
            branch,
            Ended {
                outcome: Err(refused.failure),
                call: refused.call,
                target: refused.target,
                arguments: refused.arguments,
                decision: refused.decision,
                parallel,
                timing: Timing::none(),
            },
        )
    }

    /// Admits the call and runs it to its end.
    async fn execute(
        &self,
        branch: &Branch,
        permitted: PermittedCall,
        parallel: bool,
    ) -> ToolResult {
        let PermittedCall {
            call,
            target,
            arguments,
            decision,
            ..
        } = permitted;
        let waiting = Instant::now();
        let chain = branch.chain();
        let step = if target.parallel_safe(&arguments) {
            Step::Shared
        } else {
            Step::Exclusive
        };
        let lane = Lane::new(branch.gate.clone(), step);
        let mut timing = Timing::none();

        // Slot and gate are kept until the end is on record: whoever gets them next starts
        // after that.
        let (_held, outcome) = {
            let queued = self.0.metrics.queued();
            let admitted = self
                .admitted(branch, &target, &chain, &lane)
                .instrument(step!("admit", branch, call))
                .await;
            drop(queued);
            timing.queue = waiting.elapsed();
            self.0.metrics.waited(timing.queue);
            match admitted {
                Err(failure) => (None, Err(failure)),
                Ok((admission, pass)) => {
                    let cx = Arc::new(StageContext {
                        call_id: Arc::clone(&call.id),
                        index: call.index,
                        batch_id: Arc::clone(&branch.batch_id),
                        principal: branch.scope.principal.clone(),
                        chain,
                        deadline: branch.deadline(target.timeout()),
                        cancel: branch.scope.cancel.child_token(),
                        extra: branch.scope.extra.clone(),
                        lane,
                        blocks: Blocks::default(),
                    });
                    self.0
                        .events
                        .emit(|| Event::call_started(branch, &call, &target));
                    let running = self.0.metrics.in_flight();
                    let started = Instant::now();
                    let outcome = self
                        .invoke(Arc::clone(&cx), &target, &arguments)
                        .instrument(step!("run", branch, call))
                        .await;
                    timing.elapsed = started.elapsed();
                    if let Some(pass) = pass {
                        pass.ended(&outcome);
                    }
                    (Some((admission, cx, running)), outcome)
                }
            }
        };
        self.settle(
            branch,
            Ended {
                outcome,
                call,
                target: Some(target),
                arguments: Some(arguments),
                decision,
                parallel,
                timing,
            },
        )
    }

    /// Waits for everything that has to be there before the tool runs.
    async fn admitted<'a>(
        &'a self,
        branch: &'a Branch,
        target: &'a Target,
        chain: &[Link],
        lane: &Lane,
    ) -> Result<(Admission, Option<Pass<'a>>), Failure> {
        self.0.audit.ready().map_err(|error| {
            Failure::host(
                FailureKind::Unavailable,
                format!("the audit log cannot be written: {error}"),
            )
            .hint("the operator has to free the disk or set audit.on_error = \"warn\"")
        })?;
        branch.bounded(lane.enter()).await?;
        let admission = branch.bounded(self.0.slots.admit(target, chain)).await??;
        let pass = match target {
            Target::Plugin(_) => {
                let caller = branch.scope.principal.origin();
                Some(self.0.health.enter(target.implementation(), caller)?)
            }
            Target::Native(_) => None,
        };
        Ok((admission, pass))
    }
}

impl Branch {
    /// The calls above, outermost first, the calling one last.
    pub(super) fn chain(&self) -> Arc<[Link]> {
        match &self.parent {
            None => Arc::from([]),
            Some(parent) => parent
                .cx
                .chain
                .iter()
                .chain([&parent.link])
                .cloned()
                .collect(),
        }
    }

    /// What a call may take: its own limit, what the scope says, what its parent has left.
    fn deadline(&self, limit: Duration) -> Arc<Deadline> {
        let scope = self.scope.deadline.map_or(Duration::MAX, |at| {
            at.saturating_duration_since(Instant::now())
        });
        let parent = self
            .parent
            .as_ref()
            .map(|parent| Arc::clone(&parent.cx.deadline));
        Deadline::after(limit.min(scope), parent)
    }

    /// Waits no longer than the caller does.
    async fn bounded<T>(&self, work: impl Future<Output = T>) -> Result<T, Failure> {
        if self.scope.cancel.is_cancelled() {
            return Err(cancelled());
        }
        let late = || {
            Failure::host(
                FailureKind::Timeout,
                "the time for all of the batch was over before this call could start",
            )
            .hint("give the batch more time, or fewer calls")
        };
        let over = self.scope.deadline.is_some_and(|at| at <= Instant::now());
        if over
            || self
                .parent
                .as_ref()
                .is_some_and(|parent| parent.cx.deadline.has_passed())
        {
            return Err(late());
        }
        let scope = async {
            match self.scope.deadline {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        let parent = async {
            match &self.parent {
                Some(parent) => parent.cx.deadline.passed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            value = work => Ok(value),
            () = self.scope.cancel.cancelled() => Err(cancelled()),
            () = scope => Err(late()),
            () = parent => Err(late()),
        }
    }
}

impl Checked {
    fn call(&self) -> &Numbered {
        match self {
            Self::Permitted(call) => &call.call,
            Self::Asked(asked) => &asked.valid.call,
            Self::Refused(refused) => &refused.call,
        }
    }

    fn into_call(self) -> Numbered {
        match self {
            Self::Permitted(call) => call.call,
            Self::Asked(asked) => asked.valid.call,
            Self::Refused(refused) => refused.call,
        }
    }
}

fn skipped(checked: Checked) -> Checked {
    let failure = Failure::host(
        FailureKind::Skipped,
        "not started, because an earlier call failed",
    );
    Checked::Refused(Box::new(Refused {
        call: checked.into_call(),
        failure,
        target: None,
        arguments: None,
        decision: DecisionRecord::none(),
    }))
}
