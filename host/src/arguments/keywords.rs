//! Where a schema holds sub-schemas, and to which part of a value each applies. The only
//! list of such keywords; what is not in it is no schema to this room.

use serde_json::{Map, Value};

use super::pointer::At;

/// The part of a value that a sub-schema applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place<'s> {
    /// The same value.
    Here,
    /// The property of this name.
    Property(&'s str),
    /// The item of this index.
    Item(usize),
    /// Some of the properties, or their names.
    Properties,
    /// Some of the items.
    Items,
}

/// Keywords that hold one sub-schema.
const ONE: [(&str, Place<'static>); 10] = [
    ("not", Place::Here),
    ("if", Place::Here),
    ("then", Place::Here),
    ("else", Place::Here),
    ("additionalProperties", Place::Properties),
    ("unevaluatedProperties", Place::Properties),
    ("propertyNames", Place::Properties),
    ("items", Place::Items),
    ("contains", Place::Items),
    ("unevaluatedItems", Place::Items),
];

/// Calls `visit` for each sub-schema, `$ref` not included, until it fails.
pub(super) fn each<'s, E>(
    at: &At<'_>,
    schema: &'s Map<String, Value>,
    mut visit: impl FnMut(&At<'_>, Place<'s>, &'s Value) -> Result<(), E>,
) -> Result<(), E> {
    for (keyword, value) in schema {
        let place = match keyword.as_str() {
            "allOf" | "anyOf" | "oneOf" => Some(Place::Here),
            "prefixItems" => Some(Place::Items),
            "properties" | "patternProperties" => Some(Place::Properties),
            "dependentSchemas" => Some(Place::Here),
            _ => None,
        };
        let here = At::Key(at, keyword);
        match (place, value) {
            (Some(place), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    let place = if place == Place::Here {
                        place
                    } else {
                        Place::Item(index)
                    };
                    visit(&At::Index(&here, index), place, item)?;
                }
            }
            (Some(place), Value::Object(map)) => {
                for (key, item) in map {
                    let place = if keyword == "properties" {
                        Place::Property(key)
                    } else {
                        place
                    };
                    visit(&At::Key(&here, key), place, item)?;
                }
            }
            (None, value) => {
                if let Some((_, place)) = ONE.iter().find(|(name, _)| name == keyword) {
                    visit(&here, *place, value)?;
                }
            }
            // No list and no map: the meta-schema refuses it.
            _ => {}
        }
    }
    Ok(())
}
