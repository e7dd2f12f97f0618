use super::*;
use crate::tree::{Tree, refused};

fn ask(pattern: &str) -> Find {
    Find {
        pattern: pattern.into(),
        path: None,
        all: false,
        limit: 500,
    }
}

fn tree() -> Tree {
    Tree::new(&[
        ("w/main.rs", ""),
        ("w/src/lib.rs", ""),
        ("w/src/deep/mod.rs", ""),
        ("w/src/a.ts", ""),
        ("w/.github/ci.yml", ""),
        ("w/.gitignore", "target\n"),
        ("w/target/x.rs", ""),
        ("w/src/.gitignore", "*.ts\n"),
        ("w/.git/config.rs", ""),
    ])
}

#[track_caller]
fn found(tree: &Tree, ask: Find) -> Vec<String> {
    run(&tree.folders(), Patience::ENDLESS, ask)
        .unwrap()
        .matches
}

#[test]
fn right_sets() {
    let tree = tree();
    for (pattern, expected) in [
        ("*.rs", &["main.rs", "src/deep/mod.rs", "src/lib.rs"][..]),
        ("**/*.rs", &["main.rs", "src/deep/mod.rs", "src/lib.rs"]),
        ("src/*", &["src/.gitignore", "src/deep/", "src/lib.rs"]),
        ("src", &["src/"]),
        ("src/", &["src/"]),
        ("main.rs/", &[]),
        (
            "./src/**",
            &[
                "src/.gitignore",
                "src/deep/",
                "src/deep/mod.rs",
                "src/lib.rs",
            ],
        ),
        ("src/lib.rs", &["src/lib.rs"]),
        ("{main,lib}.{rs,ts}", &["main.rs", "src/lib.rs"]),
        ("*.yml", &[".github/ci.yml"]),
        ("*.ts", &[]),
    ] {
        assert_eq!(found(&tree, ask(pattern)), expected, "{pattern}");
    }
    let beneath = |pattern: &str| Find {
        path: Some("src".into()),
        ..ask(pattern)
    };
    assert_eq!(
        found(&tree, beneath("*.rs")),
        ["src/deep/mod.rs", "src/lib.rs"]
    );
    assert_eq!(
        found(&tree, beneath("*.ts")),
        [""; 0],
        "rules of the folder above count"
    );
    assert_eq!(found(&tree, beneath("deep/*")), ["src/deep/mod.rs"]);
    let absolute = tree.text_at("w/src/*.rs");
    assert_eq!(found(&tree, ask(&absolute)), ["src/lib.rs"]);
    let path = Some(tree.text_at("w/src"));
    assert_eq!(
        found(
            &tree,
            Find {
                path,
                ..ask("lib.rs")
            }
        ),
        [tree.text_at("w/src/lib.rs")]
    );
}

#[test]
fn an_empty_result_says_what_was_searched() {
    let tree = tree();
    let empty = run(&tree.folders(), Patience::ENDLESS, ask("x.rs")).unwrap();
    assert!(
        empty.matches.is_empty() && empty.searched.contains("without what .gitignore excludes")
    );
    assert!(empty.note.unwrap().starts_with("1 excluded"));
    let all = found(
        &tree,
        Find {
            all: true,
            ..ask("*.rs")
        },
    );
    assert_eq!(
        all,
        [
            ".git/config.rs",
            "main.rs",
            "src/deep/mod.rs",
            "src/lib.rs",
            "target/x.rs"
        ]
    );
    let searched = run(&tree.folders(), Patience::ENDLESS, ask("none")).unwrap();
    assert_eq!(searched.note, None);
    assert!(
        searched.searched.starts_with("9 entries"),
        "{}",
        searched.searched
    );
}

#[test]
fn bad_patterns_and_places() {
    let tree = tree();
    for (pattern, reason) in [
        ("[", "pattern"),
        ("{a", "pattern"),
        ("", "pattern"),
        ("/", "unauthorized"),
        ("../*", "unauthorized"),
        ("/etc/*", "unauthorized"),
        ("src/../../*", "unauthorized"),
    ] {
        refused(
            run(&tree.folders(), Patience::ENDLESS, ask(pattern)),
            reason,
        );
    }
    for (path, reason) in [
        ("main.rs", "not_a_directory"),
        ("none", "not_found"),
        ("../out", "unauthorized"),
    ] {
        let ask = Find {
            path: Some(path.into()),
            ..ask("*")
        };
        refused(run(&tree.folders(), Patience::ENDLESS, ask), reason);
    }
}

#[test]
fn links_are_listed_and_never_followed() {
    let tree = Tree::new(&[("w/a/b/f", "")]);
    tree.link("..", "w/a/b/up");
    tree.link("/", "w/x");
    tree.link("a", "w/l");
    tree.fifo("w/fifo");
    assert_eq!(
        found(&tree, ask("**")),
        ["a/", "a/b/", "a/b/f", "a/b/up", "fifo", "l", "x"]
    );
    let through = found(
        &tree,
        Find {
            path: Some("l".into()),
            ..ask("f")
        },
    );
    assert_eq!(through, ["l/b/f"]);
}

#[test]
fn limits_count_the_rest() {
    let tree = Tree::new(&[]);
    for n in 0..300 {
        tree.put(&format!("w/{n:03}-{}", "\u{1}".repeat(240)), "");
    }
    let few = run(
        &tree.folders(),
        Patience::ENDLESS,
        Find {
            limit: 3,
            ..ask("*")
        },
    )
    .unwrap();
    assert_eq!((few.matches.len(), few.truncated), (3, 297));
    assert!(few.matches[0].starts_with("000-"));
    for n in 0..600 {
        tree.put(&format!("w/{}{n:03}/{0}", "\u{1}".repeat(200)), "");
    }
    let heavy = run(
        &tree.folders(),
        Patience::ENDLESS,
        Find {
            limit: 5_000,
            ..ask("*")
        },
    )
    .unwrap();
    assert_eq!(heavy.matches.len() as u64 + heavy.truncated, 1_500);
    assert!(heavy.truncated > 0 && serde_json::to_string(&heavy).unwrap().len() < 1 << 20);
    let stopped = run(&tree.folders(), Patience::none(), ask("*")).unwrap();
    assert!(stopped.note.unwrap().contains("time ran out"));
}

#[test]
fn names_that_are_not_utf8_are_counted() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let tree = Tree::new(&[("w/a", "")]);
    std::fs::write(tree.at("w").join(OsStr::from_bytes(b"caf\xe9")), "").unwrap();
    let found = run(&tree.folders(), Patience::ENDLESS, ask("*")).unwrap();
    assert_eq!(
        (found.matches.as_slice(), found.skipped),
        (&["a".to_owned()][..], 1)
    );
}
