//! `toolgate config`: every value in effect and where it came from.

use serde_json::{Value, json};

use super::{
    context::Context,
    exit::Exit,
    output::{Tone, cell},
    problem::Problem,
};

pub(super) fn perform(cx: &Context<'_>) -> Result<Exit, Problem> {
    let config = cx.config()?;
    if cx.out.wants_json() {
        let values: Vec<Value> = config
            .explain()
            .iter()
            .map(|one| json!({ "key": one.key, "value": one.value, "source": one.source }))
            .collect();
        let file = config.path.as_ref().map(|path| path.display().to_string());
        cx.out
            .json(&json!({ "file": file, "values": values, "warnings": config.warnings }))?;
        return Ok(Exit::Ok);
    }
    match &config.path {
        Some(path) => cx.out.note(&format!("configuration: {}", path.display())),
        None => cx
            .out
            .note("no configuration file: safe defaults (`toolgate init` writes one)"),
    }
    let rows: Vec<_> = config
        .explain()
        .iter()
        .map(|one| {
            vec![
                cell(&one.key).tone(Tone::Strong),
                cell(&one.value),
                cell(&one.source).tone(Tone::Faint),
            ]
        })
        .collect();
    cx.out.table(&["key", "value", "source"], &rows)?;
    Ok(Exit::Ok)
}
