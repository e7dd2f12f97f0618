//! Owns a store, so its tools are serial.

use std::{fs, io::Write as _, thread, time::Duration};

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

#[arguments]
struct Change {
    file: String,
    /// write, append, at, size, remove, rename, link or out.
    how: String,
    #[serde(default)]
    bytes: u64,
}

/// Changes a file of the private folder; says how far it came and what went wrong.
#[tool(parallel_safe)]
fn keeper_change(args: Change) -> Result<Value, ToolError> {
    let path = format!("/data/{}", args.file);
    let mut done = 0;
    let outcome = change(&path, &args, &mut done);
    Ok(json!({ "done": done, "kind": outcome.err().map(|error| format!("{:?}", error.kind())) }))
}

fn change(path: &str, args: &Change, done: &mut u64) -> std::io::Result<()> {
    let mut options = fs::File::options();
    match args.how.as_str() {
        "remove" => fs::remove_file(path),
        "rename" => fs::rename(path, format!("{path}.new")),
        "link" => fs::hard_link(path, format!("{path}.new")),
        "out" => fs::rename(path, format!("/out/{}", args.file)),
        "size" => options
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)?
            .set_len(args.bytes),
        how => {
            let mut file = match how {
                "append" => options.create(true).append(true).open(path)?,
                "at" => options.write(true).open(path)?,
                _ => fs::File::create(path)?,
            };
            let chunk = vec![b'x'; 256 << 10];
            while *done < args.bytes {
                let left = usize::try_from(args.bytes - *done).unwrap_or(usize::MAX);
                file.write_all(&chunk[..left.min(chunk.len())])?;
                *done += left.min(chunk.len()) as u64;
            }
            Ok(())
        }
    }
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
    capabilities: {
        data: "to keep its lines",
        fs: "to try to move them out",
        tools: "to try to call itself",
    },
    tools: [keeper_add, keeper_change, keeper_reenter],
}
