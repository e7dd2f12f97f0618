//! Asks a person. The clocks of the calls above stand still meanwhile, and the answer is
//! good for exactly one run of exactly this call.

use std::{sync::atomic::Ordering, time::Duration};

use super::{
    Branch, Dispatcher,
    call::Refused,
    events::Event,
    gate::{AskedCall, PermittedCall, binding},
    settle::DecisionRecord,
};
use crate::{
    ports::{Decision, Question},
    tool::{Failure, FailureKind},
};

/// A question that nobody answers does not hold a call for ever.
const EXPIRES: Duration = Duration::from_secs(600);

impl Dispatcher {
    pub(super) async fn ask(
        &self,
        branch: &Branch,
        asked: AskedCall,
    ) -> Result<PermittedCall, Box<Refused>> {
        let Some(approver) = &self.0.approver else {
            let failure = Failure::host(
                FailureKind::Unauthorized,
                "this call needs a person's approval, and nobody is here to ask",
            )
            .hint("use another tool, or let a person run this at a terminal");
            let rule = asked.rule.clone();
            return Err(refused(asked, failure, DecisionRecord::denied(rule)));
        };
        let id = format!("q{}", self.0.questions.fetch_add(1, Ordering::Relaxed) + 1);
        let question = Question {
            id: id.clone(),
            principal: branch.scope.principal.clone(),
            chain: branch.chain(),
            tool: asked.valid.target.spec().name.clone(),
            arguments: std::sync::Arc::clone(&asked.valid.arguments),
            implementation: asked.valid.target.implementation().clone(),
            rule: asked.rule.clone(),
            binding: binding(&asked.valid.target, &asked.valid.arguments),
            expires_in: EXPIRES,
        };
        self.0
            .events
            .emit(|| Event::approval_requested(branch, &asked, &id));
        let answer = {
            let _paused = branch
                .parent
                .as_ref()
                .map(|parent| parent.cx.deadline.pause());
            tokio::select! {
                biased;
                () = branch.scope.cancel.cancelled() => None,
                answer = tokio::time::timeout(EXPIRES, approver.ask(question)) => Some(answer.unwrap_or(Decision::Expired)),
            }
        };
        let word = match &answer {
            Some(Decision::Approve) => "approved",
            Some(Decision::Deny(_)) => "refused",
            Some(Decision::Expired) => "expired",
            None => "cancelled",
        };
        self.0
            .events
            .emit(|| Event::approval_decided(branch, &asked, &id, word));
        let rule = asked.rule.clone();
        match answer {
            None => Err(refused(
                asked,
                crate::stage::cancelled(),
                DecisionRecord::none(),
            )),
            Some(Decision::Approve) => self.check_approved(branch, asked, &id),
            Some(Decision::Deny(reason)) => {
                let why = if reason.is_empty() {
                    String::new()
                } else {
                    format!(": {reason}")
                };
                let failure = Failure::host(
                    FailureKind::Unauthorized,
                    format!("a person refused this call{why}"),
                )
                .hint("do not repeat it unchanged");
                Err(refused(asked, failure, DecisionRecord::refused(rule, &id)))
            }
            Some(Decision::Expired) => {
                let failure = Failure::host(
                    FailureKind::Unauthorized,
                    "nobody answered the question about this call in time",
                )
                .hint("ask the person first, then call again");
                Err(refused(asked, failure, DecisionRecord::expired(rule, &id)))
            }
        }
    }
}

fn refused(asked: AskedCall, failure: Failure, decision: DecisionRecord) -> Box<Refused> {
    Box::new(Refused {
        call: asked.valid.call,
        failure,
        target: Some(asked.valid.target),
        arguments: Some(asked.valid.arguments),
        decision,
    })
}
