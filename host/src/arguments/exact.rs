//! Whole floats from 2^53 on, such as `1e18`. A schema counts them as integers; but their
//! last digits may be lost already, and no plugin could read one as an integer. So where
//! the schema wants an integer they are refused, and where any number will do they stay.

use jsonschema::{Validator, error::ValidationErrorKind};
use serde_json::Value;

use super::{reading::inexact, wording};
use crate::tool::{Reason, ToolError};

/// Told at once: more is no help.
const MOST: usize = 20;

/// The places where a float stands for an integer that it cannot hold.
pub(super) fn lost(value: &Value, validator: &Validator) -> Vec<ToolError> {
    let mut probe = value.clone();
    // No integer: what the schema then says tells whether it wants one there.
    if !put_halves(&mut probe) {
        return Vec::new();
    }
    let wanted = validator.iter_errors(&probe).filter_map(|error| {
        let at = error.instance_path().as_str();
        let about_type = matches!(
            error.kind(),
            ValidationErrorKind::Type { .. }
                | ValidationErrorKind::AnyOf { .. }
                | ValidationErrorKind::OneOfNotValid { .. }
        );
        let given = value.pointer(at).filter(|given| inexact(given))?;
        about_type.then(|| {
            let field = wording::field(value, at);
            let detail = format!("{field} is {given}, a float that stands for no exact integer");
            ToolError::new(Reason::Type, detail)
                .field(field)
                .hint("send an integer in digits, without `.` and exponent, such as 20")
        })
    });
    wanted.take(MOST).collect()
}

fn put_halves(value: &mut Value) -> bool {
    match value {
        number @ Value::Number(_) if inexact(number) => {
            *number = Value::from(0.5);
            true
        }
        Value::Array(items) => items
            .iter_mut()
            .fold(false, |any, item| put_halves(item) | any),
        Value::Object(map) => map
            .values_mut()
            .fold(false, |any, item| put_halves(item) | any),
        _ => false,
    }
}
