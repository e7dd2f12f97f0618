//! How values flow between the steps of a whole sequence: by name, from earlier outputs or
//! from the caller. What no step supplies becomes an input of the sequence.

use super::Findings;
use crate::{
    document::Draft,
    kind::{Kind, Slots, Type},
    problem::Problem,
    sequence::{Missing, OnError},
};

pub(super) fn check(drafts: &[Draft], findings: &mut Findings) -> Slots {
    let steps: Vec<&Draft> = drafts.iter().filter(|draft| draft.group.step).collect();
    let mut own = Slots::default();
    for (i, step) in steps.iter().enumerate() {
        let mut required = Vec::new();
        for (key, ty) in step.group.input.iter() {
            let path = format!("{}.in.{key}", step.path);
            let earlier = steps.iter().take(i);
            let suppliers: Vec<(&Draft, Type)> = earlier
                .filter_map(|draft| Some((*draft, draft.group.output.get(key)?)))
                .collect();
            for (supplier, out) in suppliers.iter().filter(|(_, out)| !out.kind.fits(ty.kind)) {
                let what = format!(
                    "`{key}` is wanted as {ty}, and step `{}` before it gives {}",
                    supplier.group.name,
                    out.kind.as_str()
                );
                findings.error(Problem::new(&path, "type", what).hint(format!(
                    "declare both alike, or the input as \"any\", or rename one; for example {{\"in\":{{\"{key}\":\"{}\"}}}}",
                    out.kind.as_str()
                )));
            }
            if suppliers.is_empty() {
                own_input(&mut own, key, ty, &path, findings);
                if !ty.optional {
                    required.push(key);
                }
            } else if let [(supplier, _)] = suppliers.as_slice()
                && !ty.optional
                && own.get(key).is_none()
                && let Some(why) = uncertain(supplier)
            {
                let what = format!(
                    "only step `{}` supplies `{key}`, and it has {why}: without a value this step is skipped",
                    supplier.group.name
                );
                findings.warn(Problem::new(&path, "uncertain", what).hint(format!(
                    "declare it optional if the step can do without, for example {{\"in\":{{\"{key}\":\"{}?\"}}}}",
                    ty.kind.as_str()
                )));
            }
        }
        let name = &step.group.name;
        let called = drafts
            .iter()
            .any(|draft| draft.group.groups().any(|target| target == name));
        if called && !required.is_empty() {
            let what = format!(
                "group `{name}` is called by another group, and as a step of its own it wants {} from the caller of the whole",
                crate::problem::listed(required)
            );
            findings.warn(
                Problem::new(format!("{}.step", step.path), "step", what)
                    .hint("did you mean \"step\":false?"),
            );
        }
    }
    own
}

/// Several steps may read one input of the sequence.
fn own_input(own: &mut Slots, key: &str, ty: Type, path: &str, findings: &mut Findings) {
    let Some((_, known)) = own.0.iter_mut().find(|(k, _)| k == key) else {
        own.0.push((key.to_owned(), ty));
        return;
    };
    let optional = known.optional && ty.optional;
    match fitting(*known, ty) {
        Some(kind) => *known = Type { kind, optional },
        None => findings.error(
            Problem::new(
                path,
                "type",
                format!("`{key}` is wanted as {ty} here and as {known} by an earlier step"),
            )
            .hint("declare both alike, or rename one"),
        ),
    }
}

/// The narrower of two types that one value can have both of.
fn fitting(a: Type, b: Type) -> Option<Kind> {
    use Kind::Any;
    if a.kind == Any {
        Some(b.kind)
    } else if b.kind == Any || a.kind.fits(b.kind) {
        Some(a.kind)
    } else if b.kind.fits(a.kind) {
        Some(b.kind)
    } else {
        None
    }
}

fn uncertain(supplier: &Draft) -> Option<&'static str> {
    let group = &supplier.group;
    if !group.when.is_true() {
        Some("a `when`")
    } else if group.on_error == OnError::Continue {
        Some("`on_error: continue`")
    } else if group.missing == Missing::Skip {
        Some("`missing: skip`")
    } else {
        None
    }
}
