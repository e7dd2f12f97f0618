//! How a serving host ends, whether it is ready, what it counts and what it logs.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt as _, path::Path};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::serving::{Answer, Events, Served, Site};

/// A command that runs until there is a file `go`.
fn waiting() -> Value {
    json!({ "argv": ["sh", "-c", "until [ -e go ]; do sleep 0.02; done; echo done"] })
}

#[test]
fn running_calls_finish_while_new_ones_are_refused() {
    let site = Site::fast();
    let token = site.token("local");
    let mut served = site.serve();
    let mut events = Events::open(&served, &token);
    served.ask("GET", "/readyz", &[], "").expect(200);
    let running = served.begin(&token, "cmd_run", &waiting());
    events.until("call_started");
    served.signal(Signal::TERM);
    served.until_said("stopping");
    let mut turned = false;
    // The line was written a moment before the signal takes its way.
    while !turned {
        turned = served.ask("GET", "/readyz", &[], "").status == 503;
    }
    let echo = json!({ "name": "echo", "arguments": { "text": "late" } });
    for path in ["/api/v1/call", "/api/v1/batch"] {
        let answer = served.post(&token, path, &echo).refused(503, "unavailable");
        assert!(answer.header("retry-after").is_some());
    }
    served.ask("GET", "/healthz", &[], "").expect(200);
    fs::write(site.root.join("workspace/go"), "").unwrap();
    let result = Answer::read(running).expect(200).json();
    assert_eq!(result["success"], true, "{result}");
    assert_eq!(result["value"]["stdout"], "done\n");
    events.until("batch_finished");
    assert!(events.next().is_none());
    assert_eq!(served.ended(), Some(0));
}

#[test]
fn what_does_not_finish_in_time_is_cancelled_and_says_so() {
    let site = Site::new("drain = \"200ms\"");
    let token = site.token("local");
    let mut served = site.serve();
    let mut events = Events::open(&served, &token);
    let running = served.begin(&token, "cmd_run", &waiting());
    events.until("call_started");
    served.signal(Signal::INT);
    let result = Answer::read(running).expect(200).json();
    assert_eq!(result["failure"], "cancelled", "{result}");
    assert_eq!(served.ended(), Some(0));
    served.until_said("1 requests had calls that did not end in time");
}

#[test]
fn a_second_signal_ends_at_once() {
    let site = Site::new("drain = \"1h\"");
    let token = site.token("local");
    let mut served = site.serve();
    let mut events = Events::open(&served, &token);
    let _running = served.begin(&token, "sleep_parallel", &json!({ "ms": 50_000 }));
    events.until("call_started");
    served.signal(Signal::TERM);
    served.until_said("stopping");
    served.signal(Signal::TERM);
    assert_eq!(served.ended(), Some(130));
}

#[test]
fn an_idle_host_ends_at_once() {
    let site = Site::new("drain = \"1h\"");
    let mut served = site.serve();
    let idle = served.connect();
    served.signal(Signal::TERM);
    assert_eq!(served.ended(), Some(0));
    drop(idle);
}

#[test]
fn an_address_that_is_taken_is_said() {
    let site = Site::fast();
    let served = site.serve();
    let address = served.address.to_string();
    let (code, out, err) = site.run(&["serve", "--listen", &address, "--log-format", "text"]);
    assert_eq!((code, out.as_str()), (Some(1), ""), "{err}");
    assert!(
        err.contains(&format!("error: {address} cannot be listened on")),
        "{err}"
    );
    assert!(err.contains("hint: "), "{err}");
}

#[test]
fn a_host_that_others_can_reach_says_that_there_is_no_tls() {
    let site = Site::fast();
    let token = site.token("local");
    let served = site.serve_at("0.0.0.0:0");
    served.until_said("there is no TLS here");
    // As far away as here, and with the same checks.
    let mut near = served.address;
    near.set_ip([127, 0, 0, 1].into());
    let host = near.to_string();
    let bearer = crate::serving::bearer(&token);
    let asks = [bearer.as_header(), ("Host", host.as_str())];
    served.ask("GET", "/api/v1/tools", &asks, "").expect(200);
    served
        .ask("GET", "/api/v1/tools", &[bearer.as_header()], "")
        .refused(403, "host");
    // A loopback address needs no warning.
    let served = site.serve();
    assert!(!served.said().join("\n").contains("TLS"));
}

