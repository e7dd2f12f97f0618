//! Commands end whole: below their shim, with nothing left behind, whatever they try.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use toolgate::{
    policy::ProcessGrant,
    process::{Ending, Finished, Launcher, Program, Request, Shim},
    tool::ToolError,
};

const SHIM: &str = env!("CARGO_BIN_EXE_toolgate-under-test");

/// Runs commands in a folder of its own, below the shim unless said otherwise.
struct Bench {
    folder: tempfile::TempDir,
    grant: ProcessGrant,
    host_env: Vec<(String, String)>,
    launcher: Launcher,
}

impl Bench {
    fn new() -> Self {
        Self::with(Shim::Path(SHIM.into()))
    }

    fn with(shim: Shim) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let grant = ProcessGrant {
            programs: ["cat", "head", "sleep", "env", "true"]
                .map(String::from)
                .to_vec(),
            shell: true,
            env: vec!["PATH".into(), "LANG".into()],
            cwd: vec![folder.path().canonicalize().unwrap()],
            ..ProcessGrant::default()
        };
        let host_env = vec![
            ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
            ("FAKE_API_KEY".into(), "s3cret".into()),
        ];
        Self {
            folder,
            grant,
            host_env,
            launcher: Launcher::new(shim),
        }
    }

    async fn run(&self, request: Request) -> Result<Finished, ToolError> {
        self.launcher
            .run(&self.grant, &self.host_env, request)
            .await
    }

    async fn shell(&self, line: &str) -> Finished {
        self.run(shell(line)).await.unwrap()
    }
}

fn request(program: Program) -> Request {
    Request {
        program,
        cwd: None,
        env: Vec::new(),
        stdin: None,
        timeout: Duration::from_secs(20),
    }
}

fn shell(line: &str) -> Request {
    request(Program::Shell(line.into()))
}

fn argv(items: &[&str]) -> Request {
    request(Program::Argv(
        items.iter().map(|&item| item.to_owned()).collect(),
    ))
}

