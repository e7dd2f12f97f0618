//! Tools that vanish before a run, between two groups, and while a group runs.

use serde_json::{Value, json};
use toolgate_sdk::{ToolError, tools::CallFailure};

use super::{group, item, made, status, statuses};
use crate::testing::{Fake, fail};

fn vanishing(when: &str) -> (Fake, Value) {
    let fake = Fake::new();
    fake.tool("gone", |_, _| Ok(json!("here")));
    fake.tool("other", |_, _| Err(fail("not_found")));
    let whence = when.to_owned();
    fake.tool("thief", move |fake, _| {
        if whence != "before" {
            fake.remove("gone");
        }
        Ok(json!(1))
    });
    let first = group(
        "first",
        json!({}),
        &[json!({ "tool": if when == "between" { "thief" } else { "echo" } })],
        json!({}),
    );
    let mut items = vec![
        item("echo", json!("kept"), "x"),
        item("gone", json!(0), "y"),
        item("gone", json!(0), "list"),
        item("echo", json!(2), "list"),
    ];
    if when == "while" {
        items.insert(0, json!({ "tool": "thief" }));
    }
    let second = group(
        "second",
        json!({ "x": "any", "y": "integer", "list": "array" }),
        &items,
        json!({}),
    );
    (fake, json!([first, second]))
}

#[test]
fn a_missing_tool_is_not_a_failed_tool() {
    for when in ["before", "between", "while"] {
        for parallel in [true, false] {
            for missing in ["fail", "skip", "degrade"] {
                let (fake, mut groups) = vanishing(when);
                groups[1]["missing"] = missing.into();
                groups[1]["parallel"] = parallel.into();
                if missing == "degrade" {
                    groups[1]["fallback"] =
                        json!({ "x": null, "y": "42", "list": { "none": true } });
                }
                made(&fake, groups.as_array().unwrap());
                if when == "before" {
                    fake.remove("gone");
                }
                let report = fake.run("s", json!({}));
                let place = format!("{when} {parallel} {missing}: {report}");
                let items: Vec<&str> = report["groups"][1]["items"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter(|item| item["tool"] != "thief")
                    .map(|item| item["status"].as_str().unwrap())
                    .collect();
                match missing {
                    "fail" => {
                        assert_eq!(status(&report), "failed", "{place}");
                        assert!(
                            report["groups"][1]["reason"]
                                .as_str()
                                .unwrap()
                                .contains("there is no tool `gone` now"),
                            "{place}"
                        );
                        assert_eq!(items[1], "failed", "{place}");
                    }
                    "skip" => {
                        assert_eq!(status(&report), "ok", "{place}");
                        assert_eq!(items, ["ok", "skipped", "skipped", "ok"], "{place}");
                        assert_eq!(
                            report["out"],
                            json!({ "x": "kept", "list": [2] }),
                            "{place}"
                        );
                    }
                    _ => {
                        assert_eq!(status(&report), "ok", "{place}");
                        assert_eq!(items, ["ok", "degraded", "degraded", "ok"], "{place}");
                        assert_eq!(
                            report["out"],
                            json!({ "x": "kept", "y": 42, "list": [{ "none": true }, 2] }),
                            "{place}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_live_tool_that_found_nothing_is_a_failure_whatever_it_says() {
    for missing in ["skip", "degrade"] {
        let fake = Fake::new();
        fake.tool("live", |_, _| {
            let error = ToolError::new(
                "not_found",
                "there is no tool \"live\": not found in any plugin",
            );
            Err(CallFailure::Failed(error.into()))
        });
        let mut more = json!({ "missing": missing });
        if missing == "degrade" {
            more["fallback"] = json!({ "y": 1 });
        }
        made(
            &fake,
            &[group(
                "a",
                json!({ "y": "any" }),
                &[item("live", json!(0), "y")],
                more,
            )],
        );
        let report = fake.run("s", json!({}));
        assert_eq!(
            statuses(&report),
            [("failed".into(), vec!["failed".into()])],
            "{report}"
        );
    }
    // A missing tool is not tried again.
    let fake = Fake::new();
    made(
        &fake,
        &[group(
            "a",
            json!({}),
            &[json!({ "tool": "gone" })],
            json!({ "on_error": "retry", "retries": 5 }),
        )],
    );
    fake.run("s", json!({}));
    assert_eq!(fake.batches.borrow().len(), 1);
}

#[test]
fn another_implementation_and_a_lost_safety_are_reported() {
    let fake = Fake::new();
    made(
        &fake,
        &[
            group(
                "a",
                json!({}),
                &[json!({ "tool": "echo" }), json!({ "tool": "echo" })],
                json!({}),
            ),
            group("b", json!({}), &[json!({ "tool": "echo" })], json!({})),
        ],
    );
    assert_eq!(fake.run("s", json!({}))["warnings"], json!([]));
    fake.change("echo", |tool| {
        tool.digest = "sha256:other".into();
        tool.parallel_safe = false;
    });
    fake.batches.borrow_mut().clear();
    let report = fake.run("s", json!({}));
    assert_eq!(status(&report), "ok");
    let warnings = report["warnings"].to_string();
    assert_eq!(
        warnings
            .matches("tool `echo` is another implementation than when this sequence was made")
            .count(),
        1,
        "{warnings}"
    );
    assert!(
        warnings.contains("no longer parallel-safe: group `a` runs one after another"),
        "{warnings}"
    );
    assert!(
        fake.batches
            .borrow()
            .iter()
            .all(|batch| batch.serial && batch.stop_on_failure)
    );
}
