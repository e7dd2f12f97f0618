//! A tool's schemas: bounded, closed and compiled once per implementation; then one check
//! per call.

use std::fmt;

use jsonschema::{Draft, PatternOptions, ValidationOptions, Validator};
use serde_json::{Map, Value};

use super::{
    MAX_DEPTH,
    coerce::{self, Coercion},
    exact, explain,
    inspect::{self, Shape},
    pointer::At,
    read::deeper_than,
    wording,
};
use crate::tool::{Reason, ToolError};

/// Memory for one compiled pattern, in bytes, and for its lazy automaton: ordinary ones
/// take a few KiB, a schema may have 64.
const PATTERN_BYTES: usize = 1 << 20;
/// Steps that the validator may nest on one stack for a schema that contains itself:
/// sub-schemas within each other × levels of the value. Measured: a worker thread's
/// 2 MiB hold four times as many in an unoptimised build, not sixteen times.
const MAX_STEPS: usize = 1_024;

/// Why a schema cannot be used, for the plugin's author: the place in it, as a JSON
/// pointer, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaError {
    at: String,
    message: String,
}

impl SchemaError {
    pub(super) fn new(at: &At<'_>, message: impl Into<String>) -> Self {
        let at = wording::clip(&at.to_string(), 200);
        Self {
            at,
            message: message.into(),
        }
    }

    /// The JSON pointer of the place; empty for the schema itself.
    #[must_use]
    pub fn pointer(&self) -> &str {
        &self.at
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.at.is_empty() {
            "the root"
        } else {
            &self.at
        };
        write!(f, "schema, at {at}: {}", self.message)
    }
}

impl std::error::Error for SchemaError {}

/// The schema of a tool's arguments.
#[derive(Debug)]
pub struct Parameters(Compiled);

impl Parameters {
    /// Bounds, closes and compiles a schema. The root must have `type: object`; if it says
    /// nothing about further properties, it is closed. A root `$id` is dropped.
    ///
    /// # Errors
    ///
    /// No JSON Schema 2020-12; over 64 KiB, 64 levels, 10,000 sub-schemas through `$ref`
    /// or 64 patterns; a `$ref` that is not local; a pattern that needs backtracking; a
    /// schema that no call could fit.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        Compiled::new(schema, close).map(Self)
    }

    /// The schema with its root closed, as models see it.
    #[must_use]
    pub fn schema(&self) -> &Value {
        &self.0.schema
    }

    /// The arguments, where needed in the one reading that fits. What fits already comes
    /// back as it was, but for `20.0` where an integer belongs, which becomes `20`.
    ///
    /// # Errors
    ///
    /// Every failing field, at most 20 of them and never none; the first leads.
    pub fn accept(&self, arguments: Value) -> Result<Value, Vec<ToolError>> {
        let Compiled {
            schema,
            validator,
            depth,
            ..
        } = &self.0;
        if deeper_than(&arguments, *depth) {
            return Err(vec![
                ToolError::new(
                    Reason::Schema,
                    format!("the arguments nest deeper than {depth} arrays and objects"),
                )
                .hint("send a flatter value, or the inner parts in further calls"),
            ]);
        }
        let fits = validator.is_valid(&arguments);
        if fits && !coerce::has_whole_float(&arguments) {
            return Ok(arguments);
        }
        let mut coerced = arguments.clone();
        Coercion::new(schema, *depth).arguments(&mut coerced);
        let taken = if validator.is_valid(&coerced) {
            coerced
        } else if fits {
            arguments
        } else {
            return Err(self.0.errors(&coerced));
        };
        let lost = exact::lost(&taken, validator);
        if lost.is_empty() {
            Ok(taken)
        } else {
            Err(lost)
        }
    }
}

/// The schema of a tool's value: checked, never coerced.
#[derive(Debug)]
pub struct OutputSchema(Compiled);

