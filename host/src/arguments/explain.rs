//! What does not fit, in words from which the model can repair its call: the field, the
//! kind of fault, what was found, and what to send instead.

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind as Fault};
use serde_json::Value;

use super::{
    effort::affordable,
    faults::{alternatives, words},
    inspect::{Shape, kinds},
    names::{declared, nearest},
    pointer, union,
    wording::{self, property, sentence},
};
use crate::tool::{Reason, ToolError};

/// Most errors of one call: more would not be read.
const MAX_ERRORS: usize = 20;

/// Every fault of a value that does not fit, in the validator's order; never empty. Only
/// the first where there may be too many to hold.
pub(super) fn errors(
    validator: &Validator,
    root: &Value,
    shape: Shape,
    value: &Value,
) -> Vec<ToolError> {
    let mut explanation = Explanation {
        root,
        value,
        errors: Vec::new(),
    };
    if affordable(root, value) {
        for error in validator.iter_errors(value) {
            explanation.add(&error);
            if explanation.full() {
                break;
            }
        }
    } else if !shape.recursive && !shape.union
        // Without either, the first fault costs no more than the check did.
        && let Err(error) = validator.validate(value)
    {
        explanation.add(&error);
    }
    let mut errors = explanation.errors;
    // That a text of the wrong type is also of the wrong format helps nobody.
    let mistyped: Vec<_> = errors
        .iter()
        .filter(|e| e.reason == Reason::Type.as_str())
        .map(|e| e.field.clone())
        .collect();
    let moot = [Reason::Format.as_str(), Reason::Pattern.as_str()];
    errors.retain(|e| !moot.contains(&&*e.reason) || !mistyped.contains(&e.field));
    if errors.is_empty() {
        errors.push(
            ToolError::new(
                Reason::Schema,
                "the value does not fit the schema, and there are too many ways to say why",
            )
            .hint("compare it with the schema; leave out optional parts and send less at once"),
        );
    }
    errors
}

/// The errors of one value, as far as they are said.
pub(super) struct Explanation<'v> {
    root: &'v Value,
    value: &'v Value,
    errors: Vec<ToolError>,
}

impl Explanation<'_> {
    fn full(&self) -> bool {
        self.errors.len() >= MAX_ERRORS
    }

    /// The failing value's field; empty for the arguments themselves.
    pub(super) fn field(&self, error: &ValidationError<'_>) -> String {
        wording::field(self.value, error.instance_path().as_str())
    }

    /// The schema object whose keyword failed.
    fn schema(&self, error: &ValidationError<'_>) -> Option<&Value> {
        let (parent, _) = error.schema_path().as_str().rsplit_once('/')?;
        self.root.pointer(parent)
    }

    /// Adds what `error` says: one error, one per unknown property, or those of the
    /// closest branch of a union.
    pub(super) fn add(&mut self, error: &ValidationError<'_>) {
        let field = self.field(error);
        match error.kind() {
            Fault::Required { property: name } => {
                let name = name.as_str().unwrap_or_default();
                let hint = self.missing(error, name);
                self.push(
                    Reason::Required,
                    &property(&field, name),
                    "is missing",
                    &hint,
                );
            }
            Fault::AdditionalProperties { unexpected }
            | Fault::UnevaluatedProperties { unexpected } => {
                self.unknown(error, &field, unexpected);
            }
            // How the validator says that nothing at all is declared and nothing else allowed.
            Fault::FalseSchema if keyword(error) == "additionalProperties" => {
                let object = self.value.pointer(error.instance_path().as_str());
                self.unknown(
                    error,
                    &field,
                    object
                        .and_then(Value::as_object)
                        .into_iter()
                        .flat_map(|map| map.keys()),
                );
            }
            Fault::AnyOf { context } | Fault::OneOfNotValid { context } => {
                union::add(self, error, &field, context);
            }
            _ => {
                let (reason, detail, hint) = words(error, self.schema(error));
                self.push(reason, &field, &detail, &hint);
            }
        }
    }

    /// Adds one error for each name that the object may not have.
    fn unknown<'n>(
        &mut self,
        error: &ValidationError<'_>,
        field: &str,
        names: impl IntoIterator<Item = &'n String>,
    ) {
        let allowed = self
            .schema(error)
            .map(|schema| declared(self.root, schema))
            .unwrap_or_default();
        for name in names.into_iter().take(MAX_ERRORS) {
            self.push(
                Reason::Additional,
                &property(field, name),
                "is not a parameter",
                &nearest(name, &allowed),
            );
        }
    }

    /// Adds one error. `detail` goes on from the field's name.
    pub(super) fn push(&mut self, reason: Reason, field: &str, detail: &str, hint: &str) {
        if self.full() {
            return;
        }
        let subject = if field.is_empty() { "the value" } else { field };
        let mut error = ToolError::new(reason, sentence(&format!("{subject} {detail}")));
        if !field.is_empty() {
            error = error.field(field);
        }
        if !hint.is_empty() {
            error = error.hint(sentence(hint));
        }
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    /// What to send for a property that is missing.
    fn missing(&self, error: &ValidationError<'_>, name: &str) -> String {
        let mut part = self
            .schema(error)
            .and_then(|schema| schema.get("properties")?.get(name));
        let described = |part: &Value| {
            part.get("description")
                .and_then(Value::as_str)
                .map(|d| wording::clip(d, 120))
        };
        let mut description = part.and_then(described);
        // One `$ref` is followed, since a struct's fields are often no more than that.
        if let Some((_, target)) = part
            .and_then(Value::as_object)
            .and_then(|map| pointer::target(self.root, map))
        {
            description = description.or_else(|| described(target));
            part = Some(target);
        }
        let wanted = part
            .and_then(Value::as_object)
            .map(kinds)
            .unwrap_or_default();
        let mut hint = format!("add {}", Value::from(wording::clip(name, 100)));
        if !wanted.is_empty() {
            hint.push_str(&format!(", {}", alternatives(&wanted)));
        }
        if let Some(description) = description {
            hint.push_str(&format!(": {description}"));
        }
        hint
    }
}

/// The last segment of the failing place in the schema.
fn keyword<'e>(error: &'e ValidationError<'_>) -> &'e str {
    let path = error.schema_path().as_str();
    path.rsplit_once('/').map_or(path, |(_, keyword)| keyword)
}
