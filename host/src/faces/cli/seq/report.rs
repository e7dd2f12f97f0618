//! A run for a person: one line a group and one an item, with what ran side by side drawn
//! as one bundle, what was skipped or failed and why, and the outputs.

use std::time::Duration;

use serde_json::Value;

use super::{counted, word};
use crate::faces::cli::{
    output::{Output, Tone},
    problem::Problem,
    results::time,
};

pub(super) fn show(out: &Output, report: &Value) -> Result<(), Problem> {
    let groups = report["groups"].as_array().map_or(&[][..], Vec::as_slice);
    let total: f64 = groups
        .iter()
        .filter_map(|group| group["elapsed_ms"].as_f64())
        .sum();
    let status = word(&report["status"]);
    out.toned(
        tone(status),
        &format!(
            "{}: {status}, {}, {}",
            word(&report["name"]),
            counted(groups.len(), "group"),
            elapsed(total)
        ),
    )?;
    let width = groups
        .iter()
        .map(|group| word(&group["name"]).chars().count())
        .max()
        .unwrap_or(0)
        .min(40);
    for group in groups {
        self::group(out, group, width)?;
    }
    for warning in report["warnings"].as_array().into_iter().flatten() {
        out.warning(word(warning));
    }
    if let Some(values) = report["out"]
        .as_object()
        .filter(|values| !values.is_empty())
    {
        out.toned(Tone::Strong, "out")?;
        for (slot, value) in values {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            out.line(&format!("  {slot} = {text}"))?;
        }
    }
    Ok(())
}

fn group(out: &Output, group: &Value, width: usize) -> Result<(), Problem> {
    let status = word(&group["status"]);
    let items = group["items"].as_array().map_or(&[][..], Vec::as_slice);
    let parallel = group["parallel"] == true && items.len() > 1;
    let mut line = format!("  {:width$}  {status}", word(&group["name"]));
    if !items.is_empty() {
        let mode = if parallel { "parallel" } else { "serial" };
        line.push_str(&format!(
            "  {}  {mode}",
            elapsed(group["elapsed_ms"].as_f64().unwrap_or(0.0))
        ));
    }
    if let Some(attempts) = group["attempts"].as_u64().filter(|attempts| *attempts > 1) {
        line.push_str(&format!("  {attempts} attempts"));
    }
    if items.is_empty() && group["reason"].is_string() {
        line.push_str(&format!("  ({})", word(&group["reason"])));
    }
    out.toned(tone(status), &line)?;
    for (i, item) in items.iter().enumerate() {
        let status = word(&item["status"]);
        // What runs side by side hangs together; what runs in turn is numbered.
        let lead = match (parallel, i, i + 1 == items.len()) {
            (true, 0, _) => "┌".to_owned(),
            (true, _, true) => "└".to_owned(),
            (true, ..) => "│".to_owned(),
            (false, ..) => format!("{}.", i + 1),
        };
        let time = elapsed(item["elapsed_ms"].as_f64().unwrap_or(0.0));
        let why = match &item["error"] {
            Value::Object(error) => {
                let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
                let detail = if text("detail").is_empty() {
                    text("reason")
                } else {
                    text("detail")
                };
                match text("field") {
                    "" => format!("  {detail}"),
                    field => format!("  {field}: {detail}"),
                }
            }
            _ => String::new(),
        };
        out.toned(
            tone(status),
            &format!("    {lead} {}  {status}  {time}{why}", word(&item["tool"])),
        )?;
    }
    Ok(())
}

fn tone(status: &str) -> Tone {
    match status {
        "ok" => Tone::Good,
        "skipped" => Tone::Faint,
        "partial" | "degraded" => Tone::Warning,
        _ => Tone::Bad,
    }
}

fn elapsed(ms: f64) -> String {
    time(Duration::try_from_secs_f64(ms / 1e3).unwrap_or_default())
}
