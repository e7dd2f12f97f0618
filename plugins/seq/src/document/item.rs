//! One item of a `tools` string: which tool, with what, into which slot.

use serde_json::{Map, Value, json};

use super::unknown_key;
use crate::{
    condition::Condition,
    kind::described,
    name::normal,
    problem::Problem,
    reference::Template,
    sequence::{CALL, Call, Item, Target, WHEN_CALL},
    tools_string::RawItem,
};

const KEYS: [&str; 4] = ["tool", "args", "as", "unsafe_serial"];
const CALL_KEYS: [&str; 2] = ["target", "args"];
const WHEN_CALL_KEYS: [&str; 3] = ["target", "when", "args"];
const FORM: &str =
    r#"for example {"tools":"{\"tool\":\"files_list\",\"args\":{\"path\":\".\"}} ;"}"#;

/// `text` is the whole string, for places.
pub(super) fn read(
    raw: &RawItem,
    text: &str,
    path: &str,
    problems: &mut Vec<Problem>,
) -> Option<Item> {
    let before = problems.len();
    let mut add = |key: &str, reason, what: String, hint: String| {
        let place = raw
            .keys
            .iter()
            .find(|(_, k)| k == key)
            .map_or(raw.offset, |(at, _)| *at);
        problems.push(
            Problem::new(format!("{path}.{key}"), reason, what)
                .hint(hint)
                .at(text, place),
        );
    };
    for key in raw
        .members
        .keys()
        .filter(|key| !KEYS.contains(&key.as_str()))
    {
        let problem = unknown_key(path, key, &KEYS);
        add(
            key,
            "unknown_key",
            problem.message,
            problem.hint.unwrap_or_default(),
        );
    }
    let tool = match raw.members.get("tool") {
        None => {
            add(
                "tool",
                "required",
                "the item names no `tool`".into(),
                FORM.into(),
            );
            None
        }
        Some(Value::String(tool)) if is_tool_name(tool) => Some(tool.clone()),
        Some(Value::String(tool)) if tool.trim().is_empty() => {
            add(
                "tool",
                "required",
                "the item's `tool` is empty".into(),
                FORM.into(),
            );
            None
        }
        Some(Value::String(tool)) => {
            let hint = if tool.contains("args.") {
                "a tool's name is literal: use one item for each tool, with `seq_when_call` where it depends on an input".into()
            } else {
                format!("small letters, digits and `_`, {FORM}")
            };
            add(
                "tool",
                "name",
                format!("{tool:?} is no name of a tool"),
                hint,
            );
            None
        }
        Some(other) => {
            add(
                "tool",
                "type",
                format!("`tool` is {}, not a text", described(other)),
                FORM.into(),
            );
            None
        }
    };
    let empty = Map::new();
    let args = match raw.members.get("args") {
        None | Some(Value::Null) => Some(&empty),
        Some(Value::Object(args)) => Some(args),
        Some(other) => {
            let hint = r#"write an object, for example {"args":{"path":"."}}"#;
            add(
                "args",
                "type",
                format!("`args` is {}, not an object", described(other)),
                hint.into(),
            );
            None
        }
    };
    let slot = match raw.members.get("as") {
        None | Some(Value::Null) => None,
        Some(Value::String(slot)) => Some(normal(slot)),
        Some(other) => {
            let hint = r#"write the name of a slot of `out`, for example {"as":"found"}"#;
            add(
                "as",
                "type",
                format!("`as` is {}, not a text", described(other)),
                hint.into(),
            );
            None
        }
    };
    let unsafe_serial = match raw.members.get("unsafe_serial") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(flag)) => *flag,
        Some(other) => {
            let hint = r#"without quotes, for example {"unsafe_serial":true}"#;
            add(
                "unsafe_serial",
                "type",
                format!("`unsafe_serial` is {}, not true or false", described(other)),
                hint.into(),
            );
            false
        }
    };
    let (tool, args) = (tool?, args?);
    let (args, call) = if tool == CALL || tool == WHEN_CALL {
        let (args, call) = call(&tool, args, &format!("{path}.args"), problems)?;
        (args, Some(call))
    } else {
        (args.clone(), None)
    };
    let args = match Template::parse(&Value::Object(args)) {
        Ok(args) => Some(args),
        Err(error) => {
            let at = format!("{path}.args{}", error.at);
            problems.push(Problem::new(at, "reference", error.what).hint(error.hint));
            None
        }
    };
    (problems.len() == before).then_some(Item {
        tool,
        args: args?,
        slot,
        unsafe_serial,
        call,
    })
}

