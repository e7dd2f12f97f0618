//! From a document to groups, shape by shape. A key that is not known, a value of another
//! type, a word that is no choice: each is an error with its path and the right form, and
//! all of them are told at once. What is wrong in spite of a right shape is for `checks`.

mod fields;
mod item;

use serde_json::{Map, Value, json};

use crate::{
    json as reader,
    kind::described,
    name,
    problem::{Problem, listed, nearest},
    sequence::{Group, Missing},
    tools_string,
};
use fields::Fields;

const KEYS: [&str; 3] = ["name", "description", "groups"];
const GROUP_KEYS: [&str; 13] = [
    "name",
    "description",
    "step",
    "in",
    "out",
    "tools",
    "when",
    "parallel",
    "timeout",
    "on_error",
    "retries",
    "missing",
    "fallback",
];

/// Calls that the host takes in one batch.
const MOST_ITEMS: usize = 1_000;
const EXAMPLE: &str = r##"for example {"groups":[{"name":"look","in":{"path":"string"},"out":{"found":"any"},"tools":"{\"tool\":\"files_list\",\"args\":{\"path\":\"$args.path\"},\"as\":\"found\"} ;"}]}"##;

/// A group as it was read, with what could not be read.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) group: Group,
    pub(crate) path: String,
    /// The `in` was read: references can be judged.
    pub(crate) input_read: bool,
    /// The `out` was read: `as` can be judged.
    pub(crate) output_read: bool,
    /// All items were read.
    pub(crate) items_read: bool,
    /// The items' positions in the text.
    pub(crate) positions: Vec<usize>,
}

impl Draft {
    /// Such as `groups[0].tools[2]`.
    pub(crate) fn item_path(&self, item: usize) -> String {
        let position = self.positions.get(item).copied().unwrap_or(item);
        format!("{}.tools[{position}]", self.path)
    }
}

/// A whole document, from a file.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) groups: Value,
}

impl Document {
    pub(crate) fn read(text: &str, problems: &mut Vec<Problem>) -> Option<Self> {
        let value = match reader::whole(text.strip_prefix('\u{feff}').unwrap_or(text)) {
            Ok(value) => value,
            Err(fault) => {
                let text = text.strip_prefix('\u{feff}').unwrap_or(text);
                let flaw = tools_string::unreadable(text, 0, &fault);
                problems.push(
                    Problem::new("", "syntax", flaw.what)
                        .hint(flaw.hint)
                        .at(text, flaw.offset),
                );
                return None;
            }
        };
        let Value::Object(mut members) = value else {
            let what = format!("the document is {}, not an object", described(&value));
            problems.push(Problem::new("", "type", what).hint(EXAMPLE));
            return None;
        };
        unknown_keys("", &members, &KEYS, problems);
        let mut fields = Fields::new("", &members, problems);
        let name = fields.text("name");
        let description = fields.text("description");
        let groups = members.remove("groups").unwrap_or(Value::Null);
        Some(Self {
            name,
            description,
            groups,
        })
    }
}

/// The groups of a document. Nothing may be built of them if there are problems.
pub(crate) fn groups(
    value: &Value,
    problems: &mut Vec<Problem>,
    warnings: &mut Vec<Problem>,
) -> Vec<Draft> {
    let parsed;
    let mut value = value;
    if let Value::String(text) = value
        && let Ok(inner @ (Value::Array(_) | Value::Object(_))) = reader::whole(text)
    {
        parsed = inner;
        value = &parsed;
    }
    let groups = match value {
        Value::Array(groups) if groups.is_empty() => {
            problems.push(Problem::new("groups", "required", "there is no group").hint(EXAMPLE));
            return Vec::new();
        }
        Value::Array(groups) => groups,
        Value::Object(group) => {
            let hint = if group.contains_key("tools") {
                format!(
                    "put the group into an array, for example {}",
                    json!({ "groups": [group] })
                )
            } else {
                format!("write an array of groups, {EXAMPLE}")
            };
            problems.push(
                Problem::new("groups", "type", "`groups` is an object, not an array").hint(hint),
            );
            return Vec::new();
        }
        Value::Null => {
            problems
                .push(Problem::new("groups", "required", "there are no `groups`").hint(EXAMPLE));
            return Vec::new();
        }
        other => {
            let what = format!("`groups` is {}, not an array", described(other));
            problems.push(Problem::new("groups", "type", what).hint(EXAMPLE));
            return Vec::new();
        }
    };
    let groups = groups.iter().enumerate();
    groups
        .filter_map(|(i, value)| group(value, format!("groups[{i}]"), problems, warnings))
        .collect()
}

