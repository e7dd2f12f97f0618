//! Calls other tools, as it is told to.

use toolgate_sdk::{
    ToolError, arguments, plugin,
    serde_json::{self, Value, json},
    tool,
    tools::{self, CallFailure, CallResult, NestedCall, Options, Permission},
};

#[arguments]
struct Relay {
    calls: Vec<Call>,
    #[serde(default)]
    serial: bool,
    #[serde(default)]
    stop_on_failure: bool,
    timeout_ms: Option<u64>,
    retry_delay_ms: Option<u64>,
    #[serde(default)]
    extra: Vec<(String, String)>,
}

#[arguments]
struct Call {
    name: String,
    /// JSON text.
    arguments: String,
}

impl Relay {
    fn run(self) -> Value {
        let calls: Vec<NestedCall> = self
            .calls
            .into_iter()
            .map(|call| NestedCall {
                name: call.name,
                arguments: call.arguments,
            })
            .collect();
        let options = Options {
            serial: self.serial,
            stop_on_failure: self.stop_on_failure,
            timeout_ms: self.timeout_ms,
            retry_delay_ms: self.retry_delay_ms,
            extra: self.extra,
        };
        tools::execute(&calls, &options).iter().map(shown).collect()
    }
}

fn shown(result: &CallResult) -> Value {
    let error = |kind: &str, error: &ToolError| json!({ "failure": kind, "reason": error.reason, "detail": error.detail, "field": error.field });
    match &result.outcome {
        Ok(output) => {
            json!({ "value": serde_json::from_str::<Value>(&output.value).ok(), "blocks": output.blocks.len() })
        }
        Err(CallFailure::NotFound(missing)) => error("not-found", &missing.error),
        Err(CallFailure::Unauthorized(e)) => error("unauthorized", e),
        Err(CallFailure::Invalid(errors)) => error("invalid", &errors[0]),
        Err(CallFailure::Failed(failure)) => error("failed", &failure.error),
        Err(CallFailure::Timeout(e)) => error("timeout", e),
        Err(CallFailure::Trapped(e)) => error("trapped", e),
        Err(CallFailure::Unavailable(e)) => error("unavailable", e),
        Err(CallFailure::Cancelled(e)) => error("cancelled", e),
        Err(CallFailure::Limit(e)) => error("limit", e),
        Err(CallFailure::Skipped(e)) => error("skipped", e),
        Err(CallFailure::Internal(e)) => error("internal", e),
    }
}

/// Runs calls; may run beside others.
#[tool(parallel_safe)]
fn relay_parallel(args: Relay) -> Result<Value, ToolError> {
    Ok(args.run())
}

/// Runs calls; must run alone.
#[tool]
fn relay_alone(args: Relay) -> Result<Value, ToolError> {
    Ok(args.run())
}

/// Lists what it may call.
#[tool(parallel_safe)]
fn relay_list() -> Result<Vec<String>, ToolError> {
    Ok(tools::list().into_iter().map(|tool| tool.name).collect())
}

/// Asks the gate.
#[tool(parallel_safe)]
fn relay_can_use(args: Call) -> Result<Value, ToolError> {
    Ok(match tools::can_use(&args.name, &args.arguments) {
        Permission::Allowed => json!("allowed"),
        Permission::NeedsApproval => json!("needs-approval"),
        Permission::Denied(error) => json!({ "denied": error.reason }),
    })
}

#[arguments]
struct Deep {
    /// Calls below this one.
    levels: u32,
}

/// Calls itself this many levels deep.
#[tool(parallel_safe)]
fn relay_deep(args: Deep) -> Result<Value, ToolError> {
    if args.levels == 0 {
        return Ok(json!("bottom"));
    }
    let arguments = json!({ "levels": args.levels - 1 }).to_string();
    let results = tools::execute(
        &[NestedCall {
            name: "relay_deep".into(),
            arguments,
        }],
        &Options::default(),
    );
    Ok(shown(&results[0]))
}

plugin! {
    name: "relay",
    capabilities: { tools: "to call what it is told to" },
    tools: [relay_parallel, relay_alone, relay_list, relay_can_use, relay_deep],
}
