//! The types of slots, and the lenient reading of a value as one of them: the same
//! readings that the host takes for arguments.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Number, Value};

use crate::reference::render;

/// A slot's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
    Any,
}

pub(crate) const LEGAL: [&str; 7] = [
    "string", "integer", "number", "boolean", "array", "object", "any",
];

impl Kind {
    pub(crate) fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" | "bool" => Self::Boolean,
            "array" => Self::Array,
            "object" => Self::Object,
            "any" => Self::Any,
            _ => return None,
        })
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
            Self::Any => "any",
        }
    }

    /// Whether every value of this type is one of `wanted` too.
    pub(crate) fn fits(self, wanted: Self) -> bool {
        self == wanted
            || self == Self::Any
            || wanted == Self::Any
            || matches!(
                (self, wanted),
                (Self::Integer, Self::Number) | (Self::Integer | Self::Number, Self::String)
            )
    }

    /// The one reading of `value` as this type.
    ///
    /// # Errors
    ///
    /// What the value is instead.
    pub(crate) fn coerce(self, value: Value) -> Result<Value, String> {
        let read = match (self, &value) {
            (Self::Any, _)
            | (Self::String, Value::String(_))
            | (Self::Number, Value::Number(_))
            | (Self::Boolean, Value::Bool(_))
            | (Self::Array, Value::Array(_))
            | (Self::Object, Value::Object(_)) => return Ok(value),
            (Self::String, Value::Number(number)) => Some(number.to_string().into()),
            (Self::Integer, Value::Number(number)) => integer(number).map(Value::Number),
            (Self::Integer, Value::String(text)) => number(text)
                .and_then(|number| integer(&number))
                .map(Value::Number),
            (Self::Number, Value::String(text)) => number(text).map(Value::Number),
            (Self::Boolean, _) => boolean(&value).map(Value::Bool),
            (Self::Array, Value::String(text)) => {
                crate::json::whole(text).ok().filter(Value::is_array)
            }
            (Self::Object, Value::String(text)) => {
                crate::json::whole(text).ok().filter(Value::is_object)
            }
            _ => None,
        };
        read.ok_or_else(|| format!("{} is no {}", described(&value), self.as_str()))
    }

    /// A result on its way into a slot of this type that is no array. A string slot takes
    /// the rendered text of anything.
    pub(crate) fn take(self, value: Value) -> Result<Value, String> {
        match self {
            Self::String => Ok(Value::String(render(&value).into_owned())),
            _ => self.coerce(value),
        }
    }
}

/// A whole number as i64 or u64; a float only where it is exact.
#[expect(
    clippy::cast_possible_truncation,
    reason = "exact: within 53 bits and without a fraction"
)]
fn integer(number: &Number) -> Option<Number> {
    if !number.is_f64() {
        return Some(number.clone());
    }
    let float = number.as_f64()?;
    let exact = float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0;
    exact.then(|| Number::from(float as i64))
}

fn number(text: &str) -> Option<Number> {
    match crate::json::whole(text) {
        Ok(Value::Number(number)) => Some(number),
        _ => None,
    }
}

pub(crate) fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        Value::String(text) => match text.as_str() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        },
        Value::Number(number) => match number.as_i64() {
            Some(0) => Some(false),
            Some(1) => Some(true),
            _ => None,
        },
        _ => None,
    }
}

/// Equality after the lenient reading of one side as the other's type.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => same_number(left, right),
        (Value::Bool(flag), other) | (other, Value::Bool(flag)) => boolean(other) == Some(*flag),
        (Value::Number(this), Value::String(text)) | (Value::String(text), Value::Number(this)) => {
            number(text).is_some_and(|other| same_number(this, &other))
        }
        (structure @ (Value::Array(_) | Value::Object(_)), Value::String(text))
        | (Value::String(text), structure @ (Value::Array(_) | Value::Object(_))) => {
            crate::json::whole(text).is_ok_and(|other| equal(structure, &other))
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| same(l, r))
        }
        (Value::Object(left), Value::Object(right)) => same_members(left, right),
        _ => left == right,
    }
}

/// Inside arrays and objects nothing is read leniently, but 1 is 1.0.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => same_number(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| same(l, r))
        }
        (Value::Object(left), Value::Object(right)) => same_members(left, right),
        _ => left == right,
    }
}