/// A number of seconds for `sleep` that no other process has among its arguments.
fn marker() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(
        "300.{}{:04}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// How many processes have `marker` among their arguments.
fn running(marker: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines
        .filter(|line| String::from_utf8_lossy(line).contains(marker))
        .count()
}

/// Waits until `condition` holds; panics after ten seconds.
fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(10), "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[tokio::test]
async fn a_timeout_ends_background_jobs_too() {
    let bench = Bench::new();
    let mark = marker();
    let mut request = shell(&format!("echo before; sleep {mark} & sleep {mark}"));
    request.timeout = Duration::from_secs(1);
    let begun = Instant::now();
    let done = bench.run(request).await.unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(done.ending, Ending::TimedOut);
    assert_eq!(done.stdout.text, "before\n");
    assert_eq!(running(&mark), 0);
}

#[tokio::test]
async fn a_session_of_its_own_is_no_way_out() {
    let bench = Bench::new();
    for timeout in [Duration::from_millis(500), Duration::from_secs(20)] {
        let mark = marker();
        let wait = if timeout.as_secs() == 0 {
            "sleep 20"
        } else {
            "true"
        };
        let mut request = shell(&format!(
            "setsid sh -c 'sleep {mark}' & echo started; {wait}"
        ));
        request.timeout = timeout;
        let begun = Instant::now();
        let done = bench.run(request).await.unwrap();
        assert!(
            begun.elapsed() < Duration::from_secs(2),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!(done.stdout.text, "started\n");
        assert_eq!(running(&mark), 0, "timeout {timeout:?}");
    }
}

#[tokio::test]
async fn a_double_fork_that_ignores_term_is_killed_and_counted() {
    let bench = Bench::new();
    let mark = marker();
    // The grandchild is seen before the program ends.
    let line = format!(
        "(setsid sh -c 'trap \"\" TERM; : > up; sleep {mark}; sleep {mark}' &) ; \
         until [ -e up ]; do :; done; exit 4"
    );
    let begun = Instant::now();
    let done = bench.shell(&line).await;
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(done.ending, Ending::Exited(4));
    assert!(done.leftovers >= 1, "{}", done.leftovers);
    assert_eq!(running(&mark), 0);
}

#[tokio::test]
async fn a_chain_that_starts_itself_again_ends() {
    let bench = Bench::new();
    let mark = marker();
    let script = format!("trap '' TERM; setsid sh \"$0\" \"$0\" {mark} & sleep 0.01");
    fs::write(bench.folder.path().join("chain"), script).unwrap();
    bench.shell(&format!("sh ./chain {mark}")).await;
    assert_eq!(running(&mark), 0);
}

#[tokio::test]
async fn a_background_job_does_not_hold_the_call() {
    let bench = Bench::new();
    let mark = marker();
    let begun = Instant::now();
    let done = bench.shell(&format!("sleep {mark} & echo hi")).await;
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(
        (done.stdout.text.as_str(), done.ending),
        ("hi\n", Ending::Exited(0))
    );
    assert_eq!(done.leftovers, 1);
    assert_eq!(running(&mark), 0);
}

#[tokio::test]
async fn what_handles_term_has_its_grace() {
    let bench = Bench::new();
    let mut request =
        shell("trap 'sleep 0.1; echo tidy; exit 0' TERM; echo up; while :; do sleep 0.01; done");
    request.timeout = Duration::from_millis(500);
    let done = bench.run(request).await.unwrap();
    assert_eq!(
        (done.stdout.text.as_str(), done.ending),
        ("up\ntidy\n", Ending::TimedOut)
    );
}

#[tokio::test]
async fn the_future_dropped_ends_the_tree() {
    let bench = Bench::new();
    let mark = marker();
    let up = bench.folder.path().join("up");
    let late = bench.folder.path().join("late");
    let line =
        format!("(setsid sh -c 'trap \"\" TERM; sleep {mark}; : > late') & : > up; sleep {mark}");
    let command = bench.run(shell(&line));
    let seen = async {
        while !up.exists() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::select! {
        _ = command => panic!("it ends by itself"),
        () = seen => {}
    }
    until("all of it is gone", || running(&mark) == 0);
    assert!(!late.exists());
}

#[test]
fn the_runtime_dropped_ends_the_tree_and_leaves_no_zombie() {
    let bench = Bench::new();
    let mark = marker();
    let up = bench.folder.path().join("up");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let command = bench.run(shell(&format!(
            "trap '' TERM; : > up; sleep {mark}; sleep {mark}"
        )));
        let seen = async {
            while !up.exists() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::select! {
            _ = command => panic!("it ends by itself"),
            () = seen => {}
        }
    });
    drop(runtime);
    until("all of it is gone", || running(&mark) == 0);
    // Other tests have children too; those go as well.
    until("no child is a zombie", || {
        !children().any(|stat| stat.contains(") Z "))
    });
}

/// The `stat` lines of this process's children.
fn children() -> impl Iterator<Item = String> {
    let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let ids: Vec<String> = lists
        .flat_map(|list| {
            list.split_whitespace()
                .map(String::from)
                .collect::<Vec<_>>()
        })
        .collect();
    ids.into_iter()
        .filter_map(|id| fs::read_to_string(format!("/proc/{id}/stat")).ok())
}

/// Not a test: the host that the next test kills.
#[tokio::test]
#[ignore = "started by the_host_killed_ends_its_commands"]
#[expect(
    clippy::disallowed_methods,
    reason = "how the next test tells this process its mark"
)]
async fn a_host_to_be_killed() {
    let mark = std::env::var("COMMAND_SHIM_MARK").unwrap();
    let bench = Bench::new();
    bench
        .shell(&format!("(setsid sleep {mark}) & sleep {mark}"))
        .await;
}