#[test]
fn it_is_not_ready_without_its_audit_log_or_a_configured_plugin() {
    let site = Site::fast();
    let token = site.token("local");
    let served = site.serve();
    served.call(&token, "echo", &json!({ "text": "x" }));
    let audit = site.root.join("data/audit");
    fs::remove_dir_all(&audit).unwrap();
    fs::write(&audit, "in the way").unwrap();
    // The first call finds out; it may have run before its line could be written.
    served.call(&token, "echo", &json!({ "text": "x" }));
    let answer = served
        .ask("GET", "/readyz", &[], "")
        .refused(503, "unavailable");
    // Anybody may ask, so where things lie is not told.
    assert!(!answer.body.contains("audit"), "{answer:?}");
    let result = served.call(&token, "echo", &json!({ "text": "x" }));
    assert_eq!(result["failure"], "unavailable");
    fs::remove_file(&audit).unwrap();
    served.ask("GET", "/readyz", &[], "").expect(200);
    drop(served);

    // A broken file in the folder is that plugin's matter; one that is configured is ours.
    fs::write(site.root.join("plugins/broken.wasm"), "no component").unwrap();
    let served = site.serve();
    served.ask("GET", "/readyz", &[], "").expect(200);
    drop(served);
    let config = site.root.join("toolgate.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("[plugins.broken]\n{text}")).unwrap();
    let served = site.serve();
    served
        .ask("GET", "/readyz", &[], "")
        .refused(503, "unavailable");
}

/// Numbers by name and labels.
fn numbers(served: &Served, token: &str) -> BTreeMap<String, f64> {
    let answer = served.get(token, "/metrics").expect(200);
    let kind = answer.header("content-type").unwrap();
    assert!(kind.starts_with("application/openmetrics-text"), "{kind}");
    assert!(answer.body.ends_with("# EOF\n"));
    let lines = answer.body.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, number) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), number.parse().unwrap())
        })
        .collect()
}

