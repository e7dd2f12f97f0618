//! The gate: the only place that makes a [`PermittedCall`]. It decides on the coerced
//! arguments, for the principal and for every plugin in the chain.

use std::sync::Arc;

use serde_json::Value;

use super::{
    Branch, Dispatcher,
    call::{Numbered, Refused},
    settle::DecisionRecord,
    steps::step,
    validate::ValidCall,
};
use crate::{
    arguments::canonical,
    policy::{Policy, Verdict},
    registry::{Overlay, Target},
    tool::{Digest, Failure, FailureKind},
};

/// A call that may run, once.
#[derive(Debug)]
pub(super) struct PermittedCall {
    pub(super) call: Numbered,
    pub(super) target: Target,
    pub(super) arguments: Arc<Value>,
    pub(super) decision: DecisionRecord,
    _made_here: Sealed,
}

#[derive(Debug)]
struct Sealed;

/// A call that a person has to decide about.
#[derive(Debug)]
pub(super) struct AskedCall {
    pub(super) valid: ValidCall,
    pub(super) rule: String,
}

/// What became of a call before anything ran.
#[derive(Debug)]
pub(super) enum Checked {
    Permitted(PermittedCall),
    Asked(Box<AskedCall>),
    Refused(Box<Refused>),
}

impl Dispatcher {
    /// Usable, known, visible, valid, allowed: everything but asking a person.
    pub(super) fn check(&self, branch: &Branch, overlay: &Overlay, call: Numbered) -> Checked {
        let policy = self.0.policy.load();
        let checked = {
            let _step = step!("validate", branch, call).entered();
            self.validate(branch, overlay, &policy, call)
        };
        let valid = match checked {
            Ok(valid) => valid,
            Err(refused) => return Checked::Refused(refused),
        };
        let _step = step!("gate", branch, valid.call).entered();
        match decide(&policy, branch, &valid) {
            Verdict::Allow { rule } => {
                Checked::Permitted(permit(valid, DecisionRecord::allowed(rule)))
            }
            Verdict::Ask { rule } => Checked::Asked(Box::new(AskedCall { valid, rule })),
            Verdict::Deny { rule, detail } => Checked::Refused(Box::new(Refused {
                call: valid.call,
                failure: Failure::new(FailureKind::Unauthorized, detail),
                target: Some(valid.target),
                arguments: Some(valid.arguments),
                decision: DecisionRecord::denied(rule),
            })),
        }
    }

    /// Spends an approval: everything is checked again, and the call has to be the one that
    /// the person saw, to the byte.
    pub(super) fn check_approved(
        &self,
        branch: &Branch,
        asked: AskedCall,
        approval: &str,
    ) -> Result<PermittedCall, Box<Refused>> {
        let bound = binding(&asked.valid.target, &asked.valid.arguments);
        let overlay = self.overlay(&branch.scope.layers);
        let policy = self.0.policy.load();
        let valid = self.validate(branch, &overlay, &policy, asked.valid.call)?;
        let refused = |valid: ValidCall, failure: Failure, rule: String| {
            Box::new(Refused {
                call: valid.call,
                failure,
                target: Some(valid.target),
                arguments: Some(valid.arguments),
                decision: DecisionRecord::denied(rule),
            })
        };
        if binding(&valid.target, &valid.arguments) != bound {
            let failure = Failure::host(
                FailureKind::Unauthorized,
                "the tool was replaced while a person was asked, so the approval does not hold for it",
            )
            .hint("call it again: the person will be asked about the new implementation");
            return Err(refused(valid, failure, asked.rule));
        }
        match decide(&policy, branch, &valid) {
            Verdict::Allow { rule } | Verdict::Ask { rule } => {
                Ok(permit(valid, DecisionRecord::approved(rule, approval)))
            }
            Verdict::Deny { rule, detail } => Err(refused(
                valid,
                Failure::new(FailureKind::Unauthorized, detail),
                rule,
            )),
        }
    }
}

fn permit(valid: ValidCall, decision: DecisionRecord) -> PermittedCall {
    PermittedCall {
        call: valid.call,
        target: valid.target,
        arguments: valid.arguments,
        decision,
        _made_here: Sealed,
    }
}

fn decide(policy: &Policy, branch: &Branch, valid: &ValidCall) -> Verdict {
    policy.decide(
        &branch.scope.principal,
        &valid.call.name,
        &valid.target.spec().parameters,
        &valid.arguments,
        valid.target.folders(),
    )
}

/// What a decision is bound to: which code, which tool, which arguments.
pub(super) fn binding(target: &Target, arguments: &Value) -> Digest {
    let text = format!(
        "{}\n{}\n{}",
        target.implementation().digest,
        target.spec().name,
        canonical(arguments)
    );
    Digest::of(text.as_bytes())
}
