use std::{fs, os::unix::fs::symlink};

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::policy::Verdict;

/// A home with Toolgate's folders in `own`, and a project with a `workspace`.
struct Place {
    _root: TempDir,
    project: PathBuf,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(project.join("workspace/src")).unwrap();
        fs::create_dir_all(project.parent().unwrap().join("own/config")).unwrap();
        Self {
            _root: root,
            project,
        }
    }

    fn own(&self, name: &str) -> PathBuf {
        self.project.parent().unwrap().join("own").join(name)
    }

    fn request(&self) -> Request {
        Request {
            explicit: None,
            start: self.project.clone(),
            env: Vec::new(),
            dirs: Dirs {
                config: self.own("config"),
                data: self.own("data"),
                cache: self.own("cache"),
            },
        }
    }

    fn named(&self, text: &str) -> Request {
        fs::write(self.project.join("named.toml"), text).unwrap();
        Request {
            explicit: Some("named.toml".into()),
            ..self.request()
        }
    }

    fn load(&self, text: &str) -> Result<Config, ConfigError> {
        Config::load(&self.named(text))
    }

    /// The error's text with the project's folder as `$P`, its parent as `$R`.
    fn refusal(&self, text: &str) -> String {
        let error = self.load(text).expect_err("it was taken");
        self.short(&error.to_string())
    }

    fn short(&self, text: &str) -> String {
        let project = self.project.display().to_string();
        let root = self.project.parent().unwrap().display().to_string();
        text.replace(&project, "$P").replace(&root, "$R")
    }
}

/// The table with what is said about each of its files now.
fn bad_files_now(cases: &str) -> String {
    let place = Place::new();
    fs::write(place.project.join("file"), "").unwrap();
    let mut shown = String::new();
    for case in cases.split("=== ").skip(1) {
        let (title, rest) = case.split_once('\n').unwrap();
        let (text, _) = rest.split_once("---\n").unwrap();
        let refusal = place.refusal(text);
        shown.push_str(&format!("=== {title}\n{text}---\n{refusal}\n"));
    }
    shown
}

/// Each bad file and all that is said about it.
#[test]
fn bad_files() {
    let cases = include_str!("bad-files.txt");
    let shown = bad_files_now(cases);
    for (have, want) in shown.split("=== ").zip(cases.split("=== ")) {
        assert_eq!(have, want);
    }
    assert_eq!(shown, cases);
}

#[test]
#[ignore = "writes the table anew: read the difference before it is committed"]
fn rewrite_bad_files() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/config/bad-files.txt");
    let cases = fs::read_to_string(path).unwrap();
    fs::write(path, bad_files_now(&cases)).unwrap();
}

