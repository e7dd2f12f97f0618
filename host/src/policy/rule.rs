//! A rule: which tools, and under which conditions on their arguments.

use serde_json::Value;

use super::{Condition, FsGrant, Stance, shell};
use crate::tool::NamePattern;

/// Why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct RuleError {
    what: String,
    hint: String,
}

impl RuleError {
    pub(super) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: hint.into(),
        }
    }

    /// What to write instead.
    #[must_use]
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

/// Compiles a pattern over names of tools or channels.
///
/// # Errors
///
/// If the text is no pattern.
pub fn name_pattern(pattern: &str) -> Result<NamePattern, RuleError> {
    if pattern.is_empty() {
        return Err(RuleError::new(
            "an empty pattern matches nothing",
            "`*` matches every name",
        ));
    }
    NamePattern::new(pattern).map_err(|what| {
        RuleError::new(
            format!("{pattern:?} is no pattern: {what}"),
            "such as `files_*`",
        )
    })
}

/// One entry of `allow`, `ask` or `deny`.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    tool: NamePattern,
    when: Vec<Condition>,
    label: String,
    stance: Stance,
    literal: usize,
}

impl Rule {
    /// `label` is the rule's place in the configuration: `principals.assistant.deny[0]`.
    /// All of `when` must hold.
    ///
    /// # Errors
    ///
    /// If `tool` is no pattern.
    pub fn new(
        tool: &str,
        when: Vec<Condition>,
        stance: Stance,
        label: String,
    ) -> Result<Self, RuleError> {
        Ok(Self {
            literal: tool.chars().filter(|c| !"*?[]{},!".contains(*c)).count(),
            tool: name_pattern(tool)?,
            when,
            label,
            stance,
        })
    }

    /// Its place in the configuration.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The pattern over tool names, as written.
    #[must_use]
    pub fn tool(&self) -> &str {
        self.tool.as_str()
    }

    /// Its conditions.
    #[must_use]
    pub fn when(&self) -> &[Condition] {
        &self.when
    }

    /// Whether it speaks about this tool at all.
    #[must_use]
    pub fn names(&self, tool: &str) -> bool {
        self.tool.matches(tool)
    }

    pub(super) fn matches(
        &self,
        tool: &str,
        schema: &Value,
        arguments: &Value,
        roots: &[FsGrant],
    ) -> bool {
        self.names(tool) && holds(&self.when, self.stance, schema, arguments, roots)
    }

    /// Of several rules that match, the one with most conditions explains, then the one
    /// with the longest literal text.
    pub(super) fn specificity(&self) -> (usize, usize) {
        (self.when.len(), self.literal)
    }

    /// What is wrong with it once the tool's parameters are known.
    pub(super) fn problems(&self, tool: &str, schema: &Value) -> Vec<String> {
        if !self.names(tool) {
            return Vec::new();
        }
        let mut found = pattern_problems(&self.when, self.stance, schema, tool, &self.label);
        // A pattern over names may well cover tools without this parameter.
        if self.tool() == tool {
            for condition in &self.when {
                if !shell::target(schema, condition.at()).known {
                    found.push(format!(
                        "{}: {tool} has no parameter at {:?}, so the rule never matches",
                        self.label,
                        condition.at()
                    ));
                }
            }
        }
        found
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.tool())?;
        write_conditions(f, &self.when)
    }
}

pub(super) fn write_conditions(
    f: &mut impl std::fmt::Write,
    when: &[Condition],
) -> std::fmt::Result {
    for (i, condition) in when.iter().enumerate() {
        write!(f, " {} {condition}", if i == 0 { "when" } else { "and" })?;
    }
    Ok(())
}

/// Whether all conditions hold. One that permits by a pattern over a shell line never
/// does, whatever was said at load.
pub(super) fn holds(
    when: &[Condition],
    stance: Stance,
    schema: &Value,
    arguments: &Value,
    roots: &[FsGrant],
) -> bool {
    when.iter().all(|c| c.matches(arguments, roots))
        && (stance == Stance::Restrains
            || !when
                .iter()
                .any(|c| c.is_pattern() && shell::target(schema, c.at()).shell))
}

pub(super) fn pattern_problems(
    when: &[Condition],
    stance: Stance,
    schema: &Value,
    tool: &str,
    label: &str,
) -> Vec<String> {
    when.iter()
        .filter(|c| stance == Stance::Permits && c.is_pattern() && shell::target(schema, c.at()).shell)
        .map(|c| {
            format!(
                "{label}: {:?} of {tool} is a line for a shell; a pattern over it would also let `…; rm` through, \
                 so the rule never matches: use `equals` or `one_of`, or patterns on `/argv/N`",
                c.at()
            )
        })
        .collect()
}
