//! The operator's word on which calls of a tool may run side by side.

use serde_json::Value;

use super::{
    Condition, Stance,
    rule::{holds, pattern_problems},
};

/// Replaces what a tool declares about itself. The default leaves it as declared.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParallelSafety(Word);

#[derive(Debug, Clone, Default, PartialEq)]
enum Word {
    #[default]
    Declared,
    Fixed(bool),
    When(Vec<ParallelRule>),
}

/// One description of calls that are parallel-safe.
#[derive(Debug, Clone, PartialEq)]
pub struct ParallelRule {
    when: Vec<Condition>,
    label: String,
}

impl ParallelRule {
    /// All of `when` must hold; they must have been made with [`Stance::Permits`].
    #[must_use]
    pub fn new(when: Vec<Condition>, label: String) -> Self {
        Self { when, label }
    }
}

impl ParallelSafety {
    /// Always or never.
    #[must_use]
    pub fn fixed(safe: bool) -> Self {
        Self(Word::Fixed(safe))
    }

    /// Only the calls that one of these describes, whatever the tool declares.
    #[must_use]
    pub fn when(rules: Vec<ParallelRule>) -> Self {
        Self(Word::When(rules))
    }

    /// Whether this call may run beside others.
    #[must_use]
    pub fn applies(&self, declared: bool, schema: &Value, arguments: &Value) -> bool {
        match &self.0 {
            Word::Declared => declared,
            Word::Fixed(safe) => *safe,
            Word::When(rules) => rules
                .iter()
                .any(|rule| holds(&rule.when, Stance::Permits, schema, arguments, &[])),
        }
    }

    /// Whether every call may run beside others, whatever its arguments.
    #[must_use]
    pub fn always(&self, declared: bool) -> bool {
        match &self.0 {
            Word::Declared => declared,
            Word::Fixed(safe) => *safe,
            Word::When(_) => false,
        }
    }

    /// What is wrong with it once the tool's parameters are known.
    #[must_use]
    pub fn check_against(&self, tool: &str, schema: &Value) -> Vec<String> {
        let Word::When(rules) = &self.0 else {
            return Vec::new();
        };
        rules
            .iter()
            .flat_map(|rule| {
                pattern_problems(&rule.when, Stance::Permits, schema, tool, &rule.label)
            })
            .collect()
    }
}
