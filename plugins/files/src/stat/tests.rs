use super::*;
use crate::tree::{Tree, refused};

#[test]
fn facts() {
    let tree = Tree::new(&[("w/dir/a", "abc")]);
    let stat = |path: &str| run(&tree.folders(), path).unwrap();
    let file = stat("dir/a");
    assert_eq!(
        (file.kind, file.size, file.digest),
        ("file", Some(3), Some(content::digest(b"abc")))
    );
    let folder = stat(".");
    assert_eq!(
        (folder.kind, folder.size, folder.path),
        ("folder", None, tree.text_at("w"))
    );
    tree.link("dir/a", "w/link");
    let link = stat("link");
    assert_eq!(
        (link.kind, link.size, link.link.as_deref()),
        ("file", Some(3), Some("dir/a"))
    );
    tree.link("nothing", "w/dangling");
    assert_eq!(stat("dangling").kind, "link");
    tree.fifo("w/fifo");
    assert_eq!(stat("fifo").kind, "special");
    let big = std::fs::File::create(tree.at("w/big")).unwrap();
    big.set_len(100 << 30).unwrap();
    assert_eq!(
        (stat("big").size, stat("big").digest),
        (Some(100 << 30), None)
    );
}

#[test]
fn nothing_outside() {
    let tree = Tree::new(&[]);
    tree.link("../out/secret", "w/out");
    tree.link("/etc/passwd", "w/absolute");
    for path in ["../out/secret", "out", "absolute"] {
        refused(run(&tree.folders(), path), "unauthorized");
    }
    refused(run(&tree.folders(), "none"), "not_found");
}
