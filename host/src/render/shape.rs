//! Failures that older plugins hide in an ordinary value. A closed list of shapes: what is
//! not in it is a success, whatever its words, since a guess would turn good results into
//! failures.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::tool::ToolError;

/// The keys of a tool-error; a value with any other key is no tool-error.
const KEYS: [&str; 4] = ["field", "reason", "detail", "hint"];
/// The reasons that older plugins had.
const REASONS: [&str; 5] = ["required", "type", "unauthorized", "timeout", "not_found"];
/// What a failure is called whose plugin does not say.
const UNNAMED: &str = "failed";
/// Longest detail taken from a value, in bytes; the value itself is kept whole elsewhere.
const MAX_DETAIL: usize = 2_000;

/// The error that a value is, if it is a failure in the shape of an older plugin: an
/// object whose `error` is non-blank text or a non-empty object or list, or with
/// `isError: true`, or whose keys are all among a tool-error's four with one of the five
/// old reasons.
///
/// A non-zero `exit_code`, a full `stderr`, `{"error": ""}`, and any text, number, list or
/// null are none.
#[must_use]
pub fn failure_shape(value: &Value) -> Option<ToolError> {
    let map = value.as_object()?;
    if let Some(error) = map.get("error").filter(|error| says_something(error)) {
        return Some(told(error));
    }
    if map.get("isError") == Some(&Value::Bool(true)) {
        let said = ["content", "message", "detail"]
            .iter()
            .find_map(|key| map.get(*key));
        return Some(match said.filter(|said| says_something(said)) {
            Some(said) => told(said),
            None => unnamed("the tool says isError and nothing more"),
        });
    }
    let known = map.keys().all(|key| KEYS.contains(&key.as_str()));
    let reason = map.get("reason").and_then(Value::as_str);
    (known && reason.is_some_and(|reason| REASONS.contains(&reason))).then(|| fields(map))
}

fn says_something(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.trim().is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

/// The error in the words of what the plugin gave for one.
fn told(said: &Value) -> ToolError {
    match said {
        Value::String(text) => unnamed(text),
        Value::Object(map) if map.get("reason").is_some_and(Value::is_string) => fields(map),
        Value::Object(map) if map.get("message").is_some_and(says_something) => {
            unnamed(&text(map.get("message").unwrap_or(&Value::Null)))
        }
        // The content blocks of the protocol that `isError` comes from.
        Value::Array(items)
            if items
                .iter()
                .all(|item| item.get("text").is_some_and(Value::is_string)) =>
        {
            let texts: Vec<_> = items
                .iter()
                .filter_map(|item| item.get("text")?.as_str())
                .collect();
            unnamed(&texts.join("\n"))
        }
        other => unnamed(&text(other)),
    }
}

fn fields(map: &Map<String, Value>) -> ToolError {
    let get = |key: &str| {
        map.get(key)
            .filter(|value| !value.is_null())
            .map(|value| clip(&text(value)))
    };
    ToolError {
        field: get("field"),
        reason: get("reason").map_or(Cow::Borrowed(UNNAMED), Cow::Owned),
        detail: get("detail").or_else(|| get("message")),
        hint: get("hint"),
    }
}

fn unnamed(detail: &str) -> ToolError {
    ToolError {
        field: None,
        reason: Cow::Borrowed(UNNAMED),
        detail: Some(clip(detail)),
        hint: None,
    }
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn clip(text: &str) -> String {
    match text.get(..text.floor_char_boundary(MAX_DETAIL)) {
        Some(start) if start.len() < text.len() => format!("{start}…"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_old_shapes_are_failures() {
        for (value, reason, detail) in [
            (
                json!({"error": "no such file"}),
                "failed",
                Some("no such file"),
            ),
            (
                json!({"error": {"code": 5}, "ok": true}),
                "failed",
                Some(r#"{"code":5}"#),
            ),
            (
                json!({"error": {"message": "boom"}}),
                "failed",
                Some("boom"),
            ),
            (json!({"error": ["a"]}), "failed", Some(r#"["a"]"#)),
            (
                json!({"error": {"reason": "type", "detail": "d", "field": "f"}}),
                "type",
                Some("d"),
            ),
            (json!({"error": "x", "isError": false}), "failed", Some("x")),
            (
                json!({"isError": true, "content": [{"type": "text", "text": "boom"}]}),
                "failed",
                Some("boom"),
            ),
            (
                json!({"isError": true}),
                "failed",
                Some("the tool says isError and nothing more"),
            ),
            (json!({"reason": "not_found"}), "not_found", None),
            (
                json!({"field": "path", "reason": "required", "hint": "add it", "detail": "x"}),
                "required",
                Some("x"),
            ),
        ] {
            let error = failure_shape(&value).unwrap_or_else(|| panic!("{value}"));
            assert_eq!(
                (&*error.reason, error.detail.as_deref()),
                (reason, detail),
                "{value}"
            );
        }
    }

    #[test]
    fn nothing_else_is() {
        for value in [
            json!(null),
            json!("error: boom"),
            json!(1),
            json!([{"error": "x"}]),
            json!({}),
            json!({"error": ""}),
            json!({"error": " \n"}),
            json!({"error": null}),
            json!({"error": true}),
            json!({"error": 5}),
            json!({"error": {}}),
            json!({"error": []}),
            json!({"isError": false}),
            json!({"isError": "true"}),
            json!({"exit_code": 1, "stderr": "error: boom"}),
            json!({"reason": "weather", "detail": "rain"}),
            json!({"reason": "timeout", "stdout": ""}),
            json!({"reason": ["timeout"]}),
            json!({"detail": "x", "hint": "y"}),
            json!({"success": false}),
        ] {
            assert_eq!(failure_shape(&value), None, "{value}");
        }
    }

    proptest! {
        #[test]
        fn long_text_is_cut_on_a_character(start in "[a-z]{0,5}", count in 0_usize..1_500) {
            let text = format!("{start}x{}", "é—😀".repeat(count));
            let error = failure_shape(&json!({"error": text})).unwrap();
            prop_assert!(error.detail.is_some_and(|detail| detail.len() <= MAX_DETAIL + 3));
        }
    }
}