/// The arguments that stay, and where they lead.
fn call(
    tool: &str,
    args: &Map<String, Value>,
    path: &str,
    problems: &mut Vec<Problem>,
) -> Option<(Map<String, Value>, Call)> {
    let known: &[&str] = if tool == CALL {
        &CALL_KEYS
    } else {
        &WHEN_CALL_KEYS
    };
    let before = problems.len();
    for key in args.keys().filter(|key| !known.contains(&key.as_str())) {
        problems.push(match key.as_str() {
            "group" | "sequence" | "name" if !args.contains_key("target") => renamed(tool, args, key, path),
            "in_sequence" => Problem::new(format!("{path}.{key}"), "unknown_key", "`in_sequence` is for calls from outside")
                .hint("inside a sequence `target` names a group of the same sequence, or `#name` another sequence"),
            "when" => Problem::new(format!("{path}.{key}"), "unknown_key", "`seq_call` has no `when`")
                .hint("use the tool `seq_when_call`"),
            _ => unknown_key(path, key, known),
        });
    }
    let target = match args.get("target") {
        Some(Value::String(text)) => match Target::parse(text) {
            Ok(target) => Some(target),
            Err(why) => {
                let hint = "name a group of this sequence, or `#name` another sequence";
                problems.push(
                    Problem::new(
                        format!("{path}.target"),
                        "target",
                        format!("{text:?}: {why}"),
                    )
                    .hint(hint),
                );
                None
            }
        },
        Some(other) => {
            let what = format!("`target` is {}, not a text", described(other));
            problems.push(
                Problem::new(format!("{path}.target"), "type", what)
                    .hint(r##"for example {"target":"group"} or {"target":"#sequence"}"##),
            );
            None
        }
        None if problems.len() == before => {
            let hint = r#"name a group of this sequence, or `#name` another sequence, for example {"target":"group"}"#;
            problems.push(
                Problem::new(
                    format!("{path}.target"),
                    "required",
                    format!("`{tool}` has no `target`"),
                )
                .hint(hint),
            );
            None
        }
        None => None,
    };
    let when = if tool == WHEN_CALL {
        when(args.get("when"), path, problems)
    } else {
        None
    };
    if !matches!(
        args.get("args"),
        None | Some(Value::Object(_) | Value::Null)
    ) {
        let hint = r#"the inputs of what is called, for example {"args":{"host":"$args.host"}}"#;
        problems
            .push(Problem::new(format!("{path}.args"), "type", "`args` is no object").hint(hint));
    }
    if problems.len() > before {
        return None;
    }
    let mut kept = args.clone();
    kept.shift_remove("when");
    let target = target?;
    kept.insert("target".into(), target.to_string().into());
    Some((kept, Call { target, when }))
}

fn when(value: Option<&Value>, path: &str, problems: &mut Vec<Problem>) -> Option<Condition> {
    let at = format!("{path}.when");
    match value {
        Some(Value::Bool(fixed)) => Some(Condition::Fixed(*fixed)),
        Some(Value::String(text)) => match Condition::parse(text) {
            Ok(condition) => Some(condition),
            Err(error) => {
                let what = format!("`{text}`: {}", error.what);
                problems.push(
                    Problem::new(at, "condition", what)
                        .hint(error.hint)
                        .at(text, error.offset),
                );
                None
            }
        },
        _ => {
            let hint = r#"a condition over this group's inputs, for example {"when":"$args.deep == true"}; without a condition use `seq_call`"#;
            problems.push(Problem::new(at, "required", "`seq_when_call` has no `when`").hint(hint));
            None
        }
    }
}

/// `group` and the like, where `target` is meant.
fn renamed(tool: &str, args: &Map<String, Value>, key: &str, path: &str) -> Problem {
    let args: Map<String, Value> = args
        .iter()
        .map(|(k, value)| {
            let value = match value.as_str() {
                Some(text) if k == key && key == "sequence" && !text.starts_with('#') => {
                    format!("#{text}").into()
                }
                _ => value.clone(),
            };
            (if k == key { "target".into() } else { k.clone() }, value)
        })
        .collect();
    Problem::new(
        format!("{path}.{key}"),
        "unknown_key",
        format!("`{tool}` has no `{key}`"),
    )
    .hint(format!(
        "write `target`, for example {}",
        json!({ "args": args })
    ))
}

/// As the host has it.
fn is_tool_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}
