use crate::tree::{Tree, refused};

#[test]
fn paths_inside() {
    let tree = Tree::new(&[("w/a", ""), ("ro/b", "")]);
    let folders = tree.folders();
    let shown = |said: &str| folders.place("path", said).unwrap().shown;
    assert_eq!(shown("a"), "a");
    assert_eq!(shown("./x/.././/a/"), "a");
    assert_eq!(shown("."), "");
    assert_eq!(shown("./."), "");
    assert_eq!(shown("../w/a"), "a");
    for odd in ["-rf", "line\nbreak", "~x", "a:b", "é—😀", "...", "a~"] {
        assert_eq!(shown(odd), odd);
    }
    let absolute = tree.text_at("w/a");
    assert_eq!(shown(&absolute), absolute);
    assert_eq!(shown(&format!("{absolute}/..//a")), absolute);
    assert_eq!(shown("../ro/b"), tree.text_at("ro/b"));
}

#[test]
fn paths_outside_by_their_words() {
    let tree = Tree::new(&[("w-evil/x", "")]);
    let absolute = |path: &str| tree.text_at(path);
    for said in [
        "..",
        "../out/secret",
        "../w-evil/x",
        "a/../../out/secret",
        "../../../../../../../etc/passwd",
        "/etc/passwd",
        "/",
        "~",
        "~/x",
        "a\0b",
        "file:///etc/passwd",
        "https://example.org/",
        &absolute("w-evil/x"),
        &absolute("w/../out/secret"),
        &absolute("out"),
        &absolute(""),
    ] {
        let error = refused(tree.folders().place("path", said), "unauthorized");
        let detail = error.detail.unwrap();
        assert!(
            detail.contains(&said.escape_debug().to_string()),
            "{detail}"
        );
    }
}

#[test]
fn what_is_no_path() {
    let tree = Tree::new(&[]);
    let (name, path) = ("n".repeat(256), "a/".repeat(2_500));
    for said in ["", "C:\\x", "c:/x", "a\\b", &name, &path] {
        refused(tree.folders().place("path", said), "path");
    }
    assert!(tree.folders().place("path", &"n".repeat(255)).is_ok());
}

#[test]
fn links_that_leave() {
    let tree = Tree::new(&[("w/a", "a"), ("w/d/e/f", "")]);
    tree.link("../out/secret", "w/p");
    tree.link("p", "w/chain");
    tree.link("../out", "w/dir");
    tree.link("../out/new", "w/dangling");
    tree.link("/etc/passwd", "w/absolute");
    let inside = tree.text_at("w/a");
    tree.link(&inside, "w/absolute-inside");
    tree.link("../w/a", "w/out-and-back");
    for said in [
        "p",
        "chain",
        "dir/secret",
        "dir/new",
        "dir",
        "dangling",
        "absolute",
        "absolute-inside",
        "out-and-back",
    ] {
        let place = tree.folders().place("path", said).unwrap();
        refused(tree.folders().find(&place, true), "unauthorized");
    }
    tree.link("circle", "w/circle");
    let place = tree.folders().place("path", "circle").unwrap();
    refused(tree.folders().find(&place, true), "path");
}

#[test]
fn links_inside_lead_where_the_system_leads() {
    let tree = Tree::new(&[("w/d/e/f", "f"), ("w/d/g", "g")]);
    tree.link("d/e", "w/deep");
    tree.link("deep/../g", "w/up");
    tree.link("deep/none", "w/dangling");
    let folders = tree.folders();
    let find = |said: &str| {
        folders
            .find(&folders.place("path", said).unwrap(), true)
            .unwrap()
    };
    assert_eq!(find("deep/f").path, tree.at("w/d/e/f"));
    assert_eq!(find("up").path, tree.at("w/d/g"));
    assert_eq!(find("dangling").path, tree.at("w/d/e/none"));
    assert!(find("dangling").metadata.is_none() && find("up").metadata.is_some());
    refused(
        folders.find(&folders.place("path", "d/g/x").unwrap(), true),
        "not_a_directory",
    );
}

#[test]
fn git_and_read_only_are_not_written() {
    let tree = Tree::new(&[("w/.git/config", ""), ("ro/a", "")]);
    tree.link(".git/hooks", "w/innocent");
    tree.put("w/worktree/a", "");
    tree.link("../elsewhere", "w/worktree/.git");
    let folders = tree.folders();
    let writable = |said: &str| folders.writable(&folders.place("path", said).unwrap(), true);
    for said in [
        ".git",
        ".git/config",
        ".GIT/config",
        "new/.git/config",
        "innocent/pre-commit",
        ".git /x",
        "worktree/.git/config",
    ] {
        refused(writable(said), "unauthorized");
    }
    refused(writable("../ro/a"), "read_only");
    for said in ["a", ".gitignore", ".github/x"] {
        writable(said).unwrap();
    }
}

#[test]
fn without_a_grant_the_hint_says_how() {
    struct Nothing;
    impl crate::host::Host for Nothing {
        fn roots(&self) -> Vec<toolgate_sdk::files::Root> {
            Vec::new()
        }
        fn replace(
            &self,
            _: &str,
            _: &[u8],
            _: bool,
        ) -> Result<(), toolgate_sdk::files::FileError> {
            unreachable!()
        }
        fn copy(&self, _: &str, _: &str, _: bool) -> Result<u64, toolgate_sdk::files::FileError> {
            unreachable!()
        }
    }
    let error = refused(
        super::Folders::of(&Nothing).place("path", "a"),
        "unauthorized",
    );
    assert!(error.hint.unwrap().contains("[plugins.files.grants]"));
}
