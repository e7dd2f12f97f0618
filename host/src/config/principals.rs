//! `[principals.<name>]` and `[outputs.<name>]`: rules compiled, names checked.

use std::collections::BTreeMap;

use super::{
    HostConfig, OutputConfig,
    check::Check,
    document::KeyPath,
    error::did_you_mean,
    folders::{Protected, resolve},
    json::from_toml,
    shape,
};
use crate::{
    policy::{
        Condition, OUTPUT_TOOL, Otherwise, Policy, PrincipalRules, Rule, Stance, Test, name_pattern,
    },
    tool::{PluginName, ToolName},
};

impl Check<'_> {
    /// The rules of all principals, `local` among them.
    pub(super) fn policy(
        &mut self,
        shapes: &BTreeMap<String, shape::Principal>,
        outputs: &BTreeMap<String, OutputConfig>,
        host: &HostConfig,
    ) -> Policy {
        let top = KeyPath::of(&["principals"]);
        let mut principals = BTreeMap::new();
        for (id, shape) in shapes {
            let key = top.key(id);
            // A slash is kept for callers that are narrowed: `session/1/worker/a`.
            if PluginName::new(id).is_err() {
                self.problem(
                    &key,
                    "is no principal's name",
                    "use `[a-z][a-z0-9_-]{0,63}`",
                );
            }
            let rules = self.principal(&key, shape, outputs);
            principals.insert(id.clone(), rules);
        }
        let policy = Policy::new(principals);
        let cli = &host.acts_as.cli;
        if policy.principal(cli).is_none() {
            let known: Vec<&str> = policy.iter().map(|(id, _)| id).collect();
            self.problem(
                &KeyPath::of(&["host", "acts_as", "cli"]),
                format!("there is no principal {cli:?}"),
                format!(
                    "{} (or define [principals.{cli}])",
                    did_you_mean(cli, &known)
                ),
            );
        }
        policy
    }

    fn principal(
        &mut self,
        key: &KeyPath,
        shape: &shape::Principal,
        outputs: &BTreeMap<String, OutputConfig>,
    ) -> PrincipalRules {
        let mut allowed_outputs = Vec::new();
        for (i, pattern) in shape.allowed_outputs.iter().enumerate() {
            let key = key.key("allowed_outputs").item(i);
            match name_pattern(pattern) {
                Err(error) => self.problem(&key, &error, error.hint()),
                Ok(glob) => {
                    let plain = !pattern.contains(['*', '?', '[', '{']);
                    if plain && !outputs.contains_key(pattern) {
                        let known: Vec<&str> = outputs.keys().map(String::as_str).collect();
                        let near = did_you_mean(pattern, &known);
                        self.problem(
                            &key,
                            format!("there is no output {pattern:?}"),
                            format!("{near} (or define [outputs.{pattern}])"),
                        );
                    }
                    allowed_outputs.push(glob);
                }
            }
        }
        PrincipalRules {
            kind: shape.kind,
            allow: self.rules(&key.key("allow"), &shape.allow, Stance::Permits),
            ask: self.rules(&key.key("ask"), &shape.ask, Stance::Restrains),
            deny: self.rules(&key.key("deny"), &shape.deny, Stance::Restrains),
            otherwise: match shape.otherwise {
                shape::Otherwise::Deny => Otherwise::Deny,
                shape::Otherwise::Ask => Otherwise::Ask,
            },
            allowed_outputs,
        }
    }

    fn rules(&mut self, key: &KeyPath, shapes: &[shape::Rule], stance: Stance) -> Vec<Rule> {
        let is_deny = key.to_string().ends_with(".deny");
        let mut rules = Vec::new();
        for (i, shape) in shapes.iter().enumerate() {
            let key = key.item(i);
            if !is_deny && shape.tool.starts_with(OUTPUT_TOOL) {
                self.warn(
                    &key,
                    "has no effect: outputs are ruled by allowed_outputs, and by deny",
                );
            }
            let when = self.conditions(&key.key("when"), &shape.when, stance);
            // Without the conditions that were refused the rule would say more than was
            // meant; it is never used, for there is a problem now.
            match Rule::new(&shape.tool, when, stance, key.to_string()) {
                Ok(rule) => rules.push(rule),
                Err(error) => self.problem(&key, &error, error.hint()),
            }
        }
        rules
    }

    /// The conditions of one rule.
    pub(super) fn conditions(
        &mut self,
        key: &KeyPath,
        shapes: &[shape::Condition],
        stance: Stance,
    ) -> Vec<Condition> {
        let mut conditions = Vec::new();
        for (i, shape) in shapes.iter().enumerate() {
            let key = key.item(i);
            match test(shape) {
                Err((what, hint)) => self.problem(&key, what, hint),
                Ok(test) => match Condition::new(&shape.at, test, stance) {
                    Ok(condition) => conditions.push(condition),
                    Err(error) => self.problem(&key, &error, error.hint()),
                },
            }
        }
        conditions
    }

    /// The channels.
    pub(super) fn outputs(
        &mut self,
        shapes: &BTreeMap<String, shape::Output>,
    ) -> BTreeMap<String, OutputConfig> {
        let top = KeyPath::of(&["outputs"]);
        let mut outputs = BTreeMap::new();
        for (name, shape) in shapes {
            let key = top.key(name);
            if ToolName::new(&format!("{OUTPUT_TOOL}{name}")).is_err() || name.is_empty() {
                let most = ToolName::MAX - OUTPUT_TOOL.len();
                self.problem(
                    &key,
                    "is no output's name",
                    format!("use `[a-z0-9_]`, at most {most} characters"),
                );
            }
            if let Some(output) = self.output(&key, shape) {
                outputs.insert(name.clone(), output);
            }
        }
        outputs
    }

    fn output(&mut self, key: &KeyPath, shape: &shape::Output) -> Option<OutputConfig> {
        use shape::OutputKind::{File, Memory, Stdout, Webhook};
        for (name, given, kind) in [
            ("path", shape.path.is_some(), File),
            ("url", shape.url.is_some(), Webhook),
            ("token_env", shape.token_env.is_some(), Webhook),
        ] {
            if given && shape.kind != kind {
                let kind = format!("{kind:?}").to_lowercase();
                self.problem(
                    &key.key(name),
                    format!("is only for kind {kind:?}"),
                    format!("remove it, or use `kind = {kind:?}`"),
                );
            }
        }
        match (shape.kind, &shape.path, &shape.url) {
            (Stdout, ..) => Some(OutputConfig::Stdout),
            (Memory, ..) => Some(OutputConfig::Memory),
            (File, Some(path), _) if !path.is_empty() => {
                let path = resolve(&self.path(&key.key("path"), path));
                self.protected
                    .push(Protected::from_writing("output file", &path));
                Some(OutputConfig::File { path })
            }
            (File, ..) => {
                self.problem(key, "a file needs a path", "add `path = \"journal.txt\"`");
                None
            }
            (Webhook, _, Some(url))
                if url.starts_with("https://") || url.starts_with("http://") =>
            {
                Some(OutputConfig::Webhook {
                    url: url.clone(),
                    token_env: shape.token_env.clone(),
                })
            }
            (Webhook, _, url) => {
                let at = if url.is_some() {
                    key.key("url")
                } else {
                    key.clone()
                };
                self.problem(
                    &at,
                    "a webhook needs an address",
                    "add `url = \"https://…\"`",
                );
                None
            }
        }
    }
}

/// Exactly one test.
fn test(shape: &shape::Condition) -> Result<Test, (String, &'static str)> {
    let shape::Condition {
        at,
        equals,
        one_of,
        glob,
        under,
    } = shape;
    let json =
        |value: &toml::Value| from_toml(value).map_err(|what| (what, "compare with a JSON value"));
    match (equals, one_of, glob, under) {
        (Some(value), None, None, None) => Ok(Test::Equals(json(value)?)),
        (None, Some(values), None, None) => Ok(Test::OneOf(
            values.iter().map(json).collect::<Result<_, _>>()?,
        )),
        (None, None, Some(pattern), None) => Ok(Test::Glob(pattern.clone())),
        (None, None, None, Some(folder)) => Ok(Test::Under(folder.clone())),
        (None, None, None, None) => Err((
            format!("says nothing about {at}"),
            "add one of `equals`, `one_of`, `glob`, `under`",
        )),
        _ => Err((
            format!("has more than one test for {at}"),
            "write a condition for each; all conditions of a rule must hold",
        )),
    }
}
