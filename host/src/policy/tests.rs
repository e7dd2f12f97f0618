use serde_json::json;

use super::*;

fn condition(at: &str, test: Test, stance: Stance) -> Condition {
    Condition::new(at, test, stance).unwrap()
}

fn rule(class: &str, i: usize, tool: &str, when: Vec<(&str, Test)>) -> Rule {
    let stance = if class == "allow" {
        Stance::Permits
    } else {
        Stance::Restrains
    };
    let when = when
        .into_iter()
        .map(|(at, test)| condition(at, test, stance))
        .collect();
    Rule::new(
        tool,
        when,
        stance,
        format!("principals.assistant.{class}[{i}]"),
    )
    .unwrap()
}

fn assistant() -> Policy {
    let is = |text: &str| Test::Equals(json!(text));
    let rules = PrincipalRules {
        kind: Kind::Agent,
        allow: vec![
            rule("allow", 0, "files_*", vec![]),
            rule(
                "allow",
                1,
                "cmd_run",
                vec![
                    ("/argv/0", is("git")),
                    ("/argv/1", Test::OneOf(vec![json!("status"), json!("diff")])),
                ],
            ),
            rule("allow", 2, "files_read", vec![]),
            rule("allow", 3, "output_send__secret", vec![]),
        ],
        ask: vec![rule(
            "ask",
            0,
            "files_delete",
            vec![("/path", Test::Under("src".into()))],
        )],
        deny: vec![
            rule(
                "deny",
                0,
                "files_*",
                vec![("/path", Test::Glob("**/.env".into()))],
            ),
            rule(
                "deny",
                1,
                "*",
                vec![("/path", Test::Glob("**/.env".into()))],
            ),
            rule("deny", 2, "files_mkdir", vec![]),
            rule(
                "deny",
                3,
                "output_send__console",
                vec![("/text", is("bad"))],
            ),
        ],
        otherwise: Otherwise::Deny,
        allowed_outputs: vec![name_pattern("console").unwrap()],
    };
    Policy::new(BTreeMap::from([("assistant".to_owned(), rules)]))
}

fn roots() -> Vec<FsGrant> {
    vec![FsGrant {
        host: "/ws".into(),
        guest: "/ws".into(),
        writable: true,
    }]
}

fn decide(policy: &Policy, id: &str, tool: &str, arguments: &Value) -> Verdict {
    let principal = policy.principal(id).unwrap();
    policy.decide(
        &principal,
        tool,
        &json!({"type": "object"}),
        arguments,
        &roots(),
    )
}

fn said(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Allow { rule } => format!("allow {rule}"),
        Verdict::Ask { rule } => format!("ask {rule}"),
        Verdict::Deny { rule, .. } => format!("deny {rule}"),
    }
}

#[test]
fn deny_then_ask_then_allow_then_otherwise() {
    let policy = assistant();
    for (tool, arguments, want) in [
        (
            "files_write",
            json!({"path": "a/../.env"}),
            "deny principals.assistant.deny[0]",
        ),
        (
            "files_delete",
            json!({"path": "src/.env"}),
            "deny principals.assistant.deny[0]",
        ),
        (
            "files_delete",
            json!({"path": "src/a"}),
            "ask principals.assistant.ask[0]",
        ),
        (
            "files_delete",
            json!({"path": "a"}),
            "allow principals.assistant.allow[0]",
        ),
        (
            "files_read",
            json!({"path": "a"}),
            "allow principals.assistant.allow[2]",
        ),
        (
            "cmd_run",
            json!({"argv": ["git", "diff"]}),
            "allow principals.assistant.allow[1]",
        ),
        (
            "cmd_run",
            json!({"argv": ["git", "push"]}),
            "deny principals.assistant: otherwise deny",
        ),
        (
            "cmd_run",
            json!({"argv": ["git"]}),
            "deny principals.assistant: otherwise deny",
        ),
        (
            "cmd_run",
            json!({"command": "git diff"}),
            "deny principals.assistant: otherwise deny",
        ),
        (
            "fresh_tool",
            json!({}),
            "deny principals.assistant: otherwise deny",
        ),
        (
            "output_send__console",
            json!({"text": "x"}),
            "allow principals.assistant.allowed_outputs",
        ),
        (
            "output_send__console",
            json!({"text": "bad"}),
            "deny principals.assistant.deny[3]",
        ),
        (
            "output_send__secret",
            json!({"text": "x"}),
            "deny principals.assistant.allowed_outputs",
        ),
    ] {
        assert_eq!(
            said(&decide(&policy, "assistant", tool, &arguments)),
            want,
            "{tool} {arguments}"
        );
    }
}

