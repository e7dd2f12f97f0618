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
    Ok(Output {
        value: args.json,
        blocks: Vec::new(),
    })
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
        "principal_origin": context.principal_origin,
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
    Ok(Output::new(&args.mark).with_block(
        "text/plain",
        Some(args.mark.clone()),
        args.mark.into_bytes(),
    ))
}

/// Says how long it may take.
#[tool(parallel_safe, timeout = "5m")]
fn patient(context: &Context) -> Result<u64, ToolError> {
    Ok(context.remaining_ms)
}

/// Panics.
#[tool(parallel_safe)]
fn trap() -> Result<(), ToolError> {
    panic!("as asked")
}

#[arguments]
struct Everything {
    required: String,
    count: Option<i64>,
    ratio: Option<f64>,
    flag: Option<bool>,
    #[schemars(range(min = 1, max = 10))]
    small: Option<u32>,
    #[schemars(regex(pattern = "^[a-z]+$"))]
    word: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "duration")]
    wait: Option<f64>,
    mode: Option<Mode>,
    list: Option<Vec<Item>>,
    object: Option<Item>,
}

#[arguments]
#[derive(toolgate_sdk::serde::Serialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Fast,
    Slow,
}

#[arguments]
#[derive(toolgate_sdk::serde::Serialize)]
struct Item {
    old: String,
}

fn duration(_: &mut toolgate_sdk::schemars::SchemaGenerator) -> toolgate_sdk::schemars::Schema {
    toolgate_sdk::schemars::json_schema!({ "type": "number", "format": "duration" })
}

/// Gives back what reached it.
#[tool(parallel_safe)]
fn everything(args: Everything) -> Result<serde_json::Value, ToolError> {
    Ok(serde_json::json!({
        "required": args.required,
        "count": args.count,
        "ratio": args.ratio,
        "flag": args.flag,
        "small": args.small,
        "word": args.word,
        "wait": args.wait,
        "mode": args.mode,
        "list": args.list,
        "object": args.object,
    }))
}

/// Gives nothing.
#[tool(parallel_safe)]
fn nothing() -> Result<(), ToolError> {
    Ok(())
}

plugin! {
    name: "probe",
    tools: [
        patient, echo, sleep_parallel, sleep_alone, answer, fail, context, media, trap, everything, nothing],
}
