use serde_json::json;

use super::*;

fn inputs() -> Map<String, Value> {
    let inputs = json!({
        "host": "h1", "n": 3, "list": ["a", { "b": [true] }], "none": null,
        "obj": { "x-y": 1, "deep": { "z": "q" } }, "主机": "节点", "evil": "$args.host ${args.n}",
        "e\u{301}": 0, "\u{e9}": "composed",
    });
    inputs.as_object().unwrap().clone()
}

fn filled(text: &str) -> Value {
    Template::parse(&json!(text))
        .unwrap()
        .fill(&inputs())
        .unwrap()
}

#[test]
fn a_whole_reference_keeps_its_type_and_inside_text_it_is_rendered() {
    for (text, value) in [
        ("$args.n", json!(3)),
        ("${args.n}", json!(3)),
        ("$args.list", json!(["a", { "b": [true] }])),
        ("$args.list[1].b[0]", json!(true)),
        ("$args.obj.x-y", json!(1)),
        ("$args.none", json!(null)),
        ("$args.主机", json!("节点")),
        (
            "n=$args.n, l=$args.list;",
            json!("n=3, l=[\"a\",{\"b\":[true]}];"),
        ),
        ("<$args.none>", json!("<>")),
        ("${args.host}.example.com", json!("h1.example.com")),
        ("${args.obj.deep.z}[0]", json!("q[0]")),
        ("at $args.host.", json!("at h1.")),
        ("$args.host$args.n", json!("h13")),
        ("$args.e\u{301}!", json!("composed!")),
    ] {
        assert_eq!(filled(text), value, "{text}");
    }
}

#[test]
fn every_other_dollar_is_text() {
    for (text, value) in [
        ("$HOME $1 $$ $", "$HOME $1 $$ $"),
        ("$args", "$args"),
        ("$argsx.host", "$argsx.host"),
        ("$$args.host", "$args.host"),
        ("$$$args.host", "$$args.host"),
        ("${HOME}", "${HOME}"),
        ("$${args.host}", "$h1"),
        ("", ""),
    ] {
        assert_eq!(filled(text), value, "{text}");
    }
}

#[test]
fn a_substituted_value_is_never_looked_through() {
    assert_eq!(filled("$args.evil"), "$args.host ${args.n}");
    assert_eq!(filled("a $args.evil"), "a $args.host ${args.n}");
}

#[test]
fn a_path_that_does_not_resolve_is_named() {
    let inputs = inputs();
    for (text, words) in [
        ("$args.nope", "there is no input `nope`"),
        (
            "x $args.obj.deep.nope",
            "$args.obj.deep is an object with `z`",
        ),
        ("$args.list[7]", "$args.list is an array of 2"),
        ("$args.list.a", "$args.list is an array of 2"),
        ("$args.n.x", "$args.n is the number 3"),
        ("$args.none.x", "$args.none is null"),
    ] {
        let value = json!({ "a": [text] });
        let (at, why) = Template::parse(&value).unwrap().fill(&inputs).unwrap_err();
        assert_eq!(at, ".a[0]");
        assert!(why.contains(words), "{text}: {why}");
    }
}

#[test]
fn what_is_meant_as_a_reference_is_never_text() {
    for text in [
        "$args.",
        "$args. x",
        "$args.[0]",
        "${args.}",
        "${args.host",
        "${args.host .x}",
        "$args.list[]",
        "$args.list[-1]",
        "$args.list[*]",
        "$args.list[0",
        "$args.list[99999999999999999999999]",
    ] {
        let error = Template::parse(&json!({ "k": [0, text] })).unwrap_err();
        assert_eq!(error.at, ".k[1]", "{text}");
        assert!(!error.hint.is_empty());
    }
    assert!(Template::parse(&json!({ "$args.host": 1 })).is_err());
    let mut deep = json!("$args.n");
    for _ in 0..200 {
        deep = json!([deep]);
    }
    assert!(Template::parse(&deep).is_err());
}

#[test]
fn it_is_written_as_it_was_meant() {
    for text in [
        "$args.a",
        "$args.a.b[2]",
        "x ${args.a}.com",
        "$$args.a",
        "$$$args.a $",
        "$${args.a}",
        "plain",
    ] {
        let template = Template::parse(&json!([text, { "k": text }])).unwrap();
        assert_eq!(
            Template::parse(&template.write()).unwrap(),
            template,
            "{text}"
        );
        let stored = serde_json::to_string(&template).unwrap();
        assert_eq!(serde_json::from_str::<Template>(&stored).unwrap(), template);
    }
}

#[test]
fn references_are_found_with_their_places() {
    let template =
        Template::parse(&json!({ "a": "$args.x", "b": ["-", { "c": "$args.y.z $args.x" }] }))
            .unwrap();
    let mut found = Vec::new();
    template.references("args", &mut found);
    let found: Vec<(String, String)> = found
        .into_iter()
        .map(|(at, path)| (at, path.to_string()))
        .collect();
    assert_eq!(
        found,
        [
            ("args.a".into(), "$args.x".into()),
            ("args.b[1].c".into(), "$args.y.z".into()),
            ("args.b[1].c".into(), "$args.x".to_owned()),
        ]
    );
}
