//! Takes, deep in the arguments, the one reading of a value that fits its schema. It
//! decides nothing: whatever comes out is validated as a whole afterwards.

use std::collections::HashMap;

use jsonschema::{Registry, Validator};
use serde_json::{Map, Value, json};

use super::{
    inspect::kinds,
    parameters,
    pointer::{self, At},
    read::deeper_than,
    reading::{inexact, readings, whole},
    wording::Kind,
};

/// Steps that one call's coercion may take beyond eight per node of its arguments: a
/// schema of unions within unions would otherwise try every combination.
const STEPS: usize = 100_000;
/// The name under which a part of the schema is compiled by itself.
const BASE: &str = "toolgate:schema";

/// Whether a float such as `20.0` or `1e18` is anywhere in the value: it fits an integer's
/// schema, and yet no plugin could read it as one.
pub(super) fn has_whole_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => whole(number).is_some() || inexact(value),
        Value::Array(items) => items.iter().any(has_whole_float),
        Value::Object(map) => map.values().any(has_whole_float),
        _ => false,
    }
}

/// One call's coercion.
pub(super) struct Coercion<'s> {
    root: &'s Value,
    /// Deepest value that may come out: text that holds JSON adds levels.
    depth: usize,
    steps: usize,
    /// Compiled parts, by their place; needed only under unions and for ambiguous values.
    parts: HashMap<String, Option<Validator>>,
    registry: Option<Registry<'s>>,
}

impl<'s> Coercion<'s> {
    pub(super) fn new(root: &'s Value, depth: usize) -> Self {
        Self {
            root,
            depth,
            steps: STEPS,
            parts: HashMap::new(),
            registry: None,
        }
    }

    /// Coerces the whole arguments in place.
    pub(super) fn arguments(mut self, value: &mut Value) {
        self.steps = STEPS
            .saturating_add(nodes(value).saturating_mul(8))
            .saturating_add(text(value));
        self.value(&At::Root, self.root, value, 0);
    }

    fn value(&mut self, at: &At<'_>, schema: &'s Value, value: &mut Value, level: usize) {
        let Value::Object(schema) = schema else {
            return;
        };
        if !self.spend(1) {
            return;
        }
        self.scalar(at, schema, value, level);
        if let Some((at, target)) = pointer::target(self.root, schema) {
            self.value(&at, target, value, level);
        }
        for (index, part) in branches(schema, "allOf").iter().enumerate() {
            self.value(&At::Index(&At::Key(at, "allOf"), index), part, value, level);
        }
        // Unions choose by what fits, so what is inside is read first.
        self.inside(at, schema, value, level);
        let text = value.is_string();
        self.union(
            &At::Key(at, "anyOf"),
            branches(schema, "anyOf"),
            value,
            level,
        );
        self.union(
            &At::Key(at, "oneOf"),
            branches(schema, "oneOf"),
            value,
            level,
        );
        if text {
            self.inside(at, schema, value, level);
        }
    }

    fn inside(
        &mut self,
        at: &At<'_>,
        schema: &'s Map<String, Value>,
        value: &mut Value,
        level: usize,
    ) {
        match value {
            Value::Object(map) => self.object(at, schema, map, level),
            Value::Array(items) => self.array(at, schema, items, level),
            _ => {}
        }
    }

    /// Another type than the schema's: the one reading that is of it.
    fn scalar(
        &mut self,
        at: &At<'_>,
        schema: &'s Map<String, Value>,
        value: &mut Value,
        level: usize,
    ) {
        let mut wanted = kinds(schema);
        let options = branches(schema, "enum").iter().chain(schema.get("const"));
        let listed = options.clone().next().is_some();
        if wanted.is_empty() {
            wanted = options.map(Kind::of).collect();
        }
        let kind = Kind::of(value);
        let right =
            wanted.contains(&kind) || (kind == Kind::Integer && wanted.contains(&Kind::Number));
        if wanted.is_empty() || (right && (!listed || self.fits(at, value))) {
            return;
        }
        let duration = schema
            .get("format")
            .is_some_and(|format| format == "duration");
        if let Value::String(text) = &*value
            && !self.spend(text.len() / 64)
        {
            return;
        }
        let mut found = readings(value, &wanted, duration);
        found.retain(|reading| !deeper_than(reading, self.depth.saturating_sub(level)));
        if listed && right || found.len() > 1 {
            found.retain(|reading| self.fits(at, reading));
        }
        if let [_] = found.as_slice()
            && let Some(reading) = found.pop()
        {
            *value = reading;
        }
    }

    /// `anyOf` or `oneOf`: the one branch that the value fits, or else the one value that
    /// a branch makes of it.
    fn union(&mut self, at: &At<'_>, branches: &'s [Value], value: &mut Value, level: usize) {
        if branches.is_empty() {
            return;
        }
        let fitting: Vec<usize> = (0..branches.len())
            .filter(|index| self.fits(&At::Index(at, *index), value))
            .collect();
        if let [index] = fitting.as_slice()
            && let Some(branch) = branches.get(*index)
        {
            return self.value(&At::Index(at, *index), branch, value, level);
        }
        if !fitting.is_empty() {
            return;
        }
        let mut readings: Vec<Value> = Vec::new();
        for (index, branch) in branches.iter().enumerate() {
            let at = At::Index(at, index);
            if !self.spend(nodes(value)) {
                return;
            }
            let mut reading = value.clone();
            self.value(&at, branch, &mut reading, level);
            if self.fits(&at, &reading) && !readings.contains(&reading) {
                readings.push(reading);
            }
        }
        if let [_] = readings.as_slice()
            && let Some(reading) = readings.pop()
        {
            *value = reading;
        }
    }

