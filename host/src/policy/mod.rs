//! Who may do what: rules over tools and arguments for principals, grants and limits for
//! plugins. Pure decisions; nothing is looked up, asked or run here, and what no rule
//! names is denied.

mod condition;
mod grant;
mod limits;
mod meet;
mod parallel;
mod path;
mod rule;
mod shell;
mod verdict;

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use crate::tool::{Kind, NamePattern, Principal};

pub use condition::{Condition, Stance, Test};
pub use grant::{FsGrant, PluginGrants, ProcessGrant};
pub use limits::Limits;
pub use parallel::{ParallelRule, ParallelSafety};
pub use rule::{Rule, RuleError, name_pattern};
pub use verdict::Verdict;

/// What the tools of the output channels begin with; the channel's name follows.
pub const OUTPUT_TOOL: &str = "output_send__";

/// The user at the terminal: exists until the configuration defines it.
pub const LOCAL: &str = "local";

/// What becomes of a tool that no rule names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Otherwise {
    /// It is denied.
    #[default]
    Deny,
    /// A person is asked.
    Ask,
}

/// The rules of one principal.
#[derive(Debug, Clone, PartialEq)]
pub struct PrincipalRules {
    /// What kind of caller it is.
    pub kind: Kind,
    /// Looked at last.
    pub allow: Vec<Rule>,
    /// Wins over `allow`.
    pub ask: Vec<Rule>,
    /// Wins over everything.
    pub deny: Vec<Rule>,
    /// For what no rule names.
    pub otherwise: Otherwise,
    /// Channels that it may send to: necessary and sufficient, but `deny` still wins.
    pub allowed_outputs: Vec<NamePattern>,
}

/// All principals and their rules. A principal that is not here may nothing.
#[derive(Debug, Clone)]
pub struct Policy {
    principals: BTreeMap<String, PrincipalRules>,
    /// Binds as well: the strictest decides.
    also: Option<Arc<Policy>>,
}

/// Edits that a policy can hold on top of each other. Beyond, nothing is allowed.
const EDITS: usize = 64;

impl Policy {
    /// These principals, and `local` unless it is among them.
    #[must_use]
    pub fn new(principals: BTreeMap<String, PrincipalRules>) -> Self {
        let mut policy = Self::default_local();
        policy.principals.extend(principals);
        policy
    }

    /// Only `local`, who may all that the plugins' grants allow.
    #[must_use]
    pub fn default_local() -> Self {
        let all = || name_pattern("*").into_iter();
        let label = format!("principals.{LOCAL}.allow[0]");
        let rules = PrincipalRules {
            kind: Kind::User,
            allow: Rule::new("*", Vec::new(), Stance::Permits, label)
                .into_iter()
                .collect(),
            ask: Vec::new(),
            deny: Vec::new(),
            otherwise: Otherwise::Deny,
            allowed_outputs: all().collect(),
        };
        Self {
            principals: BTreeMap::from([(LOCAL.to_owned(), rules)]),
            also: None,
        }
    }

    /// What both allow: a running host's policy after an edit of its file that nobody has
    /// confirmed. What the edit takes away is gone at once; what it adds is not there yet.
    #[must_use]
    pub fn meet(self: &Arc<Self>, new: Self) -> Self {
        if self
            .layers()
            .any(|layer| layer.principals == new.principals)
        {
            return Self::clone(self);
        }
        if self.layers().count() >= EDITS {
            return Self {
                principals: BTreeMap::new(),
                also: None,
            };
        }
        Self {
            principals: new.principals,
            also: Some(Arc::clone(self)),
        }
    }

    /// Whether it says the same as `new` alone, so that nothing waits to be confirmed.
    #[must_use]
    pub fn is(&self, new: &Self) -> bool {
        self.also.is_none() && new.also.is_none() && self.principals == new.principals
    }

