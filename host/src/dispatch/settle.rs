//! The end of every call: is its success honest, does its value fit, what do the model,
//! the watchers and the audit log read. Exactly one result leaves here a call.

use std::{borrow::Cow, sync::Arc};

use serde_json::Value;

use super::{
    Branch, Dispatcher,
    audit::Record,
    call::{Numbered, Timing},
    events::{Event, status},
    steps::step,
};
use crate::{
    registry::Target,
    render,
    tool::{Failure, FailureKind, Output, Reason, ToolError, ToolResult},
};

/// A call that has ended, one way or the other.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) call: Numbered,
    pub(super) outcome: Result<Output, Failure>,
    pub(super) target: Option<Target>,
    pub(super) arguments: Option<Arc<Value>>,
    pub(super) decision: DecisionRecord,
    pub(super) parallel: bool,
    pub(super) timing: Timing,
}

/// What the gate said, for the audit log.
#[derive(Debug, Clone)]
pub(super) struct DecisionRecord {
    /// `allowed`, `denied`, `approved`, `refused`, `expired` or `none`.
    pub(super) word: &'static str,
    pub(super) rule: Option<Cow<'static, str>>,
    /// The question's id.
    pub(super) approval: Option<String>,
}

impl DecisionRecord {
    /// The call never came to the gate.
    pub(super) fn none() -> Self {
        Self {
            word: "none",
            rule: None,
            approval: None,
        }
    }

    pub(super) fn allowed(rule: String) -> Self {
        Self {
            word: "allowed",
            rule: Some(rule.into()),
            approval: None,
        }
    }

    pub(super) fn denied(rule: String) -> Self {
        Self {
            word: "denied",
            rule: Some(rule.into()),
            approval: None,
        }
    }

    pub(super) fn approved(rule: String, question: &str) -> Self {
        Self {
            word: "approved",
            rule: Some(rule.into()),
            approval: Some(question.into()),
        }
    }

    pub(super) fn refused(rule: String, question: &str) -> Self {
        Self {
            word: "refused",
            rule: Some(rule.into()),
            approval: Some(question.into()),
        }
    }

    pub(super) fn expired(rule: String, question: &str) -> Self {
        Self {
            word: "expired",
            rule: Some(rule.into()),
            approval: Some(question.into()),
        }
    }
}

impl Timing {
    pub(super) fn none() -> Self {
        Self {
            queue: std::time::Duration::ZERO,
            elapsed: std::time::Duration::ZERO,
        }
    }
}

impl Dispatcher {
    pub(super) fn settle(&self, branch: &Branch, ended: Ended) -> ToolResult {
        let _step = step!("settle", branch, ended.call).entered();
        let outcome = ended
            .outcome
            .and_then(|output| honest(output, ended.target.as_ref()));
        let result = ToolResult {
            id: ended.call.id.to_string(),
            original_id: ended.call.original_id.clone(),
            index: ended.call.index,
            name: ended.call.name.clone(),
            text: render::for_model(&outcome),
            outcome,
            parallel: ended.parallel,
            elapsed: ended.timing.elapsed,
            queue: ended.timing.queue,
            implementation: ended
                .target
                .as_ref()
                .map(|target| target.implementation().clone()),
        };
        self.0.metrics.call_ended(&result);
        tracing::debug!(outcome = status(&result), elapsed = ?result.elapsed, queue = ?result.queue, "the call ended");
        self.0.events.emit(|| Event::tool_call(branch, &result));
        self.0.audit.append(|| Record {
            branch,
            result: &result,
            decision: &ended.decision,
            arguments: ended.arguments.as_deref(),
            raw: &ended.call.arguments,
        });
        result
    }
}

/// Success is what the value says too: plugins of an older contract return failures.
fn honest(output: Output, target: Option<&Target>) -> Result<Output, Failure> {
    if let Some(error) = render::failure_shape(&output.value) {
        return Err(Failure {
            value: Some(output.value),
            blocks: output.blocks,
            ..Failure::new(FailureKind::Failed, error)
        });
    }
    let Some(schema) = target.and_then(Target::output) else {
        return Ok(output);
    };
    match schema.check(&output.value) {
        Ok(()) => Ok(output),
        Err(problem) => {
            let error = ToolError::new(
                Reason::Schema,
                format!("the plugin's result does not fit its own output schema: {problem}"),
            )
            .hint("a fault of the plugin; its value is attached as it came");
            Err(Failure {
                value: Some(output.value),
                blocks: output.blocks,
                ..Failure::new(FailureKind::Failed, error)
            })
        }
    }
}
