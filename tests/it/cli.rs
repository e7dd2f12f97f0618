//! The command line as its users meet it: the real program, folders of its own, nothing
//! of the environment that runs the tests.

use std::{fs, io::Write as _, os::unix::fs::PermissionsExt as _, path::Path};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::user::{CONFIG, Ended, User, until};

fn outcomes(results: &Value) -> Vec<String> {
    let all = results.as_array().unwrap().iter();
    all.map(|result| result["failure"].as_str().unwrap_or("ok").to_owned())
        .collect()
}

#[test]
fn exit_codes_tell_how_a_batch_went() {
    let user = User::configured();
    fs::write(user.workspace.join("a.txt"), "x").unwrap();
    fs::write(user.workspace.join(".env"), "x").unwrap();
    let ok = json!({"name": "files_read", "arguments": {"path": "a.txt"}});
    let denied = json!({"name": "files_read", "arguments": {"path": ".env"}});
    let asked = json!({"name": "files_delete", "arguments": {"path": "a.txt"}});
    let missing = json!({"name": "files_read", "arguments": {"path": "b.txt"}});
    let invalid = json!({"name": "files_read", "arguments": {"pfad": "a.txt"}});
    let unknown = json!({"name": "no_such_tool"});
    for (calls, code, wanted) in [
        (vec![&ok, &ok], 0, &["ok", "ok"][..]),
        (vec![&ok, &denied], 3, &["ok", "unauthorized"]),
        // Nobody is here to ask.
        (vec![&asked, &denied], 3, &["unauthorized", "unauthorized"]),
        (vec![&denied, &missing], 1, &["unauthorized", "failed"]),
        (vec![&ok, &invalid], 1, &["ok", "invalid"]),
        (vec![&unknown], 1, &["not-found"]),
    ] {
        let text = json!({ "calls": calls }).to_string();
        let ended = user
            .run_with(&["batch", "-", "--json", "--as", "assistant"], &text)
            .expect(code);
        assert_eq!(outcomes(&ended.json()), wanted, "{text}");
    }
    assert!(user.workspace.join("a.txt").exists());
}

#[test]
fn every_form_of_a_reply_runs() {
    let user = User::configured();
    fs::write(user.workspace.join("a.txt"), "x").unwrap();
    let own = json!([{"id": "a", "name": "files_stat", "arguments": {"path": "a.txt"}}]);
    let message = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "files_stat", "arguments": "{\"path\": \"a.txt\"}"}}
    ]});
    let response = json!({"object": "chat.completion", "choices": [
        {"index": 0, "finish_reason": "tool_calls", "message": message}
    ]});
    let anthropic = json!({"type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "a", "name": "files_stat", "input": {"path": "a.txt"}}
    ]});
    for form in [own, message, response, anthropic] {
        let results = user.batch(&form).expect(0).json();
        assert_eq!(results[0]["id"], "a", "{form}");
        assert_eq!(results[0]["value"]["size"], 1, "{form}");
    }
    // A file is read like standard input.
    user.write("batch.json", r#"{"calls": [{"name": "files_list"}]}"#);
    user.run(&["batch", "batch.json"]).expect(0);
}

#[test]
fn the_last_call_of_a_cut_reply_never_runs() {
    let user = User::configured();
    let write = |path: &str| json!({"path": path, "content": "x"});
    for (n, cut) in [
        json!({"finish_reason": "length", "calls": [
            {"name": "files_write", "arguments": write("0a")}, {"name": "files_write", "arguments": write("0b")}
        ]}),
        json!({"choices": [{"finish_reason": "length", "message": {"tool_calls": [
            {"function": {"name": "files_write", "arguments": write("1a").to_string()}},
            {"function": {"name": "files_write", "arguments": write("1b").to_string()}}
        ]}}]}),
        json!({"stop_reason": "max_tokens", "content": [
            {"type": "tool_use", "name": "files_write", "input": write("2a")},
            {"type": "tool_use", "name": "files_write", "input": write("2b")}
        ]}),
    ]
    .iter()
    .enumerate()
    {
        let results = user.batch(cut).expect(1).json();
        assert_eq!(outcomes(&results)[0], "ok", "{results}");
        assert_ne!(outcomes(&results)[1], "ok", "{results}");
        assert!(user.workspace.join(format!("{n}a")).exists());
        assert!(!user.workspace.join(format!("{n}b")).exists());
    }
}

