//! Tools that call tools: the same gate, and never more than the original caller may.

use std::{
    borrow::Borrow,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use toolgate::ports::Decision;

use crate::world::{Person, Watched, value, world};

const RULES: &str = r#"
[plugins.relay.grants]
tools = ["echo", "sleep_*", "context", "fail", "trap", "relay_*", "no_such", "media", "everything"]
[plugins.keeper.grants]
tools = ["keeper_*"]

[principals.assistant]
kind = "agent"
allow = ["relay_*", "echo"]
ask = ["context"]
"#;

fn call(name: &str, arguments: impl Borrow<Value>) -> Value {
    let arguments = arguments.borrow();
    json!({ "name": name, "arguments": arguments.to_string() })
}

#[tokio::test]
async fn a_nested_call_is_a_call() {
    let world = world(RULES).start().await;
    let result = world
        .call(
            "relay_parallel",
            json!({ "calls": [
        call("echo", json!({ "text": "a" })),
        call("echo", json!({})),
        call("no_such", json!({})),
        call("fail", json!({ "reason": "not_found" })),
        call("trap", json!({})),
        call("media", json!({ "mark": "m", "ms": 0 })),
    ] }),
        )
        .await;
    let seen = value(&result);
    assert_eq!(seen[0]["value"], "a");
    assert_eq!(seen[1]["failure"], "invalid");
    assert_eq!(seen[1]["field"], "text");
    assert_eq!(seen[2]["failure"], "not-found");
    // A tool that did not find something is there.
    assert_eq!(
        (&seen[3]["failure"], &seen[3]["reason"]),
        (&json!("failed"), &json!("not_found"))
    );
    assert_eq!(seen[4]["failure"], "trapped");
    assert_eq!(seen[5]["blocks"], 1);
}

#[tokio::test]
async fn neither_the_caller_nor_the_plugin_can_do_more_through_the_other() {
    let world = world(RULES).start().await;
    // The plugin may, the caller may not.
    let result = world
        .call_as(
            "assistant",
            "relay_parallel",
            json!({ "calls": [call("sleep_parallel", json!({ "ms": 1 }))] }),
        )
        .await;
    assert_eq!(value(&result)[0]["failure"], "unauthorized");
    // The caller may, the plugin may not.
    let result = world
        .call(
            "relay_parallel",
            json!({ "calls": [call("answer", json!({ "json": "1" }))] }),
        )
        .await;
    assert_eq!(value(&result)[0]["failure"], "unauthorized");
    // Both may.
    let result = world
        .call_as(
            "assistant",
            "relay_parallel",
            json!({ "calls": [call("echo", json!({ "text": "a" }))] }),
        )
        .await;
    assert_eq!(value(&result)[0]["value"], "a");
}

#[tokio::test]
async fn lists_and_questions_answer_for_the_chain() {
    let world = world(RULES).start().await;
    let listed = value(&world.call_as("assistant", "relay_list", json!({})).await);
    let names: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(
        names.contains(&"echo") && names.contains(&"context"),
        "{names:?}"
    );
    assert!(
        !names.contains(&"sleep_alone") && !names.contains(&"answer"),
        "{names:?}"
    );
    for (tool, wanted) in [
        ("echo", json!("allowed")),
        ("context", json!("needs-approval")),
        ("sleep_alone", json!({ "denied": "unauthorized" })),
    ] {
        let arguments = if tool == "echo" {
            json!({ "text": "a" })
        } else {
            json!({})
        };
        assert_eq!(
            value(
                &world
                    .call_as("assistant", "relay_can_use", call(tool, arguments))
                    .await
            ),
            wanted,
            "{tool}"
        );
    }
}

#[tokio::test]
async fn a_question_stops_the_clocks_above() {
    let person = Person::who(|_| {
        std::thread::sleep(Duration::from_millis(300));
        Decision::Approve
    });
    let config = format!("{RULES}\n[plugins.relay.limits]\ntimeout = \"200ms\"\n");
    let world = world(&config).approver(person.clone()).start().await;
    let result = world
        .call_as(
            "assistant",
            "relay_parallel",
            json!({ "calls": [call("context", json!({}))] }),
        )
        .await;
    assert_eq!(value(&result)[0]["value"]["depth"], 1);
    assert_eq!(person.questions()[0].chain.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_safety_cannot_be_laundered() {
    let world = world(RULES).start().await;
    let mut watch = world.watch();
    let branch = (
        "relay_parallel",
        json!({ "calls": [call("sleep_alone", json!({ "ms": 100 }))] }),
    );
    let results = world.batch(&[branch.clone(), branch]).await;
    assert!(
        results
            .iter()
            .all(|result| result.success() && result.parallel)
    );
    assert_eq!(Watched::take(&mut watch).peak("sleep_alone"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nested_safe_calls_do_overlap() {
    let world = world(RULES).start().await;
    let mut watch = world.watch();
    let one = call("sleep_parallel", json!({ "ms": 100 }));
    let result = world
        .call("relay_alone", json!({ "calls": [one, one, one] }))
        .await;
    assert_eq!(value(&result).as_array().unwrap().len(), 3);
    assert_eq!(Watched::take(&mut watch).peak("sleep_parallel"), 3);
}

#[tokio::test]
async fn stop_on_failure_skips_the_rest() {
    let world = world(RULES).start().await;
    let calls = json!([
        call("echo", json!({ "text": "a" })),
        call("fail", json!({ "reason": "no" })),
        call("echo", json!({ "text": "b" })),
    ]);
    let result = world
        .call(
            "relay_alone",
            json!({ "calls": calls, "stop_on_failure": true }),
        )
        .await;
    let seen = value(&result);
    assert_eq!(seen[0]["value"], "a");
    assert_eq!(seen[1]["failure"], "failed");
    assert_eq!(seen[2]["failure"], "skipped");
}

#[tokio::test]
async fn a_batch_deadline_binds_and_a_child_gets_what_is_left() {
    let world = world(RULES).start().await;
    let started = Instant::now();
    let result = world
        .call(
            "relay_alone",
            json!({ "calls": [call("sleep_alone", json!({ "ms": 60_000 }))], "timeout_ms": 200 }),
        )
        .await;
    assert_eq!(value(&result)[0]["failure"], "timeout");
    assert!(started.elapsed() < Duration::from_secs(10));
    let result = world
        .call(
            "relay_alone",
            json!({ "calls": [call("context", json!({}))], "timeout_ms": 5_000 }),
        )
        .await;
    assert!(value(&result)[0]["value"]["remaining_ms"].as_u64().unwrap() <= 5_000);
}

#[tokio::test]
async fn extra_travels_down_under_the_plugins_own_name_only() {
    let world = world(RULES).start().await;
    let calls = json!([call("context", json!({}))]);
    let result = world
        .call(
            "relay_alone",
            json!({ "calls": calls, "extra": [["relay/stack", "a"]] }),
        )
        .await;
    assert_eq!(
        value(&result)[0]["value"]["extra"],
        json!([["relay/stack", "a"]])
    );
    let result = world
        .call(
            "relay_alone",
            json!({ "calls": calls, "extra": [["seq/stack", "a"]] }),
        )
        .await;
    assert_eq!(value(&result)[0]["failure"], "invalid");
}

#[tokio::test]
async fn nesting_has_a_bottom() {
    let world = world(RULES).start().await;
    let mut seen = value(&world.call("relay_deep", json!({ "levels": 100 })).await);
    let mut depth = 0;
    while let Some(below) = seen.get("value").cloned() {
        seen = below;
        depth += 1;
    }
    assert_eq!(seen["failure"], "limit", "{seen}");
    assert_eq!(depth, 16);
}

#[tokio::test]
async fn many_nested_calls_at_few_slots_do_not_starve() {
    let config = format!("[host]\nmax_concurrent_calls = 2\n{RULES}");
    let world = world(&config).start().await;
    let deep = ("relay_deep", json!({ "levels": 8 }));
    let results = world.batch(&vec![deep; 6]).await;
    assert!(results.iter().all(toolgate::tool::ToolResult::success));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serial_tools_run_one_at_a_time_and_refuse_re_entry() {
    let world = world(RULES).start().await;
    let calls: Vec<_> = (0..6)
        .map(|n| ("keeper_add", json!({ "line": format!("{n}"), "ms": 20 })))
        .collect();
    let results = world.batch(&calls).await;
    let mut counts: Vec<_> = results
        .iter()
        .map(|result| value(result).as_u64().unwrap())
        .collect();
    counts.sort_unstable();
    assert_eq!(counts, [1, 2, 3, 4, 5, 6], "a line was lost");
    // At once and in words, not when the wait for a slot is over.
    let refusal = value(&world.call("keeper_reenter", json!({})).await);
    assert!(
        refusal
            .as_str()
            .is_some_and(|text| text.contains("re-entrant")),
        "{refusal}"
    );
}
