use super::*;
use crate::tree::{Tree, refused};

#[test]
fn folders_are_made_once() {
    let tree = Tree::new(&[("w/file", "")]);
    assert!(run(&tree.folders(), "a/b/c").unwrap().created);
    assert!(!run(&tree.folders(), "a/b/c/").unwrap().created);
    assert!(!run(&tree.folders(), ".").unwrap().created);
    assert!(tree.at("w/a/b/c").is_dir());
    let deep = "d/".repeat(400);
    assert!(run(&tree.folders(), &deep).unwrap().created);
    tree.link("../out", "w/out");
    for (path, reason) in [
        ("file", "exists"),
        ("file/x", "not_a_directory"),
        ("../x", "unauthorized"),
        ("out/x", "unauthorized"),
        ("x/.git/hooks", "unauthorized"),
        ("../ro/x", "read_only"),
    ] {
        refused(run(&tree.folders(), path), reason);
    }
    assert!(!tree.at("w/x").exists() && !tree.at("out/x").exists());
}
