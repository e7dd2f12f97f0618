//! Plugins that change while calls run: callers see the old version, the new one, or a
//! true "no such tool", and nothing else.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::symlink,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::json;
use toolgate::{
    dispatch::{Event, EventKind, Subscription},
    tool::{Digest, ToolResult},
};

use crate::world::{HOSTILE, PROBE, World, event, failure, living, soak, value, world};

async fn living_world(config: &str) -> World {
    let world = world(config).start().await;
    world.save("living", &living(1, '-'));
    world.host.refresh().await;
    assert_eq!(version(&world).await, 1);
    world
}

async fn version(world: &World) -> u64 {
    let result = world.call("living_version", json!({})).await;
    value(&result).as_u64().unwrap()
}

fn is(event: &Event, kind: EventKind, plugin: &str) -> bool {
    event.kind == kind && event.plugin.as_deref() == Some(plugin)
}

async fn loaded(watch: &mut Subscription, passed: &mut Vec<Event>) -> Event {
    event(watch, passed, |event| {
        is(event, EventKind::PluginLoaded, "living")
    })
    .await
}

/// Everything that was saved up to now has been looked at: another plugin, saved after
/// it, has been loaded.
async fn settled(world: &World, watch: &mut Subscription, passed: &mut Vec<Event>) {
    let mut bytes = toolgate_test_guest_bytes::HELLO.to_vec();
    // A custom section without a name, with a number: other bytes, the same plugin.
    let number = u8::try_from(passed.len() % 250).unwrap();
    bytes.extend([0, 2, 0, number]);
    world.save("hello", &bytes);
    event(watch, passed, |event| {
        is(event, EventKind::PluginLoaded, "hello")
    })
    .await;
}

fn in_place(file: &Path, bytes: &[u8]) {
    let mut out = fs::File::create(file).unwrap();
    out.write_all(bytes).unwrap();
}

