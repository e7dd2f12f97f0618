//! The rules that a group keeps alone, without its neighbours.

use serde_json::Value;

use super::{Findings, Tool, World};
use crate::{
    document::Draft,
    kind::{Kind, Slots},
    problem::{Problem, listed, nearest},
    reference::Path,
    sequence::{Item, Missing},
};

/// What edits or runs sequences as a whole is no item of one.
const OUTSIDE_ONLY: [&str; 3] = ["seq_create", "seq_delete", "seq_run"];
/// The keys by which the host knows a failure.
const FAILURE_KEYS: [&str; 4] = ["field", "reason", "detail", "hint"];

pub(super) fn check(draft: &Draft, world: &impl World, findings: &mut Findings) {
    reserved(draft, findings);
    slots(draft, findings);
    references(draft, findings);
    fallback(draft, findings);
    for (at, item) in draft.group.items.iter().enumerate() {
        tool(draft, at, item, world, findings);
    }
}

/// A value with such keys would be read as a failure.
fn reserved(draft: &Draft, findings: &mut Findings) {
    let group = &draft.group;
    for (side, slots) in [("in", &group.input), ("out", &group.output)] {
        for key in slots
            .keys()
            .filter(|key| matches!(*key, "error" | "isError"))
        {
            let what =
                format!("no slot is named `{key}`: a value with that key is read as a failure");
            findings.error(
                Problem::new(format!("{}.{side}.{key}", draft.path), "reserved", what)
                    .hint(r#"write `errors`, for example {"out":{"errors":"any"}}"#),
            );
        }
    }
    let mut keys = group.output.keys().peekable();
    if keys.peek().is_some() && keys.all(|key| FAILURE_KEYS.contains(&key)) {
        let what = format!(
            "an `out` of nothing but {} is read as a failure",
            listed(FAILURE_KEYS)
        );
        findings.error(
            Problem::new(format!("{}.out", draft.path), "reserved", what)
                .hint("use other names, such as `errors`"),
        );
    }
}

fn slots(draft: &Draft, findings: &mut Findings) {
    let output = &draft.group.output;
    let mut written: Vec<&str> = Vec::new();
    for (at, item) in draft.group.items.iter().enumerate() {
        let Some(slot) = &item.slot else { continue };
        let path = format!("{}.as", draft.item_path(at));
        match output.get(slot) {
            None if draft.output_read => {
                findings.error(undeclared(path, slot, "out", output));
            }
            Some(ty) if ty.kind != Kind::Array && written.contains(&slot.as_str()) => {
                let what =
                    format!("a second item writes `{slot}`: which of the two would win is chance");
                findings.error(Problem::new(path, "race", what).hint(format!(
                    "declare it as an array, which takes one element from each, for example {{\"out\":{{\"{slot}\":\"array\"}}}}; or use two slots"
                )));
            }
            _ => {}
        }
        written.push(slot);
    }
    if draft.items_read {
        for key in output.keys().filter(|key| !written.contains(key)) {
            let what = format!("no item writes `{key}`: add `\"as\":\"{key}\"` to one");
            findings.warn(Problem::new(
                format!("{}.out.{key}", draft.path),
                "unused",
                what,
            ));
        }
    }
}

fn undeclared(path: String, key: &str, side: &str, slots: &Slots) -> Problem {
    let near =
        nearest(key, slots.keys()).map_or_else(String::new, |near| format!("write `{near}`; "));
    Problem::new(path, "slot", format!("`{side}` declares no `{key}`")).hint(format!(
        "{near}declared: {}; to declare it, for example {{\"{side}\":{{\"{key}\":\"any\"}}}}",
        listed(slots.keys())
    ))
}

fn references(draft: &Draft, findings: &mut Findings) {
    let group = &draft.group;
    let mut used: Vec<&Path> = Vec::new();
    let mut found = Vec::new();
    found.extend(
        group
            .when
            .reference()
            .map(|path| (format!("{}.when", draft.path), path)),
    );
    for (at, item) in group.items.iter().enumerate() {
        let path = draft.item_path(at);
        item.args.references(&format!("{path}.args"), &mut found);
        if let Some(when) = item.call.as_ref().and_then(|call| call.when.as_ref()) {
            found.extend(
                when.reference()
                    .map(|reference| (format!("{path}.args.when"), reference)),
            );
        }
    }
    for (at, reference) in found {
        if draft.input_read && group.input.get(&reference.key).is_none() {
            findings.error(undeclared(at, &reference.key, "in", &group.input));
        }
        used.push(reference);
    }
    if draft.items_read {
        for key in group
            .input
            .keys()
            .filter(|key| used.iter().all(|path| path.key != **key))
        {
            let what = format!("nothing reads `$args.{key}`");
            findings.warn(Problem::new(
                format!("{}.in.{key}", draft.path),
                "unused",
                what,
            ));
        }
    }
}

/// Without a value for each slot that can stay empty, `degrade` would promise too much.
fn fallback(draft: &Draft, findings: &mut Findings) {
    let Missing::Degrade(values) = &draft.group.missing else {
        return;
    };
    let written = draft
        .group
        .items
        .iter()
        .filter_map(|item| item.slot.as_deref());
    let mut uncovered: Vec<&str> = written.filter(|slot| !values.contains_key(*slot)).collect();
    uncovered.sort_unstable();
    uncovered.dedup();
    if !uncovered.is_empty() {
        let what = format!(
            "`missing: degrade` needs a `fallback` for {}",
            listed(uncovered.iter().copied())
        );
        let hint = format!(
            "for example {{\"fallback\":{{\"{}\":…}}}}",
            uncovered.first().unwrap_or(&"")
        );
        findings
            .error(Problem::new(format!("{}.fallback", draft.path), "required", what).hint(hint));
    }
}

fn tool(draft: &Draft, at: usize, item: &Item, world: &impl World, findings: &mut Findings) {
    let path = draft.item_path(at);
    let name = &item.tool;
    if OUTSIDE_ONLY.contains(&name.as_str()) {
        let what = format!("`{name}` is no item of a sequence: a sequence does not edit sequences");
        findings.error(
            Problem::new(format!("{path}.tool"), "forbidden", what)
                .hint(r##"run another sequence with `seq_call`, for example {"tool":"seq_call","args":{"target":"#name"}}"##),
        );
        return;
    }
    if item.unsafe_serial && draft.group.parallel {
        let what = "`unsafe_serial` is legal in a group with `\"parallel\": false` only";
        findings.error(
            Problem::new(format!("{path}.unsafe_serial"), "unsafe", what)
                .hint(format!("add \"parallel\":false to {}", draft.path)),
        );
    }
    match world.tool(name) {
        Tool::Absent => findings.warn(
            Problem::new(
                format!("{path}.tool"),
                "not_found",
                format!("there is no tool `{name}` now"),
            )
            .hint("`missing` says what happens if it is still not there at the run"),
        ),
        Tool::Denied => findings.warn(
            Problem::new(
                format!("{path}.tool"),
                "unauthorized",
                format!("you may not call `{name}` now"),
            )
            .hint("a run has the rights of whoever runs it"),
        ),
        Tool::Known {
            parallel_safe: true,
            parameters,
        } => {
            if item.unsafe_serial && !draft.group.parallel {
                let what =
                    format!("`{name}` may run beside others: `unsafe_serial` says nothing here");
                findings.warn(Problem::new(
                    format!("{path}.unsafe_serial"),
                    "unused",
                    what,
                ));
            }
            shell(item, &path, &parameters, findings);
        }
        Tool::Known {
            parallel_safe: false,
            parameters,
        } => {
            if draft.group.parallel {
                let what = format!(
                    "`{name}` is not parallel-safe, and this group runs its items side by side"
                );
                findings.error(
                    Problem::new(format!("{path}.tool"), "unsafe", what).hint(format!(
                        "add \"parallel\":false to {}, and \"unsafe_serial\":true to this item",
                        draft.path
                    )),
                );
            } else if !item.unsafe_serial {
                let what =
                    format!("`{name}` is not parallel-safe: the item has to say that it knows");
                findings.error(
                    Problem::new(format!("{path}.unsafe_serial"), "unsafe", what)
                        .hint("add \"unsafe_serial\":true to this item"),
                );
            }
            shell(item, &path, &parameters, findings);
        }
    }
}

/// A value inside a shell line is read by the shell.
fn shell(item: &Item, path: &str, parameters: &Value, findings: &mut Findings) {
    let mut found = Vec::new();
    item.args.references("", &mut found);
    for (at, reference) in found {
        let top = at
            .trim_start_matches('.')
            .split(['.', '['])
            .next()
            .unwrap_or_default();
        let format = parameters
            .get("properties")
            .and_then(|properties| properties.get(top))
            .and_then(|property| property.get("format"));
        if format.and_then(Value::as_str) == Some("shell-command") {
            let what = format!("{reference} stands in a shell line: the shell will read the value");
            findings.warn(
                Problem::new(format!("{path}.args{at}"), "shell", what)
                    .hint("use `argv`: no shell reads it"),
            );
        }
    }
}
