//! How much work it would be to say what does not fit: measured before it is done.

use serde_json::Value;

use super::{
    coerce::nodes,
    keywords::{self, Place},
    pointer::{self, At},
};

/// Visits of sub-schemas that explaining may take, each with half a kilobyte of error.
/// Checking remembers what it has seen, explaining does not: without this bound a schema
/// of unions within itself takes time that doubles with each level of the value.
const MAX_VISITS: usize = 250_000;

/// Whether explaining stays within its visits. Under a union each branch's errors keep a
/// copy of the value, so there a visit costs as much as the value is large.
pub(super) fn affordable(root: &Value, value: &Value) -> bool {
    let mut left = MAX_VISITS;
    visit(root, &At::Root, root, value, false, &mut left)
}

fn visit(
    root: &Value,
    at: &At<'_>,
    schema: &Value,
    value: &Value,
    union: bool,
    left: &mut usize,
) -> bool {
    let Value::Object(map) = schema else {
        return true;
    };
    let union = union || matches!(at, At::Index(At::Key(_, "anyOf" | "oneOf"), _));
    let Some(rest) = left.checked_sub(1 + if union { nodes(value) } else { 0 }) else {
        return false;
    };
    *left = rest;
    if let Some((at, target)) = pointer::target(root, map)
        && !visit(root, &at, target, value, union, left)
    {
        return false;
    }
    keywords::each(at, map, |at, place, part| {
        let mut check = |value: &Value| visit(root, at, part, value, union, left);
        let fine = match place {
            Place::Here => check(value),
            Place::Property(name) => value.get(name).is_none_or(check),
            Place::Item(index) => value.get(index).is_none_or(check),
            Place::Properties => value.as_object().is_none_or(|map| map.values().all(check)),
            Place::Items => value.as_array().is_none_or(|items| items.iter().all(check)),
        };
        if fine { Ok(()) } else { Err(()) }
    })
    .is_ok()
}
