//! Conditions: one comparison, or one value's truth. What cannot be evaluated is an error,
//! never false: a sequence that quietly does less is what this plugin exists to prevent.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    json,
    kind::{described, equal},
    reference::{Path, is_key_char, render},
};

/// A parsed condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Condition {
    Fixed(bool),
    /// null, false, "", 0, [] and {} are false.
    Truth(Path),
    Compare {
        left: Operand,
        op: Op,
        right: Operand,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Operand {
    Reference(Path),
    Literal(Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Op {
    #[serde(rename = "==")]
    Equal,
    #[serde(rename = "!=")]
    Unequal,
    #[serde(rename = "<")]
    Less,
    #[serde(rename = "<=")]
    AtMost,
    #[serde(rename = ">")]
    More,
    #[serde(rename = ">=")]
    AtLeast,
    #[serde(rename = "contains")]
    Contains,
}

/// Longest spelling first, so that `<=` is not read as `<`.
const OPERATORS: [(&str, Op); 6] = [
    ("==", Op::Equal),
    ("!=", Op::Unequal),
    ("<=", Op::AtMost),
    (">=", Op::AtLeast),
    ("<", Op::Less),
    (">", Op::More),
];

const FORMS: &str = "write `true`, `false`, `$args.x`, or one comparison such as `$args.x == \"text\"`, `$args.n > 3`, `$args.list contains \"a\"`";
const UNSUPPORTED: &str = "not supported: use two groups or `seq_when_call`";

/// What is wrong with a condition as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// Bytes from the start.
    pub(crate) offset: usize,
    pub(crate) what: String,
    pub(crate) hint: String,
}

#[derive(Debug)]
enum Token {
    Operand(Operand),
    Op(Op),
}

impl Condition {
    /// Whether it always holds: the default.
    pub(crate) fn is_true(&self) -> bool {
        matches!(self, Self::Fixed(true))
    }

    /// # Errors
    ///
    /// Where it is no condition, and what to write.
    pub(crate) fn parse(text: &str) -> Result<Self, Malformed> {
        let tokens = tokens(text)?;
        let fault = |offset, what: &str| malformed(offset, what, FORMS);
        let second = |is: fn(&Token) -> bool| {
            tokens
                .iter()
                .filter(|(_, token)| is(token))
                .nth(1)
                .map(|(at, _)| *at)
        };
        if let Some(at) = second(|token| matches!(token, Token::Op(_))) {
            return Err(malformed(at, "a second operator", UNSUPPORTED));
        }
        if let Some(at) = second(|token| matches!(token, Token::Operand(Operand::Reference(_)))) {
            return Err(malformed(at, "a second reference", UNSUPPORTED));
        }
        let mut tokens = tokens.into_iter();
        let condition = match (tokens.next(), tokens.next(), tokens.next()) {
            (None, ..) => return Err(fault(0, "the condition is empty")),
            (Some((_, Token::Operand(Operand::Literal(Value::Bool(fixed))))), None, _) => {
                Self::Fixed(fixed)
            }
            (Some((_, Token::Operand(Operand::Reference(path)))), None, _) => Self::Truth(path),
            (Some((at, Token::Operand(_))), None, _) => {
                return Err(fault(at, "a literal alone is no condition"));
            }
            (
                Some((_, Token::Operand(left))),
                Some((at, Token::Op(op))),
                Some((_, Token::Operand(right))),
            ) => {
                if let Some(what) = unfit(&left, op, &right) {
                    return Err(fault(at, &what));
                }
                Self::Compare { left, op, right }
            }
            (Some((_, Token::Operand(_))), Some((at, Token::Operand(_))), _) => {
                return Err(fault(at, "an operator is missing before this"));
            }
            (Some((at, _)), ..) => {
                return Err(fault(at, "an operator needs a value on both sides"));
            }
        };
        match tokens.next() {
            Some((at, _)) => Err(fault(at, "something follows the condition")),
            None => Ok(condition),
        }
    }

    /// # Errors
    ///
    /// Why it cannot be evaluated.
    pub(crate) fn holds(&self, inputs: &Map<String, Value>) -> Result<bool, String> {
        match self {
            Self::Fixed(fixed) => Ok(*fixed),
            Self::Truth(path) => path.resolve(inputs).map(truth),
            Self::Compare { left, op, right } => op
                .compare(left.value(inputs)?, right.value(inputs)?)
                .map_err(|why| format!("`{}` cannot be evaluated: {why}", self.write())),
        }
    }

    /// The one reference in it, if there is one.
    pub(crate) fn reference(&self) -> Option<&Path> {
        match self {
            Self::Fixed(_) => None,
            Self::Truth(path) => Some(path),
            Self::Compare { left, right, .. } => [left, right].into_iter().find_map(|side| {
                if let Operand::Reference(path) = side {
                    Some(path)
                } else {
                    None
                }
            }),
        }
    }

    /// As it would be written: parsing it gives this again.
    pub(crate) fn write(&self) -> String {
        match self {
            Self::Fixed(fixed) => fixed.to_string(),
            Self::Truth(path) => path.to_string(),
            Self::Compare { left, op, right } => {
                format!("{} {} {}", left.write(), op.as_str(), right.write())
            }
        }
    }
}

impl Operand {
    fn value<'v>(&'v self, inputs: &'v Map<String, Value>) -> Result<&'v Value, String> {
        match self {
            Self::Reference(path) => path.resolve(inputs),
            Self::Literal(value) => Ok(value),
        }
    }

    fn write(&self) -> String {
        match self {
            Self::Reference(path) => path.to_string(),
            Self::Literal(Value::String(text)) => {
                Value::String(text.replace("$args.", "$$args.")).to_string()
            }
            Self::Literal(value) => value.to_string(),
        }
    }
}

impl Op {
    fn as_str(self) -> &'static str {
        match self {
            Self::Contains => "contains",
            _ => OPERATORS
                .iter()
                .find(|(_, op)| *op == self)
                .map_or("==", |(text, _)| text),
        }
    }

    fn compare(self, left: &Value, right: &Value) -> Result<bool, String> {
        match self {
            Self::Equal => Ok(equal(left, right)),
            Self::Unequal => Ok(!equal(left, right)),
            Self::Contains => contains(left, right),
            Self::Less | Self::AtMost | Self::More | Self::AtLeast => {
                let order = order(left, right)?;
                Ok(match self {
                    Self::Less => order.is_lt(),
                    Self::AtMost => order.is_le(),
                    Self::More => order.is_gt(),
                    _ => order.is_ge(),
                })
            }
        }
    }
}

fn malformed(offset: usize, what: impl Into<String>, hint: impl Into<String>) -> Malformed {
    Malformed {
        offset,
        what: what.into(),
        hint: hint.into(),
    }
}

fn truth(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}

fn contains(left: &Value, right: &Value) -> Result<bool, String> {
    match left {
        Value::Array(items) => Ok(items.iter().any(|item| equal(item, right))),
        Value::String(text) => match right {
            Value::String(_) | Value::Number(_) | Value::Bool(_) => {
                Ok(text.contains(render(right).as_ref()))
            }
            other => Err(format!("a text does not contain {}", described(other))),
        },
        other => Err(format!(
            "`contains` looks into a text or an array, not into {}",
            described(other)
        )),
    }
}

fn order(left: &Value, right: &Value) -> Result<std::cmp::Ordering, String> {
    let (Value::Number(l), Value::Number(r)) = (left, right) else {
        let odd = if left.is_number() { right } else { left };
        return Err(format!(
            "{} is no number, and only numbers have an order",
            described(odd)
        ));
    };
    // Integers beyond 53 bits are told apart.
    let exact = |n: &serde_json::Number| {
        n.as_i64()
            .map(i128::from)
            .or_else(|| n.as_u64().map(i128::from))
    };
    match (exact(l), exact(r)) {
        (Some(l), Some(r)) => Ok(l.cmp(&r)),
        _ => l
            .as_f64()
            .zip(r.as_f64())
            .and_then(|(l, r)| l.partial_cmp(&r))
            .ok_or_else(|| "the numbers have no order".into()),
    }
}

/// What can be said before any value is known.
fn unfit(left: &Operand, op: Op, right: &Operand) -> Option<String> {
    let literal = |side: &Operand| match side {
        Operand::Literal(value) => Some(value.clone()),
        Operand::Reference(_) => None,
    };
    match op {
        Op::Equal | Op::Unequal => None,
        Op::Contains => literal(left)
            .filter(|value| !value.is_string())
            .map(|value| format!("`contains` does not look into {}", described(&value))),
        _ => [left, right]
            .into_iter()
            .filter_map(literal)
            .find(|value| !value.is_number())
            .map(|value| format!("{} has no order", described(&value))),
    }
}

fn tokens(text: &str) -> Result<Vec<(usize, Token)>, Malformed> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let blank = rest.len() - rest.trim_start().len();
        if blank > 0 {
            at += blank;
            continue;
        }
        let (token, length) = token(rest).map_err(|mut error| {
            error.offset += at;
            error
        })?;
        tokens.push((at, token));
        at += length;
    }
    Ok(tokens)
}

