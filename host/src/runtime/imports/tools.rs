//! `toolgate:host/tools`: other tools, through the port that the dispatcher fills in. There
//! is no other way from a guest to a tool.

use std::time::Duration;

use crate::{
    ports::{NestedOptions, Permission as Says},
    runtime::{
        abi::v0_1::{
            self,
            host::tools::{
                CallFailure, CallResult, Host, NestedCall, Options, Permission, ToolInfo,
            },
        },
        sandbox::Capability,
        state::CallState,
    },
    tool::{RawArguments, Reason, ToolError},
};

/// Calls in one nested batch.
const CALLS: usize = 1_000;

impl Host for CallState {
    async fn list(&mut self) -> wasmtime::Result<Vec<ToolInfo>> {
        let Some(port) = self
            .caller
            .as_ref()
            .filter(|_| !self.sandbox.grants.tools.is_empty())
        else {
            return Ok(Vec::new());
        };
        let tools = port.nested.list(&port.caller);
        Ok(tools.into_iter().map(v0_1::tool_info).collect())
    }

    async fn can_use(&mut self, tool: String, arguments: String) -> wasmtime::Result<Permission> {
        let port = match self.way_to_tools() {
            Ok(port) => port,
            Err(refusal) => return Ok(Permission::Denied(refusal.into())),
        };
        let says = port
            .nested
            .can_use(&port.caller, &tool, RawArguments::Text(arguments));
        Ok(match says {
            Says::Allowed => Permission::Allowed,
            Says::NeedsApproval => Permission::NeedsApproval,
            Says::Denied(error) => Permission::Denied(error.into()),
        })
    }

    async fn execute(
        &mut self,
        calls: Vec<NestedCall>,
        options: Options,
    ) -> wasmtime::Result<Vec<CallResult>> {
        let all = |count: usize, failure: &dyn Fn() -> CallFailure| {
            let one = || CallResult {
                outcome: Err(failure()),
                elapsed_ms: 0.0,
                implementation: None,
            };
            (0..count).map(|_| one()).collect()
        };
        let port = match self.way_to_tools() {
            Ok(port) => port,
            Err(refusal) => {
                return Ok(all(calls.len(), &|| {
                    CallFailure::Unauthorized(refusal.clone().into())
                }));
            }
        };
        if calls.len() > CALLS {
            let error = ToolError::new(
                Reason::Limit,
                format!("{} calls in one batch; the limit is {CALLS}", calls.len()),
            );
            return Ok(all(calls.len(), &|| {
                CallFailure::Limit(error.clone().into())
            }));
        }
        let extra = match port
            .caller
            .cx
            .extra
            .with(self.sandbox.plugin.as_str(), options.extra)
        {
            Ok(extra) => extra,
            Err(problem) => {
                let error = ToolError::new(Reason::Arguments, problem).field("options.extra");
                return Ok(all(calls.len(), &|| {
                    CallFailure::Invalid(vec![error.clone().into()])
                }));
            }
        };
        let options = NestedOptions {
            serial: options.serial,
            stop_on_failure: options.stop_on_failure,
            timeout: options.timeout_ms.map(Duration::from_millis),
            retry_delay: options.retry_delay_ms.map(Duration::from_millis),
            extra,
        };
        let names: Vec<String> = calls.iter().map(|call| call.name.clone()).collect();
        let calls = calls
            .into_iter()
            .map(|call| (call.name, RawArguments::Text(call.arguments)))
            .collect();
        let results = port
            .nested
            .execute(port.caller.clone(), calls, options)
            .await;
        let results = results
            .into_iter()
            .zip(names)
            .map(|(result, name)| CallResult {
                outcome: v0_1::call_outcome(result.outcome, &name),
                elapsed_ms: result.elapsed.as_secs_f64() * 1e3,
                implementation: result.implementation.as_ref().map(v0_1::implementation),
            });
        Ok(results.collect())
    }
}

impl CallState {
    fn way_to_tools(&self) -> Result<&crate::runtime::state::CallerPort, ToolError> {
        let refusal = || self.sandbox.refusal(Capability::Tools);
        if !self.sandbox.requests(Capability::Tools) || self.sandbox.grants.tools.is_empty() {
            return Err(refusal());
        }
        self.caller.as_ref().ok_or_else(refusal)
    }
}
