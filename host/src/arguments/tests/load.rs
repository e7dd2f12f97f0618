//! Schemas that are refused, fast and with their place.

use std::{fmt::Write as _, time::Instant};

use serde_json::{Map, Value, json};

use super::{
    super::{OutputSchema, Parameters},
    accept, compile, faults, properties,
};

/// Where and why the schema is refused.
fn refused(schema: &Value) -> String {
    Parameters::compile(schema)
        .expect_err("the schema was accepted")
        .to_string()
}

#[test]
fn the_root_is_a_closed_object() {
    for schema in [
        json!({"type": "string"}),
        json!({"anyOf": [{"type": "object"}]}),
        json!({}),
        json!(true),
        json!("x"),
        json!(null),
    ] {
        assert!(
            refused(&schema).contains("\"type\": \"object\""),
            "{schema}"
        );
    }
    assert_eq!(
        compile(&json!({"type": "object"})).schema(),
        &json!({"type": "object", "additionalProperties": false})
    );
    assert_eq!(
        faults(&json!({"type": "object"}), &json!({"a": 1})),
        ["a additional"]
    );

    let open = json!({"type": "object", "additionalProperties": true});
    assert_eq!(compile(&open).schema(), &open);
    assert_eq!(accept(&open, &json!({"a": 1})), Ok(json!({"a": 1})));

    let parts = json!({"type": "object", "$ref": "#/$defs/p", "$defs": {"p": {"properties": {"a": {"type": "integer"}}}}});
    assert_eq!(accept(&parts, &json!({"a": "1"})), Ok(json!({"a": 1})));
    assert_eq!(faults(&parts, &json!({"b": 1})), ["b additional"]);
}

