//! Usable, known, visible, and valid: in this order, so that a caller learns nothing about
//! a tool that it may not see.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;

use super::{
    Branch, Dispatcher,
    call::{Numbered, Refused},
    settle::DecisionRecord,
};
use crate::{
    arguments,
    policy::Policy,
    registry::{Overlay, Target},
    tool::{Failure, FailureKind, Reason, ToolError, ToolName, is_tool_not_found},
};

/// Names in a "did you mean".
const NEAREST: usize = 3;
/// Less alike than this is no help (Jaro-Winkler, 0 to 1).
const ALIKE: f64 = 0.6;

/// Arguments usable, tool known and visible, schema holds.
#[derive(Debug)]
pub(super) struct ValidCall {
    pub(super) call: Numbered,
    pub(super) target: Target,
    pub(super) arguments: Arc<Value>,
}

impl Dispatcher {
    pub(super) fn validate(
        &self,
        branch: &Branch,
        overlay: &Overlay,
        policy: &Policy,
        call: Numbered,
    ) -> Result<ValidCall, Box<Refused>> {
        let refused = |call: Numbered, failure: Failure, target: Option<Target>| {
            Box::new(Refused {
                call,
                failure,
                target,
                arguments: None,
                decision: DecisionRecord::none(),
            })
        };
        let object = match arguments::read(&call.arguments, call.cut) {
            Ok(object) => object,
            Err(error) => return Err(refused(call, Failure::invalid(vec![error]), None)),
        };
        let principal = &branch.scope.principal;
        let target = match overlay.lookup(&call.name) {
            Ok(target) => target,
            Err(error) if is_tool_not_found(&*error) => {
                let seen = |name: &ToolName| {
                    principal.covers(name.as_str()) && policy.may_see(principal, name.as_str())
                };
                let failure = not_found(&call.name, &overlay.names(), &seen);
                return Err(refused(call, failure, None));
            }
            Err(error) => {
                tracing::error!(tool = %call.name, %error, "a registry failed");
                let failure = Failure::host(
                    FailureKind::Internal,
                    "the registry failed to look the tool up",
                )
                .hint("try again; the operator finds the reason in the log");
                return Err(refused(call, failure, None));
            }
        };
        if !policy.may_see(principal, &call.name) || !self.chain_may_call(branch, &call.name) {
            let error = ToolError::new(
                Reason::Unauthorized,
                format!("`{}` is not yours to call", call.name),
            )
            .hint("use another tool; only the operator can change this");
            let failure = Failure::new(FailureKind::Unauthorized, error);
            let mut refused = refused(call, failure, None);
            refused.decision =
                DecisionRecord::denied(format!("principals.{}: not visible", principal.origin()));
            return Err(refused);
        }
        match target.parameters().accept(object) {
            Ok(accepted) => Ok(ValidCall {
                call,
                target,
                arguments: Arc::new(accepted),
            }),
            Err(errors) => Err(refused(call, Failure::invalid(errors), Some(target))),
        }
    }

    /// Whether every plugin between the caller and this call may call the tool.
    pub(super) fn chain_may_call(&self, branch: &Branch, tool: &str) -> bool {
        let Some(parent) = &branch.parent else {
            return true;
        };
        let links = parent.cx.chain.iter().chain([&parent.link]);
        links
            .into_iter()
            .all(|link| link.may_call.iter().any(|glob| glob.matches(tool)))
    }
}

fn not_found(name: &str, names: &BTreeSet<ToolName>, seen: &dyn Fn(&ToolName) -> bool) -> Failure {
    let shown: String = name.chars().take(80).collect();
    let mut near: Vec<(f64, &ToolName)> = names
        .iter()
        .filter(|name| seen(name))
        .map(|candidate| (likeness(&shown, candidate.as_str()), candidate))
        .filter(|(alike, _)| *alike >= ALIKE)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let near: Vec<String> = near
        .iter()
        .take(NEAREST)
        .map(|(_, name)| format!("`{name}`"))
        .collect();
    let hint = if near.is_empty() {
        "call one of the tools that you were given".to_owned()
    } else {
        format!("did you mean {}?", near.join(", "))
    };
    Failure::host(FailureKind::NotFound, format!("there is no tool {shown:?}")).hint(hint)
}

/// Models decorate names (`functions.read`, `default_api:read`, `Read`): compare the tail too.
fn likeness(given: &str, candidate: &str) -> f64 {
    let given = given.trim().to_lowercase();
    let tail = given.rsplit(['.', ':', '/']).next().unwrap_or(&given);
    strsim::jaro_winkler(&given, candidate).max(strsim::jaro_winkler(tail, candidate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_visible_names_are_near() {
        let names: BTreeSet<ToolName> = ["files_read", "files_read_secret", "cmd_run"]
            .iter()
            .map(|name| ToolName::new(name).unwrap())
            .collect();
        let seen = |name: &ToolName| name.as_str() != "files_read_secret";
        for given in [
            "files_raed",
            "functions.files_read",
            "Files_Read",
            " files_read",
            "default_api:files_read",
        ] {
            let failure = not_found(given, &names, &seen);
            let hint = failure.error.hint.unwrap();
            assert!(
                hint.starts_with("did you mean `files_read`"),
                "{given}: {hint}"
            );
            assert!(!hint.contains("secret"), "{hint}");
        }
        let failure = not_found(&"x".repeat(5_000), &names, &seen);
        assert!(failure.error.to_string().len() < 300);
    }
}
