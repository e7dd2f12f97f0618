//! Whatever the schema and whatever the arguments.

use proptest::{collection, prelude::*, sample::select};
use serde_json::{Map, Value, json};

use super::{
    super::{canonical, read},
    Parameters,
};

fn name() -> impl Strategy<Value = String> {
    select(vec!["a", "b", "c", "x y", "a~/b", "ü"]).prop_map(str::to_owned)
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-4_i32..4).prop_map(|halves| json!(f64::from(halves) / 2.0)),
        any::<f64>().prop_map(|n| json!(n)),
        select(vec![
            "",
            "1",
            "0",
            "true",
            "false",
            "20",
            "1.5",
            "30s",
            "5ms",
            "x",
            "[1]",
            "[\"1\"]",
            "{\"a\":\"1\"}",
            "null",
            "1e3"
        ])
        .prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            collection::vec((name(), inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn arguments() -> impl Strategy<Value = Value> {
    collection::vec((name(), value()), 0..4)
        .prop_map(|entries| Value::Object(entries.into_iter().collect()))
}

fn part() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        select(vec![
            "integer", "number", "string", "boolean", "array", "object", "null"
        ])
        .prop_map(|kind| json!({"type": kind})),
        Just(json!({"type": "number", "format": "duration"})),
        Just(json!({"type": ["integer", "null"]})),
        Just(json!({"type": ["integer", "boolean"]})),
        Just(json!({"type": "integer", "minimum": 2, "multipleOf": 2})),
        Just(json!({"type": "string", "minLength": 1, "pattern": "^[0-9x]"})),
        Just(json!({"type": "string", "format": "date"})),
        Just(json!({"$ref": "#/$defs/d"})),
        Just(json!({"$ref": "#"})),
        Just(json!(true)),
        Just(json!(false)),
        collection::vec(scalar(), 1..4).prop_map(|options| json!({"enum": options})),
        scalar().prop_map(|only| json!({"const": only})),
    ];
    leaf.prop_recursive(3, 20, 3, |inner| {
        let parts = collection::vec(inner.clone(), 1..4);
        prop_oneof![
            (
                select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]),
                parts
            )
                .prop_map(|(keyword, parts)| json!({keyword: parts})),
            (
                select(vec![
                    "items",
                    "not",
                    "additionalProperties",
                    "contains",
                    "unevaluatedProperties"
                ]),
                inner.clone()
            )
                .prop_map(|(keyword, part)| json!({keyword: part})),
            (inner.clone(), any::<bool>()).prop_map(
                |(items, unique)| json!({"type": "array", "items": items, "uniqueItems": unique})
            ),
            (object(inner.clone()), any::<bool>()).prop_map(|(mut schema, closed)| {
                schema["additionalProperties"] = json!(!closed);
                schema
            }),
            (inner.clone(), inner).prop_map(|(if_, then)| json!({"if": if_, "then": then})),
        ]
    })
}

fn object(part: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    collection::vec((name(), part, any::<bool>()), 0..4).prop_map(|entries| {
        let required: std::collections::BTreeSet<_> = entries
            .iter()
            .filter(|(.., required)| *required)
            .map(|(name, ..)| name.clone())
            .collect();
        let properties: Map<_, _> = entries
            .into_iter()
            .map(|(name, part, _)| (name, part))
            .collect();
        json!({"type": "object", "properties": properties, "required": required})
    })
}

fn schema() -> impl Strategy<Value = Value> {
    (object(part()), part(), any::<bool>()).prop_map(|(mut schema, part, union)| {
        schema["$defs"] = json!({"d": part});
        if union {
            schema["anyOf"] =
                json!([{"$ref": "#/$defs/d"}, {"properties": {"a": {"type": "integer"}}}]);
        }
        schema
    })
}

/// Equal, but for floats that are integers: those may become integers.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && same(a, b))
        }
        (a, b) => a == b,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn what_is_accepted_fits_and_what_fits_is_accepted_as_it_is(schema in schema(), arguments in collection::vec(arguments(), 1..6)) {
        let Ok(parameters) = Parameters::compile(&schema) else { return Ok(()) };
        let plain = jsonschema::options().should_validate_formats(true).build(parameters.schema()).unwrap();
        for arguments in arguments {
            let fits = plain.is_valid(&arguments);
            match parameters.accept(arguments.clone()) {
                Ok(accepted) => {
                    prop_assert!(plain.is_valid(&accepted), "{schema} {arguments} became {accepted}");
                    prop_assert!(!fits || same(&arguments, &accepted), "{schema} {arguments} became {accepted}");
                    let again = parameters.accept(accepted.clone());
                    prop_assert!(again.as_ref() == Ok(&accepted), "{schema} {accepted} became {again:?}");
                }
                Err(errors) => {
                    prop_assert!(!fits);
                    prop_assert!(!errors.is_empty() && errors.len() <= 20);
                    prop_assert!(errors.iter().all(|error| error.detail.is_some() && error.hint.is_some()), "{errors:?}");
                }
            }
        }
    }

    #[test]
    fn any_value_may_be_meant_as_a_schema(schema in value()) {
        if let Err(error) = Parameters::compile(&schema) {
            prop_assert!(error.to_string().len() < 1_000);
        }
    }

    #[test]
    fn any_text_may_be_meant_as_arguments(text in prop_oneof![any::<String>(), "[\\[\\]{}\",:0-9eE.a\\\\ntr-]{0,40}"]) {
        match read(&text.as_str().into(), false) {
            Ok(value) => prop_assert!(value.is_object()),
            Err(error) => prop_assert!(error.detail.is_some() && error.reason == "arguments"),
        }
    }

    #[test]
    fn arguments_survive_their_text(arguments in arguments(), at in any::<prop::sample::Index>()) {
        let text = arguments.to_string();
        prop_assert_eq!(read(&text.as_str().into(), false), Ok(arguments.clone()));
        prop_assert_eq!(read(&canonical(&arguments).into(), false).map(|v| canonical(&v)), Ok(canonical(&arguments)));
        let cut = text.floor_char_boundary(at.index(text.len()));
        if cut > 0 {
            prop_assert!(read(&text[..cut].into(), false).is_err());
        }
    }
}
