//! `toolgate batch`: a model's reply, executed as one batch.

use std::{
    fs::File,
    io::{self, Read},
    path::PathBuf,
};

use clap::Args;

use super::{Who, context::Context, exit::Exit, problem::Problem, results, run};
use crate::{faces::batch_file, tool::Batch};

/// Bytes. A reply of a model is far smaller, and one call takes 16 MiB at most.
const LARGEST: u64 = 32 << 20;

#[derive(Debug, Args)]
pub(super) struct BatchCommand {
    /// A file, or - for standard input: calls, or a message of an OpenAI- or
    /// Anthropic-style API
    file: PathBuf,
    #[command(flatten)]
    who: Who,
}

pub(super) async fn perform(cx: &Context<'_>, args: &BatchCommand) -> Result<Exit, Problem> {
    let batch = read(&args.file)?;
    let host = cx.working_host(cx.config()?).await?;
    let principal = cx.principal(&host, &args.who)?;
    let Some(ran) = run::run(cx, &host, principal, batch).await? else {
        return Ok(Exit::Interrupted);
    };
    if cx.out.wants_json() {
        cx.out.json(&ran.results)?;
    } else {
        results::show(cx.out, &ran.results, ran.elapsed)?;
    }
    Ok(ran.exit)
}

fn read(file: &PathBuf) -> Result<Batch, Problem> {
    let is_stdin = file.as_os_str() == "-";
    let name = if is_stdin {
        "standard input".to_owned()
    } else {
        file.display().to_string()
    };
    let bytes = if is_stdin {
        all(io::stdin().lock())
    } else {
        File::open(file).and_then(all)
    }
    .map_err(|error| Problem::usage(format!("the batch cannot be read: {error}")).at(&name))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > LARGEST {
        return Err(
            Problem::usage(format!("the batch is larger than {} MiB", LARGEST >> 20)).at(&name),
        );
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Problem::usage(format!("the batch is not UTF-8, at byte {at}")).at(&name)
    })?;
    batch_file::read(&text).map_err(|error| {
        let place = match error.at {
            Some((line, column)) => format!("{name}:{line}:{column}"),
            None => name,
        };
        let problem = Problem::usage(error.what).at(place);
        match error.hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        }
    })
}

fn all(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