#[test]
fn the_host_killed_ends_its_commands() {
    let mark = marker();
    let (_, module) = module_path!().split_once("::").unwrap();
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            &format!("{module}::a_host_to_be_killed"),
            "--ignored",
        ])
        .env("COMMAND_SHIM_MARK", &mark)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until("both sleep", || running(&mark) >= 2);
    host.kill().unwrap();
    host.wait().unwrap();
    until("both are gone", || running(&mark) == 0);
}

#[tokio::test]
async fn a_command_that_stops_or_kills_its_shim_holds_nothing() {
    let bench = Bench::new();
    let mark = marker();
    let mut request = shell(&format!("kill -STOP $PPID; sleep {mark}"));
    request.timeout = Duration::from_millis(300);
    let begun = Instant::now();
    assert_eq!(bench.run(request).await.unwrap().ending, Ending::TimedOut);
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(running(&mark), 0);

    let error = bench
        .run(shell(&format!("kill -KILL $PPID; sleep {mark}")))
        .await
        .unwrap_err();
    assert_eq!(error.reason, "internal");
    assert!(error.detail.unwrap().contains("the command ran"));
    until("its group is gone", || running(&mark) == 0);
}

/// As from a parent that ignores the ends of its children, which children inherit.
#[test]
fn ends_are_seen_where_the_host_ignores_them() {
    let (_, module) = module_path!().split_once("::").unwrap();
    let test = format!("{module}::signal_exit_code_and_not_started_are_three_things");
    let host = Command::new("env")
        .arg("--ignore-signal=CHLD")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &test])
        .output()
        .unwrap();
    assert!(
        host.status.success(),
        "{}",
        String::from_utf8_lossy(&host.stdout)
    );
}

#[tokio::test]
async fn much_of_both_streams_and_an_exit_code() {
    let bench = Bench::new();
    let line = "head -c 1000000 /dev/zero | tr '\\0' e >&2; head -c 1000000 /dev/zero | tr '\\0' o; exit 3";
    let done = bench.shell(line).await;
    assert_eq!(done.ending, Ending::Exited(3));
    assert_eq!(
        (done.stdout.total_bytes, done.stderr.total_bytes),
        (1_000_000, 1_000_000)
    );
    assert_eq!(done.combined.total_bytes, 2_000_000);
    assert!(done.stdout.truncated && done.stdout.text.contains("968000 bytes cut"));
    assert!(done.combined.text.starts_with('e') && done.combined.text.ends_with('o'));
}

#[tokio::test]
async fn a_flood_costs_no_memory_and_ends_on_time() {
    let bench = Bench::new();
    let before = resident();
    let mut request = shell("echo first; yes & yes >&2");
    request.timeout = Duration::from_secs(1);
    let begun = Instant::now();
    let done = bench.run(request).await.unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(done.ending, Ending::TimedOut);
    assert!(done.stdout.text.starts_with("first\ny\n") && done.stdout.text.ends_with('\n'));
    assert!(
        done.combined.total_bytes > 10_000_000,
        "{}",
        done.combined.total_bytes
    );
    assert!(
        resident() < before + (64 << 20),
        "{before} to {}",
        resident()
    );
}

/// Bytes of memory that this process uses. Other tests run in it too.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/statm").unwrap();
    status.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[tokio::test]
async fn much_input_comes_back_or_is_left_alone() {
    let mut bench = Bench::new();
    bench.grant.output = 12_000_000;
    let text: String = (0..10_000_000 / 10).map(|n| format!("{n:09}\n")).collect();
    let mut all = argv(&["cat"]);
    all.stdin = Some(text.clone().into());
    let done = bench.run(all).await.unwrap();
    assert_eq!(done.ending, Ending::Exited(0));
    assert!(
        done.stdout.text == text,
        "{} bytes came back",
        done.stdout.total_bytes
    );

    let mut one = argv(&["head", "-c1"]);
    one.stdin = Some(text.into());
    let done = bench.run(one).await.unwrap();
    assert_eq!(
        (done.stdout.text.as_str(), done.ending),
        ("0", Ending::Exited(0))
    );
}

