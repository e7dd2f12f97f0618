//! `toolgate plugins --watch`: a line for everything that happens to a plugin, in the host
//! that runs, or in one of its own that follows the same files.

use serde_json::Value;

use super::list;
use crate::{
    config::Config,
    dispatch::Subscription,
    faces::{
        cli::{context::Context, exit::Exit, output::Tone, problem::Problem, signals::Signals},
        control::{Control, HostLink, Lines, Request},
        view::PluginsView,
    },
};

/// Where the events come from.
enum Events {
    There(Lines),
    Here(Subscription),
}

pub(super) async fn perform(
    cx: &Context<'_>,
    config: Config,
    running: Option<HostLink>,
    only: Option<&str>,
) -> Result<Exit, Problem> {
    let mut signals = Signals::listen()?;
    let failed = |error: std::io::Error| Problem::failed(error.to_string());
    if let Some(host) = running {
        cx.out.note(&format!(
            "watching the host that runs as process {}; Ctrl-C ends this, not the host",
            host.process
        ));
        let lines = host.lines(Request::Events).await.map_err(failed)?;
        show(cx, &super::ask(&host).await?)?;
        return follow(cx, Events::There(lines), only, &mut signals).await;
    }
    let host = cx.host(config).await?;
    let events = Events::Here(host.dispatcher().events().subscribe());
    // So that `toolgate reload` reaches it.
    let _control = Control::open(&host).inspect_err(|error| {
        cx.out
            .warning(&format!("`toolgate reload` cannot reach this: {error}"));
    });
    let _watching = host.watch();
    show(cx, &PluginsView::of(&host))?;
    cx.out.note("watching; Ctrl-C ends");
    follow(cx, events, only, &mut signals).await
}

fn show(cx: &Context<'_>, view: &PluginsView) -> Result<(), Problem> {
    if cx.out.wants_json() {
        // One line an event follows: what is there now is no event.
        return Ok(());
    }
    list(cx, view)
}

async fn follow(
    cx: &Context<'_>,
    mut events: Events,
    only: Option<&str>,
    signals: &mut Signals,
) -> Result<Exit, Problem> {
    loop {
        let event = tokio::select! {
            event = events.next() => event?,
            () = signals.next() => return Ok(Exit::Ok),
        };
        let Some(event) = event else {
            return Err(Problem::failed("the host has ended"));
        };
        let text = |key: &str| event[key].as_str().unwrap_or_default();
        let kind = text("type");
        let about_plugins = kind.starts_with("plugin_") || kind.starts_with("circuit_");
        let missed = event.get("missed").is_some();
        if !missed && (!about_plugins || only.is_some_and(|only| only != text("plugin"))) {
            continue;
        }
        if cx.out.wants_json() {
            cx.out.json(&event)?;
        } else {
            let (tone, line) = in_words(&event);
            cx.out.toned(tone, &line)?;
        }
    }
}

impl Events {
    async fn next(&mut self) -> Result<Option<Value>, Problem> {
        let failed = |error: String| Problem::failed(format!("no events come any longer: {error}"));
        match self {
            Self::There(lines) => lines
                .next()
                .await
                .map_err(|error| failed(error.to_string())),
            Self::Here(events) => match events.next().await {
                None => Ok(None),
                Some(Ok(event)) => serde_json::to_value(&*event)
                    .map(Some)
                    .map_err(|error| failed(error.to_string())),
                Some(Err(missed)) => Ok(Some(serde_json::json!({ "missed": missed }))),
            },
        }
    }
}

fn in_words(event: &Value) -> (Tone, String) {
    let text = |key: &str| event[key].as_str().unwrap_or_default();
    let (plugin, detail) = (text("plugin"), text("detail"));
    let generation = event["generation"].as_u64().unwrap_or_default();
    let digest = text("digest").trim_start_matches("sha256:");
    let digest: String = digest.chars().take(12).collect();
    // Hours, minutes and seconds; UTC.
    let time = text("time").get(11..19).unwrap_or_default();
    let (tone, what) = match text("type") {
        "plugin_loaded" if detail.is_empty() => {
            let took = event["elapsed_ms"].as_f64().unwrap_or_default() / 1e3;
            let what = format!("generation {generation} serves: {digest}, loaded in {took:.2} s");
            (Tone::Good, what)
        }
        "plugin_loaded" => (Tone::Good, format!("generation {generation}: {detail}")),
        "plugin_failed" => match event["generation"].as_u64() {
            Some(serving) => (
                Tone::Bad,
                format!("does not load, generation {serving} goes on serving: {detail}"),
            ),
            None => (Tone::Bad, format!("does not load: {detail}")),
        },
        "plugin_removed" => (
            Tone::Warning,
            format!("removed; it was generation {generation}"),
        ),
        "circuit_open" => (
            Tone::Bad,
            format!(
                "calls of {} are refused: it keeps trapping ({detail})",
                text("principal")
            ),
        ),
        "circuit_closed" => (
            Tone::Good,
            format!("calls of {} are let through again", text("principal")),
        ),
        _ => (
            Tone::Warning,
            format!("{} events were missed", event["missed"]),
        ),
    };
    (tone, format!("{time}  {plugin:<12} {what}"))
}
