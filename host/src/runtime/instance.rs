//! One call, one store, one fresh instance: made, called and dropped on the caller's own
//! task, under the call's limits. Whatever ends the call ends the instance.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;
use wasmtime::{Store, Trap, UpdateDeadline, component::ResourceTableError};

use super::{
    Component, Described,
    abi::v0_1,
    component::Linked,
    limiter::Hit,
    sandbox::Sandbox,
    state::{CallState, CallerPort},
};
use crate::{
    policy::Limits,
    ports::{Caller, Nested},
    stage::{Deadline, cancelled},
    tool::{Failure, FailureKind, Output},
};

/// A plugin that takes longer to say what it is will not be quick to answer either.
const DESCRIBE: Duration = Duration::from_secs(5);

/// One call of a plugin's tool.
#[derive(Debug)]
pub struct Invocation<'a> {
    /// The plugin's code.
    pub component: &'a Component,
    /// What it may touch.
    pub sandbox: &'a Arc<Sandbox>,
    /// What the call may use.
    pub limits: &'a Limits,
    /// The call; its link names the tool.
    pub caller: Caller,
    /// A JSON object that fits the tool's schema.
    pub arguments: String,
}

impl Invocation<'_> {
    /// Runs the call to its end, its deadline or its cancellation.
    ///
    /// # Errors
    ///
    /// The tool's failure, or which limit it broke.
    pub async fn run(self, nested: Arc<dyn Nested>) -> Result<Output, Failure> {
        let cx = Arc::clone(&self.caller.cx);
        let caps = v0_1::Caps {
            result: self.limits.result,
            blocks: self.limits.blocks,
        };
        let port = CallerPort {
            caller: self.caller.clone(),
            nested,
        };
        let state = CallState::new(Arc::clone(self.sandbox), self.limits, Some(port));
        let call = Call {
            component: self.component,
            limits: self.limits,
            deadline: Arc::clone(&cx.deadline),
            cancel: cx.cancel.clone(),
        };
        let (context, tool, arguments) = (
            v0_1::context(&self.caller),
            self.caller.link.tool.as_str(),
            &self.arguments,
        );
        let result = cx
            .bounded(call.with_instance(
                state,
                async |store: &mut Store<CallState>, plugin: &v0_1::Plugin| {
                    plugin
                        .toolgate_tool_tool()
                        .call_call(store, &context, tool, arguments)
                        .await
                },
            ))
            .await??;
        v0_1::outcome(result, caps)
    }
}

pub(super) async fn describe(
    component: &Component,
    sandbox: Arc<Sandbox>,
) -> Result<Described, Failure> {
    let limits = Limits {
        timeout: DESCRIBE,
        ..Limits::default()
    };
    let deadline = Deadline::after(DESCRIBE, None);
    let state = CallState::new(sandbox, &limits, None);
    let call = Call {
        component,
        limits: &limits,
        deadline: Arc::clone(&deadline),
        cancel: CancellationToken::new(),
    };
    let work = call.with_instance(
        state,
        async |store: &mut Store<CallState>, plugin: &v0_1::Plugin| {
            plugin.toolgate_tool_tool().call_describe(store).await
        },
    );
    let info = tokio::select! {
        biased;
        info = work => info?,
        () = deadline.passed() => return Err(deadline.failure()),
    };
    Ok(v0_1::described(info))
}

struct Call<'a> {
    component: &'a Component,
    limits: &'a Limits,
    deadline: Arc<Deadline>,
    cancel: CancellationToken,
}