#[test]
fn the_numbers_are_exactly_the_calls_that_were_made() {
    let site = Site::fast();
    let [user, agent] = ["local", "assistant"].map(|who| site.token(who));
    let served = site.serve();
    served.get(&agent, "/metrics").refused(403, "unauthorized");
    let before = numbers(&served, &user);
    assert!(
        !before
            .keys()
            .any(|name| name.starts_with("toolgate_calls_total"))
    );

    for _ in 0..3 {
        served.call(&user, "echo", &json!({ "text": "x" }));
    }
    let batch: Vec<Value> = (0..20)
        .map(|_| json!({ "name": "echo", "arguments": { "text": "x" } }))
        .collect();
    served
        .post(&user, "/api/v1/batch", &json!(batch))
        .expect(200);
    served.call(&user, "echo", &json!({ "txt": "x" }));
    served.call(&user, "fail", &json!({ "reason": "mine" }));
    served.call(&user, "trap", &json!({}));
    served.call(&agent, "files_read", &json!({ "path": ".env" }));
    // It does not learn that this one exists, and neither do the labels.
    served.call(&agent, "echo", &json!({ "text": "x" }));
    for n in 0..5 {
        served.call(&agent, &format!("made_up_{n}"), &json!({}));
    }
    let mut events = Events::open(&served, &user);
    let gone = served.begin(&user, "sleep_parallel", &json!({ "ms": 50_000 }));
    events.until("call_started");
    assert!((numbers(&served, &user)["toolgate_calls_in_flight"] - 1.0).abs() < 0.1);
    assert!((numbers(&served, &user)["toolgate_instances_live"] - 1.0).abs() < 0.1);
    drop(gone);
    events.until("batch_finished");

    let after = numbers(&served, &user);
    let calls: BTreeMap<&str, u64> = after
        .iter()
        .filter_map(|(name, number)| {
            let labels = name.strip_prefix("toolgate_calls_total")?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a small count"
            )]
            Some((labels, *number as u64))
        })
        .collect();
    let wanted = [
        (r#"{tool="echo",plugin="probe",outcome="ok"}"#, 23),
        (r#"{tool="echo",plugin="probe",outcome="invalid"}"#, 1),
        (r#"{tool="fail",plugin="probe",outcome="failed"}"#, 1),
        (r#"{tool="trap",plugin="probe",outcome="trapped"}"#, 1),
        (r#"{tool="files_read",plugin="files",outcome="denied"}"#, 1),
        (r#"{tool="unknown",plugin="unknown",outcome="denied"}"#, 1),
        (
            r#"{tool="unknown",plugin="unknown",outcome="not-found"}"#,
            5,
        ),
        (
            r#"{tool="sleep_parallel",plugin="probe",outcome="cancelled"}"#,
            1,
        ),
    ];
    assert_eq!(calls, wanted.into());
    for (name, number) in [
        (
            r#"toolgate_call_duration_seconds_count{tool="echo",plugin="probe"}"#,
            23.0,
        ),
        // Those that came to the door: 23 + fail, trap, sleep.
        ("toolgate_queue_wait_seconds_count", 26.0),
        ("toolgate_calls_in_flight", 0.0),
        ("toolgate_calls_queued", 0.0),
        (
            r#"toolgate_plugin_loads_total{plugin="probe",outcome="ok"}"#,
            1.0,
        ),
        ("toolgate_plugin_compile_seconds_count", 4.0),
        (
            r#"toolgate_http_requests_total{route="/api/v1/batch",status="200"}"#,
            1.0,
        ),
        (
            r#"toolgate_http_requests_total{route="/metrics",status="403"}"#,
            1.0,
        ),
    ] {
        let have = after
            .get(name)
            .unwrap_or_else(|| panic!("{name}: {after:#?}"));
        assert!((have - number).abs() < 0.1, "{name}: {have}");
    }
}

#[test]
fn the_log_is_json_with_the_steps_of_a_call_and_without_secrets() {
    let site = Site::fast();
    let token = site.token("local");
    let mut served = site.serve_with(&["-vvv"]);
    served.call(&token, "echo", &json!({ "text": "hidden words" }));
    let wrong = format!("{}x", &token[..token.len() - 1]);
    served
        .get(&wrong, "/api/v1/tools")
        .refused(401, "unauthenticated");
    served.signal(Signal::TERM);
    assert_eq!(served.ended(), Some(0));
    let lines = served.said();
    let mut steps = Vec::new();
    for line in &lines {
        let line: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(
            line["timestamp"].is_string() && line["level"].is_string(),
            "{line}"
        );
        if line["fields"]["message"] == "the call ended" {
            steps.push(line["span"].clone());
        }
    }
    let [settled] = &steps[..] else {
        panic!("{lines:#?}")
    };
    assert_eq!(settled["name"], "settle");
    assert_eq!(
        (&settled["tool"], &settled["principal"]),
        (&json!("echo"), &json!("local"))
    );
    let all = lines.join("\n");
    for secret in [&token[14..], &wrong[14..], "hidden words"] {
        assert!(!all.contains(secret), "{secret}\n{all}");
    }
    // Nor is it kept anywhere.
    for (name, text) in files(&site.root.join("data")) {
        assert!(!text.contains(&token[14..]), "{name}");
    }
}

#[test]
fn the_log_is_text_where_that_is_asked_for() {
    let site = Site::fast();
    let served = site.serve_with(&["--log-format", "text"]);
    let line = served.until_said("listening on");
    assert_eq!(line, format!("listening on http://{}", served.address));
    let lines = served.said();
    assert!(
        lines[0].starts_with("warning: there are no tokens"),
        "{lines:?}"
    );
}

fn files(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else if let Ok(text) = fs::read_to_string(&path) {
            let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o077;
            assert_eq!(mode, 0, "{}", path.display());
            all.push((path.display().to_string(), text));
        }
    }
    all
}
