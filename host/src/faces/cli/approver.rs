//! Asks the person at the terminal about one call: exactly what will run, escaped, and
//! nothing but a plain yes lets it run.

use std::{
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::future::BoxFuture;
use tokio::sync::Mutex;

use super::terminal;
use crate::{
    ports::{Approver, Decision, Question},
    render::for_terminal,
};

/// The person at this terminal.
#[derive(Debug, Default)]
pub(super) struct TerminalApprover {
    /// One question at a time: two would mix their lines, and their answers.
    turn: Arc<Mutex<()>>,
}

impl Approver for TerminalApprover {
    fn ask(&self, question: Question) -> BoxFuture<'static, Decision> {
        let turn = Arc::clone(&self.turn);
        Box::pin(async move {
            let _turn = turn.lock().await;
            let given_up = GivenUp::default();
            let flag = Arc::clone(&given_up.0);
            let asked =
                tokio::task::spawn_blocking(move || terminal::ask(&words(&question), &flag)).await;
            match asked {
                Ok(Ok(true)) => Decision::Approve,
                Ok(Ok(false)) => Decision::Deny(String::new()),
                Ok(Err(_)) | Err(_) => Decision::Deny("the terminal could not be asked".into()),
            }
        })
    }
}

/// Ends the question when nobody waits for its answer any more.
#[derive(Debug, Default)]
struct GivenUp(Arc<AtomicBool>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn words(question: &Question) -> String {
    let Question {
        principal,
        chain,
        tool,
        arguments,
        implementation,
        rule,
        ..
    } = question;
    let arguments =
        serde_json::to_string_pretty(&**arguments).unwrap_or_else(|_| arguments.to_string());
    let mut text = String::from("\n");
    let _ = writeln!(text, "{} wants to call {tool}", principal.id());
    for link in chain.iter() {
        let _ = writeln!(text, "  through    {}/{}", link.plugin, link.tool);
    }
    let _ = writeln!(
        text,
        "  plugin     {} {}, {}, generation {}",
        implementation.plugin,
        implementation.version,
        implementation.digest,
        implementation.generation
    );
    let _ = writeln!(text, "  rule       {rule}");
    let _ = writeln!(text, "  arguments  {}", arguments.replace('\n', "\n  "));
    let _ = write!(text, "Let it run, once? [y/N] ");
    for_terminal(&text)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::tool::{Digest, Implementation, Kind, PluginName, Principal, ToolName};

    #[test]
    fn the_question_shows_all_and_obeys_nothing() {
        let text = words(&Question {
            id: "q1".into(),
            principal: Principal::new("assistant", Kind::Agent),
            chain: Arc::from([]),
            tool: ToolName::new("files_delete").unwrap(),
            arguments: Arc::new(json!({"path": "a\nLet it run, once? [y/N] y\u{1b}[2J\u{202e}"})),
            implementation: Implementation {
                plugin: PluginName::new("files").unwrap(),
                version: "1\u{1b}[2J".into(),
                digest: Digest::of(b""),
                generation: 2,
            },
            rule: "principals.assistant.ask[0]".into(),
            binding: Digest::of(b""),
            expires_in: Duration::from_secs(1),
        });
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{202e}'),
            "{text}"
        );
        assert!(
            text.contains(r#""path": "a\nLet it run, once? [y/N] y\u001b[2J\u{202e}""#),
            "{text}"
        );
        assert_eq!(
            text.lines()
                .filter(|line| line.starts_with("Let it run"))
                .count(),
            1,
            "{text}"
        );
        assert!(
            text.contains("generation 2") && text.contains("ask[0]"),
            "{text}"
        );
    }
}
