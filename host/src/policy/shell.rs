//! Where a JSON pointer leads in a tool's parameters: to nothing, to a parameter, to a
//! line for a shell. Over a shell line a pattern is no rule: `git status*` also matches
//! `git status; rm -rf .`.

use serde_json::{Map, Value};

/// The schema's word for a text that a shell will read.
const SHELL: &str = "shell-command";

/// Sub-schemas looked at for one pointer. Tools have tens; a schema that needs more is
/// tangled on purpose.
const BUDGET: u32 = 1_000;

/// What a schema says about a pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Target {
    /// A value may stand there.
    pub(super) known: bool,
    /// It may be a shell line. Also set where the schema is too tangled to tell.
    pub(super) shell: bool,
}

impl Target {
    const UNCLEAR: Self = Self {
        known: true,
        shell: true,
    };

    fn add(&mut self, other: Self) {
        self.known |= other.known;
        self.shell |= other.shell;
    }
}

/// Follows `pointer` through `schema`, by every way that the schema leaves open.
pub(super) fn target(schema: &Value, pointer: &str) -> Target {
    let tokens: Vec<String> = pointer
        .split('/')
        .skip(1)
        .map(|token| token.replace("~1", "/").replace("~0", "~"))
        .collect();
    Walk {
        root: schema,
        left: BUDGET,
    }
    .node(schema, &tokens, true)
}

struct Walk<'a> {
    root: &'a Value,
    left: u32,
}

impl<'a> Walk<'a> {
    fn node(&mut self, node: &'a Value, tokens: &[String], top: bool) -> Target {
        let Some(left) = self.left.checked_sub(1) else {
            return Target::UNCLEAR;
        };
        self.left = left;
        let Value::Object(node) = node else {
            return Target {
                known: node != &Value::Bool(false),
                shell: false,
            };
        };
        let mut found = self.elsewhere(node, tokens, top);
        let Some((token, rest)) = tokens.split_first() else {
            let shell = node.get("format").and_then(Value::as_str) == Some(SHELL);
            found.add(Target { known: true, shell });
            return found;
        };
        for next in steps(node, token) {
            found.add(self.node(next, rest, false));
        }
        // The host closes a root that says nothing; below it, silence means open.
        let described = node.contains_key("properties") || node.contains_key("items");
        let composed = ["$ref", "allOf", "anyOf", "oneOf"]
            .iter()
            .any(|k| node.contains_key(*k));
        let names_it = node
            .get("properties")
            .is_some_and(|p| p.get(token).is_some());
        if !names_it
            && !composed
            && !top
            && (!described || !node.contains_key("additionalProperties"))
        {
            found.known = true;
        }
        found
    }

    /// Schemas that describe the same value.
    fn elsewhere(&mut self, node: &'a Map<String, Value>, tokens: &[String], top: bool) -> Target {
        let mut found = Target::default();
        if let Some(reference) = node.get("$ref") {
            let to = reference
                .as_str()
                .and_then(|text| text.strip_prefix('#'))
                .and_then(|pointer| self.root.pointer(pointer));
            match to {
                Some(to) => found.add(self.node(to, tokens, top)),
                None => found.add(Target::UNCLEAR),
            }
        }
        if node.contains_key("$dynamicRef") {
            found.add(Target::UNCLEAR);
        }
        for key in ["allOf", "anyOf", "oneOf"] {
            for branch in node
                .get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                found.add(self.node(branch, tokens, top));
            }
        }
        for key in ["if", "then", "else"] {
            if let Some(branch) = node.get(key) {
                found.add(self.node(branch, tokens, top));
            }
        }
        for branch in node
            .get("dependentSchemas")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            found.add(self.node(branch.1, tokens, top));
        }
        found
    }
}

/// The sub-schemas that may describe the member or item `token`.
fn steps<'a>(node: &'a Map<String, Value>, token: &str) -> Vec<&'a Value> {
    let member = |key: &str| node.get(key).and_then(Value::as_object);
    let mut next: Vec<&Value> = Vec::new();
    next.extend(member("properties").and_then(|p| p.get(token)));
    next.extend(
        member("patternProperties")
            .into_iter()
            .flat_map(|p| p.values()),
    );
    if next.is_empty() {
        let rest = ["additionalProperties", "unevaluatedProperties"];
        next.extend(rest.iter().filter_map(|key| node.get(*key)));
    }
    if let Ok(index) = token.parse::<usize>() {
        let listed = node.get("prefixItems").and_then(Value::as_array);
        next.extend(listed.and_then(|items| items.get(index)));
        next.extend(
            ["items", "contains", "unevaluatedItems"]
                .iter()
                .filter_map(|key| node.get(*key)),
        );
    }
    next
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_shell_line_is_found_behind_every_keyword() {
        let line = json!({"type": "string", "format": "shell-command"});
        for schema in [
            json!({"properties": {"c": line}}),
            json!({"properties": {"c": {"anyOf": [line, {"type": "null"}]}}}),
            json!({"properties": {"c": {"$ref": "#/$defs/line"}}, "$defs": {"line": line}}),
            json!({"oneOf": [{"properties": {"c": line}}]}),
            json!({"if": true, "then": {"properties": {"c": line}}}),
            json!({"patternProperties": {"^c$": line}}),
            json!({"additionalProperties": line}),
            json!({"properties": {"c": {"$ref": "elsewhere.json"}}}),
        ] {
            assert_eq!(target(&schema, "/c"), Target::UNCLEAR, "{schema}");
        }
        let items = json!({"properties": {"c": {"type": "array", "items": line}}});
        assert!(target(&items, "/c/0").shell);
        assert!(!target(&items, "/c").shell);
    }

    #[test]
    fn a_schema_that_never_ends_counts_as_a_shell_line() {
        let circle = json!({"$ref": "#"});
        assert_eq!(target(&circle, "/c"), Target::UNCLEAR);
        let wide = json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]});
        assert_eq!(target(&wide, "/c"), Target::UNCLEAR);
    }

    #[test]
    fn a_misspelt_parameter_is_unknown_in_a_closed_object_only() {
        let schema = json!({"type": "object", "properties": {
            "path": {"type": "string"},
            "open": {"type": "object"},
            "argv": {"type": "array", "items": {"type": "string"}},
        }});
        let known = |pointer| target(&schema, pointer).known;
        assert!(known("/path") && known("/open/any") && known("/argv/1"));
        assert!(!known("/pth"));
    }
}
