use super::*;
use crate::tree::{Tree, refused};

fn ask(source: &str, target: &str, overwrite: bool) -> Relocate {
    Relocate {
        source: source.into(),
        target: target.into(),
        overwrite,
    }
}

#[test]
fn moves() {
    let tree = Tree::new(&[("w/a", "a"), ("w/dir/x", "x")]);
    let step = |source, target| move_entry(&tree.folders(), ask(source, target, false)).unwrap();
    step("a", "new/b");
    step("dir", "new/dir");
    assert_eq!(
        (tree.bytes("w/new/b"), tree.bytes("w/new/dir/x")),
        (b"a".to_vec(), b"x".to_vec())
    );
    assert!(!tree.at("w/a").exists() && !tree.at("w/dir").exists());
    tree.link("../out/secret", "w/link");
    step("link", "moved");
    assert!(tree.at("w/moved").is_symlink());
    tree.put("w/c", "c");
    move_entry(&tree.folders(), ask("c", "new/b", true)).unwrap();
    assert_eq!(tree.bytes("w/new/b"), b"c");
}

#[test]
fn copies() {
    let tree = Tree::new(&[
        ("w/a", "a"),
        ("w/b", "b"),
        ("ro/r", "r"),
        ("w/.git/config", "c"),
    ]);
    let step = |source, target, overwrite| {
        copy_file(&tree.folders(), ask(source, target, overwrite)).unwrap()
    };
    assert_eq!(step("a", "new/c", false).size, 1);
    step("a", "b", true);
    step("../ro/r", "r", false);
    step(".git/config", "config", false);
    assert_eq!(
        (tree.bytes("w/b"), tree.bytes("w/r"), tree.bytes("w/new/c")),
        (b"a".to_vec(), b"r".to_vec(), b"a".to_vec())
    );
}

#[test]
fn nothing_is_lost() {
    let tree = Tree::new(&[
        ("w/a", "a"),
        ("w/b", "b"),
        ("w/dir/x", "x"),
        ("w/.git/hooks/h", ""),
        ("ro/r", ""),
        ("w/hooks/pre-commit", ""),
    ]);
    std::fs::create_dir(tree.at("w/empty")).unwrap();
    tree.link("../out", "w/out");
    tree.link("a", "w/same");
    tree.fifo("w/fifo");
    let before = tree.all();
    for (source, target, overwrite, reason) in [
        ("a", "b", false, "exists"),
        ("a", "dir", true, "exists"),
        ("a", "empty", true, "exists"),
        ("none", "c", false, "not_found"),
        ("a", "a", true, "arguments"),
        ("a", "../x", false, "unauthorized"),
        ("a", "out/x", true, "unauthorized"),
        ("out/secret", "x", false, "unauthorized"),
        ("a", ".git/hooks/pre-commit", false, "unauthorized"),
        ("a", "x/.GIT/config", false, "unauthorized"),
        ("a", "../ro/x", false, "read_only"),
        ("a", "a/b", false, "not_a_directory"),
    ] {
        refused(
            move_entry(&tree.folders(), ask(source, target, overwrite)),
            reason,
        );
        refused(
            copy_file(&tree.folders(), ask(source, target, overwrite)),
            reason,
        );
    }
    for (source, target, overwrite, reason) in [
        ("dir", "b", true, "exists"),
        ("dir", "empty", true, "exists"),
        ("dir", "dir/y", false, "arguments"),
        (".", "x", false, "unauthorized"),
        (".git", "x", false, "unauthorized"),
        (".git/hooks/h", "x", false, "unauthorized"),
        ("hooks", ".git", false, "unauthorized"),
        ("../ro/r", "x", false, "read_only"),
    ] {
        refused(
            move_entry(&tree.folders(), ask(source, target, overwrite)),
            reason,
        );
    }
    for (source, target, overwrite, reason) in [
        ("dir", "x", false, "is_directory"),
        ("fifo", "x", false, "unsupported"),
        ("a", "fifo", true, "unsupported"),
        ("a", "same", true, "arguments"),
        ("a", "same", false, "exists"),
    ] {
        refused(
            copy_file(&tree.folders(), ask(source, target, overwrite)),
            reason,
        );
    }
    assert_eq!(tree.all(), before);
}
