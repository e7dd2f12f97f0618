//! A plugin's private folder holds 64 MiB, whatever writes there, in which call or version.

use std::fs;

use serde_json::{Value, json};

use crate::world::{World, value, world};

const MIB: u64 = 1 << 20;

async fn change(world: &World, file: &str, how: &str, bytes: u64) -> Value {
    value(
        &world
            .call(
                "keeper_change",
                json!({ "file": file, "how": how, "bytes": bytes }),
            )
            .await,
    )
}

fn done(bytes: u64) -> Value {
    json!({ "done": bytes, "kind": null })
}

fn full(bytes: u64) -> Value {
    json!({ "done": bytes, "kind": "QuotaExceeded" })
}

#[tokio::test]
async fn every_way_to_write_counts_and_every_way_to_remove_gives_back() {
    let world = world("").start().await;
    assert_eq!(change(&world, "a", "write", 40 * MIB).await, done(40 * MIB));
    // Writing over what is there takes nothing.
    assert_eq!(change(&world, "a", "at", 40 * MIB).await, done(40 * MIB));
    assert_eq!(change(&world, "a", "write", 40 * MIB).await, done(40 * MIB));
    assert_eq!(
        change(&world, "b", "append", 24 * MIB).await,
        done(24 * MIB)
    );
    // Full to the byte.
    assert_eq!(change(&world, "b", "append", 1).await, full(0));
    assert_eq!(change(&world, "c", "write", 1).await, full(0));
    assert_eq!(change(&world, "c", "size", 1).await, full(0));
    assert_eq!(change(&world, "b", "size", 24 * MIB - 5).await, done(0));
    assert_eq!(change(&world, "c", "size", 5).await, done(0));
    assert_eq!(change(&world, "c", "append", 1).await, full(0));
    assert_eq!(change(&world, "a", "remove", 0).await, done(0));
    assert_eq!(change(&world, "a", "size", 40 * MIB + 1).await, full(0));
    assert_eq!(change(&world, "a", "size", 40 * MIB).await, done(0));
    // What a rename replaces is gone.
    assert_eq!(change(&world, "a.new", "write", 0).await, done(0));
    assert_eq!(change(&world, "a", "rename", 0).await, done(0));
    assert_eq!(change(&world, "a", "size", 1).await, full(0));
    assert_eq!(change(&world, "c", "remove", 0).await, done(0));
    assert_eq!(change(&world, "a", "size", 5).await, done(0));
    assert_eq!(
        change(&world, "a", "rename", 0).await,
        done(0),
        "5 bytes over 40 MiB"
    );
    // What does not fit whole ends where it no longer fits. (The C library of guests has no
    // other word than EIO for a stream that fails.)
    let cut = change(&world, "a", "write", 41 * MIB).await;
    assert!(!cut["kind"].is_null() && cut["done"] == 40 * MIB, "{cut}");
    assert_eq!(change(&world, "a", "write", 39 * MIB).await, done(39 * MIB));
    assert_eq!(change(&world, "a.new", "remove", 0).await, done(0));
    // A second name is not a second file, and what still has a name still counts.
    assert_eq!(change(&world, "a", "link", 0).await["kind"], Value::Null);
    assert_eq!(change(&world, "a", "remove", 0).await, done(0));
    assert_eq!(change(&world, "d", "size", 39 * MIB).await, full(0));
}

#[tokio::test]
async fn what_a_full_write_left_is_counted_and_can_be_removed() {
    let world = world("").start().await;
    let seen = change(&world, "a", "write", 65 * MIB).await;
    assert!(!seen["kind"].is_null(), "{seen}");
    let written = fs::metadata(world.root().join("data/plugins/keeper/a"))
        .unwrap()
        .len();
    assert!((63 * MIB..=64 * MIB).contains(&written), "{written}");
    // The tool that keeps lines there says it in its own words, and works again afterwards.
    assert_eq!(
        change(&world, "b", "size", 64 * MIB - written).await,
        done(0)
    );
    let kept = world
        .call("keeper_add", json!({ "line": "x".repeat(100) }))
        .await;
    assert!(kept.text.contains("\"reason\":\"io\""), "{}", kept.text);
    assert_eq!(change(&world, "a", "remove", 0).await, done(0));
    assert!(
        world
            .call("keeper_add", json!({ "line": "x" }))
            .await
            .success()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_share_one_count() {
    let world = world("").start().await;
    let calls: Vec<_> = ["a", "b", "c", "d"]
        .map(|file| {
            (
                "keeper_change",
                json!({ "file": file, "how": "write", "bytes": 20 * MIB }),
            )
        })
        .into();
    let results = world.batch(&calls).await;
    let full = results
        .iter()
        .filter(|result| !value(result)["kind"].is_null())
        .count();
    assert!(full >= 1, "80 MiB were taken");
    let folder = world.root().join("data/plugins/keeper");
    let sum: u64 = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(sum <= 64 * MIB, "{sum}");
}

#[tokio::test]
async fn another_host_and_another_hand_are_met_by_a_fresh_count() {
    let world = world("").start().await;
    let other = world.beside("").rebuilt("keeper").start().await;
    assert_eq!(change(&world, "a", "size", 60 * MIB).await, done(0));
    assert_eq!(change(&other, "b", "size", 5 * MIB).await, full(0));
    assert_eq!(change(&other, "b", "size", 4 * MIB).await, done(0));
    // It believes to be full until it looks again, which it does before it refuses.
    assert_eq!(change(&world, "c", "size", MIB).await, full(0));
    fs::remove_file(world.root().join("data/plugins/keeper/a")).unwrap();
    assert_eq!(change(&world, "c", "size", 60 * MIB).await, done(0));
}

#[tokio::test]
async fn nothing_moves_between_the_private_folder_and_a_granted_one() {
    let config = "[plugins.keeper.grants]\nfs = [{ host = \"{workspace}\", guest = \"/out\", mode = \"rw\" }]\n";
    let world = world(config).start().await;
    assert_eq!(change(&world, "a", "size", MIB).await, done(0));
    assert_eq!(
        change(&world, "a", "out", 0).await["kind"],
        "CrossesDevices"
    );
    assert!(!world.workspace.join("a").exists());
    assert_eq!(change(&world, "a", "rename", 0).await, done(0));
}