#[test]
fn an_unusable_batch_runs_nothing_and_says_where() {
    let user = User::configured();
    user.write("bad.json", "{\"calls\": [\n  {\"name\": \"files_write\", \"arguments\": {\"path\": \"p\", \"content\": \"\"}},\n  {\"nmae\": 1}\n]}");
    user.run(&["batch", "bad.json"]).expect(2).says(&[
        "error: unknown key `nmae`",
        "bad.json:3:12",
        "hint: did you mean `name`?",
    ]);
    assert!(!user.workspace.join("p").exists());
    for (text, says) in [
        ("", "standard input:1:1"),
        ("{\"calls\": [}", "standard input:1:12"),
        ("{}", "this is no batch of calls"),
        ("{\"calls\": []}", "there are no calls in it"),
        (
            "{\"role\": \"assistant\", \"content\": \"No.\"}",
            "there are no calls in it",
        ),
    ] {
        user.run_with(&["batch", "-"], text)
            .expect(2)
            .says(&["error: ", says]);
    }
    user.write("bytes.json", b"[\xff]");
    user.run(&["batch", "bytes.json"])
        .expect(2)
        .says(&["not UTF-8, at byte 1"]);
    user.run(&["batch", "nowhere.json"])
        .expect(2)
        .says(&["the batch cannot be read", "nowhere.json"]);
}

#[test]
fn arguments_reach_the_one_place_that_judges_them() {
    let user = User::configured();
    let text = r#"[{"name": "files_read", "arguments": {"path": "a", "path": "b"}},
                   {"name": "files_read", "arguments": "{\"path\": "},
                   {"name": "files_list", "arguments": ""}]"#;
    let results = user
        .run_with(&["batch", "-", "--json"], text)
        .expect(1)
        .json();
    assert_eq!(outcomes(&results), ["invalid", "invalid", "ok"]);
}

#[test]
fn a_found_configuration_counts_only_when_it_is_trusted() {
    let user = User::new();
    user.write("toolgate.toml", CONFIG);
    let below = user.project.join("workspace");
    for folder in [&user.project, &below] {
        let ended = Ended::of(
            user.program()
                .arg("tools")
                .current_dir(folder)
                .output()
                .unwrap(),
        );
        ended.expect(2).says(&[
            "error: this configuration is not trusted",
            "toolgate.toml",
            "hint: `toolgate trust`",
        ]);
    }
    // Nobody is here to ask, and nothing is taken for a yes.
    let ended = user.run_with(&["trust"], "y\n").expect(2);
    assert!(
        ended.out.contains("plugin files reads and writes"),
        "{}",
        ended.out
    );
    assert!(ended.err.contains("--yes"), "{}", ended.err);
    user.run(&["tools"]).expect(2);

    user.run(&["trust", "--yes"]).expect(0);
    user.run(&["tools"]).expect(0);

    // The same file, changed: what differs is shown.
    user.write("toolgate.toml", CONFIG.replace("\"sh\"", "\"sh\", \"rm\""));
    user.run(&["tools"])
        .expect(2)
        .says(&["has changed since it was trusted"]);
    let ended = user.run(&["trust", "--yes"]).expect(0);
    assert!(
        ended.out.contains("+ programs = [\"sh\", \"rm\"]"),
        "{}",
        ended.out
    );
    assert!(ended.out.contains("- programs = [\"sh\"]"), "{}", ended.out);
    user.run(&["tools"]).expect(0);
}

