//! Groups and sequences that call others: how deep, never in a circle, and never two tools
//! at once that must run alone.

use std::fs;

use serde_json::{Value, json};

use crate::{
    seq::{GRANT, created, echo, group, items, report, run, start},
    world::{Watched, World, failure, value, world},
};

fn calls(target: &str, args: &Value, slot: &str) -> Value {
    json!({ "tool": "seq_call", "args": { "target": target, "args": args }, "as": slot })
}

/// s1 calls s2 calls … calls the last, which answers.
async fn chain(world: &World, length: usize, more: &Value) {
    for n in (1..=length).rev() {
        let item = if n == length {
            echo("bottom", "x")
        } else {
            calls(&format!("#s{}", n + 1), &json!({}), "x")
        };
        let mut keys = json!({ "out": { "x": "any" } });
        keys.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        created(world, &format!("s{n}"), &[group("a", &[item], keys)]).await;
    }
}

#[tokio::test]
async fn a_group_a_sequence_and_wrong_arguments() {
    let world = start().await;
    let one = group(
        "one",
        &[echo("$args.host", "x")],
        json!({ "step": false, "in": { "host": "string", "n": "integer?" }, "out": { "x": "string" } }),
    );
    let two = group(
        "two",
        &[calls("one", &json!({ "host": "$args.host" }), "y")],
        json!({ "in": { "host": "string" }, "out": { "y": "object" } }),
    );
    created(&world, "s", &[one, two]).await;
    assert_eq!(
        run(&world, "s", json!({ "host": "h" })).await["out"]["y"],
        json!({ "x": "h" })
    );
    let call = async |args: Value| world.call("seq_call", args).await;
    assert_eq!(
        value(&call(json!({ "target": "one", "in_sequence": "s", "args": { "host": 7 } })).await),
        json!({ "x": "7" })
    );
    assert_eq!(
        value(&call(json!({ "target": "#s", "args": { "host": "h" } })).await),
        json!({ "y": { "x": "h" } })
    );
    for (args, reason, words) in [
        (
            json!({ "target": "one", "in_sequence": "s" }),
            "required",
            "input `host` (string) of group `one` is missing",
        ),
        (
            json!({ "target": "one", "in_sequence": "s", "args": { "host": "h", "hots": 1 } }),
            "additional",
            "write `host`",
        ),
        (
            json!({ "target": "one", "in_sequence": "s", "args": { "host": "h", "n": "x" } }),
            "type",
            "no integer",
        ),
        (json!({ "target": "one" }), "required", "in_sequence"),
        (
            json!({ "target": "on", "in_sequence": "s" }),
            "not_found",
            "did you mean `one`?",
        ),
        (json!({ "target": "#S" }), "not_found", "did you mean `s`?"),
        (json!({ "target": "" }), "target", "not empty"),
        (json!({ "target": "#" }), "target", "not empty"),
        (json!({ "target": "#../s" }), "target", "no `/`"),
    ] {
        let result = call(args.clone()).await;
        assert_eq!(failure(&result), ("failed", reason.into()), "{args}");
        assert!(result.text.contains(words), "{args}: {}", result.text);
    }
    // The same from inside: a failure of that item.
    let bad = group(
        "bad",
        &[calls("one", &json!({ "hots": 1 }), "y")],
        json!({ "out": { "y": "any" } }),
    );
    let one = group(
        "one",
        &[echo("$args.host", "x")],
        json!({ "step": false, "in": { "host": "string" }, "out": { "x": "string" } }),
    );
    created(&world, "t", &[one, bad]).await;
    let report = run(&world, "t", json!({})).await;
    assert_eq!(
        report["groups"][0]["items"][0]["error"]["field"], "args.hots",
        "{report}"
    );
}

