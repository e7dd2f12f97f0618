//! Slots, queues and the sources of a call's time limit.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use serde_json::json;
use toolgate::tool::{Batch, ToolCall};

use crate::world::{PROGRAM, Watched, failure, value, world};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_calls_than_slots_and_the_order_holds() {
    let world = world("[host]\nmax_concurrent_calls = 3\n").start().await;
    let mut watch = world.watch();
    let results = world
        .batch(&vec![("sleep_parallel", json!({ "ms": 20 })); 20])
        .await;
    assert!(results.iter().all(toolgate::tool::ToolResult::success));
    assert!(
        results
            .iter()
            .any(|result| result.queue > Duration::from_millis(10))
    );
    let peak = Watched::take(&mut watch).peak("sleep_parallel");
    assert!((2..=3).contains(&peak), "{peak}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_host_says_so_in_time() {
    let world = world("[host]\nmax_concurrent_calls = 1\nqueue_timeout = \"100ms\"\n")
        .start()
        .await;
    let mut watch = world.watch();
    let scope = world.scope("local");
    let cancel = scope.cancel.clone();
    let host = world.host.clone();
    let calls = vec![ToolCall::new("sleep_parallel", json!({ "ms": 60_000 }))];
    let running = tokio::spawn(async move { host.run(scope, Batch { calls, cut: false }).await });
    while watch.next().await.unwrap().unwrap().event.kind
        != toolgate::dispatch::EventKind::CallStarted
    {}
    let started = Instant::now();
    let result = world.call("echo", json!({ "text": "a" })).await;
    assert_eq!(failure(&result), ("unavailable", "unavailable".into()));
    assert!(started.elapsed() < Duration::from_secs(5));
    // Waiting is not billed to the call.
    assert_eq!(result.elapsed, Duration::ZERO);
    cancel.cancel();
    running.await.unwrap();
    assert!(world.call("echo", json!({ "text": "a" })).await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_may_have_a_bound_of_its_own() {
    let world = world("[plugins.probe]\nmax_concurrent = 1\n").start().await;
    let mut watch = world.watch();
    let results = world
        .batch(&vec![("sleep_parallel", json!({ "ms": 20 })); 4])
        .await;
    assert!(results.iter().all(toolgate::tool::ToolResult::success));
    assert_eq!(Watched::take(&mut watch).peak("sleep_parallel"), 1);
}

#[tokio::test]
async fn the_operators_word_on_time_beats_the_tools() {
    let left = async |config: &str| {
        let world = world(config).start().await;
        value(&world.call("patient", json!({})).await)
            .as_u64()
            .unwrap()
    };
    // The tool declares five minutes; the host's default does not count against that.
    let own = left("").await;
    assert!((290_000..=300_000).contains(&own), "{own}");
    assert!(left("[host.limits]\ntimeout = \"10s\"\n").await > 290_000);
    assert!(left("[plugins.probe.limits]\ntimeout = \"10s\"\n").await <= 10_000);
    let tool = left("[plugins.probe.limits]\ntimeout = \"10s\"\n[plugins.probe.tools.patient.limits]\ntimeout = \"20s\"\n").await;
    assert!((10_001..=20_000).contains(&tool), "{tool}");
    assert!(left("[host]\nmax_timeout = \"30s\"\n").await <= 30_000);
}

#[tokio::test]
async fn a_callers_deadline_binds() {
    let world = world("").start().await;
    let mut scope = world.scope("local");
    scope.deadline = Some(Instant::now() + Duration::from_millis(100));
    let calls = vec![
        ToolCall::new("sleep_alone", json!({ "ms": 60_000 })),
        ToolCall::new("echo", json!({ "text": "a" })),
    ];
    let results = world.host.run(scope, Batch { calls, cut: false }).await;
    assert_eq!(failure(&results[0]).0, "timeout");
    assert_eq!(failure(&results[1]).0, "timeout");
}

#[test]
fn a_small_address_space_means_slower_calls_not_none() {
    let folder = tempfile::tempdir().unwrap();
    // Apart from the workspace, which would not be granted else.
    let home = tempfile::tempdir().unwrap();
    let output = Command::new("bash")
        .args([
            "-c",
            "ulimit -v 16000000; exec \"$0\" call files_list path=. --json",
            PROGRAM,
        ])
        .current_dir(folder.path())
        .env("HOME", home.path())
        .env_remove("XDG_DATA_HOME")
        .env_remove("XDG_CACHE_HOME")
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["success"], true);
}
