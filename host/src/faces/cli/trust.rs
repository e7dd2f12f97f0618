//! `toolgate trust`: shows what the found configuration grants, or what changed in it
//! since it was trusted, and records it when the person says so.

use std::sync::atomic::AtomicBool;

use clap::Args;
use serde_json::json;

use super::{context::Context, exit::Exit, output::Tone, problem::Problem, terminal};
use crate::config::{Config, Examined, difference};

#[derive(Debug, Args)]
pub(super) struct Trust {
    /// Record it without asking
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn perform(cx: &Context<'_>, args: &Trust) -> Result<Exit, Problem> {
    let Some(found) = Config::examine(&cx.request())? else {
        return Err(Problem::usage("there is no configuration to trust")
            .hint("`toolgate init` writes one, and trusts it"));
    };
    let changes = found
        .before
        .as_ref()
        .map(|before| difference(&before.text, &found.text));
    if !cx.out.wants_json() {
        show(cx, &found, changes.as_deref())?;
    }
    let decision = decide(cx, args, &found)?;
    if cx.out.wants_json() {
        cx.out.json(&json!({
            "file": found.path.display().to_string(),
            "trusted": decision != Decided::Refused,
            "recorded": decision == Decided::Recorded,
            "allows": found.config.describe(),
            "changes": changes.unwrap_or_default(),
        }))?;
    }
    Ok(if decision == Decided::Refused {
        Exit::Failed
    } else {
        Exit::Ok
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Decided {
    Needless,
    Recorded,
    Refused,
}

fn decide(cx: &Context<'_>, args: &Trust, found: &Examined) -> Result<Decided, Problem> {
    if found.usable {
        cx.out.note("it is trusted as it is: nothing to do");
        return Ok(Decided::Needless);
    }
    let yes = if args.yes {
        true
    } else if terminal::is_there() {
        let question = "Trust this configuration? [y/N] ";
        terminal::ask(question, &AtomicBool::new(false))
            .map_err(|error| Problem::failed(format!("the terminal cannot be asked: {error}")))?
    } else {
        return Err(
            Problem::usage("this configuration is not trusted, and nobody is here to ask")
                .at(found.path.display().to_string())
                .hint("read what it allows, then `toolgate trust --yes`"),
        );
    };
    if !yes {
        cx.out.note("not trusted: nothing in it is used");
        return Ok(Decided::Refused);
    }
    found
        .trust()
        .map_err(|error| Problem::failed(format!("the record cannot be written: {error}")))?;
    cx.out.note("trusted, as it is now");
    Ok(Decided::Recorded)
}

fn show(cx: &Context<'_>, found: &Examined, changes: Option<&[String]>) -> Result<(), Problem> {
    cx.out
        .toned(Tone::Strong, &found.path.display().to_string())?;
    for warning in &found.config.warnings {
        cx.out.warning(warning);
    }
    for line in found.config.describe() {
        cx.out.line(&format!("  {line}"))?;
    }
    match changes {
        None | Some([]) => Ok(()),
        Some(changes) => {
            cx.out
                .toned(Tone::Strong, "changed since it was trusted:")?;
            for line in changes {
                let tone = if line.starts_with('+') {
                    Tone::Good
                } else {
                    Tone::Bad
                };
                cx.out.toned(tone, &format!("  {line}"))?;
            }
            Ok(())
        }
    }
}
