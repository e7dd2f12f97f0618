//! References to inputs in texts, parsed once. A value that takes a reference's place is
//! data: nobody looks for references in it again.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use unicode_normalization::char::is_combining_mark;

use crate::name::normal;

const START: &str = "$args.";
const BRACED: &str = "${args.";
const LITERAL: &str = "$$args.";
/// Arrays and objects inside each other. Stored, each takes three levels, and a reader of
/// JSON takes 128.
const MAX_DEPTH: usize = 24;

/// Where a value is found: an input, then fields and indexes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Path {
    pub(crate) key: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rest: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Step {
    Index(usize),
    Field(String),
}

/// A JSON value with references in its texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Template {
    /// Holds no reference at any depth.
    Plain(Value),
    /// A text that is one reference: keeps the value's type.
    Whole(Path),
    /// A text with references in it: gets the values as text.
    Text(Vec<Part>),
    Array(Vec<Template>),
    Object(Vec<(String, Template)>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Part {
    Text(String),
    Path(Path),
}

/// What is wrong with a reference as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// Where in the value, such as `.argv[2]`; empty for the value itself.
    pub(crate) at: String,
    pub(crate) what: String,
    pub(crate) hint: String,
}

impl Malformed {
    fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            at: String::new(),
            what: what.into(),
            hint: hint.into(),
        }
    }
}

/// Characters of keys.
pub(crate) fn is_key_char(c: char) -> bool {
    c.is_alphanumeric() || is_combining_mark(c) || matches!(c, '_' | '-')
}

pub(crate) fn is_key(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_key_char)
}

impl Path {
    /// The reference at the start of `text`, and its length in bytes; none where none is.
    pub(crate) fn at_start(text: &str) -> Option<Result<(Self, usize), Malformed>> {
        if let Some(rest) = text.strip_prefix(START) {
            Some(Self::parse(rest).map(|(path, length)| (path, START.len() + length)))
        } else {
            let rest = text.strip_prefix(BRACED)?;
            Some(Self::parse(rest).and_then(|(path, length)| {
                if rest.get(length..).is_some_and(|rest| rest.starts_with('}')) {
                    Ok((path, BRACED.len() + length + 1))
                } else {
                    Err(Malformed::new(
                        format!("`{BRACED}` is not closed with `}}` behind its path"),
                        format!("write `${{args.{}}}`", path.key),
                    ))
                }
            }))
        }
    }

    /// What follows `args.`.
    fn parse(text: &str) -> Result<(Self, usize), Malformed> {
        let length = key_length(text);
        let Some(key) = text.get(..length).filter(|key| !key.is_empty()) else {
            return Err(Malformed::new(
                format!("`{START}` is not followed by the name of an input"),
                format!("write `{START}name`, or `{LITERAL}` for the text itself"),
            ));
        };
        let mut path = Self {
            key: normal(key),
            rest: Vec::new(),
        };
        let mut at = length;
        loop {
            let rest = text.get(at..).unwrap_or_default();
            if let Some(field) = rest.strip_prefix('.') {
                let length = key_length(field);
                let Some(field) = field.get(..length).filter(|field| !field.is_empty()) else {
                    break; // A full stop, say.
                };
                path.rest.push(Step::Field(field.to_owned()));
                at += 1 + length;
            } else if let Some(index) = rest.strip_prefix('[') {
                let digits =
                    index.len() - index.trim_start_matches(|c: char| c.is_ascii_digit()).len();
                let number = index.get(..digits).and_then(|digits| digits.parse().ok());
                let closed = index
                    .get(digits..)
                    .is_some_and(|rest| rest.starts_with(']'));
                match number {
                    Some(number) if closed => path.rest.push(Step::Index(number)),
                    _ => {
                        return Err(Malformed::new(
                            format!("the `[` behind `{START}{key}` holds no index"),
                            format!(
                                "write an index from 0 such as `{START}{key}[0]`, or `${{args.{key}}}[` for text that begins with `[`"
                            ),
                        ));
                    }
                }
                at += digits + 2;
            } else {
                break;
            }
        }
        Ok((path, at))
    }