#[test]
fn a_named_configuration_that_its_own_grants_can_change_needs_trust() {
    let user = User::new();
    let inside = user.workspace.join("own.toml");
    fs::write(
        &inside,
        "[plugins.files.grants]\nfs = [{ host = \".\", mode = \"rw\" }]\n",
    )
    .unwrap();
    let file = inside.to_str().unwrap();
    user.run(&["tools", "--config", file])
        .expect(2)
        .says(&["is not trusted", "own.toml"]);
    user.run(&["trust", "--yes", "--config", file]).expect(0);
    user.run(&["tools", "--config", file]).expect(0);
    // Named and outside of what it grants: no question.
    user.write("outside.toml", CONFIG);
    user.run(&["tools", "--config", "outside.toml"]).expect(0);
}

#[test]
fn init_makes_something_that_works_and_replaces_nothing() {
    let user = User::new();
    fs::remove_dir(&user.workspace).unwrap();
    user.run(&["init"]).expect(0);
    let written = user
        .run(&["call", "files_write", "path=a.txt", "content=hello"])
        .expect(0);
    assert_eq!(
        serde_json::from_str::<Value>(&written.out).unwrap()["size"],
        5
    );
    assert_eq!(
        fs::read_to_string(user.workspace.join("a.txt")).unwrap(),
        "hello"
    );

    let before = fs::read(user.project.join("toolgate.toml")).unwrap();
    user.run(&["init"])
        .expect(2)
        .says(&["there is a configuration already", "toolgate.toml"]);
    assert_eq!(
        fs::read(user.project.join("toolgate.toml")).unwrap(),
        before
    );
}

#[test]
fn init_that_fails_leaves_nothing() {
    let user = User::new();
    fs::remove_dir(&user.workspace).unwrap();
    // Where trust would be recorded lies a file.
    fs::write(user.root.join("home/data"), "").unwrap();
    let ended = user.run(&["init"]);
    assert_ne!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(
        fs::read_dir(&user.project).unwrap().count(),
        0,
        "{}",
        ended.err
    );
}

#[test]
fn a_mistake_in_the_configuration_has_its_place_and_the_nearest_key() {
    let user = User::new();
    user.write("bad.toml", "[host]\n[plugins.files.grnats]\nfs = []\n");
    user.run(&["tools", "--config", "bad.toml"])
        .expect(2)
        .says(&[
            "error: unknown key `plugins.files.grnats`",
            "bad.toml:2:16",
            "hint: did you mean `grants`?",
        ]);
    let ended = Ended::of(
        user.program()
            .arg("tools")
            .env("TOOLGATE_HOST_LIMITS_TIMEOT", "1s")
            .output()
            .unwrap(),
    );
    ended.expect(2).says(&[
        "unknown variable TOOLGATE_HOST_LIMITS_TIMEOT",
        "TOOLGATE_HOST_LIMITS_TIMEOUT",
    ]);
    user.run(&["tools", "--config", "none.toml"])
        .expect(2)
        .says(&["no such configuration file"]);
    user.write("ok.toml", CONFIG);
    user.run(&["tools", "--config", "ok.toml", "--as", "asistant"])
        .expect(2)
        .says(&["no principal `asistant`", "assistant, local"]);
}

#[test]
fn usage_errors_are_two_and_help_is_zero() {
    let user = User::new();
    for wrong in [
        &[][..],
        &["frobnicate"],
        &["call"],
        &["batch"],
        &["tools", "--wat"],
        &["audit", "--last", "x"],
    ] {
        user.run(wrong).expect(2).says(&[]);
    }
    for right in [
        &["--help"][..],
        &["--version"],
        &["help", "call"],
        &["batch", "--help"],
    ] {
        let ended = user.run(right).expect(0);
        assert!(!ended.out.is_empty());
        assert_eq!(ended.err, "");
    }
}

