use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::problem::Place;

fn items(text: &str) -> Vec<Value> {
    let (items, flaws) = read(text);
    assert_eq!(flaws, [], "{text}");
    items
        .into_iter()
        .map(|item| Value::Object(item.members))
        .collect()
}

/// The flaws' places and what is said, in one string each.
fn flaws(text: &str) -> Vec<(usize, String)> {
    let (_, flaws) = read(text);
    assert!(!flaws.is_empty(), "{text} is taken");
    let said = |flaw: Flaw| (flaw.offset, format!("{} | {}", flaw.what, flaw.hint));
    flaws.into_iter().map(said).collect()
}

#[test]
fn a_command_may_hold_anything() {
    let command =
        r#"echo "=== {raw ==="; cat x; echo; echo \"a\\b\"; ps } ; [ | grep -c "[r]un"; true"#;
    let item = json!({ "tool": "cmd_run", "args": { "command": command } });
    let read = items(&format!("{item} ;"));
    assert_eq!(read, [item]);
    assert_eq!(read[0]["args"]["command"], command);
    // An escaped backslash right before the closing quote.
    let item = r#"{"tool":"x","args":{"a":"ends in \\"}} ;"#;
    assert_eq!(items(item)[0]["args"]["a"], "ends in \\");
    assert_eq!(items("\n{\"tool\":\"a\"}\n;\t{\"tool\":\"b\"};").len(), 2);
}

#[test]
fn nothing_is_lost_in_silence() {
    let a = r#"{"tool":"a"}"#;
    for (text, offset, words) in [
        (
            format!("{a} ; ; {a} ;"),
            15,
            "an item is missing before this `;`",
        ),
        (format!("; {a} ;"), 0, "an item is missing"),
        (format!("{a} ;;"), 14, "an item is missing"),
        (format!("{a} {a} ;"), 13, "a `;` is missing between"),
        (a.to_owned(), 12, "the last item has no `;`"),
        (format!("{a} ; {a}"), 27, "the last item has no `;`"),
        (format!("run {a} ;"), 0, "text outside of the items"),
        (format!("{a} ; then {a} ;"), 15, "text outside of the items"),
        (format!("{a} then ; {a} ;"), 13, "text behind an item"),
        (format!("{a} ; done"), 15, "text outside of the items"),
        (
            r#"{"tool":"a" ;"#.to_owned(),
            12,
            "a `;` inside an item that is not closed",
        ),
        (
            r#"{"tool":"a","args":{"x":1} ;"#.to_owned(),
            27,
            "a `;` inside an item",
        ),
        (
            r#"{"tool":"a","args":{"x":["#.to_owned(),
            24,
            "the `[` here is not closed",
        ),
        (
            r#"{"tool":"a"#.to_owned(),
            8,
            "the text that begins here is not closed",
        ),
        (
            r#"{"tool":"a\"} ;"#.to_owned(),
            8,
            "the text that begins here is not closed",
        ),
        (r#"{"tool":"a"]} ;"#.to_owned(), 11, "does not fit"),
        (r#"{"tool":"a"}} ;"#.to_owned(), 12, "a `}` too many"),
        ("} ;".to_owned(), 0, "closes nothing"),
        (
            "{tool:\"x\"} ;".to_owned(),
            1,
            "the key `tool` stands without quotes",
        ),
        ("{'tool':\"x\"} ;".to_owned(), 1, "single quotes"),
        (
            r#"{"tool":"a","tool":"b"} ;"#.to_owned(),
            17,
            "`tool` is given twice",
        ),
        (
            r#"{"tool":"a","args":{"k":1,"k":2}} ;"#.to_owned(),
            28,
            "`k` is given twice",
        ),
        (r#"{"tool":"a",} ;"#.to_owned(), 12, "remove the `,`"),
        (
            r#"{"tool":"a"}, {"tool":"b"} ;"#.to_owned(),
            12,
            "write `;` instead of this `,`",
        ),
        (r#"[{"tool":"a"}]"#.to_owned(), 0, "it is no array"),
        (
            r#"{"tool":"a","args":{"host":$args.host}} ;"#.to_owned(),
            27,
            "write \"$args.host\" in double",
        ),
        (
            r#"{"tool":"a","args":{"l":[$args.l]}} ;"#.to_owned(),
            25,
            "write \"$args.l\" in",
        ),
        (
            r#"{"tool":"a","args":{"h":$args.h[0]}} ;"#.to_owned(),
            24,
            "write \"$args.h[0]\" in",
        ),
        (
            r#"{"tool":"a"} // first"#.to_owned(),
            13,
            "text behind an item",
        ),
        ("{\"tool\":\"a\nb\"} ;".to_owned(), 10, "line break"),
        (
            r#"{"tool":"a","args":{"n":99999999999999999999}} ;"#.to_owned(),
            24,
            "64 bits",
        ),
        (String::new(), 0, "no item at all"),
        (" \n ".to_owned(), 0, "no item at all"),
        (";".to_owned(), 0, "an item is missing"),
        ("\"{}\" ;".to_owned(), 0, "text outside"),
    ] {
        let found = flaws(&text);
        assert!(
            found
                .iter()
                .any(|(at, said)| said.contains(words) && *at == offset),
            "{text}\nwanted at {offset}: {words}\n{found:?}"
        );
    }
}

#[test]
fn places_are_lines_columns_and_bytes() {
    let text = "{\"tool\":\"é\"} ;\n é {\"tool\":\"b\"} ;";
    let (items, flaws) = read(text);
    assert_eq!(items.len(), 1);
    let place = Place::of(text, flaws[0].offset);
    assert_eq!((place.line, place.column, place.offset), (2, 2, 17));
}

#[test]
fn several_flaws_are_told_at_once_and_later_items_are_read() {
    let (items, flaws) = read(r#"{"tool":"a"} {"tool":"b"} ; ; {"tool":"c"}"#);
    assert_eq!(items.len(), 3);
    assert_eq!(flaws.len(), 3);
}

/// Texts that are dense in what matters to this grammar.
fn dense() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop_oneof![
            Just("{".to_owned()),
            Just("}".to_owned()),
            Just(";".to_owned()),
            Just("\"".to_owned()),
            Just("\\".to_owned()),
            Just(" ".to_owned()),
            Just("\"tool\":\"a\"".to_owned()),
            Just("{\"tool\":\"a\"} ;".to_owned()),
            Just("$args.x".to_owned()),
            Just("[".to_owned()),
            Just("é".to_owned()),
            any::<String>(),
        ],
        0..24,
    )
    .prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_text_is_items_or_flaws(text in dense()) {
        crate::fuzz::tools_string(&text);
    }

    #[test]
    fn any_items_come_back(texts in prop::collection::vec(any::<String>(), 1..5)) {
        let written: Vec<Map<String, Value>> = texts
            .iter()
            .map(|text| json!({ "tool": "x", "args": { text.as_str(): text } }).as_object().unwrap().clone())
            .collect();
        let text = write(written.clone());
        let read: Vec<_> = read(&text).0.into_iter().map(|item| item.members).collect();
        prop_assert_eq!(read, written);
    }
}
