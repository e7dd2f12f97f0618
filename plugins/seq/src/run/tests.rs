#![expect(
    clippy::needless_pass_by_value,
    reason = "`json!` is written where it is used"
)]

use std::{cell::Cell, rc::Rc, time::Duration};

use serde_json::{Value, json};
use toolgate_sdk::{ToolError, tools::CallFailure};

use crate::testing::{Fake, fail, tools};

fn item(tool: &str, value: Value, slot: &str) -> Value {
    json!({ "tool": tool, "args": { "value": value }, "as": slot })
}

fn group(name: &str, out: Value, items: &[Value], more: Value) -> Value {
    let mut group = json!({ "name": name, "out": out, "tools": tools(items) });
    let members = group.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    group
}

fn made(fake: &Fake, groups: &[Value]) {
    fake.create("s", json!(groups))
        .unwrap_or_else(|failure| panic!("{failure:?}"));
}

/// The status of each group and of each of its items.
fn statuses(report: &Value) -> Vec<(String, Vec<String>)> {
    let text = |value: &Value| value["status"].as_str().unwrap().to_owned();
    let groups = report["groups"].as_array().unwrap().iter();
    groups
        .map(|group| {
            (
                text(group),
                group["items"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(text)
                    .collect(),
            )
        })
        .collect()
}

fn status(report: &Value) -> &str {
    report["status"].as_str().unwrap()
}

#[test]
fn values_flow_by_name_and_the_later_one_wins() {
    let fake = Fake::new();
    let first = group(
        "a",
        json!({ "x": "integer", "all": "array" }),
        &[
            item("echo", json!("5"), "x"),
            item("echo", json!([1, 2]), "all"),
            item("echo", json!("$args.host"), "all"),
        ],
        json!({ "in": { "host": "string" } }),
    );
    let second = group(
        "b",
        json!({ "y": "any", "x": "integer" }),
        &[
            item("echo", json!({ "n": "$args.x", "t": "x=$args.x" }), "y"),
            item("echo", json!(7), "x"),
        ],
        json!({ "in": { "x": "integer", "none": "string?" } , "when": "$args.none == null" }),
    );
    made(&fake, &[first, second]);
    let report = fake.run("s", json!({ "host": 9 }));
    assert_eq!(status(&report), "ok", "{report}");
    assert_eq!(
        report["out"],
        json!({ "x": 7, "all": [[1, 2], "9"], "y": { "n": 5, "t": "x=5" } })
    );
    // One batch for each group, in parallel, with the group's time.
    let batches = fake.batches.borrow();
    assert_eq!(batches.len(), 2);
    assert_eq!(batches[0].tools, ["echo", "echo", "echo"]);
    assert!(!batches[0].serial && batches[0].timeout_ms == Some(30_000));
}

#[test]
fn arguments_are_checked_before_the_first_group() {
    let fake = Fake::new();
    made(
        &fake,
        &[group(
            "a",
            json!({ "x": "any" }),
            &[item("echo", json!("$args.n"), "x")],
            json!({ "in": { "n": "integer", "word": "string?" }, "when": "$args.word != \"no\"" }),
        )],
    );
    for (args, reason, field, words) in [
        (json!({}), "required", "args.n", "missing"),
        (json!({ "n": null }), "required", "args.n", "missing"),
        (
            json!({ "n": "x" }),
            "type",
            "args.n",
            "the text \"x\" is no integer",
        ),
        (
            json!({ "n": 1, "wrod": "x" }),
            "additional",
            "args.wrod",
            "no input `wrod`",
        ),
    ] {
        let error = fake.try_run("s", args).unwrap_err().error;
        assert_eq!(
            (error.reason.as_str(), error.field.as_deref()),
            (reason, Some(field))
        );
        assert!(error.detail.unwrap().contains(words));
        assert!(error.hint.is_some());
    }
    assert_eq!(fake.calls.borrow().len(), 0);
    assert_eq!(
        fake.run("s", json!({ "n": "4", "word": null }))["out"]["x"],
        4
    );
}

#[test]
fn a_false_condition_skips_and_a_broken_one_fails() {
    let fake = Fake::new();
    let conditional = |when: &str| {
        group(
            "a",
            json!({ "x": "any" }),
            &[item("echo", json!(1), "x")],
            json!({ "in": { "n": "any" }, "when": when }),
        )
    };
    let later = group(
        "b",
        json!({ "y": "any" }),
        &[item("echo", json!(2), "y")],
        json!({}),
    );
    let needs = group(
        "c",
        json!({ "z": "any" }),
        &[item("echo", json!("$args.x"), "z")],
        json!({ "in": { "x": "any" } }),
    );
    made(&fake, &[conditional("$args.n > 3"), later.clone(), needs]);
    let report = fake.run("s", json!({ "n": 1 }));
    assert_eq!(status(&report), "ok");
    let seen: Vec<String> = statuses(&report)
        .into_iter()
        .map(|(group, _)| group)
        .collect();
    assert_eq!(seen, ["skipped", "ok", "skipped"]);
    assert_eq!(report["out"], json!({ "y": 2 }));
    assert!(
        report["groups"][2]["reason"]
            .as_str()
            .unwrap()
            .contains("`x` has no value: step `a` was skipped"),
        "{report}"
    );
    // What cannot be compared is no "false", and nothing ran for it.
    fake.calls.borrow_mut().clear();
    let report = fake.run("s", json!({ "n": "many" }));
    assert_eq!(status(&report), "failed");
    assert!(
        report["groups"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("no number"),
        "{report}"
    );
    assert_eq!(fake.calls.borrow().len(), 0);
    // Its `on_error` decides.
    let mut goes_on = conditional("$args.n > 3");
    goes_on["on_error"] = "continue".into();
    made(&fake, &[goes_on, later]);
    let report = fake.run("s", json!({ "n": "many" }));
    assert_eq!((status(&report), fake.count("echo")), ("partial", 1));
}

#[test]
fn abort_ends_the_group_and_the_run() {
    let fake = Fake::new();
    fake.tool("bad", |_, _| Err(fail("broken")));
    let items = [
        item("echo", json!(1), "x"),
        json!({ "tool": "bad" }),
        item("echo", json!(2), "y"),
    ];
    let out = json!({ "x": "any", "y": "any" });
    let later = group("later", json!({}), &[json!({ "tool": "echo" })], json!({}));
    // In parallel the others finish.
    made(
        &fake,
        &[group("a", out.clone(), &items, json!({})), later.clone()],
    );
    let failure = fake.try_run("s", json!({})).unwrap_err();
    assert_eq!(failure.error.reason, "failed");
    assert!(
        failure
            .error
            .detail
            .unwrap()
            .contains("group `a`, item 1 (`bad`): as asked")
    );
    let report = fake.run("s", json!({}));
    let all = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        statuses(&report),
        [
            ("failed".into(), all(&["ok", "failed", "ok"])),
            ("skipped".into(), vec![])
        ]
    );
    assert_eq!(report["out"], json!({ "x": 1, "y": 2 }));
    // One after another, later ones do not start.
    fake.calls.borrow_mut().clear();
    made(
        &fake,
        &[group("a", out, &items, json!({ "parallel": false })), later],
    );
    let report = fake.run("s", json!({}));
    assert_eq!(statuses(&report)[0].1, ["ok", "failed", "skipped"]);
    assert_eq!(fake.count("echo"), 1);
}

#[test]
fn continue_lists_the_failure_and_goes_on() {
    let fake = Fake::new();
    fake.tool("bad", |_, _| Err(fail("broken")));
    for parallel in [true, false] {
        let a = group(
            "a",
            json!({ "x": "any", "y": "any" }),
            &[item("bad", json!(0), "x"), item("echo", json!(1), "y")],
            json!({ "on_error": "continue", "parallel": parallel }),
        );
        let needs_x = group(
            "b",
            json!({ "z": "any" }),
            &[item("echo", json!("$args.x"), "z")],
            json!({ "in": { "x": "any" } }),
        );
        let needs_y = group(
            "c",
            json!({ "w": "any" }),
            &[item("echo", json!("$args.y"), "w")],
            json!({ "in": { "y": "any" } }),
        );
        made(&fake, &[a, needs_x, needs_y]);
        let report = fake.run("s", json!({}));
        assert_eq!(status(&report), "partial");
        let seen: Vec<String> = statuses(&report)
            .into_iter()
            .map(|(group, _)| group)
            .collect();
        assert_eq!(seen, ["failed", "skipped", "ok"], "{report}");
        assert_eq!(report["out"], json!({ "y": 1, "w": 1 }));
        assert!(
            report["groups"][1]["reason"]
                .as_str()
                .unwrap()
                .contains("step `a` failed")
        );
    }
}

type Makes = fn() -> CallFailure;

/// Fails this often, then gives its value.
fn shaky(fake: &Fake, name: &str, failures: u32, failure: fn() -> CallFailure) -> Rc<Cell<u32>> {
    let count = Rc::new(Cell::new(0));
    let seen = Rc::clone(&count);
    fake.tool(name, move |_, _| {
        seen.set(seen.get() + 1);
        if seen.get() <= failures {
            Err(failure())
        } else {
            Ok(json!("done"))
        }
    });
    count
}

#[test]
fn retry_repeats_what_failed_and_nothing_else() {
    let fake = Fake::new();
    let count = shaky(&fake, "shaky", 2, || fail("busy"));
    let items = [
        item("echo", json!(1), "x"),
        item("shaky", json!(0), "y"),
        item("echo", json!(2), "z"),
    ];
    for parallel in [true, false] {
        count.set(0);
        fake.calls.borrow_mut().clear();
        fake.batches.borrow_mut().clear();
        made(
            &fake,
            &[group(
                "a",
                json!({ "x": "any", "y": "any", "z": "any" }),
                &items,
                json!({ "on_error": "retry", "retries": 2, "parallel": parallel }),
            )],
        );
        let report = fake.run("s", json!({}));
        assert_eq!(status(&report), "ok", "{report}");
        assert_eq!(report["groups"][0]["attempts"], 3);
        assert_eq!(report["out"], json!({ "x": 1, "y": "done", "z": 2 }));
        assert_eq!((count.get(), fake.count("echo")), (3, 2));
        let waits: Vec<_> = fake
            .batches
            .borrow()
            .iter()
            .map(|batch| batch.retry_delay_ms)
            .collect();
        assert_eq!(waits, [None, Some(200), Some(400)]);
        // In place: what comes after waits for it.
        let order: Vec<String> = fake
            .calls
            .borrow()
            .iter()
            .map(|(name, _)| name.clone())
            .collect();
        if !parallel {
            assert_eq!(order, ["echo", "shaky", "shaky", "shaky", "echo"]);
        }
    }
    // Once too often.
    count.set(0);
    made(
        &fake,
        &[group(
            "a",
            json!({ "y": "any" }),
            &[item("shaky", json!(0), "y")],
            json!({ "on_error": "retry", "retries": 1 }),
        )],
    );
    assert_eq!(status(&fake.run("s", json!({}))), "failed");
    assert_eq!(count.get(), 2);
}

#[test]
fn what_may_have_happened_is_not_done_twice() {
    let fake = Fake::new();
    let retry = json!({ "on_error": "retry", "retries": 3 });
    let cases: [(&str, Makes, u32); 9] = [
        ("failed", || fail("x"), 4),
        (
            "unavailable",
            || CallFailure::Unavailable(ToolError::new("unavailable", "x")),
            4,
        ),
        (
            "timeout",
            || CallFailure::Timeout(ToolError::new("timeout", "x")),
            1,
        ),
        (
            "trapped",
            || CallFailure::Trapped(ToolError::new("trapped", "x")),
            1,
        ),
        (
            "unauthorized",
            || CallFailure::Unauthorized(ToolError::new("unauthorized", "x")),
            1,
        ),
        (
            "invalid",
            || CallFailure::Invalid(vec![ToolError::new("required", "x")]),
            1,
        ),
        (
            "cancelled",
            || CallFailure::Cancelled(ToolError::new("cancelled", "x")),
            1,
        ),
        (
            "limit",
            || CallFailure::Limit(ToolError::new("limit", "x")),
            1,
        ),
        (
            "internal",
            || CallFailure::Internal(ToolError::new("internal", "x")),
            1,
        ),
    ];
    for (name, failure, calls) in cases {
        let count = shaky(&fake, "shaky", 99, failure);
        made(
            &fake,
            &[group(
                "a",
                json!({ "y": "any" }),
                &[item("shaky", json!(0), "y")],
                retry.clone(),
            )],
        );
        let report = fake.run("s", json!({}));
        assert_eq!(count.get(), calls, "{name}");
        let unknown = report.to_string().contains("outcome unknown, not repeated");
        assert_eq!(
            unknown,
            matches!(name, "timeout" | "trapped"),
            "{name}: {report}"
        );
        // A run around it does not try again either what this one did not.
        let count = shaky(&fake, "shaky", 99, failure);
        made(
            &fake,
            &[
                group(
                    "inner",
                    json!({ "y": "any" }),
                    &[item("shaky", json!(0), "y")],
                    json!({ "step": false }),
                ),
                group(
                    "outer",
                    json!({}),
                    &[json!({ "tool": "seq_call", "args": { "target": "inner" } })],
                    retry.clone(),
                ),
            ],
        );
        fake.run("s", json!({}));
        assert_eq!(count.get(), calls, "nested {name}");
    }
    for failure in [
        || CallFailure::Timeout(ToolError::new("timeout", "x")),
        || CallFailure::Trapped(ToolError::new("trapped", "x")),
    ] as [Makes; 2]
    {
        let count = shaky(&fake, "safe", 2, failure);
        fake.change("safe", |tool| tool.idempotent = true);
        made(
            &fake,
            &[group(
                "a",
                json!({ "y": "any" }),
                &[item("safe", json!(0), "y")],
                retry.clone(),
            )],
        );
        assert_eq!(status(&fake.run("s", json!({}))), "ok");
        assert_eq!(count.get(), 3);
    }
}

#[test]
fn the_groups_time_covers_all_attempts() {
    let fake = Fake::new();
    let count = shaky(&fake, "shaky", 99, || fail("busy"));
    made(
        &fake,
        &[group(
            "a",
            json!({ "y": "any" }),
            &[item("shaky", json!(0), "y")],
            json!({ "on_error": "retry", "retries": 10, "timeout": "1s" }),
        )],
    );
    let report = fake.run("s", json!({}));
    // At 0, 200 and 600 ms; the next would be at 1.4 s.
    assert_eq!(count.get(), 3);
    assert!(fake.clock.get() < Duration::from_secs(1));
    assert!(
        report.to_string().contains("no time was left to try again"),
        "{report}"
    );
    // A tool that takes longer is ended by the host, and the rest does not start.
    fake.tool("slow", |_, _| Ok(json!(1)));
    fake.change("slow", |tool| tool.takes = Duration::from_secs(5));
    made(
        &fake,
        &[group(
            "a",
            json!({ "y": "any" }),
            &[item("slow", json!(0), "y"), json!({ "tool": "echo" })],
            json!({ "timeout": 1, "parallel": false }),
        )],
    );
    let report = fake.run("s", json!({}));
    assert_eq!(
        statuses(&report),
        [("timeout".into(), vec!["timeout".into(), "skipped".into()])]
    );
    assert!(
        report["groups"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("1000 ms"),
        "{report}"
    );
}

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

#[test]
fn slots_take_what_fits() {
    let fake = Fake::new();
    for (ty, value, taken) in [
        ("string", json!({ "a": 1 }), Some(json!("{\"a\":1}"))),
        ("string", json!(null), Some(json!(""))),
        ("integer", json!("12"), Some(json!(12))),
        ("integer", json!("x"), None),
        ("number", json!(1.5), Some(json!(1.5))),
        ("boolean", json!("true"), Some(json!(true))),
        ("object", json!([]), None),
        ("array", json!([1]), Some(json!([[1]]))),
        ("any", json!(null), Some(json!(null))),
    ] {
        made(
            &fake,
            &[group(
                "a",
                json!({ "x": ty }),
                &[item("echo", value.clone(), "x")],
                json!({}),
            )],
        );
        let report = fake.run("s", json!({}));
        assert_eq!(report["out"].get("x"), taken.as_ref(), "{ty} {value}");
        if taken.is_none() {
            assert_eq!(report["groups"][0]["items"][0]["error"]["reason"], "type");
        }
    }
}

#[test]
fn what_does_not_resolve_is_an_error_before_any_tool() {
    let fake = Fake::new();
    let items = [
        json!({ "tool": "echo" }),
        item("echo", json!(["$args.o.nope"]), "x"),
    ];
    for (on_error, calls) in [("abort", 0), ("continue", 1)] {
        fake.calls.borrow_mut().clear();
        made(
            &fake,
            &[group(
                "a",
                json!({ "x": "any" }),
                &items,
                json!({ "in": { "o": "object" }, "on_error": on_error }),
            )],
        );
        let report = fake.run("s", json!({ "o": { "k": 1 } }));
        let error = &report["groups"][0]["items"][1]["error"];
        assert_eq!(error["field"], "args.value[0]");
        assert!(
            error["detail"]
                .as_str()
                .unwrap()
                .contains("$args.o.nope does not resolve"),
            "{report}"
        );
        assert_eq!(fake.calls.borrow().len(), calls);
    }
}

#[test]
fn long_texts_are_cut_in_the_report_and_whole_in_the_result() {
    let fake = Fake::new();
    fake.tool("talks", |_, _| {
        Err(CallFailure::Failed(
            ToolError::new("x", "é".repeat(5_000)).into(),
        ))
    });
    let long = "ü".repeat(5_000);
    made(
        &fake,
        &[group(
            "a",
            json!({ "x": "any" }),
            &[item("echo", json!(long), "x"), json!({ "tool": "talks" })],
            json!({ "on_error": "continue" }),
        )],
    );
    let report = fake.run("s", json!({}));
    assert_eq!(report["out"]["x"], long);
    let detail = report["groups"][0]["items"][1]["error"]["detail"]
        .as_str()
        .unwrap();
    assert!(
        detail.chars().count() < 2_100 && detail.ends_with("(the first 2000 of 5000 characters)"),
        "{detail}"
    );
}
