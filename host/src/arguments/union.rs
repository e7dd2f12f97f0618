//! A value that fits no branch of `anyOf` or `oneOf`: says the faults of the branch that
//! was meant, where that is clear, or else what each branch asks for.

use jsonschema::{ValidationError, error::ValidationErrorKind as Fault};
use serde_json::Value;

use super::{
    explain::Explanation,
    faults::{alternatives, one_of, send, wanted},
    wording::{self, Kind, quote},
};
use crate::tool::Reason;

/// Branches that are listed where none is the closest.
const MAX_LISTED: usize = 5;

type Branch = Vec<ValidationError<'static>>;

/// Adds the errors for a value that fits none of `branches`.
pub(super) fn add(
    explanation: &mut Explanation<'_>,
    error: &ValidationError<'_>,
    field: &str,
    branches: &[Branch],
) {
    let own = error.instance_path().as_str();
    let value = error.instance().as_ref();
    let alive: Vec<&Branch> = branches
        .iter()
        .filter(|branch| types(branch, own).is_empty())
        .collect();
    if alive.is_empty() {
        let mut kinds: Vec<Kind> = branches
            .iter()
            .flat_map(|branch| types(branch, own))
            .collect();
        kinds.dedup();
        let detail = format!("is {}, not {}", quote(value), alternatives(&kinds));
        return explanation.push(Reason::Type, field, &detail, &send(&kinds));
    }
    if let Some(branch) = closest(&alive) {
        return branch.iter().for_each(|error| explanation.add(error));
    }
    if let Some((error, options)) = same_list(&alive) {
        let place = explanation.field(error);
        let detail = format!(
            "is {}, which is not an allowed value",
            quote(error.instance())
        );
        return explanation.push(Reason::Enum, &place, &detail, &one_of(&options));
    }
    let forms = alive
        .iter()
        .take(MAX_LISTED)
        .enumerate()
        .map(|(index, branch)| {
            let said = branch
                .first()
                .map(|error| wording::clip(&error.masked().to_string(), 70));
            format!("form {}: {}", index + 1, said.unwrap_or_default())
        });
    let detail = format!(
        "is {}, which fits none of {} forms",
        quote(value),
        branches.len()
    );
    explanation.push(Reason::Schema, field, &detail, &wording::join(forms));
}

/// The types that a branch wants instead of the value's own, if it is of another one.
fn types(branch: &Branch, own: &str) -> Vec<Kind> {
    branch
        .iter()
        .filter(|error| error.instance_path().as_str() == own)
        .find_map(|error| match error.kind() {
            Fault::Type { kind } => Some(wanted(kind)),
            _ => None,
        })
        .unwrap_or_default()
}

/// The only branch, the only one whose listed values (a discriminator's) hold, or the only
/// one with the fewest faults.
fn closest<'b>(alive: &[&'b Branch]) -> Option<&'b Branch> {
    if let [only] = alive {
        return Some(only);
    }
    let meant: Vec<&Branch> = alive
        .iter()
        .copied()
        .filter(|branch| listed(branch).is_none())
        .collect();
    if let [only] = meant.as_slice() {
        return Some(only);
    }
    let fewest = meant.iter().map(|branch| branch.len()).min()?;
    let mut closest = meant
        .iter()
        .copied()
        .filter(|branch| branch.len() == fewest);
    closest.next().filter(|_| closest.next().is_none())
}

/// Where every branch lists values for the same place, that place's error and all values.
fn same_list<'b>(alive: &[&'b Branch]) -> Option<(&'b ValidationError<'static>, Vec<&'b Value>)> {
    let mut first: Option<&ValidationError<'static>> = None;
    let mut options = Vec::new();
    for branch in alive {
        let (error, values) = listed(branch)?;
        let place = first.get_or_insert(error).instance_path().as_str();
        if error.instance_path().as_str() != place {
            return None;
        }
        options.extend(values);
    }
    Some((first?, options))
}

/// A branch's first fault of `enum` or `const`, with the values.
fn listed(branch: &Branch) -> Option<(&ValidationError<'static>, Vec<&Value>)> {
    branch.iter().find_map(|error| match error.kind() {
        Fault::Enum { options } => Some((error, options.as_array()?.iter().collect())),
        Fault::Constant { expected_value } => Some((error, vec![&**expected_value])),
        _ => None,
    })
}