#[tokio::test]
async fn a_conditional_call_is_made_in_the_callers_terms_or_not_at_all() {
    let world = start().await;
    let one = group(
        "one",
        &[echo("$args.n", "x")],
        json!({ "step": false, "in": { "n": "integer" }, "out": { "x": "string" } }),
    );
    let item = json!({ "tool": "seq_when_call", "args": { "target": "one", "when": "$args.size > 3", "args": { "n": "$args.size" } }, "as": "y" });
    let two = group(
        "two",
        &[item, echo("always", "z")],
        json!({ "in": { "size": "any" }, "out": { "y": "any", "z": "any" } }),
    );
    created(&world, "s", &[one, two]).await;
    let mut watch = world.watch();
    let report = run(&world, "s", json!({ "size": 3 })).await;
    assert_eq!(
        (items(&report, 0), &report["out"]),
        (vec!["skipped", "ok"], &json!({ "z": "always" }))
    );
    let seen = Watched::take(&mut watch);
    assert!(
        seen.0
            .iter()
            .all(|event| event.tool.as_deref() != Some("seq_when_call")),
        "it was called"
    );
    assert_eq!(
        run(&world, "s", json!({ "size": 4 })).await["out"]["y"],
        json!({ "x": "4" })
    );
    let report = run(&world, "s", json!({ "size": "big" })).await;
    assert_eq!(
        (&report["status"], items(&report, 0)),
        (&json!("failed"), vec!["failed", "skipped"])
    );
    assert_eq!(
        report["groups"][0]["items"][0]["error"]["reason"],
        "condition"
    );
    // Called directly, the condition reads `args`.
    let direct = async |when: Value, n: u32| {
        world
            .call(
                "seq_when_call",
                json!({ "target": "one", "in_sequence": "s", "when": when, "args": { "n": n } }),
            )
            .await
    };
    assert_eq!(
        value(&direct(json!("$args.n > 3"), 4).await),
        json!({ "x": "4" })
    );
    assert_eq!(
        value(&direct(json!("$args.n > 3"), 3).await),
        json!({ "skipped": true })
    );
    assert_eq!(
        value(&direct(json!(false), 4).await),
        json!({ "skipped": true })
    );
    for when in ["$args.m > 3", "$args.n > ", "$args.n && true"] {
        assert_eq!(
            failure(&direct(json!(when), 4).await),
            ("failed", "condition".into()),
            "{when}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_levels_run_and_the_fifth_is_an_error_that_can_be_survived() {
    let world = start().await;
    chain(&world, 4, &json!({})).await;
    let bottom = json!({ "x": { "x": { "x": { "x": "bottom" } } } });
    assert_eq!(run(&world, "s1", json!({})).await["out"], bottom);
    // Runs side by side do not count each other's levels.
    let results = world
        .batch(&vec![("seq_run", json!({ "name": "s1" })); 6])
        .await;
    assert!(results.iter().all(|result| report(result)["out"] == bottom));
    chain(&world, 5, &json!({})).await;
    let report = run(&world, "s1", json!({})).await;
    assert_eq!(report["status"], "failed");
    assert!(
        report
            .to_string()
            .contains("more than 4 deep: #s1 → #s2 → #s3 → #s4 → #s5"),
        "{report}"
    );
    assert_eq!(run(&world, "s2", json!({})).await["status"], "ok");
    let goes_on = group(
        "a",
        &[calls("#s2", &json!({}), "x"), echo("here", "y")],
        json!({ "out": { "x": "any", "y": "any" }, "on_error": "continue" }),
    );
    created(&world, "s1", &[goes_on]).await;
    let report = run(&world, "s1", json!({})).await;
    assert_eq!(
        (&report["status"], &report["out"]),
        (&json!("partial"), &json!({ "y": "here" }))
    );
    assert!(report.to_string().contains("more than 4 deep"), "{report}");
    // Calls between groups of one sequence do not count.
    let mut all = vec![group(
        "g0",
        &[echo("bottom", "x")],
        json!({ "step": false, "out": { "x": "any" } }),
    )];
    for n in 1..10 {
        all.push(group(
            &format!("g{n}"),
            &[calls(&format!("g{}", n - 1), &json!({}), "x")],
            json!({ "step": n == 9, "out": { "x": "any" } }),
        ));
    }
    created(&world, "groups", &all).await;
    assert_eq!(run(&world, "groups", json!({})).await["status"], "ok");
}

#[tokio::test]
async fn circles_in_files_that_were_changed_by_hand_end_with_their_way() {
    let world = start().await;
    created(
        &world,
        "A",
        &[group(
            "a",
            &[calls("#B", &json!({}), "x")],
            json!({ "out": { "x": "any" } }),
        )],
    )
    .await;
    created(
        &world,
        "B",
        &[group(
            "a",
            &[calls("#C", &json!({}), "x")],
            json!({ "out": { "x": "any" } }),
        )],
    )
    .await;
    let one = group(
        "one",
        &[calls("two", &json!({}), "x")],
        json!({ "out": { "x": "any" } }),
    );
    let two = group(
        "two",
        &[calls("one2", &json!({}), "x")],
        json!({ "step": false, "out": { "x": "any" } }),
    );
    let three = group(
        "one2",
        &[echo("t", "x")],
        json!({ "step": false, "out": { "x": "any" } }),
    );
    created(&world, "G", &[one, two, three]).await;
    let folder = world.root().join("data/plugins/seq/sequences");
    let edit = |name: &str, from: &str, to: &str| {
        // Capitals are encoded.
        let file = folder.join(format!("%{:X}.json", name.as_bytes()[0]));
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&file, text.replace(from, to)).unwrap();
    };
    edit("B", "\"#C\"", "\"#A\"");
    edit("G", "\"target\":\"one2\"", "\"target\":\"one\"");
    for other in [&world, &world.beside(GRANT).start().await] {
        let report = run(other, "A", json!({})).await;
        assert!(
            report.to_string().contains("in a circle: #A → #B → #A"),
            "{report}"
        );
        let report = run(other, "G", json!({})).await;
        assert!(
            report.to_string().contains("in a circle: one → two → one"),
            "{report}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_branches_never_run_two_tools_at_once_that_must_run_alone() {
    let world = start().await;
    let alone = json!({ "tool": "sleep_alone", "args": { "ms": 60 }, "unsafe_serial": true });
    let branch = group(
        "branch",
        &[alone],
        json!({ "step": false, "parallel": false }),
    );
    let other = json!({ "tool": "sleep_parallel", "args": { "ms": 60 } });
    let all: Vec<Value> = (0..4)
        .map(|_| json!({ "tool": "seq_call", "args": { "target": "branch" } }))
        .chain([other])
        .collect();
    created(&world, "s", &[branch, group("all", &all, json!({}))]).await;
    let mut watch = world.watch();
    let report = run(&world, "s", json!({})).await;
    assert_eq!(report["status"], "ok", "{report}");
    let watched = Watched::take(&mut watch);
    assert_eq!(watched.peak("sleep_alone"), 1);
    assert!(
        watched.peak("seq_call") > 1,
        "the branches ran one after another"
    );
}

#[tokio::test]
async fn a_sequence_that_is_replaced_while_it_runs_says_so() {
    let config = format!("{GRANT}[plugins.relay.grants]\ntools = [\"*\"]\n");
    let world = world(&config).start().await;
    let branch = group(
        "branch",
        &[echo("old", "x")],
        json!({ "step": false, "out": { "x": "any" } }),
    );
    // Another plugin's tool is no item that the rules know: it replaces the running one.
    let arguments = json!({ "name": "s", "groups": [group("a", &[echo("new", "x")], json!({ "out": { "x": "any" } }))] });
    let replace = json!({ "tool": "relay_alone", "args": { "calls": [{ "name": "seq_create", "arguments": arguments.to_string() }] }, "unsafe_serial": true });
    let first = group("first", &[replace], json!({ "parallel": false }));
    let second = group(
        "second",
        &[calls("branch", &json!({}), "y")],
        json!({ "out": { "y": "any" } }),
    );
    created(&world, "s", &[branch, first, second]).await;
    let report = run(&world, "s", json!({})).await;
    assert!(
        report
            .to_string()
            .contains("sequence `s` has no group `branch`")
            || report.to_string().contains("was replaced while it ran"),
        "{report}"
    );
    assert_eq!(report["status"], "failed");
    assert_eq!(run(&world, "s", json!({})).await["out"]["x"], "new");
}
