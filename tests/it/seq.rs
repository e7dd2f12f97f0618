//! What the tests of sequences share: short ways to write documents and to read reports.
//! All of them go through the real component and the real kernel.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use toolgate::{
    ports::NativeTool,
    stage::StageContext,
    tool::{Failure, FailureKind, Output, ToolName, ToolResult, ToolSpec},
};

use crate::world::{World, value, world};

pub(crate) const GRANT: &str = "[plugins.seq.grants]\ntools = [\"*\"]\n";

pub(crate) async fn start() -> World {
    world(GRANT).start().await
}

/// A `tools` text of these items.
pub(crate) fn tools(items: &[Value]) -> String {
    let items: Vec<String> = items.iter().map(|item| format!("{item} ;")).collect();
    items.join(" ")
}

/// An item that gives `value` through `answer`, whatever type it has.
pub(crate) fn gives(value: &Value, slot: &str) -> Value {
    json!({ "tool": "answer", "args": { "json": value.to_string() }, "as": slot })
}

/// An item that gives a text, with references.
pub(crate) fn echo(text: &str, slot: &str) -> Value {
    json!({ "tool": "echo", "args": { "text": text }, "as": slot })
}

/// A group; `more` holds further keys.
pub(crate) fn group(name: &str, items: &[Value], more: Value) -> Value {
    let mut group = json!({ "name": name, "tools": tools(items) });
    let Value::Object(more) = more else {
        panic!("{more}")
    };
    group.as_object_mut().unwrap().extend(more);
    group
}

pub(crate) async fn create(world: &World, name: &str, groups: &[Value]) -> ToolResult {
    world
        .call("seq_create", json!({ "name": name, "groups": groups }))
        .await
}

/// What a good document gives.
pub(crate) async fn created(world: &World, name: &str, groups: &[Value]) -> Value {
    value(&create(world, name, groups).await)
}

/// All errors of a document that is refused.
pub(crate) fn errors(result: &ToolResult) -> Vec<Value> {
    let failure = result.outcome.as_ref().expect_err("it was taken");
    let value = failure
        .value
        .as_ref()
        .unwrap_or_else(|| panic!("{failure:?}"));
    assert_eq!(value["saved"], false);
    value["errors"].as_array().unwrap().clone()
}

/// The one error of a group that is refused.
pub(crate) async fn refused(world: &World, groups: &[Value]) -> Value {
    let errors = errors(&create(world, "refused", groups).await);
    assert_eq!(errors.len(), 1, "{errors:#?}");
    errors[0].clone()
}

/// The report, of a failed run too.
pub(crate) async fn run(world: &World, name: &str, args: Value) -> Value {
    run_as(world, "local", name, args).await
}

pub(crate) async fn run_as(world: &World, principal: &str, name: &str, args: Value) -> Value {
    report(
        &world
            .call_as(principal, "seq_run", json!({ "name": name, "args": args }))
            .await,
    )
}

pub(crate) fn report(result: &ToolResult) -> Value {
    match &result.outcome {
        Ok(output) => output.value.clone(),
        Err(failure) => failure
            .value
            .clone()
            .unwrap_or_else(|| panic!("{failure:?}")),
    }
}

/// The status of each group.
pub(crate) fn groups(report: &Value) -> Vec<&str> {
    let groups = report["groups"].as_array().unwrap().iter();
    groups
        .map(|group| group["status"].as_str().unwrap())
        .collect()
}

/// The status of each item of one group.
pub(crate) fn items(report: &Value, group: usize) -> Vec<&str> {
    let items = report["groups"][group]["items"].as_array().unwrap().iter();
    items.map(|item| item["status"].as_str().unwrap()).collect()
}

/// A tool of the host that counts its calls and ends as the test says.
pub(crate) struct Counting {
    spec: ToolSpec,
    calls: AtomicUsize,
    end: Box<dyn Fn(usize) -> End + Send + Sync>,
    /// Calls that were dropped before they ended.
    pub(crate) dropped: Arc<AtomicUsize>,
}

pub(crate) enum End {
    Gives(Value),
    Fails(FailureKind),
    /// Until the host gives up.
    Never,
}

impl Counting {
    pub(crate) fn new(
        name: &str,
        timeout: Duration,
        end: impl Fn(usize) -> End + Send + Sync + 'static,
    ) -> Arc<Self> {
        let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
        let mut spec = ToolSpec::new(ToolName::new(name).unwrap(), "for tests", schema);
        spec.parallel_safe = true;
        spec.timeout = Some(timeout);
        Arc::new(Self {
            spec,
            calls: AtomicUsize::new(0),
            end: Box::new(end),
            dropped: Arc::default(),
        })
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

impl NativeTool for Counting {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(
        self: Arc<Self>,
        _: Arc<StageContext>,
        _: Arc<Value>,
    ) -> BoxFuture<'static, Result<Output, Failure>> {
        let end = (self.end)(self.calls.fetch_add(1, Ordering::SeqCst) + 1);
        let dropped = Dropped(Arc::clone(&self.dropped));
        Box::pin(async move {
            let outcome = match end {
                End::Gives(value) => Ok(Output {
                    value,
                    blocks: Vec::new(),
                }),
                End::Fails(kind) => Err(Failure::host(kind, "not found, as asked")),
                End::Never => std::future::pending().await,
            };
            std::mem::forget(dropped);
            outcome
        })
    }
}

/// Counts itself when a call is given up.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}