#[test]
fn an_unknown_tool_is_asked_about_only_if_the_operator_says_so() {
    let rules = PrincipalRules {
        otherwise: Otherwise::Ask,
        ..assistant().principals["assistant"].clone()
    };
    let policy = Policy::new(BTreeMap::from([("assistant".to_owned(), rules)]));
    let verdict = decide(&policy, "assistant", "fresh_tool", &json!({}));
    assert_eq!(said(&verdict), "ask principals.assistant: otherwise ask");
}

#[test]
fn what_no_arguments_could_reach_is_not_seen() {
    let policy = assistant();
    let who = policy.principal("assistant").unwrap();
    for (tool, seen) in [
        ("files_read", true),
        ("cmd_run", true),
        ("files_mkdir", false),
        ("fresh_tool", false),
        ("output_send__console", true),
        ("output_send__secret", false),
    ] {
        assert_eq!(policy.may_see(&who, tool), seen, "{tool}");
    }
}

#[test]
fn narrowing_binds_on_top_and_rules_go_by_origin() {
    let policy = assistant();
    let who = policy.principal("assistant").unwrap();
    let worker = who.narrowed(
        "session/1/worker/a",
        Kind::Agent,
        &[name_pattern("files_read").unwrap()],
    );
    let of = |tool: &str| {
        said(&policy.decide(&worker, tool, &json!({}), &json!({"path": "a"}), &roots()))
    };
    assert_eq!(of("files_read"), "allow principals.assistant.allow[2]");
    assert_eq!(of("files_write"), "deny session/1/worker/a: narrowed");
    assert!(!policy.may_see(&worker, "files_write"));
    let stranger = Principal::new("stranger", Kind::User);
    let verdict = policy.decide(&stranger, "files_read", &json!({}), &json!({}), &[]);
    assert_eq!(said(&verdict), "deny principals.stranger: unknown");
    assert!(!policy.may_see(&stranger, "files_read"));
}

#[test]
fn a_refusal_says_how_to_call_otherwise_and_tells_only_people_what_to_change() {
    let policy = assistant();
    let text = |verdict: Verdict| match verdict {
        Verdict::Deny { detail, .. } => serde_json::to_string(&detail).unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        text(decide(
            &policy,
            "assistant",
            "files_read",
            &json!({"path": ".env"})
        )),
        r#"{"field":"path","reason":"unauthorized","detail":"denied by rule principals.assistant.deny[0]","hint":"choose another path; only the operator can change this rule"}"#
    );
    assert_eq!(
        text(decide(
            &policy,
            "assistant",
            "cmd_run",
            &json!({"argv": ["ls"]})
        )),
        r#"{"reason":"unauthorized","detail":"no rule of principals.assistant allows cmd_run with these arguments","hint":"allowed when /argv/0 is \"git\" and /argv/1 is one of \"status\", \"diff\". only the operator can change this rule"}"#
    );
    let rules = PrincipalRules {
        kind: Kind::User,
        ..policy.principals["assistant"].clone()
    };
    let person = Policy::new(BTreeMap::from([("anna".to_owned(), rules)]));
    assert_eq!(
        text(decide(&person, "anna", "fresh_tool", &json!({}))),
        r#"{"reason":"unauthorized","detail":"no rule of principals.anna allows fresh_tool","hint":"add it: principals.anna.allow += \"fresh_tool\""}"#
    );
}

#[test]
fn local_may_everything_until_it_is_defined() {
    let policy = Policy::new(BTreeMap::new());
    assert_eq!(
        said(&decide(&policy, "local", "any", &json!({}))),
        "allow principals.local.allow[0]"
    );
    let verdict = decide(&policy, "local", "output_send__x", &json!({}));
    assert_eq!(said(&verdict), "allow principals.local.allowed_outputs");
    let none = PrincipalRules {
        allow: vec![],
        ..policy.principals["local"].clone()
    };
    let policy = Policy::new(BTreeMap::from([("local".to_owned(), none)]));
    assert!(matches!(
        decide(&policy, "local", "any", &json!({})),
        Verdict::Deny { .. }
    ));
}

