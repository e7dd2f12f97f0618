//! The rules that `seq_create` holds before anything runs: each with its path, all errors
//! of a document at once, and what is only doubtful as a warning.

use serde_json::{Value, json};

use crate::{
    seq::{create, created, echo, errors, group, refused, run, start},
    world::World,
};

pub(crate) async fn warnings(world: &World, groups: &[Value]) -> Vec<(String, String)> {
    let created = created(world, "warned", groups).await;
    let warnings = created["warnings"].as_array().unwrap().iter();
    warnings
        .map(|warning| {
            (
                warning["path"].as_str().unwrap().to_owned(),
                warning["message"].as_str().unwrap().to_owned(),
            )
        })
        .collect()
}

fn calls(target: &str) -> Value {
    json!({ "tool": "seq_call", "args": { "target": target } })
}

/// The path, a part of what is said, and a part of the hint.
pub(crate) async fn says(world: &World, groups: &[Value], path: &str, message: &str, hint: &str) {
    let error = refused(world, groups).await;
    assert_eq!(error["path"], path, "{error}");
    assert!(
        error["message"].as_str().unwrap().contains(message),
        "{error}"
    );
    assert!(error["hint"].as_str().unwrap().contains(hint), "{error}");
}

#[tokio::test]
async fn slots_and_references_are_declared() {
    let world = start().await;
    let out = json!({ "out": { "x": "any", "list": "array" } });
    // 1
    says(
        &world,
        &[group(
            "a",
            &[echo("t", "x"), echo("t", "list"), echo("t", "xx")],
            out.clone(),
        )],
        "groups[0].tools[2].as",
        "declares no `xx`",
        "declared: `x`, `list`",
    )
    .await;
    // 2: in args, nested too, in `when`, and in an item's own `when`.
    let nested = json!({ "tool": "everything", "args": { "required": "a", "list": [{ "old": "x $args.hots" }] } });
    let input = |more: Value| {
        let mut all = json!({ "in": { "host": "string" } });
        all.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        all
    };
    let used = json!({ "tool": "echo", "args": { "text": "$args.host" } });
    says(
        &world,
        &[group("a", &[used.clone(), nested], input(json!({})))],
        "groups[0].tools[1].args.list[0].old",
        "declares no `hots`",
        "write `host`; declared: `host`",
    )
    .await;
    says(
        &world,
        &[group(
            "a",
            std::slice::from_ref(&used),
            input(json!({ "when": "$args.deep == true" })),
        )],
        "groups[0].when",
        "declares no `deep`",
        "declared: `host`",
    )
    .await;
    let when = json!({ "tool": "seq_when_call", "args": { "target": "b", "when": "$args.deep" } });
    let b = group(
        "b",
        &[echo("t", "x")],
        json!({ "step": false, "out": { "x": "any" } }),
    );
    says(
        &world,
        &[group("a", &[used, when], input(json!({}))), b],
        "groups[0].tools[1].args.when",
        "declares no `deep`",
        "declared: `host`",
    )
    .await;
    // 3
    says(
        &world,
        &[group(
            "a",
            &[
                echo("t", "x"),
                echo("t", "x"),
                echo("t", "list"),
                echo("t", "list"),
            ],
            out,
        )],
        "groups[0].tools[1].as",
        "a second item writes `x`",
        "\"x\":\"array\"",
    )
    .await;
    // 11
    let unused = group(
        "a",
        &[echo("t", "x")],
        json!({ "in": { "n": "integer" }, "out": { "x": "any", "y": "any" } }),
    );
    let paths: Vec<String> = warnings(&world, &[unused])
        .await
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    assert_eq!(paths, ["groups[0].out.y", "groups[0].in.n"]);
    // 19
    for (key, path) in [
        ("error", "groups[0].out.error"),
        ("isError", "groups[0].out.isError"),
    ] {
        says(
            &world,
            &[group(
                "a",
                &[echo("t", key)],
                json!({ "out": { key: "any" } }),
            )],
            path,
            "read as a failure",
            "`errors`",
        )
        .await;
    }
    says(
        &world,
        &[group(
            "a",
            &[echo("t", "reason"), echo("t", "hint")],
            json!({ "out": { "reason": "any", "hint": "any" } }),
        )],
        "groups[0].out",
        "read as a failure",
        "`errors`",
    )
    .await;
    created(
        &world,
        "fine",
        &[group(
            "a",
            &[echo("t", "reason"), echo("t", "x")],
            json!({ "out": { "reason": "any", "x": "any" } }),
        )],
    )
    .await;
}

