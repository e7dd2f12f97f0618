//! Each kind of fault: field, reason, and a hint that is enough to repair the call.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{accept, faults, properties};
use crate::tool::ToolError;

fn only(schema: &Value, arguments: &Value) -> ToolError {
    let errors = accept(schema, arguments).expect_err("the arguments fit");
    let [error] = <[ToolError; 1]>::try_from(errors).unwrap_or_else(|errors| panic!("{errors:#?}"));
    error
}

/// The property's schema and a value that fails it; then reason, and what the hint says.
#[test]
fn every_kind_of_fault_has_its_reason_and_a_way_out() {
    for (schema, value, reason, hint) in [
        (
            json!({"type": "integer"}),
            json!("12abc"),
            "type",
            "send an integer such as 20",
        ),
        (
            json!({"type": "integer"}),
            json!("20s"),
            "type",
            "send an integer such as 20",
        ),
        (
            json!({"type": ["integer", "null"]}),
            json!([]),
            "type",
            "send an integer such as 20",
        ),
        (
            json!({"type": "number", "format": "duration"}),
            json!("soon"),
            "type",
            "\"500ms\"",
        ),
        (
            json!({"enum": ["red", "blue"]}),
            json!("purple"),
            "enum",
            "send one of \"red\", \"blue\"",
        ),
        (json!({"const": 3}), json!(4), "enum", "send 3"),
        (
            json!({"type": "integer", "maximum": 10}),
            json!("50"),
            "range",
            "send at most 10",
        ),
        (json!({"minimum": 1}), json!(0), "range", "send at least 1"),
        (
            json!({"exclusiveMinimum": 1}),
            json!(1),
            "range",
            "send more than 1",
        ),
        (
            json!({"exclusiveMaximum": 1}),
            json!(1),
            "range",
            "send less than 1",
        ),
        (
            json!({"multipleOf": 5}),
            json!(7),
            "range",
            "a multiple of 5",
        ),
        (
            json!({"minLength": 1, "type": "string"}),
            json!(""),
            "range",
            "at least 1 characters",
        ),
        (
            json!({"maxLength": 2, "type": "string"}),
            json!("abc"),
            "range",
            "at most 2 characters",
        ),
        (
            json!({"minItems": 1}),
            json!([]),
            "range",
            "at least 1 items",
        ),
        (
            json!({"maxItems": 1}),
            json!([1, 2]),
            "range",
            "at most 1 items",
        ),
        (
            json!({"minProperties": 1}),
            json!({}),
            "range",
            "at least 1 keys",
        ),
        (
            json!({"maxProperties": 0}),
            json!({"a": 1}),
            "range",
            "at most 0 keys",
        ),
        (json!({"pattern": "^a+$"}), json!("b"), "pattern", "^a+$"),
        (
            json!({"type": "string", "format": "date"}),
            json!("yesterday"),
            "format",
            "format date",
        ),
        (
            json!({"uniqueItems": true}),
            json!([1, 1]),
            "schema",
            "each item once",
        ),
        (
            json!({"not": {"type": "string"}}),
            json!("x"),
            "schema",
            "schema",
        ),
        (
            json!({"contains": {"const": 1}}),
            json!([]),
            "schema",
            "schema",
        ),
        (json!(false), json!(1), "schema", "leave it out"),
        (
            json!({"oneOf": [{"type": "integer"}, {"minimum": 2}]}),
            json!(3),
            "schema",
            "all forms but one",
        ),
        (
            json!({"propertyNames": {"pattern": "^x"}}),
            json!({"a": 1}),
            "schema",
            "that key",
        ),
        (
            json!({"prefixItems": [{}], "unevaluatedItems": false}),
            json!([1, 2]),
            "range",
            "fewer items",
        ),
    ] {
        let error = only(&properties(&json!({"p": schema})), &json!({"p": value}));
        assert_eq!(error.field.as_deref(), Some("p"), "{schema} {error:?}");
        assert_eq!(error.reason, reason, "{schema} {error:?}");
        assert!(
            error
                .hint
                .as_deref()
                .is_some_and(|said| said.contains(hint)),
            "{schema} {error:?}"
        );
        assert!(error.detail.is_some(), "{schema}");
    }
}