#[test]
fn a_whole_file() {
    let place = Place::new();
    fs::create_dir(place.project.join("reference")).unwrap();
    let config = place
        .load(
            r#"
[host]
data_dir = "../own/elsewhere"
plugin_dir = "plugins"
file_io = "pool"
queue_timeout = 1.5
acts_as = { cli = "anna" }
[host.limits]
timeout = "20s"
memory = "1GiB"
[plugins.files]
grants.fs = [
  { host = "workspace", mode = "rw" },
  { host = "reference", guest = "/src", mode = "ro" },
]
limits.result = 4096
tools.files_grep.limits.timeout = "40s"
[plugins.cmd]
limits.timeout = "30s"
grants.process = { programs = ["git", "/usr/bin/ls"], env = ["PATH"], cwd = ["workspace"], output = "64KiB" }
tools.cmd_run.parallel_safe = [{ when = [{ at = "/argv/0", equals = "ls" }] }]
[plugins.weather]
source = "weather.wasm"
max_concurrent = 4
grants = { env = { UNITS = "metric" }, tools = ["files_*"] }
settings = { city = "Oslo", since = 2026-01-01 }
[principals.anna]
kind = "user"
allow = ["*"]
[principals.assistant]
kind = "agent"
allow = ["files_*"]
deny = [{ tool = "files_*", when = [{ at = "/path", glob = "**/.env" }] }]
otherwise = "ask"
allowed_outputs = ["team"]
[outputs.team]
kind = "webhook"
url = "https://hooks.example.test/x"
token_env = "TEAM"
[outputs.log]
kind = "file"
path = "log.txt"
[audit]
arguments = "redacted"
keep = 3
"#,
        )
        .unwrap();
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    assert_eq!(config.host.data_dir, place.own("elsewhere"));
    assert_eq!(config.host.plugin_dir, Some(place.project.join("plugins")));
    assert_eq!(config.host.queue_timeout, Duration::from_millis(1_500));
    assert_eq!(config.audit.path, place.own("elsewhere/audit/audit.jsonl"));
    assert_eq!(
        config.outputs["log"],
        OutputConfig::File {
            path: place.project.join("log.txt")
        }
    );

    let files = config.plugin("files");
    let guests: Vec<&str> = files
        .grants
        .fs
        .iter()
        .map(|grant| grant.guest.as_str())
        .collect();
    let workspace = place.project.join("workspace");
    assert_eq!(guests, [workspace.to_str().unwrap(), "/src"]);
    assert_eq!(files.limits.memory, 1 << 30);
    assert_eq!(files.limits.result, 4_096);
    // The host's default does not beat what a tool declares; a tool's own section does.
    assert!(!files.tool("files_read").timeout_set);
    let grep = files.tool("files_grep");
    assert!(grep.timeout_set);
    assert_eq!(
        (grep.limits.timeout, grep.limits.result),
        (Duration::from_secs(40), 4_096)
    );
    let run = config.plugin("cmd").tool("cmd_run");
    assert!(run.timeout_set);
    assert!(
        run.parallel_safe
            .unwrap()
            .applies(false, &json!({}), &json!({"argv": ["ls"]}))
    );
    assert_eq!(config.plugin("cmd").grants.process.unwrap().output, 65_536);
    let weather = config.plugin("weather");
    assert_eq!(
        weather.source,
        Some(Source::Path(place.project.join("weather.wasm")))
    );
    assert_eq!(
        weather.settings,
        json!({"city": "Oslo", "since": "2026-01-01"})
    );
    assert_eq!(config.plugin("unnamed").source, None);
    assert!(config.plugin("unnamed").grants.fs.is_empty());

    let assistant = config.policy.principal("assistant").unwrap();
    let decide = |path: &str| {
        let arguments = json!({ "path": path });
        config.policy.decide(
            &assistant,
            "files_read",
            &json!({}),
            &arguments,
            &files.grants.fs,
        )
    };
    assert!(matches!(decide("a"), Verdict::Allow { .. }));
    let verdict = decide("src/../.env");
    assert!(
        matches!(verdict, Verdict::Deny { rule, .. } if rule == "principals.assistant.deny[0]")
    );
    assert!(config.policy.principal("local").is_some());
}

#[test]
fn the_starter_loads_as_it_is() {
    let place = Place::new();
    assert!(place.project.join(WORKSPACE).is_dir());
    let config = place.load(STARTER).unwrap();
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    let assistant = config.policy.principal("assistant").unwrap();
    let roots = config.plugin("files").grants.fs;
    let said = |tool: &str, path: &str| {
        let arguments = json!({ "path": path });
        match config
            .policy
            .decide(&assistant, tool, &json!({}), &arguments, &roots)
        {
            Verdict::Allow { .. } => "allow",
            Verdict::Ask { .. } => "ask",
            Verdict::Deny { .. } => "deny",
        }
    };
    for (tool, path, want) in [
        ("files_read", "a", "allow"),
        ("files_write", "vendor/sub/.git/hooks/pre-commit", "ask"),
        ("files_mkdir", ".git", "ask"),
        ("files_write", "./.GIT/config", "ask"),
        ("files_read", "a/.env", "deny"),
        ("files_delete", "a", "ask"),
        ("cmd_run", "a", "ask"),
    ] {
        assert_eq!(said(tool, path), want, "{tool} {path}");
    }
    // What is commented out is right too.
    let open = STARTER
        .replace("# [plugins", "[plugins")
        .replace("# programs", "programs");
    let open = open
        .replace("# env =", "env =")
        .replace("# cwd", "cwd")
        .replace("# { tool", "{ tool");
    let config = place.load(&open).unwrap();
    assert_eq!(
        config.plugin("cmd").grants.process.unwrap().programs,
        ["git", "ls"]
    );
}

#[test]
fn a_folder_named_through_a_link_is_reached_by_both_names() {
    let place = Place::new();
    let link = place.project.join("link");
    symlink(place.project.join("workspace"), &link).unwrap();
    let grants = |host: &str| {
        let text = format!("[plugins.files.grants]\nfs = [{{ host = {host:?}, mode = \"rw\" }}]\n");
        place.load(&text).unwrap().plugin("files").grants.fs
    };
    let real = place.project.join("workspace");
    let plain = grants("./workspace/");
    assert_eq!(plain.len(), 1);
    assert_eq!(plain[0].guest, real.to_str().unwrap());
    let both = grants("link/");
    let guests: Vec<&str> = both.iter().map(|grant| grant.guest.as_str()).collect();
    assert_eq!(guests, [real.to_str().unwrap(), link.to_str().unwrap()]);
    assert!(both.iter().all(|grant| grant.host == real));
}

