//! JSON as it was written: a duplicate key, or a number that would be rounded, is an error
//! instead of a silent choice. Errors say where, without a decoder's own words.

use std::{cell::RefCell, fmt};

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Number, Value};

/// Arrays and objects inside each other; far below what a guest's stack takes.
pub(crate) const MAX_DEPTH: usize = 64;

/// Why a text is no JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Bytes from the start of the text.
    pub(crate) offset: usize,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The text ends inside the value.
    End,
    /// An object names this key twice.
    Duplicate(String),
    /// An integer of more than 64 bits.
    Integer,
    /// Nested deeper than [`MAX_DEPTH`].
    Deep,
    /// Something follows the value.
    Behind,
    /// Anything else.
    Syntax,
}

/// The text is one value and nothing else.
pub(crate) fn whole(text: &str) -> Result<Value, Fault> {
    let (value, end) = first(text)?;
    match text.get(end..).map(str::trim_start) {
        Some(rest) if !rest.is_empty() => Err(Fault {
            offset: text.len() - rest.len(),
            kind: Kind::Behind,
        }),
        _ => Ok(value),
    }
}

/// The value at the start of the text, and the byte behind it.
pub(crate) fn first(text: &str) -> Result<(Value, usize), Fault> {
    let noticed = RefCell::new(None);
    let seed = Strict {
        noticed: &noticed,
        room: MAX_DEPTH,
    };
    let mut reader = serde_json::Deserializer::from_str(text);
    match seed.deserialize(&mut reader) {
        Ok(value) => {
            let end = reader.into_iter::<IgnoredAny>().byte_offset();
            match wide_integer(text.get(..end).unwrap_or(text)) {
                Some(offset) => Err(Fault {
                    offset,
                    kind: Kind::Integer,
                }),
                None => Ok((value, end)),
            }
        }
        Err(error) => {
            let (offset, kind) = if let Some(kind) = noticed.take() {
                (offset(text, &error), kind)
            } else if error.is_eof() {
                (text.len(), Kind::End)
            } else {
                (offset(text, &error), Kind::Syntax)
            };
            Err(Fault { offset, kind })
        }
    }
}

/// Of the character that the reader stopped at.
fn offset(text: &str, error: &serde_json::Error) -> usize {
    let start: usize = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum();
    // Column 0 is the line break before the line.
    (start + error.column()).saturating_sub(1).min(text.len())
}

/// The first integer that fits neither i64 nor u64: a reader makes a float of it.
fn wide_integer(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at)?,
            b'-' | b'0'..=b'9' => {
                let end = bytes
                    .get(at..)?
                    .iter()
                    .position(|b| !matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'))
                    .map_or(bytes.len(), |length| at + length);
                let number = text.get(at..end)?;
                let integer = !number.contains(['.', 'e', 'E']);
                if integer && number.parse::<i64>().is_err() && number.parse::<u64>().is_err() {
                    return Some(at);
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    None
}

/// The byte behind the string that begins at `at`; none where it is not closed.
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut end = at + 1;
    loop {
        match bytes.get(end)? {
            b'"' => return Some(end + 1),
            b'\\' => end += 2,
            _ => end += 1,
        }
    }
}

/// The keys of an object's text and where each begins. The text has been read already.
pub(crate) fn keys(object: &str) -> Vec<(usize, String)> {
    let bytes = object.as_bytes();
    let (mut depth, mut at) = (0_usize, 0);
    let mut keys = Vec::new();
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = string_end(bytes, at).unwrap_or(bytes.len());
                let is_key = object
                    .get(end..)
                    .is_some_and(|rest| rest.trim_start().starts_with(':'));
                if depth == 1 && is_key {
                    let key = object
                        .get(at..end)
                        .and_then(|t| serde_json::from_str(t).ok());
                    keys.push((at, key.unwrap_or_default()));
                }
                at = end;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    keys
}

/// What is still open where the text ends: the string, or the innermost bracket.
pub(crate) fn open_at_end(text: &str) -> Option<(usize, char)> {
    let bytes = text.as_bytes();
    let mut open = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => match string_end(bytes, at) {
                Some(end) => {
                    at = end;
                    continue;
                }
                None => return Some((at, '"')),
            },
            b'{' | b'[' => open.push((at, char::from(byte))),
            b'}' | b']' => {
                open.pop();
            }
            _ => {}
        }
        at += 1;
    }
    open.pop()
}

struct Strict<'a> {
    noticed: &'a RefCell<Option<Kind>>,
    room: usize,
}

impl Strict<'_> {
    fn inner<E: serde::de::Error>(&self) -> Result<Strict<'_>, E> {
        match self.room.checked_sub(1) {
            Some(room) => Ok(Strict {
                noticed: self.noticed,
                room,
            }),
            None => {
                self.noticed.replace(Some(Kind::Deep));
                Err(E::custom("too deep"))
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
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

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(self.inner()?)? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if all.contains_key(&key) {
                self.noticed.replace(Some(Kind::Duplicate(key)));
                return Err(A::Error::custom("duplicate key"));
            }
            let value = members.next_value_seed(self.inner()?)?;
            all.insert(key, value);
        }
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> (usize, Kind) {
        let fault = whole(text).unwrap_err();
        (fault.offset, fault.kind)
    }

    #[test]
    fn nothing_is_chosen_in_silence() {
        assert_eq!(fault(r#"{"a":1,"a":2}"#).1, Kind::Duplicate("a".into()));
        assert_eq!(
            fault(r#"{"x":[{"a":1,"a":2}]}"#).1,
            Kind::Duplicate("a".into())
        );
        // One past u64, and one below i64.
        assert_eq!(fault(r#"{"n":18446744073709551616}"#), (5, Kind::Integer));
        assert_eq!(fault("[-9223372036854775809]"), (1, Kind::Integer));
        assert_eq!(
            whole("18446744073709551615").unwrap(),
            Value::from(u64::MAX)
        );
        assert_eq!(
            whole(r#""99999999999999999999""#).unwrap(),
            "99999999999999999999"
        );
        assert!(whole("1e30").is_ok());
        assert_eq!(fault("{} x"), (3, Kind::Behind));
        assert_eq!(fault("{\n\"a\": x}"), (7, Kind::Syntax));
        assert_eq!(fault("{\"a\""), (4, Kind::End));
        assert_eq!(fault(""), (0, Kind::End));
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(whole(&deep(MAX_DEPTH)).is_ok());
        assert_eq!(fault(&deep(MAX_DEPTH + 1)).1, Kind::Deep);
        assert_eq!(fault(&deep(100_000)).1, Kind::Deep);
    }

    #[test]
    fn the_first_value_ends_where_it_ends() {
        assert_eq!(first("{\"a\":\"};\"} ; x").unwrap().1, 10);
        assert_eq!(first("12 ;").unwrap(), (Value::from(12), 2));
    }

    #[test]
    fn keys_and_open_brackets_are_found() {
        assert_eq!(
            keys(r#"{ "a" : {"b":1}, "c\"" :"x:" }"#),
            [(2, "a".to_owned()), (17, "c\"".to_owned())]
        );
        assert_eq!(open_at_end(r#"{"a":["#), Some((5, '[')));
        assert_eq!(open_at_end(r#"{"a":"b"#), Some((5, '"')));
        assert_eq!(open_at_end(r#"{"a":"b\"#), Some((5, '"')));
        assert_eq!(open_at_end(r#"{"a":"b""#), Some((0, '{')));
        assert_eq!(open_at_end("{}"), None);
    }
}