#[test]
fn a_missing_property_is_named_and_described() {
    let schema = json!({
        "type": "object",
        "properties": {"edits": {"type": "array", "items": {"$ref": "#/$defs/edit"}}},
        "$defs": {"edit": {
            "type": "object", "required": ["old"], "additionalProperties": false,
            "properties": {"old": {"type": "string", "description": "Text to replace."}, "x y": {"type": "integer"}}
        }}
    });
    let error = only(&schema, &json!({"edits": [{"old": ""}, {}]}));
    assert_eq!(error.field.as_deref(), Some("edits[1].old"));
    assert_eq!(error.reason, "required");
    assert_eq!(
        error.hint.as_deref(),
        Some("add \"old\", a string: Text to replace.")
    );
    assert_eq!(
        faults(&schema, &json!({"edits": [{"old": "", "x y": "z"}]})),
        ["edits[0][\"x y\"] type"]
    );
    assert_eq!(
        faults(&schema, &json!({"edits": [{"old": "", "a~/b": 1}]})),
        ["edits[0][\"a~/b\"] additional"]
    );
}

#[test]
fn an_unknown_property_names_the_nearest() {
    let schema = json!({
        "type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["path"]
    });
    for (name, near) in [
        ("filepath", "path"),
        ("Path", "path"),
        ("file_path", "path"),
        ("limt", "limit"),
        ("path_name", "path"),
    ] {
        let errors = accept(&schema, &json!({"path": "a", name: 1})).unwrap_err();
        let hint = errors[0].hint.clone().unwrap_or_default();
        assert_eq!(
            hint,
            format!("did you mean \"{near}\"? allowed: path, limit"),
            "{name}"
        );
        assert_eq!(errors[0].field.as_deref(), Some(name));
    }
    let error = only(&schema, &json!({"path": "a", "explanation": "because"}));
    assert_eq!(
        error.hint.as_deref(),
        Some("leave it out; allowed: path, limit")
    );
    assert_eq!(
        faults(&schema, &json!({"filepath": "a"})),
        ["filepath additional", "path required"]
    );
    assert_eq!(
        faults(&json!({"type": "object"}), &json!({"__x": 1})),
        ["__x additional"]
    );
}

#[test]
fn all_failing_fields_are_reported() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}, "c": {"maximum": 1}, "d": {}},
        "required": ["d"]
    });
    let mut found = faults(&schema, &json!({"a": "x", "b": "y", "c": 2, "e": 1}));
    found.sort();
    assert_eq!(
        found,
        ["a type", "b type", "c range", "d required", "e additional"]
    );
    let one = json!({"prefixItems": [true], "items": false});
    assert_eq!(
        faults(&properties(&json!({"p": one})), &json!({"p": [1, 2, 3]})),
        ["p[1] range", "p[2] range"]
    );
    assert_eq!(
        faults(&json!({"type": "object"}), &json!({"a": 1, "b": 2})),
        ["a additional", "b additional"]
    );
    // What could be read is not complained about.
    assert_eq!(
        faults(&schema, &json!({"a": "5", "b": "y", "d": 1})),
        ["b type"]
    );
}

