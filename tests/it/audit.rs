//! The audit log: rotated, shared, and never silently absent.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::world::{failure, world};

#[tokio::test]
async fn a_log_rotates_and_loses_no_line() {
    let world = world("[audit]\nrotate_at = \"64KiB\"\nkeep = 50\n")
        .audited()
        .start()
        .await;
    let path = world.host.config().audit.path.clone();
    for n in 0..600 {
        world.call("echo", json!({ "text": format!("{n}") })).await;
    }
    let folder = path.parent().unwrap();
    let mut lines = 0;
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        if file
            .extension()
            .is_some_and(|extension| extension == "lock")
        {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        assert!(
            text.len() < 80_000,
            "{}: {} bytes",
            file.display(),
            text.len()
        );
        for line in text.lines() {
            serde_json::from_str::<Value>(line).unwrap();
            lines += 1;
        }
        files += 1;
    }
    assert_eq!(lines, 600);
    assert!(files > 3, "{files} files");
}

#[tokio::test]
async fn a_log_that_cannot_be_written_stops_calls_until_it_can() {
    let world = world("").audited().start().await;
    let path = world.host.config().audit.path.clone();
    assert!(world.call("echo", json!({ "text": "a" })).await.success());
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    // Calls that ran already when it was noticed, which is looked for every 20 ms.
    let began = Instant::now();
    let refused = loop {
        let result = world.call("echo", json!({ "text": "a" })).await;
        if !result.success() {
            break result;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "never noticed");
    };
    assert_eq!(failure(&refused).0, "unavailable");
    fs::remove_dir(&path).unwrap();
    assert!(world.call("echo", json!({ "text": "a" })).await.success());
    let last = fs::read_to_string(&path).unwrap();
    assert!(
        last.lines().any(|line| line.contains("\"outcome\":\"ok\"")),
        "{last}"
    );
}

#[tokio::test]
async fn redacted_arguments_hold_no_secret() {
    let world = world("[audit]\narguments = \"redacted\"\nredact = [\"/text\"]\n")
        .audited()
        .start()
        .await;
    world.call("echo", json!({ "text": "the secret" })).await;
    world.call("fail", json!({ "reason": "plain" })).await;
    let log = fs::read_to_string(&world.host.config().audit.path).unwrap();
    assert!(!log.contains("the secret"), "{log}");
    assert!(log.contains("[redacted]") && log.contains("plain"), "{log}");
}