impl OutputSchema {
    /// Bounds and compiles a schema. The root must name a type; it is not closed.
    ///
    /// # Errors
    ///
    /// As for [`Parameters::compile`].
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        let typed = |root: &mut Map<String, Value>| match root.contains_key("type") {
            true => Ok(()),
            false => Err(
                "clients refuse an output schema without a type; give the root `\"type\": \"object\"`",
            ),
        };
        Compiled::new(schema, typed).map(Self)
    }

    /// The schema, without a root `$id`.
    #[must_use]
    pub fn schema(&self) -> &Value {
        &self.0.schema
    }

    /// Whether every value is an object: what some protocols ask of an output schema.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.0
            .schema
            .get("type")
            .is_some_and(|kind| kind == "object")
    }

    /// Whether a value fits.
    ///
    /// # Errors
    ///
    /// What does not fit, in at most three sentences, for the plugin's author.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        if deeper_than(value, self.0.depth) {
            return Err(format!(
                "the value nests deeper than {} arrays and objects",
                self.0.depth
            ));
        }
        if self.0.validator.is_valid(value) {
            return Ok(());
        }
        let errors = self.0.errors(value);
        let said: Vec<_> = errors
            .into_iter()
            .take(3)
            .filter_map(|error| error.detail)
            .collect();
        Err(said.join("; "))
    }
}

/// What both have in common.
#[derive(Debug)]
struct Compiled {
    schema: Value,
    validator: Validator,
    shape: Shape,
    /// Deepest value that the validator's recursion is given.
    depth: usize,
}

impl Compiled {
    /// `root` checks and completes the root, or says why it is none.
    fn new(
        schema: &Value,
        root: impl Fn(&mut Map<String, Value>) -> Result<(), &'static str>,
    ) -> Result<Self, SchemaError> {
        inspect::bound(schema)?;
        let mut schema = schema.clone();
        let map = schema
            .as_object_mut()
            .ok_or("a schema is an object; give the root `\"type\": \"object\"`");
        map.and_then(|map| {
            map.shift_remove("$id");
            root(map)
        })
        .map_err(|said| SchemaError::new(&At::Root, said))?;
        let shape = inspect::inspect(&schema)?;
        let depth = match shape.recursive {
            true => (MAX_STEPS / shape.depth.max(1)).min(MAX_DEPTH),
            false => MAX_DEPTH,
        };
        let validator = build(&schema)?;
        Ok(Self {
            schema,
            validator,
            shape,
            depth,
        })
    }

    fn errors(&self, value: &Value) -> Vec<ToolError> {
        explain::errors(&self.validator, &self.schema, self.shape, value)
    }
}

/// The root of a tool's parameters: an object, and closed unless it says otherwise.
fn close(root: &mut Map<String, Value>) -> Result<(), &'static str> {
    if root.get("type").is_none_or(|kind| kind != "object") {
        return Err(
            "arguments are always an object; give the root `\"type\": \"object\"` and `properties`",
        );
    }
    if !root.contains_key("additionalProperties") && !root.contains_key("unevaluatedProperties") {
        // Only `unevaluatedProperties` sees what a sub-schema in place declares.
        let parts = [
            "$ref",
            "allOf",
            "anyOf",
            "oneOf",
            "if",
            "then",
            "else",
            "dependentSchemas",
        ];
        let closing = match parts.iter().any(|part| root.contains_key(*part)) {
            true => "unevaluatedProperties",
            false => "additionalProperties",
        };
        root.insert(closing.to_owned(), Value::Bool(false));
    }
    Ok(())
}

/// How every schema of this room is compiled: one dialect, formats checked, patterns on
/// the engine whose time is linear, nothing fetched.
pub(super) fn options<'r>() -> ValidationOptions<'r> {
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .offline()
        .with_pattern_options(
            PatternOptions::regex()
                .size_limit(PATTERN_BYTES)
                .dfa_size_limit(PATTERN_BYTES),
        )
}

fn build(schema: &Value) -> Result<Validator, SchemaError> {
    options().build(schema).map_err(|error| {
        let at = error.instance_path().as_str();
        let mut said = wording::sentence(&error.to_string());
        if said.contains("\"regex\"") || said.contains("pattern") {
            said.push_str("; patterns are plain regular expressions of moderate size, without look-around and back-references");
        }
        SchemaError::new(&At::Target(at), said)
    })
}
