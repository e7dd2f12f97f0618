use super::*;
use crate::tree::{Tree, refused};

fn ask(path: Option<&str>, recursive: bool) -> List {
    List {
        path: path.map(Into::into),
        recursive,
        limit: 1_000,
    }
}

#[track_caller]
fn names(tree: &Tree, ask: List) -> Vec<String> {
    let listing = run(&tree.folders(), Patience::ENDLESS, ask).unwrap();
    listing
        .entries
        .into_iter()
        .map(|entry| entry.name)
        .collect()
}

#[test]
fn sorted_marked_and_measured() {
    let tree = Tree::new(&[
        ("w/b", "12345"),
        ("w/a/c", ""),
        ("w/.hidden", ""),
        ("w/.gitignore", "b\n"),
        ("w/.git/x", ""),
    ]);
    tree.link("a", "w/link");
    tree.fifo("w/fifo");
    let listing = run(&tree.folders(), Patience::ENDLESS, ask(None, false)).unwrap();
    let seen: Vec<_> = listing
        .entries
        .iter()
        .map(|e| (e.name.as_str(), e.kind, e.size))
        .collect();
    assert_eq!(
        seen,
        [
            (".git/", "folder", None),
            (".gitignore", "file", Some(2)),
            (".hidden", "file", Some(0)),
            ("a/", "folder", None),
            ("b", "file", Some(5)),
            ("fifo", "special", None),
            ("link", "link", None),
        ]
    );
    assert!(listing.entries.iter().all(|entry| {
        entry
            .modified
            .as_ref()
            .is_some_and(|date| date.ends_with('Z'))
    }));
    assert_eq!(
        (listing.path, listing.truncated, listing.skipped),
        (tree.text_at("w"), 0, 0)
    );
}

#[test]
fn recursive_follows_the_rule_of_the_searches_and_says_so() {
    let tree = Tree::new(&[
        ("w/a/b/c", ""),
        ("w/a.x", ""),
        ("w/.gitignore", "out\n"),
        ("w/out/d", ""),
        ("w/.git/x", ""),
    ]);
    tree.link("..", "w/a/up");
    assert_eq!(
        names(&tree, ask(None, true)),
        [".gitignore", "a/", "a/b/", "a/b/c", "a/up", "a.x"]
    );
    let listing = run(&tree.folders(), Patience::ENDLESS, ask(None, true)).unwrap();
    assert!(listing.note.unwrap().contains(".gitignore"));
    assert_eq!(names(&tree, ask(Some("a"), true)), ["b/", "b/c", "up"]);
    assert_eq!(names(&tree, ask(Some("out"), false)), ["d"]);
}

#[test]
fn limits_count_the_rest() {
    let tree = Tree::new(&[]);
    (0..20).for_each(|n| tree.put(&format!("w/{n:02}"), ""));
    let listing = run(
        &tree.folders(),
        Patience::ENDLESS,
        List {
            limit: 5,
            ..ask(None, false)
        },
    )
    .unwrap();
    assert_eq!((listing.entries.len(), listing.truncated), (5, 15));
    assert_eq!(listing.entries[4].name, "04");
}

#[test]
fn what_is_no_folder() {
    let tree = Tree::new(&[("w/a", "")]);
    tree.link("../out", "w/out");
    for (path, reason) in [
        ("a", "not_a_directory"),
        ("none", "not_found"),
        ("..", "unauthorized"),
        ("out", "unauthorized"),
        ("/", "unauthorized"),
    ] {
        refused(
            run(&tree.folders(), Patience::ENDLESS, ask(Some(path), false)),
            reason,
        );
    }
}