#[test]
fn of_a_union_the_branch_that_was_meant_speaks() {
    let form = |kind: &str, own: &str| {
        json!({
            "type": "object", "required": ["kind", own], "additionalProperties": false,
            "properties": {"kind": {"const": kind}, own: {"type": "integer"}}
        })
    };
    let p = |schema: Value| properties(&json!({"p": schema}));
    let tagged = p(json!({"oneOf": [form("add", "left"), form("neg", "inner"), {"type": "null"}]}));
    assert_eq!(
        faults(&tagged, &json!({"p": {"kind": "neg", "inner": "x"}})),
        ["p.inner type"]
    );
    assert_eq!(
        faults(&tagged, &json!({"p": {"kind": "add"}})),
        ["p.left required"]
    );
    let unknown = only(&tagged, &json!({"p": {"kind": "mul"}}));
    assert_eq!(
        (unknown.field.as_deref(), &*unknown.reason),
        (Some("p.kind"), "enum")
    );
    assert_eq!(
        unknown.hint.as_deref(),
        Some("send one of \"add\", \"neg\"")
    );

    // The branch that its own tag names, though another has fewer faults.
    let number = json!({"type": "integer"});
    let uneven = p(json!({"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "stop"}}},
        {"type": "object", "properties": {"kind": {"const": "go"}, "x": number, "y": number}}
    ]}));
    assert_eq!(
        faults(&uneven, &json!({"p": {"kind": "go", "x": "a", "y": "b"}})),
        ["p.x type", "p.y type"]
    );

    let documented = p(json!({"oneOf": [{"const": "a", "description": "A"}, {"const": "b"}]}));
    let error = only(&documented, &json!({"p": "c"}));
    assert_eq!(
        (&*error.reason, error.hint.as_deref()),
        ("enum", Some("send one of \"a\", \"b\""))
    );

    let optional = p(json!({"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}]}));
    assert_eq!(faults(&optional, &json!({"p": "c"})), ["p enum"]);
    let kinds =
        p(json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}));
    let error = only(&kinds, &json!({"p": true}));
    assert_eq!(
        (&*error.reason, error.detail.as_deref()),
        ("type", Some("p is true, not a string or an array"))
    );
    assert_eq!(faults(&kinds, &json!({"p": ["a", true]})), ["p[1] type"]);

    let unclear = p(json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}));
    let error = only(&unclear, &json!({"p": {}}));
    assert_eq!(error.reason, "schema");
    let hint = error.hint.unwrap_or_default();
    assert!(hint.contains("\"a\"") && hint.contains("\"b\""), "{hint}");
}

#[test]
fn errors_stay_small_and_say_no_half_characters() {
    let long = "é—😀".repeat(2_000);
    let names: serde_json::Map<String, Value> =
        (0..100).map(|n| (format!("{n}{long}"), json!(1))).collect();
    let options: Vec<_> = (0..200)
        .map(|n| format!("{n}{}", "é—😀".repeat(10)))
        .collect();
    let schema = properties(&json!({
        "p": {"enum": options}, "q": {"pattern": "^x{1,5}$", "description": long}, "list": {"items": {"type": "integer"}}
    }));
    for arguments in [
        json!({"p": long, "q": long}),
        Value::Object(names),
        json!({"list": vec![json!(long); 1_000]}),
    ] {
        let errors = accept(&schema, &arguments).unwrap_err();
        assert!(!errors.is_empty() && errors.len() <= 20);
        for error in errors {
            for text in [&error.field, &error.detail, &error.hint]
                .into_iter()
                .flatten()
            {
                assert!(text.len() <= 510, "{} {text}", text.len());
            }
        }
    }
}

#[test]
fn of_very_many_faults_only_the_first_is_held() {
    let list = |items: Value| properties(&json!({"p": {"type": "array", "items": items}}));
    let many = json!({"p": vec![json!("x"); 300_000]});
    assert_eq!(
        faults(&list(json!({"type": "integer"})), &many),
        ["p[0] type"]
    );
    let union = json!({"anyOf": [{"type": "integer"}, {"type": "null"}]});
    assert_eq!(faults(&list(union), &many), ["- schema"]);
}

proptest! {
    #[test]
    fn words_are_cut_on_characters(text in "[é—😀a]{0,40}", max in 0_usize..10) {
        let cut = super::super::wording::clip(&text, max);
        prop_assert!(cut.len() <= max + 3);
        prop_assert!(text.starts_with(cut.trim_end_matches('…')));
    }
}
