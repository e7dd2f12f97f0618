//! Who is answered at all: names, pages, tokens, methods, rates.

use serde_json::json;

use crate::serving::{Events, Site, bearer};

const PATHS: [&str; 9] = [
    "/healthz",
    "/readyz",
    "/metrics",
    "/api/v1/tools",
    "/api/v1/plugins",
    "/api/v1/call",
    "/api/v1/batch",
    "/api/v1/events",
    "/api/v1/openapi.json",
];

#[test]
fn another_name_or_page_is_turned_away_before_anything_else() {
    let site = Site::fast();
    let token = site.token("local");
    let served = site.serve();
    let bearer = bearer(&token);
    let port = served.address.port();
    let evil_port = format!("evil.test:{port}");
    for path in PATHS.iter().chain(&["/nothing", "/api/v1/nothing"]) {
        for host in ["evil.test", &evil_port, "127.0.0.1.evil.test", ""] {
            let headers = [bearer.as_header(), ("Host", host)];
            for method in ["GET", "POST", "OPTIONS"] {
                served
                    .ask(method, path, &headers, "no JSON")
                    .refused(403, "host");
            }
        }
        for origin in ["http://evil.test", "null", "http://127.0.0.1:1"] {
            let headers = [bearer.as_header(), ("Origin", origin)];
            let answer = served.ask("POST", path, &headers, "no JSON");
            let answer = answer.refused(403, "origin");
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    for request in [
        "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(),
        format!(
            "GET /healthz HTTP/1.1\r\nHost: localhost:{port}\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n"
        ),
        "GET http://evil.test/healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            .to_owned(),
    ] {
        let answer = served.raw(request.as_bytes());
        assert!(
            [400, 403].contains(&answer.status),
            "{request:?}: {answer:?}"
        );
    }
    // The names by which it is meant.
    for host in ["localhost", "LOCALHOST:99", "[::1]", "127.0.0.1"] {
        served
            .ask("GET", "/healthz", &[("Host", host)], "")
            .expect(200);
    }
    let own = format!("http://{}", served.address);
    served
        .ask("GET", "/healthz", &[("Origin", &own)], "")
        .expect(200);
}

#[test]
fn a_page_that_the_operator_lists_may_ask_and_read() {
    let site = Site::new("allowed_origins = [\"https://app.test\"]");
    let token = site.token("local");
    let served = site.serve();
    let bearer = bearer(&token);
    let asks = [
        ("Origin", "https://app.test"),
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "authorization"),
    ];
    let answer = served.ask("OPTIONS", "/api/v1/call", &asks, "").expect(204);
    assert_eq!(
        answer.header("access-control-allow-origin"),
        Some("https://app.test")
    );
    let allowed = answer.header("access-control-allow-headers").unwrap();
    assert!(allowed.contains("authorization"), "{allowed}");
    // The question alone opens nothing.
    let asks = [("Origin", "https://app.test")];
    served
        .ask("GET", "/api/v1/tools", &asks, "")
        .refused(401, "unauthenticated");
    let asks = [("Origin", "https://app.test"), bearer.as_header()];
    let answer = served.ask("GET", "/api/v1/tools", &asks, "").expect(200);
    assert_eq!(
        answer.header("access-control-allow-origin"),
        Some("https://app.test")
    );
    assert_eq!(answer.header("vary"), Some("origin"));
    let other = [("Origin", "https://app.test.evil"), bearer.as_header()];
    served
        .ask("GET", "/api/v1/tools", &other, "")
        .refused(403, "origin");
}

#[test]
fn without_a_token_that_holds_nothing_is_answered() {
    let site = Site::fast();
    let token = site.token("local");
    let served = site.serve();
    let other = site.token("assistant");
    let mixed = {
        let (id, _) = token.rsplit_once(&token[14..]).unwrap();
        format!("{id}{}", &other[14..])
    };
    let open = ["/healthz", "/readyz"];
    for path in PATHS.iter().chain(&["/nothing", "/api/v1/nothing"]) {
        if open.contains(path) {
            served.ask("GET", path, &[], "").expect(200);
            continue;
        }
        for value in [
            None,
            Some("Bearer".to_owned()),
            Some("Bearer ".to_owned()),
            Some(token.clone()),
            Some(format!("Basic {token}")),
            Some("Bearer tg_x_y".to_owned()),
            Some(format!("Bearer {mixed}")),
            Some(format!("Bearer {token}x")),
            Some(format!("Bearer {}", &token[..token.len() - 1])),
            Some(format!("Bearer tg_{}", "x".repeat(9_000))),
        ] {
            let headers: Vec<_> = value
                .iter()
                .map(|value| ("Authorization", value.as_str()))
                .collect();
            for method in ["GET", "POST"] {
                let answer = served.ask(method, path, &headers, "");
                let answer = answer.refused(401, "unauthenticated");
                assert_eq!(
                    answer.header("www-authenticate"),
                    Some("Bearer realm=\"toolgate\"")
                );
                assert!(!answer.body.contains(&token[14..]), "{answer:?}");
            }
        }
    }
    served.get(&token, "/api/v1/tools").expect(200);
    served.get(&other, "/api/v1/tools").expect(200);
}

#[test]
fn a_token_ends_at_once_when_it_is_revoked_or_its_principal_is_gone() {
    let site = Site::fast();
    let served = site.serve();
    // Made while the host runs.
    let token = site.token("prober");
    served.get(&token, "/api/v1/tools").expect(200);
    let id = &token[3..13];
    let (code, _, err) = site.run(&["token", "revoke", id]);
    assert_eq!(code, Some(0), "{err}");
    served
        .get(&token, "/api/v1/tools")
        .refused(401, "unauthenticated");

    // The host that runs has never heard of this principal.
    let config = site.root.join("toolgate.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let more = format!("[principals.later]\nkind = \"agent\"\n{text}");
    std::fs::write(&config, more).unwrap();
    let token = site.token("later");
    served
        .get(&token, "/api/v1/tools")
        .refused(403, "unauthorized");

    let (code, out, err) = site.run(&["token", "new", "local", "--expires", "1ms"]);
    assert_eq!(code, Some(0), "{err}");
    served
        .get(out.trim(), "/api/v1/tools")
        .refused(401, "unauthenticated");
}

#[test]
fn what_does_not_exist_and_what_does_not_take_a_method_says_so() {
    let site = Site::fast();
    let token = site.token("local");
    let served = site.serve();
    let bearer = bearer(&token);
    served
        .get(&token, "/api/v1/nothing")
        .refused(404, "not_found");
    served.get(&token, "/").refused(404, "not_found");
    // Nothing acts on a GET.
    for path in ["/api/v1/call", "/api/v1/batch"] {
        let answer = served.get(&token, path).refused(405, "method");
        assert_eq!(answer.header("allow"), Some("POST"));
        let answer = served.ask("PUT", path, &[bearer.as_header()], "");
        answer.refused(405, "method");
    }
    for path in ["/healthz", "/metrics", "/api/v1/tools", "/api/v1/events"] {
        let answer = served.ask("POST", path, &[bearer.as_header()], "");
        let answer = answer.refused(405, "method");
        assert_eq!(answer.header("allow"), Some("GET"));
    }
}

#[test]
fn a_principal_that_calls_too_fast_waits_and_nobody_else() {
    let site = Site::new("rate_limit = { per_second = 1, burst = 5 }");
    let (fast, slow) = (site.token("prober"), site.token("local"));
    let served = site.serve();
    let batch = json!([{ "name": "echo", "arguments": { "text": "x" } }, { "name": "echo", "arguments": { "text": "y" } },
        { "name": "echo", "arguments": { "text": "z" } }, { "name": "echo", "arguments": { "text": "z" } },
        { "name": "echo", "arguments": { "text": "z" } }, { "name": "echo", "arguments": { "text": "z" } }]);
    served.post(&fast, "/api/v1/batch", &batch).expect(200);
    // Six calls of five: in debt.
    let answer = served.get(&fast, "/api/v1/tools");
    let answer = answer.refused(429, "rate_limited");
    let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=2).contains(&wait), "{wait}");
    served.get(&slow, "/api/v1/tools").expect(200);
    // Probes are not anybody.
    for _ in 0..20 {
        served.ask("GET", "/healthz", &[], "").expect(200);
    }
    // Another token is the same principal.
    let again = site.token("prober");
    served
        .get(&again, "/api/v1/tools")
        .refused(429, "rate_limited");
}

#[test]
fn one_principal_cannot_take_all_connections() {
    let site = Site::fast();
    let [greedy, other] = ["prober", "local"].map(|who| site.token(who));
    let served = site.serve();
    let streams: Vec<_> = (0..128).map(|_| Events::open(&served, &greedy)).collect();
    let answer = served.get(&greedy, "/api/v1/tools");
    let answer = answer.refused(429, "rate_limited");
    assert_eq!(answer.header("retry-after"), Some("1"));
    served.get(&other, "/api/v1/tools").expect(200);
    drop(streams);
    let started = std::time::Instant::now();
    while served.get(&greedy, "/api/v1/tools").status != 200 {
        assert!(started.elapsed() < std::time::Duration::from_secs(30));
    }
}
