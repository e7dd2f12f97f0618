//! Why a call gave no output.

use serde::Serialize;
use serde_json::Value;

use super::{Block, Reason, ToolError};

/// The ways a call can fail. Only the host makes one of these, so a plugin's own
/// `not_found` (a missing file, say) is never taken for a missing tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// There is no such tool.
    NotFound,
    /// The gate said no.
    Unauthorized,
    /// The arguments.
    Invalid,
    /// The tool's own failure.
    Failed,
    /// The time limit of the host.
    Timeout,
    /// The guest trapped.
    Trapped,
    /// Too busy, or set aside after traps. Later it may work.
    Unavailable,
    /// The caller gave up.
    Cancelled,
    /// A limit other than time.
    Limit,
    /// Not started, because an earlier call failed.
    Skipped,
    /// A fault of the host.
    Internal,
}

impl FailureKind {
    /// The WIT case, verbatim.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not-found",
            Self::Unauthorized => "unauthorized",
            Self::Invalid => "invalid",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Trapped => "trapped",
            Self::Unavailable => "unavailable",
            Self::Cancelled => "cancelled",
            Self::Limit => "limit",
            Self::Skipped => "skipped",
            Self::Internal => "internal",
        }
    }
}

/// Why a call gave no output, and what there is in spite of it.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Which way it failed.
    pub kind: FailureKind,
    /// The leading error.
    pub error: ToolError,
    /// Further errors: every failing argument is reported at once.
    pub also: Vec<ToolError>,
    /// Such as a command's output so far.
    pub value: Option<Value>,
    /// Media in spite of the failure.
    pub blocks: Vec<Block>,
}

impl Failure {
    /// A failure with nothing but its error.
    #[must_use]
    pub fn new(kind: FailureKind, error: ToolError) -> Self {
        Self {
            kind,
            error,
            also: Vec::new(),
            value: None,
            blocks: Vec::new(),
        }
    }

    /// A failure whose kind says the reason too.
    pub fn host(kind: FailureKind, detail: impl Into<String>) -> Self {
        let reason = match kind {
            FailureKind::NotFound => Reason::NotFound,
            FailureKind::Unauthorized => Reason::Unauthorized,
            FailureKind::Invalid => Reason::Arguments,
            FailureKind::Timeout => Reason::Timeout,
            FailureKind::Trapped => Reason::Trapped,
            FailureKind::Unavailable => Reason::Unavailable,
            FailureKind::Cancelled => Reason::Cancelled,
            FailureKind::Limit => Reason::Limit,
            FailureKind::Skipped => Reason::Skipped,
            FailureKind::Failed | FailureKind::Internal => Reason::Internal,
        };
        Self::new(kind, ToolError::new(reason, detail))
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.error = self.error.hint(hint);
        self
    }

    /// Arguments that do not fit; `errors` is never empty, the first leads.
    #[must_use]
    pub fn invalid(mut errors: Vec<ToolError>) -> Self {
        let error = if errors.is_empty() {
            ToolError::new(Reason::Arguments, "the arguments do not fit")
        } else {
            errors.remove(0)
        };
        Self {
            also: errors,
            ..Self::new(FailureKind::Invalid, error)
        }
    }
}
