//! TOML values as JSON: for settings, and for what rules compare with.

use serde_json::Value;

/// Dates become texts.
///
/// # Errors
///
/// For `nan` and `inf`, which JSON does not have.
pub(super) fn from_toml(value: &toml::Value) -> Result<Value, String> {
    Ok(match value {
        toml::Value::String(text) => Value::String(text.clone()),
        toml::Value::Integer(number) => (*number).into(),
        toml::Value::Float(number) => serde_json::Number::from_f64(*number)
            .map(Value::Number)
            .ok_or_else(|| format!("{number} is no JSON number"))?,
        toml::Value::Boolean(yes) => Value::Bool(*yes),
        toml::Value::Datetime(date) => Value::String(date.to_string()),
        toml::Value::Array(items) => {
            Value::Array(items.iter().map(from_toml).collect::<Result<_, _>>()?)
        }
        toml::Value::Table(table) => Value::Object(
            table
                .iter()
                .map(|(key, value)| Ok((key.clone(), from_toml(value)?)))
                .collect::<Result<_, String>>()?,
        ),
    })
}
