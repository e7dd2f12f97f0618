//! What else a value of the wrong type can mean. Lossless: a reading holds all that the
//! model wrote, or there is none.

use serde_json::{Number, Value};

use super::{read, wording::Kind};

/// A float below this is exactly the number that was written.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
/// Decimal digits that a float keeps.
const MAX_DIGITS: usize = 17;

/// The readings of `value` as one of `kinds`, each once. `duration`: a number is one of
/// seconds, and may be written with its unit.
pub(super) fn readings(value: &Value, kinds: &[Kind], duration: bool) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    for kind in kinds {
        let reading = match value {
            Value::String(text) => of_text(text, *kind, duration),
            Value::Number(number) => of_number(number, *kind),
            _ => None,
        };
        found.extend(reading.filter(|reading| !found.contains(reading)));
    }
    found
}

fn of_text(text: &str, kind: Kind, duration: bool) -> Option<Value> {
    match kind {
        Kind::Boolean => match text {
            "true" | "1" => Some(true.into()),
            "false" | "0" => Some(false.into()),
            _ => None,
        },
        Kind::Integer => integer(text),
        Kind::Number => number(text).or_else(|| seconds(text).filter(|_| duration)),
        Kind::Array => read::parse(text).ok().filter(Value::is_array),
        Kind::Object => read::parse(text).ok().filter(Value::is_object),
        Kind::Null | Kind::String => None,
    }
}

fn of_number(number: &Number, kind: Kind) -> Option<Value> {
    match kind {
        Kind::Boolean => match number.as_u64()? {
            0 => Some(false.into()),
            1 => Some(true.into()),
            _ => None,
        },
        Kind::Integer => whole(number).map(Value::from),
        Kind::String => Some(number.to_string().into()),
        _ => None,
    }
}

/// The integer that a float such as `20.0` is.
pub(super) fn whole(number: &Number) -> Option<i64> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    if float.fract() != 0.0 || float.abs() >= MAX_EXACT {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
    Some(float as i64)
}

/// A whole float that may have been rounded when its text was read.
pub(super) fn inexact(value: &Value) -> bool {
    let float = value.as_f64().filter(|_| value.is_f64());
    float.is_some_and(|float| float.fract() == 0.0 && float.abs() >= MAX_EXACT)
}

/// An integer as JSON writes it.
fn integer(text: &str) -> Option<Value> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let written =
        digits.bytes().all(|b| b.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    if !written {
        return None;
    }
    text.parse::<i64>()
        .map(Value::from)
        .or_else(|_| text.parse::<u64>().map(Value::from))
        .ok()
}

/// A number as JSON writes it.
fn number(text: &str) -> Option<Value> {
    if text.bytes().all(|b| b == b'-' || b.is_ascii_digit()) {
        return integer(text);
    }
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits = mantissa
        .bytes()
        .filter(u8::is_ascii_digit)
        .skip_while(|b| *b == b'0')
        .count();
    if digits > MAX_DIGITS
        || !text
            .bytes()
            .all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b))
    {
        return None;
    }
    serde_json::from_str::<Number>(text).ok().map(Value::Number)
}

/// `30s`, `500ms` or `2m` in seconds.
fn seconds(text: &str) -> Option<Value> {
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (amount, unit) = text.split_at(split);
    let amount =
        number(amount).filter(|amount| amount.as_f64().is_some_and(|amount| amount >= 0.0))?;
    match (unit, amount.as_u64()) {
        ("s", _) => Some(amount),
        ("m", Some(minutes)) => minutes.checked_mul(60).map(Value::from),
        ("m", None) => Number::from_f64(amount.as_f64()? * 60.0).map(Value::Number),
        ("ms", Some(milliseconds)) if milliseconds % 1_000 == 0 => {
            Some((milliseconds / 1_000).into())
        }
        ("ms", _) => Number::from_f64(amount.as_f64()? / 1_000.0).map(Value::Number),
        _ => None,
    }
}
