use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Id, name, arguments of each call, and whether the reply was cut.
type Seen = (Vec<(Option<String>, String, Option<String>)>, bool);

fn seen(text: &str) -> Seen {
    let batch = read(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    let calls = batch.calls.into_iter().map(|call| {
        let arguments = match call.arguments {
            RawArguments::Absent => None,
            RawArguments::Text(text) => Some(text),
            RawArguments::Value(value) => panic!("parsed: {value}"),
        };
        (call.id, call.name, arguments)
    });
    (calls.collect(), batch.cut)
}

fn wrong(text: &str) -> (String, Option<(usize, usize)>, String) {
    let error = read(text).err().unwrap_or_else(|| panic!("read: {text}"));
    (error.what, error.at, error.hint.unwrap_or_default())
}

fn call(id: &str, name: &str, arguments: &str) -> (Option<String>, String, Option<String>) {
    (Some(id.into()), name.into(), Some(arguments.into()))
}

#[test]
fn arguments_stay_as_they_were_written() {
    let text = r#"{"calls": [
        {"id": "a", "name": "x", "arguments": {"n": 12345678901234567890123, "n": 1, "s": "\u0041"}},
        {"id": "b", "name": "y", "arguments": "{\"path\": \".\"}"},
        {"name": "z"},
        {"name": "z", "arguments": null, "id": null},
        {"id": "c", "name": "broken", "arguments": "{\"path\": "},
        {"id": "d", "name": "lone", "arguments": "\ud800"}
    ], "finish_reason": "stop"}"#;
    let (calls, cut) = seen(text);
    assert!(!cut);
    assert_eq!(
        calls[0],
        call(
            "a",
            "x",
            r#"{"n": 12345678901234567890123, "n": 1, "s": "\u0041"}"#
        )
    );
    assert_eq!(calls[1], call("b", "y", r#"{"path": "."}"#));
    assert_eq!(calls[2], (None, "z".into(), None));
    assert_eq!(calls[3], (None, "z".into(), Some("null".into())));
    assert_eq!(calls[4], call("c", "broken", r#"{"path": "#));
    assert_eq!(calls[5], call("d", "lone", r#""\ud800""#));
}

#[test]
fn a_bare_list_is_a_batch() {
    let text = "\u{feff} [{\"id\":\"a\",\"name\":\"x\",\"arguments\":{}}]\n";
    assert_eq!(seen(text), (vec![call("a", "x", "{}")], false));
}

#[test]
fn providers_forms_are_batches() {
    let message = r#"{"role": "assistant", "content": null, "refusal": null, "tool_calls": [
        {"id": "a", "type": "function", "index": 0, "function": {"name": "x", "arguments": "{\"p\": 1}"}},
        {"id": "b", "type": "function", "function": {"name": "y", "arguments": ""}}
    ]}"#;
    let both = vec![call("a", "x", r#"{"p": 1}"#), call("b", "y", "")];
    assert_eq!(seen(message), (both.clone(), false));
    for (reason, cut) in [
        ("\"tool_calls\"", false),
        ("\"length\"", true),
        ("null", false),
    ] {
        let response = format!(
            r#"{{"id": "r", "object": "chat.completion", "usage": {{}}, "choices": [{{"index": 0, "message": {message}, "finish_reason": {reason}}}]}}"#
        );
        assert_eq!(seen(&response), (both.clone(), cut), "{reason}");
    }
    for (reason, cut) in [
        ("tool_use", false),
        ("max_tokens", true),
        ("model_context_window_exceeded", true),
    ] {
        let anthropic = json!({
            "id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": reason,
            "content": [
                {"type": "thinking", "thinking": "x", "signature": "y"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "a", "name": "x", "input": {"p": 1}},
                {"type": "server_tool_use", "id": "s", "name": "web", "input": {}},
                {"type": "tool_use", "id": "b", "name": "y", "input": {}}
            ]
        });
        let calls = vec![call("a", "x", r#"{"p":1}"#), call("b", "y", "{}")];
        assert_eq!(seen(&anthropic.to_string()), (calls, cut), "{reason}");
    }
    for own in [
        r#""finish_reason": "length""#,
        r#""stop_reason": "max_tokens""#,
    ] {
        assert!(
            seen(&format!(r#"{{"calls": [{{"name": "x"}}], {own}}}"#)).1,
            "{own}"
        );
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (text, what, at, hint) in [
        ("", "this is no JSON: EOF", (1, 1), ""),
        (
            "{\"calls\": [\n  {\"name\": \"x\",}\n]}",
            "this is no JSON: key must be a string",
            (2, 16),
            "",
        ),
        ("[] x", "this is no JSON: trailing characters", (1, 4), ""),
        ("5", "this is no batch", (1, 1), "a batch is"),
        ("{\"call\": []}", "this is no batch", (1, 1), "a batch is"),
        (
            "\n {\"calls\": {}}",
            "`calls` has to be a list",
            (2, 12),
            "",
        ),
        (
            "{\"calls\": [5]}",
            "a call has to be an object",
            (1, 12),
            "",
        ),
        (
            "{\"calls\": [{\"id\": \"é\",\n \"nmae\": 1}]}",
            "unknown key `nmae`",
            (2, 10),
            "`name`",
        ),
        (
            "{\"calls\": [{\"name\": \"x\", \"zzz\": 1}]}",
            "unknown key `zzz`",
            (1, 33),
            "`id`, `name`, `arguments`",
        ),
        (
            "{\"calls\": [{\"name\": \"x\"}], \"model\": 1}",
            "unknown key `model`",
            (1, 37),
            "known are",
        ),
        (
            "{\"calls\": [{\"id\": \"a\"}]}",
            "the call has no `name`",
            (1, 12),
            "",
        ),
        (
            "{\"calls\": [{\"name\": 5}]}",
            "`name` has to be a text",
            (1, 21),
            "",
        ),
        (
            "{\"calls\": [{\"name\": \"x\", \"id\": 5}]}",
            "`id` has to be a text",
            (1, 32),
            "",
        ),
        (
            "[{\"name\": \"x\", \"name\": \"y\"}]",
            "`name` stands there twice",
            (1, 24),
            "leave one",
        ),
        (
            "{\"calls\": [{\"name\": \"x\"}], \"calls\": []}",
            "`calls` stands there twice",
            (1, 37),
            "",
        ),
        (
            "{\"calls\": [{\"name\": \"x\"}], \"finish_reason\": 1}",
            "`finish_reason` has to be a text",
            (1, 45),
            "",
        ),
        (
            "{\"choices\": []}",
            "the response has 0 choices",
            (1, 13),
            "one choice",
        ),
        (
            "{\"choices\": [{\"delta\": {}}]}",
            "the choice has no `message`",
            (1, 13),
            "streamed",
        ),
        (
            "{\"tool_calls\": [{\"id\": \"a\"}]}",
            "the tool call has no `function`",
            (1, 17),
            "functions",
        ),
    ] {
        let error = wrong(text);
        assert!(error.0.starts_with(what), "{text}: {error:?}");
        assert_eq!(error.1, Some(at), "{text}: {error:?}");
        assert!(error.2.contains(hint), "{text}: {error:?}");
    }
}

#[test]
fn a_reply_without_calls_is_no_batch() {
    for text in [
        "[]",
        r#"{"calls": []}"#,
        r#"{"role": "assistant", "content": "No."}"#,
        r#"{"role": "assistant", "content": "No.", "tool_calls": null}"#,
        r#"{"role": "assistant", "content": [{"type": "text", "text": "No."}]}"#,
        r#"{"choices": [{"message": {"role": "assistant", "content": "No."}, "finish_reason": "stop"}]}"#,
    ] {
        assert_eq!(wrong(text).0, "there are no calls in it", "{text}");
    }
}

#[test]
fn depth_and_length_have_a_bound() {
    let deep = format!(
        "[{{\"name\": \"x\", \"arguments\": {}{}}}]",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    // Deep arguments are the kernel's to judge, and nothing here recurses into them.
    assert_eq!(seen(&deep).0.len(), 1);
    let many = format!("[{}5]", "5,".repeat(MAX_CALLS));
    assert!(wrong(&many).0.contains("10001 entries"));
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z\"\\\\\u{e9}\u{1f600}\n]{0,6}".prop_map(Value::from),
    ];
    let keys = prop_oneof![
        Just("calls"),
        Just("choices"),
        Just("message"),
        Just("tool_calls"),
        Just("function"),
        Just("content"),
        Just("name"),
        Just("id"),
        Just("arguments"),
        Just("input"),
        Just("type"),
        Just("finish_reason"),
        Just("x"),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..5).prop_map(|members| members
                .into_iter()
                .map(|(k, v)| (k.to_owned(), v))
                .collect::<Value>()),
        ]
    })
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let _ = read(&text);
    }

    #[test]
    fn no_json_makes_it_panic_and_a_place_is_in_the_text(value in value(), cut in 0_usize..200) {
        let text = serde_json::to_string_pretty(&value).unwrap();
        let short: String = text.chars().take(cut).collect();
        for text in [&text, &short] {
            if let Err(BatchFileError { at: Some((line, column)), .. }) = read(text) {
                prop_assert!(line <= text.split('\n').count());
                prop_assert!(column <= text.split('\n').nth(line - 1).map_or(0, |line| line.chars().count()) + 1);
            }
        }
    }

    #[test]
    fn what_was_written_is_what_is_called(calls in prop::collection::vec((any::<String>(), any::<String>(), value()), 1..6)) {
        let written: Vec<Value> = calls
            .iter()
            .map(|(id, name, arguments)| json!({"id": id, "name": name, "arguments": arguments}))
            .collect();
        let (read, cut) = seen(&json!({ "calls": written }).to_string());
        prop_assert!(!cut);
        prop_assert_eq!(read.len(), calls.len());
        for ((id, name, arguments), read) in calls.iter().zip(read) {
            let text = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
            prop_assert_eq!(read, (Some(id.clone()), name.clone(), Some(text)));
        }
    }
}

#[test]
fn one_call_may_say_how_long_it_may_take() {
    let read = |text| read_call(text).map(|(call, timeout)| (call.name, timeout));
    let ok = |ms| Ok(("x".to_owned(), Some(Duration::from_millis(ms))));
    assert_eq!(read(r#"{"name": "x"}"#), Ok(("x".to_owned(), None)));
    assert_eq!(read(r#"{"name": "x", "timeout": "1.5s"}"#), ok(1_500));
    assert_eq!(read(r#"{"name": "x", "timeout": 2}"#), ok(2_000));
    for (text, what) in [
        ("", "this is no JSON"),
        ("[]", "a call has to be an object"),
        (r#"{"name": "x", "nmae": 1}"#, "unknown key `nmae`"),
        (r#"{"name": "x", "name": "y"}"#, "`name` stands there twice"),
        (r#"{"arguments": {}}"#, "the call has no `name`"),
        (
            r#"{"name": "x", "timeout": "soon"}"#,
            "`timeout` is no length",
        ),
        (r#"{"name": "x", "timeout": -1}"#, "`timeout` is no length"),
        (
            r#"{"name": "x", "timeout": "9999999d"}"#,
            "`timeout` is no length",
        ),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.what.contains(what), "{text}: {error:?}");
    }
}
