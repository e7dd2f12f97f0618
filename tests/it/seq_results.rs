//! What a run gives besides its report: media, and values at the limits.

use serde_json::{Value, json};

use crate::{
    seq::{create, created, group, report, run, start},
    world::{failure, value},
};

#[tokio::test]
async fn media_of_items_come_in_their_order() {
    let world = start().await;
    let media = |mark: &str, ms: u64| json!({ "tool": "media", "args": { "mark": mark, "ms": ms }, "as": "all" });
    created(
        &world,
        "s",
        &[
            group(
                "a",
                &[media("1", 40), media("2", 0)],
                json!({ "out": { "all": "array" } }),
            ),
            group("b", &[media("3", 0)], json!({ "out": { "all": "array" } })),
        ],
    )
    .await;
    for (tool, args) in [
        ("seq_run", json!({ "name": "s" })),
        ("seq_call", json!({ "target": "#s" })),
    ] {
        let result = world.call(tool, args).await;
        let blocks = &result.outcome.as_ref().unwrap().blocks;
        let marks: Vec<_> = blocks
            .iter()
            .map(|block| String::from_utf8(block.data.to_vec()).unwrap())
            .collect();
        assert_eq!(marks, ["1", "2", "3"]);
    }
}

#[tokio::test]
async fn a_result_that_is_too_large_keeps_its_report() {
    let world = start().await;
    let big = json!({ "tool": "echo", "args": { "text": "$args.t" }, "as": "all" });
    let items: Vec<Value> = (0..4).map(|_| big.clone()).collect();
    created(
        &world,
        "s",
        &[group(
            "a",
            &items,
            json!({ "in": { "t": "string" }, "out": { "all": "array" } }),
        )],
    )
    .await;
    let result = world
        .call(
            "seq_run",
            json!({ "name": "s", "args": { "t": "x".repeat(300_000) } }),
        )
        .await;
    assert_eq!(failure(&result), ("failed", "limit".into()));
    let report = report(&result);
    assert_eq!(
        (&report["status"], crate::seq::items(&report, 0).len()),
        (&json!("ok"), 4)
    );
    assert!(report["out"]["all"].as_str().unwrap().contains("bytes"));
}

#[tokio::test]
async fn deep_arguments_do_not_end_the_guest() {
    let world = start().await;
    let nested = |levels: usize| {
        let mut value = json!("$args.n");
        for level in 0..levels {
            value = if level % 2 == 0 {
                json!([value])
            } else {
                json!({ "k": value })
            };
        }
        value
    };
    let item = |levels: usize| json!({ "tool": "nothing", "args": { "a": nested(levels) } });
    let a = |levels: usize| [group("a", &[item(levels)], json!({ "in": { "n": "any" } }))];
    created(&world, "s", &a(20)).await;
    let report = run(&world, "s", json!({ "n": nested(40) })).await;
    assert!(
        report["groups"][0]["items"][0]["error"]["detail"].is_string(),
        "{report}"
    );
    for levels in [30, 60, 100] {
        let result = create(&world, "deep", &a(levels)).await;
        assert_eq!(failure(&result).0, "failed", "{levels}: {}", result.text);
    }
    let help = value(&world.call("seq_help", json!({})).await);
    assert!(help.as_str().unwrap().contains("look-around"));
}
