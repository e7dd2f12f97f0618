//! A host with test plugins, in folders of its own.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use futures_util::future::BoxFuture;
use serde_json::Value;
use toolgate::{
    Host, HostBuilder,
    config::{Config, Dirs, Request},
    dispatch::{Circuits, Event, EventKind, Scope, Subscription},
    ports::{Approver, Console, Decision, NativeTool, Question},
    process::Shim,
    tool::{Batch, RawArguments, ToolCall, ToolResult},
};

/// Compiled code is shared by all tests: a component takes seconds to compile.
pub(crate) fn code_cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("code")
}

pub(crate) use toolgate_test_guest_bytes::{HOSTILE, PROBE, living};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_toolgate-under-test");

pub(crate) struct World {
    pub(crate) host: Host,
    /// Granted to nobody unless the configuration says so; resolved.
    pub(crate) workspace: PathBuf,
    folder: Arc<tempfile::TempDir>,
}

pub(crate) struct Maker {
    config: String,
    folder: Arc<tempfile::TempDir>,
    plugins: Vec<(&'static str, Vec<u8>)>,
    plugin_dir: &'static str,
    file: &'static str,
    approver: Option<Arc<dyn Approver>>,
    console: Option<Arc<dyn Console>>,
    native: Vec<Arc<dyn NativeTool>>,
    audit: bool,
    host_env: Vec<(String, String)>,
    circuits: Circuits,
}

/// All test plugins and the standard ones, with this configuration on top of a data and a
/// cache folder. `{workspace}` stands for the workspace's path.
pub(crate) fn world(config: &str) -> Maker {
    Maker {
        config: config.to_owned(),
        folder: Arc::new(tempfile::tempdir().unwrap()),
        plugins: test_plugins()
            .map(|(name, bytes)| (name, bytes.to_vec()))
            .into(),
        plugin_dir: "plugins",
        file: "toolgate.toml",
        approver: None,
        console: None,
        native: Vec::new(),
        audit: false,
        host_env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        circuits: Circuits::default(),
    }
}

impl Maker {
    pub(crate) fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    pub(crate) fn console(mut self, console: Arc<dyn Console>) -> Self {
        self.console = Some(console);
        self
    }

    pub(crate) fn native(mut self, tool: Arc<dyn NativeTool>) -> Self {
        self.native.push(tool);
        self
    }

    pub(crate) fn circuits(mut self, circuits: Circuits) -> Self {
        self.circuits = circuits;
        self
    }

    pub(crate) fn audited(mut self) -> Self {
        self.audit = true;
        self
    }

    pub(crate) fn host_env(mut self, env: &[(&str, &str)]) -> Self {
        self.host_env = env
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        self
    }

    /// Without this test plugin.
    pub(crate) fn without(mut self, plugin: &str) -> Self {
        self.plugins.retain(|(name, _)| *name != plugin);
        self
    }

    /// With other bytes that do the same: another implementation of this test plugin.
    pub(crate) fn rebuilt(mut self, plugin: &str) -> Self {
        let found = self.plugins.iter_mut().find(|(name, _)| *name == plugin);
        // A custom section of two bytes.
        found.unwrap().1.extend([0, 2, 1, b'x']);
        self
    }

    /// The folder that holds the configuration.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// The workspace, to fill it before the host starts.
    pub(crate) fn workspace(&self) -> PathBuf {
        let workspace = self.folder.path().canonicalize().unwrap().join("workspace");
        fs::create_dir_all(&workspace).unwrap();
        workspace
    }

    /// Every plugin has to load.
    pub(crate) async fn start(self) -> World {
        let world = self.start_with_problems().await;
        for (name, entry) in world.host.catalog().plugins() {
            assert!(entry.plugin.is_some(), "{name}: {:?}", entry.problems);
        }
        world
    }

