//! Odd files, crafted ids, killed hosts and shared logs, against the real program.

use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use crate::world::{PROGRAM, failure, value, world};

const FILES: &str = r#"
[plugins.files.grants]
fs = [{ host = "workspace", mode = "rw" }]
"#;

/// A folder with a home, a workspace and a configuration that is named, so needs no trust.
struct Place {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Place {
    fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("project/workspace")).unwrap();
        fs::create_dir(root.join("home")).unwrap();
        fs::write(root.join("project/toolgate.toml"), config).unwrap();
        Self {
            _folder: folder,
            root,
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn program(&self, arguments: &[&str]) -> Command {
        let home = self.at("home");
        let mut program = Command::new(PROGRAM);
        program
            .env_clear()
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_DATA_HOME", home.join("data"))
            .env("XDG_CACHE_HOME", home.join("cache"))
            // Compiled code is shared by all tests: a component takes seconds to compile.
            .env("TOOLGATE_HOST_CACHE_DIR", env!("CARGO_TARGET_TMPDIR"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .current_dir(self.at("project"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        program
    }

    fn start(&self, batch: &Value) -> Child {
        let arguments = ["--config", "toolgate.toml", "batch", "-", "--json"];
        let mut child = self.program(&arguments).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A host that refuses its configuration reads nothing.
        let _ = stdin.write_all(batch.to_string().as_bytes());
        child
    }

    /// Exit code, results, words; a host that hangs is a failure.
    fn batch(&self, batch: &Value) -> (Option<i32>, Value, String) {
        let child = self.start(batch);
        let pid = rustix::process::Pid::from_child(&child);
        let ended = thread::spawn(move || child.wait_with_output().unwrap());
        let started = Instant::now();
        while !ended.is_finished() {
            if started.elapsed() > Duration::from_secs(50) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                panic!("the host hangs");
            }
            thread::sleep(Duration::from_millis(5));
        }
        let output = ended.join().unwrap();
        (
            output.status.code(),
            serde_json::from_slice(&output.stdout).unwrap_or(Value::Null),
            String::from_utf8(output.stderr).unwrap(),
        )
    }

    fn audit(&self) -> PathBuf {
        self.at("home/data/toolgate/audit/audit.jsonl")
    }
}

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

#[test]
fn a_plugin_file_that_never_ends_hangs_no_host() {
    for (source, word) in [
        ("pipe.wasm", "not a regular file"),
        ("/dev/zero", "not a regular file"),
        ("sparse.wasm", "other is not loaded"),
    ] {
        let place = Place::new(&format!("{FILES}[plugins.other]\nsource = \"{source}\"\n"));
        pipe(&place.at("project/pipe.wasm"));
        let sparse = fs::File::create(place.at("project/sparse.wasm")).unwrap();
        sparse.set_len(1 << 40).unwrap();
        let (code, results, words) = place.batch(&json!([{ "name": "files_list" }]));
        assert_eq!(code, Some(0), "{source}: {words}");
        assert_eq!(results[0]["success"], true, "{results}");
        assert!(words.contains(word), "{source}: {words}");
    }
}

#[test]
fn an_audit_log_that_is_a_pipe_is_refused() {
    let place = Place::new(&format!("{FILES}[audit]\npath = \"pipe\"\n"));
    pipe(&place.at("project/pipe"));
    let (code, _, words) = place.batch(&json!([{ "name": "files_list" }]));
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("is a pipe"), "{words}");
}

#[test]
fn a_rule_whose_pointer_matches_nothing_is_refused() {
    for at in ["/a~2", "/a~", "/~", "/a~0~"] {
        let place = Place::new(&format!(
            "[principals.local]\nkind = \"user\"\nallow = [\"*\"]\n\
             deny = [{{ tool = \"*\", when = [{{ at = \"{at}\", equals = 1 }}] }}]\n"
        ));
        let (code, _, words) = place.batch(&json!([{ "name": "files_list" }]));
        assert_eq!(code, Some(2), "{at}: {words}");
        assert!(words.contains("is no JSON pointer"), "{at}: {words}");
    }
}

#[test]
fn a_link_to_a_configuration_in_a_writable_folder_needs_trust() {
    let place = Place::new("");
    let granting = format!(
        "[plugins.files.grants]\nfs = [{{ host = {:?}, mode = \"rw\" }}]\n",
        place.at("project/workspace")
    );
    fs::write(place.at("project/workspace/inside.toml"), granting).unwrap();
    fs::remove_file(place.at("project/toolgate.toml")).unwrap();
    symlink(
        place.at("project/workspace/inside.toml"),
        place.at("project/toolgate.toml"),
    )
    .unwrap();
    let (code, results, words) = place.batch(&json!([{ "name": "files_list" }]));
    assert_eq!((code, results), (Some(2), Value::Null));
    assert!(words.contains("not trusted"), "{words}");
}

#[test]
fn ids_stay_unique_when_they_are_made_to_clash() {
    let place = Place::new(FILES);
    let ids = [
        json!("call_1"),
        json!(""),
        json!("call_1"),
        json!("call_2"),
        json!("call_4"),
        Value::Null,
        json!("z".repeat(100_000)),
    ];
    let calls: Vec<Value> = ids
        .iter()
        .map(|id| json!({ "id": id, "name": "files_list" }))
        .collect();
    let (code, results, words) = place.batch(&json!(calls));
    assert_eq!(code, Some(0), "{words}");
    let results = results.as_array().unwrap();
    let unique: BTreeSet<&str> = results
        .iter()
        .map(|result| result["id"].as_str().unwrap())
        .collect();
    assert_eq!(unique.len(), ids.len());
    for kept in [0, 3, 4] {
        assert_eq!(results[kept]["id"], ids[kept]);
    }
    assert!(unique.iter().all(|id| !id.is_empty() && id.len() < 1_000));
}

#[test]
fn hosts_that_share_a_log_write_whole_lines_after_a_torn_one() {
    let place = Place::new(FILES);
    let calls: Vec<Value> = (0..20).map(|_| json!({ "name": "files_list" })).collect();
    assert_eq!(place.batch(&json!(calls)).0, Some(0));
    let mut log = fs::File::options()
        .append(true)
        .open(place.audit())
        .unwrap();
    log.write_all(b"{\"v\":1,\"torn\n").unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(place.batch(&json!(calls)).0, Some(0)));
        }
    });
    let text = fs::read_to_string(place.audit()).unwrap();
    let (whole, torn): (Vec<&str>, Vec<&str>) = text
        .lines()
        .partition(|line| serde_json::from_str::<Value>(line).is_ok());
    assert_eq!((whole.len(), torn.len()), (100, 1));
}

