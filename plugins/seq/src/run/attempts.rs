//! From calls to ends: batches of the host, again and again while that helps and time is
//! left. What is not certain to have not happened is not done twice.

use std::time::Duration;

use serde_json::Value;
use toolgate_sdk::{
    Block, ToolError,
    tools::{CallResult, NestedCall, Options},
};

use super::{
    Runner,
    outcome::{Again, Failed, Unmade, unmade},
};
use crate::{
    kernel::Kernel,
    kind::Kind,
    sequence::{Group, Item, Missing, OnError},
    stack::Stack,
};

/// Before the second attempt; each further wait is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(200);

/// Where an item stands while its group runs.
#[derive(Debug)]
pub(super) struct Slot {
    call: Option<NestedCall>,
    pub(super) attempts: u32,
    pub(super) end: Option<End>,
    pub(super) elapsed_ms: f64,
    pub(super) blocks: Vec<Block>,
}

/// How an item ended.
#[derive(Debug)]
pub(super) enum End {
    /// Of the slot's type.
    Ok(Value),
    Skipped(String),
    /// The tool is missing, and the group says what to do then.
    Missing(ToolError),
    Failed(Failed),
}

impl Slot {
    pub(super) fn waiting(call: NestedCall) -> Self {
        Self {
            call: Some(call),
            attempts: 0,
            end: None,
            elapsed_ms: 0.0,
            blocks: Vec::new(),
        }
    }

    pub(super) fn ended(end: End) -> Self {
        Self {
            call: None,
            attempts: 0,
            end: Some(end),
            elapsed_ms: 0.0,
            blocks: Vec::new(),
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        matches!(self.end, Some(End::Failed(_)))
    }

    /// What has not started never will.
    pub(super) fn stop(slots: &mut [Self], why: &str) {
        for slot in slots.iter_mut().filter(|slot| slot.end.is_none()) {
            slot.end = Some(End::Skipped(why.to_owned()));
        }
    }
}

impl<K: Kernel> Runner<'_, K> {
    pub(super) fn attempts(
        &mut self,
        group: &Group,
        slots: &mut [Slot],
        serial: bool,
        deadline: Duration,
        stack: &Stack,
    ) {
        let stop_on_failure = serial && group.on_error != OnError::Continue;
        let mut wait: Option<Duration> = None;
        loop {
            let waiting = slots
                .iter()
                .enumerate()
                .filter(|(_, slot)| slot.end.is_none());
            let (at, calls): (Vec<usize>, Vec<NestedCall>) = waiting
                .filter_map(|(at, slot)| Some((at, slot.call.clone()?)))
                .unzip();
            if calls.is_empty() {
                return;
            }
            let left = deadline.saturating_sub(self.kernel.elapsed());
            if left.is_zero() {
                Slot::stop(slots, "not started: the group's time was over");
                return;
            }
            let options = Options {
                serial,
                stop_on_failure,
                timeout_ms: Some(ms(left).max(1)),
                retry_delay_ms: wait.map(ms),
                extra: stack.extra(),
            };
            let mut moved = false;
            for (at, result) in at.into_iter().zip(self.kernel.execute(&calls, &options)) {
                if let (Some(item), Some(slot)) = (group.items.get(at), slots.get_mut(at)) {
                    moved |= self.file(group, item, slot, result);
                }
            }
            wait = self.next_wait(group, slots, deadline);
            let failed = slots.iter().any(Slot::has_failed);
            if !moved || (failed && group.on_error != OnError::Continue) {
                Slot::stop(slots, "not started: an earlier item of the group failed");
                return;
            }
        }
    }

    /// Notes how one call ended. False: it was not started.
    fn file(&mut self, group: &Group, item: &Item, slot: &mut Slot, result: CallResult) -> bool {
        self.met(item, &result);
        slot.elapsed_ms += result.elapsed_ms;
        let end = match result.outcome {
            Ok(output) => {
                slot.blocks = output.blocks;
                value(group, item, &output.value).map_or_else(End::Failed, End::Ok)
            }
            Err(failure) => match unmade(&item.tool, failure) {
                Unmade::NotStarted => return false,
                Unmade::Missing(error) if group.missing != Missing::Fail => End::Missing(error),
                Unmade::Missing(error) => End::Failed(Failed {
                    again: Again::No,
                    error,
                    word: "missing_tool",
                    late: false,
                }),
                Unmade::Failed(failed, blocks) => {
                    slot.blocks = blocks;
                    End::Failed(failed)
                }
            },
        };
        slot.attempts += 1;
        slot.end = Some(end);
        true
    }

    /// A tool that is not the one of the day when the sequence was made is reported.
    fn met(&mut self, item: &Item, result: &CallResult) {
        let met = result.implementation.as_ref();
        self.facts.met(self.kernel, &item.tool, met);
        let made_with = self.stored.record.digests.get(&item.tool);
        if let (Some(made_with), Some(met)) = (made_with, met)
            && *made_with != met.digest
        {
            self.tell(format!(
                "tool `{}` is another implementation than when this sequence was made",
                item.tool
            ));
        }
    }

    /// Whether to try again, and after how long; what is tried again waits again.
    fn next_wait(
        &mut self,
        group: &Group,
        slots: &mut [Slot],
        deadline: Duration,
    ) -> Option<Duration> {
        let OnError::Retry(retries) = group.on_error else {
            return None;
        };
        let (mut attempts, mut may) = (0, true);
        for (item, slot) in group.items.iter().zip(slots.iter_mut()) {
            let Some(End::Failed(failed)) = &mut slot.end else {
                continue;
            };
            attempts = attempts.max(slot.attempts);
            may &= slot.attempts <= retries;
            match failed.again {
                Again::Yes => {}
                Again::IfRepeatable if self.facts.repeatable(self.kernel, &item.tool) => {}
                Again::IfRepeatable => {
                    may = false;
                    failed.word = "outcome_unknown";
                    say(&mut failed.error, "outcome unknown, not repeated");
                }
                Again::No => may = false,
            }
        }
        if attempts == 0 || !may {
            return None;
        }
        let wait = FIRST_WAIT.saturating_mul(1 << (attempts - 1).min(16));
        if wait >= deadline.saturating_sub(self.kernel.elapsed()) {
            for slot in slots.iter_mut() {
                if let Some(End::Failed(failed)) = &mut slot.end {
                    say(&mut failed.error, "no time was left to try again");
                }
            }
            return None;
        }
        for slot in slots.iter_mut().filter(|slot| slot.has_failed()) {
            slot.end = None;
        }
        Some(wait)
    }
}

/// The value as its slot takes it.
fn value(group: &Group, item: &Item, text: &str) -> Result<Value, Failed> {
    let wrong = |reason, why: String| Failed {
        again: Again::No,
        error: ToolError::new(reason, why).field("as"),
        word: "invalid",
        late: false,
    };
    let value: Value = serde_json::from_str(text)
        .map_err(|_| wrong("internal", "the host gave no JSON".into()))?;
    let Some(slot) = &item.slot else {
        return Ok(Value::Null);
    };
    let Some(ty) = group.output.get(slot) else {
        return Err(wrong("slot", format!("`out` declares no `{slot}`")));
    };
    match ty.kind {
        Kind::Array => Ok(value),
        kind => kind.take(value).map_err(|why| {
            wrong(
                "type",
                format!("the result does not fit slot `{slot}`: {why}"),
            )
        }),
    }
}

fn say(error: &mut ToolError, what: &str) {
    let detail = error.detail.take().unwrap_or_else(|| error.reason.clone());
    error.detail = Some(format!("{detail}; {what}"));
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
