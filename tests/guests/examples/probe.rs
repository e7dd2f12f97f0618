//! A well-behaved plugin whose tools show what the host does with a call.

use std::{thread, time::Duration};

use toolgate_sdk::{Context, Failure, Output, ToolError, arguments, plugin, serde_json, tool};

#[arguments]
struct Echo {
    text: String,
}

/// Gives the text back.
#[tool(parallel_safe, read_only)]
fn echo(args: Echo) -> Result<String, ToolError> {
    Ok(args.text)
}

#[arguments]
struct Sleep {
    /// Milliseconds.
    ms: u64,
}

/// Sleeps, and may run beside others.
#[tool(parallel_safe)]
fn sleep_parallel(args: Sleep) -> Result<u64, ToolError> {
    thread::sleep(Duration::from_millis(args.ms));
    Ok(args.ms)
}

/// Sleeps, and must run alone.
#[tool]
fn sleep_alone(args: Sleep) -> Result<u64, ToolError> {
    thread::sleep(Duration::from_millis(args.ms));
    Ok(args.ms)
}

#[arguments]
struct Answer {
    /// JSON text that becomes the value.
    json: String,
}

/// Answers with any JSON value.
#[tool(parallel_safe)]
fn answer(args: Answer) -> Result<Output, ToolError> {
    Ok(Output { value: args.json, blocks: Vec::new() })
}

#[arguments]
struct Fail {
    reason: String,
    value: Option<String>,
}

/// Fails, with a value if one is given.
#[tool(parallel_safe)]
fn fail(args: Fail) -> Result<(), Failure> {
    let failure = Failure::from(ToolError::new(args.reason, "as asked"));
    Err(match args.value {
        Some(value) => failure.with_value(&value),
        None => failure,
    })
}

/// Says what the plugin knows of its call.
#[tool(parallel_safe)]
fn context(context: &Context) -> Result<serde_json::Value, ToolError> {
    Ok(serde_json::json!({
        "call_id": context.call_id,
        "index": context.index,
        "batch_id": context.batch_id,
        "principal_id": context.principal_id,
        "depth": context.depth,
        "remaining_ms": context.remaining_ms,
        "extra": context.extra,
    }))
}

#[arguments]
struct Media {
    mark: String,
    ms: u64,
}

/// Gives one media block that holds the mark, after a while.
#[tool(parallel_safe)]
fn media(args: Media) -> Result<Output, ToolError> {
    thread::sleep(Duration::from_millis(args.ms));
    Ok(Output::new(&args.mark).with_block("text/plain", Some(args.mark.clone()), args.mark.into_bytes()))
}

plugin! {
    name: "probe",
    tools: [echo, sleep_parallel, sleep_alone, answer, fail, context, media],
}
