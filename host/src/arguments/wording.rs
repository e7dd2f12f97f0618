//! How errors name places, kinds and values: short, on character borders, in JSON's own
//! words.

use serde_json::Value;

/// Longest text of an error, in bytes: three of them fit a screen.
const MAX_TEXT: usize = 500;
/// Longest quoted value, in bytes.
const MAX_VALUE: usize = 60;

/// A JSON type, with `integer` apart from `number`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    pub(super) const ALL: [Self; 7] = [
        Self::Null,
        Self::Boolean,
        Self::Integer,
        Self::Number,
        Self::String,
        Self::Array,
        Self::Object,
    ];

    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(number) if number.is_f64() => Self::Number,
            Value::Number(_) => Self::Integer,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    /// As a schema's `type` names it.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    pub(super) fn with_article(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }

    pub(super) fn example(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "true",
            Self::Integer => "20",
            Self::Number => "1.5",
            Self::String => "\"text\"",
            Self::Array => "[…]",
            Self::Object => "{…}",
        }
    }
}

/// `field` with one more property: `a.b`, or `a["x y"]` where the name is no plain word.
pub(super) fn property(field: &str, name: &str) -> String {
    let plain = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'));
    match (plain, field.is_empty()) {
        (true, true) => clip(name, MAX_TEXT),
        (true, false) => clip(&format!("{field}.{name}"), MAX_TEXT),
        (false, _) => clip(&format!("{field}[{}]", Value::from(name)), MAX_TEXT),
    }
}

/// The field of a JSON pointer into `value`, such as `edits[0].old`; empty for the root.
pub(super) fn field(value: &Value, pointer: &str) -> String {
    let mut field = String::new();
    let mut place = Some(value);
    for segment in pointer.split('/').skip(1) {
        let name = segment.replace("~1", "/").replace("~0", "~");
        if let Some(Value::Array(items)) = place {
            field = clip(&format!("{field}[{name}]"), MAX_TEXT);
            place = name
                .parse::<usize>()
                .ok()
                .and_then(|index| items.get(index));
        } else {
            field = property(&field, &name);
            place = place.and_then(|place| place.get(&name));
        }
    }
    field
}

/// A value as compact JSON, cut short.
pub(super) fn quote(value: &Value) -> String {
    match value {
        // Not written out first: a value may be megabytes of text.
        Value::String(text) if text.len() > MAX_VALUE => {
            format!(
                "{} ({} bytes)",
                Value::from(clip(text, MAX_VALUE)),
                text.len()
            )
        }
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(map) => format!("an object with {} keys", map.len()),
        other => other.to_string(),
    }
}

/// A list of values such as a schema's `enum`, cut short.
pub(super) fn list<'v>(values: impl IntoIterator<Item = &'v Value>) -> String {
    join(values.into_iter().map(|value| match value {
        Value::Array(_) | Value::Object(_) => clip(&value.to_string(), MAX_VALUE),
        scalar => quote(scalar),
    }))
}

/// Words separated by commas, with `…` where the rest is left out.
pub(super) fn join(words: impl IntoIterator<Item = String>) -> String {
    let mut text = String::new();
    for word in words {
        if !text.is_empty() {
            text.push_str(", ");
        }
        if text.len() + word.len() > MAX_TEXT - 100 {
            text.push('…');
            break;
        }
        text.push_str(&word);
    }
    text
}

/// Text of a schema or an error, cut to the length of one error.
pub(super) fn sentence(text: &str) -> String {
    clip(text, MAX_TEXT)
}

/// At most `max` bytes and a `…`, cut on a character border.
pub(super) fn clip(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!(
        "{}…",
        text.get(..text.floor_char_boundary(max))
            .unwrap_or_default()
    )
}
