use super::*;
use crate::tree::{Tree, refused};

fn ask(pattern: &str) -> Grep {
    Grep {
        pattern: pattern.into(),
        path: None,
        glob: None,
        ignore_case: false,
        context: 0,
        all: false,
        limit: 200,
    }
}

#[track_caller]
fn hits(tree: &Tree, ask: Grep) -> Hits {
    let hits = run(&tree.folders(), Patience::ENDLESS, ask).unwrap();
    assert!(serde_json::to_string(&hits).unwrap().len() < 1 << 20);
    hits
}

fn places(hits: &Hits) -> Vec<String> {
    let json = serde_json::to_value(&hits.matches).unwrap();
    let line = |l: &serde_json::Value| {
        let mark = if l["context"] == true { "-" } else { ":" };
        format!(
            "{}{mark}{}{mark}{}",
            l["path"].as_str().unwrap(),
            l["line"],
            l["text"].as_str().unwrap()
        )
    };
    json.as_array().unwrap().iter().map(line).collect()
}

#[test]
fn lines_by_path_and_number() {
    let tree = Tree::new(&[
        ("w/b.rs", "fn one() {}\nfn two() {}\r\n"),
        ("w/a/c.rs", "// FN\nfn three() {}"),
        ("w/d.txt", "fn four"),
        ("w/.gitignore", "out\n"),
        ("w/out/x.rs", "fn five"),
        ("w/.env", "fn six"),
    ]);
    let all = [
        "a/c.rs:2:fn three() {}",
        "b.rs:1:fn one() {}",
        "b.rs:2:fn two() {}",
    ];
    assert_eq!(
        places(&hits(
            &tree,
            Grep {
                glob: Some("*.rs".into()),
                ..ask(r"^fn \w+")
            }
        )),
        all
    );
    assert_eq!(
        places(&hits(&tree, ask("four|five|six"))),
        [".env:1:fn six", "d.txt:1:fn four"]
    );
    assert_eq!(
        places(&hits(
            &tree,
            Grep {
                all: true,
                ..ask("five")
            }
        )),
        ["out/x.rs:1:fn five"]
    );
    assert_eq!(
        places(&hits(
            &tree,
            Grep {
                ignore_case: true,
                ..ask("// fn")
            }
        )),
        ["a/c.rs:1:// FN"]
    );
    assert_eq!(
        places(&hits(
            &tree,
            Grep {
                path: Some("b.rs".into()),
                ..ask("two")
            }
        )),
        ["b.rs:2:fn two() {}"]
    );
    assert_eq!(
        places(&hits(
            &tree,
            Grep {
                path: Some("a".into()),
                ..ask("three")
            }
        )),
        ["a/c.rs:2:fn three() {}"]
    );
    let none = hits(&tree, ask("nowhere"));
    assert!(
        none.matches.is_empty() && none.searched.starts_with("5 files"),
        "{}",
        none.searched
    );
    let nothing = hits(
        &tree,
        Grep {
            glob: Some("*.xyz".into()),
            ..ask("fn")
        },
    );
    assert!(nothing.note.unwrap().contains("no file was searched"));
}

#[test]
fn context_is_marked() {
    let tree = Tree::new(&[("w/a", "1\n2\nhit\n4\n5\n6\nhit\n8\n")]);
    let around = hits(
        &tree,
        Grep {
            context: 1,
            ..ask("hit")
        },
    );
    assert_eq!(
        places(&around),
        ["a-2-2", "a:3:hit", "a-4-4", "a-6-6", "a:7:hit", "a-8-8"]
    );
    let first = hits(
        &tree,
        Grep {
            context: 1,
            limit: 1,
            ..ask("hit")
        },
    );
    assert_eq!(first.truncated, 1);
    assert_eq!(places(&first)[..3], ["a-2-2", "a:3:hit", "a-4-4"]);
}

