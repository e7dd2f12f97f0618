//! The documentation, run: every command in it, every configuration in it, and the plugin
//! that it begins with. What it says about things that cannot be run stays a promise.
//!
//! In a `console` block a line that begins with `$ ` is a command (lines with `> ` go on
//! with it) and the others are what it prints: each has to be there, in that order. `…`
//! stands for what was left out. Programs print to a pipe here, so columns may be apart by
//! other white space, and headings are not there to be found.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::json;
use toolgate::config::{Config, Dirs, Request};

use crate::world::{PROGRAM, value, world};

/// Fewer than these are there only if the blocks are no longer found.
const COMMANDS: usize = 35;
const CONFIGURATIONS: usize = 4;

/// Longest plugin that may call itself a hello world, in lines.
const HELLO: usize = 12;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The README and all of `docs/`, by name.
fn pages() -> Vec<(String, String)> {
    let mut files = vec![repository().join("README.md")];
    let docs = fs::read_dir(repository().join("docs")).unwrap();
    files.extend(
        docs.map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "md")),
    );
    files.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    files.into_iter().map(read).collect()
}

/// A fenced block: the word behind the fence, the line where it begins, and its text.
struct Block<'t> {
    kind: &'t str,
    line: usize,
    lines: Vec<&'t str>,
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<Block<'_>> = None;
    for (i, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(kind), None) => {
                open = Some(Block {
                    kind,
                    line: i + 1,
                    lines: Vec::new(),
                });
            }
            (None, Some(block)) => block.lines.push(line),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

struct Step<'t> {
    command: String,
    prints: Vec<&'t str>,
}

fn steps<'t>(block: &Block<'t>) -> Vec<Step<'t>> {
    let mut steps: Vec<Step<'t>> = Vec::new();
    for line in &block.lines {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                command: command.to_owned(),
                prints: Vec::new(),
            });
        } else if let Some(step) = steps.last_mut() {
            match line.strip_prefix("> ") {
                Some(more) if step.prints.is_empty() => {
                    step.command.push('\n');
                    step.command.push_str(more);
                }
                _ => step.prints.push(line),
            }
        }
    }
    steps
}

/// A reader who follows one page, in a home of its own.
struct Reader {
    _folder: tempfile::TempDir,
    home: PathBuf,
    cwd: PathBuf,
}

impl Reader {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap().join("you");
        fs::create_dir_all(home.join("bin")).unwrap();
        std::os::unix::fs::symlink(PROGRAM, home.join("bin/toolgate")).unwrap();
        // What cargo has built when the pages come to it.
        let built = home.join("hello/target/wasm32-wasip2/release");
        fs::create_dir_all(&built).unwrap();
        fs::write(built.join("hello.wasm"), toolgate_test_guest_bytes::HELLO).unwrap();
        Self {
            cwd: home.clone(),
            home,
            _folder: folder,
        }
    }

    /// Whether it ended with 0, and what it printed, standard output first.
    fn run(&mut self, command: &str) -> (bool, String) {
        let left = self.home.join(".cwd");
        let script = format!("{command}\ncode=$?\npwd > '{}'\nexit $code", left.display());
        let ended = Command::new("/bin/sh")
            .args(["-c", &script])
            .env_clear()
            .env("HOME", &self.home)
            .env("XDG_CONFIG_HOME", self.home.join(".config"))
            .env("XDG_DATA_HOME", self.home.join(".local/share"))
            .env("XDG_CACHE_HOME", self.home.join(".cache"))
            .env(
                "PATH",
                format!("{}/bin:/usr/local/bin:/usr/bin:/bin", self.home.display()),
            )
            .current_dir(&self.cwd)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        if let Ok(cwd) = fs::read_to_string(&left) {
            self.cwd = cwd.trim_end().into();
        }
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let printed = format!("{}\n{}", text(ended.stdout), text(ended.stderr));
        let home = self.home.to_str().unwrap();
        (ended.status.success(), printed.replace(home, "/home/you"))
    }
}

/// Whether a line tells how long or when.
fn is_timed(line: &str) -> bool {
    line.contains(" ms") || line.contains("_ms\"") || has_time(line)
}

/// White space and digests made the same; of a `timed` line all numbers.
fn masked(line: &str, timed: bool) -> String {
    let words = line.split_whitespace().map(|word| mask(word, timed));
    words.collect::<Vec<_>>().join(" ")
}

/// Such as `2026-12-01T02:07:19`.
fn has_time(line: &str) -> bool {
    line.match_indices('T').any(|(at, _)| {
        let digit = |at: usize| line.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        at >= 10 && digit(at - 1) && digit(at + 1) && line.as_bytes()[at - 3] == b'-'
    })
}

fn mask(word: &str, timed: bool) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let hex = rest
            .find(|c: char| !c.is_ascii_digit() && !('a'..='f').contains(&c))
            .unwrap_or(rest.len());
        let number = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        // Shortest digest that is shown.
        if hex >= 12 {
            out.push_str("<digest>");
            rest = &rest[hex..];
        } else if timed && first.is_ascii_digit() {
            out.push('#');
            rest = &rest[number..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

/// The first documented line that was not printed behind the ones before it.
fn missing<'t>(documented: &[&'t str], printed: &str) -> Option<&'t str> {
    let mut printed = printed.lines();
    documented.iter().copied().find(|line| {
        let is_it = |printed: &str| {
            // The time may be in what was cut from the documented line.
            let timed = is_timed(line) || is_timed(printed);
            let (wanted, printed) = (masked(line, timed), masked(printed, timed));
            match wanted.strip_suffix('…') {
                Some(start) => printed.starts_with(start.trim_end()),
                None => printed == wanted,
            }
        };
        !matches!(line.trim(), "" | "…") && !printed.any(is_it)
    })
}

