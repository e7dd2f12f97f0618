//! Exit codes: what a script learns without reading anything.

use std::process::ExitCode;

use crate::tool::{FailureKind, ToolResult};

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// Everything succeeded.
    Ok,
    /// A call, a check or the program itself failed.
    Failed,
    /// The command line, the configuration or the batch file is unusable: nothing ran.
    Usage,
    /// Some calls failed, and each of those was denied.
    Denied,
    /// Interrupted.
    Interrupted,
}

impl Exit {
    /// Of calls that were not interrupted.
    pub(super) fn of(results: &[ToolResult]) -> Self {
        let mut failures = results
            .iter()
            .filter_map(|result| result.outcome.as_ref().err())
            .peekable();
        if failures.peek().is_none() {
            Self::Ok
        } else if failures.all(|failure| failure.kind == FailureKind::Unauthorized) {
            Self::Denied
        } else {
            Self::Failed
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ok => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Denied => 3,
            // 128 and the number of SIGINT.
            Exit::Interrupted => 130,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::tool::{Failure, Output};

    fn result(kind: Option<FailureKind>) -> ToolResult {
        ToolResult {
            id: "a".into(),
            original_id: None,
            index: 0,
            name: "x".into(),
            outcome: kind.map_or(Ok(Output::default()), |kind| Err(Failure::host(kind, ""))),
            text: String::new(),
            parallel: false,
            elapsed: Duration::ZERO,
            queue: Duration::ZERO,
            implementation: None,
        }
    }

    #[test]
    fn only_denials_are_denied() {
        use FailureKind::{Failed, Invalid, Unauthorized};
        for (kinds, exit) in [
            (&[][..], Exit::Ok),
            (&[None, None], Exit::Ok),
            (&[None, Some(Unauthorized)], Exit::Denied),
            (&[Some(Unauthorized), Some(Unauthorized)], Exit::Denied),
            (&[Some(Unauthorized), Some(Failed)], Exit::Failed),
            (&[None, Some(Invalid)], Exit::Failed),
        ] {
            let results: Vec<_> = kinds.iter().map(|kind| result(*kind)).collect();
            assert_eq!(Exit::of(&results), exit, "{kinds:?}");
        }
    }
}
