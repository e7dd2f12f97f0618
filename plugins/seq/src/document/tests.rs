use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{fuzz, help, testing::Fake};

fn problems(groups: &Value) -> Vec<Problem> {
    let (mut problems, mut warnings) = (Vec::new(), Vec::new());
    super::groups(groups, &mut problems, &mut warnings);
    problems
}

#[test]
fn the_example_of_the_help_is_created_without_a_word() {
    let fake = Fake::new();
    for tool in ["files_list", "files_stat", "files_find", "files_grep"] {
        fake.tool(tool, |_, _| Ok(json!(1)));
    }
    let document: Value = serde_json::from_str(help::EXAMPLE).unwrap();
    let created = fake
        .create("look-around", document["groups"].clone())
        .unwrap();
    assert_eq!(created["warnings"], json!([]));
    let report = fake.run("look-around", json!({ "path": ".", "deep": true }));
    assert_eq!(report["status"], "ok");
    let text = help::seq_help().unwrap();
    assert!(text.contains(help::EXAMPLE.trim()) && !text.contains("{example}"));
}

#[test]
fn a_file_is_one_document_and_nothing_else() {
    let read = |text: &str| {
        let mut problems = Vec::new();
        let document = Document::read(text, &mut problems);
        (document.is_some(), problems)
    };
    assert!(read("\u{feff}{\"groups\":[]}").0);
    for (text, reason, words) in [
        ("", "syntax", ""),
        ("{\"groups\":[]} x", "syntax", "text behind the document"),
        (
            "{\"groups\":[],\"groups\":[]}",
            "syntax",
            "`groups` is given twice",
        ),
        ("{\"Groups\":[]}", "unknown_key", "there is no key `Groups`"),
        ("[]", "type", "not an object"),
        ("{\"name\":1}", "type", "`name` is the number 1"),
        (
            "{\"groups\":[{\"n\":99999999999999999999}]}",
            "syntax",
            "64 bits",
        ),
        ("{\"groups\":", "syntax", "not closed"),
    ] {
        let (_, problems) = read(text);
        assert_eq!(problems[0].reason, reason, "{text}");
        assert!(problems[0].message.contains(words), "{text}: {problems:?}");
    }
}

#[test]
fn every_choice_lists_what_is_legal() {
    for (field, value, words) in [
        (
            "on_error",
            json!("retyr"),
            "write \"retry\"; legal: `abort`, `continue`, `retry`",
        ),
        (
            "missing",
            json!("ignore"),
            "legal: `fail`, `skip`, `degrade`",
        ),
        ("retries", json!(11), "from 0 to 10"),
        ("timeout", json!("0s"), "a positive number of seconds"),
        ("timeout", json!(-1), "a positive number of seconds"),
        ("parallel", json!("false"), "{\"parallel\":false}"),
        ("step", json!(0), "{\"step\":false}"),
        ("in", json!({ "a": "text" }), "legal types: `string`"),
        ("in", json!({ "a": "sting" }), "write \"string\""),
        ("in", json!({ "a b": "string" }), "letters, digits"),
        ("out", json!({ "a": "string?" }), "write \"string\""),
        (
            "when",
            json!("$args.a && $args.b"),
            "not supported: use two groups or `seq_when_call`",
        ),
        ("fallback", json!({ "a": 1 }), "\"missing\":\"degrade\""),
    ] {
        let group = json!([{ "name": "a", "tools": "{\"tool\":\"echo\"} ;", field: value }]);
        let found = problems(&group);
        assert_eq!(found.len(), 1, "{field}: {found:?}");
        assert!(
            found[0].path.starts_with(&format!("groups[0].{field}")),
            "{found:?}"
        );
        assert!(
            found[0].hint.as_ref().unwrap().contains(words),
            "{field}: {found:?}"
        );
    }
    for (retries, on_error, bad) in [
        (2, "abort", true),
        (2, "continue", true),
        (0, "abort", false),
        (2, "retry", false),
    ] {
        let group = json!([{ "name": "a", "tools": "{\"tool\":\"echo\"} ;", "on_error": on_error, "retries": retries }]);
        assert_eq!(!problems(&group).is_empty(), bad, "{on_error} {retries}");
    }
    // `null` is the same as leaving it out; `bool` is `boolean`.
    let group = json!([{ "name": "a", "tools": "{\"tool\":\"echo\"} ;", "when": null, "retries": null, "in": { "b": "bool?" } }]);
    assert_eq!(problems(&group), []);
}

