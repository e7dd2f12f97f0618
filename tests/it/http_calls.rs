//! Calls and lists over HTTP: the same answers as everywhere, for each principal its own.

use std::{collections::BTreeSet, fs};

use serde_json::{Value, json};

use crate::serving::{Answer, Events, Served, Site};

fn names(served: &Served, token: &str) -> BTreeSet<String> {
    let tools = served.get(token, "/api/v1/tools").expect(200).json();
    let tools = tools["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn each_principal_sees_its_own_tools_and_plugins() {
    let site = Site::fast();
    let [user, agent, client] = ["local", "assistant", "prober"].map(|who| site.token(who));
    let served = site.serve();
    let all = names(&served, &user);
    assert!(all.contains("cmd_run") && all.contains("echo"), "{all:?}");
    let own = names(&served, &agent);
    assert!(own.contains("files_read") && own.iter().all(|name| name.starts_with("files_")));
    assert_eq!(
        names(&served, &client),
        ["echo", "sleep_parallel"].map(str::to_owned).into()
    );

    let tools = served.get(&client, "/api/v1/tools").json();
    let echo = &tools["tools"][0];
    assert_eq!(echo["plugin"], "probe");
    assert_eq!(echo["generation"], 1);
    assert_eq!(echo["parallel_safe"], true);
    assert_eq!(echo["hints"]["read_only"], true);
    assert_eq!(echo["parameters"]["properties"]["text"]["type"], "string");
    assert!(echo["digest"].as_str().unwrap().starts_with("sha256:"));
    // Whose else it is, is nobody's business.
    assert!(!tools.to_string().contains("assistant"), "{tools}");

    let plugins = served.get(&user, "/api/v1/plugins").json();
    assert_eq!(plugins["plugins"].as_array().unwrap().len(), 4);
    let plugins = served.get(&client, "/api/v1/plugins").json();
    let [probe] = &plugins["plugins"].as_array().unwrap()[..] else {
        panic!("{plugins}");
    };
    assert_eq!(probe["tools"], json!(["echo", "sleep_parallel"]));
    assert!(!plugins.to_string().contains(site.root.to_str().unwrap()));
}

/// Success, failure, reason, value and place: all but times and ids.
fn outcome(result: &Value) -> Value {
    json!([
        result["name"],
        result["success"],
        result["failure"],
        result["value"],
        result["error"],
        result["implementation"],
        result["text"],
    ])
}

#[test]
fn the_same_calls_end_the_same_way_at_the_command_line_and_over_http() {
    let site = Site::fast();
    fs::write(site.root.join("workspace/a.txt"), "text").unwrap();
    fs::write(site.root.join("workspace/.env"), "secret").unwrap();
    let token = site.token("assistant");
    let served = site.serve();
    for (name, arguments, failure, reason) in [
        (
            "files_read",
            json!({ "path": "a.txt" }),
            Value::Null,
            Value::Null,
        ),
        (
            "files_read",
            json!({ "path": ".env" }),
            json!("unauthorized"),
            json!("unauthorized"),
        ),
        // Nobody is there to ask, on either side.
        (
            "files_delete",
            json!({ "path": "a.txt" }),
            json!("unauthorized"),
            json!("unauthorized"),
        ),
        (
            "files_read",
            json!({ "pfad": "a.txt" }),
            json!("invalid"),
            json!("additional"),
        ),
        (
            "files_read",
            json!("not {\"JSON"),
            json!("invalid"),
            json!("arguments"),
        ),
        (
            "files_read",
            json!({ "path": "b.txt" }),
            json!("failed"),
            json!("not_found"),
        ),
        (
            "no_such_tool",
            json!({}),
            json!("not-found"),
            json!("not_found"),
        ),
        (
            "cmd_run",
            json!({ "argv": ["sh"] }),
            json!("unauthorized"),
            json!("unauthorized"),
        ),
    ] {
        let call = json!({ "id": "c", "name": name, "arguments": arguments });
        let http = served
            .post(&token, "/api/v1/call", &call)
            .expect(200)
            .json();
        assert_eq!(http["failure"], failure, "{http}");
        assert_eq!(http["error"]["reason"], reason, "{http}");

        let file = site.root.join("batch.json");
        fs::write(&file, json!([call]).to_string()).unwrap();
        let file = file.to_str().unwrap();
        let (_, out, err) = site.run(&["batch", file, "--json", "--as", "assistant"]);
        let cli: Value =
            serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {err}"));
        assert_eq!(outcome(&http), outcome(&cli[0]));
        // And as a batch of one.
        let batch = served
            .post(&token, "/api/v1/batch", &json!([call]))
            .expect(200)
            .json();
        assert_eq!(outcome(&batch[0]), outcome(&cli[0]));
    }
    assert!(site.root.join("workspace/a.txt").exists());
}

#[test]
fn results_of_a_batch_come_in_its_order_and_in_every_form() {
    let site = Site::fast();
    let token = site.token("local");
    let served = site.serve();
    let calls: Vec<Value> = (0..8)
        .map(|n| json!({ "id": format!("c{n}"), "name": "sleep_parallel", "arguments": { "ms": (8 - n) * 20 } }))
        .collect();
    let results = served
        .post(&token, "/api/v1/batch", &json!({ "calls": calls }))
        .expect(200)
        .json();
    let results = results.as_array().unwrap();
    assert_eq!(results.len(), 8);
    for (n, result) in results.iter().enumerate() {
        assert_eq!(result["index"], n);
        assert_eq!(result["id"], format!("c{n}"));
        assert_eq!(result["value"], (8 - n) * 20);
        assert_eq!(result["parallel"], true);
    }
    let openai = json!({ "role": "assistant", "tool_calls": [
        { "id": "a", "type": "function", "function": { "name": "echo", "arguments": "{\"text\":\"1\"}" } }] });
    let anthropic = json!({ "role": "assistant", "stop_reason": "max_tokens", "content": [
        { "type": "text", "text": "…" },
        { "type": "tool_use", "id": "a", "name": "echo", "input": { "text": "1" } },
        { "type": "tool_use", "id": "b", "name": "echo", "input": { "text": "2" } }] });
    let results = served
        .post(&token, "/api/v1/batch", &openai)
        .expect(200)
        .json();
    assert_eq!(results[0]["value"], "1");
    let results = served
        .post(&token, "/api/v1/batch", &anthropic)
        .expect(200)
        .json();
    assert_eq!(results[0]["value"], "1");
    // Cut by its length limit: the last one is not what the model meant.
    assert_eq!(results[1]["failure"], "invalid");
}

#[test]
fn a_call_may_say_how_long_it_may_take() {
    let site = Site::fast();
    let token = site.token("local");
    let served = site.serve();
    for timeout in [json!(0.1), json!("100ms")] {
        let call =
            json!({ "name": "sleep_parallel", "arguments": { "ms": 60_000 }, "timeout": timeout });
        let result = served
            .post(&token, "/api/v1/call", &call)
            .expect(200)
            .json();
        assert_eq!(result["failure"], "timeout", "{result}");
    }
}

#[test]
fn a_client_that_goes_away_cancels_its_calls_and_no_others() {
    let site = Site::fast();
    let token = site.token("local");
    let served = site.serve();
    let mut events = Events::open(&served, &token);
    let gone = served.begin(&token, "sleep_parallel", &json!({ "ms": 50_000 }));
    let first = events.until("call_started").data["batch"].clone();
    let stays = served.begin(&token, "sleep_parallel", &json!({ "ms": 1_000 }));
    assert_eq!(events.until("call_started").data["tool"], "sleep_parallel");
    drop(gone);
    let ended = events.until("tool_call").data;
    assert_eq!(
        (&ended["batch"], &ended["status"]),
        (&first, &json!("cancelled"))
    );
    let result = Answer::read(stays).expect(200).json();
    assert_eq!(result["success"], true);

    // A command ends with its call, and all that it started.
    let script = "echo $$ > pid; sleep 300 & wait";
    let gone = served.begin(&token, "cmd_run", &json!({ "argv": ["sh", "-c", script] }));
    let pid_file = site.root.join("workspace/pid");
    let started = std::time::Instant::now();
    let pid = loop {
        match fs::read_to_string(&pid_file) {
            Ok(pid) if pid.ends_with('\n') => break pid.trim().to_owned(),
            _ => std::thread::yield_now(),
        }
        assert!(started.elapsed() < std::time::Duration::from_secs(60));
    };
    drop(gone);
    while events.until("tool_call").data["status"] != "cancelled" {}
    let process = std::path::Path::new("/proc").join(pid);
    let is_running =
        || fs::read_to_string(process.join("stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while is_running() {
        assert!(
            started.elapsed() < std::time::Duration::from_secs(60),
            "it runs on"
        );
        std::thread::yield_now();
    }
}

#[test]
fn the_description_has_every_path_and_what_it_says_is_so() {
    let site = Site::fast();
    let token = site.token("local");
    let served = site.serve();
    let document = served
        .get(&token, "/api/v1/openapi.json")
        .expect(200)
        .json();
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().unwrap();
    assert_eq!(paths.len(), 9);
    for (path, methods) in paths {
        let methods = methods.as_object().unwrap();
        for method in ["get", "post"] {
            if path == "/api/v1/events" && method == "get" {
                continue;
            }
            let status = match method {
                "get" => served.get(&token, path).status,
                _ => served.post(&token, path, &json!(null)).status,
            };
            let described = methods.contains_key(method);
            assert_eq!(described, status != 405, "{method} {path}: {status}");
            if described {
                let responses = methods[method]["responses"].as_object().unwrap();
                assert!(
                    responses.contains_key(&status.to_string()),
                    "{path}: {status}"
                );
            }
        }
        let operation = methods.values().next().unwrap();
        let open = operation["security"] == json!([]);
        let status = served.ask("GET", path, &[], "").status;
        assert_eq!(open, status != 401, "{path}");
    }
    // Every reference leads somewhere.
    let text = document.to_string();
    for target in text.split("\"$ref\":\"#").skip(1) {
        let pointer = target.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
    // A real result has what the description requires.
    let result = served.call(&token, "echo", &json!({ "text": "x" }));
    let schema = &document["components"]["schemas"]["ToolResult"];
    for key in schema["required"].as_array().unwrap() {
        assert!(result.get(key.as_str().unwrap()).is_some(), "{key}");
    }
    for key in result.as_object().unwrap().keys() {
        assert!(schema["properties"].get(key).is_some(), "{key}");
    }
}
