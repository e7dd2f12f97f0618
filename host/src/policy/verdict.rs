//! What the rules say about one call, and in which words a refusal reaches its reader:
//! a model learns how to call otherwise, a person which line of the configuration to
//! change.

use std::fmt::Write as _;

use super::{PrincipalRules, Rule, rule::write_conditions};
use crate::tool::{Kind, Principal, Reason, ToolError};

/// Longest part of a hint that repeats rules, in characters: enough for a few rules with
/// their conditions, small beside a model's context.
const HINT_MAX: usize = 400;

/// The decision and the rule that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Allow {
        /// Such as `principals.assistant.allow[0]`.
        rule: String,
    },
    /// A person is to be asked.
    Ask {
        /// Such as `principals.assistant: otherwise ask`.
        rule: String,
    },
    /// It may not run.
    Deny {
        /// Such as `principals.assistant: otherwise deny`.
        rule: String,
        /// For the caller.
        detail: ToolError,
    },
}

impl Verdict {
    /// Of two that bind both, the one that lets less through; of equals the first.
    pub(super) fn stricter(self, other: Self) -> Self {
        let rank = |verdict: &Self| match verdict {
            Self::Allow { .. } => 0,
            Self::Ask { .. } => 1,
            Self::Deny { .. } => 2,
        };
        if rank(&other) > rank(&self) {
            other
        } else {
            self
        }
    }

    pub(super) fn unknown(principal: &Principal) -> Self {
        let origin = principal.origin();
        Self::deny(
            format!("principals.{origin}: unknown"),
            format!("the principal {origin:?} is unknown and may call nothing"),
            format!("the operator can define it: [principals.{origin}]"),
        )
    }

    pub(super) fn narrowed(principal: &Principal, tool: &str) -> Self {
        let id = principal.id();
        Self::deny(
            format!("{id}: narrowed"),
            format!("{tool} is outside the tools that {id} was narrowed to"),
            "use another tool; what narrowed this caller cannot be widened from here",
        )
    }

    pub(super) fn denied(principal: &Principal, rule: &Rule) -> Self {
        let label = rule.label();
        let change = change(principal, || format!("change {label} in the configuration"));
        let field = rule.when().first().map(super::Condition::field);
        let hint = match &field {
            Some(field) => format!("choose another {field}; {change}"),
            None => change,
        };
        let mut detail = refusal(format!("denied by rule {label}"), hint);
        detail.field = field;
        Self::Deny {
            rule: label.to_owned(),
            detail,
        }
    }

    pub(super) fn no_channel(principal: &Principal, rule: String, channel: &str) -> Self {
        let change = change(principal, || format!("add it: {rule} += {channel:?}"));
        Self::deny(
            rule,
            format!("{} may not send to channel {channel:?}", principal.origin()),
            change,
        )
    }

    pub(super) fn unnamed(principal: &Principal, rules: &PrincipalRules, tool: &str) -> Self {
        let origin = principal.origin();
        let change = change(principal, || {
            format!("add it: principals.{origin}.allow += {tool:?}")
        });
        let near: Vec<&Rule> = rules
            .allow
            .iter()
            .chain(&rules.ask)
            .filter(|rule| rule.names(tool))
            .collect();
        let rule = format!("principals.{origin}: otherwise deny");
        if near.is_empty() {
            return Self::deny(
                rule,
                format!("no rule of principals.{origin} allows {tool}"),
                change,
            );
        }
        let mut open = String::new();
        for (i, rule) in near.iter().enumerate() {
            let mut text = String::new();
            let _ = write_conditions(&mut text, rule.when());
            let _ = write!(open, "{}{}", if i == 0 { "allowed" } else { "; or" }, text);
        }
        if open.chars().count() > HINT_MAX {
            open = open.chars().take(HINT_MAX).collect();
            open.push('…');
        }
        Self::deny(
            rule,
            format!("no rule of principals.{origin} allows {tool} with these arguments"),
            format!("{open}. {change}"),
        )
    }

    fn deny(rule: String, detail: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Deny {
            rule,
            detail: refusal(detail, hint),
        }
    }
}

fn refusal(detail: impl Into<String>, hint: impl Into<String>) -> ToolError {
    ToolError::new(Reason::Unauthorized, detail).hint(hint)
}

/// Only a person is told how to change a rule; for anybody else that would be an
/// invitation to try.
fn change(principal: &Principal, how: impl FnOnce() -> String) -> String {
    match principal.kind() {
        Kind::User => how(),
        Kind::Agent | Kind::Client => "only the operator can change this rule".to_owned(),
    }
}
