//! `toolgate reload`: the operator's word to the hosts that run.

use clap::Args;
use serde_json::json;

use super::{context::Context, exit::Exit, output::Tone, plugins, problem::Problem};
use crate::faces::control::{self, Answer, HostLink, ReloadedView, Request};

#[derive(Debug, Args)]
pub(super) struct Reload {
    /// Only the host of this process
    #[arg(long, value_name = "PID")]
    host: Option<u32>,
}

pub(super) async fn perform(cx: &Context<'_>, args: &Reload) -> Result<Exit, Problem> {
    let config = cx.config()?;
    let data_dir = config.host.data_dir.display();
    let mut hosts = control::running(&config.host.data_dir).await;
    if let Some(wanted) = args.host {
        hosts.retain(|host| host.process == wanted);
    }
    if hosts.is_empty() {
        return Err(
            Problem::failed(format!("no host runs on the data folder {data_dir}"))
                .hint("`toolgate serve` starts one; a host that starts takes everything as it is"),
        );
    }
    let mut exit = Exit::Ok;
    for host in hosts {
        let reloaded = ask(&host).await?;
        if cx.out.wants_json() {
            cx.out
                .json(&json!({ "host": host.process, "reloaded": reloaded }))?;
        } else {
            show(cx, &host, &reloaded)?;
        }
        if reloaded.error.is_some() || reloaded.now.plugins.iter().any(|plugin| !plugin.loaded) {
            exit = Exit::Failed;
        }
    }
    Ok(exit)
}

async fn ask(host: &HostLink) -> Result<ReloadedView, Problem> {
    let process = host.process;
    let failed = |error: String| Problem::failed(format!("host {process}: {error}"));
    match host.ask(Request::Reload).await {
        Ok(Answer::Reloaded(reloaded)) => Ok(reloaded),
        Ok(Answer::Refused(why)) => Err(failed(why)),
        Ok(Answer::Plugins(_)) => Err(failed("gave another answer".into())),
        Err(error) => Err(failed(error.to_string())),
    }
}

fn show(cx: &Context<'_>, host: &HostLink, reloaded: &ReloadedView) -> Result<(), Problem> {
    let process = host.process;
    match &reloaded.error {
        None => cx
            .out
            .toned(Tone::Good, &format!("host {process} is up to date"))?,
        Some(error) => cx.out.toned(
            Tone::Bad,
            &format!("host {process} keeps its configuration: {error}"),
        )?,
    }
    for section in &reloaded.needs_restart {
        cx.out
            .note(&format!("{section} needs a new start of the host"));
    }
    plugins::list(cx, &reloaded.now)
}
