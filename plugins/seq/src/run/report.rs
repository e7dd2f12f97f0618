//! A run as a value: what a model, or a person with `--json`, reads of it.

use serde_json::{Map, Value, json};
use toolgate_sdk::ToolError;

use super::{GroupRun, ItemStatus, Run, RunStatus, Status};
use crate::store::Stored;

/// Characters of one text in a report.
const MOST: usize = 2_000;

/// The report. What failed, and what only half succeeded, says so first.
pub(crate) fn report(stored: &Stored, run: &Run) -> Value {
    let status = match run.status {
        RunStatus::Ok => "ok",
        RunStatus::Partial => "partial",
        RunStatus::Failed(_) => "failed",
    };
    json!({
        "status": status,
        "name": stored.record.sequence.name,
        "creator": stored.record.creator.id,
        "digest": stored.digest,
        "groups": run.groups.iter().map(group).collect::<Vec<_>>(),
        "out": run.out,
        "warnings": run.warnings.iter().map(|text| cut(text)).collect::<Vec<_>>(),
    })
}

/// Of one group that was called alone.
pub(crate) fn group_report(stored: &Stored, run: &GroupRun) -> Value {
    json!({
        "status": "failed",
        "name": stored.record.sequence.name,
        "digest": stored.digest,
        "groups": [group(run)],
        "out": run.out,
    })
}

fn group(run: &GroupRun) -> Value {
    let status = match run.status {
        Status::Ok => "ok",
        Status::Skipped => "skipped",
        Status::Failed => "failed",
        Status::Timeout => "timeout",
    };
    let mut members = Map::new();
    members.insert("name".into(), run.name.clone().into());
    members.insert("status".into(), status.into());
    if let Some(reason) = &run.reason {
        members.insert("reason".into(), cut(reason).into());
    }
    members.insert("parallel".into(), run.parallel.into());
    members.insert(
        "elapsed_ms".into(),
        rounded(run.elapsed.as_secs_f64() * 1e3),
    );
    members.insert("attempts".into(), run.attempts.into());
    let items = run.items.iter().map(|item| {
        let status = match item.status {
            ItemStatus::Ok => "ok",
            ItemStatus::Skipped => "skipped",
            ItemStatus::Degraded => "degraded",
            ItemStatus::Failed => "failed",
            ItemStatus::Timeout => "timeout",
        };
        let mut members = Map::new();
        members.insert("tool".into(), item.tool.clone().into());
        members.insert("status".into(), status.into());
        members.insert("elapsed_ms".into(), rounded(item.elapsed_ms));
        if let Some(shown) = &item.error {
            members.insert("error".into(), error(shown));
        }
        Value::Object(members)
    });
    members.insert("items".into(), items.collect());
    members.into()
}

fn error(error: &ToolError) -> Value {
    let mut members = Map::new();
    let mut put = |key: &str, text: &Option<String>| {
        if let Some(text) = text {
            members.insert(key.to_owned(), cut(text).into());
        }
    };
    put("field", &error.field);
    put("reason", &Some(error.reason.clone()));
    put("detail", &error.detail);
    put("hint", &error.hint);
    members.into()
}

/// With two decimals: more is noise.
fn rounded(ms: f64) -> Value {
    ((ms * 100.0).round() / 100.0).into()
}

/// At most [`MOST`] characters; what was cut is told.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(MOST) {
        None => text.to_owned(),
        Some((end, _)) => format!(
            "{}… (the first {MOST} of {} characters)",
            text.get(..end).unwrap_or_default(),
            text.chars().count()
        ),
    }
}
