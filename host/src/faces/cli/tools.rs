//! `toolgate tools`: what a principal may see, and one tool in full.

use clap::Args;
use serde_json::{Value, json};

use super::{
    Who,
    context::Context,
    exit::Exit,
    output::{Tone, cell},
    problem::Problem,
    results::{size, time},
};
use crate::{
    policy::{Limits, Otherwise, Policy, PrincipalRules, Rule},
    registry::Target,
    tool::{Principal, ToolSpec},
};

/// Digits of a digest that people compare.
const SHORT: usize = 12;

#[derive(Debug, Args)]
pub(super) struct Tools {
    /// Show this tool in full
    tool: Option<String>,
    #[command(flatten)]
    who: Who,
}

pub(super) async fn perform(cx: &Context<'_>, args: &Tools) -> Result<Exit, Problem> {
    let host = cx.working_host(cx.config()?).await?;
    let principal = cx.principal(&host, &args.who)?;
    let targets = host.dispatcher().visible(&principal, &[]);
    let Some(name) = &args.tool else {
        list(cx, &targets)?;
        return Ok(Exit::Ok);
    };
    let Some(target) = targets
        .iter()
        .find(|target| target.spec().name.as_str() == name)
    else {
        return Err(missing(name, &targets, &principal));
    };
    one(cx, target, &host.dispatcher().policy())?;
    Ok(Exit::Ok)
}

fn missing(name: &str, targets: &[Target], principal: &Principal) -> Problem {
    let near = targets
        .iter()
        .map(|target| target.spec().name.as_str())
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(score, _)| *score >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let hint = match near {
        Some((_, near)) => format!("did you mean `{near}`?"),
        None => {
            "`toolgate tools` lists them; `toolgate plugins` says what was set aside".to_owned()
        }
    };
    Problem::failed(format!(
        "there is no tool `{name}` that {} may see",
        principal.id()
    ))
    .hint(hint)
}

fn list(cx: &Context<'_>, targets: &[Target]) -> Result<(), Problem> {
    if cx.out.wants_json() {
        return cx.out.json(&targets.iter().map(brief).collect::<Vec<_>>());
    }
    let rows: Vec<_> = targets
        .iter()
        .map(|target| {
            let spec = target.spec();
            let from = target.implementation();
            vec![
                cell(spec.name.as_str()).tone(Tone::Strong),
                cell(&flags(target).join(" ")),
                cell(from.plugin.as_str()),
                cell(&from.generation.to_string()),
                cell(&short(&from.digest.hex())).tone(Tone::Faint),
                cell(spec.description.lines().next().unwrap_or_default()),
            ]
        })
        .collect();
    cx.out.table(
        &["tool", "safety", "plugin", "gen", "digest", "description"],
        &rows,
    )
}

fn one(cx: &Context<'_>, target: &Target, policy: &Policy) -> Result<(), Problem> {
    let spec = target.spec();
    if cx.out.wants_json() {
        let mut full = full(target);
        if let Value::Object(full) = &mut full {
            full.insert(
                "callers".into(),
                callers(policy, spec).map(|caller| caller.json()).collect(),
            );
        }
        return cx.out.json(&full);
    }
    let from = target.implementation();
    let out = cx.out;
    out.toned(Tone::Strong, spec.name.as_str())?;
    out.line(&format!("  {}", spec.description.replace('\n', "\n  ")))?;
    out.line("")?;
    out.line(&format!("safety      {}", flags(target).join(", ")))?;
    out.line(&format!(
        "plugin      {} {}, generation {}",
        from.plugin, from.version, from.generation
    ))?;
    out.line(&format!("digest      {}", from.digest))?;
    if let Some(limits) = limits(target) {
        out.line(&format!(
            "limits      {}, {} of memory, result {}, media {}",
            time(limits.timeout),
            bytes(limits.memory),
            bytes(limits.result),
            bytes(limits.blocks)
        ))?;
    }
    for caller in callers(policy, spec) {
        out.line(&format!("caller      {}: {}", caller.id, caller.words()))?;
    }
    schema(cx, "arguments", &spec.parameters)?;
    match &spec.output_schema {
        Some(output) => schema(cx, "value", output),
        None => Ok(()),
    }
}

fn schema(cx: &Context<'_>, title: &str, schema: &Value) -> Result<(), Problem> {
    cx.out.line("")?;
    cx.out.toned(Tone::Strong, title)?;
    let text = serde_json::to_string_pretty(schema).unwrap_or_default();
    cx.out.line(&format!("  {}", text.replace('\n', "\n  ")))
}

