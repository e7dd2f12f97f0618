use std::{fs, os::unix::fs::PermissionsExt as _, os::unix::fs::symlink};

use super::*;

/// `bin/many` is one file with two more names, as a multi-call binary has; `bin/tool` is
/// a program; `bin/plain` is none. `work` is the folder that commands run in.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(place.path("bin")).unwrap();
        fs::create_dir(place.path("work")).unwrap();
        for (name, mode) in [("many", 0o755), ("tool", 0o755), ("plain", 0o644)] {
            let file = place.path("bin").join(name);
            fs::write(&file, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        }
        for name in ["list", "delete"] {
            symlink("many", place.path("bin").join(name)).unwrap();
        }
        place
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(below)
    }

    fn text(&self, below: &str) -> String {
        self.path(below).to_str().unwrap().into()
    }

    fn resolve(&self, name: &str, granted: &[&str]) -> Result<PathBuf, String> {
        let granted: Vec<String> = granted.iter().map(|&entry| entry.into()).collect();
        resolve(name, &granted, &self.text("bin"), &self.path("work"))
            .map_err(|error| error.reason.into_owned())
    }
}

fn no<T>(reason: &str) -> Result<T, String> {
    Err(reason.into())
}

#[test]
fn what_is_not_granted_is_refused_whether_or_not_it_exists() {
    let place = Place::new();
    let bin = place.text("bin/tool");
    for name in [
        "tool",
        &bin,
        "../bin/tool",
        "/no/such/file",
        "none",
        "/",
        ".",
        "..",
        "tool ",
        " tool",
        "tool;",
    ] {
        assert_eq!(place.resolve(name, &["list"]), no("unauthorized"), "{name}");
        assert_eq!(place.resolve(name, &[]), no("unauthorized"), "{name}");
    }
}

#[test]
fn a_grant_is_no_beginning_of_a_line() {
    let place = Place::new();
    for name in [
        "tool --help",
        "tool\ntouch x",
        "toolbox",
        "tool; touch x",
        "FOO=1 tool",
    ] {
        assert_eq!(place.resolve(name, &["tool"]), no("unauthorized"), "{name}");
    }
    // Nor does a line in the grant let its first word through.
    assert_eq!(place.resolve("tool", &["tool --help"]), no("unauthorized"));
}

#[test]
fn the_same_file_by_another_way_is_granted() {
    let place = Place::new();
    let path = place.path("bin/tool");
    let text = place.text("bin/tool");
    symlink("../bin/tool", place.path("work/tool")).unwrap();
    for granted in ["tool", &text] {
        for name in [
            "tool",
            &text,
            "../bin/tool",
            "./tool",
            &place.text("work/../bin/tool"),
        ] {
            assert_eq!(
                place.resolve(name, &[granted]),
                Ok(path.clone()),
                "{name} under {granted}"
            );
        }
    }
}

#[test]
fn another_name_of_the_same_file_is_another_program() {
    let place = Place::new();
    assert_eq!(place.resolve("list", &["list"]), Ok(place.path("bin/list")));
    symlink("../bin/many", place.path("work/tool")).unwrap();
    for name in ["delete", "many", &place.text("bin/many"), "./tool"] {
        assert_eq!(place.resolve(name, &["list"]), no("unauthorized"), "{name}");
    }
}

#[test]
fn a_file_of_the_same_name_is_another_program() {
    let place = Place::new();
    fs::copy(place.path("bin/tool"), place.path("work/tool")).unwrap();
    assert_eq!(place.resolve("./tool", &["tool"]), no("unauthorized"));
    assert_eq!(
        place.resolve("./tool", &["./tool"]),
        no("not_found"),
        "a relative grant grants nothing"
    );
}

#[test]
fn what_is_granted_but_not_there_says_so() {
    let place = Place::new();
    assert_eq!(place.resolve("none", &["none"]), no("not_found"));
    assert_eq!(
        place.resolve("/no/such/file", &["/no/such/file"]),
        no("not_found")
    );
    assert_eq!(place.resolve("plain", &["plain"]), no("not_executable"));
    let folder = place.text("work");
    assert_eq!(place.resolve(&folder, &[&folder]), no("not_found"));
}

#[test]
fn relative_folders_of_the_search_path_are_passed_over() {
    let place = Place::new();
    fs::copy(place.path("bin/tool"), place.path("work/here")).unwrap();
    let granted = vec!["here".to_owned()];
    for search in ["", ".", ":", "work"] {
        assert!(
            resolve("here", &granted, search, &place.path("work")).is_err(),
            "{search:?}"
        );
    }
}

#[test]
fn the_search_path_is_the_hosts_only_where_it_is_granted() {
    let host = [("PATH".to_owned(), "/opt/bin".to_owned())];
    let mut grant = ProcessGrant::default();
    assert_eq!(search_path(&grant, &host), DEFAULT_PATH);
    grant.env.push("PATH".into());
    assert_eq!(search_path(&grant, &host), "/opt/bin");
    assert_eq!(search_path(&grant, &[]), DEFAULT_PATH);
}

#[test]
fn an_error_lists_what_is_granted_and_stays_short() {
    let granted: Vec<String> = (0..30).map(|n| format!("p{n}")).collect();
    let error = resolve(&"x".repeat(10_000), &granted, "", Path::new("/")).unwrap_err();
    assert!(error.to_string().len() < 1_000);
    assert!(error.hint.unwrap().contains("p0, p1, "));
}
