//! A schema comes from a plugin, so it is hostile input: it is bounded here before any
//! walk or compiler that would recurse over it, and mistakes that a model could never
//! work around are refused while its author can still read why.

use std::{collections::HashSet, io};

use serde_json::{Map, Value};

use super::{
    keywords::{self, Place},
    parameters::SchemaError,
    pointer::{self, At},
    wording::{self, Kind},
};

/// Longest schema, in bytes of compact JSON: it travels with every request to a model.
const MAX_TEXT: usize = 64 << 10;
/// Deepest nesting, of the text and again through `$ref`: compiler and validator recurse.
const MAX_DEPTH: usize = 64;
/// Most sub-schemas with every `$ref` written out: what one value may have to be checked
/// against. Two references in each of 26 levels would be 67 million.
const MAX_EXPANSION: usize = 10_000;
/// Most regular expressions; each may take the memory that the compiler allows for one.
const MAX_PATTERNS: usize = 64;

/// Keywords that would give a name or a base of its own to a part of the schema, so that
/// a local `$ref` would not mean what it says.
const RENAMING: [&str; 7] = [
    "$id",
    "$schema",
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$recursiveAnchor",
    "$recursiveRef",
];

/// What loading learns about a schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// A part of it contains itself.
    pub(super) recursive: bool,
    /// It has an `anyOf` or `oneOf`.
    pub(super) union: bool,
    /// Sub-schemas within each other, `$ref` included, each recursion once.
    pub(super) depth: usize,
}

/// Bounds the schema as a value: depth first, since everything else recurses.
pub(super) fn bound(schema: &Value) -> Result<(), SchemaError> {
    scan(&At::Root, schema, 0)?;
    let dialect = schema.get("$schema");
    let known = [
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2020-12/schema#",
    ];
    if dialect.is_some_and(|name| !known.iter().any(|known| name == known)) {
        return Err(SchemaError::new(
            &At::Root,
            format!(
                "the dialect {} is not spoken here; write the schema in JSON Schema 2020-12 and say so, or leave `$schema` out",
                wording::list(dialect)
            ),
        ));
    }
    let mut length = Length(0);
    serde_json::to_writer(&mut length, schema).map_err(|_| {
        SchemaError::new(
            &At::Root,
            format!(
                "longer than {MAX_TEXT} bytes; shorten descriptions and share parts through `$defs`"
            ),
        )
    })
}

/// Follows every `$ref` once and counts; checks each sub-schema on the way.
pub(super) fn inspect(root: &Value) -> Result<Shape, SchemaError> {
    let mut inspection = Inspection {
        root,
        active: Vec::new(),
        seen: HashSet::new(),
        patterns: HashSet::new(),
        expansion: 0,
        shape: Shape {
            recursive: false,
            union: false,
            depth: 0,
        },
    };
    inspection.schema(&At::Root, Place::Here, root)?;
    Ok(inspection.shape)
}

fn scan(at: &At<'_>, value: &Value, depth: usize) -> Result<(), SchemaError> {
    if depth > MAX_DEPTH {
        // Not the place itself: its pointer would be as long as the schema is deep.
        return Err(SchemaError::new(
            &At::Root,
            format!(
                "nested deeper than {MAX_DEPTH} levels; move inner parts to `$defs` or flatten the parameters"
            ),
        ));
    }
    match value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| scan(&At::Index(at, index), item, depth + 1)),
        Value::Object(map) => map.iter().try_for_each(|(key, item)| {
            let own = depth == 0 && (key == "$id" || key == "$schema");
            if item.is_string() && !own && RENAMING.contains(&key.as_str()) {
                return Err(SchemaError::new(
                    at,
                    format!("`{key}` is not supported here; refer to parts by their place, such as \"#/$defs/name\""),
                ));
            }
            scan(&At::Key(at, key), item, depth + 1)
        }),
        _ => Ok(()),
    }
}

/// Counts the bytes that are written and fails beyond the bound.
struct Length(usize);

impl io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        if self.0 > MAX_TEXT {
            return Err(io::Error::other("too long"));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Inspection<'s> {
    root: &'s Value,
    /// The sub-schemas around the current one, and whether each goes deeper into the value.
    active: Vec<(*const Value, bool)>,
    /// Sub-schemas that were checked; the same one may be reached by several ways.
    seen: HashSet<*const Value>,
    patterns: HashSet<&'s str>,
    expansion: usize,
    shape: Shape,
}

