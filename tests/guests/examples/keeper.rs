//! Owns a store, so its tools are serial.

use std::{fs, thread, time::Duration};

use toolgate_sdk::{
    ToolError, arguments, plugin,
    serde_json::{Value, json},
    tool,
    tools::{self, NestedCall, Options},
};

fn failed(error: std::io::Error) -> ToolError {
    ToolError::new("io", error.to_string())
}

#[arguments]
struct Add {
    line: String,
    /// Between reading and writing, milliseconds.
    #[serde(default)]
    ms: u64,
}

/// Adds a line by read and write: two at once would lose one.
#[tool(parallel_safe, serial)]
fn keeper_add(args: Add) -> Result<usize, ToolError> {
    let mut text = fs::read_to_string("/data/lines").unwrap_or_default();
    thread::sleep(Duration::from_millis(args.ms));
    text.push_str(&args.line);
    text.push('\n');
    fs::write("/data/lines", &text).map_err(failed)?;
    Ok(text.lines().count())
}

/// Calls itself while it holds the plugin's lock.
#[tool(serial)]
fn keeper_reenter() -> Result<Value, ToolError> {
    let call = NestedCall {
        name: "keeper_add".into(),
        arguments: json!({ "line": "x" }).to_string(),
    };
    let results = tools::execute(&[call], &Options::default());
    Ok(match &results[0].outcome {
        Err(tools::CallFailure::Limit(error)) => json!(error.detail),
        other => json!(other.is_ok()),
    })
}

plugin! {
    name: "keeper",
    capabilities: { data: "to keep its lines", tools: "to try to call itself" },
    tools: [keeper_add, keeper_reenter],
}
