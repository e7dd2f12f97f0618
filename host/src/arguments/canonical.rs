//! One text per value, for digests. Never shown to anybody.

use std::fmt::Write as _;

use serde_json::Value;

/// JSON without blanks and with sorted keys: equal values give equal text, whatever the
/// order in which a model wrote the keys.
///
/// Like RFC 8785 (keys sort by their UTF-16 units, strings are escaped the same way) but
/// for numbers: they stay as `serde_json` writes them, so integers beyond 2^53 keep all
/// their digits, and `20` and `20.0` are two values.
///
/// Recursive: for values that [`read`](super::read) accepted, which are at most
/// [`MAX_DEPTH`](super::MAX_DEPTH) deep.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            text.push('{');
            for (index, (key, item)) in entries.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                let _ = write!(text, "{}:", Value::from(key.as_str()));
                write(item, text);
            }
            text.push('}');
        }
        scalar => {
            let _ = write!(text, "{scalar}");
        }
    }
}
