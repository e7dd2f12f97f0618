//! The text that answers a model's call.

use serde::Serialize;
use serde_json::Value;

use crate::tool::{Failure, Output, ToolError};

/// A text, number or boolean as it is, an object or a list as compact JSON, null as
/// nothing. A failure is its leading error as compact JSON, with the further errors under
/// `also` and the value under `value`, where there are any.
#[must_use]
pub fn for_model(outcome: &Result<Output, Failure>) -> String {
    match outcome {
        Ok(output) => match &output.value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        },
        Err(failure) => {
            let text = FailureText {
                error: &failure.error,
                also: &failure.also,
                value: failure.value.as_ref(),
            };
            serde_json::to_string(&text).unwrap_or_else(|_| failure.error.to_string())
        }
    }
}

#[derive(Serialize)]
struct FailureText<'f> {
    #[serde(flatten)]
    error: &'f ToolError,
    #[serde(skip_serializing_if = "<[ToolError]>::is_empty")]
    also: &'f [ToolError],
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'f Value>,
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::json;

    use super::*;
    use crate::tool::{Block, FailureKind, Reason};

    fn failure(error: ToolError) -> Failure {
        Failure::new(FailureKind::Failed, error)
    }

    #[test]
    fn a_failure_is_its_error_and_what_there_is_besides() {
        let error = ToolError::new(Reason::Timeout, "command ran past 1 s and was killed")
            .hint("raise timeout");
        let alone = failure(error.clone());
        assert_eq!(
            for_model(&Err(alone)),
            r#"{"reason":"timeout","detail":"command ran past 1 s and was killed","hint":"raise timeout"}"#
        );
        let mut full = failure(error);
        full.also
            .push(ToolError::new(Reason::Type, "b").field("x[0].y"));
        full.value = Some(json!({"z": 1, "a": "so far"}));
        assert_eq!(
            for_model(&Err(full)),
            r#"{"reason":"timeout","detail":"command ran past 1 s and was killed","hint":"raise timeout","also":[{"field":"x[0].y","reason":"type","detail":"b"}],"value":{"z":1,"a":"so far"}}"#
        );
    }

    #[test]
    fn values_are_never_a_debug_print() {
        for (value, text) in [
            (json!(null), ""),
            (json!(""), ""),
            (json!("a \"b\"\n\u{1b}[2J"), "a \"b\"\n\u{1b}[2J"),
            (json!(true), "true"),
            (json!(1.5), "1.5"),
            (
                json!(18_446_744_073_709_551_615_u64),
                "18446744073709551615",
            ),
            (json!([]), "[]"),
            (
                json!({"b": [1, null, "x"], "a": {}}),
                r#"{"b":[1,null,"x"],"a":{}}"#,
            ),
        ] {
            let block = Block {
                mime: "image/png".into(),
                name: None,
                data: Bytes::from_static(b"x"),
            };
            assert_eq!(
                for_model(&Ok(Output {
                    value,
                    blocks: vec![block]
                })),
                text
            );
        }
    }
}
