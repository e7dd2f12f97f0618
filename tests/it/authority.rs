//! Who may call what: deny by default, decided on the coerced arguments, explained.

use serde_json::json;
use toolgate::ports::Decision;

use crate::world::{Person, failure, value, world};

const RULES: &str = r#"
[principals.assistant]
kind = "agent"
allow = ["echo", "context", "everything"]
ask = [{ tool = "answer", when = [{ at = "/json", equals = "1" }] }]
deny = [{ tool = "echo", when = [{ at = "/text", glob = "*secret*" }] }]

[principals.careful]
kind = "agent"
otherwise = "ask"

[principals.nobody]
kind = "client"
"#;

#[tokio::test]
async fn what_no_rule_names_is_denied() {
    let world = world(RULES).start().await;
    for (principal, tool) in [("assistant", "sleep_alone"), ("nobody", "echo")] {
        let result = world.call_as(principal, tool, json!({})).await;
        assert_eq!(failure(&result), ("unauthorized", "unauthorized".into()));
        // It learns nothing about the tool: not even that its arguments were wrong.
        assert!(result.implementation.is_none());
        assert!(!result.text.contains("required"), "{}", result.text);
    }
    assert!(world.host.principal("stranger").is_none());
}

#[tokio::test]
async fn deny_wins_and_names_its_rule() {
    let world = world(RULES).start().await;
    assert!(
        world
            .call_as("assistant", "echo", json!({ "text": "plain" }))
            .await
            .success()
    );
    let result = world
        .call_as("assistant", "echo", json!({ "text": "a secret" }))
        .await;
    let error = result.outcome.unwrap_err().error;
    assert_eq!(error.reason, "unauthorized");
    assert!(
        error.to_string().contains("principals.assistant.deny[0]"),
        "{error}"
    );
    assert!(error.hint.is_some());
}

#[tokio::test]
async fn without_anybody_to_ask_the_answer_is_no() {
    let world = world(RULES).start().await;
    let result = world
        .call_as("assistant", "answer", json!({ "json": "1" }))
        .await;
    let error = result.outcome.unwrap_err().error;
    assert_eq!(error.reason, "unauthorized");
    assert!(error.to_string().contains("approval"), "{error}");
}

#[tokio::test]
async fn an_approval_is_one_run_of_exactly_this_call() {
    let person = Person::who(|_| Decision::Approve);
    let world = world(RULES).approver(person.clone()).start().await;
    for _ in 0..2 {
        // Coerced before it is decided on: the model sent a number.
        let result = world
            .call_as("assistant", "answer", json!({ "json": 1 }))
            .await;
        assert_eq!(value(&result), json!(1));
    }
    let questions = person.questions();
    assert_eq!(questions.len(), 2, "once is used up after one run");
    assert_eq!(questions[0].tool.as_str(), "answer");
    assert_eq!(*questions[0].arguments, json!({ "json": "1" }));
    assert_eq!(questions[0].binding, questions[1].binding);
    assert_ne!(questions[0].id, questions[1].id);
    assert!(questions[0].rule.contains("ask[0]"));
}

#[tokio::test]
async fn a_refusal_and_an_expiry_are_told_apart() {
    let person = Person::who(|question| match &*question.tool.to_string() {
        "echo" => Decision::Deny("not today".into()),
        "context" => Decision::Expired,
        _ => Decision::Approve,
    });
    let world = world(RULES).approver(person).start().await;
    let results = world
        .batch_as(
            "careful",
            &[
                ("answer", json!({ "json": "2" })),
                ("echo", json!({ "text": "a" })),
                ("context", json!({})),
            ],
        )
        .await;
    assert!(results[0].success());
    assert!(results[1].text.contains("not today"), "{}", results[1].text);
    assert!(results[2].text.contains("in time"), "{}", results[2].text);
    assert_eq!(failure(&results[1]).0, "unauthorized");
    assert_eq!(failure(&results[2]).0, "unauthorized");
}

#[tokio::test]
async fn arguments_are_checked_before_anybody_is_asked() {
    let person = Person::who(|_| Decision::Approve);
    let world = world(RULES).approver(person.clone()).start().await;
    let result = world.call_as("careful", "echo", json!({})).await;
    assert_eq!(failure(&result), ("invalid", "required".into()));
    assert!(person.questions().is_empty());
}

#[tokio::test]
async fn every_call_is_on_record_with_its_rule() {
    let world = world(RULES).audited().start().await;
    world
        .call_as("assistant", "echo", json!({ "text": "a" }))
        .await;
    world
        .call_as("assistant", "echo", json!({ "text": "secret" }))
        .await;
    world.call_as("assistant", "echo", json!({})).await;
    world
        .call_as("nobody", "echo", json!({ "text": "a" }))
        .await;
    world.call_as("assistant", "fail", json!({})).await;
    let log = std::fs::read_to_string(&world.host.config().audit.path).unwrap();
    let lines: Vec<serde_json::Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let decisions: Vec<_> = lines
        .iter()
        .map(|line| {
            (
                line["decision"].as_str().unwrap(),
                line["outcome"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        decisions,
        [
            ("allowed", "ok"),
            ("denied", "unauthorized"),
            ("none", "invalid"),
            ("denied", "unauthorized"),
            ("denied", "unauthorized"),
        ]
    );
    assert_eq!(lines[1]["rule"], "principals.assistant.deny[0]");
    assert_eq!(lines[0]["arguments"], serde_json::Value::Null);
    assert!(lines[0]["arguments_sha256"].is_string());
    assert!(
        !log.contains("secret"),
        "arguments are on record as a digest only"
    );
}

#[tokio::test]
async fn a_narrowed_principal_keeps_its_origin_and_loses_the_rest() {
    use toolgate::{
        dispatch::Scope,
        tool::{Batch, Kind, ToolCall},
    };
    let world = world(RULES).start().await;
    let globs = [toolgate::policy::name_pattern("context").unwrap()];
    let narrowed = world.host.principal("assistant").unwrap().narrowed(
        "session/1/worker/a",
        Kind::Agent,
        &globs,
    );
    let calls = vec![
        ToolCall::new("context", json!({})),
        ToolCall::new("echo", json!({ "text": "a" })),
    ];
    let results = world
        .host
        .run(Scope::new(narrowed), Batch { calls, cut: false })
        .await;
    let seen = value(&results[0]);
    assert_eq!(
        (&seen["principal_id"], &seen["principal_origin"]),
        (&json!("session/1/worker/a"), &json!("assistant"))
    );
    assert_eq!(failure(&results[1]).0, "unauthorized");
}
