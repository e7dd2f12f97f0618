use super::*;
use crate::tree::{Tree, refused};

fn ask(path: &str, content: &str, mode: Mode) -> Write {
    Write {
        path: path.into(),
        content: content.into(),
        mode,
        line: None,
        if_digest: None,
    }
}

fn insert(line: u64, content: &str) -> Write {
    Write {
        line: Some(line),
        ..ask("a", content, Mode::Insert)
    }
}

#[test]
fn overwrite_creates_and_replaces() {
    let tree = Tree::new(&[]);
    let written = run(&tree.folders(), ask("x/y/a", "one", Mode::Overwrite)).unwrap();
    assert!(written.created && written.path == "x/y/a" && written.size == 3);
    let written = run(&tree.folders(), ask("x/y/a", "", Mode::Overwrite)).unwrap();
    assert!(!written.created && written.size == 0);
    assert_eq!(tree.bytes("w/x/y/a"), b"");
}

#[test]
fn create_fails_if_something_is_there() {
    let tree = Tree::new(&[("w/a", "old")]);
    tree.link("nowhere", "w/dangling");
    let before = tree.all();
    for path in ["a", "dangling"] {
        refused(
            run(&tree.folders(), ask(path, "new", Mode::Create)),
            "exists",
        );
    }
    assert_eq!(tree.all(), before);
    assert!(
        run(&tree.folders(), ask("b", "new", Mode::Create))
            .unwrap()
            .created
    );
}

#[test]
fn what_cannot_be_written_is_left_alone() {
    let tree = Tree::new(&[("w/dir/a", ""), ("ro/a", ""), ("w/.git/config", "")]);
    tree.fifo("w/fifo");
    tree.link("../out/secret", "w/out");
    let before = tree.all();
    let write = |path: &str| run(&tree.folders(), ask(path, "new", Mode::Overwrite));
    refused(write("dir"), "is_directory");
    refused(write("fifo"), "unsupported");
    refused(write("out"), "unauthorized");
    refused(write("../ro/a"), "read_only");
    refused(write("vendor/sub/.git/hooks/pre-commit"), "unauthorized");
    refused(write(".GIT/config"), "unauthorized");
    refused(
        run(&tree.folders(), ask("none", "new", Mode::Append))
            .map(drop)
            .and(write("dir")),
        "is_directory",
    );
    std::fs::remove_file(tree.at("w/none")).unwrap();
    refused(
        run(
            &tree.folders(),
            Write {
                path: "none".into(),
                ..insert(1, "x")
            },
        ),
        "not_found",
    );
    refused(
        run(&tree.folders(), ask("a", "x", Mode::Insert)),
        "required",
    );
    refused(
        run(
            &tree.folders(),
            Write {
                line: Some(1),
                ..ask("a", "x", Mode::Append)
            },
        ),
        "additional",
    );
    refused(
        run(
            &tree.folders(),
            ask("a", &"x".repeat(CAP + 1), Mode::Overwrite),
        ),
        "too_large",
    );
    assert_eq!(tree.all(), before);
}

#[test]
fn append_is_exact_but_for_line_ends() {
    for (old, added, new) in [
        ("a", "b\n", "ab\n"),
        ("a\r\nb\r\n", "c\nd", "a\r\nb\r\nc\r\nd"),
        ("a\r\nb\r\n", "c\rd\n", "a\r\nb\r\nc\rd\n"),
        ("a\rb\r", "c\n", "a\rb\rc\r"),
        ("", "x", "x"),
    ] {
        let tree = Tree::new(&[("w/a", old)]);
        run(&tree.folders(), ask("a", added, Mode::Append)).unwrap();
        assert_eq!(tree.bytes("w/a"), new.as_bytes(), "{old:?} + {added:?}");
    }
}

#[test]
fn insert_adds_whole_lines() {
    for (old, line, added, new) in [
        ("a\nb\n", 1, "x", "x\na\nb\n"),
        ("a\nb\n", 2, "x\n", "a\nx\nb\n"),
        ("a\nb\n", 3, "x", "a\nb\nx\n"),
        ("a\nb", 3, "x", "a\nb\nx"),
        ("a\r\nb\r\n", 2, "x\ny", "a\r\nx\r\ny\r\nb\r\n"),
        ("", 1, "x", "x"),
        ("a\n", 1, "", "a\n"),
        ("\u{feff}a\n", 1, "x", "\u{feff}x\na\n"),
    ] {
        let tree = Tree::new(&[("w/a", old)]);
        run(&tree.folders(), insert(line, added)).unwrap();
        assert_eq!(
            String::from_utf8(tree.bytes("w/a")).unwrap(),
            new,
            "{old:?} {line} {added:?}"
        );
    }
    let tree = Tree::new(&[("w/a", "a\nb\n")]);
    let error = refused(run(&tree.folders(), insert(4, "x")), "range");
    assert!(error.detail.unwrap().contains("2 lines"));
}

#[test]
fn a_byte_order_mark_stays() {
    let tree = Tree::new(&[("w/a", "\u{feff}old")]);
    run(&tree.folders(), ask("a", "new", Mode::Overwrite)).unwrap();
    assert_eq!(tree.bytes("w/a"), "\u{feff}new".as_bytes());
    run(&tree.folders(), ask("a", "\u{feff}same", Mode::Overwrite)).unwrap();
    assert_eq!(tree.bytes("w/a"), "\u{feff}same".as_bytes());
}

#[test]
fn a_digest_guards_against_a_lost_update() {
    let tree = Tree::new(&[("w/a", "read")]);
    let guarded = |mode, digest: &str| {
        run(
            &tree.folders(),
            Write {
                if_digest: Some(digest.into()),
                ..ask("a", "mine", mode)
            },
        )
    };
    let digest = content::digest(b"read");
    tree.put("w/a", "changed by another");
    for mode in [Mode::Overwrite, Mode::Append] {
        let error = refused(guarded(mode, &digest), "conflict");
        assert!(
            error
                .detail
                .unwrap()
                .contains(&content::digest(b"changed by another"))
        );
    }
    assert_eq!(tree.bytes("w/a"), b"changed by another");
    let now = content::digest(b"changed by another").to_uppercase();
    let written = guarded(Mode::Overwrite, &now).unwrap();
    assert_eq!(written.digest, content::digest(b"mine"));
    std::fs::remove_file(tree.at("w/a")).unwrap();
    refused(guarded(Mode::Overwrite, &written.digest), "conflict");
    assert!(!tree.at("w/a").exists());
}

#[test]
fn nothing_is_added_to_utf16() {
    let tree = Tree::new(&[]);
    tree.put("w/a", b"\xff\xfea\0\n\0");
    let before = tree.all();
    refused(run(&tree.folders(), ask("a", "b", Mode::Append)), "binary");
    refused(run(&tree.folders(), insert(1, "b")), "binary");
    assert_eq!(tree.all(), before);
    run(&tree.folders(), ask("a", "b", Mode::Overwrite)).unwrap();
    assert_eq!(tree.bytes("w/a"), b"b");
}
