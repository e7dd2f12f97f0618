//! The plugin `files`, as a component over real folders: the walls hold, writes are atomic
//! and keep their mode, edits change nothing else.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::Path,
    process::Command,
};

use serde_json::{Value, json};

use crate::world::{Maker, World, failure, value, world};

const GRANTS: &str = r#"
[plugins.files.grants]
fs = [{ host = "{workspace}", mode = "rw" }]
"#;

fn filled() -> Maker {
    let maker = world(GRANTS);
    let workspace = maker.workspace();
    fs::create_dir_all(workspace.join("src/deep")).unwrap();
    fs::write(workspace.join("notes.txt"), "one\ntwo\nthree\n").unwrap();
    fs::write(workspace.join("src/main.rs"), "fn main() {}\n").unwrap();
    fs::write(workspace.join("src/deep/lib.rs"), "// needle\n").unwrap();
    fs::write(maker.root().join("outside.txt"), "secret").unwrap();
    maker
}

async fn refused(world: &World, tool: &str, arguments: Value) -> String {
    let result = world.call(tool, arguments.clone()).await;
    let failed = result
        .outcome
        .as_ref()
        .expect_err(&format!("{tool} {arguments}"));
    failed.error.reason.to_string()
}

#[tokio::test]
async fn no_path_leads_out() {
    let maker = filled();
    let (workspace, root) = (maker.workspace(), maker.root());
    symlink("/etc", workspace.join("out")).unwrap();
    symlink("/etc/passwd", workspace.join("passwd")).unwrap();
    symlink("../outside.txt", workspace.join("up")).unwrap();
    symlink("up", workspace.join("chain")).unwrap();
    symlink("..", workspace.join("src/above")).unwrap();
    let world = maker.start().await;
    let outside = root.join("outside.txt");
    let evil = format!("{}-evil/x", workspace.display());
    let paths = [
        "../outside.txt",
        "/etc/passwd",
        outside.to_str().unwrap(),
        "src/../../outside.txt",
        "passwd",
        "out/passwd",
        "up",
        "chain",
        "~",
        "~/x",
        "file:///etc/passwd",
        evil.as_str(),
        "/proc/self/environ",
        "a\0b",
    ];
    for path in paths {
        for (tool, arguments) in [
            ("files_read", json!({ "path": path })),
            (
                "files_write",
                json!({ "path": path, "content": "x", "mode": "overwrite" }),
            ),
            (
                "files_edit",
                json!({ "path": path, "edits": [{ "old": "secret", "new": "x" }] }),
            ),
            ("files_list", json!({ "path": path })),
            ("files_grep", json!({ "pattern": "secret", "path": path })),
            ("files_copy", json!({ "source": path, "target": "stolen" })),
            ("files_move", json!({ "source": path, "target": "stolen" })),
        ] {
            // A link itself may be moved; what it leads to may not.
            if tool == "files_move" && ["passwd", "up", "chain"].contains(&path) {
                continue;
            }
            let reason = refused(&world, tool, arguments).await;
            assert!(
                ["unauthorized", "path"].contains(&reason.as_str()),
                "{tool} {path:?}: {reason}"
            );
        }
    }
    assert_eq!(fs::read_to_string(outside).unwrap(), "secret");
    assert!(!workspace.join("stolen").exists());
    let inside = world
        .call("files_read", json!({ "path": "src/above/notes.txt" }))
        .await;
    assert!(
        inside.success(),
        "a link that stays inside is followed: {inside:?}"
    );
}

