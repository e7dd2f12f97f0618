//! One reader per field of a group: the value or its default, or a problem that shows the
//! right form. `null` is the same as leaving a field out.

use serde_json::{Map, Value, json};

use super::join;
use crate::{
    condition::Condition,
    kind::{LEGAL, Slots, Type, described},
    name::normal,
    problem::{Problem, listed, nearest},
    reference::is_key,
    sequence::{DEFAULT_TIMEOUT, Missing, OnError},
    tools_string,
};

const MOST_RETRIES: u64 = 10;

pub(super) struct Fields<'a, 'p> {
    path: &'p str,
    members: &'a Map<String, Value>,
    problems: &'p mut Vec<Problem>,
}

impl<'a, 'p> Fields<'a, 'p> {
    pub(super) fn new(
        path: &'p str,
        members: &'a Map<String, Value>,
        problems: &'p mut Vec<Problem>,
    ) -> Self {
        Self {
            path,
            members,
            problems,
        }
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.members.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn problem(
        &mut self,
        key: &str,
        reason: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.problems
            .push(Problem::new(join(self.path, key), reason, message).hint(hint));
    }

    fn wrong_type(&mut self, key: &str, value: &Value, wanted: &str, hint: impl Into<String>) {
        let what = format!("`{key}` is {}, not {wanted}", described(value));
        self.problem(key, "type", what, hint);
    }

    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        match self.get(key)? {
            Value::String(text) => Some(text.clone()),
            other => {
                self.wrong_type(
                    key,
                    other,
                    "a text",
                    format!("for example {}", json!({ key: "text" })),
                );
                None
            }
        }
    }

    pub(super) fn required(&mut self, key: &str, hint: &str) -> Option<String> {
        if self.get(key).is_none() {
            self.problem(key, "required", format!("`{key}` is missing"), hint);
        }
        self.text(key)
    }

    pub(super) fn flag(&mut self, key: &str, default: bool) -> bool {
        match self.get(key) {
            None => default,
            Some(Value::Bool(value)) => *value,
            Some(other) => {
                let hint = format!("without quotes, for example {}", json!({ key: !default }));
                self.wrong_type(key, other, "true or false", hint);
                default
            }
        }
    }

    /// None: they could not be read.
    pub(super) fn slots(&mut self, key: &str, is_input: bool) -> Option<Slots> {
        let example = format!("for example {}", json!({ key: { "host": "string" } }));
        let members = match self.get(key) {
            None => return Some(Slots::default()),
            Some(Value::Object(members)) => members,
            Some(other) => {
                let hint = format!("write an object of names and types, {example}");
                self.wrong_type(key, other, "an object", hint);
                return None;
            }
        };
        let mut slots = Slots::default();
        let mut all = true;
        for (slot, value) in members {
            let at = format!("{key}.{slot}");
            let before = self.problems.len();
            let name = normal(slot);
            if !is_key(&name) {
                self.problem(
                    &at,
                    "name",
                    format!("{slot:?} is no name for a slot"),
                    format!("letters, digits, `_` and `-`, {example}"),
                );
            }
            if slots.get(&name).is_some() {
                self.problem(
                    &at,
                    "duplicate",
                    format!("`{name}` is declared twice"),
                    "keep one of the two",
                );
            }
            match value.as_str().and_then(Type::parse) {
                Some(ty) if ty.optional && !is_input => self.problem(
                    &at,
                    "type",
                    "an output is never optional: it may stay unset in any case",
                    format!("write \"{}\"", ty.kind.as_str()),
                ),
                Some(ty) => {
                    if self.problems.len() == before {
                        slots.0.push((name, ty));
                    }
                }
                None => {
                    let near = value
                        .as_str()
                        .and_then(|word| nearest(word.trim_end_matches('?'), LEGAL));
                    let near = near.map_or_else(String::new, |near| format!("write \"{near}\"; "));
                    let optional = if is_input {
                        ", each with `?` behind it where it is optional"
                    } else {
                        ""
                    };
                    self.problem(
                        &at,
                        "enum",
                        format!("{} is no type", described(value)),
                        format!("{near}legal types: {}{optional}", listed(LEGAL)),
                    );
                }
            }
            all &= self.problems.len() == before;
        }
        all.then_some(slots)
    }

