//! The `tools` text, and what models get wrong in it: nothing is lost in silence, nothing
//! is saved, and each error is enough to write the right form.

use serde_json::{Value, json};

use crate::{
    seq::{GRANT, create, created, echo, errors, group, refused, run, start, tools},
    world::{failure, value, world},
};

#[tokio::test]
async fn a_text_comes_through_byte_for_byte() {
    let world = start().await;
    let text = r#"echo "=== { raw ==="; cat x; echo; echo "a\\b"; ps | grep "[r]un"; } true \"#;
    created(
        &world,
        "s",
        &[group(
            "a",
            &[echo(text, "x")],
            json!({ "out": { "x": "string" } }),
        )],
    )
    .await;
    let report = run(&world, "s", json!({})).await;
    assert_eq!(report["out"]["x"], text);
    assert_eq!(report["groups"][0]["items"].as_array().unwrap().len(), 1);
    // The document that is shown says the same again.
    let shown = value(&world.call("seq_list", json!({ "name": "s" })).await);
    let items: Vec<&str> = shown["groups"][0]["tools"]
        .as_str()
        .unwrap()
        .split(" ;")
        .collect();
    assert!(items.last().unwrap().is_empty());
    created(&world, "again", shown["groups"].as_array().unwrap()).await;
    assert_eq!(run(&world, "again", json!({})).await["out"]["x"], text);
}

