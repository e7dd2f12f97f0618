//! What one call's end means for the run: which way it failed, and whether it may be made
//! again.

use toolgate_sdk::{Block, ToolError, tools::CallFailure};

use crate::sequence::{CALL, WHEN_CALL};

/// What the host takes of one result.
const MOST_BLOCKS: usize = 16 << 20;

/// Whether another attempt may help and can do no harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    Yes,
    /// Only where the tool may run twice.
    IfRepeatable,
    No,
}

/// A failed call in the runner's words.
#[derive(Debug, Clone)]
pub(super) struct Failed {
    pub(super) again: Again,
    pub(super) error: ToolError,
    /// What this failure is, for a run further out, which reads no text: `failed` and
    /// `unavailable` may be tried again, nothing else.
    pub(super) word: &'static str,
    /// It ran into a time limit of the host.
    pub(super) late: bool,
}

/// Why a call gave no output.
#[derive(Debug)]
pub(super) enum Unmade {
    /// There is no such tool.
    Missing(ToolError),
    /// An earlier call failed first.
    NotStarted,
    Failed(Failed, Vec<Block>),
}

pub(super) fn unmade(tool: &str, failure: CallFailure) -> Unmade {
    use Again::{IfRepeatable, No, Yes};
    let (again, word, late, error) = match failure {
        CallFailure::NotFound(missing) => {
            let mut error = missing.error;
            error.detail = Some(format!("there is no tool `{tool}` now"));
            return Unmade::Missing(error);
        }
        CallFailure::Skipped(_) => return Unmade::NotStarted,
        CallFailure::Failed(failure) => {
            let reason = failure.error.reason.as_str();
            let (again, word) = match reason {
                _ if tool != CALL && tool != WHEN_CALL => (Yes, "failed"),
                // A group's or sequence's own failure says what it was.
                "failed" | "unavailable" => (Yes, "failed"),
                "timeout" => (No, "timeout"),
                "outcome_unknown" => (No, "outcome_unknown"),
                _ => (No, "invalid"),
            };
            let late = word == "timeout";
            let error = failure.error;
            return Unmade::Failed(
                Failed {
                    again,
                    error,
                    word,
                    late,
                },
                failure.blocks,
            );
        }
        CallFailure::Unauthorized(error) => (No, "unauthorized", false, error),
        CallFailure::Invalid(errors) => (No, "invalid", false, merged(errors)),
        CallFailure::Timeout(error) => (IfRepeatable, "timeout", true, error),
        CallFailure::Trapped(error) => (IfRepeatable, "trapped", false, error),
        CallFailure::Unavailable(error) => (Yes, "unavailable", false, error),
        CallFailure::Cancelled(error) => (No, "cancelled", false, error),
        CallFailure::Limit(error) => (No, "limit", false, error),
        CallFailure::Internal(error) => (No, "internal", false, error),
    };
    Unmade::Failed(
        Failed {
            again,
            error,
            word,
            late,
        },
        Vec::new(),
    )
}

/// One error that says all of them.
fn merged(errors: Vec<ToolError>) -> ToolError {
    let mut errors = errors.into_iter();
    let mut first = errors
        .next()
        .unwrap_or_else(|| ToolError::new("arguments", "the arguments do not fit"));
    for more in errors {
        if let (Some(detail), Some(also)) = (&mut first.detail, more.detail) {
            detail.push_str("; ");
            detail.push_str(&also);
        }
    }
    first
}

/// Media up to what the host takes; the rest is dropped, and that is said.
pub(crate) fn within_cap(blocks: Vec<Block>, warnings: &mut Vec<String>) -> Vec<Block> {
    let mut size = 0_usize;
    let (mut kept, mut dropped) = (Vec::with_capacity(blocks.len()), 0_usize);
    for block in blocks {
        size = size.saturating_add(block.data.len());
        if size <= MOST_BLOCKS {
            kept.push(block);
        } else {
            size -= block.data.len();
            dropped += 1;
        }
    }
    if dropped > 0 {
        warnings.push(format!(
            "{dropped} media blocks were dropped: a result holds at most {} MiB of them",
            MOST_BLOCKS >> 20
        ));
    }
    kept
}