fn brief(target: &Target) -> Value {
    let spec = target.spec();
    let from = target.implementation();
    json!({
        "name": spec.name,
        "title": spec.title,
        "description": spec.description,
        "plugin": from.plugin,
        "version": from.version,
        "digest": from.digest,
        "generation": from.generation,
        "parallel_safe": spec.parallel_safe,
        "parallel_rule": has_parallel_rule(target),
        "serial": spec.serial,
        "hints": spec.hints,
        "timeout_ms": milliseconds(target),
    })
}

/// All that may be known to whoever may see the tool.
pub(in crate::faces) fn full(target: &Target) -> Value {
    let spec = target.spec();
    let mut full = brief(target);
    if let Value::Object(full) = &mut full {
        full.insert("parameters".into(), spec.parameters.clone());
        full.insert(
            "output_schema".into(),
            spec.output_schema.clone().unwrap_or_default(),
        );
        full.insert(
            "limits".into(),
            limits(target).map_or(Value::Null, limits_json),
        );
    }
    full
}

fn milliseconds(target: &Target) -> u64 {
    u64::try_from(target.timeout().as_millis()).unwrap_or(u64::MAX)
}

/// What it says about itself, and what the operator says about its parallel safety.
pub(super) fn flags(target: &Target) -> Vec<&'static str> {
    let spec = target.spec();
    let mut flags = Vec::new();
    flags.push(match (has_parallel_rule(target), spec.parallel_safe) {
        (true, _) => "parallel-by-rule",
        (false, true) => "parallel",
        (false, false) => "alone",
    });
    if spec.serial {
        flags.push("serial");
    }
    let hints = &spec.hints;
    for (said, word) in [
        (hints.read_only, "read-only"),
        (hints.destructive, "destructive"),
        (hints.idempotent, "idempotent"),
        (hints.open_world, "open-world"),
    ] {
        if said == Some(true) {
            flags.push(word);
        }
    }
    flags
}

fn has_parallel_rule(target: &Target) -> bool {
    matches!(target, Target::Plugin(tool) if tool.parallel.is_some())
}

fn limits(target: &Target) -> Option<&Limits> {
    match target {
        Target::Plugin(tool) => Some(&tool.limits),
        Target::Native(_) => None,
    }
}

fn limits_json(limits: &Limits) -> Value {
    json!({
        "timeout_ms": u64::try_from(limits.timeout.as_millis()).unwrap_or(u64::MAX),
        "memory": limits.memory,
        "result": limits.result,
        "blocks": limits.blocks,
        "host_call": limits.host_call,
        "log_bytes": limits.log_bytes,
        "log_lines": limits.log_lines,
        "handles": limits.handles,
    })
}

/// The digest's first digits.
pub(super) fn short(hex: &str) -> String {
    hex.chars().take(SHORT).collect()
}

fn bytes(count: u64) -> String {
    size(usize::try_from(count).unwrap_or(usize::MAX))
}

/// What one principal's rules say about a tool.
struct Caller<'p> {
    id: &'p str,
    rules: &'p PrincipalRules,
    sees: bool,
    tool: &'p str,
}

fn callers<'p>(policy: &'p Policy, spec: &'p ToolSpec) -> impl Iterator<Item = Caller<'p>> {
    let tool = spec.name.as_str();
    policy.iter().map(move |(id, rules)| {
        let sees = policy
            .principal(id)
            .is_some_and(|principal| policy.may_see(&principal, tool));
        Caller {
            id,
            rules,
            sees,
            tool,
        }
    })
}

impl Caller<'_> {
    fn named(&self, rules: &[Rule]) -> Vec<String> {
        rules
            .iter()
            .filter(|rule| rule.names(self.tool))
            .map(ToString::to_string)
            .collect()
    }

    fn words(&self) -> String {
        if !self.sees {
            return "may not, and does not see it".to_owned();
        }
        let mut words = Vec::new();
        for (word, rules) in [
            ("denied for", &self.rules.deny),
            ("asked about for", &self.rules.ask),
            ("allowed for", &self.rules.allow),
        ] {
            let named = self.named(rules);
            if !named.is_empty() {
                words.push(format!("{word} {}", named.join(", ")));
            }
        }
        words.push(match self.rules.otherwise {
            Otherwise::Deny => "else denied".to_owned(),
            Otherwise::Ask => "else asked about".to_owned(),
        });
        words.join("; ")
    }

    fn json(&self) -> Value {
        json!({
            "principal": self.id,
            "kind": self.rules.kind,
            "sees": self.sees,
            "deny": self.named(&self.rules.deny),
            "ask": self.named(&self.rules.ask),
            "allow": self.named(&self.rules.allow),
            "otherwise": match self.rules.otherwise {
                Otherwise::Deny => "deny",
                Otherwise::Ask => "ask",
            },
        })
    }
}
