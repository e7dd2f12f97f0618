#![expect(
    clippy::needless_pass_by_value,
    reason = "`json!` is written where it is used"
)]

mod missing;
mod retries;

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
