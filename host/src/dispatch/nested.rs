//! A tool that calls tools: the same dispatcher, one level deeper, with the caller's
//! principal, deadline, cancellation and gate. There is no second path.

use std::{sync::Arc, time::Instant};

use futures_util::future::BoxFuture;

use super::{Branch, Dispatcher, Scope, call::Numbered, gate::Checked};
use crate::{
    ports::{Caller, Nested, NestedOptions, NestedResult, NestedTool, Permission},
    tool::{Batch, RawArguments, ToolCall},
};

impl Dispatcher {
    /// A batch that `from` makes.
    fn branch(&self, from: &Caller, options: &NestedOptions) -> Branch {
        let cx = &from.cx;
        Branch {
            scope: Scope {
                principal: cx.principal.clone(),
                layers: Vec::new(),
                deadline: options
                    .timeout
                    .and_then(|timeout| Instant::now().checked_add(timeout)),
                cancel: cx.cancel.child_token(),
                extra: options.extra.clone(),
            },
            parent: Some(from.clone()),
            gate: cx.lane.gate().clone(),
            batch_id: self.next_batch_id(),
            serial: options.serial,
            stop_on_failure: options.stop_on_failure,
        }
    }
}

impl Nested for Dispatcher {
    fn list(&self, from: &Caller) -> Vec<NestedTool> {
        let branch = self.branch(from, &NestedOptions::default());
        let visible = self.visible(&from.cx.principal, &branch.scope.layers);
        visible
            .into_iter()
            .filter(|target| self.chain_may_call(&branch, target.spec().name.as_str()))
            .map(|target| NestedTool {
                spec: Arc::clone(target.spec()),
                parallel_safe: target.always_parallel_safe(),
                implementation: target.implementation().clone(),
            })
            .collect()
    }

    fn can_use(&self, from: &Caller, tool: &str, arguments: RawArguments) -> Permission {
        let branch = self.branch(from, &NestedOptions::default());
        let call = Numbered {
            id: "can-use".into(),
            original_id: None,
            index: 0,
            name: tool.to_owned(),
            arguments: Arc::new(arguments),
            cut: false,
        };
        match self.check(&branch, &self.overlay(&branch.scope.layers), call) {
            Checked::Permitted(_) => Permission::Allowed,
            Checked::Asked(_) => Permission::NeedsApproval,
            Checked::Refused(refused) => Permission::Denied(refused.failure.error),
        }
    }

    fn execute(
        &self,
        from: Caller,
        calls: Vec<(String, RawArguments)>,
        options: NestedOptions,
    ) -> BoxFuture<'static, Vec<NestedResult>> {
        let dispatcher = self.clone();
        Box::pin(async move {
            let branch = dispatcher.branch(&from, &options);
            let calls = calls
                .into_iter()
                .map(|(name, arguments)| ToolCall::new(name, arguments))
                .collect();
            let work = async {
                if let Some(delay) = options.retry_delay {
                    let until = branch.scope.deadline;
                    let sleep = tokio::time::sleep(delay);
                    match until {
                        Some(at) => {
                            tokio::select! {
                                () = sleep => {}
                                () = tokio::time::sleep_until(at.into()) => {}
                            }
                        }
                        None => sleep.await,
                    }
                }
                dispatcher
                    .run_branch(branch, Batch { calls, cut: false })
                    .await
            };
            // The caller lets go of the gate while it waits, or its own calls could not enter.
            let results = from.cx.lane.outside(Box::pin(work)).await;
            let results = results.into_iter().map(|result| NestedResult {
                outcome: result.outcome,
                elapsed: result.elapsed,
                implementation: result.implementation,
            });
            results.collect()
        })
    }
}
