use super::*;
use crate::tree::{Tree, refused};

#[test]
fn what_is_named_goes_and_nothing_else() {
    let tree = Tree::new(&[
        ("w/a", ""),
        ("w/dir/x/y", ""),
        ("w/dir/z", ""),
        ("w/keep", ""),
    ]);
    tree.link("../out", "w/out");
    tree.link("../../out/secret", "w/dir/secret");
    tree.fifo("w/fifo");
    std::fs::create_dir(tree.at("w/empty")).unwrap();
    let delete = |path: &str, recursive| run(&tree.folders(), path, recursive).unwrap();
    assert_eq!(
        (
            delete("a", false).files,
            delete("out", true).files,
            delete("fifo", false).files
        ),
        (1, 1, 1)
    );
    assert_eq!(delete("empty", false).folders, 1);
    let gone = delete("dir", true);
    assert_eq!((gone.files, gone.folders), (3, 2));
    assert_eq!(tree.bytes("out/secret"), b"secret");
    let left: Vec<_> = std::fs::read_dir(tree.at("w"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left, ["keep"]);
}

#[test]
fn refusals_leave_all_as_it_was() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let tree = Tree::new(&[
        ("w/dir/x", ""),
        ("w/repo/sub/.git/config", ""),
        ("w/repo/a", ""),
        ("ro/a", ""),
        ("w/odd/a", ""),
    ]);
    tree.link("../out", "w/out");
    std::fs::write(tree.at("w/odd").join(OsStr::from_bytes(b"\xe9")), "").unwrap();
    let before = tree.all();
    for (path, recursive, reason) in [
        ("dir", false, "not_empty"),
        ("none", true, "not_found"),
        (".", true, "unauthorized"),
        ("..", true, "unauthorized"),
        ("out/secret", false, "unauthorized"),
        ("repo", true, "unauthorized"),
        ("repo/sub/.git", true, "unauthorized"),
        ("repo/sub/.git/config", false, "unauthorized"),
        ("../ro/a", false, "read_only"),
        ("odd", true, "unsupported"),
    ] {
        refused(run(&tree.folders(), path, recursive), reason);
    }
    assert_eq!(tree.all(), before);
}

#[test]
fn deep_trees_go_without_a_deep_stack() {
    let tree = Tree::new(&[]);
    let deep = format!("w/top/{}", "d/".repeat(400));
    std::fs::create_dir_all(tree.at(&deep)).unwrap();
    let thread = std::thread::Builder::new().stack_size(128 << 10);
    std::thread::scope(|scope| {
        let gone = thread
            .spawn_scoped(scope, || run(&tree.folders(), "top", true).unwrap())
            .unwrap();
        assert_eq!(gone.join().unwrap().folders, 401);
    });
}