#[test]
fn toolgates_own_folders_are_not_granted_through_links_or_code() {
    let place = Place::new();
    fs::create_dir_all(place.own("data/trust")).unwrap();
    symlink(place.own("data"), place.project.join("innocent")).unwrap();
    let grant = |host: &str, mode: &str| {
        format!("[plugins.files.grants]\nfs = [{{ host = {host:?}, mode = {mode:?} }}]\n")
    };
    let text = place.refusal(&grant("innocent", "ro"));
    assert!(
        text.contains("$R/own/data lies within Toolgate's own data folder"),
        "{text}"
    );
    // A data folder that the file names does not free the one where trust is recorded.
    let moved = format!(
        "[host]\ndata_dir = \"other\"\n{}",
        grant("../own/data", "rw")
    );
    let text = place.refusal(&moved);
    assert!(text.contains("own trust store"), "{text}");
    // Code that a plugin could change would inherit another plugin's grants.
    let code = format!(
        "[plugins.x]\nsource = \"workspace/x.wasm\"\n{}",
        grant("workspace", "rw")
    );
    let text = place.refusal(&code);
    assert!(
        text.contains("own plugin file $P/workspace/x.wasm"),
        "{text}"
    );
    assert!(place.load(&code.replace("\"rw\"", "\"ro\"")).is_ok());
    let audit = format!(
        "[audit]\npath = \"workspace/a.jsonl\"\n{}",
        grant("workspace", "ro")
    );
    let text = place.refusal(&audit);
    assert!(text.contains("own audit log"), "{text}");
}

#[test]
fn toolgates_own_folders_may_lie_behind_links_themselves() {
    let place = Place::new();
    symlink(place.project.join("workspace"), place.own("data")).unwrap();
    let text = place
        .refusal("[plugins.files.grants]\nfs = [{ host = \"workspace/src\", mode = \"ro\" }]\n");
    assert!(
        text.contains("$P/workspace/src lies within Toolgate's own data folder"),
        "{text}"
    );

    let place = Place::new();
    fs::remove_dir(place.own("config")).unwrap();
    symlink(place.project.join("workspace"), place.own("config")).unwrap();
    let text =
        place.refusal("[plugins.files.grants]\nfs = [{ host = \"workspace\", mode = \"rw\" }]\n");
    assert!(
        text.contains("own configuration folder $P/workspace"),
        "{text}"
    );
}

#[test]
fn the_default_timeout_bows_to_the_operators_maximum() {
    let place = Place::new();
    let config = place.load("[host]\nmax_timeout = \"10s\"\n").unwrap();
    assert_eq!(config.host.limits.timeout, Duration::from_secs(10));
    assert_eq!(
        config.plugin("files").limits.timeout,
        Duration::from_secs(10)
    );
}

#[test]
fn without_a_file_the_working_folder_is_read_unless_it_holds_our_own() {
    let place = Place::new();
    let config = Config::load(&place.request()).unwrap();
    let grant = FsGrant {
        host: place.project.clone(),
        guest: place.project.display().to_string(),
        writable: false,
    };
    assert_eq!(config.plugin("files").grants.fs, [grant]);
    assert!(config.plugin("cmd").grants.process.is_none());
    assert!(config.warnings.is_empty());
    let local = config.policy.principal("local").unwrap();
    assert!(config.policy.may_see(&local, "files_read"));

    let home = place.project.parent().unwrap();
    let config = Config::embedded_default(home, &place.request().dirs);
    assert!(config.plugin("files").grants.fs.is_empty());
    assert!(
        config.warnings[0].contains("holds Toolgate's own folders"),
        "{:?}",
        config.warnings
    );
}