/// `ls` allowed over a shell line must not carry anything along, whatever the pattern.
#[test]
fn a_pattern_over_a_shell_line_never_allows() {
    let schema = json!({"type": "object", "properties": {
        "command": {"type": "string", "format": "shell-command"},
        "argv": {"type": "array", "items": {"type": "string"}},
    }});
    let with = |test: Test, class: &str| {
        let list = vec![rule(class, 0, "cmd_run", vec![("/command", test)])];
        let mut rules = PrincipalRules {
            allow: vec![],
            ask: vec![],
            deny: vec![],
            ..assistant().principals["assistant"].clone()
        };
        if class == "allow" {
            rules.allow = list;
        } else {
            rules.deny = list;
        }
        Policy::new(BTreeMap::from([("assistant".to_owned(), rules)]))
    };
    let run = |policy: &Policy, line: &str| {
        let who = policy.principal("assistant").unwrap();
        policy.decide(&who, "cmd_run", &schema, &json!({ "command": line }), &[])
    };
    for pattern in ["git status*", "**", "ls"] {
        let policy = with(Test::Glob(pattern.into()), "allow");
        assert_eq!(policy.check_against("cmd_run", &schema).len(), 1);
        for line in [
            "ls",
            "git status",
            "git status && touch x",
            "ls; touch x",
            "ls\ntouch x",
        ] {
            assert!(
                matches!(run(&policy, line), Verdict::Deny { .. }),
                "{pattern} {line:?}"
            );
        }
    }
    let exact = with(Test::Equals(json!("ls")), "allow");
    assert!(exact.check_against("cmd_run", &schema).is_empty());
    assert!(matches!(run(&exact, "ls"), Verdict::Allow { .. }));
    for line in [
        "ls; touch x",
        "ls\ntouch x",
        "ls $(touch x)",
        "lsof",
        "ls >x",
        "FOO=1 ls",
        " ls",
    ] {
        assert!(
            matches!(run(&exact, line), Verdict::Deny { .. }),
            "{line:?}"
        );
    }
    let deny = with(Test::Glob("*rm*".into()), "deny");
    assert!(deny.check_against("cmd_run", &schema).is_empty());
    assert_eq!(
        said(&run(&deny, "rm x")),
        "deny principals.assistant.deny[0]"
    );
}

#[test]
fn a_rule_for_a_parameter_that_is_not_there_is_shown() {
    let policy = assistant();
    let schema = json!({"type": "object", "properties": {"pth": {"type": "string"}}, "additionalProperties": false});
    let problems = policy.check_against("files_delete", &schema);
    assert_eq!(
        problems,
        [
            r#"principals.assistant.ask[0]: files_delete has no parameter at "/path", so the rule never matches"#
        ]
    );
}

#[test]
fn parallel_safety_is_the_operators_word() {
    let schema = json!({"type": "object", "properties": {
        "command": {"type": "string", "format": "shell-command"},
        "argv": {"type": "array", "items": {"type": "string"}},
    }});
    let git = json!({"argv": ["git", "status"]});
    assert!(ParallelSafety::default().applies(true, &schema, &git));
    assert!(!ParallelSafety::default().applies(false, &schema, &git));
    assert!(ParallelSafety::fixed(true).applies(false, &schema, &git));
    let when = |at: &str, test| {
        let when = vec![condition(at, test, Stance::Permits)];
        ParallelSafety::when(vec![ParallelRule::new(
            when,
            "plugins.cmd.tools.cmd_run.parallel_safe[0]".into(),
        )])
    };
    let status = when("/argv/1", Test::Equals(json!("status")));
    assert!(status.applies(false, &schema, &git));
    assert!(!status.applies(true, &schema, &json!({"argv": ["git", "push"]})));
    let line = when("/command", Test::Glob("git *".into()));
    assert!(!line.applies(false, &schema, &json!({"command": "git status"})));
    assert_eq!(line.check_against("cmd_run", &schema).len(), 1);
}
