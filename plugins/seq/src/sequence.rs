//! A parsed sequence: what is stored and run. Nothing in it has to be parsed again.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{condition::Condition, kind::Slots, name::Name, reference::Template, tools_string};

/// A sequence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sequence {
    pub(crate) name: Name,
    pub(crate) description: String,
    pub(crate) groups: Vec<Group>,
    /// What a caller of the whole has to give.
    pub(crate) inputs: Slots,
}

/// One layer: parallel inside, callable by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) step: bool,
    pub(crate) input: Slots,
    pub(crate) output: Slots,
    pub(crate) when: Condition,
    pub(crate) parallel: bool,
    pub(crate) timeout_ms: u64,
    pub(crate) on_error: OnError,
    pub(crate) missing: Missing,
    pub(crate) items: Vec<Item>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnError {
    Abort,
    Continue,
    /// Extra attempts.
    Retry(u32),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Missing {
    Fail,
    Skip,
    /// What the slots take instead.
    Degrade(Map<String, Value>),
}

/// One tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Item {
    pub(crate) tool: String,
    pub(crate) args: Template,
    /// The slot that takes the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) slot: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unsafe_serial: bool,
    /// Where the item calls a group or a sequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) call: Option<Call>,
}

/// What `seq_call` and `seq_when_call` say besides their `args`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    pub(crate) target: Target,
    /// In the calling group's terms; only of `seq_when_call`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) when: Option<Condition>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    /// Of the same sequence.
    Group(String),
    Sequence(Name),
}

pub(crate) const CALL: &str = "seq_call";
pub(crate) const WHEN_CALL: &str = "seq_when_call";
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

impl Target {
    /// # Errors
    ///
    /// Why the text names neither a group nor a sequence.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.contains("$args.") || text.contains("${args.") {
            return Err(
                "a target is literal: what a sequence calls is known when it is made".into(),
            );
        }
        match text.strip_prefix('#') {
            Some(name) => Name::parse(name).map(Self::Sequence),
            None => crate::name::group(text).map(Self::Group),
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Group(name) => f.write_str(name),
            Self::Sequence(name) => write!(f, "#{name}"),
        }
    }
}

impl Sequence {
    pub(crate) fn group(&self, name: &str) -> Option<(usize, &Group)> {
        self.groups
            .iter()
            .enumerate()
            .find(|(_, group)| group.name == name)
    }

    pub(crate) fn steps(&self) -> impl Iterator<Item = (usize, &Group)> {
        self.groups
            .iter()
            .enumerate()
            .filter(|(_, group)| group.step)
    }

    /// The sequences that this one calls, each once, in order.
    pub(crate) fn calls(&self) -> Vec<Name> {
        let mut names = Vec::new();
        for group in &self.groups {
            for name in group.sequences() {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        names
    }

    pub(crate) fn tool_count(&self) -> usize {
        self.groups.iter().map(|group| group.items.len()).sum()
    }

    /// The document, as it would be written: reading it gives this sequence again.
    pub(crate) fn document(&self) -> Value {
        json!({
            "name": self.name,
            "description": self.description,
            "groups": self.groups.iter().map(Group::document).collect::<Vec<_>>(),
        })
    }
}

impl Group {
    /// The groups of the same sequence that this one calls.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &str> {
        self.items.iter().filter_map(|item| match &item.call {
            Some(Call {
                target: Target::Group(name),
                ..
            }) => Some(name.as_str()),
            _ => None,
        })
    }

    fn sequences(&self) -> impl Iterator<Item = &Name> {
        self.items.iter().filter_map(|item| match &item.call {
            Some(Call {
                target: Target::Sequence(name),
                ..
            }) => Some(name),
            _ => None,
        })
    }

    /// What `seq_list` and `seq_create` show of it.
    pub(crate) fn signature(&self) -> Map<String, Value> {
        let signature = json!({
            "name": self.name,
            "description": self.description,
            "in": self.input,
            "out": self.output,
        });
        match signature {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }

    fn document(&self) -> Value {
        let mut members = self.signature();
        let mut put = |key: &str, value: Value| members.insert(key.to_owned(), value);
        if !self.step {
            put("step", false.into());
        }
        if !self.when.is_true() {
            put("when", self.when.write().into());
        }
        if !self.parallel {
            put("parallel", false.into());
        }
        if u128::from(self.timeout_ms) != DEFAULT_TIMEOUT.as_millis() {
            put("timeout", format!("{}ms", self.timeout_ms).into());
        }
        match self.on_error {
            OnError::Abort => {}
            OnError::Continue => {
                put("on_error", "continue".into());
            }
            OnError::Retry(retries) => {
                put("on_error", "retry".into());
                put("retries", retries.into());
            }
        }
        match &self.missing {
            Missing::Fail => {}
            Missing::Skip => {
                put("missing", "skip".into());
            }
            Missing::Degrade(fallback) => {
                put("missing", "degrade".into());
                put("fallback", fallback.clone().into());
            }
        }
        let items = self.items.iter().map(Item::document);
        put("tools", tools_string::write(items).into());
        members.into()
    }
}

impl Item {
    fn document(&self) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("tool".into(), self.tool.clone().into());
        let mut args = self.args.write();
        if let (Some(call), Some(args)) = (&self.call, args.as_object_mut()) {
            args.insert("target".into(), call.target.to_string().into());
            if let Some(when) = &call.when {
                args.insert("when".into(), when.write().into());
            }
        }
        if args.as_object().is_some_and(|args| !args.is_empty()) {
            members.insert("args".into(), args);
        }
        if let Some(slot) = &self.slot {
            members.insert("as".into(), slot.clone().into());
        }
        if self.unsafe_serial {
            members.insert("unsafe_serial".into(), true.into());
        }
        members
    }
}

/// The digest of each tool's implementation when the sequence was made.
pub(crate) type Digests = BTreeMap<String, String>;