    /// All that bind, the latest first.
    fn layers(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |policy| policy.also.as_deref())
    }

    /// The principal of this name, if the configuration knows it.
    #[must_use]
    pub fn principal(&self, id: &str) -> Option<Principal> {
        let (id, rules) = self.principals.get_key_value(id)?;
        let known = |policy: &Self| policy.principals.contains_key(id);
        self.layers()
            .all(known)
            .then(|| Principal::new(id, rules.kind))
    }

    /// All principals, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &PrincipalRules)> {
        self.principals
            .iter()
            .map(|(id, rules)| (id.as_str(), rules))
    }

    /// Whether any arguments could bring this tool past the rules, with or without a
    /// person's word. A tool that it may not see, a principal learns nothing about.
    #[must_use]
    pub fn may_see(&self, principal: &Principal, tool: &str) -> bool {
        self.layers().all(|policy| policy.shows(principal, tool))
    }

    fn shows(&self, principal: &Principal, tool: &str) -> bool {
        let Some(rules) = self.principals.get(principal.origin()) else {
            return false;
        };
        let named = |list: &[Rule]| list.iter().any(|rule| rule.names(tool));
        let barred = rules
            .deny
            .iter()
            .any(|rule| rule.when().is_empty() && rule.names(tool));
        if barred || !principal.covers(tool) {
            return false;
        }
        match tool.strip_prefix(OUTPUT_TOOL) {
            Some(channel) => rules.may_send(channel),
            None => named(&rules.allow) || named(&rules.ask) || rules.otherwise == Otherwise::Ask,
        }
    }

    /// The decision on one call. `schema` and `arguments` are the tool's parameters and
    /// the coerced arguments; `roots` are the folders of the tool's plugin, the one in
    /// which relative paths resolve first.
    #[must_use]
    pub fn decide(
        &self,
        principal: &Principal,
        tool: &str,
        schema: &Value,
        arguments: &Value,
        roots: &[FsGrant],
    ) -> Verdict {
        let verdicts = self
            .layers()
            .map(|policy| policy.says(principal, tool, schema, arguments, roots));
        let strictest = verdicts.reduce(Verdict::stricter);
        strictest.unwrap_or_else(|| Verdict::unknown(principal))
    }

    fn says(
        &self,
        principal: &Principal,
        tool: &str,
        schema: &Value,
        arguments: &Value,
        roots: &[FsGrant],
    ) -> Verdict {
        let origin = principal.origin();
        let Some(rules) = self.principals.get(origin) else {
            return Verdict::unknown(principal);
        };
        if !principal.covers(tool) {
            return Verdict::narrowed(principal, tool);
        }
        let best = |list: &'_ [Rule]| -> Option<usize> {
            let matching = list
                .iter()
                .enumerate()
                .filter(|(_, rule)| rule.matches(tool, schema, arguments, roots));
            // Of equals the first in the file.
            matching
                .rev()
                .max_by_key(|(_, rule)| rule.specificity())
                .map(|(i, _)| i)
        };
        if let Some(i) = best(&rules.deny) {
            return Verdict::denied(principal, &rules.deny[i]);
        }
        if let Some(channel) = tool.strip_prefix(OUTPUT_TOOL) {
            let rule = format!("principals.{origin}.allowed_outputs");
            return if rules.may_send(channel) {
                Verdict::Allow { rule }
            } else {
                Verdict::no_channel(principal, rule, channel)
            };
        }
        if let Some(i) = best(&rules.ask) {
            return Verdict::Ask {
                rule: rules.ask[i].label().to_owned(),
            };
        }
        if let Some(i) = best(&rules.allow) {
            return Verdict::Allow {
                rule: rules.allow[i].label().to_owned(),
            };
        }
        match rules.otherwise {
            Otherwise::Ask => Verdict::Ask {
                rule: format!("principals.{origin}: otherwise ask"),
            },
            Otherwise::Deny => Verdict::unnamed(principal, rules, tool),
        }
    }

    /// What is wrong with the rules once a tool's parameters are known, one line each.
    /// Such a rule never matches; it is for the operator to see.
    #[must_use]
    pub fn check_against(&self, tool: &str, schema: &Value) -> Vec<String> {
        self.principals
            .values()
            .flat_map(|rules| rules.allow.iter().chain(&rules.ask).chain(&rules.deny))
            .flat_map(|rule| rule.problems(tool, schema))
            .collect()
    }
}

impl PrincipalRules {
    fn may_send(&self, channel: &str) -> bool {
        self.allowed_outputs
            .iter()
            .any(|glob| glob.matches(channel))
    }
}

#[cfg(test)]
mod tests;