/// In 20 pieces, with a pause in the middle, by one writer or by one a piece.
fn in_pieces(file: &Path, bytes: &[u8], reopen: bool) {
    let mut out = fs::File::create(file).unwrap();
    for (i, piece) in bytes.chunks(bytes.len() / 20 + 1).enumerate() {
        if reopen {
            out = fs::File::options().append(true).open(file).unwrap();
        }
        out.write_all(piece).unwrap();
        thread::sleep(Duration::from_millis(if i == 10 { 1_000 } else { 50 }));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_way_of_saving_is_exactly_one_load() {
    let world = living_world("").await;
    let mut watch = world.watch();
    let _watching = world.host.watch();
    let file = world.file("living");
    let mut passed = Vec::new();
    for (n, save) in [
        "rename", "rename", "rename", "in place", "unlink", "pieces", "reopened", "beside",
    ]
    .into_iter()
    .enumerate()
    {
        let number = u64::try_from(n).unwrap() + 2;
        let bytes = living(number, '-');
        let target = file.clone();
        let saved = match save {
            "in place" => tokio::task::spawn_blocking(move || in_place(&target, &bytes)),
            "unlink" => tokio::task::spawn_blocking(move || {
                fs::remove_file(&target).unwrap();
                in_place(&target, &bytes);
            }),
            "pieces" => tokio::task::spawn_blocking(move || in_pieces(&target, &bytes, false)),
            "reopened" => tokio::task::spawn_blocking(move || in_pieces(&target, &bytes, true)),
            "beside" => tokio::task::spawn_blocking(move || {
                let beside = target.with_file_name("living.new");
                in_place(&beside, &bytes);
                fs::rename(&beside, &target).unwrap();
            }),
            _ => {
                world.save("living", &bytes);
                tokio::task::spawn_blocking(|| ())
            }
        };
        let event = loaded(&mut watch, &mut passed).await;
        saved.await.unwrap();
        assert_eq!(event.generation, Some(number), "{save}");
        assert_eq!(
            event.digest,
            Some(Digest::of(&living(number, '-')).to_string())
        );
        assert_eq!(version(&world).await, number, "{save}");
    }
    settled(&world, &mut watch, &mut passed).await;
    let others: Vec<_> = passed
        .iter()
        .filter(|event| event.plugin.as_deref() == Some("living"))
        .filter(|event| event.kind != EventKind::ToolCall && event.kind != EventKind::CallStarted)
        .collect();
    assert!(others.is_empty(), "{others:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn polling_sees_the_same() {
    let world = living_world("[host]\nwatch = \"poll\"").await;
    let mut watch = world.watch();
    let _watching = world.host.watch();
    let mut passed = Vec::new();
    // Whatever is there at the start is found at once; from here on by polling.
    settled(&world, &mut watch, &mut passed).await;
    in_place(&world.file("living"), &living(2, '-'));
    let event = loaded(&mut watch, &mut passed).await;
    assert_eq!(event.generation, Some(2));
    assert_eq!(version(&world).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_touching_and_the_same_bytes_are_no_reload() {
    let world = living_world("").await;
    let mut watch = world.watch();
    let _watching = world.host.watch();
    let (file, mut passed) = (world.file("living"), Vec::new());
    let bytes = fs::read(&file).unwrap();
    in_place(&file, &bytes);
    world.save("living", &bytes);
    fs::File::options()
        .append(true)
        .open(&file)
        .unwrap()
        .set_modified(std::time::SystemTime::now())
        .unwrap();
    settled(&world, &mut watch, &mut passed).await;
    assert!(
        !passed
            .iter()
            .any(|event| event.plugin.as_deref() == Some("living")),
        "{passed:?}"
    );
    let result = world.call("living_version", json!({})).await;
    assert_eq!(result.implementation.unwrap().generation, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_call_finishes_on_the_version_it_began_with() {
    let world = Arc::new(living_world("").await);
    let mut watch = world.watch();
    let mut passed = Vec::new();
    let old = {
        let catalog = world.host.catalog();
        let entry = catalog
            .plugins()
            .find(|(name, _)| name.as_str() == "living");
        Arc::downgrade(entry.unwrap().1.plugin.as_ref().unwrap())
    };
    let long = {
        let world = Arc::clone(&world);
        tokio::spawn(async move { world.call("living_version", json!({"ms": 3_000})).await })
    };
    event(&mut watch, &mut passed, |event| {
        event.kind == EventKind::CallStarted
    })
    .await;
    world.save("living", &living(2, '-'));
    world.host.refresh().await;
    assert_eq!(version(&world).await, 2);
    assert!(!long.is_finished(), "the new version answered meanwhile");
    assert!(old.upgrade().is_some());
    let long = long.await.unwrap();
    assert_eq!(value(&long), json!(1));
    assert_eq!(long.implementation.unwrap().generation, 1);
    assert!(old.upgrade().is_none(), "the old code is freed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_version_never_replaces_a_good_one() {
    let world = living_world("").await;
    let good = living(2, '-');
    let mut newer = living(3, '-');
    let (from, to) = (b"toolgate:tool/tool@0.1.0", b"toolgate:tool/tool@0.9.0");
    for at in 0..newer.len() - from.len() {
        if &newer[at..at + from.len()] == from {
            newer[at..at + from.len()].copy_from_slice(to);
        }
    }
    let broken: [(&str, Vec<u8>, &str); 8] = [
        ("empty", Vec::new(), "empty"),
        ("text", b"not yet\n".to_vec(), "text"),
        ("half", good[..good.len() / 2].to_vec(), "not a complete"),
        ("panics", living(3, 't'), "`describe` failed"),
        ("loops", living(3, 'l'), "`describe` failed"),
        ("foreign", PROBE.to_vec(), "calls itself \"probe\""),
        ("newer", newer, "tool@0.9.0"),
        ("module", b"\0asm\x01\0\0\0".to_vec(), "core module"),
    ];
    let mut watch = world.watch();
    let mut passed = Vec::new();
    for (name, bytes, told) in broken {
        world.save("living", &bytes);
        world.host.refresh().await;
        let event = event(&mut watch, &mut passed, |event| {
            is(event, EventKind::PluginFailed, "living")
        })
        .await;
        let detail = event.detail.unwrap();
        assert!(detail.contains(told), "{name}: {detail}");
        assert_eq!(event.generation, Some(1), "{name}: what goes on serving");
        assert_eq!(version(&world).await, 1, "{name}");
        let catalog = world.host.catalog();
        let entry = catalog
            .plugins()
            .find(|(name, _)| name.as_str() == "living");
        let problems = entry.unwrap().1.problems.join("; ");
        assert!(problems.contains(told), "{name}: {problems}");
        assert!(problems.contains("generation 1 goes on"), "{problems}");
        // Looked at again, it is known already.
        world.host.refresh().await;
    }
    world.save("living", &good);
    world.host.refresh().await;
    assert_eq!(version(&world).await, 2);
    let catalog = world.host.catalog();
    let entry = catalog
        .plugins()
        .find(|(name, _)| name.as_str() == "living");
    assert!(entry.unwrap().1.problems.is_empty());
    // One bad definition sets aside that tool.
    world.save("living", &living(3, 's'));
    world.host.refresh().await;
    assert_eq!(version(&world).await, 3);
    let fall = world.call("living_fall", json!({"trap": false})).await;
    assert_eq!(failure(&fall).0, "not-found");
    let failures = |event: &Event| event.kind == EventKind::PluginFailed;
    assert!(!passed.iter().any(failures), "each is told once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_half_written_file_is_waited_for_and_then_believed() {
    let world = living_world("").await;
    let mut watch = world.watch();
    let _watching = world.host.watch();
    let mut passed = Vec::new();
    let bytes = living(2, '-');
    in_place(&world.file("living"), &bytes[..bytes.len() / 3]);
    let failed = event(&mut watch, &mut passed, |event| {
        is(event, EventKind::PluginFailed, "living")
    })
    .await;
    assert!(failed.detail.unwrap().contains("not a complete component"));
    assert_eq!(version(&world).await, 1);
    in_place(&world.file("living"), &bytes);
    loaded(&mut watch, &mut passed).await;
    assert_eq!(version(&world).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removed_plugin_takes_its_tools_along_and_lets_calls_end() {
    let world = Arc::new(living_world("").await);
    let mut watch = world.watch();
    let _watching = world.host.watch();
    let mut passed = Vec::new();
    let long = {
        let world = Arc::clone(&world);
        tokio::spawn(async move { world.call("living_version", json!({"ms": 1_500})).await })
    };
    event(&mut watch, &mut passed, |event| {
        event.kind == EventKind::CallStarted
    })
    .await;
    fs::remove_file(world.file("living")).unwrap();
    event(&mut watch, &mut passed, |event| {
        is(event, EventKind::PluginRemoved, "living")
    })
    .await;
    for tool in ["living_version", "living_fall"] {
        let result = world.call(tool, json!({"trap": false})).await;
        assert_eq!(failure(&result), ("not-found", "not_found".to_owned()));
    }
    assert_eq!(value(&long.await.unwrap()), json!(1));
    // Back again it is another replacement.
    world.save("living", &living(1, '-'));
    assert_eq!(loaded(&mut watch, &mut passed).await.generation, Some(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renamed_file_doubles_nothing() {
    let world = living_world("").await;
    let _watching = world.host.watch();
    let mut watch = world.watch();
    let mut passed = Vec::new();
    fs::rename(world.file("living"), world.file("other")).unwrap();
    event(&mut watch, &mut passed, |event| {
        is(event, EventKind::PluginFailed, "other")
    })
    .await;
    let result = world.call("living_version", json!({})).await;
    assert_eq!(failure(&result).0, "not-found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_is_replaced_is_followed() {
    let world = living_world("").await;
    let _watching = world.host.watch();
    let mut watch = world.watch();
    let (plugins, mut passed) = (world.root().join("plugins"), Vec::new());
    fs::remove_dir_all(&plugins).unwrap();
    fs::create_dir(&plugins).unwrap();
    for (name, bytes) in [("probe", PROBE), ("hostile", HOSTILE)] {
        fs::write(world.file(name), bytes).unwrap();
    }
    fs::write(world.file("living"), living(2, '-')).unwrap();
    assert_eq!(loaded(&mut watch, &mut passed).await.generation, Some(2));
    // And what is saved there later.
    world.save("living", &living(3, '-'));
    assert_eq!(loaded(&mut watch, &mut passed).await.generation, Some(3));
    let echo = world.call("echo", json!({"text": "x"})).await;
    assert_eq!(value(&echo), json!("x"));
    // Releases behind a link.
    let releases = world.root().join("releases");
    for number in [4_u64, 5] {
        let folder = releases.join(number.to_string());
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("living.wasm"), living(number, '-')).unwrap();
    }
    fs::remove_dir_all(&plugins).unwrap();
    symlink("releases/4", &plugins).unwrap();
    assert_eq!(loaded(&mut watch, &mut passed).await.generation, Some(4));
    symlink("releases/5", world.root().join("next")).unwrap();
    fs::rename(world.root().join("next"), &plugins).unwrap();
    assert_eq!(loaded(&mut watch, &mut passed).await.generation, Some(5));
    assert_eq!(version(&world).await, 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_configured_file_is_followed_too() {
    let maker = world("[plugins.living]\nsource = \"elsewhere/living.wasm\"");
    let elsewhere = maker.root().join("elsewhere");
    // Not even its folder is there at the start.
    let world = maker.start_with_problems().await;
    let _watching = world.host.watch();
    let mut watch = world.watch();
    let mut passed = Vec::new();
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("living.wasm"), living(1, '-')).unwrap();
    assert_eq!(loaded(&mut watch, &mut passed).await.generation, Some(1));
    fs::remove_file(elsewhere.join("living.wasm")).unwrap();
    event(&mut watch, &mut passed, |event| {
        is(event, EventKind::PluginRemoved, "living")
    })
    .await;
    let result = world.call("living_version", json!({})).await;
    assert_eq!(failure(&result).0, "not-found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_versions_in_a_row_the_latest_wins() {
    let world = living_world("").await;
    for number in 0..4_u64 {
        let bytes = living(1_000 + number, '-');
        world.save("living", &bytes);
        // Not waited for: the next one comes while this one loads.
        let host = world.host.clone();
        let refresh = tokio::spawn(async move { host.refresh().await });
        if number == 3 {
            refresh.await.unwrap();
        }
    }
    world.host.refresh().await;
    assert_eq!(version(&world).await, 1_003);
}

/// Calls without a pause while the plugin is replaced: nothing is lost, nothing is
/// unknown, and each result is from the version that it names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_reloads_is_not_felt() {
    let world = Arc::new(living_world("").await);
    let _watching = world.host.watch();
    let mut watch = world.watch();
    let over = Arc::new(AtomicBool::new(false));
    let calls = Arc::new(AtomicUsize::new(0));
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let (world, over, calls) = (Arc::clone(&world), Arc::clone(&over), Arc::clone(&calls));
            tokio::spawn(async move {
                let mut seen = Vec::new();
                let mut every = tokio::time::interval(Duration::from_millis(16));
                while !over.load(Ordering::Acquire) {
                    every.tick().await;
                    let args = json!({});
                    let pair = [("living_version", args.clone()), ("living_version", args)];
                    let results: Vec<ToolResult> = world.batch(&pair).await;
                    assert_eq!(results.len(), 2);
                    let both: Vec<_> = results
                        .iter()
                        .map(|result| {
                            let it = result.implementation.clone();
                            let it = it.unwrap_or_else(|| panic!("{:?}", result.outcome));
                            (value(result), it.digest, it.generation)
                        })
                        .collect();
                    assert_eq!(both[0], both[1], "one plan, one version");
                    calls.fetch_add(2, Ordering::Relaxed);
                    seen.push(both[0].clone());
                }
                seen
            })
        })
        .collect();
    let saves = u64::try_from(soak(5)).unwrap();
    let mut generations = Vec::new();
    for number in 2..2 + saves {
        world.save("living", &living(number, '-'));
        let loaded = loaded_among_calls(&mut watch).await;
        generations.push(loaded.generation.unwrap());
    }
    over.store(true, Ordering::Release);
    assert_eq!(generations, (2..2 + saves).collect::<Vec<_>>());
    let digests: Vec<_> = (0..2 + saves)
        .map(|number| Digest::of(&living(number, '-')))
        .collect();
    let mut last = 0;
    for caller in callers {
        let mut before = 0;
        for (version, digest, generation) in caller.await.unwrap() {
            let number = version.as_u64().unwrap();
            assert_eq!(digest, digests[usize::try_from(number).unwrap()]);
            assert_eq!(generation, number);
            assert!(before <= generation, "never back");
            before = generation;
        }
        last = last.max(before);
    }
    assert!(calls.load(Ordering::Relaxed) > 100);
    assert!(last >= saves, "the versions were called, too");
}

/// A reader of events that is behind misses some: calls, hundreds a second.
async fn loaded_among_calls(watch: &mut Subscription) -> Event {
    let search = async {
        loop {
            if let Ok(event) = watch.next().await.unwrap()
                && is(&event.event, EventKind::PluginLoaded, "living")
            {
                return event.event.clone();
            }
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(60), search).await;
    found.expect("the save was noticed")
}
