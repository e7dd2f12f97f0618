//! What is wrong with groups of a right shape, as far as it can be known before a run: slots
//! that are not declared, races, tools that must run alone, calls that lead in a circle.
//! That a tool or a sequence exists is a warning at most: they come and go.

mod graph;
mod group;
mod inputs;

use serde_json::Value;

use crate::{
    document::Draft,
    kind::Slots,
    name::Name,
    problem::{Problem, listed},
    sequence::{Call, Item, Target},
};

/// What can be known of a tool now.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tool {
    Known {
        parallel_safe: bool,
        /// JSON Schema.
        parameters: Value,
    },
    /// It is there, but not for this caller.
    Denied,
    Absent,
}

/// The world outside of the document.
pub(crate) trait World {
    fn tool(&self, name: &str) -> Tool;

    /// The sequences that a stored sequence calls; none if it is not there or cannot be read.
    fn calls(&self, name: &Name) -> Option<Vec<Name>>;
}

/// Where findings go. Errors refuse the document, warnings come with its result.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) errors: Vec<Problem>,
    pub(crate) warnings: Vec<Problem>,
}

impl Findings {
    fn error(&mut self, problem: Problem) {
        self.errors.push(problem);
    }

    fn warn(&mut self, problem: Problem) {
        self.warnings.push(problem);
    }
}

/// All rules. Gives the sequence's own inputs.
pub(crate) fn check(
    name: Option<&Name>,
    drafts: &[Draft],
    world: &impl World,
    findings: &mut Findings,
) -> Slots {
    for draft in drafts {
        group::check(draft, world, findings);
    }
    unique(drafts, findings);
    targets(drafts, world, findings);
    circles(name, drafts, world, findings);
    if drafts.iter().all(|draft| !draft.group.step) && !drafts.is_empty() {
        let what = "every group has `step: false`: `seq_run` would run nothing";
        findings.warn(Problem::new("groups", "no_step", what));
    }
    inputs::check(drafts, findings)
}

/// Names of groups tell them apart.
fn unique(drafts: &[Draft], findings: &mut Findings) {
    for (i, draft) in drafts.iter().enumerate() {
        let name = &draft.group.name;
        if drafts.iter().take(i).any(|other| &other.group.name == name) {
            let what = format!("a second group is named `{name}`");
            findings.error(
                Problem::new(format!("{}.name", draft.path), "duplicate", what)
                    .hint("give each group a name of its own"),
            );
        }
    }
}

/// Groups that are called have to be here; sequences may come later.
fn targets(drafts: &[Draft], world: &impl World, findings: &mut Findings) {
    let names = || drafts.iter().map(|draft| draft.group.name.as_str());
    for (draft, at, call) in calls(drafts) {
        let path = format!("{}.args.target", draft.item_path(at));
        match &call.target {
            Target::Group(name) if !names().any(|known| known == name) => {
                let near = crate::problem::nearest(name, names())
                    .map_or_else(String::new, |near| format!("write `{near}`; "));
                findings.error(
                    Problem::new(
                        path,
                        "target",
                        format!("this sequence has no group `{name}`"),
                    )
                    .hint(format!(
                        "{near}its groups: {}; another sequence is `#name`",
                        listed(names())
                    )),
                );
            }
            Target::Sequence(name) if world.calls(name).is_none() => {
                let what = format!("there is no sequence `{name}` yet");
                findings.warn(
                    Problem::new(path, "not_found", what).hint("create it before this one runs"),
                );
            }
            _ => {}
        }
    }
}

fn calls(drafts: &[Draft]) -> impl Iterator<Item = (&Draft, usize, &Call)> {
    drafts.iter().flat_map(|draft| {
        let items = draft.group.items.iter().enumerate();
        items.filter_map(move |(at, item): (usize, &Item)| Some((draft, at, item.call.as_ref()?)))
    })
}

fn circles(name: Option<&Name>, drafts: &[Draft], world: &impl World, findings: &mut Findings) {
    let find = |name: &str| drafts.iter().find(|draft| draft.group.name == name);
    let mut told: Vec<String> = Vec::new();
    for draft in drafts {
        let start = draft.group.name.clone();
        if told.contains(&start) {
            continue;
        }
        let next = |name: &String| {
            find(name).map_or_else(Vec::new, |draft| {
                draft.group.groups().map(str::to_owned).collect()
            })
        };
        if let Some(circle) = graph::circle(&start, next) {
            let what = format!("groups call each other in a circle: {}", circle.join(" → "));
            findings.error(
                Problem::new(format!("{}.tools", draft.path), "cycle", what)
                    .hint("remove one of these calls"),
            );
            told.extend(circle);
        }
    }
    let Some(name) = name else { return };
    let mut own = Vec::new();
    for (_, _, call) in calls(drafts) {
        if let Target::Sequence(target) = &call.target {
            own.push(target.clone());
        }
    }
    let next = |node: &Name| {
        if node == name {
            own.clone()
        } else {
            world.calls(node).unwrap_or_default()
        }
    };
    if let Some(circle) = graph::circle(name, next) {
        let circle: Vec<String> = circle.iter().map(|name| format!("#{name}")).collect();
        let what = format!(
            "sequences call each other in a circle: {}",
            circle.join(" → ")
        );
        findings.error(Problem::new("groups", "cycle", what).hint("remove one of these calls"));
    }
}

#[cfg(test)]
mod tests;
