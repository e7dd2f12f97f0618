//! How the calls of one batch run among themselves, and what comes back.

use std::time::{Duration, Instant};

use serde_json::json;
use toolgate::tool::{Batch, RawArguments, ToolCall};

use crate::world::{Watched, failure, value, world};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_safe_calls_overlap() {
    let world = world("").start().await;
    let mut watch = world.watch();
    let call = ("sleep_parallel", json!({ "ms": 200 }));
    let results = world.batch(&[call.clone(), call.clone(), call]).await;
    let watched = Watched::take(&mut watch);
    assert_eq!(watched.peak("sleep_parallel"), 3);
    assert!(
        results
            .iter()
            .all(|result| result.success() && result.parallel)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_unsafe_call_makes_the_batch_serial() {
    let world = world("").start().await;
    let mut watch = world.watch();
    let results = world
        .batch(&[
            ("sleep_parallel", json!({ "ms": 50 })),
            ("sleep_alone", json!({ "ms": 50 })),
            ("sleep_parallel", json!({ "ms": 50 })),
        ])
        .await;
    let watched = Watched::take(&mut watch);
    assert_eq!(watched.peak("sleep_"), 1);
    assert!(
        results
            .iter()
            .all(|result| result.success() && !result.parallel)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_never_run_do_not_make_a_batch_serial() {
    let world = world("").start().await;
    let mut watch = world.watch();
    let results = world
        .batch(&[
            ("sleep_parallel", json!({ "ms": 100 })),
            ("no_such_tool", json!({})),
            ("sleep_alone", json!({ "ms": "soon" })),
            ("sleep_parallel", json!({ "ms": 100 })),
        ])
        .await;
    assert_eq!(Watched::take(&mut watch).peak("sleep_parallel"), 2);
    assert_eq!(failure(&results[1]).0, "not-found");
    assert_eq!(failure(&results[2]).0, "invalid");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_ascend_by_index_although_completion_is_reversed() {
    let world = world("").start().await;
    let slow_first: Vec<_> = (0..5)
        .map(|n| ("sleep_parallel", json!({ "ms": 100 - n * 20 })))
        .collect();
    let results = world.batch(&slow_first).await;
    let indexes: Vec<u32> = results.iter().map(|result| result.index).collect();
    assert_eq!(indexes, [0, 1, 2, 3, 4]);
    let values: Vec<_> = results.iter().map(value).collect();
    assert_eq!(values, [100, 80, 60, 40, 20].map(|ms| json!(ms)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_id_is_answered_once_also_when_ids_repeat() {
    let world = world("").start().await;
    let call = |id: Option<&str>, text: &str| ToolCall {
        id: id.map(str::to_owned),
        name: "echo".into(),
        arguments: json!({ "text": text }).into(),
    };
    let calls = vec![
        call(Some("same"), "a"),
        call(Some("same"), "b"),
        call(None, "c"),
        call(Some(""), "d"),
    ];
    let results = world
        .host
        .run(world.scope("local"), Batch { calls, cut: false })
        .await;
    let ids: std::collections::BTreeSet<&str> =
        results.iter().map(|result| result.id.as_str()).collect();
    assert_eq!(ids.len(), 4);
    assert_eq!(results[0].id, "same");
    assert_eq!(results[1].original_id.as_deref(), Some("same"));
    let values: Vec<_> = results.iter().map(value).collect();
    assert_eq!(values, ["a", "b", "c", "d"].map(|text| json!(text)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_call_leaves_its_siblings_alone() {
    let world = world("").start().await;
    for bad in [
        ("fail", json!({ "reason": "no" })),
        ("trap", json!({})),
        ("no_such", json!({})),
    ] {
        let results = world
            .batch(&[
                ("echo", json!({ "text": "a" })),
                bad,
                ("echo", json!({ "text": "b" })),
            ])
            .await;
        assert!(
            results[0].success() && !results[1].success() && results[2].success(),
            "{results:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn media_of_concurrent_calls_never_mix() {
    let world = world("").start().await;
    let calls: Vec<_> = (0..20)
        .map(|n| {
            (
                "media",
                json!({ "mark": format!("mark {n}"), "ms": 20 - n }),
            )
        })
        .collect();
    let results = world.batch(&calls).await;
    for (n, result) in results.iter().enumerate() {
        let blocks = &result.outcome.as_ref().unwrap().blocks;
        assert_eq!(blocks.len(), 1);
        assert_eq!(blocks[0].data, format!("mark {n}"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_reply_runs_all_but_its_last_call() {
    let world = world("").start().await;
    let calls = vec![
        ToolCall::new("echo", r#"{"text":"whole"}"#),
        // Complete by luck: still not what the model meant.
        ToolCall::new("echo", r#"{"text":"half of it"}"#),
    ];
    let results = world
        .host
        .run(world.scope("local"), Batch { calls, cut: true })
        .await;
    assert!(results[0].success());
    assert_eq!(failure(&results[1]), ("invalid", "arguments".into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_batch_is_no_batch() {
    let world = world("").start().await;
    assert!(
        world
            .host
            .run(world.scope("local"), Batch::default())
            .await
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled_calls_are_answered() {
    let world = world("").start().await;
    let scope = world.scope("local");
    let cancel = scope.cancel.clone();
    let calls = vec![
        ToolCall::new("sleep_alone", json!({ "ms": 60_000 })),
        ToolCall::new("echo", RawArguments::from(json!({ "text": "later" }))),
    ];
    let mut watch = world.watch();
    let running = {
        let host = world.host.clone();
        tokio::spawn(async move { host.run(scope, Batch { calls, cut: false }).await })
    };
    loop {
        let event = watch.next().await.unwrap().unwrap();
        if event.event.kind == toolgate::dispatch::EventKind::CallStarted {
            break;
        }
    }
    let started = Instant::now();
    cancel.cancel();
    let results = running.await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(failure(&results[0]).0, "cancelled");
    assert_eq!(failure(&results[1]).0, "cancelled");
    assert_eq!(world.host.live_instances(), 0);
}
