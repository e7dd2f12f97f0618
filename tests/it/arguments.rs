//! What models send as arguments, through the whole kernel: nothing wrong reaches a guest.

use serde_json::{Value, json};
use toolgate::{
    dispatch::EventKind,
    tool::{Batch, RawArguments, ToolCall},
};

use crate::world::{Watched, failure, value, world};

#[tokio::test]
async fn the_one_reading_that_fits_is_taken() {
    let world = world("").start().await;
    let cases: &[(&str, Value)] = &[
        (r#"{"required":"x","flag":"true"}"#, json!({ "flag": true })),
        (r#"{"required":"x","flag":0}"#, json!({ "flag": false })),
        (r#"{"required":"x","count":"20"}"#, json!({ "count": 20 })),
        (r#"{"required":"x","count":20.0}"#, json!({ "count": 20 })),
        (r#"{"required":"x","ratio":"1.5"}"#, json!({ "ratio": 1.5 })),
        (r#"{"required":"x","wait":"20s"}"#, json!({ "wait": 20.0 })),
        (r#"{"required":"x","wait":"500ms"}"#, json!({ "wait": 0.5 })),
        (r#"{"required":"x","count":null}"#, json!({ "count": null })),
        (r#"{"required":7}"#, json!({ "required": "7" })),
        (
            r#"{"required":"","object":"{\"old\":\"a\"}"}"#,
            json!({ "required": "", "object": { "old": "a" } }),
        ),
        (
            r#"{"required":"x","list":[{"old":3}]}"#,
            json!({ "list": [{ "old": "3" }] }),
        ),
    ];
    for (sent, wanted) in cases {
        let result = world.call("everything", *sent).await;
        let got = value(&result);
        for (key, wanted) in wanted.as_object().unwrap() {
            assert_eq!(&got[key], wanted, "{sent}");
        }
    }
}

#[tokio::test]
async fn what_does_not_fit_says_where_and_how() {
    let world = world("").start().await;
    let mut watch = world.watch();
    let cases = [
        ("{}", "required", "required", "required"),
        (r#"{"required":null}"#, "required", "required", "required"),
        (
            r#"{"required":"x","count":"12abc"}"#,
            "count",
            "type",
            "integer",
        ),
        (
            r#"{"required":"x","count":"20s"}"#,
            "count",
            "type",
            "integer",
        ),
        (
            r#"{"required":"x","count":"3.5"}"#,
            "count",
            "type",
            "integer",
        ),
        (
            r#"{"required":"x","smal":3}"#,
            "smal",
            "additional",
            "small",
        ),
        (
            r#"{"required":"x","mode":"medium"}"#,
            "mode",
            "enum",
            "fast",
        ),
        (
            r#"{"required":"x","word":"A1"}"#,
            "word",
            "pattern",
            "^[a-z]+$",
        ),
        (r#"{"required":"x","small":11}"#, "small", "range", "10"),
        (
            r#"{"required":"x","list":[{"old":"a"},{}]}"#,
            "list[1].old",
            "required",
            "old",
        ),
        (
            r#"{"required":"x","count":1e18}"#,
            "count",
            "type",
            "digits",
        ),
        (
            r#"{"required":"x","count":9007199254740993.0}"#,
            "count",
            "type",
            "digits",
        ),
        (r#"{"required":"x","small":1e300}"#, "small", "range", "10"),
        (r#"{"required":{"a":1}}"#, "required", "type", "string"),
    ];
    for (sent, field, reason, told) in cases {
        let result = world.call("everything", sent).await;
        let error = &result.outcome.as_ref().expect_err(sent).error;
        assert_eq!(failure(&result).0, "invalid", "{sent}");
        assert_eq!(error.field.as_deref(), Some(field), "{sent}: {error:?}");
        assert_eq!(error.reason, reason, "{sent}: {error:?}");
        assert!(
            error.detail.is_some() && error.hint.is_some(),
            "{sent}: {error:?}"
        );
        assert!(error.to_string().contains(told), "{sent}: {error}");
        let text: Value = serde_json::from_str(&result.text).unwrap();
        assert_eq!(text["field"], *field);
    }
    let seen = Watched::take(&mut watch);
    assert_eq!(seen.of(EventKind::ToolCall).len(), cases.len());
    assert!(
        seen.of(EventKind::CallStarted).is_empty(),
        "a bad call reached the guest"
    );
}

#[tokio::test]
async fn all_failing_fields_are_reported_at_once() {
    let world = world("").start().await;
    let result = world
        .call("everything", r#"{"count":"x","mode":"y"}"#)
        .await;
    let failure = result.outcome.as_ref().unwrap_err();
    let fields: std::collections::BTreeSet<_> = std::iter::once(&failure.error)
        .chain(&failure.also)
        .filter_map(|error| error.field.clone())
        .collect();
    assert_eq!(
        fields,
        ["count", "mode", "required"].map(String::from).into()
    );
}

#[tokio::test]
async fn unusable_text_runs_nothing() {
    let world = world("").start().await;
    let unusable = [
        r#"{"text":"cut"#,
        "[]",
        "5",
        "\"x\"",
        "nonsense",
        r#"{"text":"a","text":"b"}"#,
        r#"{"text":"a","n":18446744073709551616}"#,
        r#"{"text":"\ud83d"}"#,
        r#"{"__arg_error":"the stream broke"}"#,
    ];
    for sent in unusable {
        let result = world.call("echo", sent).await;
        assert_eq!(failure(&result), ("invalid", "arguments".into()), "{sent}");
    }
    let result = world
        .call("echo", r#"{"__arg_error":"the stream broke"}"#)
        .await;
    assert_eq!(
        result.outcome.unwrap_err().error.detail.as_deref(),
        Some("the stream broke")
    );
}

#[tokio::test]
async fn nothing_means_an_empty_object() {
    let world = world("").start().await;
    for sent in ["", "  ", "null", "{}"] {
        assert!(world.call("context", sent).await.success(), "{sent:?}");
        assert_eq!(
            failure(&world.call("everything", sent).await).1,
            "required",
            "{sent:?}"
        );
    }
    let calls = vec![ToolCall::new("context", RawArguments::Absent)];
    let results = world
        .host
        .run(world.scope("local"), Batch { calls, cut: false })
        .await;
    assert!(results[0].success());
}

#[tokio::test]
async fn decorated_names_get_near_ones_and_siblings_run() {
    let world = world("").start().await;
    let huge = "x".repeat(5_000);
    let names = [
        "default_api:echo",
        "functions.echo",
        "Echo",
        " echo",
        "",
        huge.as_str(),
    ];
    for name in names {
        let results = world
            .batch(&[
                (name, json!({ "text": "a" })),
                ("echo", json!({ "text": "b" })),
            ])
            .await;
        assert_eq!(
            failure(&results[0]),
            ("not-found", "not_found".into()),
            "{name}"
        );
        assert!(results[1].success());
        if name.to_lowercase().contains("echo") {
            assert!(results[0].text.contains("`echo`"), "{}", results[0].text);
        }
        assert!(results[0].text.len() < 500);
    }
}