#[test]
fn a_killed_host_takes_its_commands_with_it() {
    let place = Place::new(
        "[plugins.cmd.grants.process]\nprograms = [\"sh\"]\ncwd = [\"workspace\"]\nenv = [\"PATH\"]\n",
    );
    let script = "echo up > up; sleep 2; echo late > late";
    let mut host = place.start(&json!([
        { "name": "cmd_run", "arguments": { "argv": ["sh", "-c", script] } }
    ]));
    let started = Instant::now();
    while !place.at("project/workspace/up").exists() {
        assert!(started.elapsed() < Duration::from_secs(50), "never began");
        thread::sleep(Duration::from_millis(5));
    }
    host.kill().unwrap();
    host.wait().unwrap();
    thread::sleep(Duration::from_secs(3));
    assert!(!place.at("project/workspace/late").exists());
}

#[tokio::test]
async fn a_plugin_reaches_nothing_that_its_caller_may_not() {
    let world = world(
        r#"
[plugins.files.grants]
fs = [{ host = "{workspace}", mode = "rw" }]
[plugins.relay.grants]
tools = ["*"]
[principals.narrow]
kind = "agent"
allow = ["relay_*", { tool = "files_write", when = [{ at = "/path", under = "src" }] }]
"#,
    )
    .start()
    .await;
    let writes = ["src/../b", "srcx/a", "../src/x", "SRC/a", ""];
    let calls: Vec<Value> = writes
        .iter()
        .map(|path| json!({ "path": path, "content": "x" }).to_string())
        .map(|arguments| json!({ "name": "files_write", "arguments": arguments }))
        .chain([json!({ "name": "echo", "arguments": "{\"text\":\"a\"}" })])
        .collect();
    let found = value(
        &world
            .call_as("narrow", "relay_parallel", json!({ "calls": calls }))
            .await,
    );
    for result in found.as_array().unwrap() {
        assert_eq!(result["failure"], "unauthorized", "{found}");
    }
    assert_eq!(fs::read_dir(&world.workspace).unwrap().count(), 0);
    // A tool that it may not see is not offered as the nearest name either.
    let missing = world.call_as("narrow", "ech", json!({})).await;
    assert_eq!(failure(&missing).0, "not-found");
    assert!(!format!("{:?}", missing.outcome).contains("echo"));
}

#[tokio::test]
async fn keys_that_differ_only_in_their_escapes_are_one_key() {
    let world = world("").start().await;
    let crafted = r#"{"text":"a","te\u0078t":"b"}"#.to_owned();
    let result = world.call("echo", crafted).await;
    assert_eq!(failure(&result), ("invalid", "arguments".into()));
}
