//! Much of the same, and kills at any moment: what is left behind must not grow, and a
//! host must start again.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    user::User,
    world::{living, soak, value, world},
};

/// The rest of a test in a process of its own: what it counts is that process's.
#[expect(clippy::disallowed_methods, reason = "tells the two processes apart")]
fn alone(test: &str, body: impl FnOnce()) {
    if std::env::var_os("TOOLGATE_TEST_ALONE").is_some() {
        return body();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env("TOOLGATE_TEST_ALONE", "1")
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && out.contains("1 passed"),
        "{out}\n{err}"
    );
}

/// What a process holds.
#[derive(Debug)]
struct Held {
    memory: usize,
    descriptors: usize,
    threads: usize,
    mappings: usize,
}

impl Held {
    fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let field = |name: &str| -> usize {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        Self {
            memory: field("VmRSS:") * 1_024,
            descriptors: fs::read_dir("/proc/self/fd").unwrap().count(),
            threads: field("Threads:"),
            mappings: fs::read_to_string("/proc/self/maps")
                .unwrap()
                .lines()
                .count(),
        }
    }
}

#[test]
fn reloads_leave_nothing_behind() {
    alone("storms::reloads_leave_nothing_behind", || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            // As many as it will ever have.
            .max_blocking_threads(2)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let world = world("").start().await;
            let versions: Vec<Vec<u8>> = (1..=4).map(|number| living(number, '-')).collect();
            let reload = async |times: usize| {
                for i in 0..times {
                    let number = i % versions.len();
                    world.save("living", &versions[number]);
                    world.host.refresh().await;
                    let result = world.call("living_version", json!({})).await;
                    assert_eq!(value(&result), json!(number + 1));
                }
            };
            // Until every slot that stays warm has been used.
            reload(200).await;
            let before = Held::now();
            let times = soak(200);
            reload(times).await;
            let after = Held::now();
            println!("{before:?} {after:?} after {times} reloads");
            assert!(
                after.memory < before.memory + (20 << 20),
                "{before:?} {after:?}"
            );
            assert!(
                after.descriptors <= before.descriptors + 2,
                "{before:?} {after:?}"
            );
            assert!(after.threads <= before.threads + 1, "{before:?} {after:?}");
            assert!(
                after.mappings <= before.mappings + 20,
                "{before:?} {after:?}"
            );
        });
    });
}

/// Kills a host at any moment of its start, while it compiles and keeps code, loads a
/// version that it has not seen yet, runs calls and keeps its log.
#[test]
fn a_host_that_is_killed_starts_again() {
    let user = User::new();
    fs::create_dir(user.project.join("plugins")).unwrap();
    user.write("toolgate.toml", "[host]\nplugin_dir = \"plugins\"\n");
    user.run(&["trust", "--yes"]).expect(0);
    let cache = user.root.join("cache");
    let calls: Vec<Value> = (0..20)
        .map(|_| json!({"name": "living_version", "arguments": {}}))
        .collect();
    user.write("calls.json", json!({ "calls": calls }).to_string());
    let batch = || {
        let mut program = user.program();
        program
            .env("TOOLGATE_HOST_CACHE_DIR", &cache)
            .args(["--json", "batch", "calls.json"]);
        program
    };
    let check = |number: u64| {
        let output = batch().output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{err}");
        let results: Value = serde_json::from_slice(&output.stdout).unwrap();
        let results = results.as_array().unwrap();
        assert_eq!(results.len(), 20);
        for result in results {
            assert_eq!(result["value"], number, "{err}");
        }
    };
    user.write("plugins/living.wasm", living(1, '-'));
    check(1);
    // As long as a whole run takes that compiles one plugin.
    user.write("plugins/living.wasm", living(2, '-'));
    let began = Instant::now();
    check(2);
    let whole = began.elapsed();
    let times = u64::try_from(soak(20)).unwrap();
    // Not random, so that it can be run again, and spread over all of the run.
    let mut cut = 0.0_f64;
    let mut killed = 0;
    for number in 3..3 + times {
        user.write("plugins/living.wasm", living(number, '-'));
        if number % 7 == 0 {
            let _ = fs::remove_dir_all(&cache);
        }
        cut = (cut + 0.618_034).fract();
        let mut child = batch()
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(whole.mul_f64(cut));
        killed += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        if number % 5 == 0 {
            check(number);
        }
    }
    assert!(
        killed * 2 > soak(20),
        "{killed} were killed before their end"
    );
    check(2 + times);
    one_torn_line_at_most(&user.root.join("home/data/toolgate/audit/audit.jsonl"));
    user.run(&["audit"]).expect(0);
    let left = fs::read_dir(cache.join("code")).unwrap().flatten();
    let strange: Vec<_> = left
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| !name.ends_with(".cwasm") && !name.ends_with(".tmp"))
        .collect();
    assert!(strange.is_empty(), "{strange:?}");
}

fn one_torn_line_at_most(log: &Path) {
    let text = fs::read_to_string(log).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() >= 40);
    for line in lines {
        let whole = serde_json::from_str::<Value>(line).is_ok();
        assert!(whole, "{line}");
    }
}

/// Whoever damages the cache makes a host slower, never wrong.
#[test]
fn damaged_code_is_compiled_anew() {
    let user = User::new();
    let cache = user.root.join("cache");
    user.write("a.txt", "a");
    let call = || {
        let output = user
            .program()
            .env("TOOLGATE_HOST_CACHE_DIR", &cache)
            .args(["call", "files_read", "path=a.txt"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains('a'));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    call();
    let files = || {
        let entries = fs::read_dir(cache.join("code")).unwrap().flatten();
        let paths = entries.map(|entry| entry.path());
        paths.collect::<Vec<_>>()
    };
    assert!(files().len() >= 2);
    for path in files() {
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0xff;
        fs::write(&path, bytes).unwrap();
    }
    assert!(call().contains("damaged"));
    assert!(!call().contains("damaged"));
    // No place to keep it: a file stands where the folder should be.
    fs::remove_dir_all(cache.join("code")).unwrap();
    fs::write(cache.join("code"), "in the way").unwrap();
    assert!(call().contains("cannot keep compiled code"));
}

/// What a test waits for has to come, or the test says so: not for ever.
#[test]
fn a_folder_under_a_flood_of_events_is_still_read() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let world = world("").start().await;
        let _watching = world.host.watch();
        let folder = world.root().join("plugins");
        let flood = tokio::task::spawn_blocking(move || {
            // More than the system's queue of events holds (16,384 unless set).
            for i in 0..20_000 {
                fs::write(folder.join(format!("{i}.tmp")), b"").unwrap();
            }
        });
        flood.await.unwrap();
        world.save("living", &living(1, '-'));
        let search = async {
            loop {
                let result = world.call("living_version", json!({})).await;
                if result.success() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), search)
            .await
            .expect("the plugin came to serve");
    });
}