    /// The value, or in words why there is none.
    pub(crate) fn resolve<'v>(&self, inputs: &'v Map<String, Value>) -> Result<&'v Value, String> {
        let mut value = inputs
            .get(&self.key)
            .ok_or_else(|| format!("{self} does not resolve: there is no input `{}`", self.key))?;
        for (i, step) in self.rest.iter().enumerate() {
            let next = match step {
                Step::Field(field) => value.as_object().and_then(|members| members.get(field)),
                Step::Index(index) => value.as_array().and_then(|items| items.get(*index)),
            };
            value = next.ok_or_else(|| {
                let before = Self {
                    key: self.key.clone(),
                    rest: self.rest.get(..i).unwrap_or_default().to_vec(),
                };
                format!("{self} does not resolve: {before} is {}", contents(value))
            })?;
        }
        Ok(value)
    }

    /// Without the `$`.
    fn spelled(&self) -> String {
        let mut text = format!("args.{}", self.key);
        for step in &self.rest {
            match step {
                Step::Field(field) => {
                    text.push('.');
                    text.push_str(field);
                }
                Step::Index(index) => {
                    text.push('[');
                    text.push_str(&index.to_string());
                    text.push(']');
                }
            }
        }
        text
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "${}", self.spelled())
    }
}

fn key_length(text: &str) -> usize {
    text.find(|c| !is_key_char(c)).unwrap_or(text.len())
}

/// What there is instead of what was looked for.
fn contents(value: &Value) -> String {
    const SHOWN: usize = 12;
    match value {
        Value::Object(members) => {
            let more = if members.len() > SHOWN { ", …" } else { "" };
            let keys = crate::problem::listed(members.keys().take(SHOWN).map(String::as_str));
            format!("an object with {keys}{more}")
        }
        other => crate::kind::described(other),
    }
}

impl Template {
    /// # Errors
    ///
    /// The first reference that is written wrongly.
    pub(crate) fn parse(value: &Value) -> Result<Self, Malformed> {
        Self::within(value, MAX_DEPTH)
    }