#[test]
fn the_environment_overrides_and_is_checked() {
    let place = Place::new();
    let load = |file: Option<&str>, pairs: &[(&str, &str)]| {
        let request = file.map_or_else(|| place.request(), |text| place.named(text));
        let env = pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        Config::load(&Request { env, ..request })
    };
    let file = Some("[host]\nmax_depth = 3\nqueue_timeout = \"5s\"\n");
    let config = load(
        file,
        &[
            ("TOOLGATE_HOST_MAX_DEPTH", "4"),
            ("TOOLGATE_HOST_LIMITS_TIMEOUT", "7s"),
            ("TOOLGATE_HOST_PLUGIN_DIR", "7"),
            ("TOOLGATE_HOST_FILE_IO", ""),
            ("TOOLGATE_LOG", "debug"),
            ("PATH", "/bin"),
        ],
    )
    .unwrap();
    assert_eq!(config.host.max_depth, 4);
    assert_eq!(config.host.queue_timeout, Duration::from_secs(5));
    assert_eq!(config.host.limits.timeout, Duration::from_secs(7));
    assert_eq!(config.host.plugin_dir, Some(place.project.join("7")));
    let source = |key: &str| {
        let one = config.explain().iter().find(|one| one.key == key).unwrap();
        (one.value.clone(), place.short(&one.source))
    };
    assert_eq!(
        source("host.max_depth"),
        ("4".into(), "TOOLGATE_HOST_MAX_DEPTH".into())
    );
    assert_eq!(
        source("host.queue_timeout"),
        ("\"5s\"".into(), "$P/named.toml:3".into())
    );
    assert_eq!(
        source("host.max_timeout"),
        ("\"600s\"".into(), "default".into())
    );

    let error = |file, pairs: &[(&str, &str)]| load(file, pairs).unwrap_err().to_string();
    assert_eq!(
        error(None, &[("TOOLGATE_HOST_MAX_DEPHT", "4")]),
        "error: unknown variable TOOLGATE_HOST_MAX_DEPHT\n  --> environment variable \
         TOOLGATE_HOST_MAX_DEPHT\nhint: did you mean `TOOLGATE_HOST_MAX_DEPTH`?"
    );
    for file in [None, file] {
        assert_eq!(
            error(file, &[("TOOLGATE_HOST_FILE_IO", "inlin")]),
            "error: host.file_io: unknown value `inlin`\n  --> environment variable \
             TOOLGATE_HOST_FILE_IO\nhint: did you mean `inline`?"
        );
        let unknown = error(file, &[("TOOLGATE_HOST_ACTS_AS_CLI", "nobody")]);
        assert!(
            unknown.contains("environment variable TOOLGATE_HOST_ACTS_AS_CLI"),
            "{unknown}"
        );
    }
}

#[test]
fn secrets_are_not_explained_and_grants_are_described() {
    let place = Place::new();
    let config = place
        .load("[plugins.files.grants]\nenv = { TOKEN = \"hush\" }\nfs = [{ host = \"workspace\", guest = \"/w\\u001b[2J\", mode = \"rw\" }]\n")
        .unwrap();
    let explained = format!("{:?}", config.explain());
    assert!(!explained.contains("hush"), "{explained}");
    let lines = place.short(&config.describe().join("\n"));
    assert_eq!(
        lines,
        "plugin files reads and writes $P/workspace (as /w\\u{1b}[2J)\n\
         plugin files is given the variables TOKEN\n\
         principal local (user): allow *; deny everything else; send to *\n\
         the command line acts as local\n\
         calls are logged in $R/own/data/audit/audit.jsonl"
    );
}

#[test]
fn what_cannot_be_a_configuration_is_not_read() {
    let place = Place::new();
    let named = |name: &str| {
        let request = Request {
            explicit: Some(name.into()),
            ..place.request()
        };
        Config::load(&request).unwrap_err().to_string()
    };
    assert!(named("none.toml").contains("no such configuration file"));
    assert!(named("workspace").contains("not a regular file"));
    let pipe = place.project.join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    assert!(named("pipe").contains("not a regular file"));
    fs::write(place.project.join("huge"), " ".repeat((1 << 20) + 1)).unwrap();
    assert!(named("huge").contains("larger than 1 MiB"));
    fs::write(place.project.join("latin"), b"x = \"\xe9\"").unwrap();
    assert!(named("latin").contains("not UTF-8, at byte 5"));
}

mod trusted {
    use super::*;

    const READS: &str = "[plugins.files.grants]\nfs = [{ host = \"workspace\", mode = \"ro\" }]\n";

    fn said(place: &Place, request: &Request) -> String {
        match Config::load(request) {
            Ok(_) => "used".to_owned(),
            Err(error) => place.short(&error.to_string()),
        }
    }

    fn trust(request: &Request) {
        Config::examine(request).unwrap().unwrap().trust().unwrap();
    }