    pub(super) fn condition(&mut self, key: &str) -> Condition {
        let always = Condition::Fixed(true);
        match self.get(key) {
            None => always,
            Some(Value::Bool(fixed)) => Condition::Fixed(*fixed),
            Some(Value::String(text)) => match Condition::parse(text) {
                Ok(condition) => condition,
                Err(error) => {
                    let what = format!("`{text}`: {}", error.what);
                    let problem = Problem::new(join(self.path, key), "condition", what)
                        .hint(error.hint)
                        .at(text, error.offset);
                    self.problems.push(problem);
                    always
                }
            },
            Some(other) => {
                let hint = format!("for example {}", json!({ key: "$args.n > 3" }));
                self.wrong_type(key, other, "a condition", hint);
                always
            }
        }
    }

    /// Milliseconds.
    pub(super) fn timeout(&mut self) -> u64 {
        let default = u64::try_from(DEFAULT_TIMEOUT.as_millis()).unwrap_or(u64::MAX);
        let Some(value) = self.get("timeout") else {
            return default;
        };
        let ms = match value {
            Value::Number(number) => number
                .as_f64()
                .and_then(|seconds| milliseconds(seconds * 1e3)),
            Value::String(text) => duration(text),
            _ => None,
        };
        ms.unwrap_or_else(|| {
            let what = format!("{} is no time limit", described(value));
            let hint = "a positive number of seconds, or text such as `500ms`, `30s`, `2m`, for example {\"timeout\":\"30s\"}";
            self.problem("timeout", "format", what, hint);
            default
        })
    }

    pub(super) fn on_error(&mut self, warnings: &mut Vec<Problem>) -> OnError {
        let word = self.choice("on_error", &["abort", "continue", "retry"]);
        let retries = match self.get("retries") {
            None => 0,
            Some(value) => match value.as_u64() {
                Some(retries @ 0..=MOST_RETRIES) => u32::try_from(retries).unwrap_or(0),
                _ => {
                    let what = format!("`retries` is {}", described(value));
                    let hint = format!(
                        "a whole number from 0 to {MOST_RETRIES}, for example {{\"on_error\":\"retry\",\"retries\":2}}"
                    );
                    self.problem("retries", "range", what, hint);
                    0
                }
            },
        };
        match word {
            Some("continue") => {
                self.no_retries(retries, "continue");
                OnError::Continue
            }
            Some("retry") => {
                if retries == 0 {
                    let what = "`on_error` is `retry` with 0 `retries`: nothing is tried again";
                    warnings.push(
                        Problem::new(join(self.path, "retries"), "retries", what)
                            .hint("for example {\"retries\":2}"),
                    );
                }
                OnError::Retry(retries)
            }
            _ => {
                self.no_retries(retries, "abort");
                OnError::Abort
            }
        }
    }

    fn no_retries(&mut self, retries: u32, on_error: &str) {
        if retries > 0 {
            self.problem(
                "retries",
                "conflict",
                format!("`retries` has no meaning with `on_error: {on_error}`"),
                format!("for example {{\"on_error\":\"retry\",\"retries\":{retries}}}"),
            );
        }
    }