impl Call<'_> {
    async fn with_instance<T>(
        &self,
        state: CallState,
        work: impl AsyncFnOnce(&mut Store<CallState>, &v0_1::Plugin) -> wasmtime::Result<T>,
    ) -> Result<T, Failure> {
        let _ticking = self.component.engines().ticker().running();
        let Some(Linked::V0_1(pre)) = self.component.pooled() else {
            return self.on_demand(state, work).await;
        };
        let mut store = self.store(pre.engine(), state);
        match pre.instantiate_async(&mut store).await {
            Ok(plugin) => {
                let done = work(&mut store, &plugin).await;
                done.map_err(|error| self.failure(&store, &error))
            }
            // The pool is full, or this call's memory limit is larger than a slot.
            Err(error) if error.is::<wasmtime::PoolConcurrencyLimitError>() => {
                self.on_demand(store.into_data(), work).await
            }
            Err(error) => Err(self.failure(&store, &error)),
        }
    }

    async fn on_demand<T>(
        &self,
        state: CallState,
        work: impl AsyncFnOnce(&mut Store<CallState>, &v0_1::Plugin) -> wasmtime::Result<T>,
    ) -> Result<T, Failure> {
        let Linked::V0_1(pre) = self
            .component
            .on_demand()
            .map_err(|problem| Failure::host(FailureKind::Internal, problem))?;
        let mut store = self.store(pre.engine(), state);
        let done = async {
            let plugin = pre.instantiate_async(&mut store).await?;
            work(&mut store, &plugin).await
        };
        let done = done.await;
        done.map_err(|error| self.failure(&store, &error))
    }

    fn store(&self, engine: &wasmtime::Engine, state: CallState) -> Store<CallState> {
        let mut store = Store::new(engine, state);
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(self.host_call_bytes());
        store.set_epoch_deadline(1);
        let (deadline, cancel) = (Arc::clone(&self.deadline), self.cancel.clone());
        store.epoch_deadline_callback(move |_| {
            if deadline.has_passed() || cancel.is_cancelled() {
                return Ok(UpdateDeadline::Interrupt);
            }
            // tokio's own yield goes behind the other tasks and lets timers fire.
            Ok(UpdateDeadline::YieldCustom(
                1,
                Box::pin(tokio::task::yield_now()),
            ))
        });
        store
    }

    /// The engine counts the result as a host call too, so that has to fit.
    fn host_call_bytes(&self) -> usize {
        const OVERHEAD: u64 = 64 << 10;
        let result = self.limits.result.saturating_add(self.limits.blocks);
        let bytes = self.limits.host_call.max(result).saturating_add(OVERHEAD);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Why the engine gave up, in words that say what to do.
    fn failure(&self, store: &Store<CallState>, error: &wasmtime::Error) -> Failure {
        if self.cancel.is_cancelled() {
            return cancelled();
        }
        if self.deadline.has_passed() {
            return self.deadline.failure();
        }
        match store.data().limiter.hit() {
            Some(Hit::Memory { limit }) => {
                return Failure::host(
                    FailureKind::Limit,
                    format!("memory limit of {limit} bytes reached"),
                )
                .hint("ask for less in one call; the operator sets the limit (limits.memory)");
            }
            Some(Hit::Table) => {
                return Failure::host(FailureKind::Limit, "too many table elements")
                    .hint("a fault of the plugin; tell its author");
            }
            None => {}
        }
        match error.downcast_ref::<Trap>() {
            Some(Trap::StackOverflow) => {
                Failure::host(FailureKind::Trapped, "the plugin overflowed its stack")
                    .hint("give it less deeply nested data")
            }
            Some(Trap::MemoryOutOfBounds) => Failure::host(
                FailureKind::Trapped,
                "the plugin accessed memory out of bounds: often a stack overflow",
            )
            .hint("give it less deeply nested data, or tell its author"),
            Some(trap) => Failure::host(
                FailureKind::Trapped,
                format!("the plugin trapped: {trap}"),
            )
            .hint("other arguments may work; the operator finds the plugin's own words in the log"),
            None => self.host_failure(error),
        }
    }

    fn host_failure(&self, error: &wasmtime::Error) -> Failure {
        // The engine has no public type for this one; a test holds the text.
        let text = error.root_cause().to_string();
        if text.contains("fuel allocated for hostcalls") {
            return Failure::host(
                FailureKind::Limit,
                format!("the plugin handed over more than {} bytes at once", self.host_call_bytes()),
            )
            .hint("ask for a smaller part at a time; the operator sets limits.result, limits.blocks and limits.host_call");
        }
        if matches!(error.downcast_ref(), Some(ResourceTableError::Full)) {
            return Failure::host(
                FailureKind::Limit,
                format!("the plugin holds more than {} handles", self.limits.handles),
            )
            .hint("ask for less in one call; the operator sets limits.handles");
        }
        // Details are the operator's: they may hold host paths.
        tracing::warn!(plugin = %self.component.digest(), error = %format!("{error:#}"), "a call ended with an engine error");
        Failure::host(
            FailureKind::Trapped,
            "the plugin did something that the host refuses",
        )
        .hint("the operator finds the reason in the log")
    }
}
