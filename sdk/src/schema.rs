//! Schemas and arguments, for the macros.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;

use crate::{Failure, ToolError};

/// JSON Schema 2020-12 of `T` as text, sub-schemas inlined where they can be.
#[must_use]
pub fn of<T: JsonSchema>() -> String {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // The type's name says nothing to a model that reads the tool's name.
    schema.remove("title");
    schema.to_value().to_string()
}

/// # Errors
///
/// The host has checked the arguments against the schema already, so this fails only
/// where the struct accepts less than its own schema says.
pub fn parse<T: DeserializeOwned>(arguments: &str) -> Result<T, Failure> {
    serde_json::from_str(arguments).map_err(|error| {
        ToolError::new("arguments", error.to_string())
            .hint("compare the arguments with the tool's schema")
            .into()
    })
}