#[tokio::test]
async fn every_flaw_is_an_error_with_its_place_and_nothing_is_saved() {
    let world = start().await;
    let a = r#"{"tool":"echo","args":{"text":"x"}}"#;
    for (text, offset) in [
        (format!("{a} ; ; {a} ;"), 38),
        (format!("{a} {a} ;"), 36),
        (a.to_owned(), 35),
        (format!("do {a} ;"), 0),
        (format!("{a} ; then {a} ;"), 38),
        (format!("{a} ; done"), 38),
        (r#"{"tool":"echo","args":{"text":"x"} ;"#.to_owned(), 35),
        (r#"{"tool":"echo","args":{"text":"x} ;"#.to_owned(), 30),
        (r#"{"tool":"echo","args":{"text":"x"]} ;"#.to_owned(), 33),
        (format!("{a}}} ;"), 35),
        (r#"{tool:"x"} ;"#.to_owned(), 1),
        (
            r#"{"tool":"echo","args":{"text":"x"},"paralell":true} ;"#.to_owned(),
            35,
        ),
        (r#"{"tool":"echo","tool":"echo"} ;"#.to_owned(), 20),
        (r#"{"args":{}} ;"#.to_owned(), 0),
        (r#"{"tool":""} ;"#.to_owned(), 1),
        (String::new(), 0),
    ] {
        let error = refused(&world, &[json!({ "name": "a", "tools": text })]).await;
        assert!(
            error["path"]
                .as_str()
                .unwrap()
                .starts_with("groups[0].tools"),
            "{text}: {error}"
        );
        assert_eq!(error["offset"], offset, "{text}: {error}");
        assert_eq!(error["line"], 1);
        assert!(
            error["column"].is_u64() && error["hint"].is_string(),
            "{text}: {error}"
        );
    }
    let place = refused(
        &world,
        &[json!({ "name": "a", "tools": format!("{a} ;\n é {a} ;") })],
    )
    .await;
    assert_eq!(
        (&place["line"], &place["column"], &place["offset"]),
        (&json!(2), &json!(2), &json!(39))
    );
    let list = value(&world.call("seq_list", json!({})).await);
    assert_eq!(list["sequences"], json!([]));
}

/// The example that an error's hint ends with.
fn example(error: &Value) -> Value {
    let hint = error["hint"].as_str().unwrap();
    let (_, example) = hint
        .split_once("for example ")
        .unwrap_or_else(|| panic!("no example: {hint}"));
    serde_json::Deserializer::from_str(example)
        .into_iter()
        .next()
        .unwrap()
        .unwrap_or_else(|error| panic!("{hint}: {error}"))
}

/// What a model does with an error: it puts the hint's example where the error points.
#[tokio::test]
async fn the_hints_own_example_is_accepted() {
    let world = start().await;
    let good = r#"{"tool":"echo","args":{"text":"$args.text"},"as":"x"} ;"#;
    let base =
        json!({ "name": "a", "in": { "text": "string" }, "out": { "x": "any" }, "tools": good });
    let with = |key: &str, value: Value| {
        let mut group = base.clone();
        group[key] = value;
        group
    };
    // (what the model wrote, and the key of the group that the example replaces)
    let mistakes = [
        with(
            "tools",
            json!([{ "tool": "echo", "args": { "text": "$args.text" }, "as": "x" }]),
        ),
        with(
            "tools",
            json!({ "tool": "echo", "args": { "text": "$args.text" }, "as": "x" }),
        ),
        with("in", json!("text: string")),
        with("in", json!(["text"])),
        with("parallel", json!("true")),
        with("step", json!("yes")),
        with("timeout", json!("forever")),
        with("retries", json!(2)),
        with("tools", json!("echo hello")),
        with("tools", json!("{tool:\"echo\"} ;")),
    ];
    for mistake in mistakes {
        let found = errors(&create(&world, "s", std::slice::from_ref(&mistake)).await);
        let mut repaired = mistake.clone();
        for error in &found {
            for (key, value) in example(error).as_object().unwrap() {
                // The example of slots is somebody else's: a model puts its own name there.
                let text = value.to_string().replace("host", "text");
                repaired[key] = serde_json::from_str(&text).unwrap();
            }
        }
        created(&world, "s", &[repaired]).await;
    }
    // One object where an array of groups is wanted.
    let found = errors(
        &world
            .call("seq_create", json!({ "name": "s", "groups": base }))
            .await,
    );
    created(
        &world,
        "s",
        example(&found[0])["groups"].as_array().unwrap(),
    )
    .await;
    // A text that holds the array is read as the array.
    let text = json!([base]).to_string();
    value(
        &world
            .call("seq_create", json!({ "name": "s", "groups": text }))
            .await,
    );
    // Nothing at all.
    let found = errors(
        &world
            .call("seq_create", json!({ "name": "s", "groups": [] }))
            .await,
    );
    created(
        &world,
        "s",
        example(&found[0])["groups"].as_array().unwrap(),
    )
    .await;
}

#[tokio::test]
async fn a_reference_without_quotes_is_shown_with_them() {
    let world = start().await;
    let wrong = r#"{"tool":"echo","args":{"text":$args.list[0]},"as":"x"} ;"#;
    let group = |text: &str| json!({ "name": "a", "in": { "list": "array" }, "out": { "x": "any" }, "tools": text });
    let error = refused(&world, &[group(wrong)]).await;
    let hint = error["hint"].as_str().unwrap();
    let quoted = "\"$args.list[0]\"";
    assert!(hint.contains(quoted), "{hint}");
    created(
        &world,
        "s",
        &[group(&wrong.replace("$args.list[0]", quoted))],
    )
    .await;
    assert_eq!(
        run(&world, "s", json!({ "list": ["first"] })).await["out"]["x"],
        "first"
    );
}

#[tokio::test]
async fn group_for_target_is_a_mistake_with_its_own_hint() {
    let world = start().await;
    let inner = group(
        "inner",
        &[echo("$args.t", "x")],
        json!({ "step": false, "in": { "t": "string" }, "out": { "x": "any" } }),
    );
    let outer = |args: &Value| {
        group(
            "outer",
            &[json!({ "tool": "seq_call", "args": args, "as": "y" })],
            json!({ "out": { "y": "any" } }),
        )
    };
    let wrong = json!({ "group": "inner", "args": { "t": "hello" } });
    let error = refused(&world, &[inner.clone(), outer(&wrong)]).await;
    assert_eq!(error["path"], "groups[1].tools[0].args.group");
    created(&world, "s", &[inner, outer(&example(&error)["args"])]).await;
    assert_eq!(
        run(&world, "s", json!({})).await["out"]["y"],
        json!({ "x": "hello" })
    );
}

#[tokio::test]
async fn a_document_in_a_file_is_the_same_document() {
    let config = format!(
        "{GRANT}[plugins.files.grants]\nfs = [{{ host = \"{{workspace}}\", mode = \"rw\" }}]\n"
    );
    let maker = world(&config);
    let workspace = maker.workspace();
    let document = json!({ "name": "s", "description": "from a file", "groups": [group("a", &[echo("é", "x")], json!({ "out": { "x": "any" } }))] });
    // More than one page.
    let padding = " ".repeat(600_000);
    std::fs::write(
        workspace.join("s.json"),
        format!("\u{feff}{padding}{document}"),
    )
    .unwrap();
    std::fs::write(
        workspace.join("twice.json"),
        r#"{"name":"s","groups":[],"groups":[]}"#,
    )
    .unwrap();
    std::fs::write(
        workspace.join("other.json"),
        json!({ "name": "t", "groups": document["groups"] }).to_string(),
    )
    .unwrap();
    std::fs::write(workspace.join("big.json"), "x".repeat((1 << 20) + 1)).unwrap();
    let world = maker.start().await;
    let file = async |file: &str, more: Value| {
        let mut arguments = json!({ "name": "s", "file": file });
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        world.call("seq_create", arguments).await
    };
    value(&file("s.json", json!({})).await);
    assert_eq!(run(&world, "s", json!({})).await["out"]["x"], "é");
    let described = async || {
        value(&world.call("seq_list", json!({ "name": "s" })).await)["description"].clone()
    };
    assert_eq!(described().await, "from a file");
    value(&file("s.json", json!({ "description": "mine" })).await);
    assert_eq!(described().await, "mine");
    assert!(
        errors(&file("twice.json", json!({})).await)[0]["message"]
            .as_str()
            .unwrap()
            .contains("`groups` is given twice")
    );
    assert_eq!(
        errors(&file("other.json", json!({})).await)[0]["path"],
        "name"
    );
    for (name, reason) in [
        ("none.json", "not_found"),
        ("../s.json", "unauthorized"),
        ("/etc/passwd", "unauthorized"),
        ("big.json", "too_large"),
        (".", "is_directory"),
    ] {
        assert_eq!(
            failure(&file(name, json!({})).await),
            ("failed", reason.into()),
            "{name}"
        );
    }
    for arguments in [
        json!({ "name": "s" }),
        json!({ "name": "s", "file": "s.json", "groups": [] }),
    ] {
        failure(&world.call("seq_create", arguments).await);
    }
}

#[tokio::test]
async fn names_of_all_languages_work_everywhere() {
    let world = start().await;
    let one = group(
        "拉取单台",
        &[echo("${args.主机}.本地", "摘要")],
        json!({ "step": false, "in": { "主机": "string" }, "out": { "摘要": "string" } }),
    );
    let all = group(
        "हिन्दी é",
        &[
            json!({ "tool": "seq_call", "args": { "target": "拉取单台", "args": { "主机": "$args.主机们[0]" } }, "as": "报告" }),
            json!({ "tool": "seq_when_call", "args": { "target": "拉取单台", "when": "$args.主机们 contains \"乙\"", "args": { "主机": "$args.主机们[1]" } }, "as": "报告" }),
        ],
        json!({ "in": { "主机们": "array" }, "out": { "报告": "array" } }),
    );
    created(&world, "巡检三节点", &[one, all]).await;
    let report = run(&world, "巡检三节点", json!({ "主机们": ["甲", "乙"] })).await;
    assert_eq!(
        report["out"]["报告"],
        json!([{ "摘要": "甲.本地" }, { "摘要": "乙.本地" }]),
        "{report}"
    );
    let called = world
        .call(
            "seq_call",
            json!({ "target": "#巡检三节点", "args": { "主机们": ["丙"] } }),
        )
        .await;
    assert_eq!(value(&called), json!({ "报告": [{ "摘要": "丙.本地" }] }));
    // Decomposed and composed are one name.
    let called = world.call("seq_call", json!({ "target": "हिन्दी e\u{301}", "in_sequence": "巡检三节点", "args": { "主机们": [] } })).await;
    assert_eq!(failure(&called).0, "failed");
    assert!(called.text.contains("does not resolve"), "{}", called.text);
    assert_eq!(tools(&[]), "");
}