    /// None: it could not be read.
    pub(super) fn missing(&mut self, output: Option<&Slots>) -> Option<Missing> {
        let word = self.choice("missing", &["fail", "skip", "degrade"]);
        let fallback = match self.get("fallback") {
            None => None,
            Some(Value::Object(members)) => Some(members),
            Some(other) => {
                self.wrong_type(
                    "fallback",
                    other,
                    "an object",
                    "write slot and value, for example {\"fallback\":{\"load\":0}}",
                );
                return None;
            }
        };
        if word != Some("degrade") {
            if fallback.is_some() {
                self.problem(
                    "fallback",
                    "conflict",
                    format!(
                        "`fallback` has no meaning with `missing: {}`",
                        word.unwrap_or("fail")
                    ),
                    "add \"missing\":\"degrade\", or leave `fallback` out",
                );
            }
            return Some(if word == Some("skip") {
                Missing::Skip
            } else {
                Missing::Fail
            });
        }
        let mut values = Map::new();
        for (slot, value) in fallback.into_iter().flatten() {
            let at = format!("fallback.{slot}");
            let slot = normal(slot);
            let Some(ty) = output?.get(&slot) else {
                let declared = listed(output?.keys());
                self.problem(
                    &at,
                    "slot",
                    format!("`out` has no slot `{slot}`"),
                    format!("declared: {declared}"),
                );
                continue;
            };
            let read = match ty.kind {
                // One more element, whatever it is.
                crate::kind::Kind::Array => Ok(value.clone()),
                kind => kind.coerce(value.clone()),
            };
            match read {
                Ok(value) => {
                    values.insert(slot, value);
                }
                Err(why) => self.problem(
                    &at,
                    "type",
                    format!("the fallback does not fit its slot: {why}"),
                    format!("`{slot}` is declared as `{}`", ty.kind.as_str()),
                ),
            }
        }
        Some(Missing::Degrade(values))
    }

    fn choice(&mut self, key: &str, legal: &[&'static str]) -> Option<&'static str> {
        let value = self.get(key)?;
        let found = value
            .as_str()
            .and_then(|word| legal.iter().find(|legal| **legal == word));
        if found.is_none() {
            let near = value
                .as_str()
                .and_then(|word| nearest(word, legal.iter().copied()));
            let near = near.map_or_else(String::new, |near| format!("write \"{near}\"; "));
            self.problem(
                key,
                "enum",
                format!("{} is no choice for `{key}`", described(value)),
                format!("{near}legal: {}", listed(legal.iter().copied())),
            );
        }
        found.copied()
    }

    /// The text of the items.
    pub(super) fn tools(&mut self) -> Option<&'a str> {
        const EXAMPLE: &str =
            r#"for example {"tools":"{\"tool\":\"files_list\",\"args\":{\"path\":\".\"}} ;"}"#;
        match self.get("tools") {
            None => {
                self.problem("tools", "required", "`tools` is missing", EXAMPLE);
                None
            }
            Some(Value::String(text)) => Some(text),
            Some(other) => {
                let items: Option<Vec<Map<String, Value>>> = match other {
                    Value::Array(items) => {
                        items.iter().map(|item| item.as_object().cloned()).collect()
                    }
                    Value::Object(item) => Some(vec![item.clone()]),
                    _ => None,
                };
                let example = match items.filter(|items| !items.is_empty()) {
                    Some(items) => format!(
                        "for example {}",
                        json!({ "tools": tools_string::write(items) })
                    ),
                    None => EXAMPLE.to_owned(),
                };
                let hint = format!("one text that holds each item followed by `;`, {example}");
                self.wrong_type("tools", other, "a text", hint);
                None
            }
        }
    }
}

/// Such as `500ms`, `30s`, `2m`, `1.5`.
fn duration(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = text.split_at(
        text.find(|c: char| c.is_ascii_alphabetic())
            .unwrap_or(text.len()),
    );
    let factor = match unit {
        "ms" => 1.0,
        "" | "s" => 1e3,
        "m" => 6e4,
        _ => return None,
    };
    milliseconds(number.trim_end().parse::<f64>().ok()? * factor)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "in bounds"
)]
fn milliseconds(ms: f64) -> Option<u64> {
    /// A day: longer is no time limit but a mistake.
    const MOST: f64 = 86_400_000.0;
    (ms.is_finite() && ms > 0.0 && ms <= MOST).then(|| (ms.round() as u64).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_positive() {
        for (text, ms) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("2m", 120_000),
            ("20", 20_000),
            ("0.5 s", 500),
        ] {
            assert_eq!(duration(text), Some(ms), "{text}");
        }
        for text in [
            "",
            "0",
            "-1s",
            "1h",
            "NaN",
            "inf",
            "1e99",
            "s",
            "30 seconds",
        ] {
            assert_eq!(duration(text), None, "{text}");
        }
    }
}
