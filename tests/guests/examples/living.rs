//! A plugin with many versions: a mark in its bytes, which tests overwrite, says which one
//! it is and how it describes itself.

use std::{hint::black_box, thread, time::Duration};

use toolgate_sdk::{
    ToolError, arguments, plugin,
    schemars::{Schema, SchemaGenerator},
    serde_json::json,
    tool,
};

/// Eight digits of version, and one letter: how `describe` goes.
static MARK: &[u8; 19] = b"@living:00000000:-@";

fn mark() -> &'static str {
    std::str::from_utf8(black_box(&MARK[..])).unwrap_or("")
}

fn version() -> u64 {
    mark()[8..16].parse().unwrap_or(0)
}

/// Made when the plugin describes itself.
fn shape(_: &mut SchemaGenerator) -> Schema {
    let schema = match &mark()[17..18] {
        "t" => panic!("describe panics"),
        "l" => loop {
            black_box(());
        },
        "s" => json!({ "type": "no such type" }),
        _ => json!({ "type": "integer" }),
    };
    Schema::try_from(schema).unwrap_or_default()
}

#[arguments]
struct Hold {
    /// Milliseconds before the answer.
    ms: Option<u64>,
}

/// Says which version it is.
#[tool(parallel_safe, read_only)]
fn living_version(args: Hold) -> Result<u64, ToolError> {
    if let Some(ms) = args.ms {
        thread::sleep(Duration::from_millis(ms));
    }
    Ok(version())
}

#[arguments]
struct Fall {
    /// Whether to trap.
    trap: bool,
    /// Shaped by the mark.
    #[schemars(schema_with = "shape")]
    #[serde(default)]
    #[expect(dead_code, reason = "only its schema counts")]
    shaped: i64,
}

/// Traps if asked to.
#[tool(parallel_safe)]
fn living_fall(args: Fall) -> Result<u64, ToolError> {
    if args.trap {
        panic!("as asked");
    }
    Ok(version())
}

plugin! { name: "living", tools: [living_version, living_fall] }
