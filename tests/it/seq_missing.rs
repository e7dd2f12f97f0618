//! Tools come and go: what is missing at the run, what was replaced, what must run alone
//! by now. What happens between two groups, and while one runs, is tested in the plugin.

use serde_json::{Value, json};
use toolgate::tool::FailureKind;

use crate::{
    seq::{Counting, End, GRANT, created, gives, group, groups, items, run},
    world::world,
};

fn sequence(more: &Value) -> Value {
    let all = [
        gives(&json!(1), "all"),
        json!({ "tool": "echo", "args": { "text": "here" }, "as": "x" }),
        json!({ "tool": "echo", "args": { "text": "too" }, "as": "all" }),
    ];
    let mut keys = json!({ "out": { "x": "string", "all": "array" } });
    keys.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    // `answer` and `echo` are of one plugin; `hello` stays.
    group(
        "a",
        &[
            &all[..],
            &[json!({ "tool": "hello", "args": { "name": "Ada" }, "as": "all" })],
        ]
        .concat(),
        keys,
    )
}

#[tokio::test]
async fn each_group_says_what_to_do_without_a_tool() {
    let world = world(GRANT).start().await;
    let later = group(
        "later",
        &[json!({ "tool": "hello", "args": { "name": "B" }, "as": "y" })],
        json!({ "out": { "y": "any" } }),
    );
    let needs = group(
        "needs",
        &[json!({ "tool": "hello", "args": { "name": "$args.x" } })],
        json!({ "in": { "x": "string" } }),
    );
    for (name, more) in [
        ("fail", json!({})),
        ("fails-on", json!({ "on_error": "continue" })),
        ("retry", json!({ "on_error": "retry", "retries": 3 })),
        ("skip", json!({ "missing": "skip" })),
        (
            "skip-serial",
            json!({ "missing": "skip", "parallel": false }),
        ),
        (
            "degrade",
            json!({ "missing": "degrade", "fallback": { "x": 7, "all": { "none": true } } }),
        ),
    ] {
        created(
            &world,
            name,
            &[sequence(&more), later.clone(), needs.clone()],
        )
        .await;
        assert_eq!(run(&world, name, json!({})).await["status"], "ok", "{name}");
    }
    let without = world.beside(GRANT).without("probe").start().await;
    let hello = json!("Hello, Ada!");
    for (name, status, first, seen, all) in [
        (
            "fail",
            "failed",
            ["failed", "failed", "failed", "ok"],
            ["failed", "skipped", "skipped"],
            json!([hello]),
        ),
        (
            "fails-on",
            "partial",
            ["failed", "failed", "failed", "ok"],
            ["failed", "ok", "skipped"],
            json!([hello]),
        ),
        (
            "retry",
            "failed",
            ["failed", "failed", "failed", "ok"],
            ["failed", "skipped", "skipped"],
            json!([hello]),
        ),
        (
            "skip",
            "ok",
            ["skipped", "skipped", "skipped", "ok"],
            ["ok", "ok", "skipped"],
            json!([hello]),
        ),
        (
            "skip-serial",
            "ok",
            ["skipped", "skipped", "skipped", "ok"],
            ["ok", "ok", "skipped"],
            json!([hello]),
        ),
        (
            "degrade",
            "ok",
            ["degraded", "degraded", "degraded", "ok"],
            ["ok", "ok", "ok"],
            json!([{ "none": true }, { "none": true }, hello]),
        ),
    ] {
        let report = run(&without, name, json!({})).await;
        assert_eq!(report["status"], status, "{name}: {report}");
        assert_eq!(items(&report, 0), first, "{name}");
        assert_eq!(groups(&report), seen, "{name}");
        assert_eq!(report["out"]["all"], all, "{name}");
        assert_eq!(
            report["out"].get("x"),
            (name == "degrade").then(|| json!("7")).as_ref(),
            "{name}"
        );
        assert_eq!(report["groups"][0]["attempts"], 1, "{name}");
        let error = &report["groups"][0]["items"][0]["error"];
        assert!(
            error["detail"]
                .as_str()
                .unwrap()
                .contains("there is no tool `answer` now"),
            "{error}"
        );
    }
    // It is back.
    let back = without.beside(GRANT).start().await;
    assert_eq!(
        run(&back, "degrade", json!({})).await["out"]["all"],
        json!([1, "too", "Hello, Ada!"])
    );
}

#[tokio::test]
async fn words_make_no_tool_missing() {
    let live = Counting::new("live", std::time::Duration::from_secs(9), |_| {
        End::Fails(FailureKind::Failed)
    });
    let world = world(GRANT).native(live.clone()).start().await;
    for (name, more) in [
        ("skip", json!({ "missing": "skip" })),
        (
            "degrade",
            json!({ "missing": "degrade", "fallback": { "x": 1 } }),
        ),
    ] {
        let mut keys = json!({ "out": { "x": "any" } });
        keys.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let item = |tool: &str, args: Value| json!({ "tool": tool, "args": args, "as": "x" });
        for (tool, args) in [
            ("live", json!({})),
            ("fail", json!({ "reason": "not_found" })),
        ] {
            created(
                &world,
                name,
                &[group("a", &[item(tool, args)], keys.clone())],
            )
            .await;
            let report = run(&world, name, json!({})).await;
            assert_eq!(
                (groups(&report), items(&report, 0)),
                (vec!["failed"], vec!["failed"]),
                "{report}"
            );
        }
    }
    assert_eq!(live.calls(), 2);
}

#[tokio::test]
async fn another_implementation_is_used_and_reported() {
    let world = world(GRANT).start().await;
    let echo = json!({ "tool": "echo", "args": { "text": "t" }, "as": "all" });
    created(
        &world,
        "s",
        &[group(
            "a",
            &[echo.clone(), echo],
            json!({ "out": { "all": "array" } }),
        )],
    )
    .await;
    let before = run(&world, "s", json!({})).await;
    assert_eq!(before["warnings"], json!([]));
    let rebuilt = world.beside(GRANT).rebuilt("probe").start().await;
    let report = run(&rebuilt, "s", json!({})).await;
    assert_eq!(
        (&report["status"], &report["out"]),
        (&json!("ok"), &json!({ "all": ["t", "t"] }))
    );
    assert_eq!(
        report["warnings"],
        json!(["tool `echo` is another implementation than when this sequence was made"])
    );
    assert_eq!(report["creator"], "local");
    assert!(report["digest"].as_str().unwrap().starts_with("sha256:"));
}

#[tokio::test]
async fn a_tool_that_must_run_alone_by_now_makes_its_group_serial() {
    let world = world(GRANT).start().await;
    let sleep = |ms: u64| json!({ "tool": "sleep_parallel", "args": { "ms": ms }, "as": "all" });
    created(
        &world,
        "s",
        &[group(
            "a",
            &[sleep(20), sleep(0)],
            json!({ "out": { "all": "array" } }),
        )],
    )
    .await;
    let config = format!("{GRANT}[plugins.probe.tools.sleep_parallel]\nparallel_safe = false\n");
    let strict = world.beside(&config).start().await;
    let mut watch = strict.watch();
    let report = run(&strict, "s", json!({})).await;
    assert_eq!(report["status"], "ok");
    assert_eq!(report["out"]["all"], json!([20, 0]));
    assert_eq!(
        report["warnings"],
        json!([
            "tool `sleep_parallel` is no longer parallel-safe: group `a` runs one after another"
        ])
    );
    assert_eq!(report["groups"][0]["parallel"], false);
    assert_eq!(
        crate::world::Watched::take(&mut watch).peak("sleep_parallel"),
        1
    );
}
