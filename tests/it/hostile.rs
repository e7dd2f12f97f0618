//! Guests that do what no guest should. Each ends as its own clear failure, within its
//! bound, and the host keeps answering others meanwhile.

use std::{
    fs,
    os::unix::net::UnixListener,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use toolgate::tool::{Batch, ToolCall};

use crate::world::{World, failure, soak, value, world};

const GRANTS: &str = r#"
[plugins.hostile.grants]
fs = [{ host = "{workspace}", guest = "/workspace", mode = "rw" }]
[plugins.hostile.limits]
timeout = "2s"
"#;

fn quick(limit: &str) -> String {
    GRANTS.replace("2s", limit)
}

async fn detail(world: &World, tool: &str, arguments: Value) -> (String, String) {
    let result = world.call(tool, arguments).await;
    let failure = result.outcome.as_ref().expect_err(tool);
    (failure.kind.as_str().to_owned(), failure.error.to_string())
}

/// The host is as it was: no instance lives, and it answers.
async fn unharmed(world: &World) {
    assert!(world.call("echo", json!({ "text": "a" })).await.success());
    assert_eq!(world.host.live_instances(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_loop_ends_at_its_deadline_each_time() {
    let world = world(&quick("200ms")).start().await;
    for _ in 0..5 {
        let started = Instant::now();
        let (kind, text) = detail(&world, "spin", json!({})).await;
        assert_eq!(kind, "timeout", "{text}");
        assert!(text.contains("200ms"), "{text}");
        assert!(started.elapsed() < Duration::from_secs(5));
    }
    unharmed(&world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bulk_instructions_end_too() {
    let world = world(&quick("100ms")).start().await;
    for _ in 0..soak(5) {
        let started = Instant::now();
        assert_eq!(
            detail(&world, "fill_for_ever", json!({})).await.0,
            "timeout"
        );
        assert!(started.elapsed() < Duration::from_secs(3));
    }
    unharmed(&world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_that_sleeps_in_a_host_call_is_dropped() {
    let world = world(&quick("200ms")).start().await;
    let (kind, _) = detail(&world, "sleep_for_ever", json!({})).await;
    assert_eq!(kind, "timeout");
    unharmed(&world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spinners_do_not_delay_others() {
    let world = world(&quick("3s")).start().await;
    let cores = std::thread::available_parallelism().unwrap().get();
    let spinners: Vec<_> = (0..=cores)
        .map(|_| {
            let (host, scope) = (world.host.clone(), world.scope("local"));
            let calls = vec![ToolCall::new("spin", json!({}))];
            tokio::spawn(async move { host.run(scope, Batch { calls, cut: false }).await })
        })
        .collect();
    while world.host.live_instances() <= cores {
        tokio::task::yield_now().await;
    }
    let mut slowest = Duration::ZERO;
    for _ in 0..10 {
        let started = Instant::now();
        assert!(
            world
                .call("sleep_parallel", json!({ "ms": 10 }))
                .await
                .success()
        );
        slowest = slowest.max(started.elapsed());
    }
    for spinner in spinners {
        assert_eq!(failure(&spinner.await.unwrap()[0]).0, "timeout");
    }
    assert!(slowest < Duration::from_millis(200), "{slowest:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stack_has_an_end() {
    let world = world(GRANTS).start().await;
    assert!(
        world
            .call("recurse_deep", json!({ "depth": 10 }))
            .await
            .success()
    );
    let (kind, text) = detail(&world, "recurse_deep", json!({ "depth": 100_000_000 })).await;
    assert_eq!(kind, "trapped");
    assert!(text.contains("stack"), "{text}");
    unharmed(&world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_has_a_limit_that_is_named() {
    let world = world(GRANTS).start().await;
    let (kind, text) = detail(&world, "eat_memory", json!({})).await;
    assert_eq!(kind, "limit", "{text}");
    assert!(text.contains("67108864"), "{text}");
    let (kind, _) = detail(&world, "eat_memory_and_spin", json!({})).await;
    assert_eq!(kind, "timeout");
    unharmed(&world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_memories_share_one_limit() {
    let world = world("").start().await;
    // Each memory alone stays below 64 MiB; together they do not.
    let (kind, text) = detail(&world, "grow_all", json!({})).await;
    assert_eq!(kind, "limit", "{text}");
    assert!(text.contains("67108864"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handles_have_a_limit() {
    let maker = world(GRANTS);
    fs::write(maker.workspace().join("a"), "a").unwrap();
    let world = maker.start().await;
    let before = open_files();
    let result = world
        .call(
            "hoard_handles",
            json!({ "path": "/workspace/a", "times": 3_000 }),
        )
        .await;
    let failed = result.outcome.as_ref().expect_err("3,000 handles");
    assert_eq!(failed.kind.as_str(), "limit", "{failed:?}");
    assert!(
        failed.error.to_string().contains("128 handles"),
        "{failed:?}"
    );
    assert!(open_files() < before + 20);
    unharmed(&world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_have_a_size() {
    let world = world(GRANTS).start().await;
    for (tool, mib, told) in [
        ("huge_text", 2, "1048576"),
        ("huge_text", 30, ""),
        ("huge_media", 17, "16777216"),
        ("huge_media", 40, ""),
    ] {
        let (kind, text) = detail(&world, tool, json!({ "mib": mib })).await;
        assert_eq!(kind, "limit", "{tool} {mib}: {text}");
        assert!(text.contains(told), "{text}");
    }
    assert_eq!(
        failure(&world.call("nested_value", json!({})).await),
        ("failed", "schema".into())
    );
    unharmed(&world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn floods_do_not_fill_the_host() {
    let world = world(GRANTS).start().await;
    let before = resident();
    let flood = json!({ "lines": 20_000, "text": "x".repeat(1_000) });
    // Either it ends in time, or at its deadline: never with the host's memory.
    for tool in ["flood_log", "flood_output"] {
        let result = world.call(tool, flood.clone()).await;
        assert!(
            result.success() || failure(&result).0 == "timeout",
            "{result:?}"
        );
    }
    assert!(resident() < before + (32 << 20));
    unharmed(&world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn special_files_are_refused_and_leave_no_thread() {
    let maker = world(&quick("30s"));
    let workspace = maker.workspace();
    let made = Command::new("mkfifo")
        .arg(workspace.join("fifo"))
        .status()
        .unwrap();
    assert!(made.success());
    let _socket = UnixListener::bind(workspace.join("socket")).unwrap();
    let device = Command::new("mknod")
        .arg(workspace.join("zero"))
        .args(["c", "1", "5"])
        .status()
        .unwrap()
        .success();
    fs::write(workspace.join("plain"), "here").unwrap();
    let world = maker.start().await;
    // Once, so that every thread that the host needs is there.
    world
        .call(
            "open_special",
            json!({ "path": "/workspace/plain", "times": 3 }),
        )
        .await;
    let threads = threads();
    let mut kinds = vec!["fifo", "socket"];
    if device {
        kinds.push("zero");
    }
    for kind in kinds {
        let path = format!("/workspace/{kind}");
        let started = Instant::now();
        let seen = value(
            &world
                .call("open_special", json!({ "path": path, "times": 600 }))
                .await,
        );
        assert_eq!(seen, json!({ "Unsupported": 600 }), "{kind}");
        assert_eq!(
            value(&world.call("touch_special", json!({ "path": path })).await),
            "Unsupported",
            "{kind}"
        );
        assert!(started.elapsed() < Duration::from_secs(10), "{kind}");
    }
    assert_eq!(
        value(
            &world
                .call("touch_special", json!({ "path": "/workspace/plain" }))
                .await
        ),
        "touched"
    );
    assert!(
        threads_now() <= threads + 2,
        "{} threads, {} before",
        threads_now(),
        threads
    );
    unharmed(&world).await;
}

fn threads() -> usize {
    threads_now()
}

#[tokio::test]
async fn nothing_of_the_host_is_seen() {
    let world = world("").start().await;
    let seen = value(&world.call("look_around", json!({})).await);
    assert_eq!(seen["env"], json!([]));
    assert_eq!(seen["args"], json!([]));
    assert_eq!(seen["passwd"], false);
    assert!(
        seen["socket"].as_str().unwrap().starts_with("Err"),
        "{seen}"
    );
    assert!(seen["root"].as_str().unwrap().starts_with("Err"), "{seen}");
    let world = self::world("[plugins.hostile.grants]\nenv = { UNITS = \"metric\" }\n")
        .start()
        .await;
    assert_eq!(
        value(&world.call("look_around", json!({})).await)["env"],
        json!([["UNITS", "metric"]])
    );
}

#[tokio::test]
async fn an_instance_never_sees_what_the_last_one_left() {
    let world = world("[host]\nmax_concurrent_calls = 1\n").start().await;
    for _ in 0..20 {
        assert!(world.call("dirty", json!({})).await.success());
        assert_eq!(value(&world.call("scan", json!({})).await), 0);
    }
}

#[tokio::test]
async fn a_doubling_schema_sets_aside_its_tool_alone() {
    let started = Instant::now();
    let world = world("").start().await;
    assert!(started.elapsed() < Duration::from_secs(30));
    let catalog = world.host.catalog();
    let (_, hostile) = catalog
        .plugins()
        .find(|(name, _)| name.as_str() == "hostile")
        .unwrap();
    assert!(
        hostile
            .problems
            .iter()
            .any(|problem| problem.contains("doubling_schema")),
        "{:?}",
        hostile.problems
    );
    assert_eq!(
        failure(&world.call("doubling_schema", json!({})).await).0,
        "not-found"
    );
    assert!(hostile.tools.len() > 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn short_calls_leave_nothing_behind() {
    let world = world("").start().await;
    let storm = async |calls: usize| {
        for _ in 0..calls {
            assert!(world.call("nothing", json!({})).await.success());
        }
    };
    storm(500).await;
    let (memory, files, threads) = (resident(), open_files(), threads_now());
    storm(soak(5_000)).await;
    assert!(
        resident() < memory + (20 << 20),
        "{} bytes, {memory} before",
        resident()
    );
    assert_eq!(open_files(), files);
    assert!(threads_now() <= threads + 1);
}

fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

fn threads_now() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

fn resident() -> usize {
    let statm = fs::read_to_string(Path::new("/proc/self/statm")).unwrap();
    let pages: usize = statm.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * rustix::param::page_size()
}
