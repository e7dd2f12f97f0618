//! `toolgate call`: one call, and the text that a model would get.

use std::path::PathBuf;

use clap::Args;

use super::{Who, arguments, context::Context, exit::Exit, problem::Problem, results, run, save};
use crate::tool::{Batch, ToolCall, ToolResult};

#[derive(Debug, Args)]
pub(super) struct Call {
    /// The tool
    tool: String,
    /// One JSON object, or words: key=text, key:=JSON
    #[arg(value_name = "JSON | KEY=VALUE")]
    arguments: Vec<String>,
    #[command(flatten)]
    who: Who,
    /// Write images and other media to this folder
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
}

pub(super) async fn perform(cx: &Context<'_>, args: Call) -> Result<Exit, Problem> {
    let arguments = arguments::read(&args.arguments)?;
    let host = cx.working_host(cx.config()?).await?;
    let principal = cx.principal(&host, &args.who)?;
    let batch = Batch {
        calls: vec![ToolCall::new(args.tool, arguments)],
        cut: false,
    };
    let Some(ran) = run::run(cx, &host, principal, batch).await? else {
        return Ok(Exit::Interrupted);
    };
    for result in &ran.results {
        show(cx, result)?;
        media(cx, result, args.save.as_ref())?;
    }
    Ok(ran.exit)
}

fn show(cx: &Context<'_>, result: &ToolResult) -> Result<(), Problem> {
    if cx.out.wants_json() {
        return cx.out.json(result);
    }
    let value = match &result.outcome {
        Ok(_) => true,
        Err(failure) => failure.value.is_some(),
    };
    // On a terminal the lines below say the same in words.
    if value || !cx.out.is_terminal() {
        cx.out.raw(&result.text)?;
    }
    for line in results::failure(result) {
        cx.out.note(&line);
    }
    Ok(())
}

fn media(cx: &Context<'_>, result: &ToolResult, folder: Option<&PathBuf>) -> Result<(), Problem> {
    let blocks = results::blocks(result);
    if blocks.is_empty() {
        return Ok(());
    }
    let Some(folder) = folder else {
        if !cx.out.wants_json() {
            for block in blocks {
                cx.out.note(&format!(
                    "media: {} (--save DIR writes it)",
                    results::describe(block)
                ));
            }
        }
        return Ok(());
    };
    for (block, path) in blocks.iter().zip(save::save(folder, blocks)?) {
        cx.out.note(&format!(
            "saved: {} ({})",
            path.display(),
            results::describe(block)
        ));
    }
    Ok(())
}
