//! `toolgate doctor`: looks for what does not work, and says what to do. It repairs
//! nothing; of the folders it tests, it makes those that a host would make.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::fs::{Access, access};
use serde::Serialize;

use super::{context::Context, exit::Exit, output::Tone, problem::Problem, token::state};
use crate::{
    Host,
    config::{Config, PluginConfig},
    faces::tokens::Tokens,
    policy::ProcessGrant,
    process::{Ending, Launcher, Program, Request, Shim},
    tool::PluginName,
};

/// For a program that does nothing.
const SHORT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Health {
    Ok,
    Warn,
    Fail,
}

#[derive(Debug, Serialize)]
struct Line {
    health: Health,
    what: String,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[derive(Debug, Default)]
struct Findings(Vec<Line>);

pub(super) async fn perform(cx: &Context<'_>) -> Result<Exit, Problem> {
    let config = Config::load(&cx.request())?;
    let mut findings = Findings::default();
    findings.configuration(&config);
    findings.folders(&config);
    for (name, plugin) in &config.plugins {
        findings.grants(name, plugin, &cx.environment().variables);
    }
    findings.serving(&config);
    findings.shim(&config.host.data_dir).await;
    match cx.host(config).await {
        Ok(host) => findings.host(&host),
        Err(problem) => findings.fail("host", problem.to_string(), "see the lines above"),
    }
    show(cx, &findings.0)
}

fn show(cx: &Context<'_>, lines: &[Line]) -> Result<Exit, Problem> {
    let failed = lines.iter().any(|line| line.health == Health::Fail);
    if cx.out.wants_json() {
        cx.out.json(lines)?;
    } else {
        for line in lines {
            let (word, tone) = match line.health {
                Health::Ok => ("ok  ", Tone::Good),
                Health::Warn => ("warn", Tone::Warning),
                Health::Fail => ("fail", Tone::Bad),
            };
            cx.out
                .toned(tone, &format!("{word}  {}: {}", line.what, line.detail))?;
            if let Some(hint) = &line.hint {
                cx.out.line(&format!("      hint: {hint}"))?;
            }
        }
    }
    Ok(if failed { Exit::Failed } else { Exit::Ok })
}

impl Findings {
    fn add(&mut self, health: Health, what: &str, detail: impl Into<String>, hint: Option<String>) {
        self.0.push(Line {
            health,
            what: what.to_owned(),
            detail: detail.into(),
            hint,
        });
    }

    fn ok(&mut self, what: &str, detail: impl Into<String>) {
        self.add(Health::Ok, what, detail, None);
    }

    fn warn(&mut self, what: &str, detail: impl Into<String>, hint: impl Into<String>) {
        self.add(Health::Warn, what, detail, Some(hint.into()));
    }

    fn fail(&mut self, what: &str, detail: impl Into<String>, hint: impl Into<String>) {
        self.add(Health::Fail, what, detail, Some(hint.into()));
    }

    fn configuration(&mut self, config: &Config) {
        let what = "configuration";
        match &config.path {
            None => self.ok(what, "no file: safe defaults"),
            Some(path) if writable_by_others(path) => self.warn(
                what,
                format!("{} can be changed by others", path.display()),
                format!("chmod go-w '{}'", path.display()),
            ),
            Some(path) => self.ok(what, path.display().to_string()),
        }
        for warning in &config.warnings {
            self.warn(what, warning, "change it if it is not meant so");
        }
    }

    fn folders(&mut self, config: &Config) {
        self.own_folder("data folder", &config.host.data_dir, "host.data_dir");
        self.own_folder(
            "code cache",
            &config.host.cache_dir.join("code"),
            "host.cache_dir",
        );
        let audit = &config.audit.path;
        match appendable(audit) {
            Ok(()) => self.ok("audit log", audit.display().to_string()),
            Err(error) => self.fail(
                "audit log",
                format!("{} cannot be written: {error}", audit.display()),
                "free the disk, or name another file as audit.path",
            ),
        }
        let Some(folder) = &config.host.plugin_dir else {
            return;
        };
        if !folder.is_dir() {
            self.warn(
                "plugin folder",
                format!("there is no folder {}", folder.display()),
                "make it, or leave host.plugin_dir out",
            );
        } else if writable_by_others(folder) {
            self.warn(
                "plugin folder",
                format!("others can put plugins into {}", folder.display()),
                format!("chmod go-w '{}'", folder.display()),
            );
        } else {
            self.ok("plugin folder", folder.display().to_string());
        }
    }

    fn serving(&mut self, config: &Config) {
        let listen = config.serve.listen;
        if !listen.ip().is_loopback() {
            self.warn(
                "serve.listen",
                format!("{listen} can be reached from other machines, and there is no TLS here"),
                "put a proxy with TLS in front of it, or listen on 127.0.0.1",
            );
        }
        let what = "tokens";
        let all = match Tokens::of(&config.host.data_dir).all() {
            Ok(all) => all,
            Err(error) => {
                let hint = "restore the file, or remove it and make new tokens";
                return self.fail(what, format!("nobody can call over HTTP: {error}"), hint);
            }
        };
        let useless = all.iter().filter(|record| state(config, record) != "ok");
        match (all.len(), useless.count()) {
            (0, _) => self.ok(what, "none, so nobody can call over HTTP"),
            (all, 0) => self.ok(what, all.to_string()),
            (all, useless) => self.warn(
                what,
                format!("{useless} of {all} are refused: expired, or without a principal"),
                "`toolgate token list` shows which; `toolgate token revoke` ends them",
            ),
        }
    }

