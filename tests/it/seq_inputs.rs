//! How values reach the steps, as far as it is known before a run; and a document with
//! many errors at once.

use serde_json::{Value, json};

use crate::{
    seq::{create, created, echo, errors, gives, group, run, start},
    seq_static::{says, warnings},
};

#[tokio::test]
async fn what_no_step_supplies_becomes_an_input() {
    let world = start().await;
    let first = |out: &str, more: Value| {
        let mut all =
            json!({ "in": { "host": "string", "deep": "boolean?" }, "out": { "x": out } });
        all.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        group(
            "first",
            &[
                gives(&json!(1), "x"),
                json!({ "tool": "echo", "args": { "text": "$args.host $args.deep" } }),
            ],
            all,
        )
    };
    let second = |ty: &str| {
        group(
            "second",
            &[echo("$args.x $args.port", "y")],
            json!({ "in": { "x": ty, "port": "integer" }, "out": { "y": "any" } }),
        )
    };
    // 14
    let made = created(
        &world,
        "s",
        &[first("integer", json!({})), second("integer")],
    )
    .await;
    assert_eq!(
        made["inputs"],
        json!({ "host": "string", "deep": "boolean?", "port": "integer" })
    );
    assert_eq!(
        made["groups"][0],
        json!({ "name": "first", "description": "", "in": { "host": "string", "deep": "boolean?" }, "out": { "x": "integer" }, "tools": 2 })
    );
    says(
        &world,
        &[first("array", json!({})), second("string")],
        "groups[1].in.x",
        "step `first` before it gives array",
        "{\"in\":{\"x\":\"array\"}}",
    )
    .await;
    // 16
    for more in [
        json!({ "when": "$args.deep" }),
        json!({ "on_error": "continue" }),
        json!({ "missing": "skip" }),
    ] {
        let warned = warnings(&world, &[first("integer", more), second("integer")]).await;
        assert_eq!(warned[0].0, "groups[1].in.x", "{warned:?}");
        assert!(warned[0].1.contains("only step `first` supplies `x`"));
    }
    // 17
    let one = group(
        "one",
        &[echo("$args.host", "x")],
        json!({ "in": { "host": "string" }, "out": { "x": "any" } }),
    );
    let all = group(
        "all",
        &[json!({ "tool": "seq_call", "args": { "target": "one", "args": { "host": "h" } } })],
        json!({}),
    );
    let made = created(&world, "s", &[one, all]).await;
    assert_eq!(made["warnings"][0]["hint"], "did you mean \"step\":false?");
    assert_eq!(made["warnings"][0]["path"], "groups[0].step");
}

#[tokio::test]
async fn all_errors_come_at_once_and_the_old_version_stays() {
    let world = start().await;
    let good = [group(
        "a",
        &[echo("old", "x")],
        json!({ "out": { "x": "any" } }),
    )];
    created(&world, "s", &good).await;
    let bad = [
        json!({ "name": "a", "paralell": true, "in": { "n": "numbr" }, "tools": "{\"tool\":\"echo\"}" }),
        group(
            "a",
            &[
                echo("$args.no", "y"),
                json!({ "tool": "sleep_alone", "args": { "ms": 1 } }),
            ],
            json!({ "on_error": "never" }),
        ),
    ];
    let result = create(&world, "s", &bad).await;
    let paths: Vec<String> = errors(&result)
        .iter()
        .map(|error| error["path"].as_str().unwrap().to_owned())
        .collect();
    for path in [
        "groups[0].paralell",
        "groups[0].in.n",
        "groups[0].tools",
        "groups[1].on_error",
        "groups[1].tools[0].as",
        "groups[1].tools[0].args.text",
        "groups[1].tools[1].tool",
        "groups[1].name",
    ] {
        assert!(
            paths.iter().any(|found| found == path),
            "{path} in {paths:?}"
        );
    }
    assert_eq!(paths.len(), 8, "{paths:?}");
    assert!(
        result.text.contains("the first of 8 errors"),
        "{}",
        result.text
    );
    assert_eq!(run(&world, "s", json!({})).await["out"]["x"], "old");
}