    pub(crate) async fn start_with_problems(self) -> World {
        let root = self.folder.path().canonicalize().unwrap();
        let workspace = self.workspace();
        // The test plugins come the way that any plugin comes: from the plugin folder.
        let plugins = root.join(self.plugin_dir);
        fs::create_dir_all(&plugins).unwrap();
        for (name, bytes) in &self.plugins {
            fs::write(plugins.join(format!("{name}.wasm")), bytes).unwrap();
        }
        let config = self
            .config
            .replace("{workspace}", workspace.to_str().unwrap());
        let config = match config.split_once("[host]\n") {
            Some((before, after)) => {
                format!(
                    "{before}[host]\nplugin_dir = \"{}\"\n{after}",
                    self.plugin_dir
                )
            }
            None => format!("[host]\nplugin_dir = \"{}\"\n{config}", self.plugin_dir),
        };
        let file = root.join(self.file);
        fs::write(&file, config).unwrap();
        let request = Request {
            explicit: Some(file),
            start: root.clone(),
            env: Vec::new(),
            dirs: Dirs {
                config: root.join("xdg-config"),
                data: root.join("data"),
                cache: root.join("cache"),
            },
        };
        let config = Config::load(&request).unwrap_or_else(|error| panic!("{error}"));
        let mut builder = HostBuilder::new(config)
            .reread(request)
            .circuits(self.circuits)
            .code_cache(Some(code_cache()))
            .shim(Shim::Path(PROGRAM.into()))
            .host_env(self.host_env);
        if let Some(approver) = self.approver {
            builder = builder.approver(approver);
        }
        if let Some(console) = self.console {
            builder = builder.console(console);
        }
        for tool in self.native {
            builder = builder.native_tool(tool);
        }
        if !self.audit {
            builder = builder.without_audit();
        }
        let host = builder.build().await.unwrap();
        World {
            host,
            workspace,
            folder: self.folder,
        }
    }
}

/// A storm's repeat count: a tenth of it unless the full one is asked for.
#[expect(clippy::disallowed_methods, reason = "the one switch of the tests")]
pub(crate) fn soak(tenth: usize) -> usize {
    if std::env::var_os("TOOLGATE_SOAK").is_some() {
        tenth * 10
    } else {
        tenth
    }
}

fn test_plugins() -> [(&'static str, &'static [u8]); 6] {
    use toolgate_test_guest_bytes as test;
    [
        ("probe", test::PROBE),
        ("relay", test::RELAY),
        ("keeper", test::KEEPER),
        ("hostile", test::HOSTILE),
        ("memories", test::MEMORIES),
        ("hello", test::HELLO),
    ]
}

impl World {
    /// Another host over the same data folder and workspace.
    pub(crate) fn beside(&self, config: &str) -> Maker {
        Maker {
            folder: Arc::clone(&self.folder),
            plugin_dir: "other-plugins",
            file: "other.toml",
            ..world(config)
        }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// The file of a plugin in the plugin folder.
    pub(crate) fn file(&self, plugin: &str) -> PathBuf {
        self.root().join(format!("plugins/{plugin}.wasm"))
    }

    /// Saves a plugin the way that careful programs do.
    pub(crate) fn save(&self, plugin: &str, bytes: &[u8]) {
        let (file, fresh) = (self.file(plugin), self.root().join("fresh"));
        fs::write(&fresh, bytes).unwrap();
        fs::rename(&fresh, &file).unwrap();
    }

    /// Changes the configuration.
    pub(crate) fn edit(&self, change: impl FnOnce(String) -> String) {
        let file = self.root().join("toolgate.toml");
        let text = change(fs::read_to_string(&file).unwrap());
        fs::write(&file, text).unwrap();
    }

    pub(crate) fn scope(&self, principal: &str) -> Scope {
        let known = self.host.principal(principal);
        Scope::new(known.unwrap_or_else(|| panic!("no principal {principal}")))
    }

    /// One batch of `local`.
    pub(crate) async fn batch(&self, calls: &[(&str, Value)]) -> Vec<ToolResult> {
        self.batch_as("local", calls).await
    }

    pub(crate) async fn batch_as(
        &self,
        principal: &str,
        calls: &[(&str, Value)],
    ) -> Vec<ToolResult> {
        let calls = calls
            .iter()
            .map(|(name, arguments)| ToolCall::new(*name, arguments.clone()))
            .collect();
        self.host
            .run(self.scope(principal), Batch { calls, cut: false })
            .await
    }

    /// One call of `local`.
    pub(crate) async fn call(&self, name: &str, arguments: impl Into<RawArguments>) -> ToolResult {
        self.call_as("local", name, arguments).await
    }

    pub(crate) async fn call_as(
        &self,
        principal: &str,
        name: &str,
        arguments: impl Into<RawArguments>,
    ) -> ToolResult {
        let calls = vec![ToolCall::new(name, arguments)];
        let mut results = self
            .host
            .run(self.scope(principal), Batch { calls, cut: false })
            .await;
        assert_eq!(results.len(), 1);
        results.remove(0)
    }

    pub(crate) fn watch(&self) -> Subscription {
        self.host.dispatcher().events().subscribe()
    }
}

/// The next event that `wanted` takes; those before it go to `passed`.
pub(crate) async fn event(
    watch: &mut Subscription,
    passed: &mut Vec<Event>,
    wanted: impl Fn(&Event) -> bool,
) -> Event {
    let search = async {
        loop {
            let event = watch.next().await.expect("the host lives");
            let event = event.expect("nothing was missed").event.clone();
            if wanted(&event) {
                return event;
            }
            passed.push(event);
        }
    };
    // Less than the watch takes to find what the system failed to tell it.
    tokio::time::timeout(std::time::Duration::from_secs(12), search)
        .await
        .unwrap_or_else(|_| panic!("no such event came"))
}

/// What the events so far say: how many calls of each tool ran at once at most.
pub(crate) struct Watched(pub(crate) Vec<Event>);

impl Watched {
    pub(crate) fn take(watch: &mut Subscription) -> Self {
        let mut events = Vec::new();
        while let Some(event) = watch.try_next() {
            events.push(event.event.clone());
        }
        assert!(!events.is_empty(), "nothing was seen");
        Self(events)
    }

