//! `toolgate plugins`: what was loaded from where, what it may touch, and what is wrong;
//! of the host that runs, if one does.

mod follow;

use clap::Args;

use super::{
    context::Context,
    exit::Exit,
    output::{Tone, cell},
    problem::Problem,
    tools::short,
};
use crate::faces::{
    control::{self, Answer, HostLink, Request},
    view::{CircuitView, HealthView, PluginView, PluginsView},
};

#[derive(Debug, Args)]
pub(super) struct Plugins {
    /// Show this plugin in full
    plugin: Option<String>,
    /// Go on showing what happens to the plugins
    #[arg(long)]
    watch: bool,
}

pub(super) async fn perform(cx: &Context<'_>, args: &Plugins) -> Result<Exit, Problem> {
    let config = cx.config()?;
    // The latest, if there are several.
    let running = control::running(&config.host.data_dir).await.pop();
    if args.watch {
        return follow::perform(cx, config, running, args.plugin.as_deref()).await;
    }
    let view = match running {
        Some(host) => {
            cx.out.note(&format!(
                "of the host that runs as process {}",
                host.process
            ));
            ask(&host).await?
        }
        None => PluginsView::of(&cx.host(config).await?),
    };
    match &args.plugin {
        None => list(cx, &view)?,
        Some(wanted) => one(cx, &view, wanted)?,
    }
    Ok(Exit::Ok)
}

async fn ask(host: &HostLink) -> Result<PluginsView, Problem> {
    let process = host.process;
    let failed = |error: String| Problem::failed(format!("host {process}: {error}"));
    match host.ask(Request::Plugins).await {
        Ok(Answer::Plugins(view)) => Ok(view),
        Ok(Answer::Refused(why)) => Err(failed(why)),
        Ok(Answer::Reloaded(_)) => Err(failed("gave another answer".into())),
        Err(error) => Err(failed(error.to_string())),
    }
}

pub(super) fn list(cx: &Context<'_>, view: &PluginsView) -> Result<(), Problem> {
    for problem in &view.problems {
        cx.out.warning(problem);
    }
    if cx.out.wants_json() {
        return cx.out.json(&view.plugins);
    }
    let rows: Vec<_> = view
        .plugins
        .iter()
        .map(|plugin| {
            let (state, tone) = state(plugin);
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            let generation = plugin.generation.map(|number| number.to_string());
            let digest = plugin.digest.as_deref().unwrap_or_default();
            vec![
                cell(&plugin.name).tone(Tone::Strong),
                cell(&text(&plugin.version)),
                cell(&text(&generation)),
                cell(&short(digest.trim_start_matches("sha256:"))).tone(Tone::Faint),
                cell(&state).tone(tone),
                cell(&plugin.tools.len().to_string()),
                cell(&plugin.capabilities()),
                cell(plugin.origin()),
            ]
        })
        .collect();
    cx.out.table(
        &[
            "plugin",
            "version",
            "gen",
            "digest",
            "state",
            "tools",
            "capabilities",
            "source",
        ],
        &rows,
    )?;
    for plugin in &view.plugins {
        for problem in &plugin.problems {
            cx.out.note(&format!("{}: {problem}", plugin.name));
        }
        for health in &plugin.health {
            cx.out
                .note(&format!("{}: {}", plugin.name, in_words(health)));
        }
    }
    Ok(())
}

fn state(plugin: &PluginView) -> (String, Tone) {
    let open = plugin
        .health
        .iter()
        .filter(|health| health.circuit == CircuitView::Open)
        .count();
    if !plugin.loaded {
        ("failed".to_owned(), Tone::Bad)
    } else if open > 0 {
        ("circuit open".to_owned(), Tone::Bad)
    } else {
        match plugin.problems.len() + plugin.health.len() {
            0 => ("ok".to_owned(), Tone::Good),
            1 => ("1 remark".to_owned(), Tone::Warning),
            count => (format!("{count} remarks"), Tone::Warning),
        }
    }
}

fn in_words(health: &HealthView) -> String {
    let HealthView {
        principal,
        last_trap,
        last_trap_at,
        ..
    } = health;
    let trap = format!("last trap at {last_trap_at}: {last_trap}");
    match health.next_try_seconds {
        Some(wait) => {
            format!("calls of {principal} are refused; the next is tried in {wait:.0} s ({trap})")
        }
        None => format!("trapped for {principal} ({trap})"),
    }
}

fn one(cx: &Context<'_>, view: &PluginsView, wanted: &str) -> Result<(), Problem> {
    let found = view.plugins.iter().find(|plugin| plugin.name == wanted);
    let Some(plugin) = found else {
        return Err(Problem::failed(format!("there is no plugin `{wanted}`"))
            .hint("`toolgate plugins` lists them"));
    };
    if cx.out.wants_json() {
        return cx.out.json(plugin);
    }
    let out = cx.out;
    out.toned(Tone::Strong, &plugin.name)?;
    if let Some(description) = &plugin.description {
        out.line(&format!("  {}", description.replace('\n', "\n  ")))?;
    }
    if let (Some(version), Some(generation)) = (&plugin.version, plugin.generation) {
        out.line(&format!("version       {version}, generation {generation}"))?;
    }
    if let Some(digest) = &plugin.digest {
        out.line(&format!("digest        {digest}"))?;
        out.line(&format!("capabilities  {}", plugin.capabilities()))?;
    }
    for grant in &plugin.grants {
        out.line(&format!("granted       {grant}"))?;
    }
    out.line(&format!("source        {}", plugin.origin()))?;
    for tool in &plugin.tools {
        out.line(&format!("tool          {tool}"))?;
    }
    for problem in &plugin.problems {
        out.toned(Tone::Warning, &format!("problem       {problem}"))?;
    }
    for health in &plugin.health {
        out.toned(
            Tone::Warning,
            &format!("health        {}", in_words(health)),
        )?;
    }
    Ok(())
}
