//! One group: the condition, the calls, and what becomes of their results.

use std::time::Duration;

use serde_json::{Map, Value};
use toolgate_sdk::{Block, ToolError, tools::NestedCall};

use super::{
    Runner,
    attempts::{End, Slot},
    outcome::{Again, Failed},
    report::cut,
};
use crate::{
    kernel::Kernel,
    kind::Kind,
    sequence::{Group, Item, Missing, OnError},
    stack::Stack,
};

/// How a group ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    Skipped,
    Failed,
    Timeout,
}

/// A group's run.
#[derive(Debug)]
pub(crate) struct GroupRun {
    pub(crate) name: String,
    pub(crate) status: Status,
    pub(crate) reason: Option<String>,
    pub(crate) items: Vec<ItemRun>,
    pub(crate) attempts: u32,
    pub(crate) parallel: bool,
    pub(crate) elapsed: Duration,
    pub(crate) out: Map<String, Value>,
    pub(crate) blocks: Vec<Block>,
    error: Option<ToolError>,
}

/// How an item ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemStatus {
    Ok,
    Skipped,
    /// Its slot took the fallback.
    Degraded,
    Failed,
    Timeout,
}

/// An item's run.
#[derive(Debug)]
pub(crate) struct ItemRun {
    pub(crate) tool: String,
    pub(crate) status: ItemStatus,
    pub(crate) elapsed_ms: f64,
    pub(crate) error: Option<ToolError>,
}

impl GroupRun {
    fn new(group: &Group, status: Status) -> Self {
        Self {
            name: group.name.clone(),
            status,
            reason: None,
            items: Vec::new(),
            attempts: 0,
            parallel: group.parallel,
            elapsed: Duration::ZERO,
            out: Map::new(),
            blocks: Vec::new(),
            error: None,
        }
    }

    pub(crate) fn skipped(group: &Group, why: String) -> Self {
        Self {
            reason: Some(why),
            ..Self::new(group, Status::Skipped)
        }
    }

    /// Before any item could run.
    pub(crate) fn failed(group: &Group, error: ToolError) -> Self {
        Self {
            reason: error.detail.clone(),
            error: Some(error),
            ..Self::new(group, Status::Failed)
        }
    }

    /// What ended it, for a caller further out.
    pub(crate) fn failure(&self) -> ToolError {
        self.error
            .clone()
            .unwrap_or_else(|| ToolError::new("failed", format!("group `{}` failed", self.name)))
    }
}

impl<K: Kernel> Runner<'_, K> {
    pub(super) fn run_group(
        &mut self,
        group: &Group,
        inputs: &Map<String, Value>,
        stack: &Stack,
    ) -> GroupRun {
        let started = self.kernel.elapsed();
        match group.when.holds(inputs) {
            Ok(true) => {}
            Ok(false) => {
                let why = format!("its condition is false: {}", group.when.write());
                return GroupRun::skipped(group, why);
            }
            Err(why) => {
                return GroupRun::failed(group, ToolError::new("condition", why).field("when"));
            }
        }
        let mut slots: Vec<Slot> = group
            .items
            .iter()
            .map(|item| prepared(item, inputs))
            .collect();
        if group.on_error != OnError::Continue && slots.iter().any(Slot::has_failed) {
            // Nothing runs where it is known already that the group fails.
            Slot::stop(
                &mut slots,
                "not started: another item of the group cannot run",
            );
        }
        let serial = self.is_serial(group);
        let deadline = started.saturating_add(Duration::from_millis(group.timeout_ms));
        self.attempts(group, &mut slots, serial, deadline, stack);
        let ended = self.kernel.elapsed();
        let mut run = settled(group, slots, ended >= deadline);
        run.parallel = !serial;
        run.elapsed = ended.saturating_sub(started);
        run
    }

    /// A tool that must run alone makes its group serial; the host would do it too, but
    /// would not say why.
    fn is_serial(&mut self, group: &Group) -> bool {
        if !group.parallel {
            return true;
        }
        let mut items = group.items.iter();
        let Some(item) = items.find(|item| self.facts.runs_alone(self.kernel, &item.tool)) else {
            return false;
        };
        self.tell(format!(
            "tool `{}` is no longer parallel-safe: group `{}` runs one after another",
            item.tool, group.name
        ));
        true
    }

    /// A warning, once.
    pub(super) fn tell(&mut self, what: String) {
        if !self.warnings.contains(&what) {
            self.warnings.push(what);
        }
    }
}

