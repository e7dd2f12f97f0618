//! The command line: what may be typed, and which file answers it. Decides nothing about
//! calls; data goes to standard output, everything else to standard error.

mod approver;
mod arguments;
mod audit;
mod batch;
mod call;
mod check;
mod completions;
mod config;
mod console;
mod context;
mod doctor;
mod environment;
mod exit;
mod init;
mod log;
mod output;
mod plugins;
mod problem;
mod reload;
mod results;
mod run;
mod save;
mod seq;
mod serve;
mod signals;
#[cfg(feature = "otel")]
mod telemetry;
mod terminal;
mod token;
mod tools;
mod trust;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand};

use context::Context;
use exit::Exit;
use log::LogFormat;
use output::Output;
use problem::Problem;

#[derive(Debug, Parser)]
#[command(
    name = "toolgate",
    version,
    about = "The gate between LLM agents and their tools",
    after_help = "Exit codes: 0 ok, 1 a call or check failed, 2 usage or configuration, \
                  3 denied, 130 interrupted."
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Args)]
struct Global {
    /// Use this configuration, wherever it lies
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print data as JSON
    #[arg(long, global = true)]
    json: bool,
    /// Say more on standard error; up to -vvv (or filters in TOOLGATE_LOG)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
}

/// Who calls.
#[derive(Debug, Args)]
struct Who {
    /// Act as this principal instead of `host.acts_as.cli`
    #[arg(long = "as", value_name = "PRINCIPAL")]
    principal: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write a starter toolgate.toml and a workspace beside it
    Init(init::Init),
    /// Show what the found configuration grants, and record that you trust it
    Trust(trust::Trust),
    /// Make one call
    Call(call::Call),
    /// Run a model's reply as one batch
    Batch(batch::BatchCommand),
    /// Answer over HTTP until interrupted
    Serve(serve::Serve),
    /// Make, list and revoke the tokens of HTTP clients
    Token(token::Token),
    /// Create, run, list, show or delete sequences of tool calls
    Seq(seq::Seq),
    /// List the tools, or show one
    Tools(tools::Tools),
    /// List the plugins, or show one
    Plugins(plugins::Plugins),
    /// Tell the hosts that run to take over plugins and configuration as they are now
    Reload(reload::Reload),
    /// Say what a host would say about a plugin file
    Check(check::Check),
    /// Read the audit log
    Audit(audit::Audit),
    /// Print every value in effect and where it came from
    Config,
    /// Print a script that completes words in a shell
    Completions(completions::Completions),
    /// Look for what does not work, and say what to do
    Doctor,
}

/// What a tool is as JSON: the same in every face.
pub(super) use self::tools::full as tool_json;

pub(super) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come this way too. A closed pipe is no reason to fail.
            let _ = error.print();
            let exit = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Ok
            };
            return exit.into();
        }
    };
    let format = match &cli.command {
        Command::Serve(serve) => serve.log_format(),
        _ => LogFormat::Text,
    };
    let out = Output::new(cli.global.json, format);
    let exit = match start(cli, format, &out) {
        Ok(exit) => exit,
        Err(problem) => {
            out.problem(&problem);
            problem.exit()
        }
    };
    exit.into()
}

fn start(cli: Cli, format: LogFormat, out: &Output) -> Result<Exit, Problem> {
    let cx = Context::new(cli.global.config, out)?;
    // Until everything has ended: what was collected last is sent then.
    let _log = log::start(cli.global.verbose, cx.environment().log.as_deref(), format)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // Guests' file calls run on these threads; timers must not wait for many of them.
        .event_interval(4)
        .enable_all()
        .build()
        .map_err(|error| Problem::failed(format!("no threads can be started: {error}")))?;
    let exit = runtime.block_on(Box::pin(perform(cli.command, &cx)));
    // A thread that still waits for an answer at the terminal holds nobody up.
    runtime.shutdown_background();
    exit
}

async fn perform(command: Command, cx: &Context<'_>) -> Result<Exit, Problem> {
    match command {
        Command::Init(args) => init::perform(cx, &args),
        Command::Trust(args) => trust::perform(cx, &args),
        Command::Call(args) => call::perform(cx, args).await,
        Command::Batch(args) => batch::perform(cx, &args).await,
        Command::Serve(args) => serve::perform(cx, &args).await,
        Command::Token(args) => token::perform(cx, &args),
        Command::Seq(args) => seq::perform(cx, args).await,
        Command::Tools(args) => tools::perform(cx, &args).await,
        Command::Plugins(args) => plugins::perform(cx, &args).await,
        Command::Reload(args) => reload::perform(cx, &args).await,
        Command::Check(args) => check::perform(cx, &args).await,
        Command::Audit(args) => audit::perform(cx, &args),
        Command::Config => config::perform(cx),
        Command::Completions(args) => completions::perform(cx, &args),
        Command::Doctor => doctor::perform(cx).await,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_definitions_hold_together() {
        super::Cli::command().debug_assert();
    }
}