#[test]
fn mistakes_are_named_with_their_place() {
    let odd = |property: Value| properties(&json!({"p": property}));
    for (schema, said) in [
        (
            json!({"type": "object", "required": ["model"]}),
            "at /required: \"model\" is required but not among",
        ),
        (
            odd(json!({"type": "object", "required": ["x"], "additionalProperties": false})),
            "at /properties/p/required",
        ),
        (
            odd(json!({"type": "array", "enum": ["a", "b"]})),
            "at /properties/p/enum: no listed value",
        ),
        (
            odd(json!({"type": "integer", "default": "5"})),
            "at /properties/p/default: \"5\" is not of the declared type",
        ),
        (odd(json!({"type": "integar"})), "/properties/p/type"),
        (odd(json!({"minLength": "5"})), "/properties/p/minLength"),
        (odd(json!(5)), "/properties/p"),
        (odd(json!({"pattern": "(?=a)b"})), "/properties/p/pattern"),
        (odd(json!({"pattern": "(a)\\1"})), "/properties/p/pattern"),
        (odd(json!({"pattern": "(?<!a)b"})), "without look-around"),
        (odd(json!({"pattern": "(("})), "/properties/p/pattern"),
        (
            odd(json!({"patternProperties": {"(?=a)b": {}}})),
            "without look-around",
        ),
        (
            odd(json!({"pattern": "((((a{1,100}){1,100}){1,100}){1,100})"})),
            "moderate size",
        ),
        (
            odd(json!({"$ref": "#/$defs/none"})),
            "at /properties/p/$ref: \"#/$defs/none\" is no place",
        ),
        (
            odd(json!({"$ref": "http://127.0.0.1:9/x"})),
            "is no place in this schema",
        ),
        (
            odd(json!({"$ref": "file:///etc/hostname"})),
            "is no place in this schema",
        ),
        (
            odd(json!({"$ref": "other.json#/a"})),
            "is no place in this schema",
        ),
        (odd(json!({"$ref": "#name"})), "is no place in this schema"),
        (
            odd(json!({"$ref": "#/%24defs/a"})),
            "is no place in this schema",
        ),
        (odd(json!({"$ref": 5})), "is no place in this schema"),
        (
            odd(json!({"$id": "http://example.com/x"})),
            "at /properties/p: `$id` is not supported",
        ),
        (odd(json!({"$anchor": "x"})), "`$anchor` is not supported"),
        (
            odd(json!({"$dynamicRef": "#x"})),
            "`$dynamicRef` is not supported",
        ),
        (
            odd(json!({"x-part": {"$id": "http://example.com/x"}})),
            "`$id` is not supported",
        ),
        (
            json!({"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"}),
            "write the schema in JSON Schema 2020-12",
        ),
        (
            json!({"type": "object", "$schema": 5}),
            "write the schema in JSON Schema 2020-12",
        ),
        (json!({"type": "object", "$ref": "#"}), "refers to itself"),
        (
            json!({"type": "object", "allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}}),
            "refers to itself",
        ),
    ] {
        let text = refused(&schema);
        assert!(text.contains(said), "{schema}\n{text}");
        assert!(text.len() < 900, "{text}");
    }
}

#[test]
fn the_mistakes_have_their_right_form() {
    for schema in [
        json!({"type": "object", "required": ["x"], "additionalProperties": true}),
        json!({"type": "object", "required": ["x1"], "patternProperties": {"^x": {}}}),
        properties(&json!({"p": {"type": "array", "items": {"enum": ["a"]}}})),
        properties(&json!({"p": {"type": ["integer", "null"], "default": null}})),
        properties(&json!({"p": {"type": "integer", "default": null}})),
        properties(
            &json!({"p": {"type": "number", "default": 1}, "q": {"type": "integer", "default": 2.0}}),
        ),
        properties(&json!({"$id": {"type": "string"}, "$ref": {"type": "string"}})),
        properties(&json!({"p": {"$ref": "#/properties/q"}, "q": {"pattern": "^\\d+$"}})),
        json!({"type": "object", "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "http://example.com/a"}),
    ] {
        compile(&schema);
    }
}

#[test]
fn a_reference_is_read_in_one_way_only() {
    let mut schema = properties(&json!({"p": {"$ref": "#/%24defs/a"}}));
    schema["%24defs"] = json!({"a": {"type": "integer"}});
    schema["$defs"] = json!({"a": {"type": "string"}});
    assert!(refused(&schema).contains("is no place in this schema"));
    let named = json!({"type": "object", "$id": "http://example.com/a"});
    assert_eq!(compile(&named).schema().get("$id"), None);
}

#[test]
fn doubling_references_are_refused_at_once() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let mut defs = Map::new();
        for level in 0..26 {
            let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
            defs.insert(format!("l{level}"), json!({keyword: [next, next]}));
        }
        defs.insert("l26".into(), json!({"type": "integer"}));
        let schema =
            json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/l0"}}, "$defs": defs});
        let start = Instant::now();
        assert!(refused(&schema).contains("more than 10000 sub-schemas"));
        assert!(start.elapsed().as_secs() < 2);
    }
}

#[test]
fn size_and_depth_are_bounded() {
    // Built from the inside: parsers and `json!` would recurse.
    let mut deep = json!({"type": "object"});
    for _ in 0..3_000 {
        let mut map = Map::new();
        map.insert("not".into(), deep);
        deep = Value::Object(map);
    }
    assert!(refused(&properties(&json!({"p": null}))).contains("/properties/p"));
    let mut map = Map::new();
    map.insert("type".into(), json!("object"));
    map.insert("not".into(), deep);
    assert!(refused(&Value::Object(map)).contains("nested deeper than 64"));

    let nested = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({ "x-data": inner }));
    compile(&properties(&json!({"p": nested(61)})));
    assert!(refused(&properties(&json!({"p": nested(64)}))).contains("nested deeper than 64"));

    let long = properties(&json!({"p": {"description": "x".repeat(65_536)}}));
    assert!(refused(&long).contains("longer than 65536 bytes"));
    compile(&properties(
        &json!({"p": {"description": "x".repeat(65_000)}}),
    ));

    let mut chain = Map::new();
    for link in 0..1_500 {
        chain.insert(
            format!("c{link}"),
            json!({"$ref": format!("#/$defs/c{}", link + 1)}),
        );
    }
    chain.insert("c1500".into(), json!({}));
    let schema =
        json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/c0"}}, "$defs": chain});
    assert!(refused(&schema).contains("within each other"));

    let many: Map<String, Value> = (0..65)
        .map(|n| (format!("p{n}"), json!({"pattern": format!("^{n}$")})))
        .collect();
    assert!(refused(&properties(&Value::Object(many))).contains("more than 64 patterns"));
}

#[test]
fn a_schema_may_contain_itself() {
    let schema = json!({
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/tree"}},
        "$defs": {"tree": {
            "type": "object",
            "properties": {"n": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
            "additionalProperties": false
        }}
    });
    assert_eq!(
        accept(
            &schema,
            &json!({"tree": {"kids": [{"n": "1", "kids": [{"n": "2"}]}]}})
        ),
        Ok(json!({"tree": {"kids": [{"n": 1, "kids": [{"n": 2}]}]}}))
    );
    assert_eq!(
        faults(
            &schema,
            &json!({"tree": {"kids": [{"kids": [{"n": "x"}]}]}})
        ),
        ["tree.kids[0].kids[0].n type"]
    );
}

/// Unions within themselves, on values as deep as they are taken: neither time nor stack
/// grows out of hand, on the stack of a runtime's worker thread.
#[test]
fn recursion_ends_within_time_and_stack() {
    let chain: Map<String, Value> = (0..48)
        .map(|link| {
            (
                format!("c{link}"),
                json!({"$ref": format!("#/$defs/c{}", link + 1)}),
            )
        })
        .chain([(
            "c48".to_owned(),
            json!({"properties": {"a": {"$ref": "#/$defs/c0"}, "n": {"type": "integer"}}}),
        )])
        .collect();
    let node = json!({"$ref": "#/$defs/n"});
    let object = |extra: Value| json!({"type": "object", "properties": {"a": node, "n": extra}});
    let defs = [
        json!({"c0": chain["c0"], "n": {"$ref": "#/$defs/c0"}}),
        json!({"n": {"anyOf": [object(json!({"type": "integer"})), object(json!({"const": 7})), object(json!({"type": "boolean"}))]}}),
        json!({"n": {"oneOf": [object(json!({"type": "integer"})), object(json!({"const": 7})), object(json!({"type": "null"}))]}}),
        json!({"n": {"allOf": [object(json!({"type": "integer"})), object(json!({"minimum": 3}))]}}),
        json!({"n": {"allOf": [object(json!({})), object(json!({}))], "unevaluatedProperties": {"type": "integer"}}}),
        json!({"n": {"anyOf": [object(json!({})), object(json!({}))], "unevaluatedProperties": node}}),
        json!({"n": {"not": {"not": {"type": "object", "properties": {"a": node, "n": {"type": "integer"}}, "patternProperties": {"^a": node}}}}}),
        json!({"n": {"if": object(json!({"type": "string"})), "then": object(json!({})), "else": object(json!({"type": "integer"}))}}),
    ];
    for mut defs in defs {
        for (name, link) in &chain {
            if defs.get("c0").is_some() {
                defs[name] = link.clone();
            }
        }
        let schema = json!({"type": "object", "properties": {"a": node}, "$defs": defs});
        let work = move || {
            let parameters = compile(&schema);
            for leaf in ["\"x\"", "1", "\"2\"", "1.0", "null"] {
                for depth in [5, 10, 15, 20, 30, 60, 120] {
                    let mut text = String::new();
                    let _ = write!(
                        text,
                        "{}{{\"n\":{leaf},\"z\":{leaf}}}{}",
                        "{\"a\":".repeat(depth),
                        "}".repeat(depth)
                    );
                    let value: Value = serde_json::from_str(&text).unwrap();
                    let start = Instant::now();
                    let result = parameters.accept(value);
                    assert!(
                        start.elapsed().as_secs() < 3,
                        "{schema} {depth} {:?}",
                        start.elapsed()
                    );
                    if let Err(errors) = result {
                        assert!(!errors.is_empty() && errors.len() <= 20);
                    }
                }
            }
        };
        std::thread::Builder::new()
            .stack_size(2 << 20)
            .spawn(work)
            .unwrap()
            .join()
            .unwrap();
    }
}

#[test]
fn output_schemas_name_a_type_and_say_what_is_wrong() {
    for schema in [
        json!({}),
        json!({"properties": {}}),
        json!({"type": "nonsense"}),
        json!({"type": "object", "$ref": "http://x/"}),
    ] {
        assert!(OutputSchema::compile(&schema).is_err(), "{schema}");
    }
    let schema = OutputSchema::compile(&json!({
        "type": "object", "properties": {"size": {"type": "integer"}, "name": {"type": "string"}}, "required": ["size"]
    })).unwrap();
    assert!(schema.is_object());
    assert!(schema.check(&json!({"size": 3, "more": true})).is_ok());
    assert_eq!(
        schema.check(&json!({"size": "3"})),
        Err("size is \"3\", not an integer".into())
    );
    assert_eq!(
        schema
            .check(&json!({"name": 1}))
            .map_err(|said| said.matches(';').count()),
        Err(1)
    );
    assert!(
        schema
            .check(&json!([1]))
            .unwrap_err()
            .contains("not an object")
    );
    let mut deep = json!(1);
    for _ in 0..1_000 {
        deep = json!([deep]);
    }
    assert!(
        schema
            .check(&json!({"size": 1, "x": deep}))
            .unwrap_err()
            .contains("deeper")
    );
    assert!(
        !OutputSchema::compile(&json!({"type": ["object", "null"]}))
            .unwrap()
            .is_object()
    );
}
