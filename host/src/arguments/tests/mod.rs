mod errors;
mod load;
mod properties;
mod read;
mod readings;

use serde_json::Value;

use super::Parameters;
use crate::tool::ToolError;

fn compile(schema: &Value) -> Parameters {
    Parameters::compile(schema).unwrap_or_else(|error| panic!("{error}: {schema}"))
}

/// What the schema makes of the arguments.
fn accept(schema: &Value, arguments: &Value) -> Result<Value, Vec<ToolError>> {
    compile(schema).accept(arguments.clone())
}

/// The errors, each as `field reason`.
fn faults(schema: &Value, arguments: &Value) -> Vec<String> {
    let errors = accept(schema, arguments).expect_err("the arguments fit");
    errors
        .iter()
        .map(|error| format!("{} {}", error.field.as_deref().unwrap_or("-"), error.reason))
        .collect()
}

/// A schema with these properties, all of them optional.
fn properties(properties: &Value) -> Value {
    serde_json::json!({"type": "object", "properties": properties})
}
