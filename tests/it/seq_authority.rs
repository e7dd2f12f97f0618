//! A sequence is no way around a rule: every call in it needs the right of whoever runs it,
//! and of the plugin.

use serde_json::{Value, json};

use crate::{
    seq::{GRANT, created, echo, group, items, run, run_as},
    world::{Person, World, failure, value, world},
};

const RULES: &str = r#"
[principals.assistant]
kind = "agent"
allow = ["seq_*", "echo"]
ask = ["context"]
[principals.other]
kind = "agent"
allow = ["seq_*", "echo"]
"#;

fn three() -> Vec<Value> {
    vec![
        echo("may", "x"),
        json!({ "tool": "sleep_parallel", "args": { "ms": 1 }, "as": "y" }),
        json!({ "tool": "files_write", "args": { "path": "x", "content": "x" }, "as": "z", "unsafe_serial": true }),
    ]
}

async fn both(world: &World) {
    let keys = json!({ "out": { "x": "any", "y": "any", "z": "any" }, "parallel": false, "on_error": "continue" });
    created(world, "inner", &[group("a", &three(), keys)]).await;
    let call = json!({ "tool": "seq_call", "args": { "target": "#inner" }, "as": "all" });
    created(
        world,
        "outer",
        &[group("a", &[call], json!({ "out": { "all": "any" } }))],
    )
    .await;
}

#[tokio::test]
async fn a_run_has_its_callers_rights_directly_and_through_another() {
    let config = format!(
        "{GRANT}{RULES}[plugins.files.grants]\nfs = [{{ host = \"{{workspace}}\", mode = \"rw\" }}]\n"
    );
    let world = world(&config).start().await;
    both(&world).await;
    let report = run(&world, "inner", json!({})).await;
    assert_eq!(items(&report, 0), ["ok", "ok", "ok"]);
    std::fs::remove_file(world.workspace.join("x")).unwrap();
    let report = run_as(&world, "assistant", "inner", json!({})).await;
    assert_eq!(items(&report, 0), ["ok", "failed", "failed"]);
    assert_eq!(
        report["groups"][0]["items"][1]["error"]["reason"],
        "unauthorized"
    );
    assert_eq!(
        (&report["status"], &report["out"]),
        (&json!("partial"), &json!({ "x": "may" }))
    );
    let report = run_as(&world, "assistant", "outer", json!({})).await;
    assert_eq!(report["out"]["all"], json!({ "x": "may" }));
    assert!(!world.workspace.join("x").exists(), "a denied tool ran");
    // Seen at creation, as a warning that gives no tool away.
    let made = world.call_as("assistant", "seq_create", json!({ "name": "mine", "groups": [group("a", &[json!({ "tool": "sleep_parallel", "args": { "ms": 1 } })], json!({}))] })).await;
    assert_eq!(value(&made)["warnings"][0]["reason"], "unauthorized");
}

#[tokio::test]
async fn the_plugins_own_grant_binds_too() {
    let config = format!("[plugins.seq.grants]\ntools = [\"seq_*\", \"echo\"]\n{RULES}");
    let world = world(&config).start().await;
    both(&world).await;
    let report = run(&world, "inner", json!({})).await;
    assert_eq!(items(&report, 0), ["ok", "failed", "failed"]);
    // Without any grant a run says which line is missing.
    let none = world.beside(RULES).start().await;
    let report = run(&none, "inner", json!({})).await;
    let hint = report["groups"][0]["items"][0]["error"]["hint"]
        .as_str()
        .unwrap();
    assert!(hint.contains("[plugins.seq.grants]: tools = "), "{hint}");
}

#[tokio::test]
async fn a_question_is_asked_for_the_call_itself() {
    let person = Person::who(|_| toolgate::ports::Decision::Approve);
    let world = world(&format!("{GRANT}{RULES}"))
        .approver(person.clone())
        .start()
        .await;
    created(
        &world,
        "s",
        &[group(
            "a",
            &[json!({ "tool": "context", "as": "x" })],
            json!({ "out": { "x": "any" } }),
        )],
    )
    .await;
    assert_eq!(
        run_as(&world, "assistant", "s", json!({})).await["status"],
        "ok"
    );
    let questions = person.questions();
    assert_eq!(questions.len(), 1);
    assert_eq!(questions[0].tool.as_str(), "context");
    assert_eq!(questions[0].chain[0].tool.as_str(), "seq_run");
}

#[tokio::test]
async fn only_its_maker_or_a_user_changes_a_sequence() {
    let world = world(&format!("{GRANT}{RULES}")).start().await;
    let arguments = json!({ "name": "s", "groups": [group("a", &[echo("1", "x")], json!({ "out": { "x": "any" } }))] });
    value(
        &world
            .call_as("assistant", "seq_create", arguments.clone())
            .await,
    );
    for (tool, arguments) in [
        ("seq_create", arguments.clone()),
        ("seq_delete", json!({ "name": "s" })),
    ] {
        let refused = world.call_as("other", tool, arguments).await;
        assert_eq!(failure(&refused), ("failed", "unauthorized".into()));
        assert!(
            refused.text.contains("made by `assistant`"),
            "{}",
            refused.text
        );
    }
    // Others may run it, with their own rights.
    let report = run_as(&world, "other", "s", json!({})).await;
    assert_eq!(
        (&report["status"], &report["creator"]),
        (&json!("ok"), &json!("assistant"))
    );
    assert_eq!(
        value(
            &world
                .call_as("assistant", "seq_create", arguments.clone())
                .await
        )["replaced"],
        true
    );
    assert_eq!(
        value(&world.call("seq_create", arguments).await)["replaced"],
        true
    );
    assert_eq!(
        value(&world.call("seq_delete", json!({ "name": "s" })).await)["deleted"],
        "s"
    );
}

#[tokio::test]
async fn a_document_in_a_file_is_read_with_the_callers_rights() {
    let config = format!(
        "{GRANT}{RULES}[plugins.files.grants]\nfs = [{{ host = \"{{workspace}}\", mode = \"ro\" }}]\n"
    );
    let maker = world(&config);
    let document =
        json!({ "groups": [group("a", &[echo("1", "x")], json!({ "out": { "x": "any" } }))] });
    std::fs::write(maker.workspace().join("s.json"), document.to_string()).unwrap();
    let world = maker.start().await;
    let arguments = json!({ "name": "s", "file": "s.json" });
    let refused = world
        .call_as("assistant", "seq_create", arguments.clone())
        .await;
    assert_eq!(failure(&refused), ("failed", "unauthorized".into()));
    value(&world.call("seq_create", arguments).await);
}
