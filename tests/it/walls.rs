//! What WASI itself lets a guest do, whatever plugin it is: nothing that was not granted.

use std::fs;

use serde_json::json;

use crate::world::{value, world};

#[tokio::test]
async fn a_folder_for_reading_cannot_be_changed_in_any_way() {
    let maker = world(
        "[plugins.hostile.grants]\nfs = [{ host = \"{workspace}\", guest = \"/w\", mode = \"ro\" }]\n",
    );
    let file = maker.workspace().join("a");
    fs::write(&file, "as it was").unwrap();
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    let world = maker.start().await;
    let seen = value(&world.call("try_writes", json!({ "path": "/w/a" })).await);
    for (way, outcome) in seen.as_object().unwrap() {
        assert_ne!(outcome, "done", "{way}");
    }
    assert_eq!(seen.as_object().unwrap().len(), 10);
    assert_eq!(fs::read_to_string(&file).unwrap(), "as it was");
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), before);
    assert_eq!(fs::read_dir(&world.workspace).unwrap().count(), 1);
}

#[tokio::test]
async fn a_folder_for_writing_can() {
    let maker = world(
        "[plugins.hostile.grants]\nfs = [{ host = \"{workspace}\", guest = \"/w\", mode = \"rw\" }]\n",
    );
    fs::write(maker.workspace().join("a"), "as it was").unwrap();
    let world = maker.start().await;
    let seen = value(&world.call("try_writes", json!({ "path": "/w/a" })).await);
    // Else the test above would pass with everything broken.
    for way in ["truncate", "append", "create", "set_times", "rename"] {
        assert_eq!(seen[way], "done", "{way}: {seen}");
    }
}

#[tokio::test]
async fn links_that_a_guest_makes_do_not_lead_out() {
    let maker = world(
        "[plugins.hostile.grants]\nfs = [{ host = \"{workspace}\", guest = \"/w\", mode = \"rw\" }]\n",
    );
    let workspace = maker.workspace();
    fs::write(maker.root().join("outside"), "secret").unwrap();
    fs::write(workspace.join("inside"), "mine").unwrap();
    let world = maker.start().await;
    for target in [
        "../outside",
        "../../../../etc/passwd",
        "/etc/passwd",
        "/etc",
        "..",
        "x/../../outside",
    ] {
        let seen = value(
            &world
                .call(
                    "try_symlink",
                    json!({ "target": target, "link": "/w/link" }),
                )
                .await,
        );
        assert_eq!(
            seen,
            json!({ "made": false, "read": null, "listed": false, "seen": false }),
            "{target}"
        );
        assert!(
            fs::symlink_metadata(workspace.join("link")).is_err(),
            "{target}"
        );
    }
    let seen = value(
        &world
            .call(
                "try_symlink",
                json!({ "target": "inside", "link": "/w/good" }),
            )
            .await,
    );
    assert_eq!(
        (&seen["made"], &seen["read"]),
        (&json!(true), &json!("mine"))
    );
}
