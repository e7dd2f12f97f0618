//! `toolgate check`: what a host would say about a plugin file, without granting it
//! anything. The file's code runs only as far as `describe`, in a closed sandbox.

use std::{
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use serde_json::{Value, json};

use super::{context::Context, exit::Exit, output::Tone, problem::Problem, results::size};
use crate::{
    config::Config,
    metrics::Metrics,
    process::{Launcher, Shim},
    registry::{Loader, LoaderParts, PluginTool},
    runtime::{CodeCache, Component, ComponentError, Described, EngineSettings, Engines, WORLD},
    tool::{Digest, PluginName},
};

/// More than a host takes, so that the host's own words are the answer.
const LARGEST: u64 = 512 << 20;

#[derive(Debug, Args)]
pub(super) struct Check {
    /// A component
    file: PathBuf,
}

/// What is known about the file.
struct Report {
    file: PathBuf,
    size: usize,
    digest: Digest,
    described: Option<Described>,
    tools: Vec<Arc<PluginTool>>,
    problems: Vec<String>,
}

pub(super) async fn perform(cx: &Context<'_>, args: &Check) -> Result<Exit, Problem> {
    let bytes = read(&args.file)?;
    let mut report = Report {
        file: args.file.clone(),
        size: bytes.len(),
        digest: Digest::of(&bytes),
        described: None,
        tools: Vec::new(),
        problems: Vec::new(),
    };
    let engines = Engines::new(&EngineSettings { slots: 1 }).map_err(|error| {
        Problem::failed(format!("the WebAssembly engine cannot start: {error:#}"))
    })?;
    // The code is kept, so that it is compiled once: here, below, and by a host later.
    let cache = CodeCache::at(cx.environment().dirs.cache.join("code"));
    match describe(&engines, &cache, bytes.clone()).await? {
        Err(problem) => report.problems.push(problem.to_string()),
        Ok(described) => {
            load(cx, &mut report, &described, bytes, engines, cache).await;
            report.described = Some(described);
        }
    }
    if cx.out.wants_json() {
        cx.out.json(&report.json())?;
    } else {
        report.show(cx)?;
    }
    Ok(if report.problems.is_empty() {
        Exit::Ok
    } else {
        Exit::Failed
    })
}

fn read(file: &Path) -> Result<Vec<u8>, Problem> {
    let fail = |what: String| Problem::usage(what).at(file.display().to_string());
    let meta =
        fs::metadata(file).map_err(|error| fail(format!("the file cannot be read: {error}")))?;
    // Opening a pipe would wait for its writer.
    if !meta.is_file() {
        return Err(fail("this is not a regular file".into()).hint("name a .wasm file"));
    }
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|file| file.take(LARGEST).read_to_end(&mut bytes))
        .map_err(|error| fail(format!("the file cannot be read: {error}")))?;
    Ok(bytes)
}

async fn describe(
    engines: &Engines,
    cache: &CodeCache,
    bytes: Vec<u8>,
) -> Result<Result<Described, ComponentError>, Problem> {
    let (for_task, cache) = (engines.clone(), cache.clone());
    let loaded = tokio::task::spawn_blocking(move || {
        Component::load(&for_task, &cache, &bytes, Digest::of(&bytes))
    })
    .await
    .map_err(|error| Problem::failed(format!("compiling it ended the task: {error}")))?;
    let component = match loaded {
        Ok(component) => component,
        Err(error) => return Ok(Err(error)),
    };
    // Any name does: nothing is granted under it.
    let name = PluginName::new("check").map_err(|error| Problem::failed(error.to_string()))?;
    Ok(component.describe(&name).await)
}

/// As a host would, with a configuration that grants nothing.
async fn load(
    cx: &Context<'_>,
    report: &mut Report,
    described: &Described,
    bytes: Vec<u8>,
    engines: Engines,
    cache: CodeCache,
) {
    let name = match PluginName::new(&described.name) {
        Ok(name) => name,
        Err(error) => {
            report.problems.push(error.to_string());
            return;
        }
    };
    let stem = report.file.file_stem().unwrap_or_default();
    if stem != name.as_str() {
        report.problems.push(format!(
            "it calls itself `{name}`: in a plugin folder the file has to be {name}.wasm, anywhere else it needs `[plugins.{name}] source`"
        ));
    }
    let environment = cx.environment();
    let config = Config::embedded_default(&environment.start, &environment.dirs);
    let loader = Loader::new(LoaderParts {
        engines,
        cache,
        launcher: Arc::new(Launcher::new(Shim::None)),
        host_env: Arc::from([]),
        data_dir: None,
        inline_io: true,
        max_timeout: config.host.max_timeout,
        standard: Vec::new(),
        metrics: Metrics::new(),
    });
    // A plugin without a section: no grants.
    let config = config.plugin("");
    match loader
        .load(&name, (bytes.into(), report.digest), &config, 1)
        .await
    {
        Ok(fresh) => {
            report.tools = fresh.tools;
            // That it is granted nothing here is no fault of the file.
            let ungranted = |problem: &String| problem.ends_with("does not give");
            let problems = fresh.problems.into_iter();
            report
                .problems
                .extend(problems.filter(|problem| !ungranted(problem)));
        }
        Err(error) => report.problems.push(error.problem),
    }
}

impl Report {
    fn show(&self, cx: &Context<'_>) -> Result<(), Problem> {
        let out = cx.out;
        out.line(&format!(
            "file          {}, {}",
            self.file.display(),
            size(self.size)
        ))?;
        out.line(&format!("digest        {}", self.digest))?;
        if let Some(described) = &self.described {
            out.line(&format!("world         {WORLD}"))?;
            out.line(&format!(
                "plugin        {} {}",
                described.name, described.version
            ))?;
            out.line(&format!(
                "description   {}",
                described.description.replace('\n', " ")
            ))?;
            for (capability, why) in &described.capabilities {
                out.line(&format!("asks for      {capability}: {why}"))?;
            }
        }
        for tool in &self.tools {
            let spec = &tool.spec;
            let first = spec.description.lines().next().unwrap_or_default();
            out.line(&format!("tool          {}: {first}", spec.name))?;
            out.line(&format!("  arguments   {}", spec.parameters))?;
            if let Some(output) = &spec.output_schema {
                out.line(&format!("  value       {output}"))?;
            }
        }
        for problem in &self.problems {
            out.toned(Tone::Bad, &format!("problem       {problem}"))?;
        }
        if self.problems.is_empty() {
            out.toned(Tone::Good, "a host would load it")?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let described = self.described.as_ref();
        let capabilities: Vec<Value> = described
            .iter()
            .flat_map(|described| &described.capabilities)
            .map(|(name, reason)| json!({ "name": name, "reason": reason }))
            .collect();
        let tools: Vec<Value> = self
            .tools
            .iter()
            .map(|tool| {
                let spec = &tool.spec;
                json!({
                    "name": spec.name,
                    "title": spec.title,
                    "description": spec.description,
                    "parameters": spec.parameters,
                    "output_schema": spec.output_schema,
                    "parallel_safe": spec.parallel_safe,
                    "serial": spec.serial,
                    "hints": spec.hints,
                })
            })
            .collect();
        json!({
            "file": self.file.display().to_string(),
            "size": self.size,
            "digest": self.digest,
            "world": described.map(|_| WORLD),
            "name": described.map(|described| &described.name),
            "version": described.map(|described| &described.version),
            "description": described.map(|described| &described.description),
            "capabilities": capabilities,
            "tools": tools,
            "problems": self.problems,
        })
    }
}
