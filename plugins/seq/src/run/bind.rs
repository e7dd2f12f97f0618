//! Values on their way into groups: by name, from earlier steps' outputs, else from the
//! caller's arguments.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use toolgate_sdk::ToolError;

use super::{GroupRun, Status};
use crate::{
    kind::{Slots, described},
    name::normal,
    problem::{listed, nearest},
    sequence::Group,
};

/// The values of one run.
#[derive(Debug)]
pub(super) struct Flow<'a> {
    args: &'a Map<String, Value>,
    out: Map<String, Value>,
    /// Slots that a step should have set and did not, and whether a failure is behind it.
    unset: BTreeMap<String, (String, bool)>,
}

#[derive(Debug)]
pub(super) enum Unbound {
    /// A required input has no value, since the step that supplies it did not run.
    Skip {
        why: String,
        tainted: bool,
    },
    Wrong(ToolError),
}

impl<'a> Flow<'a> {
    pub(super) fn new(args: &'a Map<String, Value>) -> Self {
        Self {
            args,
            out: Map::new(),
            unset: BTreeMap::new(),
        }
    }

    pub(super) fn bind(&self, group: &Group) -> Result<Map<String, Value>, Unbound> {
        let mut inputs = Map::new();
        for (key, ty) in group.input.iter() {
            let value = self.out.get(key).or_else(|| self.args.get(key));
            let value =
                match value.filter(|value| !value.is_null() || ty.kind == crate::kind::Kind::Any) {
                    Some(value) => ty.kind.coerce(value.clone()).map_err(|why| {
                        let error = ToolError::new(
                            "type",
                            format!("input `{key}` of group `{}`: {why}", group.name),
                        );
                        Unbound::Wrong(error.field(format!("args.{key}")))
                    })?,
                    None if ty.optional => Value::Null,
                    None => {
                        let (step, tainted) = self.unset.get(key).cloned().unwrap_or_default();
                        let why = format!("its input `{key}` has no value: {step}");
                        return Err(Unbound::Skip { why, tainted });
                    }
                };
            inputs.insert(key.to_owned(), value);
        }
        Ok(inputs)
    }

    /// The group's outputs; what it left unset is remembered.
    pub(super) fn take(&mut self, group: &Group, run: &GroupRun, failed: bool) {
        let why = match run.status {
            Status::Skipped => "was skipped",
            Status::Failed | Status::Timeout => "failed",
            Status::Ok => "left it unset",
        };
        self.unset(group, why, failed);
        for (key, value) in &run.out {
            self.unset.remove(key);
            self.out.insert(key.clone(), value.clone());
        }
    }

    /// Nothing came of this group.
    pub(super) fn unset(&mut self, group: &Group, why: &str, tainted: bool) {
        for key in group.output.keys() {
            let why = format!(
                "step `{}` {}",
                group.name,
                if why.starts_with("its ") {
                    "was skipped"
                } else {
                    why
                }
            );
            self.unset.insert(key.to_owned(), (why, tainted));
        }
    }

    pub(super) fn out(self) -> Map<String, Value> {
        self.out
    }
}

/// The caller's arguments, read as what is declared.
///
/// # Errors
///
/// All that is wrong with them: the first leads, the others follow in its detail.
pub(crate) fn inputs(
    of: &str,
    declared: &Slots,
    args: &Map<String, Value>,
) -> Result<Map<String, Value>, ToolError> {
    let mut wrong: Vec<ToolError> = Vec::new();
    let mut read = Map::new();
    let mut given: BTreeMap<String, &Value> = BTreeMap::new();
    for (key, value) in args {
        let key = normal(key);
        if declared.get(&key).is_none() {
            let near = nearest(&key, declared.keys())
                .map_or_else(String::new, |near| format!("write `{near}`; "));
            let error = ToolError::new("additional", format!("{of} has no input `{key}`"))
                .field(format!("args.{key}"))
                .hint(format!("{near}its inputs: {}", signature(declared)));
            wrong.push(error);
        }
        given.insert(key, value);
    }
    for (key, ty) in declared.iter() {
        let field = format!("args.{key}");
        match given.get(key).copied() {
            Some(Value::Null) if ty.kind == crate::kind::Kind::Any => {
                read.insert(key.to_owned(), Value::Null);
            }
            None | Some(Value::Null) if ty.optional => {
                read.insert(key.to_owned(), Value::Null);
            }
            None | Some(Value::Null) => {
                let what = format!("input `{key}` ({ty}) of {of} is missing");
                let hint = format!("its inputs: {}", signature(declared));
                wrong.push(ToolError::new("required", what).field(field).hint(hint));
            }
            Some(value) => match ty.kind.coerce(value.clone()) {
                Ok(value) => {
                    read.insert(key.to_owned(), value);
                }
                Err(why) => {
                    let what = format!("input `{key}` of {of}: {why}");
                    let hint = format!(
                        "it is declared as `{ty}`, and {} was given",
                        described(value)
                    );
                    wrong.push(ToolError::new("type", what).field(field).hint(hint));
                }
            },
        }
    }
    let mut wrong = wrong.into_iter();
    let Some(mut first) = wrong.next() else {
        return Ok(read);
    };
    for more in wrong {
        if let (Some(detail), Some(also)) = (&mut first.detail, more.detail) {
            detail.push_str("; ");
            detail.push_str(&also);
        }
    }
    Err(first)
}

fn signature(declared: &Slots) -> String {
    let slots: Vec<String> = declared
        .iter()
        .map(|(key, ty)| format!("{key}: {ty}"))
        .collect();
    listed(slots.iter().map(String::as_str))
}