impl<'s> Inspection<'s> {
    fn schema(
        &mut self,
        at: &At<'_>,
        place: Place<'_>,
        schema: &'s Value,
    ) -> Result<(), SchemaError> {
        let address = std::ptr::from_ref(schema);
        let deeper = place != Place::Here;
        self.expansion += 1;
        if self.expansion > MAX_EXPANSION {
            return Err(SchemaError::new(
                at,
                format!(
                    "more than {MAX_EXPANSION} sub-schemas when every `$ref` is followed; refer to a part fewer times"
                ),
            ));
        }
        if let Some(start) = self
            .active
            .iter()
            .position(|(active, _)| *active == address)
        {
            self.shape.recursive = true;
            let inner = self.active.get(start + 1..).unwrap_or_default();
            return if deeper || inner.iter().any(|(_, deeper)| *deeper) {
                Ok(())
            } else {
                Err(SchemaError::new(
                    at,
                    "refers to itself without going deeper into the value; remove that `$ref`",
                ))
            };
        }
        if self.active.len() >= MAX_DEPTH {
            return Err(SchemaError::new(
                at,
                format!("more than {MAX_DEPTH} sub-schemas within each other; flatten it"),
            ));
        }
        let Value::Object(map) = schema else {
            return Ok(());
        };
        if self.seen.insert(address) {
            self.check(at, map)?;
        }
        self.active.push((address, deeper));
        self.shape.depth = self.shape.depth.max(self.active.len());
        if let Some(reference) = map.get("$ref") {
            let (target_at, target) = pointer::target(self.root, map).ok_or_else(|| {
                SchemaError::new(
                    &At::Key(at, "$ref"),
                    format!(
                        "{} is no place in this schema; a reference is \"#\" or \"#/…\" without percent signs, such as \"#/$defs/name\"",
                        wording::list([reference])
                    ),
                )
            })?;
            self.schema(&target_at, Place::Here, target)?;
        }
        keywords::each(at, map, |at, place, part| self.schema(at, place, part))?;
        self.active.pop();
        Ok(())
    }

    /// What is wrong with one sub-schema by itself, beyond the meta-schema.
    fn check(&mut self, at: &At<'_>, schema: &'s Map<String, Value>) -> Result<(), SchemaError> {
        self.shape.union |= schema.contains_key("anyOf") || schema.contains_key("oneOf");
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        self.patterns
            .extend(patterns.into_iter().flat_map(Map::keys).map(String::as_str));
        self.patterns
            .extend(schema.get("pattern").and_then(Value::as_str));
        if self.patterns.len() > MAX_PATTERNS {
            return Err(SchemaError::new(
                at,
                format!("more than {MAX_PATTERNS} patterns in one schema; leave some out"),
            ));
        }
        let kinds = kinds(schema);
        // `null` says "none", as generators of schemas write it: a call's `null` is absent too.
        let default = schema.get("default").filter(|value| !value.is_null());
        if let Some(default) = default.filter(|value| !fits(&kinds, value)) {
            return Err(SchemaError::new(
                &At::Key(at, "default"),
                format!(
                    "{} is not of the declared type; give a default that a call could send",
                    wording::list([default])
                ),
            ));
        }
        if let Some(options) = schema.get("enum").and_then(Value::as_array)
            && !options.iter().any(|option| fits(&kinds, option))
        {
            return Err(SchemaError::new(
                &At::Key(at, "enum"),
                "no listed value is of the declared type; move `enum` to where the value is, such as into `items`",
            ));
        }
        // With patterns, which names are declared is no longer a matter of reading.
        let closed =
            schema.get("additionalProperties") == Some(&Value::Bool(false)) && patterns.is_none();
        let declared = schema.get("properties").and_then(Value::as_object);
        let undeclared = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .find(|name| {
                name.as_str()
                    .is_some_and(|name| !declared.is_some_and(|map| map.contains_key(name)))
            });
        match undeclared {
            Some(name) if closed => Err(SchemaError::new(
                &At::Key(at, "required"),
                format!(
                    "{} is required but not among `properties`, so no call could fit; declare it or drop it",
                    wording::list([name])
                ),
            )),
            _ => Ok(()),
        }
    }
}

/// What the schema's `type` names; empty if it says nothing.
pub(super) fn kinds(schema: &Map<String, Value>) -> Vec<Kind> {
    match schema.get("type") {
        Some(Value::String(name)) => Kind::named(name).into_iter().collect(),
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(|name| Kind::named(name.as_str()?))
            .collect(),
        _ => Vec::new(),
    }
}

fn fits(kinds: &[Kind], value: &Value) -> bool {
    let kind = Kind::of(value);
    let whole = value.as_f64().is_some_and(|number| number.fract() == 0.0);
    kinds.is_empty()
        || kinds.contains(&kind)
        || (kind == Kind::Integer && kinds.contains(&Kind::Number))
        || (whole && kinds.contains(&Kind::Integer))
}
