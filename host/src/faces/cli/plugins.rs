//! `toolgate plugins`: what was loaded from where, what it may touch, and what is wrong.

use clap::Args;
use serde_json::{Value, json};

use super::{
    context::Context,
    exit::Exit,
    output::{Tone, cell},
    problem::Problem,
    tools::short,
};
use crate::{
    policy::PluginGrants,
    registry::{Catalog, Entry, Origin, Plugin},
    runtime::Capability,
    tool::PluginName,
};

const CAPABILITIES: [Capability; 6] = [
    Capability::Fs,
    Capability::Data,
    Capability::Process,
    Capability::Tools,
    Capability::Env,
    Capability::Http,
];

#[derive(Debug, Args)]
pub(super) struct Plugins {
    /// Show this plugin in full
    plugin: Option<String>,
}

pub(super) async fn perform(cx: &Context<'_>, args: &Plugins) -> Result<Exit, Problem> {
    let host = cx.host(cx.config()?).await?;
    let catalog = host.catalog();
    for problem in host.problems() {
        cx.out.warning(problem);
    }
    match &args.plugin {
        None => list(cx, &catalog)?,
        Some(wanted) => {
            let found = catalog.plugins().find(|(name, _)| name.as_str() == wanted);
            let Some((name, entry)) = found else {
                return Err(Problem::failed(format!("there is no plugin `{wanted}`"))
                    .hint("`toolgate plugins` lists them"));
            };
            one(
                cx,
                name,
                entry,
                &catalog,
                &host.config().plugin(wanted).grants,
            )?;
        }
    }
    Ok(Exit::Ok)
}

fn list(cx: &Context<'_>, catalog: &Catalog) -> Result<(), Problem> {
    if cx.out.wants_json() {
        let all: Vec<Value> = catalog
            .plugins()
            .map(|(name, entry)| json(name, entry))
            .collect();
        return cx.out.json(&all);
    }
    let rows: Vec<_> = catalog
        .plugins()
        .map(|(name, entry)| {
            let plugin = entry.plugin.as_deref();
            let (state, tone) = match (plugin, entry.problems.len()) {
                (None, _) => ("failed".to_owned(), Tone::Bad),
                (Some(_), 0) => ("ok".to_owned(), Tone::Good),
                (Some(_), 1) => ("1 remark".to_owned(), Tone::Warning),
                (Some(_), count) => (format!("{count} remarks"), Tone::Warning),
            };
            let from = plugin.map(|plugin| &plugin.implementation);
            vec![
                cell(name.as_str()).tone(Tone::Strong),
                cell(from.map_or("", |from| &from.version)),
                cell(&from.map_or_else(String::new, |from| from.generation.to_string())),
                cell(&from.map_or_else(String::new, |from| short(&from.digest.hex())))
                    .tone(Tone::Faint),
                cell(&state).tone(tone),
                cell(&entry.tools.len().to_string()),
                cell(&plugin.map_or_else(String::new, |plugin| capabilities(plugin).join(" "))),
                cell(&entry.origin.to_string()),
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
    for (name, entry) in catalog.plugins() {
        for problem in &entry.problems {
            cx.out.note(&format!("{name}: {problem}"));
        }
    }
    Ok(())
}

fn one(
    cx: &Context<'_>,
    name: &PluginName,
    entry: &Entry,
    catalog: &Catalog,
    grants: &PluginGrants,
) -> Result<(), Problem> {
    if cx.out.wants_json() {
        return cx.out.json(&json(name, entry));
    }
    let out = cx.out;
    out.toned(Tone::Strong, name.as_str())?;
    if let Some(plugin) = &entry.plugin {
        out.line(&format!("  {}", plugin.description.replace('\n', "\n  ")))?;
        let from = &plugin.implementation;
        out.line(&format!(
            "version       {}, generation {}",
            from.version, from.generation
        ))?;
        out.line(&format!("digest        {}", from.digest))?;
        out.line(&format!("capabilities  {}", capabilities(plugin).join(" ")))?;
        for grant in &grants.fs {
            let mode = if grant.writable {
                "reads and writes"
            } else {
                "reads"
            };
            out.line(&format!("granted       {mode} {}", grant.host.display()))?;
        }
        if let Some(process) = &grants.process {
            let shell = if process.shell {
                ", and any text in a shell"
            } else {
                ""
            };
            out.line(&format!(
                "granted       runs {}{shell}",
                process.programs.join(", ")
            ))?;
        }
    }
    out.line(&format!("source        {}", entry.origin))?;
    for tool in catalog
        .tools()
        .filter(|tool| &tool.plugin.implementation.plugin == name)
    {
        out.line(&format!("tool          {}", tool.spec.name))?;
    }
    for problem in &entry.problems {
        out.toned(Tone::Warning, &format!("problem       {problem}"))?;
    }
    Ok(())
}

/// What it asks for; a `-` marks what is not granted.
fn capabilities(plugin: &Plugin) -> Vec<String> {
    let asked = CAPABILITIES
        .into_iter()
        .filter(|capability| plugin.sandbox.requests(*capability));
    asked
        .map(|capability| {
            let sign = if plugin.shortfall.contains(&capability) {
                "-"
            } else {
                ""
            };
            format!("{sign}{}", capability.as_str())
        })
        .collect()
}

pub(in crate::faces) fn json(name: &PluginName, entry: &Entry) -> Value {
    let plugin = entry.plugin.as_deref();
    let from = plugin.map(|plugin| &plugin.implementation);
    let words = |wanted: &dyn Fn(&Plugin, Capability) -> bool| -> Vec<&'static str> {
        let Some(plugin) = plugin else {
            return Vec::new();
        };
        let all = CAPABILITIES
            .into_iter()
            .filter(|capability| wanted(plugin, *capability));
        all.map(Capability::as_str).collect()
    };
    let (kind, path) = match &entry.origin {
        Origin::Embedded => ("embedded", None),
        Origin::Configured(path) => ("configured", Some(path)),
        Origin::Folder(path) => ("folder", Some(path)),
    };
    json!({
        "name": name,
        "loaded": plugin.is_some(),
        "source": kind,
        "path": path.map(|path| path.display().to_string()),
        "version": from.map(|from| &from.version),
        "digest": from.map(|from| from.digest),
        "generation": from.map(|from| from.generation),
        "description": plugin.map(|plugin| &plugin.description),
        "requested": words(&|plugin, capability| plugin.sandbox.requests(capability)),
        "granted": words(&|plugin, capability| {
            plugin.sandbox.requests(capability) && !plugin.shortfall.contains(&capability)
        }),
        "short": words(&|plugin, capability| plugin.shortfall.contains(&capability)),
        "tools": entry.tools,
        "problems": entry.problems,
    })
}
