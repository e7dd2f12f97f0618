//! Runs: values in the items' order, conditions, failures, attempts, time limits.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use toolgate::tool::FailureKind;

use crate::{
    seq::{
        Counting, End, GRANT, created, echo, gives, group, groups, items, refused, report, run,
        start,
    },
    world::{failure, soak, world},
};

const PATIENCE: Duration = Duration::from_secs(20);

fn sleeps(ms: u64, slot: &str) -> Value {
    json!({ "tool": "sleep_parallel", "args": { "ms": ms }, "as": slot })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_array_slot_keeps_the_items_order_whatever_their_ends() {
    let world = start().await;
    let two = [sleeps(15, "all"), sleeps(0, "all")];
    created(
        &world,
        "two",
        &[group("a", &two, json!({ "out": { "all": "array" } }))],
    )
    .await;
    for _ in 0..soak(10) {
        let report = run(&world, "two", json!({})).await;
        assert_eq!(report["out"]["all"], json!([15, 0]));
    }
    let hundred: Vec<Value> = (0..100).rev().map(|ms| sleeps(ms, "all")).collect();
    created(
        &world,
        "hundred",
        &[group("a", &hundred, json!({ "out": { "all": "array" } }))],
    )
    .await;
    for _ in 0..soak(1) {
        let report = run(&world, "hundred", json!({})).await;
        let wanted: Vec<u64> = (0..100).rev().collect();
        assert_eq!(report["out"]["all"], json!(wanted));
        // Side by side: one after another they would take five seconds.
        assert!(
            report["groups"][0]["elapsed_ms"].as_f64().unwrap() < 3_000.0,
            "{report}"
        );
    }
}

#[tokio::test]
async fn references_keep_types_and_values_are_data() {
    let world = start().await;
    let everything = json!({ "tool": "everything", "args": {
        "required": "$args.o.name and ${args.n}! $HOME $1 $$ $$args.n",
        "count": "$args.n", "flag": "$args.o.list[1].yes", "object": { "old": "$args.evil" },
    }, "as": "x" });
    let input =
        json!({ "in": { "n": "integer", "o": "object", "evil": "any" }, "out": { "x": "object" } });
    created(&world, "s", &[group("a", &[everything], input)]).await;
    let evil = "$args.n ${args.n} $$args.n ; touch x $(touch y)";
    let args = json!({ "n": 3, "o": { "name": "db", "list": [0, { "yes": true }] }, "evil": evil });
    let x = run(&world, "s", args).await["out"]["x"].clone();
    assert_eq!(x["required"], "db and 3! $HOME $1 $$ $args.n");
    assert_eq!((&x["count"], &x["flag"]), (&json!(3), &json!(true)));
    assert_eq!(x["object"]["old"], evil);
    // In a nested call neither.
    let inner = group(
        "inner",
        &[echo("$args.text", "y")],
        json!({ "step": false, "in": { "text": "string" }, "out": { "y": "any" } }),
    );
    let outer = group(
        "outer",
        &[
            json!({ "tool": "seq_call", "args": { "target": "inner", "args": { "text": "<$args.evil>" } }, "as": "z" }),
        ],
        json!({ "in": { "evil": "string", "text": "string?" }, "out": { "z": "any" } }),
    );
    created(&world, "nested", &[inner, outer]).await;
    let out = run(&world, "nested", json!({ "evil": evil })).await["out"].clone();
    assert_eq!(out["z"]["y"], format!("<{evil}>"));
    // What does not resolve is named, and nothing ran.
    let failed = world.call("seq_run", json!({ "name": "s", "args": { "n": 3, "o": { "name": "db", "list": [] }, "evil": 0 } })).await;
    assert!(
        failed
            .text
            .contains("$args.o.list[1].yes does not resolve: $args.o.list is an array of 0"),
        "{}",
        failed.text
    );
    assert_eq!(items(&report(&failed), 0), ["failed"]);
}

#[tokio::test]
async fn conditions_skip_or_fail_and_never_guess() {
    let world = start().await;
    for (when, args, status) in [
        ("$args.n > 3", json!({ "n": 4 }), "ok"),
        ("$args.n > 3", json!({ "n": 3 }), "skipped"),
        ("$args.n > 3", json!({ "n": "3" }), "failed"),
        ("$args.n >= 2.5", json!({ "n": 2.5 }), "ok"),
        (
            "$args.n == \"a && b > 1\"",
            json!({ "n": "a && b > 1" }),
            "ok",
        ),
        ("$args.n contains \"||\"", json!({ "n": "x||y" }), "ok"),
        ("$args.n contains 2", json!({ "n": [1, 2] }), "ok"),
        ("$args.n contains 2", json!({ "n": 2 }), "failed"),
        ("$args.n == \"true\"", json!({ "n": true }), "ok"),
        ("$args.n.flag", json!({ "n": { "flag": [] } }), "skipped"),
        ("$args.n.flag", json!({ "n": {} }), "failed"),
        ("$args.n != null", json!({ "n": null }), "skipped"),
        ("false", json!({ "n": 0 }), "skipped"),
    ] {
        let first = group(
            "first",
            &[echo("ran", "x")],
            json!({ "in": { "n": "any" }, "out": { "x": "any" }, "when": when }),
        );
        let later = group(
            "later",
            &[echo("later", "y")],
            json!({ "out": { "y": "any" } }),
        );
        created(&world, "s", &[first, later]).await;
        let report = run(&world, "s", args).await;
        assert_eq!(report["groups"][0]["status"], status, "{when}: {report}");
        assert_eq!(report["out"].get("x").is_some(), status == "ok");
        let later = if status == "failed" { "skipped" } else { "ok" };
        assert_eq!(report["groups"][1]["status"], later, "{when}: {report}");
        if status == "failed" {
            assert_eq!(items(&report, 0).len(), 0, "a tool ran");
        }
    }
    for when in [
        "$args.n && true",
        "$args.n == 1 == 2",
        "$args.n == $args.n",
        "not $args.n",
        "($args.n)",
        "!$args.n",
    ] {
        let error = refused(
            &world,
            &[group(
                "a",
                &[echo("$args.n", "x")],
                json!({ "in": { "n": "any" }, "out": { "x": "any" }, "when": when }),
            )],
        )
        .await;
        assert_eq!(
            error["hint"], "not supported: use two groups or `seq_when_call`",
            "{when}"
        );
        assert_eq!(error["path"], "groups[0].when");
    }
}

#[tokio::test]
async fn what_fails_ends_the_run_or_is_listed() {
    let world = start().await;
    let bad = json!({ "tool": "fail", "args": { "reason": "broken" } });
    let three = [echo("1", "x"), bad, echo("2", "y")];
    let out = |more: Value| {
        let mut all = json!({ "out": { "x": "any", "y": "any" } });
        all.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        all
    };
    let later = group(
        "later",
        &[echo("$args.y", "z")],
        json!({ "in": { "y": "any" }, "out": { "z": "any" } }),
    );
    for (more, status, first, second) in [
        (json!({}), "failed", ["ok", "failed", "ok"], "skipped"),
        (
            json!({ "parallel": false }),
            "failed",
            ["ok", "failed", "skipped"],
            "skipped",
        ),
        (
            json!({ "on_error": "continue" }),
            "partial",
            ["ok", "failed", "ok"],
            "ok",
        ),
        (
            json!({ "on_error": "continue", "parallel": false }),
            "partial",
            ["ok", "failed", "ok"],
            "ok",
        ),
    ] {
        created(&world, "s", &[group("a", &three, out(more)), later.clone()]).await;
        let result = world.call("seq_run", json!({ "name": "s" })).await;
        let report = report(&result);
        assert_eq!(
            (result.success(), &report["status"]),
            (status == "partial", &json!(status))
        );
        assert_eq!(items(&report, 0), first);
        assert_eq!(groups(&report), ["failed", second]);
        assert_eq!(report["groups"][0]["items"][1]["error"]["reason"], "broken");
        if status == "partial" {
            assert!(
                result.text.starts_with("{\"status\":\"partial\""),
                "{}",
                result.text
            );
            assert_eq!(report["out"], json!({ "x": "1", "y": "2", "z": "2" }));
        } else {
            assert_eq!(failure(&result), ("failed", "failed".into()));
            assert!(
                result.text.contains("group `a`, item 1 (`fail`): as asked"),
                "{}",
                result.text
            );
        }
    }
    // An older plugin's way to say failure is one too; a non-zero exit code is none.
    created(
        &world,
        "s",
        &[group(
            "a",
            &[gives(&json!({ "isError": true }), "x")],
            out(json!({})),
        )],
    )
    .await;
    assert_eq!(run(&world, "s", json!({})).await["status"], "failed");
    created(
        &world,
        "s",
        &[group(
            "a",
            &[gives(
                &json!({ "exit_code": 1, "stderr": "x", "error": "" }),
                "x",
            )],
            out(json!({})),
        )],
    )
    .await;
    assert_eq!(run(&world, "s", json!({})).await["status"], "ok");
}

#[tokio::test]
async fn attempts_are_counted_at_the_tool() {
    let twice = Counting::new("twice", PATIENCE, |n| {
        if n <= 2 {
            End::Fails(FailureKind::Failed)
        } else {
            End::Gives(json!(n))
        }
    });
    let stuck = Counting::new("stuck", Duration::from_millis(200), |_| End::Never);
    let denied = Counting::new("denied", PATIENCE, |_| End::Gives(json!(1)));
    let config = format!(
        "{GRANT}[principals.agent]\nkind = \"agent\"\nallow = [\"*\"]\ndeny = [\"denied\"]\n"
    );
    let world = world(&config)
        .native(twice.clone())
        .native(stuck.clone())
        .native(denied.clone())
        .start()
        .await;
    let retry = json!({ "out": { "x": "any" }, "on_error": "retry", "retries": 3 });
    let item = |tool: &str, args: Value| json!({ "tool": tool, "args": args, "as": "x" });
    for (tool, args) in [
        ("twice", json!({})),
        ("stuck", json!({})),
        ("denied", json!({})),
        ("no_such", json!({})),
        ("echo", json!({ "txt": 1 })),
    ] {
        created(
            &world,
            tool,
            &[group("a", &[item(tool, args)], retry.clone())],
        )
        .await;
    }
    let started = Instant::now();
    let report = run(&world, "twice", json!({})).await;
    assert_eq!(
        (
            &report["status"],
            &report["groups"][0]["attempts"],
            &report["out"]["x"]
        ),
        (&json!("ok"), &json!(3), &json!(3))
    );
    assert_eq!(twice.calls(), 3);
    assert!(
        started.elapsed() >= Duration::from_millis(600),
        "200 and 400 ms between the attempts"
    );

    let report = run(&world, "stuck", json!({})).await;
    assert_eq!(
        (stuck.calls(), stuck.dropped.load(Ordering::SeqCst)),
        (1, 1)
    );
    let error = report["groups"][0]["items"][0]["error"]["detail"]
        .as_str()
        .unwrap();
    assert!(error.contains("outcome unknown, not repeated"), "{error}");

    let denial = crate::seq::run_as(&world, "agent", "denied", json!({})).await;
    assert_eq!(
        (denied.calls(), &denial["groups"][0]["attempts"]),
        (0, &json!(1))
    );
    for name in ["no_such", "echo"] {
        let report = run(&world, name, json!({})).await;
        assert_eq!(
            (&report["status"], &report["groups"][0]["attempts"]),
            (&json!("failed"), &json!(1)),
            "{report}"
        );
    }
}

#[tokio::test]
async fn the_groups_time_ends_what_still_runs() {
    let stuck = Counting::new("stuck", PATIENCE, |_| End::Never);
    let world = world(GRANT).native(stuck.clone()).start().await;
    let two = [
        json!({ "tool": "stuck" }),
        sleeps(5_000, "x"),
        echo("quick", "y"),
    ];
    created(
        &world,
        "s",
        &[group(
            "a",
            &two,
            json!({ "out": { "x": "any", "y": "any" }, "timeout": "1s" }),
        )],
    )
    .await;
    let started = Instant::now();
    let report = run(&world, "s", json!({})).await;
    let took = started.elapsed();
    assert!(
        took >= Duration::from_millis(950) && took < Duration::from_secs(4),
        "{took:?}"
    );
    assert_eq!(
        (groups(&report), items(&report, 0)),
        (vec!["timeout"], vec!["timeout", "timeout", "ok"])
    );
    assert!(
        report["groups"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("1000 ms"),
        "{report}"
    );
    assert_eq!(report["out"], json!({ "y": "quick" }));
    assert_eq!(stuck.dropped.load(Ordering::SeqCst), 1, "it was not ended");
}