#[test]
fn bad_patterns_say_where() {
    let tree = Tree::new(&[("w/a", "")]);
    for (pattern, position) in [
        ("a(b", "character 2"),
        ("é[z-a]", "character 3"),
        (r"a\p{Nope}", "character 2"),
        ("*", "character 1"),
    ] {
        let detail = refused(
            run(&tree.folders(), Patience::ENDLESS, ask(pattern)),
            "pattern",
        )
        .detail
        .unwrap();
        assert!(detail.contains(position), "{pattern}: {detail}");
    }
    refused(
        run(&tree.folders(), Patience::ENDLESS, ask(r"a\nb")),
        "pattern",
    );
    refused(
        run(
            &tree.folders(),
            Patience::ENDLESS,
            ask(r"(\pL{1000}){1000}"),
        ),
        "pattern",
    );
    refused(
        run(
            &tree.folders(),
            Patience::ENDLESS,
            Grep {
                glob: Some("[".into()),
                ..ask("a")
            },
        ),
        "pattern",
    );
    refused(
        run(
            &tree.folders(),
            Patience::ENDLESS,
            Grep {
                path: Some("../out".into()),
                ..ask("secret")
            },
        ),
        "unauthorized",
    );
}

#[test]
fn what_cannot_be_searched_is_counted() {
    let tree = Tree::new(&[("w/ok", "hit\n")]);
    tree.put("w/binary", b"hit\n\0hit\n");
    tree.put("w/late", [b"hit\n".repeat(50_000), b"\0".to_vec()].concat());
    tree.put("w/latin", b"caf\xe9 hit\n");
    tree.put("w/long", "x".repeat(9 << 20));
    tree.fifo("w/fifo");
    tree.link("../out/secret", "w/out");
    let found = hits(&tree, ask("hit|secret"));
    assert_eq!(places(&found), ["latin:1:caf\u{fffd} hit", "ok:1:hit"]);
    assert_eq!((found.binary, found.skipped), (2, 1));
    tree.link("ok", "w/link");
    refused(
        run(
            &tree.folders(),
            Patience::ENDLESS,
            Grep {
                path: Some("fifo".into()),
                ..ask("x")
            },
        ),
        "unsupported",
    );
    refused(
        run(
            &tree.folders(),
            Patience::ENDLESS,
            Grep {
                path: Some("out".into()),
                ..ask("x")
            },
        ),
        "unauthorized",
    );
    assert_eq!(
        places(&hits(
            &tree,
            Grep {
                path: Some("link".into()),
                ..ask("hit")
            }
        )),
        ["link:1:hit"]
    );
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let tree = Tree::new(&[]);
    for shift in 0..9 {
        let around = "é—😀".repeat(300);
        tree.put(
            "w/a",
            format!("{}{around}NEEDLE{around}", "x".repeat(shift)),
        );
        let found = hits(&tree, ask("NEEDLE"));
        let line = serde_json::to_value(&found.matches[0]).unwrap();
        let text = line["text"].as_str().unwrap();
        assert!(
            text.contains("NEEDLE") && text.len() <= 400 && !text.contains('\u{fffd}'),
            "{text}"
        );
        assert_eq!(line["cut"], true);
    }
}

#[test]
fn limits_count_the_rest() {
    let tree = Tree::new(&[]);
    (0..10).for_each(|n| tree.put(&format!("w/{n}"), "hit\n".repeat(1_000)));
    let few = hits(
        &tree,
        Grep {
            limit: 7,
            ..ask("hit")
        },
    );
    assert_eq!((few.matches.len(), few.truncated), (7, 9_993));
    tree.put("w/0", format!("{}hit\n", "\u{1}".repeat(390)).repeat(2_000));
    let heavy = hits(
        &tree,
        Grep {
            limit: 2_000,
            ..ask("hit")
        },
    );
    assert_eq!(heavy.matches.len() as u64 + heavy.truncated, 11_000);
}
