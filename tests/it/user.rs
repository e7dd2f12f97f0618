//! A user of the program, with a home, a project and nothing of the environment that runs
//! the tests.

use std::{
    fs,
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::world::PROGRAM;

/// Grants a workspace and a shell, and has an agent who may little.
pub(crate) const CONFIG: &str = r#"
[plugins.files.grants]
fs = [{ host = "workspace", mode = "rw" }]
[plugins.cmd.grants.process]
programs = ["sh"]
cwd = ["workspace"]
env = ["PATH"]
[principals.assistant]
kind = "agent"
allow = ["files_*"]
ask = ["files_delete"]
deny = [{ tool = "files_*", when = [{ at = "/path", glob = "**/.env" }] }]
"#;

/// A user with a home, a project and a workspace in it.
pub(crate) struct User {
    _folder: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) project: PathBuf,
    pub(crate) workspace: PathBuf,
}

pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl User {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let project = root.join("project");
        let workspace = project.join("workspace");
        fs::create_dir_all(&workspace).unwrap();
        fs::create_dir(root.join("home")).unwrap();
        Self {
            _folder: folder,
            root,
            project,
            workspace,
        }
    }

    /// With [`CONFIG`], trusted.
    pub(crate) fn configured() -> Self {
        let user = Self::new();
        user.write("toolgate.toml", CONFIG);
        user.run(&["trust", "--yes"]).expect(0);
        user
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.project.join(name), text).unwrap();
    }

    pub(crate) fn program(&self) -> Command {
        let home = self.root.join("home");
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
            .current_dir(&self.project)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        program
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        Ended::of(self.program().args(arguments).output().unwrap())
    }

    pub(crate) fn run_with(&self, arguments: &[&str], stdin: &str) -> Ended {
        let mut child = self
            .program()
            .args(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(stdin.as_bytes())
            .unwrap();
        Ended::of(child.wait_with_output().unwrap())
    }

    pub(crate) fn batch(&self, batch: &Value) -> Ended {
        self.run_with(&["batch", "-", "--json"], &batch.to_string())
    }
}

impl Ended {
    pub(crate) fn of(output: std::process::Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "\nstdout: {}\nstderr: {}",
            self.out,
            self.err
        );
        self
    }

    /// On standard error; standard output has to be empty.
    #[track_caller]
    pub(crate) fn says(&self, lines: &[&str]) {
        assert_eq!(self.out, "", "{}", self.err);
        for line in lines {
            assert!(self.err.contains(line), "{line:?} is not in:\n{}", self.err);
        }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.out, self.err))
    }
}

pub(crate) fn until(what: &str, done: impl Fn() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "{what}: not within a minute"
        );
        std::thread::yield_now();
    }
}
