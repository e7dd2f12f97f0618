use serde_json::json;

use super::super::read::{parse, read};
use crate::tool::RawArguments;

/// The detail and hint of the refusal.
fn refusal(raw: impl Into<RawArguments>, cut: bool) -> (String, String) {
    let error = read(&raw.into(), cut).expect_err("usable");
    assert_eq!(error.reason, "arguments");
    assert_eq!(error.field, None);
    (
        error.detail.unwrap_or_default(),
        error.hint.unwrap_or_default(),
    )
}

#[test]
fn nothing_means_no_arguments() {
    for raw in ["", "  \n\t", "null", " null ", "{}", " { } "] {
        assert_eq!(read(&raw.into(), false), Ok(json!({})), "{raw:?}");
        assert_eq!(read(&json!(raw).into(), false), Ok(json!({})), "{raw:?}");
    }
    assert_eq!(read(&RawArguments::Absent, false), Ok(json!({})));
    assert_eq!(read(&json!(null).into(), false), Ok(json!({})));
}

#[test]
fn only_an_object_will_do() {
    for (raw, kind) in [
        ("[]", "an array"),
        ("5", "an integer"),
        ("1.5", "a number"),
        ("\"x\"", "a string"),
        ("false", "a boolean"),
        (r#"[{"path":"a"}]"#, "an array"),
        (r#""{\"path\":\"a\"}""#, "a string"),
    ] {
        let (detail, hint) = refusal(raw, false);
        assert_eq!(
            detail,
            format!("the arguments are {kind}, not a JSON object")
        );
        assert!(hint.contains("one JSON object"));
    }
    assert!(refusal(json!([1]), false).0.contains("an array"));
}

#[test]
fn a_cut_reply_runs_nothing_even_if_it_parses() {
    for raw in [
        r#"{"path":"a"}"#,
        r#"{"path":"a","content":"half of"#,
        "",
        "{",
    ] {
        let (detail, hint) = refusal(raw, true);
        assert!(
            detail.contains(&format!("cut off at byte {}", raw.len())),
            "{detail}"
        );
        assert!(
            detail.contains("length limit (finish reason length)"),
            "{detail}"
        );
        assert!(hint.contains("in several parts"), "{hint}");
    }
    assert!(refusal(RawArguments::Absent, true).0.contains("cut off"));
    assert!(refusal(json!({"path": "a"}), true).0.contains("cut off"));
}

#[test]
fn every_beginning_of_arguments_is_refused() {
    let whole =
        r#"{"path":"a","edits":[{"old":"é—😀\n","new":-1.5e3}],"deep":{"t":true,"n":null}}"#;
    assert!(read(&whole.into(), false).is_ok());
    for (length, _) in whole.char_indices().skip(1) {
        let (detail, hint) = refusal(&whole[..length], false);
        assert!(detail.contains(&format!("byte {length}")), "{detail}");
        assert!(hint.contains("in several parts"), "{hint}");
    }
}

#[test]
fn a_client_may_say_why_it_has_no_arguments() {
    let said = "could not parse: unexpected \"\n\" at 17";
    let value = json!({"__arg_error": said, "path": "a"});
    assert_eq!(refusal(value.to_string(), false).0, said);
    assert_eq!(refusal(value.clone(), false).0, said);
    assert_eq!(refusal(value, true).0, said);
    assert_eq!(
        refusal(json!({"__arg_error": {"at": 3}}), false).0,
        r#"{"at":3}"#
    );
    assert!(read(&json!({"a": {"__arg_error": "x"}}).into(), false).is_ok());
}

#[test]
fn duplicate_keys_are_refused_at_any_depth() {
    for raw in [
        r#"{"a":1,"a":1}"#,
        r#"{"x":[{"y":{"a":1,"b":2,"a":3}}]}"#,
        r#"{"a":1,"\u0061":2}"#,
    ] {
        assert!(
            refusal(raw, false).0.contains("duplicate key \"a\""),
            "{raw}"
        );
    }
    assert!(read(&r#"{"a":{"a":1},"b":{"a":1}}"#.into(), false).is_ok());
}

#[test]
fn integers_are_never_rounded() {
    for digits in [
        "18446744073709551616",
        "-9223372036854775809",
        "123456789012345678901234567890",
    ] {
        let (detail, hint) = refusal(
            format!(r#"{{"a":"1\\","s":"{digits}\"","n":[{digits}]}}"#),
            false,
        );
        assert!(detail.contains(digits), "{detail}");
        assert!(hint.contains("smaller"));
    }
    for digits in [
        "18446744073709551615",
        "-9223372036854775808",
        "9223372036854775808",
    ] {
        let value = read(&format!(r#"{{"n":{digits}}}"#).into(), false).unwrap();
        assert_eq!(
            value["n"].to_string(),
            digits,
            "another crate switched arbitrary_precision on?"
        );
        assert!(!value["n"].is_f64());
    }
    // Written as floats, so what they are is what was meant.
    assert_eq!(parse("[1e20,-1.5E300]").unwrap(), json!([1e20, -1.5e300]));
}

#[test]
fn numbers_are_not_kept_as_text() {
    // With `arbitrary_precision` on, numbers past 64 bits would survive as text, floats
    // would not be floats, and everything that this room says of numbers would be wrong.
    let number: serde_json::Number =
        serde_json::from_str("123456789012345678901234567890").unwrap();
    assert!(number.is_f64());
    assert_ne!(number.to_string(), "123456789012345678901234567890");
}

#[test]
fn what_is_no_json_is_refused() {
    for raw in [
        r#"{"a":"\ud83d"}"#,
        r#"{"a":NaN}"#,
        r#"{"a":1e400}"#,
        r#"{"a":Infinity}"#,
        "\u{feff}{}",
        "{} {}",
        "{'a':1}",
        r#"{"a":1,}"#,
        r#"{"a":01}"#,
        "{\"a\":\"line\nend\"}",
        "path=a",
    ] {
        let (detail, hint) = refusal(raw, false);
        assert!(
            detail.starts_with("malformed JSON at byte "),
            "{raw}: {detail}"
        );
        assert!(!hint.is_empty());
    }
}

#[test]
fn the_fault_is_shown_where_it_is() {
    let (detail, _) = refusal("{\"ä\":\n \"x\" \"é—😀é—😀é—😀é—😀\"}", false);
    assert!(
        detail.starts_with("malformed JSON at byte 12: expected `,` or `}`, near "),
        "{detail}"
    );
    assert!(detail.contains(r#"\"x\" \"é—😀"#), "{detail}");
}

#[test]
fn depth_and_length_are_bounded() {
    let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(&nested(126).into(), false).is_ok());
    assert!(refusal(nested(128), false).0.contains("deeper than 128"));
    assert!(
        refusal(nested(200_000), false)
            .0
            .contains("deeper than 128")
    );

    let mut value = json!(1);
    for _ in 0..3_000 {
        value = json!([value]);
    }
    assert!(
        refusal(json!({"a": value}), false)
            .0
            .contains("deeper than 128")
    );

    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(64 << 20));
    assert!(refusal(long, false).0.contains("limit is 67108864"));
}