    /// Made as a host makes it, then written to.
    fn own_folder(&mut self, what: &str, folder: &Path, key: &str) {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        if let Err(error) = made.and_then(|()| try_write(folder)) {
            self.fail(
                what,
                format!("{} cannot be written: {error}", folder.display()),
                format!("free the disk, change its owner, or set {key}"),
            );
        } else if readable_by_others(folder) {
            self.warn(
                what,
                format!("others can read {}", folder.display()),
                format!("chmod 700 '{}'", folder.display()),
            );
        } else {
            self.ok(what, folder.display().to_string());
        }
    }

    fn grants(&mut self, name: &PluginName, plugin: &PluginConfig, variables: &[(String, String)]) {
        for grant in &plugin.grants.fs {
            let what = format!("grant of {name}");
            let shown = grant.host.display();
            let wanted = if grant.writable {
                Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK
            } else {
                Access::READ_OK | Access::EXEC_OK
            };
            let verb = if grant.writable {
                "read and written"
            } else {
                "read"
            };
            match access(&grant.host, wanted) {
                Ok(()) => self.ok(&what, format!("{shown} can be {verb}")),
                Err(error) => self.fail(
                    &what,
                    format!("{shown} cannot be {verb}: {error}"),
                    "change its permissions, or the grant",
                ),
            }
        }
        let Some(process) = &plugin.grants.process else {
            return;
        };
        let what = format!("programs of {name}");
        if process.shell {
            self.warn(
                &what,
                "any text runs in a shell, with your rights",
                "grant programs by name if that is enough",
            );
        }
        for program in &process.programs {
            match found(program, process, variables) {
                Some(path) => self.ok(&what, format!("{program} is {}", path.display())),
                None => self.warn(
                    &what,
                    format!("{program} is not found"),
                    "install it, name its absolute path, or grant the variable PATH",
                ),
            }
        }
    }

    /// Runs a program that does nothing, the way that commands are run.
    async fn shim(&mut self, folder: &Path) {
        let what = "commands";
        let Some(program) = ["/bin/true", "/usr/bin/true"]
            .into_iter()
            .find(|path| Path::new(path).exists())
        else {
            self.warn(
                what,
                "not tried: there is no /bin/true",
                "run a granted program through cmd_run",
            );
            return;
        };
        let grant = ProcessGrant {
            programs: vec![program.to_owned()],
            cwd: vec![folder.to_owned()],
            ..ProcessGrant::default()
        };
        let request = Request {
            program: Program::Argv(vec![program.to_owned()]),
            cwd: None,
            env: Vec::new(),
            stdin: None,
            timeout: SHORT,
        };
        match Launcher::new(Shim::CurrentExe)
            .run(&grant, &[], request)
            .await
        {
            Ok(finished) if finished.ending == Ending::Exited(0) => self.ok(
                what,
                "can be started, and are ended with all that they start",
            ),
            Ok(finished) => self.fail(
                what,
                format!("{program} ended as {:?}", finished.ending),
                "try it in a shell; the system is in trouble",
            ),
            Err(error) => self.fail(
                what,
                error.to_string(),
                "keep this program's file in place while it runs",
            ),
        }
    }

    fn host(&mut self, host: &Host) {
        for problem in host.problems() {
            self.warn("plugins", problem, "change the file or the configuration");
        }
        let catalog = host.catalog();
        for (name, entry) in catalog.plugins() {
            let what = format!("plugin {name}");
            let problems = entry.problems.join("; ");
            if entry.plugin.is_none() {
                self.fail(
                    &what,
                    problems,
                    format!(
                        "replace {}, or remove it; `toolgate check` says more",
                        entry.origin
                    ),
                );
            } else if problems.is_empty() {
                self.ok(&what, format!("{} tools", entry.tools.len()));
            } else {
                self.warn(&what, problems, "grant it, or live without it");
            }
        }
    }
}

fn try_write(folder: &Path) -> io::Result<()> {
    let file = folder.join(format!(".doctor-{}", std::process::id()));
    File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&file)?;
    fs::remove_file(&file)
}

fn appendable(file: &Path) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    File::options()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(file)
        .map(|_| ())
}

fn writable_by_others(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.mode() & 0o022 != 0)
}

fn readable_by_others(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.mode() & 0o077 != 0)
}

/// Where commands are looked up when the host's own PATH is not granted.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Where a granted program would be found.
fn found(program: &str, grant: &ProcessGrant, variables: &[(String, String)]) -> Option<PathBuf> {
    let runs = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(runs);
    }
    let granted = grant.env.iter().any(|name| name == "PATH");
    let path = variables.iter().find(|(name, _)| granted && name == "PATH");
    let path = path.map_or(DEFAULT_PATH, |(_, value)| value);
    std::env::split_paths(path)
        .map(|folder| folder.join(program))
        .find(runs)
}
