//! What a value of the wrong type may still mean.

use serde_json::{Value, json};

use super::{super::canonical, accept, compile, faults, properties};

/// Whether `value` as the property `p` of this schema becomes `wanted`, or is refused.
fn check(schema: &Value, cases: impl IntoIterator<Item = (Value, Option<Value>)>) {
    let schema = properties(&json!({ "p": schema }));
    for (value, wanted) in cases {
        let found = accept(&schema, &json!({"p": value}));
        match wanted {
            // Compared as text: 20 and 20.0 are one number to `==` of some crates.
            Some(wanted) => assert_eq!(
                found.as_ref().map(ToString::to_string),
                Ok(json!({"p": wanted}).to_string()),
                "{schema} {value}"
            ),
            None => assert!(found.is_err(), "{schema} {value} became {found:?}"),
        }
    }
}

#[test]
fn booleans() {
    let yes =
        [json!("true"), json!("1"), json!(1), json!(true)].map(|value| (value, Some(json!(true))));
    let no = [json!("false"), json!("0"), json!(0), json!(false)]
        .map(|value| (value, Some(json!(false))));
    let neither = ["True", "yes", "", " true", "2", "on"].map(|text| (json!(text), None));
    check(
        &json!({"type": "boolean"}),
        yes.into_iter().chain(no).chain(neither),
    );
    check(
        &json!({"type": "boolean"}),
        [json!(2), json!(1.0), json!(-1), json!([]), json!({})].map(|v| (v, None)),
    );
}

#[test]
fn integers() {
    let read = [
        (json!("20"), json!(20)),
        (json!("-7"), json!(-7)),
        (json!("18446744073709551615"), json!(u64::MAX)),
        (json!(20.0), json!(20)),
        (json!(1e3), json!(1_000)),
        (json!(20), json!(20)),
    ];
    let refused = [
        "12abc",
        "3.5",
        "20s",
        "",
        " 20",
        "+5",
        "007",
        "1e3",
        "20.0",
        "0x10",
        "18446744073709551616",
        "true",
    ];
    // It may have been written with other last digits.
    check(&json!({"type": "integer"}), [(json!(1e16), None)]);
    check(
        &json!({"type": "number"}),
        [(json!(1e16), Some(json!(1e16)))],
    );
    check(
        &json!({"type": "integer"}),
        read.map(|(value, wanted)| (value, Some(wanted))),
    );
    check(
        &json!({"type": "integer"}),
        refused.map(|text| (json!(text), None)),
    );
    check(
        &json!({"type": "integer"}),
        [json!(3.5), json!(true), json!([5])].map(|value| (value, None)),
    );
}

#[test]
fn numbers() {
    let read = [
        (json!("1.5"), json!(1.5)),
        (json!("20"), json!(20)),
        (json!("-2e3"), json!(-2000.0)),
        (json!("0.1"), json!(0.1)),
        (json!(20.0), json!(20.0)),
    ];
    let refused = [
        "1.5x",
        ".5",
        "1.",
        "NaN",
        "inf",
        "1e400",
        "1,5",
        "30s",
        "0.1234567890123456789",
        "18446744073709551616",
    ];
    check(
        &json!({"type": "number"}),
        read.map(|(value, wanted)| (value, Some(wanted))),
    );
    check(
        &json!({"type": "number"}),
        refused.map(|text| (json!(text), None)),
    );
}

#[test]
fn durations_are_seconds() {
    let read = [
        (json!("30s"), json!(30)),
        (json!("500ms"), json!(0.5)),
        (json!("2000ms"), json!(2)),
        (json!("2m"), json!(120)),
        (json!("1.5m"), json!(90.0)),
        (json!("20"), json!(20)),
        (json!(0.5), json!(0.5)),
    ];
    let refused = [
        "1h",
        "30 s",
        "s",
        "ms",
        "-5s",
        "1e3s",
        "5sm",
        "99999999999999999999s",
        "18446744073709551615m",
        "PT5S",
        "",
    ];
    let schema = json!({"type": "number", "format": "duration"});
    check(
        &schema.clone(),
        read.map(|(value, wanted)| (value, Some(wanted))),
    );
    check(
        &schema,
        refused
            .into_iter()
            .filter(|text| *text != "1e3s")
            .map(|text| (json!(text), None)),
    );
    check(
        &json!({"type": "integer", "format": "duration"}),
        [(json!("20s"), None)],
    );
}