/// The token at the start, and its length.
fn token(text: &str) -> Result<(Token, usize), Malformed> {
    if let Some(reference) = Path::at_start(text) {
        let (path, length) = reference.map_err(|error| malformed(0, error.what, error.hint))?;
        return Ok((Token::Operand(Operand::Reference(path)), length));
    }
    let unsupported = |what: &str| Err(malformed(0, format!("`{what}`"), UNSUPPORTED));
    for (sign, hint) in [
        ("===", "write `==`"),
        ("!==", "write `!=`"),
        ("<>", "write `!=`"),
        ("=~", FORMS),
    ] {
        if text.starts_with(sign) {
            return Err(malformed(0, format!("`{sign}` is no operator"), hint));
        }
    }
    if let Some((sign, op)) = OPERATORS.iter().find(|(sign, _)| text.starts_with(sign)) {
        return Ok((Token::Op(*op), sign.len()));
    }
    let first = text.chars().next().unwrap_or_default();
    match first {
        '"' => literal(text),
        '-' | '0'..='9' => literal(text),
        '&' | '|' | '!' | '(' | ')' | '+' | '*' | '/' | '%' => {
            let sign = text
                .get(..2)
                .filter(|sign| matches!(*sign, "&&" | "||"))
                .map_or_else(|| first.to_string(), str::to_owned);
            unsupported(&sign)
        }
        '=' => Err(malformed(0, "`=` is no operator", "write `==`")),
        '\'' | '`' | '“' => Err(malformed(
            0,
            format!("text does not begin with {first}"),
            "write text in double quotes: `$args.x == \"text\"`",
        )),
        '[' | '{' => Err(malformed(0, "an array or an object is no operand", FORMS)),
        c if is_key_char(c) => word(text),
        _ => Err(malformed(
            0,
            format!("`{first}` is nothing that a condition holds"),
            FORMS,
        )),
    }
}