    fn object(
        &mut self,
        at: &At<'_>,
        schema: &'s Map<String, Value>,
        map: &mut Map<String, Value>,
        level: usize,
    ) {
        let properties = schema.get("properties").and_then(Value::as_object);
        if let Some(properties) = properties {
            // A null that the property does not take means that it was left out. A required
            // one is then reported as missing, which is what it is.
            map.retain(|key, value| {
                !value.is_null()
                    || properties
                        .get(key)
                        .is_none_or(|part| takes_null(self.root, part, 0))
            });
        }
        // Which keys the patterns leave to it is the validator's business.
        let others = schema
            .get("additionalProperties")
            .filter(|_| !schema.contains_key("patternProperties"));
        for (key, value) in map.iter_mut() {
            if let Some((key, part)) = properties.and_then(|map| map.get_key_value(key)) {
                self.value(
                    &At::Key(&At::Key(at, "properties"), key),
                    part,
                    value,
                    level + 1,
                );
            } else if let Some(part) = others {
                self.value(&At::Key(at, "additionalProperties"), part, value, level + 1);
            }
        }
    }

    fn array(
        &mut self,
        at: &At<'_>,
        schema: &'s Map<String, Value>,
        items: &mut [Value],
        level: usize,
    ) {
        let first = branches(schema, "prefixItems");
        for (index, value) in items.iter_mut().enumerate() {
            if let Some(part) = first.get(index) {
                self.value(
                    &At::Index(&At::Key(at, "prefixItems"), index),
                    part,
                    value,
                    level + 1,
                );
            } else if let Some(part) = schema.get("items") {
                self.value(&At::Key(at, "items"), part, value, level + 1);
            }
        }
    }

    /// Whether the value fits the part of the schema at this place.
    fn fits(&mut self, at: &At<'_>, value: &Value) -> bool {
        if !self.spend(nodes(value)) {
            return false;
        }
        let place = at.fragment();
        if !self.parts.contains_key(&place) {
            let part = self.compile(&place);
            self.parts.insert(place.clone(), part);
        }
        self.parts
            .get(&place)
            .and_then(Option::as_ref)
            .is_some_and(|part| part.is_valid(value))
    }

    fn compile(&mut self, place: &str) -> Option<Validator> {
        if self.registry.is_none() {
            let registry = Registry::new()
                .draft(jsonschema::Draft::Draft202012)
                .add(BASE, self.root)
                .ok()?;
            self.registry = Some(registry.prepare().ok()?);
        }
        let registry = self.registry.as_ref()?;
        let part = json!({ "$ref": format!("{BASE}{place}") });
        parameters::options()
            .with_registry(registry)
            .build(&part)
            .ok()
    }

    /// Takes steps; false once there are none left, and then the value stays as it is.
    fn spend(&mut self, steps: usize) -> bool {
        let left = self.steps.checked_sub(steps);
        self.steps = left.unwrap_or(0);
        left.is_some()
    }
}

fn branches<'s>(schema: &'s Map<String, Value>, keyword: &str) -> &'s [Value] {
    schema
        .get(keyword)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Whether null can fit; for what only a full validation could tell, it does.
fn takes_null(root: &Value, schema: &Value, depth: usize) -> bool {
    let Value::Object(map) = schema else {
        return schema != &Value::Bool(false);
    };
    // References in a circle were refused at load; the bound is for safety only.
    if depth > 128 {
        return true;
    }
    let inner = |part: &Value| takes_null(root, part, depth + 1);
    let kinds = kinds(map);
    (kinds.is_empty() || kinds.contains(&Kind::Null))
        && (!map.contains_key("enum") || branches(map, "enum").contains(&Value::Null))
        && map.get("const").is_none_or(Value::is_null)
        && pointer::target(root, map).is_none_or(|(_, part)| inner(part))
        && branches(map, "allOf").iter().all(inner)
        && ["anyOf", "oneOf"]
            .iter()
            .all(|union| !map.contains_key(*union) || branches(map, union).iter().any(inner))
}

/// Bytes of text in a value: JSON in it may hold a node in every two.
fn text(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(text).sum(),
        Value::Object(map) => map.values().map(text).sum(),
        _ => 0,
    }
}

/// Nodes of a value, and its text in units of 64 bytes: what looking at it costs.
pub(super) fn nodes(value: &Value) -> usize {
    1 + match value {
        Value::String(text) => text.len() / 64,
        Value::Array(items) => items.iter().map(nodes).sum(),
        Value::Object(map) => map.values().map(nodes).sum(),
        _ => 0,
    }
}
