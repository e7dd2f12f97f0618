//! A plugin that keeps trapping is left alone, and nobody else is.

use std::time::Duration;

use serde_json::json;
use toolgate::{
    dispatch::{Circuits, EventKind},
    tool::ToolResult,
};

use crate::world::{World, event, failure, living, value, world};

const TWO: &str = "[principals.other]\nkind = \"client\"\nallow = [\"*\"]\n";

async fn living_world(retry: Duration) -> World {
    let circuits = Circuits {
        retry,
        ..Circuits::default()
    };
    let world = world(TWO).circuits(circuits).start().await;
    world.save("living", &living(1, '-'));
    world.host.refresh().await;
    world
}

async fn fall(world: &World, principal: &str, trap: bool) -> ToolResult {
    world
        .call_as(principal, "living_fall", json!({"trap": trap}))
        .await
}

#[tokio::test]
async fn after_three_traps_calls_are_refused_until_a_new_version_comes() {
    let world = living_world(Duration::from_secs(30)).await;
    let mut watch = world.watch();
    for _ in 0..3 {
        assert_eq!(failure(&fall(&world, "local", true).await).0, "trapped");
    }
    let refused = fall(&world, "local", false).await;
    assert_eq!(failure(&refused).0, "unavailable");
    assert!(refused.text.contains("30 s"), "{}", refused.text);
    // All its tools, since it is the plugin; but nobody else's, and no other plugin's.
    let version = world.call("living_version", json!({})).await;
    assert_eq!(failure(&version).0, "unavailable");
    assert!(fall(&world, "other", false).await.success());
    let echo = world.call("echo", json!({"text": "x"})).await;
    assert!(echo.success());

    let mut passed = Vec::new();
    let opened = event(&mut watch, &mut passed, |event| {
        event.kind == EventKind::CircuitOpen
    })
    .await;
    assert_eq!(opened.plugin.as_deref(), Some("living"));
    assert_eq!(opened.principal.as_deref(), Some("local"));
    let catalog = world.host.catalog();
    let entry = catalog
        .plugins()
        .find(|(name, _)| name.as_str() == "living");
    let implementation = &entry.unwrap().1.plugin.as_ref().unwrap().implementation;
    let troubles = world.host.dispatcher().health().troubles(implementation);
    assert_eq!(troubles.len(), 1);
    assert!(troubles[0].refused_for.unwrap() > Duration::from_secs(20));

    world.save("living", &living(2, '-'));
    world.host.refresh().await;
    event(&mut watch, &mut passed, |event| {
        event.kind == EventKind::CircuitClosed
    })
    .await;
    assert_eq!(value(&fall(&world, "local", false).await), json!(2));
}

#[tokio::test]
async fn a_call_that_is_let_through_and_succeeds_closes_it() {
    let world = living_world(Duration::ZERO).await;
    let mut watch = world.watch();
    for _ in 0..4 {
        assert_eq!(failure(&fall(&world, "local", true).await).0, "trapped");
    }
    assert!(fall(&world, "local", false).await.success());
    event(&mut watch, &mut Vec::new(), |event| {
        event.kind == EventKind::CircuitClosed
    })
    .await;
    assert_eq!(world.host.dispatcher().health().open(), 0);
}

#[tokio::test]
async fn a_plugins_own_errors_and_timeouts_do_not_count() {
    let world = world("[plugins.probe.limits]\ntimeout = \"50ms\"")
        .start()
        .await;
    for _ in 0..4 {
        let failed = world.call("fail", json!({"reason": "x"})).await;
        assert_eq!(failure(&failed).0, "failed");
        let late = world.call("sleep_parallel", json!({"ms": 5_000})).await;
        assert_eq!(failure(&late).0, "timeout");
    }
    assert!(world.call("echo", json!({"text": "x"})).await.success());
}