fn same_members(left: &Map<String, Value>, right: &Map<String, Value>) -> bool {
    left.len() == right.len()
        && left
            .iter()
            .all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
}

fn same_number(left: &Number, right: &Number) -> bool {
    left == right || (left.is_f64() != right.is_f64() && left.as_f64() == right.as_f64())
}

/// A value in a few words, for errors.
pub(crate) fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(value) => format!("the boolean {value}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the text {}", quoted(text)),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(_) => "an object".into(),
    }
}

/// The start of a text, in JSON's quotes.
pub(crate) fn quoted(text: &str) -> String {
    const SHOWN: usize = 60;
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    Value::String(shown).to_string()
}

/// An input's type, and whether it may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) kind: Kind,
    pub(crate) optional: bool,
}

impl Type {
    pub(crate) fn parse(word: &str) -> Option<Self> {
        let (word, optional) = match word.strip_suffix('?') {
            Some(word) => (word, true),
            None => (word, false),
        };
        Kind::parse(word).map(|kind| Self { kind, optional })
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.kind.as_str())?;
        f.write_str(if self.optional { "?" } else { "" })
    }
}

/// The declared slots of one side of a group, in their author's order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Slots(pub(crate) Vec<(String, Type)>);

impl Slots {
    pub(crate) fn get(&self, key: &str) -> Option<Type> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, t)| *t)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.as_str())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Type)> {
        self.0.iter().map(|(key, ty)| (key.as_str(), *ty))
    }
}

impl Serialize for Slots {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(key, ty)| (key, ty.to_string())))
    }
}

impl<'de> Deserialize<'de> for Slots {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = Map::<String, Value>::deserialize(deserializer)?;
        let slots = map.into_iter().map(|(key, value)| {
            let ty = value.as_str().and_then(Type::parse);
            ty.map(|ty| (key, ty))
                .ok_or_else(|| D::Error::custom(format!("{value} is no slot type")))
        });
        Ok(Self(slots.collect::<Result<_, _>>()?))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_reading_is_taken() {
        for (kind, value, read) in [
            (Kind::String, json!(3), json!("3")),
            (Kind::Integer, json!("20"), json!(20)),
            (Kind::Integer, json!(20.0), json!(20)),
            (Kind::Number, json!("1.5"), json!(1.5)),
            (Kind::Boolean, json!("true"), json!(true)),
            (Kind::Boolean, json!(0), json!(false)),
            (Kind::Array, json!("[1]"), json!([1])),
            (Kind::Object, json!("{\"a\":1}"), json!({ "a": 1 })),
            (Kind::Any, json!(null), json!(null)),
        ] {
            assert_eq!(kind.coerce(value.clone()), Ok(read), "{kind:?} {value}");
        }
        for (kind, value) in [
            (Kind::String, json!(true)),
            (Kind::String, json!({})),
            (Kind::Integer, json!(1.5)),
            (Kind::Integer, json!("20s")),
            (Kind::Integer, json!(1e300)),
            (Kind::Number, json!("x")),
            (Kind::Boolean, json!("yes")),
            (Kind::Boolean, json!(2)),
            (Kind::Array, json!("{}")),
            (Kind::Object, json!([])),
            (Kind::Array, json!(null)),
        ] {
            assert!(kind.coerce(value.clone()).is_err(), "{kind:?} {value}");
        }
        assert_eq!(
            Kind::String.take(json!({ "a": [1] })),
            Ok(json!("{\"a\":[1]}"))
        );
    }

    #[test]
    fn equality_is_lenient_at_the_top_only() {
        for (left, right) in [
            (json!("true"), json!(true)),
            (json!("3"), json!(3)),
            (json!(1), json!(true)),
            (json!(3.0), json!(3)),
            (json!([1, 2.0]), json!([1.0, 2])),
            (json!("[1]"), json!([1])),
            (json!(null), json!(null)),
        ] {
            assert!(
                equal(&left, &right) && equal(&right, &left),
                "{left} {right}"
            );
        }
        for (left, right) in [
            (json!("a"), json!(3)),
            (json!(""), json!(null)),
            (json!(""), json!(false)),
            (json!(["3"]), json!([3])),
            (json!(u64::MAX), json!(u64::MAX - 1)),
        ] {
            assert!(!equal(&left, &right), "{left} {right}");
        }
    }
}
