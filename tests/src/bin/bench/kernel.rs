//! The whole way of a call through a host: rules, validation, a fresh instance, events,
//! and the audit log in a file.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::bail;
use toolgate::{
    Host, HostBuilder,
    config::{Config, Dirs, Request},
    dispatch::{Scope, Subscription},
    registry::Standard,
    tool::{Batch, ToolCall, ToolResult},
};

/// Rules as a careful operator writes them: some globs, a condition, an exception.
const RULES: &str = r#"
[host]
max_concurrent_calls = 256
plugin_dir = "plugins"

[plugins.relay.grants]
tools = ["*"]

[plugins.seq.grants]
tools = ["*"]

[principals.assistant]
kind = "agent"
allow = ["files_read", "files_list", "nothing", "echo", "everything", "sleep_*", "relay_*", "seq_*", "spin", "living_*"]
deny = [{ tool = "files_*", when = [{ at = "/path", glob = "**/.env" }] }]
"#;

/// Puts plugins where a host of this root finds them.
pub(crate) fn put(root: &Path, plugins: &[(&str, &[u8])]) -> anyhow::Result<()> {
    let folder = root.join("plugins");
    fs::create_dir_all(&folder)?;
    for (name, bytes) in plugins {
        fs::write(folder.join(name).with_extension("wasm"), bytes)?;
    }
    Ok(())
}

pub(crate) struct Kernel {
    host: Host,
    scope: Scope,
}

impl Kernel {
    /// `root` holds its configuration, audit log, the plugins that are not `embedded` and,
    /// in `code`, their compiled code.
    pub(crate) async fn start(
        root: &Path,
        embedded: Vec<Standard>,
        audit: bool,
    ) -> anyhow::Result<Self> {
        let file = root.join("toolgate.toml");
        fs::write(&file, RULES)?;
        let config = Config::load(&Request {
            explicit: Some(file),
            start: root.to_owned(),
            env: Vec::new(),
            dirs: Dirs {
                config: root.join("config"),
                data: root.join("data"),
                cache: root.join("cache"),
            },
        });
        let config = config.map_err(|error| anyhow::anyhow!("{error}"))?;
        let mut builder = HostBuilder::new(config)
            .standard(embedded)
            .code_cache(Some(root.join("code")));
        if !audit {
            builder = builder.without_audit();
        }
        let host = builder.build().await?;
        if let Some(principal) = host.principal("assistant") {
            let scope = Scope::new(principal);
            return Ok(Self { host, scope });
        }
        bail!("the configuration lost its principal")
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    pub(crate) fn subscribe(&self) -> Subscription {
        self.host.dispatcher().events().subscribe()
    }

    pub(crate) async fn batch(&self, calls: Vec<ToolCall>) -> anyhow::Result<Vec<ToolResult>> {
        let results = self
            .host
            .run(self.scope.clone(), Batch { calls, cut: false })
            .await;
        match results.iter().find(|result| !result.success()) {
            Some(failed) => bail!("{} failed: {}", failed.name, failed.text),
            None => Ok(results),
        }
    }

    /// One call, as text of a model.
    pub(crate) async fn call(&self, tool: &str, arguments: &str) -> anyhow::Result<()> {
        self.batch(vec![ToolCall::new(tool, arguments)])
            .await
            .map(drop)
    }

    /// A call whose value is a number.
    pub(crate) async fn value(&self, tool: &str, arguments: &str) -> anyhow::Result<u64> {
        let results = self.batch(vec![ToolCall::new(tool, arguments)]).await?;
        let output = results.first().and_then(|one| one.outcome.as_ref().ok());
        match output.and_then(|output| output.value.as_u64()) {
            Some(value) => Ok(value),
            None => bail!("{tool} gave no number"),
        }
    }

    /// A call that has to be stopped at its limit.
    pub(crate) async fn stopped(&self, limit: Duration, tool: &str) -> anyhow::Result<()> {
        let mut scope = self.scope.clone();
        scope.deadline = Some(Instant::now() + limit);
        let calls = vec![ToolCall::new(tool, "{}")];
        let results = self.host.run(scope, Batch { calls, cut: false }).await;
        let failure = results
            .first()
            .and_then(|result| result.outcome.as_ref().err());
        match failure.map(|failure| failure.kind.as_str()) {
            Some("timeout") => Ok(()),
            other => bail!("{tool} ended with {other:?}"),
        }
    }
}