#[tokio::test]
async fn tools_that_run_alone_say_so() {
    let world = start().await;
    let alone = |unsafe_serial: bool| {
        let mut item = json!({ "tool": "sleep_alone", "args": { "ms": 1 } });
        if unsafe_serial {
            item["unsafe_serial"] = true.into();
        }
        item
    };
    // 4
    says(
        &world,
        &[group("a", &[alone(false)], json!({}))],
        "groups[0].tools[0].tool",
        "`sleep_alone` is not parallel-safe",
        "\"parallel\":false to groups[0], and \"unsafe_serial\":true",
    )
    .await;
    says(
        &world,
        &[group("a", &[alone(false)], json!({ "parallel": false }))],
        "groups[0].tools[0].unsafe_serial",
        "not parallel-safe",
        "\"unsafe_serial\":true",
    )
    .await;
    let both = errors(&create(&world, "x", &[group("a", &[alone(true)], json!({}))]).await);
    assert!(
        both.iter()
            .any(|error| error["path"] == "groups[0].tools[0].unsafe_serial"),
        "{both:?}"
    );
    created(
        &world,
        "x",
        &[group("a", &[alone(true)], json!({ "parallel": false }))],
    )
    .await;
    let needless = json!({ "tool": "echo", "args": { "text": "x" }, "unsafe_serial": true });
    let warned = warnings(
        &world,
        &[group("a", &[needless], json!({ "parallel": false }))],
    )
    .await;
    assert_eq!(warned[0].0, "groups[0].tools[0].unsafe_serial");
    // 10
    let warned = warnings(
        &world,
        &[group("a", &[json!({ "tool": "no_such" })], json!({}))],
    )
    .await;
    assert_eq!(
        warned,
        [(
            "groups[0].tools[0].tool".into(),
            "there is no tool `no_such` now".to_owned()
        )]
    );
    // 12
    for tool in ["seq_create", "seq_delete", "seq_run"] {
        says(
            &world,
            &[group(
                "a",
                &[json!({ "tool": tool, "args": { "name": "x" } })],
                json!({}),
            )],
            "groups[0].tools[0].tool",
            "a sequence does not edit sequences",
            "seq_call",
        )
        .await;
    }
    // 20
    let shell =
        json!({ "tool": "cmd_run", "args": { "command": "ls $args.dir" }, "unsafe_serial": true });
    let argv = json!({ "tool": "cmd_run", "args": { "argv": ["ls", "$args.dir"] }, "unsafe_serial": true });
    let warned = warnings(
        &world,
        &[group(
            "a",
            &[shell, argv],
            json!({ "parallel": false, "in": { "dir": "string" } }),
        )],
    )
    .await;
    assert_eq!(warned.len(), 1);
    assert_eq!(warned[0].0, "groups[0].tools[0].args.command");
    assert!(warned[0].1.contains("the shell will read the value"));
}

#[tokio::test]
async fn output_channels_are_items_like_any_other() {
    let config = format!("{}[outputs.notes]\nkind = \"memory\"\n", crate::seq::GRANT);
    let world = crate::world::world(&config).start().await;
    // 13
    let sends: Vec<Value> = (0..5)
        .map(|n| json!({ "tool": "output_send__notes", "args": { "text": format!("{n}") } }))
        .collect();
    let created = created(&world, "s", &[group("a", &sends, json!({}))]).await;
    assert_eq!(created["warnings"], json!([]));
    assert_eq!(run(&world, "s", json!({})).await["status"], "ok");
    let texts: Vec<String> = world
        .host
        .memory_outputs()
        .messages("notes")
        .into_iter()
        .map(|message| message.text)
        .collect();
    assert_eq!(texts, ["0", "1", "2", "3", "4"]);
}

#[tokio::test]
async fn calls_lead_somewhere_and_not_in_a_circle() {
    let world = start().await;
    let a = group("a", &[echo("t", "x")], json!({ "out": { "x": "any" } }));
    // 5
    says(
        &world,
        &[a.clone(), group("b", &[calls("aa")], json!({}))],
        "groups[1].tools[0].args.target",
        "no group `aa`",
        "write `a`; its groups: `a`, `b`",
    )
    .await;
    // 6
    for target in ["", "#", "$args.x", "#$args.x", "#../x"] {
        let error = refused(&world, &[group("b", &[calls(target)], json!({}))]).await;
        assert_eq!(
            error["path"], "groups[0].tools[0].args.target",
            "{target}: {error}"
        );
    }
    // 7
    let warned = warnings(&world, &[group("b", &[calls("#later")], json!({}))]).await;
    assert!(warned[0].1.contains("no sequence `later` yet"));
    // 9
    says(
        &world,
        &[
            group("a", &[calls("b")], json!({})),
            group("b", &[calls("c")], json!({})),
            group("c", &[calls("a")], json!({})),
        ],
        "groups[0].tools",
        "in a circle: a → b → c → a",
        "remove",
    )
    .await;
    says(
        &world,
        &[group("a", &[calls("a")], json!({}))],
        "groups[0].tools",
        "in a circle: a → a",
        "remove",
    )
    .await;
    // 15
    says(
        &world,
        &[a.clone(), a],
        "groups[1].name",
        "a second group is named `a`",
        "a name of its own",
    )
    .await;
}

/// 8, in a process that has not seen the other sequences being made.
#[tokio::test]
async fn circles_over_stored_sequences_are_refused_after_a_restart_too() {
    let world = start().await;
    created(&world, "A", &[group("a", &[calls("#B")], json!({}))]).await;
    created(
        &world,
        "B",
        &[group("a", &[calls("#C"), calls("#D")], json!({}))],
    )
    .await;
    let other = world.beside(crate::seq::GRANT).start().await;
    let error = refused_as(&other, "D", &[group("a", &[calls("#A")], json!({}))]).await;
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .ends_with("#D → #A → #B → #D"),
        "{error}"
    );
    let error = refused_as(&other, "S", &[group("a", &[calls("#S")], json!({}))]).await;
    assert!(
        error["message"].as_str().unwrap().ends_with("#S → #S"),
        "{error}"
    );
}

async fn refused_as(world: &World, name: &str, groups: &[Value]) -> Value {
    errors(&create(world, name, groups).await)[0].clone()
}