#[test]
fn one_result_has_the_pinned_shape() {
    let user = User::configured();
    fs::write(user.workspace.join("a.txt"), "abc").unwrap();
    let keys = |result: &Value| {
        result
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
            .join(" ")
    };

    let ok = user
        .run(&["call", "files_stat", "path=a.txt", "--json"])
        .expect(0)
        .json();
    assert_eq!(
        keys(&ok),
        "id index name success failure value error blocks text parallel elapsed_ms queue_ms implementation"
    );
    assert_eq!(
        keys(&ok["implementation"]),
        "plugin version digest generation"
    );
    assert_eq!(ok["success"], true);
    assert_eq!(ok["failure"], Value::Null);
    assert_eq!(ok["error"], Value::Null);
    assert_eq!(ok["value"]["size"], 3);
    assert_eq!(
        serde_json::from_str::<Value>(ok["text"].as_str().unwrap()).unwrap(),
        ok["value"]
    );
    assert!(
        ok["implementation"]["digest"]
            .as_str()
            .unwrap()
            .starts_with("sha256:")
    );

    let denied = user
        .run(&[
            "call",
            "files_read",
            "path=.env",
            "--json",
            "--as",
            "assistant",
        ])
        .expect(3)
        .json();
    assert_eq!(denied["success"], false);
    assert_eq!(denied["failure"], "unauthorized");
    assert_eq!(denied["error"]["reason"], "unauthorized");
    assert!(
        denied["error"]["detail"]
            .as_str()
            .unwrap()
            .contains("principals.assistant.deny[0]"),
        "{denied}"
    );
    assert_eq!(denied["value"], Value::Null);

    let twice = json!([{"id": "a", "name": "files_list"}, {"id": "a", "name": "files_list"}]);
    let twice = user.batch(&twice).expect(0).json();
    assert!(
        keys(&twice[1]).starts_with("id original_id index name"),
        "{twice}"
    );
}

