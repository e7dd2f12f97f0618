//! What is tried again, and what is not.

use std::{cell::Cell, rc::Rc, time::Duration};

use serde_json::json;
use toolgate_sdk::{ToolError, tools::CallFailure};

use super::{group, item, made, status, statuses};
use crate::testing::{Fake, fail};

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
