//! Commands that speak to a host that runs: the real program, twice.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    process::{Child, ChildStdout, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{
    user::{User, until},
    world::living,
};

/// `toolgate plugins --watch`: a host that runs until it is told to end.
struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Running {
    fn start(user: &User) -> Self {
        let mut child = user
            .program()
            .args(["--json", "plugins", "--watch"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let running = Self { child, lines };
        until("the host listens", || sockets(user) == [running.process()]);
        running
    }

    fn process(&self) -> u32 {
        self.child.id()
    }

    /// The next event of this type.
    fn event(&mut self, kind: &str) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.lines.read_line(&mut line).unwrap(), 0, "it has ended");
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["type"] == kind {
                return event;
            }
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.process()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn sockets(user: &User) -> Vec<u32> {
    let folder = user.root.join("home/data/toolgate/run");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.path().file_stem()?.to_str()?.parse().ok())
        .collect()
}

fn user() -> User {
    let user = User::new();
    fs::create_dir(user.project.join("plugins")).unwrap();
    user.write(
        "toolgate.toml",
        "[host]\nplugin_dir = \"plugins\"\n[principals.agent]\nkind = \"agent\"\nallow = [\"files_read\"]\n",
    );
    user.run(&["trust", "--yes"]).expect(0);
    user
}

#[test]
fn a_running_host_is_asked_told_and_watched() {
    let user = user();
    let mut host = Running::start(&user);
    let folder = user.root.join("home/data/toolgate/run");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(
        mode(&folder.join(format!("{}.sock", host.process()))),
        0o600
    );

    user.write("plugins/living.wasm", living(1, '-'));
    assert_eq!(host.event("plugin_loaded")["generation"], 1);
    user.write("plugins/living.wasm", living(2, '-'));
    assert_eq!(host.event("plugin_loaded")["generation"], 2);
    let shown = user.run(&["plugins", "living"]);
    assert!(
        shown.err.contains(&host.process().to_string()),
        "{}",
        shown.err
    );
    assert!(shown.out.contains("generation 2"), "{}", shown.out);

    // A second watcher watches the first host, and ends by itself alone.
    let mut other = user
        .program()
        .args(["plugins", "--watch"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(other.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains(&host.process().to_string()), "{line}");
    let mut lines = BufReader::new(other.stdout.take().unwrap());
    let mut shown = String::new();
    while !shown.contains("living") {
        lines.read_line(&mut shown).unwrap();
    }
    user.write("plugins/living.wasm", b"broken");
    let mut told = String::new();
    while !told.contains("does not load") {
        told.clear();
        assert_ne!(lines.read_line(&mut told).unwrap(), 0);
    }
    assert!(told.contains("generation 2 goes on serving"), "{told}");
    let pid = Pid::from_raw(i32::try_from(other.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    assert!(other.wait().unwrap().success());

    fs::remove_file(user.project.join("plugins/living.wasm")).unwrap();
    assert_eq!(host.event("plugin_removed")["generation"], 2);
    host.signal(Signal::TERM);
    assert!(host.child.wait().unwrap().success());
    assert!(sockets(&user).is_empty());
}

#[test]
fn reload_takes_over_what_an_edit_adds() {
    let user = user();
    let mut host = Running::start(&user);
    let config = fs::read_to_string(user.project.join("toolgate.toml")).unwrap();
    let call = |plugin: &str| {
        let shown: Value = user.run(&["--json", "plugins", plugin]).json();
        shown
    };
    user.write(
        "toolgate.toml",
        config.clone() + "[plugins.cmd.grants.process]\nprograms = [\"true\"]\n",
    );
    // It was found by looking upward: not used before somebody trusts it.
    let refused = user.run(&["reload"]).expect(2);
    assert!(refused.err.contains("toolgate trust"), "{}", refused.err);
    user.run(&["trust", "--yes"]).expect(0);
    assert_eq!(call("cmd")["short"], serde_json::json!(["process"]));
    let reloaded = user.run(&["--json", "reload"]).expect(0).json();
    assert_eq!(reloaded["host"], host.process());
    assert_eq!(reloaded["reloaded"]["error"], Value::Null);
    assert_eq!(call("cmd")["granted"], serde_json::json!(["process"]));
    assert_eq!(host.event("plugin_loaded")["plugin"], "cmd");

    // A section that needs a new start says so.
    user.write(
        "toolgate.toml",
        config.replace("[host]", "[host]\nmax_depth = 3"),
    );
    user.run(&["trust", "--yes"]).expect(0);
    let reloaded = user.run(&["reload"]).expect(0);
    assert!(
        reloaded.err.contains("[host] needs a new start"),
        "{}",
        reloaded.err
    );

    // A plugin that does not load is a failure of the command.
    user.write("plugins/text.wasm", b"no component");
    let reloaded = user.run(&["reload"]).expect(1);
    assert!(reloaded.err.contains("looks like text"), "{}", reloaded.err);
}

#[test]
fn without_a_host_there_is_nobody_to_tell() {
    let user = user();
    let none = user.run(&["reload"]).expect(1);
    assert!(none.err.contains("no host runs"), "{}", none.err);
    // What a killed host left is no host, and goes.
    let host = Running::start(&user);
    host.signal(Signal::KILL);
    until("it has ended", || sockets(&user).len() == 1);
    drop(host);
    user.run(&["reload"]).expect(1);
    assert!(sockets(&user).is_empty());
}

#[test]
fn a_host_far_down_is_reached_as_well() {
    let user = user();
    let deep = user.root.join("d".repeat(120));
    let env = ("TOOLGATE_HOST_DATA_DIR", deep.to_str().unwrap());
    let mut child = user
        .program()
        .env(env.0, env.1)
        .args(["--config", "toolgate.toml", "--json", "plugins", "--watch"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("the host listens", || {
        fs::read_dir(deep.join("run")).is_ok_and(|entries| entries.count() == 1)
    });
    let output = user
        .program()
        .env(env.0, env.1)
        .args(["--config", "toolgate.toml", "reload"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    child.kill().unwrap();
    child.wait().unwrap();
}
