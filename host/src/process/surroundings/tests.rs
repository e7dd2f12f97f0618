use std::{fs, os::unix::fs::symlink};

use super::*;

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter()
        .map(|&(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn grant(env: &[&str]) -> ProcessGrant {
    ProcessGrant {
        env: env.iter().map(|&name| name.to_owned()).collect(),
        ..ProcessGrant::default()
    }
}

fn reason<T: std::fmt::Debug>(result: Result<T, ToolError>) -> String {
    result.unwrap_err().reason.into_owned()
}

#[test]
fn only_granted_names_come_from_the_host() {
    let host = pairs(&[
        ("LANG", "C"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("LANGUAGE", "y"),
    ]);
    assert_eq!(
        environment(&grant(&["LANG"]), &host, &[]).unwrap(),
        pairs(&[("LANG", "C")])
    );
    assert_eq!(environment(&grant(&[]), &host, &[]).unwrap(), []);
}

#[test]
fn a_request_sets_granted_names_only() {
    let host = pairs(&[("LANG", "C")]);
    let set = environment(
        &grant(&["LANG", "TZ"]),
        &host,
        &pairs(&[("TZ", "UTC"), ("LANG", "de")]),
    );
    assert_eq!(set.unwrap(), pairs(&[("LANG", "de"), ("TZ", "UTC")]));
    let error = environment(&grant(&["LANG"]), &host, &pairs(&[("TZ", "UTC")])).unwrap_err();
    assert_eq!(
        (error.reason.as_ref(), error.field.as_deref()),
        ("unauthorized", Some("env.TZ"))
    );
    assert!(error.hint.unwrap().contains("LANG"));
}

#[test]
fn a_name_that_steers_programs_has_the_hosts_value_or_none() {
    let names = [
        "PATH",
        "LD_PRELOAD",
        "GIT_SSH_COMMAND",
        "NODE_OPTIONS",
        "BASH_ENV",
        "PYTHONPATH",
        "HOME",
    ];
    for name in names {
        let grant = grant(&[name]);
        let host = pairs(&[(name, "value")]);
        assert_eq!(environment(&grant, &host, &[]).unwrap(), host);
        assert_eq!(
            reason(environment(&grant, &host, &pairs(&[(name, ".")]))),
            "unauthorized",
            "{name}"
        );
    }
}

#[test]
fn names_and_values_that_cannot_be_are_errors() {
    for (name, value) in [("A=B", "C"), ("", "x"), ("x\0y", "z"), ("LANG", "a\0b")] {
        let set = environment(
            &grant(&["LANG", "", "A=B", "x\0y"]),
            &[],
            &pairs(&[(name, value)]),
        );
        assert_eq!(reason(set), "arguments", "{name:?}={value:?}");
    }
    // From the host they are left out: no caller could repair them.
    let host = pairs(&[("A=B", "C"), ("LANG", "a\0b")]);
    assert_eq!(
        environment(&grant(&["A=B", "LANG"]), &host, &[]).unwrap(),
        []
    );
}

#[test]
fn folders() {
    let outside = tempfile::tempdir().unwrap();
    let made = tempfile::tempdir().unwrap();
    let root = made.path().canonicalize().unwrap();
    for folder in ["a/b", "second"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::write(root.join("a/file"), "").unwrap();
    symlink(outside.path(), root.join("a/out")).unwrap();
    symlink("b", root.join("a/in")).unwrap();
    let grant = ProcessGrant {
        cwd: vec![root.join("a"), root.join("second")],
        ..ProcessGrant::default()
    };
    let at = |wanted: &str| folder(&grant, Some(wanted)).map_err(|error| error.reason.into_owned());
    let no = |reason: &str| Err(reason.to_owned());
    let text = |path: &str| root.join(path).to_str().unwrap().to_owned();

    assert_eq!(folder(&grant, None).unwrap(), root.join("a"));
    for inside in ["b", "in", "./b/../b", &text("a/b")] {
        assert_eq!(at(inside), Ok(root.join("a/b")), "{inside}");
    }
    assert_eq!(at(&text("second")), Ok(root.join("second")));
    // A link is read before its `..`, as the system does.
    let out = outside.path().to_str().unwrap();
    for beyond in [
        "..",
        "/",
        "out",
        "out/none",
        "../none",
        "/none",
        "~/..",
        out,
        &text("a/../../x"),
    ] {
        let expected = if beyond == "~/.." {
            no("not_found")
        } else {
            no("unauthorized")
        };
        assert_eq!(at(beyond), expected, "{beyond}");
    }
    assert_eq!(at("none/deeper"), no("not_found"));
    assert_eq!(at("file"), no("not_a_folder"));
    assert_eq!(at("file/deeper"), no("not_a_folder"));
    assert_eq!(at("b\0"), no("arguments"));
    assert_eq!(
        reason(folder(&ProcessGrant::default(), None)),
        "unauthorized"
    );
    // A name that begins like a granted folder's is another folder.
    fs::create_dir(root.join("abc")).unwrap();
    assert_eq!(at("../abc"), no("unauthorized"));
}