fn group(
    value: &Value,
    path: String,
    problems: &mut Vec<Problem>,
    warnings: &mut Vec<Problem>,
) -> Option<Draft> {
    let Value::Object(members) = value else {
        let what = format!("the group is {}, not an object", described(value));
        problems.push(Problem::new(path, "type", what).hint(EXAMPLE));
        return None;
    };
    unknown_keys(&path, members, &GROUP_KEYS, problems);
    let mut fields = Fields::new(&path, members, problems);
    let name = fields.required("name", r#"for example {"name":"look"}"#);
    let name = name.and_then(|text| match name::group(&text) {
        Ok(name) => Some(name),
        Err(why) => {
            fields.problem(
                "name",
                "name",
                format!("{text:?}: {why}"),
                r#"for example {"name":"look"}"#,
            );
            None
        }
    });
    let description = fields.text("description").unwrap_or_default();
    let (step, parallel) = (fields.flag("step", true), fields.flag("parallel", true));
    let (input, output) = (fields.slots("in", true), fields.slots("out", false));
    let when = fields.condition("when");
    let timeout_ms = fields.timeout();
    let on_error = fields.on_error(warnings);
    let missing = fields.missing(output.as_ref());
    let text = fields.tools();
    let (mut items, mut positions) = (Vec::new(), Vec::new());
    let mut items_read = text.is_some();
    if let Some(text) = text {
        let (raw, flaws) = tools_string::read(text);
        items_read = flaws.is_empty();
        let tools = format!("{path}.tools");
        problems.extend(flaws.into_iter().map(|flaw| {
            Problem::new(&tools, "syntax", flaw.what)
                .hint(flaw.hint)
                .at(text, flaw.offset)
        }));
        if raw.len() > MOST_ITEMS {
            let what = format!("{} items; a group holds at most {MOST_ITEMS}", raw.len());
            problems.push(Problem::new(&tools, "limit", what).hint("split the group"));
        }
        for (i, raw) in raw.iter().enumerate() {
            match item::read(raw, text, &format!("{tools}[{i}]"), problems) {
                Some(item) => {
                    items.push(item);
                    positions.push(i);
                }
                None => items_read = false,
            }
        }
    }
    Some(Draft {
        input_read: input.is_some(),
        output_read: output.is_some(),
        items_read,
        positions,
        path,
        group: Group {
            name: name?,
            description,
            step,
            input: input.unwrap_or_default(),
            output: output.unwrap_or_default(),
            when,
            parallel,
            timeout_ms,
            on_error,
            missing: missing.unwrap_or(Missing::Fail),
            items,
        },
    })
}

/// Keys that are none. What was meant is named where it can be told.
pub(crate) fn unknown_keys(
    path: &str,
    members: &Map<String, Value>,
    known: &[&str],
    problems: &mut Vec<Problem>,
) {
    for key in members.keys().filter(|key| !known.contains(&key.as_str())) {
        problems.push(unknown_key(path, key, known));
    }
}

pub(crate) fn unknown_key(path: &str, key: &str, known: &[&str]) -> Problem {
    let shown: String = key.chars().take(80).collect();
    let hint = match nearest(key, known.iter().copied()) {
        Some(near) => format!(
            "write `{near}`; legal keys: {}",
            listed(known.iter().copied())
        ),
        None => format!("legal keys: {}", listed(known.iter().copied())),
    };
    Problem::new(
        join(path, &shown),
        "unknown_key",
        format!("there is no key `{shown}`"),
    )
    .hint(hint)
}

pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

#[cfg(test)]
mod tests;
