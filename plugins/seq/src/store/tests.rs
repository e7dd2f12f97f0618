use std::{fs, path::PathBuf};

use serde_json::{Value, json};
use toolgate_sdk::PrincipalKind;

use super::*;
use crate::{
    create::{self, Create},
    delete, list,
    testing::Fake,
};

fn one() -> Value {
    json!([{ "name": "a", "tools": "{\"tool\":\"echo\"} ;" }])
}

fn folder(fake: &Fake) -> PathBuf {
    fake.store.folder.clone()
}

fn listed(fake: &Fake) -> Value {
    let output = list::list(&fake.store, serde_json::from_value(json!({})).unwrap()).unwrap();
    serde_json::from_str(&output.value).unwrap()
}

#[test]
fn a_broken_file_hides_no_other() {
    let fake = Fake::new();
    for name in [
        "good", "empty", "nuls", "half", "shape", "newer", "moved", "latin",
    ] {
        fake.create(name, one()).unwrap();
    }
    let at = |file: &str| folder(&fake).join(file);
    let good = fs::read(at("good.json")).unwrap();
    fs::write(at("empty.json"), "").unwrap();
    fs::write(at("nuls.json"), vec![0; good.len()]).unwrap();
    fs::write(at("half.json"), &good[..good.len() / 2]).unwrap();
    fs::write(at("shape.json"), "{\"format\":1,\"sequences\":[]}").unwrap();
    fs::write(at("newer.json"), "{\"format\":2}").unwrap();
    fs::write(at("moved.json"), &good).unwrap();
    fs::write(at("latin.json"), b"\xe9").unwrap();
    fs::create_dir(at("folder.json")).unwrap();
    fs::write(at(".writing"), "left by a kill").unwrap();
    fs::write(at("notes.txt"), "nobody's").unwrap();

    let list = listed(&fake);
    assert_eq!(list["sequences"].as_array().unwrap().len(), 1);
    assert_eq!(list["sequences"][0]["name"], "good");
    let broken: Vec<(&str, &str)> = list["broken"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["file"].as_str().unwrap(),
                one["error"].as_str().unwrap(),
            )
        })
        .collect();
    for ((file, error), (wanted, words)) in broken.iter().zip([
        ("empty.json", "it is empty"),
        ("folder.json", "it is a folder"),
        ("half.json", "it is no JSON"),
        ("latin.json", "not UTF-8"),
        ("moved.json", "it holds the sequence `good`"),
        ("newer.json", "format 2 is newer"),
        ("nuls.json", "it is no JSON"),
        ("shape.json", "not the shape of a sequence"),
    ]) {
        assert_eq!(*file, wanted);
        assert!(error.contains(words), "{file}: {error}");
    }
    assert_eq!(broken.len(), 8);
    // Running one says so; the others run; a user may replace and delete.
    let error = fake.try_run("half", json!({})).unwrap_err().error;
    assert_eq!(error.reason, "broken");
    assert_eq!(fake.run("good", json!({}))["status"], "ok");
    fake.create("half", one()).unwrap();
    assert_eq!(fake.run("half", json!({}))["status"], "ok");
    delete::delete(&fake.store, &fake.user(), "folder").unwrap();
    assert!(!at("folder.json").exists());
}

#[test]
fn only_its_maker_or_a_user_changes_a_sequence() {
    let fake = Fake::new();
    let make = |who: &str, kind| {
        let arguments: Create =
            serde_json::from_value(json!({ "name": "s", "groups": one() })).unwrap();
        create::create(&fake, &fake.store, &fake.context(who, kind), arguments)
    };
    make("ada", PrincipalKind::Agent).unwrap();
    let refused = make("bob", PrincipalKind::Agent).unwrap_err().error;
    assert_eq!(refused.reason, "unauthorized");
    assert!(refused.detail.unwrap().contains("made by `ada`"));
    let refused = delete::delete(
        &fake.store,
        &fake.context("bob", PrincipalKind::Client),
        "s",
    )
    .unwrap_err();
    assert_eq!(refused.reason, "unauthorized");
    make("ada", PrincipalKind::Agent).unwrap();
    make("local", PrincipalKind::User).unwrap();
    // It is the user's now.
    assert!(make("ada", PrincipalKind::Agent).is_err());
    fs::write(folder(&fake).join("s.json"), "").unwrap();
    assert!(
        make("ada", PrincipalKind::Agent).is_err(),
        "nobody knows whose it was"
    );
    delete::delete(&fake.store, &fake.user(), "s").unwrap();
    assert_eq!(
        delete::delete(&fake.store, &fake.user(), "s")
            .unwrap_err()
            .reason,
        "not_found"
    );
}

#[test]
fn a_failed_create_leaves_the_old_version() {
    let fake = Fake::new();
    fake.create("s", one()).unwrap();
    let before = fs::read(folder(&fake).join("s.json")).unwrap();
    for bad in [
        json!([]),
        json!([{ "name": "a", "tools": "{\"tool\":\"alone\"} ;" }]),
    ] {
        assert!(fake.create("s", bad).is_err());
    }
    assert_eq!(fs::read(folder(&fake).join("s.json")).unwrap(), before);
    assert_eq!(fake.run("s", json!({}))["status"], "ok");
}

#[test]
fn what_is_shown_can_be_created_again() {
    let fake = Fake::new();
    let groups = json!([{ "name": "组", "in": { "主机": "string?" }, "out": { "结果": "array" }, "timeout": 2, "missing": "degrade", "fallback": { "结果": 0 }, "tools": "{\"tool\":\"echo\",\"args\":{\"value\":\"a ${args.主机}.b $$args.x\"},\"as\":\"结果\"} ; {\"tool\":\"seq_when_call\",\"args\":{\"target\":\"#later\",\"when\":\"$args.主机 != null\"}} ;" }]);
    fake.create("巡检", groups).unwrap();
    let show = |name: &str| -> Value {
        let output = list::list(
            &fake.store,
            serde_json::from_value(json!({ "name": name })).unwrap(),
        )
        .unwrap();
        serde_json::from_str(&output.value).unwrap()
    };
    let shown = show("巡检");
    fake.create("again", shown["groups"].clone()).unwrap();
    assert_eq!(show("again")["groups"], shown["groups"]);
    let load = |name: &str| {
        fake.store
            .load(&Name::parse(name).unwrap())
            .unwrap()
            .record
            .sequence
    };
    assert_eq!(load("again").groups, load("巡检").groups);
}