    #[test]
    fn a_file_found_upward_is_used_only_as_it_was_trusted() {
        let place = Place::new();
        let file = place.project.join(FILE_NAME);
        fs::write(&file, READS).unwrap();
        let request = Request {
            start: place.project.join("workspace/src"),
            ..place.request()
        };
        assert_eq!(
            said(&place, &request),
            "error: this configuration is not trusted, so nothing in it is used\n  --> \
             $P/toolgate.toml\nhint: `toolgate trust` shows what it grants and records it"
        );
        trust(&request);
        assert_eq!(said(&place, &request), "used");

        fs::write(&file, READS.replace("\"ro\"", "\"rw\"")).unwrap();
        assert!(said(&place, &request).contains("has changed since it was trusted"));
        let examined = Config::examine(&request).unwrap().unwrap();
        assert!(!examined.usable);
        assert_eq!(
            difference(&examined.before.unwrap().text, &examined.text).len(),
            2
        );
        fs::write(&file, READS).unwrap();
        assert_eq!(said(&place, &request), "used");
    }

    #[test]
    fn a_file_that_is_not_trusted_is_not_even_read_for_errors() {
        let place = Place::new();
        fs::write(place.project.join(FILE_NAME), "nonsense = [").unwrap();
        assert!(said(&place, &place.request()).contains("not trusted"));
    }

    #[test]
    fn the_same_text_elsewhere_is_another_file() {
        let place = Place::new();
        fs::write(place.project.join(FILE_NAME), READS).unwrap();
        trust(&place.request());
        let other = place.project.join("workspace/src");
        fs::create_dir(other.join("workspace")).unwrap();
        fs::write(other.join(FILE_NAME), READS).unwrap();
        let request = Request {
            start: other,
            ..place.request()
        };
        assert!(said(&place, &request).contains("not trusted"));
    }

    #[test]
    fn a_granted_folder_that_leads_elsewhere_undoes_trust() {
        let place = Place::new();
        fs::write(place.project.join(FILE_NAME), READS).unwrap();
        trust(&place.request());
        let elsewhere = place.project.join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::rename(place.project.join("workspace"), place.project.join("old")).unwrap();
        symlink(&elsewhere, place.project.join("workspace")).unwrap();
        assert!(said(&place, &place.request()).contains("leads elsewhere"));
    }

    #[test]
    fn the_environment_moves_where_trust_is_recorded() {
        let place = Place::new();
        fs::write(place.project.join(FILE_NAME), READS).unwrap();
        let elsewhere = place.own("elsewhere").display().to_string();
        let moved = Request {
            env: vec![("TOOLGATE_HOST_DATA_DIR".to_owned(), elsewhere)],
            ..place.request()
        };
        trust(&moved);
        assert_eq!(said(&place, &moved), "used");
        assert!(place.own("elsewhere/trust").is_dir());
        assert!(said(&place, &place.request()).contains("not trusted"));
    }

    /// A repository cannot bring its own record along.
    #[test]
    fn the_file_does_not_choose_where_its_trust_is_recorded() {
        let place = Place::new();
        let text = format!("[host]\ndata_dir = \"data\"\n{READS}");
        let file = place.project.join(FILE_NAME);
        fs::write(&file, &text).unwrap();
        let forged = TrustStore::new(place.project.join("data/trust"));
        forged
            .record(&file, &text, &[place.project.join("workspace")])
            .unwrap();
        assert!(said(&place, &place.request()).contains("not trusted"));
    }

    #[test]
    fn the_users_own_and_a_named_file_need_no_trust_unless_they_grant_themselves() {
        let place = Place::new();
        fs::write(place.own("config/toolgate.toml"), "[host]\nmax_depth = 3\n").unwrap();
        assert_eq!(said(&place, &place.request()), "used");
        // Also from inside the configuration folder itself.
        let inside = Request {
            start: place.own("config"),
            ..place.request()
        };
        assert_eq!(said(&place, &inside), "used");

        let own = "[plugins.files.grants]\nfs = [{ host = \".\", mode = \"rw\" }]\n";
        let named = place.named(own);
        assert!(said(&place, &named).contains("not trusted"));
        trust(&named);
        assert_eq!(said(&place, &named), "used");
        assert_eq!(
            said(&place, &place.named(&own.replace("\"rw\"", "\"ro\""))),
            "used"
        );
    }

    #[test]
    fn a_link_to_the_file_in_a_writable_folder_needs_trust() {
        let place = Place::new();
        let text = "[plugins.files.grants]\nfs = [{ host = \"workspace\", mode = \"rw\" }]\n";
        let request = place.named(text);
        assert_eq!(said(&place, &request), "used");
        symlink(
            place.project.join("named.toml"),
            place.project.join("workspace/link.toml"),
        )
        .unwrap();
        let through = Request {
            explicit: Some("workspace/link.toml".into()),
            ..request
        };
        assert!(said(&place, &through).contains("not trusted"));
    }
}
