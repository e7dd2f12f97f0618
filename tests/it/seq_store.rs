//! Sequences on disk: names that become files, files that are broken, programs that are
//! killed while they save.

use std::{
    collections::BTreeSet,
    fs,
    process::{Command, Stdio},
    time::Instant,
};

use serde_json::{Value, json};

use crate::{
    seq::{GRANT, create, created, echo, group, run, start},
    world::{PROGRAM, failure, soak, value},
};

fn one(text: &str) -> Vec<Value> {
    vec![group(
        "a",
        &[echo(text, "x")],
        json!({ "out": { "x": "any" } }),
    )]
}

#[tokio::test]
async fn no_name_leads_out_and_no_two_share_a_file() {
    let world = start().await;
    let folder = world.root().join("data/plugins/seq");
    let long = "x".repeat(300);
    for name in [
        "../x", "../../x", "/abs", "a/b", "a\\b", "..", ".", ".h", "", "a\0", "a\nb", "#a", " a",
        "a.", "con", "NUL.txt", "COM¹", "a:b", &long,
    ] {
        assert_eq!(
            failure(&create(&world, name, &one("x")).await),
            ("failed", "name".into()),
            "{name:?}"
        );
        for (tool, key) in [
            ("seq_delete", "name"),
            ("seq_run", "name"),
            ("seq_list", "name"),
        ] {
            let result = world.call(tool, json!({ key: name })).await;
            assert_eq!(
                failure(&result),
                ("failed", "name".into()),
                "{tool} {name:?}"
            );
        }
        let call = world
            .call("seq_call", json!({ "target": format!("#{name}") }))
            .await;
        assert_eq!(failure(&call), ("failed", "target".into()), "{name:?}");
    }
    assert!(!folder.join("sequences").exists(), "something was written");
    let names = [
        "Deploy",
        "deploy",
        "DEPLOY",
        "\u{e9}",
        "É",
        "巡检",
        &"巡".repeat(128),
        &format!("{}x", "巡".repeat(127)),
        "a b",
        "a%20b",
        "x.json",
        "slack-summary",
    ];
    for name in names {
        created(&world, name, &one(name)).await;
    }
    // The decomposed form is the same name.
    assert_eq!(
        created(&world, "e\u{301}", &one("\u{e9}")).await["replaced"],
        true
    );
    let files: BTreeSet<String> = fs::read_dir(folder.join("sequences"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_str().unwrap().to_lowercase())
        .collect();
    assert_eq!(files.len(), names.len(), "{files:?}");
    for name in names {
        assert_eq!(run(&world, name, json!({})).await["out"]["x"], name);
    }
    let listed = value(&world.call("seq_list", json!({})).await);
    assert_eq!(listed["sequences"].as_array().unwrap().len(), names.len());
    assert_eq!(listed["broken"], json!([]));
    for name in names {
        value(&world.call("seq_delete", json!({ "name": name })).await);
    }
    assert_eq!(fs::read_dir(folder.join("sequences")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_broken_file_is_reported_and_hides_no_other() {
    let world = start().await;
    for name in ["good", "empty", "nuls", "half", "shape", "newer"] {
        created(&world, name, &one(name)).await;
    }
    let folder = world.root().join("data/plugins/seq/sequences");
    let good = fs::read(folder.join("good.json")).unwrap();
    fs::write(folder.join("empty.json"), "").unwrap();
    fs::write(folder.join("nuls.json"), vec![0; good.len()]).unwrap();
    fs::write(folder.join("half.json"), &good[..good.len() / 2]).unwrap();
    fs::write(folder.join("shape.json"), "{\"format\":1,\"a\":[]}").unwrap();
    fs::write(folder.join("newer.json"), "{\"format\":99}").unwrap();
    fs::create_dir(folder.join("folder.json")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.join("link.json")).unwrap();
    let other = world.beside(GRANT).start().await;
    let listed = value(&other.call("seq_list", json!({})).await);
    let names = |key: &str, of: &str| -> Vec<String> {
        let all = listed[key].as_array().unwrap().iter();
        all.map(|one| one[of].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names("sequences", "name"), ["good"]);
    assert_eq!(
        names("broken", "file"),
        [
            "empty.json",
            "folder.json",
            "half.json",
            "link.json",
            "newer.json",
            "nuls.json",
            "shape.json"
        ]
    );
    assert_eq!(run(&other, "good", json!({})).await["status"], "ok");
    for name in ["empty", "nuls", "half", "shape", "newer", "folder", "link"] {
        let result = other.call("seq_run", json!({ "name": name })).await;
        assert_eq!(failure(&result), ("failed", "broken".into()), "{name}");
    }
    // Nothing was overwritten on the way; an explicit create or delete by a user may.
    assert_eq!(fs::read(folder.join("empty.json")).unwrap(), b"");
    created(&other, "half", &one("whole")).await;
    value(&other.call("seq_delete", json!({ "name": "empty" })).await);
    assert_eq!(run(&other, "half", json!({})).await["out"]["x"], "whole");
}

#[tokio::test]
async fn a_delete_says_who_will_miss_it() {
    let world = start().await;
    created(&world, "inner", &one("x")).await;
    let call = json!({ "tool": "seq_call", "args": { "target": "#inner" } });
    created(&world, "outer", &[group("a", &[call], json!({}))]).await;
    assert_eq!(
        value(&world.call("seq_delete", json!({ "name": "inner" })).await),
        json!({ "deleted": "inner", "called_by": ["outer"] })
    );
    let report = run(&world, "outer", json!({})).await;
    assert!(
        report.to_string().contains("there is no sequence `inner`"),
        "{report}"
    );
}

/// A program that saves one sequence over and over is killed at any moment.
#[test]
fn a_kill_leaves_the_old_or_the_new_version() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let cache = env!("CARGO_TARGET_TMPDIR");
    fs::write(
        root.join("toolgate.toml"),
        format!("[host]\ndata_dir = \"data\"\ncache_dir = {cache:?}\n{GRANT}"),
    )
    .unwrap();
    let versions: Vec<String> = (0..40)
        .map(|n| format!("{n}-{}", "x".repeat(n * 700)))
        .collect();
    let calls: Vec<Value> = versions.iter().map(|text| json!({ "name": "seq_create", "arguments": { "name": "s", "groups": one(text) } })).collect();
    fs::write(root.join("batch.json"), json!(calls).to_string()).unwrap();
    let program = |arguments: &[&str]| {
        let mut program = Command::new(PROGRAM);
        program
            .env_clear()
            .env("HOME", &root)
            .current_dir(&root)
            .arg("--config")
            .arg("toolgate.toml")
            .args(arguments);
        program
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        program
    };
    assert!(
        program(&["batch", "batch.json"])
            .status()
            .unwrap()
            .success()
    );
    let started = Instant::now();
    assert!(
        program(&["batch", "batch.json"])
            .status()
            .unwrap()
            .success()
    );
    let whole = started.elapsed();
    let file = root.join("data/plugins/seq/sequences/s.json");
    let mut seen = BTreeSet::new();
    for turn in 0..soak(20) {
        let mut child = program(&["batch", "batch.json"]).spawn().unwrap();
        // Somewhere between its start and its end.
        std::thread::sleep(whole * u32::try_from(turn * 379 % 1_000).unwrap() / 1_000);
        child.kill().unwrap();
        child.wait().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let stored: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:.200}"));
        let text = stored["sequence"]["groups"][0]["items"][0]["args"]["plain"]["text"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(versions.contains(&text), "neither old nor new: {text:.80}");
        seen.insert(text.len());
    }
    assert!(seen.len() > 1, "every kill came at the same moment");
    assert!(
        program(&["call", "seq_list", "name=s"])
            .status()
            .unwrap()
            .success()
    );
}
