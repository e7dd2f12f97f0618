//! Which sequences and groups led here. It travels with the call, in the host's `extra`
//! under this plugin's own name: no other plugin can write there, and two runs never share
//! it. From it come the bound on depth and the proof against circles that the checks at
//! creation could not see, since files can be changed by hand.

use serde::{Deserialize, Serialize};
use toolgate_sdk::ToolError;

use crate::{name::Name, store::Stored};

/// Sequences inside each other, the outermost counted. A bound of the structure, no setting.
pub(crate) const DEPTH: usize = 4;
const KEY: &str = "seq/stack";

/// Outermost first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stack(Vec<Frame>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Frame {
    #[serde(rename = "s")]
    sequence: Name,
    /// The start of its digest: a sequence that is replaced while it runs is noticed.
    #[serde(rename = "d")]
    digest: String,
    /// The groups that are running, by position, outermost first.
    #[serde(rename = "g")]
    groups: Vec<usize>,
}

impl Stack {
    /// # Errors
    ///
    /// If the value is not this plugin's: a fault of the host.
    pub(crate) fn read(extra: &[(String, String)]) -> Result<Self, ToolError> {
        match extra.iter().find(|(key, _)| key == KEY) {
            None => Ok(Self::default()),
            Some((_, text)) => serde_json::from_str(text).map_err(|error| {
                ToolError::new(
                    "internal",
                    format!("the stack of sequences is unreadable: {error}"),
                )
            }),
        }
    }

    /// For the calls below.
    pub(crate) fn extra(&self) -> Vec<(String, String)> {
        let text = serde_json::to_string(self).unwrap_or_default();
        vec![(KEY.to_owned(), text)]
    }

    /// The sequence that is running.
    pub(crate) fn top(&self) -> Option<&Name> {
        self.0.last().map(|frame| &frame.sequence)
    }

    /// One sequence deeper.
    ///
    /// # Errors
    ///
    /// `cycle` if it is running already, `depth` if it would be one too many.
    pub(crate) fn enter(&self, stored: &Stored) -> Result<Self, ToolError> {
        let name = &stored.record.sequence.name;
        let way = || {
            let names = self.0.iter().map(|frame| &frame.sequence).chain([name]);
            names
                .map(|name| format!("#{name}"))
                .collect::<Vec<_>>()
                .join(" → ")
        };
        if self.0.iter().any(|frame| &frame.sequence == name) {
            let what = format!("sequences call each other in a circle: {}", way());
            return Err(ToolError::new("cycle", what)
                .hint("remove one of these calls and create the sequence again"));
        }
        if self.0.len() >= DEPTH {
            let what = format!(
                "sequences inside each other more than {DEPTH} deep: {}",
                way()
            );
            return Err(ToolError::new("depth", what)
                .hint("call the innermost from a sequence further out"));
        }
        let mut deeper = self.clone();
        deeper.0.push(Frame {
            sequence: name.clone(),
            digest: short(&stored.digest),
            groups: Vec::new(),
        });
        Ok(deeper)
    }

    /// One group deeper in the running sequence.
    ///
    /// # Errors
    ///
    /// `cycle` if the group is running already, `changed` if the sequence is another one by
    /// now.
    pub(crate) fn enter_group(&self, stored: &Stored, group: usize) -> Result<Self, ToolError> {
        let mut deeper = self.clone();
        let sequence = &stored.record.sequence;
        let Some(frame) = deeper
            .0
            .last_mut()
            .filter(|frame| frame.sequence == sequence.name)
        else {
            return Err(ToolError::new(
                "internal",
                "a group runs outside of its sequence",
            ));
        };
        if frame.digest != short(&stored.digest) {
            let what = format!("sequence `{}` was replaced while it ran", sequence.name);
            return Err(ToolError::new("changed", what).hint("run it again"));
        }
        let circle = frame.groups.contains(&group);
        frame.groups.push(group);
        if circle {
            let groups = frame
                .groups
                .iter()
                .filter_map(|at| sequence.groups.get(*at));
            let names: Vec<&str> = groups.map(|group| group.name.as_str()).collect();
            let what = format!("groups call each other in a circle: {}", names.join(" → "));
            return Err(ToolError::new("cycle", what)
                .hint("remove one of these calls and create the sequence again"));
        }
        Ok(deeper)
    }
}

/// Enough to tell two versions apart.
fn short(digest: &str) -> String {
    digest.chars().take(7 + 16).collect()
}
