//! The plugin `cmd`, as a component, with real processes.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::world::{failure, value, world};

const GRANTS: &str = r#"
[plugins.cmd.grants.process]
programs = ["ls", "cat", "sleep"]
shell = true
env = ["PATH", "LANG"]
cwd = ["{workspace}"]

[plugins.cmd.tools.cmd_run]
parallel_safe = [{ when = [{ at = "/argv/0", equals = "ls" }] }]

[principals.assistant]
kind = "agent"
allow = [
  { tool = "cmd_run", when = [{ at = "/argv/0", equals = "ls" }] },
  { tool = "cmd_run", when = [{ at = "/command", equals = "ls" }] },
]
"#;

#[tokio::test]
async fn an_exit_code_is_no_failure_but_a_signal_is() {
    let world = world(GRANTS).start().await;
    let seen = value(
        &world
            .call(
                "cmd_run",
                json!({ "command": "echo out; echo err >&2; exit 3" }),
            )
            .await,
    );
    assert_eq!(
        (&seen["status"], &seen["exit_code"]),
        (&json!("exited"), &json!(3))
    );
    assert_eq!(
        (&seen["stdout"], &seen["stderr"]),
        (&json!("out\n"), &json!("err\n"))
    );
    assert_eq!(
        value(
            &world
                .call("cmd_run", json!({ "command": "exit 137" }))
                .await
        )["exit_code"],
        137
    );

    let killed = world
        .call("cmd_run", json!({ "command": "echo before; kill -9 $$" }))
        .await;
    let failed = killed.outcome.as_ref().unwrap_err();
    assert_eq!(
        (failed.kind.as_str(), &*failed.error.reason),
        ("failed", "signaled")
    );
    let value = failed.value.as_ref().unwrap();
    assert_eq!(
        (&value["signal"], &value["stdout"]),
        (&json!("SIGKILL"), &json!("before\n"))
    );
}

#[tokio::test]
async fn a_timeout_leaves_no_process_and_tells_what_there_was() {
    let world = world(GRANTS).start().await;
    let mark = format!("300.{}", std::process::id());
    let started = Instant::now();
    let command = format!("echo before; sleep {mark} & setsid sleep {mark} & sleep {mark}");
    let result = world
        .call("cmd_run", json!({ "command": command, "timeout": "1s" }))
        .await;
    assert!(
        started.elapsed() < Duration::from_secs(4),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(failure(&result), ("failed", "timeout".into()));
    assert_eq!(
        result.outcome.unwrap_err().value.unwrap()["stdout"],
        "before\n"
    );
    let left: Vec<String> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.unwrap().path().join("cmdline")).ok())
        .filter(|line| line.contains(&mark))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn secrets_of_the_host_stay_with_the_host() {
    let maker = world(GRANTS).host_env(&[
        ("PATH", "/usr/bin:/bin"),
        ("FAKE_API_KEY", "k-123"),
        ("LANG", "C"),
    ]);
    let world = maker.start().await;
    let command = "env; cat /proc/self/environ /proc/$PPID/environ | tr '\\0' '\\n'";
    let result = world.call("cmd_run", json!({ "command": command })).await;
    assert!(result.success(), "{result:?}");
    assert!(
        result.text.contains("LANG=C") && !result.text.contains("k-123"),
        "{}",
        result.text
    );
    let extra = world
        .call(
            "cmd_run",
            json!({ "argv": ["ls"], "env": { "LD_PRELOAD": "/x.so" } }),
        )
        .await;
    assert_eq!(failure(&extra).1, "unauthorized");
}

#[tokio::test]
async fn an_allow_rule_is_no_prefix() {
    let world = world(GRANTS).start().await;
    let file = world.workspace.join("x");
    assert!(
        world
            .call_as("assistant", "cmd_run", json!({ "command": "ls" }))
            .await
            .success()
    );
    assert!(
        world
            .call_as("assistant", "cmd_run", json!({ "argv": ["ls", "-a"] }))
            .await
            .success()
    );
    for command in [
        "ls; touch x",
        "ls\ntouch x",
        "ls $(touch x)",
        "ls && touch x",
        "ls >x",
        "A=1 ls",
        "lsof",
        "ls ",
    ] {
        let result = world
            .call_as("assistant", "cmd_run", json!({ "command": command }))
            .await;
        assert_eq!(failure(&result).0, "unauthorized", "{command:?}");
        assert!(!file.exists(), "{command:?}");
    }
    for argv in [
        json!(["touch", "x"]),
        json!(["./ls"]),
        json!(["sleep", "0"]),
    ] {
        let result = world
            .call_as("assistant", "cmd_run", json!({ "argv": argv }))
            .await;
        assert_eq!(failure(&result).0, "unauthorized", "{argv}");
    }
}

#[tokio::test]
async fn nothing_is_granted_unless_it_is() {
    let world = world("").start().await;
    let result = world.call("cmd_run", json!({ "argv": ["ls"] })).await;
    let error = result.outcome.unwrap_err().error;
    assert_eq!(error.reason, "unauthorized");
    assert!(
        error.to_string().contains("[plugins.cmd.grants]"),
        "it names the missing line: {error}"
    );
    let world =
        self::world("[plugins.cmd.grants.process]\nprograms = [\"ls\"]\ncwd = [\"{workspace}\"]\n")
            .start()
            .await;
    assert!(
        world
            .call("cmd_run", json!({ "argv": ["ls"] }))
            .await
            .success()
    );
    for refused in [
        json!({ "command": "ls" }),
        json!({ "argv": ["cat", "/etc/passwd"] }),
        json!({ "argv": ["ls"], "cwd": "/etc" }),
    ] {
        assert_eq!(
            failure(&world.call("cmd_run", refused.clone()).await).1,
            "unauthorized",
            "{refused}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_may_declare_named_commands_parallel_safe() {
    let world = world(GRANTS).start().await;
    let list = ("cmd_run", json!({ "argv": ["ls"] }));
    let results = world.batch(&[list.clone(), list.clone()]).await;
    assert!(
        results
            .iter()
            .all(|result| result.success() && result.parallel)
    );
    let results = world
        .batch(&[list, ("cmd_run", json!({ "argv": ["cat", "/dev/null"] }))])
        .await;
    assert!(results.iter().all(|result| !result.parallel));
}
