//! Plugins that were built long ago go on working: components of each released version of
//! the contract, as they were built then.

use std::{fs, path::Path};

use serde_json::json;

use crate::world::{failure, value, world};

const CONFIG: &str = r#"
[plugins.files]
source = "old/files.wasm"
[plugins.files.grants]
fs = [{ host = "workspace", mode = "rw" }]
[plugins.cmd]
source = "old/cmd.wasm"
[plugins.cmd.grants.process]
programs = ["echo"]
cwd = ["workspace"]
env = ["PATH"]
[plugins.hello]
source = "old/hello.wasm"
[plugins.probe]
source = "old/probe.wasm"
[plugins.relay]
source = "old/relay.wasm"
[plugins.relay.grants]
tools = ["*"]
[plugins.keeper]
source = "old/keeper.wasm"
[plugins.keeper.grants]
tools = ["*"]
"#;

#[tokio::test]
async fn plugins_of_0_1_0_work() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("abi/0.1.0");
    let maker = world(CONFIG);
    let old = maker.root().join("old");
    fs::create_dir(&old).unwrap();
    let mut copied = 0;
    for entry in fs::read_dir(fixtures).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, old.join(path.file_name().unwrap())).unwrap();
        copied += 1;
    }
    assert_eq!(copied, 6);
    let world = maker.start_with_problems().await;
    let mut old_ones = 0;
    for (name, entry) in world.host.catalog().plugins() {
        assert!(entry.plugin.is_some(), "{name}: {:?}", entry.problems);
        old_ones += usize::from(entry.origin.to_string().contains("/old/"));
    }

    assert_eq!(old_ones, copied);

    let hello = world.call("hello", json!({"name": "you"})).await;
    assert_eq!(value(&hello), json!("Hello, you!"));
    let context = world.call("context", json!({})).await;
    assert_eq!(value(&context)["principal_id"], "local");
    let media = world.call("media", json!({"mark": "m", "ms": 1})).await;
    assert_eq!(media.outcome.unwrap().blocks.len(), 1);
    let failed = world.call("fail", json!({"reason": "why"})).await;
    assert_eq!(failure(&failed), ("failed", "why".to_owned()));

    let write = json!({"path": "a.txt", "content": "old"});
    assert!(world.call("files_write", write).await.success());
    assert_eq!(
        fs::read_to_string(world.workspace.join("a.txt")).unwrap(),
        "old"
    );
    let nested = json!({"calls": [
        {"name": "files_read", "arguments": "{\"path\":\"a.txt\"}"},
        {"name": "hello", "arguments": "{\"name\":\"you\"}"},
        {"name": "nowhere", "arguments": "{}"},
    ]});
    let nested = value(&world.call("relay_alone", nested).await);
    assert_eq!(nested[1]["value"], "Hello, you!");
    assert_eq!(nested[2]["failure"], "not-found");
    assert!(nested[0]["value"].to_string().contains("old"), "{nested}");

    let run = world.call("cmd_run", json!({"argv": ["echo", "hi"]})).await;
    assert_eq!(value(&run)["stdout"], "hi\n");
    for lines in 1..=2 {
        let kept = world.call("keeper_add", json!({"line": "x"})).await;
        assert_eq!(value(&kept), json!(lines));
    }
    let again = world.call("keeper_reenter", json!({})).await;
    assert!(value(&again).to_string().contains("re-entrant"));
}