    fn within(value: &Value, room: usize) -> Result<Self, Malformed> {
        let Some(room) = room.checked_sub(1) else {
            return Err(Malformed::new(
                format!("nested deeper than {MAX_DEPTH} arrays and objects"),
                "make it flatter",
            ));
        };
        let parsed = match value {
            Value::String(text) => Self::text(text)?,
            Value::Array(items) => {
                let items = items.iter().enumerate().map(|(i, item)| {
                    Self::within(item, room).map_err(|error| error.inside(&format!("[{i}]")))
                });
                Self::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Object(members) => {
                let members = members.iter().map(|(key, value)| {
                    if key.contains(START) {
                        return Err(Malformed::new(
                            format!("the key {} holds a reference", crate::kind::quoted(key)),
                            "references stand in values only",
                        ));
                    }
                    let value = Self::within(value, room)
                        .map_err(|error| error.inside(&format!(".{key}")))?;
                    Ok((key.clone(), value))
                });
                Self::Object(members.collect::<Result<_, _>>()?)
            }
            other => Self::Plain(other.clone()),
        };
        Ok(match parsed {
            Self::Array(items) if items.iter().all(Self::is_plain) => {
                Self::Plain(items.into_iter().filter_map(Self::into_plain).collect())
            }
            Self::Object(members) if members.iter().all(|(_, value)| value.is_plain()) => {
                let plain = members
                    .into_iter()
                    .filter_map(|(key, value)| Some((key, value.into_plain()?)));
                Self::Plain(plain.collect::<Map<_, _>>().into())
            }
            other => other,
        })
    }

    fn text(text: &str) -> Result<Self, Malformed> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            if rest.starts_with(LITERAL) {
                plain.push_str(START);
                at += LITERAL.len();
            } else if let Some(reference) = Path::at_start(rest) {
                let (path, length) = reference?;
                if !plain.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                }
                parts.push(Part::Path(path));
                at += length;
            } else {
                let skip = rest.char_indices().skip(1).find(|(_, c)| *c == '$');
                let length = skip.map_or(rest.len(), |(at, _)| at);
                plain.push_str(rest.get(..length).unwrap_or_default());
                at += length;
            }
        }
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(match <[Part; 1]>::try_from(parts) {
            Ok([Part::Path(path)]) => Self::Whole(path),
            Ok([Part::Text(text)]) => Self::Plain(text.into()),
            Err(parts) if parts.is_empty() => Self::Plain("".into()),
            Err(parts) => Self::Text(parts),
        })
    }

    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }

    fn into_plain(self) -> Option<Value> {
        match self {
            Self::Plain(value) => Some(value),
            _ => None,
        }
    }

    /// The value with every reference replaced.
    ///
    /// # Errors
    ///
    /// Where in the value, and why a reference there does not resolve.
    pub(crate) fn fill(&self, inputs: &Map<String, Value>) -> Result<Value, (String, String)> {
        let here = |why: String| (String::new(), why);
        Ok(match self {
            Self::Plain(value) => value.clone(),
            Self::Whole(path) => path.resolve(inputs).map_err(here)?.clone(),
            Self::Text(parts) => {
                let mut text = String::new();
                for part in parts {
                    match part {
                        Part::Text(plain) => text.push_str(plain),
                        Part::Path(path) => {
                            text.push_str(&render(path.resolve(inputs).map_err(here)?));
                        }
                    }
                }
                Value::String(text)
            }
            Self::Array(items) => {
                let items = items.iter().enumerate().map(|(i, item)| {
                    item.fill(inputs)
                        .map_err(|(at, why)| (format!("[{i}]{at}"), why))
                });
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Self::Object(members) => {
                let members = members.iter().map(|(key, value)| {
                    let value = value.fill(inputs);
                    value
                        .map(|value| (key.clone(), value))
                        .map_err(|(at, why)| (format!(".{key}{at}"), why))
                });
                Value::Object(members.collect::<Result<_, _>>()?)
            }
        })
    }

    /// Every reference and where it stands, such as `.argv[2]`.
    pub(crate) fn references<'t>(&'t self, at: &str, found: &mut Vec<(String, &'t Path)>) {
        match self {
            Self::Plain(_) => {}
            Self::Whole(path) => found.push((at.to_owned(), path)),
            Self::Text(parts) => found.extend(parts.iter().filter_map(|part| match part {
                Part::Path(path) => Some((at.to_owned(), path)),
                Part::Text(_) => None,
            })),
            Self::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    item.references(&format!("{at}[{i}]"), found);
                }
            }
            Self::Object(members) => {
                for (key, value) in members {
                    value.references(&format!("{at}.{key}"), found);
                }
            }
        }
    }

    /// As it would be written: parsing it gives this again.
    pub(crate) fn write(&self) -> Value {
        match self {
            Self::Plain(value) => escaped(value),
            Self::Whole(path) => path.to_string().into(),
            Self::Text(parts) => {
                let parts = parts.iter().map(|part| match part {
                    Part::Text(text) => text.replace(START, LITERAL),
                    // In braces: whatever follows is not taken for a part of the path.
                    Part::Path(path) => format!("${{{}}}", path.spelled()),
                });
                parts.collect::<String>().into()
            }
            Self::Array(items) => items.iter().map(Self::write).collect(),
            Self::Object(members) => {
                let members = members
                    .iter()
                    .map(|(key, value)| (key.clone(), value.write()));
                members.collect::<Map<_, _>>().into()
            }
        }
    }
}

impl Malformed {
    fn inside(mut self, step: &str) -> Self {
        self.at.insert_str(0, step);
        self
    }
}

fn escaped(value: &Value) -> Value {
    match value {
        Value::String(text) => text.replace(START, LITERAL).into(),
        Value::Array(items) => items.iter().map(escaped).collect(),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| (key.clone(), escaped(value)));
            members.collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

/// A value inside a text: scalars as they are, null as nothing, the rest as compact JSON.
pub(crate) fn render(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => "".into(),
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}

#[cfg(test)]
mod tests;
