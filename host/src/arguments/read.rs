//! Raw arguments to one JSON object. Nothing is repaired: arguments that were cut off or
//! are malformed are refused, since the half of a file is worse than no file.

use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value, error::Category, map::Entry};

use super::{MAX_DEPTH, wording::Kind};
use crate::tool::{RawArguments, Reason, ToolError};

/// Longest text, in bytes: far above any real call, far below the host's memory.
const MAX_TEXT: usize = 64 << 20;
/// How much of malformed text is quoted on each side of the fault, in bytes.
const NEAR: usize = 24;
/// A client that could not parse a model's arguments says so under this key.
const ARG_ERROR: &str = "__arg_error";

/// The arguments as one JSON object; absent, blank and `null` are the empty one. `cut`:
/// the model's reply ended by its length limit within this call, so that nothing of it
/// can be trusted to be whole, even where it happens to parse.
///
/// # Errors
///
/// One error with reason `arguments`: cut off, malformed, not an object, duplicate keys
/// at any depth, an integer outside 64 bits, nested deeper than [`MAX_DEPTH`], longer
/// than 64 MiB, or the client's own `__arg_error`, whose text is the detail word for word.
pub fn read(raw: &RawArguments, cut: bool) -> Result<Value, ToolError> {
    let (value, length) = match raw {
        RawArguments::Absent => (Ok(Value::Null), 0),
        // Several vendors' arguments are a JSON string that holds JSON text.
        RawArguments::Text(text) | RawArguments::Value(Value::String(text)) => {
            (parse(text), text.len())
        }
        RawArguments::Value(value) if deeper_than(value, MAX_DEPTH) => (Err(too_deep()), 0),
        RawArguments::Value(value) => (Ok(value.clone()), 0),
    };
    if let Ok(Value::Object(map)) = &value
        && let Some(said) = map.get(ARG_ERROR)
    {
        let detail = said
            .as_str()
            .map_or_else(|| said.to_string(), str::to_owned);
        return Err(error(
            detail,
            "send the arguments again, as one complete JSON object",
        ));
    }
    if cut {
        return Err(cut_off(
            length,
            "the reply reached its length limit (finish reason length)",
        ));
    }
    match value? {
        Value::Null => Ok(Value::Object(Map::new())),
        object @ Value::Object(_) => Ok(object),
        other => Err(error(
            format!(
                "the arguments are {}, not a JSON object",
                Kind::of(&other).with_article()
            ),
            "send one JSON object with the tool's parameters as its keys",
        )),
    }
}

/// Strict JSON: no duplicate keys, no integer that a float would have to stand for.
/// Blank text is `null`.
pub(super) fn parse(text: &str) -> Result<Value, ToolError> {
    if text.len() > MAX_TEXT {
        return Err(error(
            format!(
                "the arguments are {} bytes long, the limit is {MAX_TEXT}",
                text.len()
            ),
            "send less at once, for example a file in several parts",
        ));
    }
    if text.trim_ascii().is_empty() {
        return Ok(Value::Null);
    }
    let mut huge = false;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Strict { huge: &mut huge }
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|fault| malformed(text, &fault))?;
    match huge.then(|| oversized_integer(text)).flatten() {
        Some((at, digits)) => Err(error(
            format!(
                "the integer {} at byte {at} does not fit into 64 bits",
                short(digits)
            ),
            "use a smaller number, or a string where the parameter is one",
        )),
        None => Ok(value),
    }
}

/// Whether the value nests more than `limit` arrays and objects; stops looking there.
pub(super) fn deeper_than(value: &Value, limit: usize) -> bool {
    match value {
        Value::Array(items) => limit == 0 || items.iter().any(|item| deeper_than(item, limit - 1)),
        Value::Object(map) => limit == 0 || map.values().any(|item| deeper_than(item, limit - 1)),
        _ => false,
    }
}

fn error(detail: impl Into<String>, hint: &str) -> ToolError {
    ToolError::new(Reason::Arguments, detail).hint(hint)
}

fn too_deep() -> ToolError {
    error(
        format!("the arguments nest deeper than {MAX_DEPTH} arrays and objects"),
        "send a flatter value",
    )
}

fn cut_off(at: usize, why: &str) -> ToolError {
    error(
        format!("the arguments were cut off at byte {at}: {why}; nothing was run"),
        "send less in one call: write a long file in several parts, each in a call of its own",
    )
}

fn malformed(text: &str, fault: &serde_json::Error) -> ToolError {
    if fault.classify() == Category::Eof {
        return cut_off(text.len(), "the JSON ends before it is complete");
    }
    let message = fault.to_string();
    if message.starts_with("recursion limit exceeded") {
        return too_deep();
    }
    let message = message
        .rsplit_once(" at line ")
        .map_or(message.as_str(), |(said, _)| said);
    let at = offset(text, fault.line(), fault.column());
    let start = text.floor_char_boundary(at.saturating_sub(NEAR));
    let end = text.ceil_char_boundary(at.saturating_add(NEAR).min(text.len()));
    error(
        format!(
            "malformed JSON at byte {at}: {}, near {}",
            short(message),
            Value::from(text.get(start..end).unwrap_or_default()),
        ),
        "send the arguments again as one valid JSON object, each key once, with quotes, backslashes and line ends inside strings escaped",
    )
}

/// The byte of a line (from 1) and a column in bytes (from 0 or 1, as the parser has it).
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    before
        .saturating_add(column.saturating_sub(1))
        .min(text.len())
}

/// The first integer that fits neither `i64` nor `u64`, with its byte, in valid JSON.
fn oversized_integer(text: &str) -> Option<(usize, &str)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while let Some(&inner) = bytes.get(at).filter(|inner| **inner != b'"') {
                    at += if inner == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let rest = bytes.get(at..)?;
                let length = rest
                    .iter()
                    .position(|b| !matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'))
                    .unwrap_or(rest.len());
                let token = text.get(at..at + length)?;
                let integer = !token.contains(['.', 'e', 'E']);
                if integer && token.parse::<i64>().is_err() && token.parse::<u64>().is_err() {
                    return Some((at, token));
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    None
}

/// The first hundred bytes or so: enough to recognise, too little to flood a model.
fn short(text: &str) -> &str {
    text.get(..text.floor_char_boundary(100)).unwrap_or(text)
}

/// Builds a [`Value`] and refuses duplicate keys; `huge` is set where a float may stand
/// for an integer that was too large.
struct Strict<'h> {
    huge: &'h mut bool,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        *self.huge |= value.abs() >= i64::MAX as f64;
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(Strict {
            huge: &mut *self.huge,
        })? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            match map.entry(key) {
                Entry::Occupied(entry) => {
                    let key = Value::from(short(entry.key()));
                    return Err(A::Error::custom(format_args!("duplicate key {key}")));
                }
                Entry::Vacant(entry) => {
                    entry.insert(access.next_value_seed(Strict {
                        huge: &mut *self.huge,
                    })?);
                }
            }
        }
        Ok(Value::Object(map))
    }
}