#[test]
fn every_item_is_judged_at_its_place() {
    for (item, path, words) in [
        (r#"{"args":{}} ;"#, "tool", "names no `tool`"),
        (r#"{"tool":""} ;"#, "tool", "empty"),
        (r#"{"tool":"$args.x"} ;"#, "tool", "no name of a tool"),
        (r#"{"tool":"Echo"} ;"#, "tool", "no name of a tool"),
        (r#"{"tool":"echo","Args":{}} ;"#, "Args", "no key `Args`"),
        (r#"{"tool":"echo","args":"{}"} ;"#, "args", "not an object"),
        (r#"{"tool":"echo","as":1} ;"#, "as", "not a text"),
        (
            r#"{"tool":"echo","unsafe_serial":"true"} ;"#,
            "unsafe_serial",
            "not true or false",
        ),
        (
            r#"{"tool":"echo","args":{"a":["$args."]}} ;"#,
            "args.a[0]",
            "name of an input",
        ),
        (
            r#"{"tool":"seq_call","args":{"target":""}} ;"#,
            "args.target",
            "not empty",
        ),
        (
            r##"{"tool":"seq_call","args":{"target":"#"}} ;"##,
            "args.target",
            "not empty",
        ),
        (
            r#"{"tool":"seq_call","args":{"target":"$args.x"}} ;"#,
            "args.target",
            "literal",
        ),
        (
            r##"{"tool":"seq_call","args":{"target":"#../x"}} ;"##,
            "args.target",
            "no `/`",
        ),
        (
            r#"{"tool":"seq_call","args":{}} ;"#,
            "args.target",
            "no `target`",
        ),
        (
            r#"{"tool":"seq_call","args":{"target":"a","in_sequence":"b"}} ;"#,
            "args.in_sequence",
            "from outside",
        ),
        (
            r#"{"tool":"seq_call","args":{"target":"a","when":"true"}} ;"#,
            "args.when",
            "no `when`",
        ),
        (
            r#"{"tool":"seq_when_call","args":{"target":"a"}} ;"#,
            "args.when",
            "no `when`",
        ),
        (
            r#"{"tool":"seq_when_call","args":{"target":"a","when":"$args.a ="}} ;"#,
            "args.when",
            "no operator",
        ),
        (
            r#"{"tool":"seq_call","args":{"target":"a","args":"x"}} ;"#,
            "args.args",
            "no object",
        ),
    ] {
        let found = problems(
            &json!([{ "name": "a", "tools": format!("{{\"tool\":\"echo\"}} ;\n {item}") }]),
        );
        assert_eq!(found.len(), 1, "{item}: {found:?}");
        assert_eq!(
            found[0].path,
            format!("groups[0].tools[1].{path}"),
            "{item}"
        );
        assert!(found[0].message.contains(words), "{item}: {found:?}");
        if matches!(path, "tool" | "Args" | "args" | "as" | "unsafe_serial") {
            let at = found[0].at.unwrap();
            assert!(
                at.line == 2 && at.column >= 2 && at.offset >= 19,
                "{item}: {at:?}"
            );
        }
    }
}

#[test]
fn all_problems_of_a_document_are_told_at_once() {
    let found = problems(&json!([
        { "name": "", "tools": "{\"tool\":\"echo\"}", "paralell": true },
        7,
        { "name": "c", "in": "host", "tools": [{ "tool": "echo" }] },
    ]));
    let paths: Vec<&str> = found.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "groups[0].paralell",
            "groups[0].name",
            "groups[0].tools",
            "groups[1]",
            "groups[2].in",
            "groups[2].tools"
        ]
    );
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,6}", "[一-龥]{1,4}", "[a-zé][a-z0-9_-]{0,5}"]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e6..1e6).prop_map(|float: f64| json!(float)),
        any::<String>().prop_map(|text| text.replace("args.", "").into()),
        name().prop_map(|key| format!("$args.{key}").into()),
        (name(), name()).prop_map(|(a, b)| format!("$$args.{a} ${{args.{b}}}! $HOME $").into()),
        name().prop_map(|key| format!("$args.{key}[3].b").into()),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name(), inner), 0..4)
                .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

fn group_value() -> impl Strategy<Value = Value> {
    let types = prop::sample::select(vec![
        "string", "integer", "number", "boolean", "array", "object", "any",
    ]);
    let slots = || prop::collection::vec((name(), types.clone()), 0..3);
    let item = (
        name(),
        json_value(),
        prop::option::of(name()),
        any::<bool>(),
    );
    let when = prop_oneof![
        Just(json!(true)),
        name().prop_map(|key| format!("$args.{key} contains \"a && b\"").into()),
        name().prop_map(|key| format!("3.5 <= $args.{key}.n").into()),
    ];
    let policy = prop_oneof![
        Just(json!({})),
        Just(json!({ "on_error": "continue", "timeout": "1500ms", "missing": "skip" })),
        (0..=10_u32).prop_map(
            |n| json!({ "on_error": "retry", "retries": n, "step": false, "parallel": false })
        ),
    ];
    (name(), any::<String>(), slots(), slots(), prop::collection::vec(item, 1..4), when, policy).prop_map(
        |(name, description, input, output, items, when, policy)| {
            let slots = |slots: Vec<(String, &str)>| slots.into_iter().map(|(k, t)| (k, t.into())).collect::<Map<_, _>>();
            let items = items.into_iter().enumerate().map(|(i, (key, value, slot, call))| {
                let mut item = if call {
                    json!({ "tool": "seq_when_call", "args": { "target": key, "when": "$args.a == 1", "args": { "v": value } } })
                } else {
                    json!({ "tool": format!("t{i}"), "args": { key: value } })
                };
                if let Some(slot) = slot {
                    item["as"] = slot.into();
                }
                item.as_object().unwrap().clone()
            });
            let mut group = json!({ "name": name, "description": description, "in": slots(input), "out": slots(output), "when": when, "tools": tools_string::write(items) });
            group.as_object_mut().unwrap().extend(policy.as_object().unwrap().clone());
            group
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Document → groups → document → the same groups, and the same after storing.
    #[test]
    fn documents_come_back(groups in prop::collection::vec(group_value(), 1..4)) {
        let text = json!({ "groups": groups }).to_string();
        prop_assert_eq!(problems(&json!(groups)), []);
        fuzz::document(&text);
    }

    #[test]
    fn any_text_is_a_document_or_problems(text in any::<String>()) {
        fuzz::document(&text);
        fuzz::condition(&text);
        fuzz::template(&text);
    }

    /// Whatever shape the parameter `groups` has.
    #[test]
    fn any_value_is_groups_or_problems(value in json_value()) {
        let found = problems(&value);
        prop_assert!(!found.is_empty());
        fuzz::document(&json!({ "groups": value }).to_string());
        fuzz::document(&json!({ "groups": [{ "name": "a", "tools": value, "in": value, "when": value }] }).to_string());
    }

    #[test]
    fn any_condition_is_a_condition_or_an_error(
        parts in prop::collection::vec(prop::sample::select(vec!["$args.a", "${args.b.c}", "==", "<", "<=", " ", "\"x\"", "\"", "&&", "!", "contains", "true", "null", "3", "-", ".", "[0]", "$$args.a", "é"]), 0..8)
    ) {
        fuzz::condition(&parts.concat());
        fuzz::template(&parts.concat());
    }
}

/// The fuzzers' bodies without a fuzzer: random changes to good texts, for as long as asked.
#[test]
fn changed_documents_are_documents_or_problems() {
    let rounds = if soaked() { 200_000 } else { 2_000 };
    let seeds = [
        help::EXAMPLE.to_owned(),
        json!({ "groups": [{ "name": "a", "in": { "x": "any" }, "when": "$args.x >= 2", "tools": "{\"tool\":\"seq_when_call\",\"args\":{\"target\":\"#b\",\"when\":\"$args.x.y == \\\"q\\\"\",\"args\":{\"k\":[\"$$args.x\",\"a ${args.x[0]} b\"]}}} ;" }] }).to_string(),
    ];
    let mut random: u64 = 0x2545_f491_4f6c_dd1d;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % below as u64).unwrap()
    };
    const DENSE: [&str; 20] = [
        "{", "}", "[", "]", "\"", "\\", "\\\\", ";", ":", ",", "$args.", "${args.", "$$", " ",
        "\n", "null", "9", "é", "#", "\u{301}",
    ];
    for _ in 0..rounds {
        let mut text: Vec<char> = seeds[next(seeds.len())].chars().collect();
        for _ in 0..=next(4) {
            let at = next(text.len());
            match next(4) {
                0 => {
                    text.remove(at);
                }
                1 => {
                    let end = (at + next(20)).min(text.len());
                    text.drain(at..end);
                }
                2 => {
                    let from = next(text.len());
                    let piece: Vec<char> = text[from..(from + next(12)).min(text.len())].to_vec();
                    text.splice(at..at, piece);
                }
                _ => {
                    text.splice(at..at, DENSE[next(DENSE.len())].chars());
                }
            }
            if text.is_empty() {
                break;
            }
        }
        let text: String = text.into_iter().collect();
        fuzz::document(&text);
        fuzz::tools_string(&text);
        fuzz::condition(&text);
        fuzz::template(&text);
    }
}

#[expect(clippy::disallowed_methods, reason = "the one switch of the tests")]
fn soaked() -> bool {
    std::env::var_os("TOOLGATE_SOAK").is_some()
}
