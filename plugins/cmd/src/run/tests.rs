use serde_json::{Value, json};
use toolgate_sdk::{
    Tool as _,
    process::{Captured, Ending, Signal},
};

use super::*;

/// More than any command asks for.
const LONG: u64 = 600_000;

fn captured(text: &str) -> Captured {
    Captured {
        text: text.into(),
        total_bytes: text.len() as u64,
        truncated: false,
        invalid_utf8: false,
    }
}

fn finished(ending: Ending) -> Finished {
    Finished {
        ending,
        stdout: captured("out"),
        stderr: captured("error"),
        combined: captured("outerror"),
        elapsed_ms: 12,
        leftovers: 0,
    }
}

fn arguments(value: Value) -> Run {
    serde_json::from_value(value).unwrap()
}

fn ended(finished: Finished) -> Result<Value, Failure> {
    let report = run(arguments(json!({"command": "x"})), LONG, |_| Ok(finished));
    report.map(|report| serde_json::to_value(report).unwrap())
}

fn asked(value: Value) -> Result<Request, ToolError> {
    request(arguments(value), LONG)
}

#[test]
fn one_of_command_and_argv() {
    let both = asked(json!({"command": "ls", "argv": ["ls"]})).unwrap_err();
    assert_eq!(both.reason, "arguments");
    let neither = asked(json!({})).unwrap_err();
    assert_eq!(
        (neither.reason.as_str(), neither.field.as_deref()),
        ("required", Some("command"))
    );
    let line = asked(json!({"command": ""})).unwrap().program;
    assert!(matches!(line, Program::Shell(text) if text.is_empty()));
    let argv = asked(json!({"argv": ["ls", ""]})).unwrap().program;
    assert!(matches!(argv, Program::Argv(items) if items == ["ls", ""]));
}

#[test]
fn everything_reaches_the_host() {
    let request = asked(json!({
        "argv": ["cat"], "cwd": "sub", "timeout": 1.5, "stdin": "", "env": {"LANG": "C"},
    }));
    let request = request.unwrap();
    assert_eq!(request.cwd.as_deref(), Some("sub"));
    assert_eq!(request.timeout_ms, 1_500);
    assert_eq!(request.stdin, Some(Vec::new()));
    assert_eq!(request.env, [("LANG".to_owned(), "C".to_owned())]);
}

#[test]
fn the_time_is_what_was_asked_for_or_what_is_left() {
    for (asked, remaining, given) in [
        (None, LONG, 30_000),
        (Some(600.0), LONG, 598_500),
        (Some(0.000_1), LONG, 1),
        (None, 10_000, 8_500),
        (None, 1_000, 500),
        (None, 0, 1),
        (Some(1e300), LONG, 0),
        (Some(-1.0), LONG, 0),
        (Some(f64::NAN), LONG, 0),
    ] {
        let time = timeout_ms(asked, remaining);
        assert_eq!(time.unwrap_or(0), given, "{asked:?} of {remaining}");
    }
}

#[test]
fn any_exit_code_is_a_result() {
    for code in [0, 1, 137] {
        assert_eq!(
            ended(finished(Ending::Exited(code))).unwrap(),
            json!({
                "status": "exited", "exit_code": code, "stdout": "out", "stderr": "error",
                "output": "outerror", "truncated": false, "total_bytes": 8, "elapsed_ms": 12,
            })
        );
    }
}

#[test]
fn a_signal_is_a_failure_with_the_output() {
    let signal = Signal {
        number: 11,
        name: "SIGSEGV".into(),
    };
    let failure = ended(finished(Ending::Signaled(signal))).unwrap_err();
    assert_eq!(failure.error.reason, "signaled");
    let value: Value = serde_json::from_str(&failure.value.unwrap()).unwrap();
    assert_eq!(value["status"], "signaled");
    assert_eq!(value["signal"], "SIGSEGV");
    assert_eq!(value["stdout"], "out");
    assert_eq!(value.get("exit_code"), None);
}

#[test]
fn a_timeout_is_a_failure_that_names_the_time() {
    let call = arguments(json!({"command": "x", "timeout": 1}));
    let failure = run(call, LONG, |_| Ok(finished(Ending::TimedOut))).unwrap_err();
    assert_eq!(failure.error.reason, "timeout");
    assert_eq!(
        failure.error.detail.unwrap(),
        "command ran past 1 s and was killed"
    );
    let value: Value = serde_json::from_str(&failure.value.unwrap()).unwrap();
    assert_eq!(
        (&value["status"], &value["output"]),
        (&json!("timeout"), &json!("outerror"))
    );
}

#[test]
fn what_could_not_start_comes_back_as_it_is() {
    let call = arguments(json!({"argv": ["rm"]}));
    let refused = || {
        ToolError::new("unauthorized", "no")
            .field("argv[0]")
            .hint("granted: ls")
    };
    let failure = run(call, LONG, |_| Err(refused())).unwrap_err();
    assert_eq!(failure.error.reason, "unauthorized");
    assert_eq!(failure.error.hint.as_deref(), Some("granted: ls"));
    assert!(failure.value.is_none());
}

#[test]
fn what_the_host_did_is_noted() {
    let mut done = finished(Ending::Exited(0));
    done.leftovers = 2;
    done.stdout.truncated = true;
    done.stderr.invalid_utf8 = true;
    let value = ended(done).unwrap();
    assert_eq!(
        (&value["leftovers"], &value["truncated"]),
        (&json!(2), &json!(true))
    );
    let note = value["note"].as_str().unwrap();
    for word in ["2 processes", "cut", "UTF-8"] {
        assert!(note.contains(word), "{note}");
    }
}

#[test]
fn the_schema_is_the_one_that_rules_and_coercion_rely_on() {
    let tool = cmd_run::definition();
    let schema: Value = serde_json::from_str(&tool.parameters).unwrap();
    let properties = &schema["properties"];
    assert_eq!(
        (
            &properties["command"]["type"],
            &properties["command"]["format"]
        ),
        (&json!("string"), &json!("shell-command"))
    );
    assert_eq!(
        (&properties["argv"]["type"], &properties["argv"]["minItems"]),
        (&json!("array"), &json!(1))
    );
    let timeout = &properties["timeout"];
    assert_eq!(
        (&timeout["type"], &timeout["format"]),
        (&json!("number"), &json!("duration"))
    );
    assert_eq!(
        (&timeout["exclusiveMinimum"], &timeout["maximum"]),
        (&json!(0), &json!(600))
    );
    assert_eq!(
        properties["env"]["additionalProperties"],
        json!({"type": "string"})
    );
    assert_eq!(schema.get("required"), None);
    assert_eq!(schema["additionalProperties"], json!(false));
    assert_eq!(tool.timeout_ms, Some(LONG));
    assert!(!tool.parallel_safe);
    assert_eq!(
        (tool.hints.destructive, tool.hints.open_world),
        (Some(true), Some(true))
    );
}
