//! Each kind of fault in words: its reason, what was found, and what to send instead.

use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind as Fault},
};
use serde_json::Value;

use super::wording::{self, Kind, list, quote};
use crate::tool::Reason;

/// Reason, detail and hint; the detail goes on from the field's name.
pub(super) type Words = (Reason, String, String);

/// What one fault is, with the schema whose keyword failed. Faults that concern other
/// places than the value itself are not this function's.
pub(super) fn words(error: &ValidationError<'_>, schema: Option<&Value>) -> Words {
    let value = error.instance().as_ref();
    let is = format!("is {}", quote(value));
    let text = if value.is_string() {
        "characters"
    } else {
        "items"
    };
    match error.kind() {
        Fault::Type { kind } => {
            let wanted = wanted(kind);
            let duration = schema
                .and_then(|schema| schema.get("format"))
                .is_some_and(|f| f == "duration");
            let unit = if duration {
                "; seconds as a number, or text such as \"30s\", \"500ms\" or \"2m\""
            } else {
                ""
            };
            (
                Reason::Type,
                format!("{is}, not {}", alternatives(&wanted)),
                format!("{}{unit}", send(&wanted)),
            )
        }
        Fault::Enum { options } => {
            let options: Vec<&Value> = options.as_array().into_iter().flatten().collect();
            (
                Reason::Enum,
                format!("{is}, which is not an allowed value"),
                one_of(&options),
            )
        }
        Fault::Constant { expected_value } => (
            Reason::Enum,
            format!("{is}, which is not an allowed value"),
            one_of(&[expected_value]),
        ),
        Fault::Minimum { limit } => range(&is, "below the minimum", &format!("at least {limit}")),
        Fault::Maximum { limit } => range(&is, "above the maximum", &format!("at most {limit}")),
        Fault::ExclusiveMinimum { limit } => range(&is, "too small", &format!("more than {limit}")),
        Fault::ExclusiveMaximum { limit } => range(&is, "too large", &format!("less than {limit}")),
        Fault::MultipleOf { multiple_of } => range(
            &is,
            "not a multiple",
            &format!("a multiple of {multiple_of}"),
        ),
        Fault::MinLength { limit } => range(&is, "too short", &format!("at least {limit} {text}")),
        Fault::MaxLength { limit } => range(&is, "too long", &format!("at most {limit} {text}")),
        Fault::MinItems { limit } => range(&is, "too few", &format!("at least {limit} items")),
        Fault::MaxItems { limit } => range(&is, "too many", &format!("at most {limit} items")),
        Fault::AdditionalItems { limit } => {
            range(&is, "too many", &format!("at most {limit} items"))
        }
        Fault::MinProperties { limit } => range(&is, "too few", &format!("at least {limit} keys")),
        Fault::MaxProperties { limit } => range(&is, "too many", &format!("at most {limit} keys")),
        Fault::Pattern { pattern } => (
            Reason::Pattern,
            format!("{is}, which does not match the pattern"),
            format!("send text that matches the regular expression {pattern}"),
        ),
        Fault::Format { format } => (
            Reason::Format,
            format!("{is}, which is not of format {format}"),
            format!("send text of format {format}"),
        ),
        Fault::FalseSchema if error.schema_path().as_str().ends_with("/items") => (
            Reason::Range,
            "is one item too many".into(),
            "leave it out".into(),
        ),
        Fault::UnevaluatedItems { .. } => (
            Reason::Range,
            format!("{is}, too many"),
            "send fewer items".into(),
        ),
        Fault::FalseSchema => (
            Reason::Schema,
            "may not be given here".into(),
            "leave it out".into(),
        ),
        Fault::UniqueItems => (
            Reason::Schema,
            format!("{is} with the same item twice"),
            "send each item once".into(),
        ),
        Fault::OneOfMultipleValid { .. } => (
            Reason::Schema,
            format!("{is}, which fits more than one of the forms that exclude each other"),
            "leave out the keys of all forms but one".into(),
        ),
        Fault::PropertyNames { error } => (
            Reason::Schema,
            format!(
                "has the key {}, which is not allowed: {}",
                quote(error.instance()),
                masked(error)
            ),
            "rename or leave out that key".into(),
        ),
        _ => (
            Reason::Schema,
            format!("does not fit: {}", masked(error)),
            "compare the value with the tool's schema".into(),
        ),
    }
}

fn range(is: &str, fault: &str, bound: &str) -> Words {
    (
        Reason::Range,
        format!("{is}, {fault}: {bound} allowed"),
        format!("send {bound}"),
    )
}

/// The library's own words, without the value.
fn masked(error: &ValidationError<'_>) -> String {
    wording::clip(&error.masked().to_string(), 200)
}

/// The types that a type error names.
pub(super) fn wanted(kind: &TypeKind) -> Vec<Kind> {
    match kind {
        TypeKind::Single(kind) => Kind::named(kind.as_str()).into_iter().collect(),
        TypeKind::Multiple(kinds) => kinds
            .iter()
            .filter_map(|kind| Kind::named(kind.as_str()))
            .collect(),
    }
}

/// `an integer or a string`.
pub(super) fn alternatives(kinds: &[Kind]) -> String {
    kinds
        .iter()
        .map(|kind| kind.with_article())
        .collect::<Vec<_>>()
        .join(" or ")
}

/// `send an integer such as 20`, without null where there is anything else.
pub(super) fn send(kinds: &[Kind]) -> String {
    let choices: Vec<_> = kinds
        .iter()
        .filter(|kind| **kind != Kind::Null || kinds.len() == 1)
        .map(|kind| format!("{} such as {}", kind.with_article(), kind.example()))
        .collect();
    format!("send {}", choices.join(" or "))
}

/// `send one of …`.
pub(super) fn one_of(options: &[&Value]) -> String {
    match options {
        [only] => format!("send {}", list([*only])),
        many => format!("send one of {}", list(many.iter().copied())),
    }
}