#[test]
fn strings_take_numbers_only() {
    check(
        &json!({"type": "string"}),
        [
            (json!(123), Some(json!("123"))),
            (json!(-1.5), Some(json!("-1.5"))),
            (json!(""), Some(json!(""))),
            (json!("5"), Some(json!("5"))),
            (json!(true), None),
            (json!({"a": 1}), None),
            (json!(["x"]), None),
        ],
    );
    check(
        &json!({"type": "string", "minLength": 1}),
        [(json!(""), None), (json!(5), Some(json!("5")))],
    );
}

#[test]
fn json_text_for_arrays_and_objects() {
    let list = json!({"type": "array", "items": {"type": "integer"}});
    check(
        &list,
        [
            (json!("[1, 2]"), Some(json!([1, 2]))),
            (json!("[\"3\"]"), Some(json!([3]))),
            (json!("{}"), None),
            (json!("[1,"), None),
            (json!(""), None),
            (json!("1"), None),
            (json!(1), None),
        ],
    );
    let object = json!({"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": false});
    check(
        &object,
        [
            (json!(r#"{"a":"true"}"#), Some(json!({"a": true}))),
            (json!(r#"{"a":true,"a":false}"#), None),
            (json!("[]"), None),
            (json!("null"), None),
        ],
    );
    let deep = json!("[".repeat(100) + &"]".repeat(100));
    check(
        &json!({"type": "array"}),
        [(
            deep.clone(),
            Some(serde_json::from_str(deep.as_str().unwrap()).unwrap()),
        )],
    );
    let inner = format!("{}{}", "[".repeat(127), "]".repeat(127));
    check(
        &json!({"type": "array", "items": {"type": "array"}}),
        [(json!([inner]), None)],
    );
}

#[test]
fn null_for_what_is_optional_is_absent() {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "limit": {"type": "integer"},
            "mode": {"enum": ["a", "b"]},
            "note": {"type": ["string", "null"]},
            "any": {},
            "tree": {"$ref": "#/$defs/tree"},
            "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "list": {"type": "array", "items": {"type": "string"}}
        },
        "required": ["path"],
        "$defs": {"tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}}}}
    });
    assert_eq!(
        accept(
            &schema,
            &json!({"path": "a", "limit": null, "mode": null, "tree": {"left": null}})
        ),
        Ok(json!({"path": "a", "tree": {}}))
    );
    let kept = json!({"path": "a", "note": null, "any": null, "either": null});
    assert_eq!(accept(&schema, &kept), Ok(kept));
    assert_eq!(faults(&schema, &json!({"path": null})), ["path required"]);
    assert_eq!(
        faults(&schema, &json!({"path": "a", "list": ["x", null]})),
        ["list[1] type"]
    );
    assert_eq!(
        faults(&schema, &json!({"path": "a", "other": null})),
        ["other additional"]
    );
}

#[test]
fn deep_and_through_references() {
    let schema = json!({
        "type": "object",
        "properties": {
            "edits": {"type": "array", "items": {"$ref": "#/$defs/edit"}},
            "pair": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": {"type": "boolean"}},
            "env": {"type": "object", "additionalProperties": {"type": "string"}},
            "all": {"allOf": [{"type": "object", "properties": {"n": {"type": "integer"}}}, {"$ref": "#/$defs/edit"}]}
        },
        "$defs": {
            "edit": {"type": "object", "properties": {"line": {"$ref": "#/$defs/the~1line no"}, "all": {"type": "boolean"}}},
            "the/line no": {"type": "integer"}
        }
    });
    let given = json!({
        "edits": "[{\"line\":\"3\",\"all\":1}]",
        "pair": ["1", 2, "true"],
        "env": {"A": 1, "B": "b"},
        "all": {"n": "4", "line": "5"}
    });
    // A reference with a blank is no URI; the place is then out of reach.
    assert!(super::Parameters::compile(&schema).is_err());
    let schema: Value =
        serde_json::from_str(&schema.to_string().replace("line no", "line")).unwrap();
    assert_eq!(
        accept(&schema, &given),
        Ok(json!({
            "edits": [{"line": 3, "all": true}],
            "pair": [1, "2", true],
            "env": {"A": "1", "B": "b"},
            "all": {"n": 4, "line": 5}
        }))
    );
}

#[test]
fn unions_only_where_one_branch_fits() {
    let union = |branches: Value| json!({ "anyOf": branches });
    check(
        &union(json!([{"type": "integer"}, {"type": "null"}])),
        [
            (json!("5"), Some(json!(5))),
            (json!(5.0), Some(json!(5))),
            (json!(null), Some(json!(null))),
            (json!("x"), None),
        ],
    );
    check(
        &union(json!([{"type": "integer"}, {"type": "boolean"}])),
        [
            (json!("5"), Some(json!(5))),
            (json!("true"), Some(json!(true))),
            (json!("1"), None),
            (json!(1), Some(json!(1))),
        ],
    );
    check(
        &union(json!([{"type": "integer"}, {"type": "string"}])),
        [(json!("5"), Some(json!("5")))],
    );
    check(
        &union(json!([{"type": "integer"}, {"type": "number"}])),
        [(json!("5"), Some(json!(5)))],
    );
    check(
        &json!({"type": ["integer", "boolean"]}),
        [(json!("1"), None), (json!("2"), Some(json!(2)))],
    );
    check(
        &json!({"type": ["integer", "boolean"], "enum": [1, 2, false]}),
        [(json!("1"), Some(json!(1)))],
    );
    check(
        &json!({"enum": [1, 2, "x"]}),
        [
            (json!("1"), Some(json!(1))),
            (json!("x"), Some(json!("x"))),
            (json!("3"), None),
        ],
    );

    let form = |kind: &str, kind_of_n: &str| {
        json!({
            "type": "object", "required": ["kind"], "additionalProperties": false,
            "properties": {"kind": {"const": kind}, "n": {"type": kind_of_n}}
        })
    };
    check(
        &json!({"oneOf": [form("a", "integer"), form("b", "boolean")]}),
        [
            (
                json!({"kind": "a", "n": "1"}),
                Some(json!({"kind": "a", "n": 1})),
            ),
            (
                json!({"kind": "b", "n": "1"}),
                Some(json!({"kind": "b", "n": true})),
            ),
            (
                json!("{\"kind\":\"b\",\"n\":0}"),
                Some(json!({"kind": "b", "n": false})),
            ),
            (json!({"kind": "a", "n": null}), Some(json!({"kind": "a"}))),
            (json!({"kind": "c", "n": 1}), None),
        ],
    );
}

#[test]
fn what_fits_is_not_touched() {
    let schema = json!({
        "type": "object",
        "properties": {"s": {"type": ["string", "integer"]}, "x": {}, "n": {"type": "number"}, "b": {"enum": ["1", 1]}}
    });
    for value in [
        json!({"s": "5", "x": "true", "n": 2.0, "b": "1"}),
        json!({"x": [null, "1", 1.0, {"a": null}], "s": 5}),
    ] {
        assert_eq!(
            accept(&schema, &value).map(|v| v.to_string()),
            Ok(value.to_string())
        );
    }
}

#[test]
fn the_root_of_a_union_is_read_inside_first() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}]
    });
    assert_eq!(accept(&schema, &json!({"b": "2"})), Ok(json!({"b": 2})));
    assert!(accept(&schema, &json!({"a": null})).is_err());
    assert_eq!(faults(&schema, &json!({"a": 1, "c": 1})), ["c additional"]);
}

#[test]
fn digests_do_not_depend_on_the_order_of_keys() {
    let one = json!({"b": [1, 2.0, "é\n\u{1}"], "a": {"😀": null, "\u{ffff}": true}});
    let two = json!({"a": {"\u{ffff}": true, "😀": null}, "b": [1, 2.0, "é\n\u{1}"]});
    // The order of UTF-16 units: the pair of 😀 comes before U+FFFF.
    assert_eq!(
        canonical(&one),
        "{\"a\":{\"😀\":null,\"\u{ffff}\":true},\"b\":[1,2.0,\"é\\n\\u0001\"]}"
    );
    assert_eq!(canonical(&one), canonical(&two));
    assert_ne!(canonical(&json!({"a": 2})), canonical(&json!({"a": 2.0})));
    assert_eq!(canonical(&json!(u64::MAX)), "18446744073709551615");
}

#[test]
fn a_schema_is_shared_by_calls() {
    fn shared<T: Send + Sync + std::fmt::Debug>(_: &T) {}
    shared(&compile(&properties(&json!({}))));
}