#[tokio::test]
async fn signal_exit_code_and_not_started_are_three_things() {
    let bench = Bench::new();
    let killed = bench.shell("kill -KILL $$").await;
    assert_eq!(
        killed.ending,
        Ending::Signaled {
            number: 9,
            name: "SIGKILL".into()
        }
    );
    let fault = bench.shell("kill -SEGV $$").await;
    assert_eq!(
        fault.ending,
        Ending::Signaled {
            number: 11,
            name: "SIGSEGV".into()
        }
    );
    assert_eq!(bench.shell("exit 137").await.ending, Ending::Exited(137));
    let missing = bench.shell("no-such-program-anywhere").await;
    assert_eq!(missing.ending, Ending::Exited(127));

    let mut bench = bench;
    bench.grant.programs.push("no-such-program-anywhere".into());
    let error = bench
        .run(argv(&["no-such-program-anywhere"]))
        .await
        .unwrap_err();
    assert_eq!(error.reason, "not_found");
}

#[tokio::test]
async fn files_that_are_no_programs_say_so() {
    let mut bench = Bench::new();
    let made = |name: &str, text: &[u8], mode: u32| {
        use std::os::unix::fs::PermissionsExt as _;
        let path = bench.folder.path().canonicalize().unwrap().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let cases = [
        (made("junk", b"\x00\x01\x02", 0o755), "not_executable"),
        (
            made("orphan", b"#!/no/such/interpreter\n", 0o755),
            "not_found",
        ),
        (made("plain", b"#!/bin/sh\n", 0o644), "not_executable"),
    ];
    for (path, reason) in cases {
        bench.grant.programs.push(path.clone());
        let error = bench.run(argv(&[&path])).await.unwrap_err();
        assert_eq!(error.reason, reason, "{path}: {error}");
    }
}

#[tokio::test]
async fn an_argument_that_is_too_long_names_itself() {
    let bench = Bench::new();
    let long = "x".repeat(200 << 10);
    let error = bench
        .run(argv(&["true", "short", &long]))
        .await
        .unwrap_err();
    assert_eq!(
        (error.reason.as_ref(), error.field.as_deref()),
        ("limit", Some("argv[2]"))
    );
    assert!(error.hint.unwrap().contains("stdin"));

    let error = bench.run(shell(&format!("true {long}"))).await.unwrap_err();
    assert_eq!(
        (error.reason.as_ref(), error.field.as_deref()),
        ("limit", Some("command"))
    );

    let many: Vec<&str> = std::iter::once("true")
        .chain(std::iter::repeat_n("x", 1_000_000))
        .collect();
    assert_eq!(bench.run(argv(&many)).await.unwrap_err().reason, "limit");
}

#[tokio::test]
async fn no_secret_is_in_reach() {
    let bench = Bench::new();
    let own = bench.run(argv(&["env"])).await.unwrap();
    assert_eq!(own.stdout.text, "PATH=/usr/local/bin:/usr/bin:/bin\n");
    // The shim has no environment at all, though this process has one.
    assert_ne!(fs::read("/proc/self/environ").unwrap(), b"");
    let parent = bench.shell("cat /proc/$PPID/environ").await;
    assert_eq!(
        (parent.stdout.text.as_str(), parent.ending),
        ("", Ending::Exited(0))
    );
    let login = bench.shell("sh -lc env").await;
    assert!(
        !login.combined.text.contains("s3cret"),
        "{}",
        login.combined.text
    );
}

#[tokio::test]
async fn no_descriptor_of_the_host_is_handed_on() {
    let bench = Bench::new();
    // One without close-on-exec, as a host may have inherited it.
    let file = fs::File::create(bench.folder.path().join("of-the-host")).unwrap();
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    let done = bench
        .shell("for fd in /proc/$$/fd/*; do readlink $fd; done; echo listed")
        .await;
    assert!(done.stdout.text.contains("/dev/null\n") && done.stdout.text.ends_with("listed\n"));
    assert!(
        !done.stdout.text.contains("of-the-host"),
        "{}",
        done.stdout.text
    );
    assert!(
        !done.stdout.text.contains("socket:"),
        "{}",
        done.stdout.text
    );
    drop(file);
}

#[tokio::test]
async fn no_terminal_and_no_input() {
    let bench = Bench::new();
    let done = bench
        .shell(
            "cat <<X\nhere\nX\nread y; echo \"[$y]\"; cat; (: < /dev/tty) 2>/dev/null || echo none",
        )
        .await;
    assert_eq!(done.stdout.text, "here\n[]\nnone\n");
    let done = bench.shell("cut -d' ' -f5,6,7 /proc/$$/stat").await;
    let fields: Vec<i64> = done
        .stdout
        .text
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    assert_eq!(fields[2], 0, "group, session, terminal: {fields:?}");
}

#[tokio::test]
async fn a_character_in_two_writes_stays_one() {
    let bench = Bench::new();
    let done = bench
        .shell("printf '\\303'; sleep 0.2; printf e >&2; printf '\\251'; printf '\\377' >&2")
        .await;
    assert_eq!(
        (done.stdout.text.as_str(), done.stdout.invalid_utf8),
        ("é", false)
    );
    assert_eq!(
        (done.stderr.text.as_str(), done.stderr.invalid_utf8),
        ("e\u{FFFD}", true)
    );
    assert!(done.combined.text.contains('é'), "{}", done.combined.text);
}

#[tokio::test]
async fn many_small_writes_are_one_stream() {
    let bench = Bench::new();
    let done = bench
        .shell("i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done")
        .await;
    assert_eq!(
        done.stdout.total_bytes,
        (0..20_000)
            .map(|n: u32| n.to_string().len() as u64 + 1)
            .sum::<u64>()
    );
    assert!(done.stdout.text.starts_with("0\n1\n") && done.stdout.text.ends_with("19999\n"));
}

#[tokio::test]
async fn a_program_that_is_no_shim_gets_no_job() {
    let bench = Bench::with(Shim::Path("/bin/true".into()));
    let error = bench.run(argv(&["true"])).await.unwrap_err();
    assert_eq!(error.reason, "internal");
    assert!(error.detail.unwrap().contains("run_child_if_asked"));
    let bench = Bench::with(Shim::Path("/no/such/shim".into()));
    assert_eq!(
        bench.run(argv(&["true"])).await.unwrap_err().reason,
        "internal"
    );
}

#[tokio::test]
async fn the_group_alone_does_what_it_can() {
    let bench = Bench::with(Shim::None);
    let mark = marker();
    let mut request = shell(&format!("cat; sleep {mark} & sleep {mark}"));
    request.stdin = Some("text".into());
    request.timeout = Duration::from_secs(1);
    let done = bench.run(request).await.unwrap();
    assert_eq!(
        (done.stdout.text.as_str(), done.ending),
        ("text", Ending::TimedOut)
    );
    until("the group is gone", || running(&mark) == 0);
    assert_eq!(bench.shell("exit 7").await.ending, Ending::Exited(7));
    let own = bench.run(argv(&["env"])).await.unwrap();
    assert_eq!(own.stdout.text, "PATH=/usr/local/bin:/usr/bin:/bin\n");
    assert_eq!(
        bench.shell("kill -INT $$").await.ending,
        Ending::Signaled {
            number: 2,
            name: "SIGINT".into()
        }
    );
}

#[tokio::test]
async fn a_link_in_the_workspace_is_no_grant() {
    let bench = Bench::new();
    let link = |name: &str, to: &Path| symlink(to, bench.folder.path().join(name)).unwrap();
    link("rm", Path::new("/bin/cat"));
    link("cat", Path::new("/bin/cat"));
    // Another name of a granted file: it could be another program.
    assert_eq!(
        bench.run(argv(&["./rm"])).await.unwrap_err().reason,
        "unauthorized"
    );
    assert_eq!(
        bench.run(argv(&["./cat"])).await.unwrap().ending,
        Ending::Exited(0)
    );
}
