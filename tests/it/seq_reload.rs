//! Plugins that come and go on one running host while a sequence runs: a tool of the host
//! changes the plugin folder in the middle of it.

use std::{fs, path::PathBuf, sync::Arc, sync::OnceLock};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use toolgate::{
    Host,
    ports::NativeTool,
    stage::StageContext,
    tool::{Failure, Output, ToolName, ToolSpec},
};
use toolgate_test_guest_bytes::living;

use crate::{
    seq::{GRANT, created, group, groups, items, run},
    world::{World, world},
};

/// Its one call saves another version of `living`, or removes it, and returns when the
/// host has taken that over.
struct Change {
    spec: ToolSpec,
    host: OnceLock<Host>,
    file: OnceLock<PathBuf>,
}

impl NativeTool for Change {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(
        self: Arc<Self>,
        _: Arc<StageContext>,
        args: Arc<Value>,
    ) -> BoxFuture<'static, Result<Output, Failure>> {
        Box::pin(async move {
            let file = self.file.get().unwrap();
            match args["to"].as_u64() {
                Some(version) => fs::write(file, living(version, '-')).unwrap(),
                None => fs::remove_file(file).unwrap(),
            }
            self.host.get().unwrap().refresh().await;
            Ok(Output::default())
        })
    }
}

/// Version 1 of `living` serves, and `change` is there.
async fn start() -> World {
    let schema = json!({ "type": "object", "properties": { "to": { "type": "integer" } } });
    let name = ToolName::new("change").unwrap();
    let mut spec = ToolSpec::new(name, "for tests", schema);
    spec.parallel_safe = true;
    let change = Arc::new(Change {
        spec,
        host: OnceLock::new(),
        file: OnceLock::new(),
    });
    let world = world(GRANT).native(change.clone()).start().await;
    change.host.set(world.host.clone()).ok().unwrap();
    change.file.set(world.file("living")).unwrap();
    world.save("living", &living(1, '-'));
    world.host.refresh().await;
    world
}

fn version(slot: &str) -> Value {
    json!({ "tool": "living_version", "as": slot })
}

fn change(to: Option<u64>) -> Value {
    json!({ "tool": "change", "args": to.map_or_else(|| json!({}), |to| json!({ "to": to })) })
}

/// What `missing` may say: the keys, the status of the run and of what is missing, and
/// what stands in for it.
fn ways() -> [(
    &'static str,
    Value,
    &'static str,
    &'static str,
    Option<Value>,
); 3] {
    [
        ("fail", json!({}), "failed", "failed", None),
        ("skip", json!({ "missing": "skip" }), "ok", "skipped", None),
        (
            "degrade",
            json!({ "missing": "degrade", "fallback": { "all": "none" } }),
            "ok",
            "degraded",
            Some(json!("none")),
        ),
    ]
}

fn with(mut keys: Value, more: &Value) -> Value {
    let more = more.as_object().unwrap().clone();
    keys.as_object_mut().unwrap().extend(more);
    keys
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_goes_between_two_groups_is_missing_in_the_second() {
    for (name, more, status, item, fallback) in ways() {
        let world = start().await;
        let sequence = [
            group(
                "a",
                &[version("before")],
                json!({ "out": { "before": "integer" } }),
            ),
            group("b", &[change(None)], json!({})),
            group(
                "c",
                &[version("all")],
                with(json!({ "out": { "all": "array" } }), &more),
            ),
        ];
        created(&world, name, &sequence).await;
        let report = run(&world, name, json!({})).await;
        assert_eq!(report["status"], status, "{name}: {report}");
        assert_eq!(report["out"]["before"], 1, "{name}");
        assert_eq!(items(&report, 2), [item], "{name}: {report}");
        let stands_in = fallback.map(|value| json!([value]));
        assert_eq!(
            report["out"].get("all"),
            stands_in.as_ref(),
            "{name}: {report}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_goes_while_a_group_runs_is_missing_from_its_next_turn_on() {
    for (name, more, status, item, fallback) in ways() {
        let world = start().await;
        let keys = json!({ "parallel": false, "out": { "all": "array" } });
        let all = [version("all"), change(None), version("all")];
        created(&world, name, &[group("a", &all, with(keys, &more))]).await;
        let report = run(&world, name, json!({})).await;
        assert_eq!(report["status"], status, "{name}: {report}");
        assert_eq!(items(&report, 0), ["ok", "ok", item], "{name}: {report}");
        // What a failed group gave is none of the run's.
        if status == "ok" {
            let seen: Vec<Value> = [json!(1)].into_iter().chain(fallback).collect();
            assert_eq!(report["out"]["all"], Value::from(seen), "{name}: {report}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_comes_in_the_middle_is_used_from_then_on_and_reported() {
    let world = start().await;
    let sequence = [
        group(
            "a",
            &[version("all"), change(Some(2)), version("all")],
            json!({ "parallel": false, "out": { "all": "array" } }),
        ),
        group("b", &[change(Some(3))], json!({})),
        group(
            "c",
            &[version("last")],
            json!({ "out": { "last": "integer" } }),
        ),
    ];
    created(&world, "s", &sequence).await;
    let report = run(&world, "s", json!({})).await;
    assert_eq!(groups(&report), ["ok", "ok", "ok"], "{report}");
    assert_eq!(report["out"]["all"], json!([1, 2]), "{report}");
    assert_eq!(report["out"]["last"], 3, "{report}");
    let warned =
        json!(["tool `living_version` is another implementation than when this sequence was made"]);
    assert_eq!(report["warnings"], warned);
}