/// The call, or why there is none: references that do not resolve, a condition of its own.
fn prepared(item: &Item, inputs: &Map<String, Value>) -> Slot {
    let wrong = |reason, at: String, why| {
        Slot::ended(End::Failed(Failed {
            again: Again::No,
            error: ToolError::new(reason, why).field(at),
            word: "invalid",
            late: false,
        }))
    };
    let when = item.call.as_ref().and_then(|call| call.when.as_ref());
    match when.map(|when| (when, when.holds(inputs))) {
        Some((_, Err(why))) => return wrong("condition", "args.when".into(), why),
        Some((when, Ok(false))) => {
            return Slot::ended(End::Skipped(format!(
                "its condition is false: {}",
                when.write()
            )));
        }
        _ => {}
    }
    let mut arguments = match item.args.fill(inputs) {
        Ok(arguments) => arguments,
        Err((at, why)) => return wrong("reference", format!("args{at}"), why),
    };
    if let (Some(_), Some(members)) = (when, arguments.as_object_mut()) {
        // It holds, in this group's terms; the callee shall not look again in its own.
        members.insert("when".into(), "true".into());
    }
    Slot::waiting(NestedCall {
        name: item.tool.clone(),
        arguments: arguments.to_string(),
    })
}

/// The report, and the slots in the items' order.
fn settled(group: &Group, slots: Vec<Slot>, late: bool) -> GroupRun {
    let mut run = GroupRun::new(group, Status::Ok);
    let mut worst: Option<(usize, Failed)> = None;
    for (at, (item, slot)) in group.items.iter().zip(slots).enumerate() {
        run.attempts = run.attempts.max(slot.attempts);
        run.blocks.extend(slot.blocks);
        let (status, error) = match slot.end.unwrap_or(End::Skipped("not started".into())) {
            End::Ok(value) => {
                put(&mut run.out, group, item, value);
                (ItemStatus::Ok, None)
            }
            End::Skipped(why) => (ItemStatus::Skipped, Some(ToolError::new("skipped", why))),
            End::Missing(error) => match &group.missing {
                Missing::Degrade(fallback) => {
                    if let Some(value) = item.slot.as_ref().and_then(|slot| fallback.get(slot)) {
                        put(&mut run.out, group, item, value.clone());
                    }
                    (ItemStatus::Degraded, Some(error))
                }
                _ => (ItemStatus::Skipped, Some(error)),
            },
            End::Failed(failed) => {
                let status = if failed.late {
                    ItemStatus::Timeout
                } else {
                    ItemStatus::Failed
                };
                let error = failed.error.clone();
                // What must not be tried again says more than what may.
                if worst.as_ref().is_none_or(|(_, worst)| {
                    worst.again == Again::Yes && failed.again != Again::Yes
                }) {
                    worst = Some((at, failed));
                }
                (status, Some(error))
            }
        };
        run.items.push(ItemRun {
            tool: item.tool.clone(),
            status,
            elapsed_ms: slot.elapsed_ms,
            error,
        });
    }
    if let Some((at, failed)) = worst {
        let timed_out = late
            && run
                .items
                .iter()
                .any(|item| item.status == ItemStatus::Timeout);
        run.status = if timed_out {
            Status::Timeout
        } else {
            Status::Failed
        };
        let item = group.items.get(at).map_or("", |item| item.tool.as_str());
        let said = failed
            .error
            .detail
            .as_deref()
            .unwrap_or(&failed.error.reason);
        let field = failed
            .error
            .field
            .as_ref()
            .map_or_else(String::new, |field| format!("{field}: "));
        let what = if timed_out {
            format!(
                "the group's {} ms were over; item {at} (`{item}`): {field}{said}",
                group.timeout_ms
            )
        } else {
            format!("item {at} (`{item}`): {field}{said}")
        };
        let mut error =
            ToolError::new(failed.word, cut(&format!("group `{}`, {what}", group.name)));
        error.hint = failed.error.hint;
        run.reason = Some(what);
        run.error = Some(error);
    }
    run
}

/// The value is of the slot's type already.
fn put(out: &mut Map<String, Value>, group: &Group, item: &Item, value: Value) {
    let Some((slot, ty)) = item
        .slot
        .as_ref()
        .and_then(|slot| Some((slot, group.output.get(slot)?)))
    else {
        return;
    };
    if ty.kind != Kind::Array {
        out.insert(slot.clone(), value);
        return;
    }
    match out
        .entry(slot.as_str())
        .or_insert_with(|| Value::Array(Vec::new()))
    {
        Value::Array(items) => items.push(value),
        other => *other = Value::Array(vec![value]),
    }
}