#[test]
fn call_takes_json_and_words() {
    let user = User::configured();
    fs::write(user.workspace.join("a.txt"), "1\n2\n3\n").unwrap();
    let page = |arguments: &[&str]| {
        let ended = user
            .run(&[&["call", "files_read"][..], arguments].concat())
            .expect(0);
        serde_json::from_str::<Value>(&ended.out).unwrap()["lines"].clone()
    };
    assert_eq!(page(&["path=a.txt", "limit=2"]), 2);
    assert_eq!(page(&["path=a.txt", "limit:=2"]), 2);
    assert_eq!(page(&[r#"{"path": "a.txt", "limit": 2}"#]), 2);

    // Neither JSON nor words: nothing ran. JSON that does not fit: the call failed.
    user.run(&["call", "files_read", "a.txt"])
        .expect(2)
        .says(&["`a.txt` is neither JSON nor key=value", "hint: "]);
    user.run(&["call", "files_read", "{\"path\": "])
        .expect(2)
        .says(&["the arguments are no JSON"]);
    let ended = user.run(&["call", "files_read", "[1]"]).expect(1);
    assert!(ended.err.contains("error: "), "{}", ended.err);
    let ended = user.run(&["call", "files_read", "pfad=a.txt"]).expect(1);
    assert!(
        ended.err.contains("error: ") && ended.err.contains("hint: "),
        "{}",
        ended.err
    );
    // A failure's text for the model goes where every text goes.
    assert!(ended.out.contains("\"reason\":"), "{}", ended.out);
}

#[test]
fn standard_output_has_data_and_nothing_else() {
    let user = User::configured();
    for arguments in [
        &["tools", "--json"][..],
        &["tools", "files_read", "--json"],
        &["plugins", "--json", "-vvv"],
        &["plugins", "files", "--json"],
        &["config", "--json"],
        &["doctor", "--json"],
        &["call", "files_list", "--json", "-vvv"],
    ] {
        let ended = user.run(arguments).expect(0);
        ended.json();
        assert!(
            !ended.out.contains('\u{1b}') && !ended.err.contains('\u{1b}'),
            "{arguments:?}"
        );
    }
    // Plain text to a pipe is plain.
    for arguments in [
        &["tools"][..],
        &["tools", "files_read"],
        &["plugins"],
        &["plugins", "files"],
        &["config"],
        &["doctor"],
    ] {
        let ended = user.run(arguments).expect(0);
        assert!(
            !ended.out.is_empty() && !ended.out.contains('\u{1b}'),
            "{}",
            ended.out
        );
    }
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let user = User::configured();
    let mut child = user.program().args(["tools", "--json"]).spawn().unwrap();
    drop(child.stdout.take());
    let ended = Ended::of(child.wait_with_output().unwrap()).expect(0);
    assert_eq!(ended.err, "");
}

#[test]
fn the_audit_log_has_denied_calls_and_survives_a_torn_line() {
    let user = User::configured();
    fs::write(user.workspace.join("a.txt"), "x").unwrap();
    user.run(&["audit"]).expect(0);
    user.run(&["call", "files_read", "path=a.txt"]).expect(0);
    user.run(&["call", "files_read", "path=.env", "--as", "assistant"])
        .expect(3);
    user.run(&["call", "files_list"]).expect(0);
    let lines = |arguments: &[&str]| -> Vec<Value> {
        let ended = user
            .run(&[&["audit", "--json"][..], arguments].concat())
            .expect(0);
        ended
            .out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    assert_eq!(lines(&[]).len(), 3);
    let denied = lines(&["--principal", "assistant"]);
    assert_eq!(denied.len(), 1);
    assert_eq!(
        (
            &denied[0]["decision"],
            &denied[0]["outcome"],
            &denied[0]["rule"]
        ),
        (
            &json!("denied"),
            &json!("unauthorized"),
            &json!("principals.assistant.deny[0]")
        )
    );
    assert_eq!(lines(&["--failed"]), denied);
    assert_eq!(lines(&["--tool", "*_list"]).len(), 1);
    assert_eq!(lines(&["--last", "1"])[0]["tool"], "files_list");
    assert_eq!(lines(&["--tool", "files_read", "--last", "1"]), denied);
    assert!(lines(&["--last", "0"]).is_empty());

    let log = user.root.join("home/data/toolgate/audit/audit.jsonl");
    fs::rename(&log, log.with_extension("jsonl.1")).unwrap();
    user.run(&["call", "files_list"]).expect(0);
    let mut torn = fs::OpenOptions::new().append(true).open(&log).unwrap();
    torn.write_all(b"{\"v\":1,\"ti").unwrap();
    let ended = user.run(&["audit"]).expect(0);
    assert_eq!(ended.out.lines().count(), 4, "{}", ended.out);
    assert!(
        ended.err.contains("audit.jsonl:2: this line is torn"),
        "{}",
        ended.err
    );
}

#[test]
fn check_says_what_a_host_would_say() {
    let user = User::new();
    let files = toolgate_guests::FILES;
    user.write("files.wasm", files);
    let good = user
        .run(&["check", "files.wasm", "--json"])
        .expect(0)
        .json();
    assert_eq!(good["name"], "files");
    assert_eq!(good["world"], "toolgate:plugin/plugin@0.1.0");
    assert_eq!(good["capabilities"][0]["name"], "fs");
    assert_eq!(good["problems"], json!([]));
    assert!(
        good["tools"]
            .as_array()
            .unwrap()
            .iter()
            .any(|tool| tool["name"] == "files_read")
    );

    user.write("other.wasm", files);
    user.write("text.wasm", "hello");
    user.write("empty.wasm", "");
    user.write("module.wasm", b"\0asm\x01\0\0\0");
    user.write("cut.wasm", &files[..files.len() / 2]);
    for (file, says) in [
        ("other.wasm", "it calls itself `files`"),
        ("text.wasm", "no WebAssembly file"),
        ("empty.wasm", "no WebAssembly file"),
        ("module.wasm", "a core module, where a component is needed"),
        ("cut.wasm", "not a complete component"),
    ] {
        let ended = user.run(&["check", file]).expect(1);
        assert!(ended.out.contains(says), "{file}: {}", ended.out);
    }
    user.run(&["check", "nowhere.wasm"])
        .expect(2)
        .says(&["cannot be read", "nowhere.wasm"]);
    user.run(&["check", "."])
        .expect(2)
        .says(&["not a regular file"]);
}

#[test]
fn a_dropped_file_inherits_no_grant() {
    let user = User::new();
    fs::create_dir(user.project.join("plugins")).unwrap();
    user.write("plugins/cmd.wasm", toolgate_guests::FILES);
    user.write("plugins/spare.wasm", toolgate_guests::FILES);
    user.write(
        "c.toml",
        format!("[host]\nplugin_dir = \"plugins\"\n{CONFIG}"),
    );
    let ended = user
        .run(&["plugins", "--json", "--config", "c.toml"])
        .expect(0);
    let plugins = ended.json();
    let named = |name: &str| {
        plugins
            .as_array()
            .unwrap()
            .iter()
            .find(|plugin| plugin["name"] == name)
            .unwrap()
    };
    assert_eq!(named("cmd")["source"], "embedded");
    assert!(ended.err.contains("cmd.wasm is not used"), "{}", ended.err);
    assert_eq!(named("spare")["loaded"], false);
    assert!(
        named("spare")["problems"][0]
            .as_str()
            .unwrap()
            .contains("calls itself \"files\""),
        "{plugins}"
    );
}

#[test]
fn tools_shows_what_the_caller_may_see() {
    let user = User::configured();
    let names = |arguments: &[&str]| -> Vec<String> {
        let tools = user
            .run(&[&["tools", "--json"][..], arguments].concat())
            .expect(0)
            .json();
        tools
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(names(&[]).contains(&"cmd_run".to_owned()));
    assert!(names(&["--as", "assistant"]).contains(&"files_delete".to_owned()));
    assert!(!names(&["--as", "assistant"]).contains(&"cmd_run".to_owned()));
    user.run(&["tools", "cmd_run", "--as", "assistant"])
        .expect(1)
        .says(&["there is no tool `cmd_run`"]);
    user.run(&["tools", "files_raed"])
        .expect(1)
        .says(&["did you mean `files_read`?"]);
    let one = user
        .run(&["tools", "files_delete", "--json"])
        .expect(0)
        .json();
    let assistant = one["callers"]
        .as_array()
        .unwrap()
        .iter()
        .find(|caller| caller["principal"] == "assistant");
    assert_eq!(assistant.unwrap()["ask"][0], "files_delete", "{one}");
}

#[test]
fn media_are_named_and_saved() {
    let user = User::configured();
    // One pixel.
    let png: &[u8] =
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\
        \0\0\0\rIDATx\x9cc\xf8\xff\xff?\0\x05\xfe\x02\xfe\xa7\x35\x81\x84\0\0\0\0IEND\xaeB`\x82";
    fs::write(user.workspace.join("dot.png"), png).unwrap();
    let ended = user.run(&["call", "files_read", "path=dot.png"]).expect(0);
    assert!(ended.err.contains("media: image/png"), "{}", ended.err);
    user.run(&["call", "files_read", "path=dot.png", "--save", "media"])
        .expect(0);
    assert_eq!(fs::read(user.project.join("media/dot.png")).unwrap(), png);
}

#[test]
fn doctor_finds_what_is_broken() {
    let user = User::configured();
    let folder = user.root.join("home/data/toolgate");
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&folder, open).unwrap();
    let health = |ended: &Ended, what: &str| -> Value {
        let lines = ended.json();
        let line = lines
            .as_array()
            .unwrap()
            .iter()
            .find(|line| line["what"] == what);
        line.unwrap_or_else(|| panic!("no {what} in {lines}"))["health"].clone()
    };
    let ended = user.run(&["doctor", "--json"]).expect(0);
    assert_eq!(health(&ended, "data folder"), "warn");
    assert_eq!(health(&ended, "commands"), "ok");
    assert_eq!(health(&ended, "plugin files"), "ok");

    user.write(
        "c.toml",
        format!("{CONFIG}[plugins.spare]\nsource = \"spare.wasm\"\n"),
    );
    user.write("spare.wasm", "hello");
    let ended = user
        .run(&["doctor", "--json", "--config", "c.toml"])
        .expect(1);
    assert_eq!(health(&ended, "plugin spare"), "fail");
}

#[test]
fn doctor_looks_at_what_callers_over_http_need() {
    let user = User::configured();
    let said = |health: &str, what: &str, detail: &str| {
        let lines = user.run(&["doctor", "--json"]).json();
        let found = |line: &Value| {
            let has = line["detail"].as_str().unwrap().contains(detail);
            line["health"] == health && line["what"] == what && has
        };
        assert!(lines.as_array().unwrap().iter().any(found), "{lines}");
    };
    said("ok", "tokens", "nobody can call");
    user.run(&["token", "new", "local"]).expect(0);
    said("ok", "tokens", "1");
    user.run(&["token", "new", "assistant"]).expect(0);
    let config = format!("{CONFIG}[serve]\nlisten = \"0.0.0.0:8931\"\n");
    let renamed = config.replace("[principals.assistant]", "[principals.other]");
    user.write("toolgate.toml", renamed);
    user.run(&["trust", "--yes"]).expect(0);
    said("warn", "tokens", "1 of 2 are refused");
    said("warn", "serve.listen", "from other machines");
    fs::write(user.root.join("home/data/toolgate/tokens.json"), "{").unwrap();
    said("fail", "tokens", "tokens.json");
}

#[test]
fn an_interrupt_cancels_and_the_results_still_come() {
    let user = User::configured();
    let batch = json!([
        {"name": "cmd_run", "arguments": {"argv": ["sh", "-c", ": > up; exec sleep 300"]}},
        {"name": "files_write", "arguments": {"path": "late", "content": ""}}
    ]);
    user.write("batch.json", batch.to_string());
    for signal in [Signal::INT, Signal::TERM] {
        let child = user
            .program()
            .args(["batch", "batch.json", "--json"])
            .spawn()
            .unwrap();
        until("the command is up", || user.workspace.join("up").exists());
        kill_process(Pid::from_child(&child), signal).unwrap();
        let ended = Ended::of(child.wait_with_output().unwrap()).expect(130);
        assert_eq!(outcomes(&ended.json()), ["cancelled", "cancelled"]);
        assert!(!user.workspace.join("late").exists());
        fs::remove_file(user.workspace.join("up")).unwrap();
    }
}

#[test]
fn without_any_configuration_it_reads_and_changes_nothing() {
    let user = User::new();
    user.write("a.txt", "x");
    user.run(&["call", "files_read", "path=a.txt"]).expect(0);
    user.run(&["call", "files_write", "path=b.txt", "content=x"])
        .expect(1);
    assert!(!user.project.join("b.txt").exists());
    user.run(&["trust", "--yes"])
        .expect(2)
        .says(&["no configuration to trust", "toolgate init"]);
}

#[test]
fn what_a_tool_says_cannot_steer_the_terminal() {
    let user = User::configured();
    let hostile = "\u{1b}[2Jharmless\u{202e}";
    fs::write(user.workspace.join(hostile), "x").unwrap();
    let batch = json!([{"name": "files_list"}, {"name": hostile}]).to_string();
    let ended = user.run_with(&["batch", "-"], &batch).expect(1);
    // For reading, so escaped; the data of a single call is data.
    assert!(
        !ended.out.contains('\u{1b}') && !ended.out.contains('\u{202e}'),
        "{}",
        ended.out
    );
    assert!(Path::new(&user.workspace.join(hostile)).exists());
}