#[test]
fn every_documented_command_does_what_the_page_says() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for (name, text) in pages() {
        let mut reader = Reader::new();
        for block in blocks(&text) {
            let succeeds = match block.kind {
                "console" => true,
                "console,fail" => false,
                kind => {
                    assert!(!kind.starts_with("console"), "{name}: what is {kind:?}?");
                    continue;
                }
            };
            let steps = steps(&block);
            assert!(!steps.is_empty(), "{name}:{}: no command", block.line);
            for step in steps {
                count += 1;
                let (succeeded, printed) = reader.run(&step.command);
                let place = format!("{name}:{}: $ {}", block.line, step.command);
                if succeeded != succeeds {
                    wrong.push(format!("{place}\nsucceeded: {succeeded}\n{printed}"));
                } else if let Some(line) = missing(&step.prints, &printed) {
                    wrong.push(format!("{place}\nnot printed: {line}\nprinted:\n{printed}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
    assert!(count >= COMMANDS, "only {count} commands were found");
}

#[test]
fn every_documented_configuration_loads() {
    let mut count = 0;
    for (name, text) in pages() {
        for block in blocks(&text).iter().filter(|block| block.kind == "toml") {
            count += 1;
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            for granted in ["workspace", "notes", "plugins"] {
                fs::create_dir(root.join(granted)).unwrap();
            }
            let mut config = block.lines.join("\n");
            if !config.contains("[host]") {
                config.insert_str(0, "[host]\nplugin_dir = \"plugins\"\n");
            }
            let file = root.join("toolgate.toml");
            fs::write(&file, &config).unwrap();
            let request = Request {
                explicit: Some(file),
                start: root.clone(),
                env: Vec::new(),
                dirs: Dirs {
                    config: root.join("config"),
                    data: root.join("data"),
                    cache: root.join("cache"),
                },
            };
            let place = format!("{name}:{}", block.line);
            let config = Config::load(&request).unwrap_or_else(|error| panic!("{place}: {error}"));
            assert!(config.warnings.is_empty(), "{place}: {:?}", config.warnings);
        }
    }
    assert!(
        count >= CONFIGURATIONS,
        "only {count} configurations were found"
    );
}

/// By the file that lists the keys: a new key without a word about it is red.
#[test]
fn the_reference_names_every_key() {
    let shape = fs::read_to_string(repository().join("host/src/config/shape.rs")).unwrap();
    let reference = fs::read_to_string(repository().join("docs/operators.md")).unwrap();
    let keys: Vec<&str> = shape
        .lines()
        .filter_map(|line| line.strip_prefix("    pub(super) ")?.split_once(':'))
        .map(|(key, _)| key)
        .filter(|key| !key.contains(' '))
        .collect();
    assert!(keys.len() > 40, "only {} keys were found", keys.len());
    for key in keys {
        let named = [
            format!("`{key}`"),
            format!(".{key}`"),
            format!("`{key}."),
            format!("`[{key}"),
        ];
        assert!(
            named.iter().any(|name| reference.contains(name.as_str())),
            "docs/operators.md says nothing about `{key}`"
        );
    }
}

#[test]
fn every_link_leads_to_a_file() {
    let mut count = 0;
    for (name, text) in pages() {
        let folder = if name == "README.md" { "" } else { "docs" };
        for link in text.split("](").skip(1) {
            let target = link.split([')', '#']).next().unwrap();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            count += 1;
            let file = repository().join(folder).join(target);
            assert!(file.exists(), "{name} links to {target}");
        }
    }
    assert!(count > 5, "only {count} links were found");
}

#[test]
fn the_checks_themselves_can_fail() {
    let printed = "wrote /a\nb\t12.5 ms\t8335185f8db32271fe\nlong line\n";
    for good in [
        &["wrote /a", "…", "b  3 ms  938e4fec7e64"][..],
        &["b 1 ms 938e4fec7e64…", "long…"],
        &[],
    ] {
        assert_eq!(missing(good, printed), None, "{good:?}");
    }
    for (bad, line) in [
        (&["wrote /b"][..], "wrote /b"),
        (&["long line", "wrote /a"], "wrote /a"),
        (&["long"], "long"),
        (&["b 3 s 938e4fec7e64"], "b 3 s 938e4fec7e64"),
    ] {
        assert_eq!(missing(bad, printed), Some(line), "{bad:?}");
    }
    assert!(has_time("at 2026-12-01T02:07:19Z") && !has_time("a-bT1 TEXT"));
    let found = blocks("x\n```console\n$ a \\\n> b\nc\n```\n");
    let found = steps(&found[0]);
    assert_eq!(found[0].command, "a \\\nb");
    assert_eq!(found[0].prints, ["c"]);
}

#[tokio::test]
async fn the_hello_world_is_short_is_the_documented_one_and_answers() {
    let source = repository().join("tests/guests/examples/hello.rs");
    let source = fs::read_to_string(source).unwrap();
    assert!(source.lines().count() <= HELLO, "{source}");
    let page = fs::read_to_string(repository().join("docs/plugin-authors.md")).unwrap();
    let first = blocks(&page).into_iter().find(|block| block.kind == "rust");
    assert_eq!(first.unwrap().lines.join("\n"), source.trim_end());

    let world = world("").start().await;
    let result = world.call("hello", json!({ "name": "Ada" })).await;
    assert_eq!(value(&result), "Hello, Ada!");
    assert_eq!(result.text, "Hello, Ada!");
}