    /// Calls that were admitted and had not ended yet, at most.
    pub(crate) fn peak(&self, tool: &str) -> usize {
        let (mut now, mut peak) = (0_usize, 0);
        let mut started: BTreeMap<(String, String), ()> = BTreeMap::new();
        for event in self.0.iter().filter(|event| {
            event
                .tool
                .as_deref()
                .is_some_and(|name| name.starts_with(tool))
        }) {
            let key = (
                event.batch.as_deref().unwrap_or_default().to_owned(),
                event.id.clone().unwrap_or_default(),
            );
            match event.kind {
                EventKind::CallStarted => {
                    started.insert(key, ());
                    now += 1;
                    peak = peak.max(now);
                }
                EventKind::ToolCall if started.remove(&key).is_some() => now -= 1,
                _ => {}
            }
        }
        peak
    }

    pub(crate) fn of(&self, kind: EventKind) -> Vec<&Event> {
        self.0.iter().filter(|event| event.kind == kind).collect()
    }
}

/// A person with a fixed answer, who remembers the questions.
pub(crate) struct Person {
    answer: Box<dyn Fn(&Question) -> Decision + Send + Sync>,
    pub(crate) asked: Mutex<Vec<Question>>,
}

impl Person {
    pub(crate) fn who(answer: impl Fn(&Question) -> Decision + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            answer: Box::new(answer),
            asked: Mutex::default(),
        })
    }

    pub(crate) fn questions(&self) -> Vec<Question> {
        self.asked.lock().unwrap().clone()
    }
}

impl Approver for Person {
    fn ask(&self, question: Question) -> BoxFuture<'static, Decision> {
        let decision = (self.answer)(&question);
        self.asked.lock().unwrap().push(question);
        Box::pin(async move { decision })
    }
}

/// The failure's kind and reason, for short asserts.
pub(crate) fn failure(result: &ToolResult) -> (&'static str, String) {
    match &result.outcome {
        Ok(output) => panic!("{} succeeded: {}", result.name, output.value),
        Err(failure) => (failure.kind.as_str(), failure.error.reason.to_string()),
    }
}

pub(crate) fn value(result: &ToolResult) -> Value {
    match &result.outcome {
        Ok(output) => output.value.clone(),
        Err(failure) => panic!("{} failed: {:?}", result.name, failure),
    }
}
