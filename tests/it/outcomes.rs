//! Honest success, values kept as they are, and the text for the model.

use serde_json::{Value, json};

use crate::world::{failure, value, world};

#[tokio::test]
async fn older_failure_shapes_are_failures_and_nothing_else_is() {
    let world = world("").start().await;
    let failures = [
        json!({ "error": "x" }),
        json!({ "error": { "code": 1 } }),
        json!({ "error": ["a"] }),
        json!({ "isError": true }),
        json!({ "isError": true, "content": "x" }),
        json!({ "reason": "timeout", "detail": "x" }),
    ];
    for shape in failures {
        let result = world
            .call("answer", json!({ "json": shape.to_string() }))
            .await;
        let failed = result.outcome.as_ref().expect_err(&shape.to_string());
        assert_eq!(failed.kind.as_str(), "failed");
        assert_eq!(failed.value.as_ref(), Some(&shape), "the value is kept");
    }
    let successes = [
        json!({ "exit_code": 1, "stderr": "no" }),
        json!({ "error": "" }),
        json!({ "error": "  " }),
        json!({ "error": null }),
        json!({ "isError": false }),
        json!("error: x"),
        json!(["error"]),
        json!(0),
        Value::Null,
        json!({ "reason": "because" }),
        json!({ "error": [] }),
        json!({ "error": {} }),
        json!({ "reason": "timeout", "other": 1 }),
        json!({ "errors": ["x"] }),
    ];
    for shape in successes {
        let result = world
            .call("answer", json!({ "json": shape.to_string() }))
            .await;
        assert_eq!(value(&result), shape);
    }
}

#[tokio::test]
async fn the_text_is_for_a_model() {
    let world = world("").start().await;
    for (given, text) in [
        (r#""as it is""#, "as it is"),
        ("7", "7"),
        ("1.5", "1.5"),
        ("true", "true"),
        ("null", ""),
        (r#"{"a":[1,2]}"#, r#"{"a":[1,2]}"#),
        ("[1, 2]", "[1,2]"),
    ] {
        assert_eq!(
            world.call("answer", json!({ "json": given })).await.text,
            text
        );
    }
    let result = world
        .call("fail", json!({ "reason": "busy", "value": "so far" }))
        .await;
    let text: Value = serde_json::from_str(&result.text).unwrap();
    assert_eq!(
        text,
        json!({ "reason": "busy", "detail": "as asked", "value": "so far" })
    );
}

#[tokio::test]
async fn a_result_names_the_code_that_gave_it() {
    let world = world("").start().await;
    let result = serde_json::to_value(world.call("echo", json!({ "text": "a" })).await).unwrap();
    assert_eq!(result["success"], true);
    assert_eq!(result["failure"], Value::Null);
    assert_eq!(result["error"], Value::Null);
    assert_eq!(result["implementation"]["plugin"], "probe");
    assert_eq!(result["implementation"]["generation"], 1);
    assert!(
        result["implementation"]["digest"]
            .as_str()
            .unwrap()
            .starts_with("sha256:")
    );
    assert!(result["elapsed_ms"].as_f64().unwrap() > 0.0);
}

#[tokio::test]
async fn no_json_is_the_plugins_fault() {
    let world = world("").start().await;
    for bad in ["", "nonsense", "{\"a\":", &"[".repeat(1_000)] {
        let result = world.call("answer", json!({ "json": bad })).await;
        assert_eq!(failure(&result), ("failed", "schema".into()), "{bad}");
    }
}

#[tokio::test]
async fn a_panic_tells_the_model_no_secret() {
    let world = world("").start().await;
    let result = world.call("trap", json!({})).await;
    assert_eq!(failure(&result).0, "trapped");
    assert!(!result.text.contains("as asked"), "{}", result.text);
    // A poisoned instance is never used again.
    assert!(world.call("echo", json!({ "text": "a" })).await.success());
}
