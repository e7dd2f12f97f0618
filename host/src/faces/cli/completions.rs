//! `toolgate completions`: a script that teaches a shell this program's words.

use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};

use super::{Cli, context::Context, exit::Exit, problem::Problem};

#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn perform(cx: &Context<'_>, args: &Completions) -> Result<Exit, Problem> {
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "toolgate", &mut script);
    cx.out.raw(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Ok)
}
