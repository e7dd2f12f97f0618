//! `toolgate seq` as its users meet it: exit codes, the report, and a program without any
//! configuration.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

use crate::world::PROGRAM;

struct User {
    _folder: tempfile::TempDir,
    home: PathBuf,
    work: PathBuf,
}

impl User {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (home, work) = (root.join("home"), root.join("work"));
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(&work).unwrap();
        Self {
            _folder: folder,
            home,
            work,
        }
    }

    fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let Output {
            status,
            stdout,
            stderr,
        } = Command::new(PROGRAM)
            .env_clear()
            .env("HOME", &self.home)
            .env("TOOLGATE_HOST_CACHE_DIR", env!("CARGO_TARGET_TMPDIR"))
            .env("PATH", "/usr/bin:/bin")
            .current_dir(&self.work)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (status.code(), text(stdout), text(stderr))
    }

    fn document(&self, file: &str, groups: &Value) {
        let document = json!({ "name": file, "groups": groups });
        fs::write(self.work.join(format!("{file}.json")), document.to_string()).unwrap();
    }
}

fn list(path: &str) -> String {
    let item = json!({ "tool": "files_list", "args": { "path": path }, "as": "x" });
    format!(
        "{item} ; {} ;",
        json!({ "tool": "files_stat", "args": { "path": "." }, "as": "y" })
    )
}

#[test]
fn without_any_configuration_a_sequence_does_what_its_caller_may() {
    let user = User::new();
    let out = json!({ "x": "object", "y": "object" });
    user.document(
        "ok",
        &json!([{ "name": "look", "out": out, "tools": list(".") }]),
    );
    user.document(
        "bad",
        &json!([
            { "name": "look", "out": out, "tools": list("nowhere") },
            { "name": "later", "tools": list("."), "out": out },
        ]),
    );
    let (code, printed, errors) = user.run(&["seq", "create", "ok.json"]);
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{printed}");
    assert!(
        printed.starts_with("created ok: 1 group, inputs: none"),
        "{printed}"
    );
    let (code, printed, _) = user.run(&["seq", "run", "ok"]);
    assert_eq!(code, Some(0), "{printed}");
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0].starts_with("ok: ok, 1 group, "), "{printed}");
    assert!(
        lines[1].starts_with("  look  ok  ") && lines[1].ends_with("  parallel"),
        "{printed}"
    );
    assert!(
        lines[2].starts_with("    ┌ files_list  ok  ")
            && lines[3].starts_with("    └ files_stat  ok  "),
        "{printed}"
    );
    assert!(!printed.contains('\u{1b}'), "a pipe gets plain text");

    user.run(&["seq", "create", "bad.json"]);
    let (code, printed, errors) = user.run(&["seq", "run", "bad"]);
    assert_eq!(code, Some(1));
    assert!(
        printed.contains("files_list  failed  ")
            && printed.contains("later  skipped  (not reached"),
        "{printed}"
    );
    assert!(
        errors.contains("error: group `look`, item 0 (`files_list`): path: `")
            && errors.contains("nowhere` does not exist"),
        "{errors}"
    );
    let (code, printed, _) = user.run(&["seq", "run", "bad", "--json"]);
    let result: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(
        (code, &result["value"]["status"]),
        (Some(1), &json!("failed"))
    );
}

#[test]
fn exit_codes_tell_what_happened() {
    let user = User::new();
    user.document("ok", &json!([{ "name": "look", "in": { "n": "integer" }, "tools": "{\"tool\":\"files_list\",\"args\":{\"limit\":\"$args.n\"}} ;" }]));
    fs::write(user.work.join("latin.json"), b"\xe9").unwrap();
    assert_eq!(user.run(&["seq", "create", "ok.json"]).0, Some(0));
    for (arguments, code, words) in [
        (
            &["seq", "create", "none.json"][..],
            2,
            "cannot read none.json",
        ),
        (&["seq", "create", "latin.json"], 2, "not UTF-8"),
        (
            &["seq", "run", "ok", "n=1", "x"],
            2,
            "neither JSON nor key=value",
        ),
        (&["seq", "run", "ok", "n=one"], 1, "no integer"),
        (&["seq", "run", "ok", "m:=1"], 1, "no input `m`"),
        (
            &["seq", "run", "nothing"],
            1,
            "there is no sequence `nothing`",
        ),
        (&["seq", "show", "../x"], 1, "is no name"),
        (&["seq", "delete", "nothing"], 1, "there is no sequence"),
        (
            &["seq", "run", "ok", "--as", "nobody"],
            2,
            "no principal `nobody`",
        ),
        (&["seq"], 2, "Usage"),
    ] {
        let (exit, _, errors) = user.run(arguments);
        assert_eq!(exit, Some(code), "{arguments:?}: {errors}");
        assert!(errors.contains(words), "{arguments:?}: {errors}");
    }
    assert_eq!(user.run(&["seq", "run", "ok", "n=1"]).0, Some(0));
    let (code, printed, _) = user.run(&["seq", "show", "ok"]);
    fs::write(
        user.work.join("again.json"),
        printed.replace("\"ok\"", "\"again\""),
    )
    .unwrap();
    assert_eq!(
        (code, user.run(&["seq", "create", "again.json"]).0),
        (Some(0), Some(0))
    );
    let (_, printed, _) = user.run(&["seq", "list"]);
    assert_eq!(printed.lines().count(), 2, "{printed}");
    assert_eq!(user.run(&["seq", "delete", "again"]).0, Some(0));
    // What is denied is denied here too.
    fs::write(
        user.work.join("strict.toml"),
        "[principals.local]\nkind = \"user\"\nallow = [\"seq_list\"]\n",
    )
    .unwrap();
    for (verb, code) in [(&["seq", "run", "ok", "n=1"][..], 3), (&["seq", "list"], 0)] {
        let arguments = [&["--config", "strict.toml"], verb].concat();
        assert_eq!(user.run(&arguments).0, Some(code), "{verb:?}");
    }
}