#[tokio::test]
async fn writes_keep_mode_and_link() {
    let maker = filled();
    let workspace = maker.workspace();
    for (name, mode) in [("script.sh", 0o755), ("key", 0o600)] {
        fs::write(workspace.join(name), "old\n").unwrap();
        fs::set_permissions(workspace.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    symlink("notes.txt", workspace.join("link")).unwrap();
    let world = maker.start().await;
    for (name, mode) in [("script.sh", 0o755), ("key", 0o600)] {
        let before = fs::metadata(workspace.join(name)).unwrap().ino();
        value(
            &world
                .call(
                    "files_write",
                    json!({ "path": name, "content": "new\n", "mode": "overwrite" }),
                )
                .await,
        );
        assert_ne!(
            fs::metadata(workspace.join(name)).unwrap().ino(),
            before,
            "{name} was written in place"
        );
        value(
            &world
                .call(
                    "files_edit",
                    json!({ "path": name, "edits": [{ "old": "new", "new": "newer" }] }),
                )
                .await,
        );
        assert_eq!(
            fs::metadata(workspace.join(name)).unwrap().mode() & 0o7777,
            mode,
            "{name}"
        );
        assert_eq!(fs::read_to_string(workspace.join(name)).unwrap(), "newer\n");
    }
    value(
        &world
            .call(
                "files_write",
                json!({ "path": "link", "content": "through\n", "mode": "overwrite" }),
            )
            .await,
    );
    assert!(
        fs::symlink_metadata(workspace.join("link"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(
        fs::read_to_string(workspace.join("notes.txt")).unwrap(),
        "through\n"
    );
    let names: Vec<_> = fs::read_dir(&workspace)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        !names
            .iter()
            .any(|name| name.to_string_lossy().contains(".tmp")),
        "{names:?}"
    );
}

/// Name, bytes before, old, new, bytes after.
type Case = (
    &'static str,
    &'static [u8],
    &'static str,
    &'static str,
    &'static [u8],
);

#[tokio::test]
async fn edits_change_the_named_bytes_only() {
    let maker = filled();
    let workspace = maker.workspace();
    let cases: [Case; 5] = [
        (
            "crlf",
            b"a\r\nb\r\nc\r\n",
            "b\nc",
            "x\ny",
            b"a\r\nx\r\ny\r\n",
        ),
        (
            "bom",
            b"\xef\xbb\xbfx = 1\n",
            "x = 1",
            "x = 2",
            b"\xef\xbb\xbfx = 2\n",
        ),
        (
            "latin",
            b"x = 1\n// caf\xe9\n",
            "x = 1",
            "x = 2",
            b"x = 2\n// caf\xe9\n",
        ),
        ("nofinal", b"a\nb", "b", "c", b"a\nc"),
        (
            "dollar",
            b"price\n",
            "price",
            "$1 \\0 $args.x",
            b"$1 \\0 $args.x\n",
        ),
    ];
    for (name, before, ..) in &cases {
        fs::write(workspace.join(name), before).unwrap();
    }
    let world = maker.start().await;
    for (name, before, old, new, after) in cases {
        let result = world
            .call(
                "files_edit",
                json!({ "path": name, "edits": [{ "old": old, "new": new }] }),
            )
            .await;
        let now = fs::read(workspace.join(name)).unwrap();
        // Byte-exact, or refused and untouched.
        assert!(
            now == after || (!result.success() && now == before),
            "{name}: {now:?} {result:?}"
        );
        assert!(name == "latin" || result.success(), "{name}: {result:?}");
    }
}

#[tokio::test]
async fn an_edit_that_is_not_clear_changes_nothing() {
    let maker = filled();
    let workspace = maker.workspace();
    fs::write(workspace.join("twice"), "same\nother\nsame\n").unwrap();
    let world = maker.start().await;
    for edits in [
        json!([{ "old": "absent", "new": "x" }]),
        json!([{ "old": "same", "new": "x" }]),
        json!([{ "old": "", "new": "x" }]),
        json!([{ "old": "other", "new": "other" }]),
        json!([{ "old": "other", "new": "x" }, { "old": "absent", "new": "y" }]),
    ] {
        let result = world
            .call("files_edit", json!({ "path": "twice", "edits": edits }))
            .await;
        assert!(
            ["failed", "invalid"].contains(&failure(&result).0),
            "{edits}"
        );
        assert!(
            result.outcome.as_ref().unwrap_err().error.hint.is_some(),
            "{result:?}"
        );
        assert_eq!(
            fs::read_to_string(workspace.join("twice")).unwrap(),
            "same\nother\nsame\n"
        );
    }
    let result = world
        .call(
            "files_edit",
            json!({ "path": "twice", "edits": [{ "old": "same", "new": "x" }] }),
        )
        .await;
    assert!(
        result.text.contains('2') && result.text.contains('3'),
        "count and lines are said: {}",
        result.text
    );
    value(&world.call("files_edit", json!({ "path": "twice", "edits": [{ "old": "same", "new": "x", "replace_all": true }] })).await);
    assert_eq!(
        fs::read_to_string(workspace.join("twice")).unwrap(),
        "x\nother\nx\n"
    );
}

#[tokio::test]
async fn searching_finds_what_is_there_and_says_what_it_looked_at() {
    let maker = filled();
    let workspace = maker.workspace();
    fs::write(workspace.join(".gitignore"), "ignored/\n").unwrap();
    fs::create_dir(workspace.join("ignored")).unwrap();
    fs::write(workspace.join("ignored/x.rs"), "needle\n").unwrap();
    symlink("..", workspace.join("src/loop")).unwrap();
    let world = maker.start().await;
    let found = async |pattern: &str| {
        value(
            &world
                .call("files_find", json!({ "pattern": pattern }))
                .await,
        )
        .to_string()
    };
    let all = found("**/*.rs").await;
    assert!(
        all.contains("src/main.rs") && all.contains("src/deep/lib.rs") && !all.contains("ignored"),
        "{all}"
    );
    assert!(found("src/*").await.contains("main.rs"));
    assert!(found("**/*.{rs,txt}").await.contains("notes.txt"));
    let everything = value(
        &world
            .call("files_find", json!({ "pattern": "**/*.rs", "all": true }))
            .await,
    )
    .to_string();
    assert!(everything.contains("ignored/x.rs"), "{everything}");
    assert_eq!(
        refused(&world, "files_find", json!({ "pattern": "[" })).await,
        "pattern"
    );
    let nothing = value(
        &world
            .call("files_find", json!({ "pattern": "*.absent" }))
            .await,
    )
    .to_string();
    assert!(nothing.contains("searched"), "{nothing}");

    let hits = value(
        &world
            .call("files_grep", json!({ "pattern": "need.e" }))
            .await,
    )
    .to_string();
    assert!(
        hits.contains("src/deep/lib.rs") && !hits.contains("ignored"),
        "{hits}"
    );
    assert_eq!(
        refused(&world, "files_grep", json!({ "pattern": "(" })).await,
        "pattern"
    );
}

#[tokio::test]
async fn special_files_are_no_files() {
    let maker = filled();
    let workspace = maker.workspace();
    assert!(
        Command::new("mkfifo")
            .arg(workspace.join("fifo"))
            .status()
            .unwrap()
            .success()
    );
    let world = maker.start().await;
    for (tool, arguments) in [
        ("files_read", json!({ "path": "fifo" })),
        (
            "files_write",
            json!({ "path": "fifo", "content": "x", "mode": "overwrite" }),
        ),
        (
            "files_edit",
            json!({ "path": "fifo", "edits": [{ "old": "a", "new": "b" }] }),
        ),
        ("files_copy", json!({ "source": "fifo", "target": "copy" })),
    ] {
        assert_eq!(
            refused(&world, tool, arguments).await,
            "unsupported",
            "{tool}"
        );
    }
    assert!(
        world
            .call("files_grep", json!({ "pattern": "fn" }))
            .await
            .success()
    );
    assert!(
        world
            .call("files_list", json!({ "path": "." }))
            .await
            .success()
    );
}

#[tokio::test]
async fn huge_files_are_read_in_parts() {
    let maker = filled();
    let huge = fs::File::create(maker.workspace().join("huge")).unwrap();
    huge.set_len(100 << 30).unwrap();
    let world = maker.start().await;
    let stat = value(&world.call("files_stat", json!({ "path": "huge" })).await);
    assert_eq!(stat["size"], 100_u64 << 30);
    for (tool, arguments) in [
        ("files_read", json!({ "path": "huge" })),
        (
            "files_edit",
            json!({ "path": "huge", "edits": [{ "old": "a", "new": "b" }] }),
        ),
        ("files_grep", json!({ "pattern": "x", "path": "huge" })),
    ] {
        let result = world.call(tool, arguments).await;
        // An answer or an error of the plugin's own: never a trap, never a limit.
        assert!(
            result.success() || failure(&result).0 == "failed",
            "{tool}: {result:?}"
        );
    }
}

#[tokio::test]
async fn what_is_granted_for_reading_is_not_written() {
    let maker = world("[plugins.files.grants]\nfs = [{ host = \"{workspace}\", mode = \"ro\" }]\n");
    let file = maker.workspace().join("a");
    fs::write(&file, "a").unwrap();
    let world = maker.start().await;
    for (tool, arguments) in [
        (
            "files_write",
            json!({ "path": "a", "content": "x", "mode": "overwrite" }),
        ),
        (
            "files_write",
            json!({ "path": "new", "content": "x", "mode": "create" }),
        ),
        ("files_delete", json!({ "path": "a" })),
        ("files_mkdir", json!({ "path": "folder" })),
        ("files_move", json!({ "source": "a", "target": "b" })),
    ] {
        assert_eq!(
            refused(&world, tool, arguments).await,
            "read_only",
            "{tool}"
        );
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "a");
}

#[tokio::test]
async fn six_edits_of_one_file_in_one_batch_all_take_effect() {
    let maker = filled();
    let workspace = maker.workspace();
    fs::write(workspace.join("a.txt"), "1 2 3 4 5\n").unwrap();
    symlink("a.txt", workspace.join("l.txt")).unwrap();
    let absolute = workspace.join("a.txt");
    let world = maker.start().await;
    let paths = [
        "a.txt",
        "./a.txt",
        "src/../a.txt",
        absolute.to_str().unwrap(),
        "l.txt",
    ];
    let calls: Vec<(&str, Value)> = paths
        .iter()
        .zip(1..)
        .map(|(path, n)| ("files_edit", json!({ "path": path, "edits": [{ "old": format!("{n}"), "new": format!("n{n}") }] })))
        .collect();
    let results = world.batch(&calls).await;
    assert!(
        results.iter().all(toolgate::tool::ToolResult::success),
        "{results:?}"
    );
    assert_eq!(
        fs::read_to_string(Path::new(&absolute)).unwrap(),
        "n1 n2 n3 n4 n5\n"
    );
}