fn literal(text: &str) -> Result<(Token, usize), Malformed> {
    let (value, length) = json::first(text).map_err(|fault| match fault.kind {
        json::Kind::End => malformed(0, "the text is not closed", "end it with `\"`"),
        json::Kind::Integer => malformed(0, "an integer of more than 64 bits", FORMS),
        _ => malformed(fault.offset, "no JSON literal", FORMS),
    })?;
    let value = match value {
        Value::String(text) => {
            let plain = text.replace("$$args.", "");
            if plain.contains("$args.") || plain.contains("${args.") {
                return Err(malformed(
                    0,
                    "a reference in quotes would be compared as text",
                    "write it without quotes: `$args.x == \"text\"`; `$$args.` is the text itself",
                ));
            }
            Value::String(text.replace("$$args.", "$args."))
        }
        other => other,
    };
    Ok((Token::Operand(Operand::Literal(value)), length))
}

fn word(text: &str) -> Result<(Token, usize), Malformed> {
    let length = text.find(|c| !is_key_char(c)).unwrap_or(text.len());
    let word = text.get(..length).unwrap_or_default();
    let literal = |value: Value| Token::Operand(Operand::Literal(value));
    let token = match word {
        "true" => literal(true.into()),
        "false" => literal(false.into()),
        "null" => literal(Value::Null),
        "contains" => Token::Op(Op::Contains),
        _ => {
            return Err(match word.to_lowercase().as_str() {
                "and" | "or" | "not" | "xor" => malformed(0, format!("`{word}`"), UNSUPPORTED),
                "true" | "false" | "null" | "contains" => malformed(
                    0,
                    format!("`{word}` is written with small letters"),
                    format!("write `{}`", word.to_lowercase()),
                ),
                "args" => malformed(0, "an input begins with `$args.`", "write `$args.x`"),
                _ => malformed(
                    0,
                    format!("`{word}` is no word of conditions"),
                    format!("write text in double quotes: `\"{word}\"`"),
                ),
            });
        }
    };
    Ok((token, length))
}

#[cfg(test)]
mod tests;
