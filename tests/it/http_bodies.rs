//! Bodies and heads that are wrong, too large, or never end.

use std::{
    io::{Read as _, Write as _},
    time::{Duration, Instant},
};

use serde_json::json;

use crate::serving::{Answer, Site, bearer};

#[test]
fn a_body_that_is_no_call_says_what_is_wrong() {
    let site = Site::fast();
    let token = site.token("local");
    let served = site.serve();
    let bearer = bearer(&token);
    let typed = [bearer.as_header(), ("Content-Type", "application/json")];
    for (path, body, what) in [
        ("/api/v1/call", "", "no JSON"),
        ("/api/v1/call", "{", "line 1"),
        ("/api/v1/call", "[]", "has to be an object"),
        ("/api/v1/call", "{\"nmae\": \"echo\"}", "unknown key `nmae`"),
        (
            "/api/v1/call",
            "{\"name\": \"a\", \"name\": \"b\"}",
            "twice",
        ),
        ("/api/v1/call", "{\"name\": 5}", "`name` has to be a text"),
        (
            "/api/v1/call",
            "{\"name\": \"echo\", \"timeout\": \"x\"}",
            "`timeout`",
        ),
        ("/api/v1/batch", "{}", "no batch"),
        ("/api/v1/batch", "[]", "no calls"),
        (
            "/api/v1/batch",
            "{\"calls\": [{\"nam\": 1}]}",
            "unknown key `nam`",
        ),
        ("/api/v1/batch", "\"x\"", "no batch"),
    ] {
        let answer = served.ask("POST", path, &typed, body);
        let answer = answer.refused(400, "malformed");
        assert!(answer.body.contains(what), "{body}: {answer:?}");
    }
    for kind in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
    ] {
        let mut headers = vec![bearer.as_header()];
        headers.extend(kind.map(|kind| ("Content-Type", kind)));
        let answer = served.ask("POST", "/api/v1/call", &headers, "{\"name\": \"echo\"}");
        answer.refused(415, "media_type");
    }
    let utf8 = [
        bearer.as_header(),
        ("Content-Type", "Application/JSON; charset=utf-8"),
    ];
    let body = json!({ "name": "echo", "arguments": { "text": "é" } }).to_string();
    served.ask("POST", "/api/v1/call", &utf8, &body).expect(200);
    let head = format!(
        "POST /api/v1/call HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\n"
    );
    served
        .raw(&[head.as_bytes(), b"\"\xff\xfe\""].concat())
        .refused(400, "malformed");
}

#[test]
fn a_body_that_is_too_large_is_not_read() {
    let site = Site::new("max_body = \"64KiB\"");
    let token = site.token("local");
    let served = site.serve();
    let head = |length: &str| {
        format!(
            "POST /api/v1/call HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n{length}\r\n\r\n"
        )
    };
    // By its own word: nothing of it has to be sent.
    for length in ["65537", "99999999999"] {
        let answer = served.raw(head(&format!("Content-Length: {length}")).as_bytes());
        answer.refused(413, "limit");
    }
    // Or as soon as it shows.
    let mut chunks = head("Transfer-Encoding: chunked").into_bytes();
    for _ in 0..5 {
        chunks.extend(b"4000\r\n");
        chunks.extend([b' '; 0x4000]);
        chunks.extend(b"\r\n");
    }
    served.raw(&chunks).refused(413, "limit");
    // What just fits is read.
    let text = "x".repeat(60_000);
    let result = served.call(&token, "echo", &json!({ "text": text }));
    assert_eq!(result["success"], true);
}

#[test]
fn clients_that_send_by_the_byte_are_given_up_and_hold_up_nobody() {
    let site = Site::fast();
    let token = site.token("local");
    let served = site.serve();
    let mut silent = served.connect();
    let mut half = served.connect();
    half.write_all(b"POST /api/v1/call HTTP/1.1\r\nHost: loc")
        .unwrap();
    let mut endless = served.connect();
    let head = format!(
        "POST /api/v1/call HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{{\r\n"
    );
    endless.write_all(head.as_bytes()).unwrap();
    let started = Instant::now();
    let drip = std::thread::spawn({
        let mut endless = endless.try_clone().unwrap();
        move || {
            while started.elapsed() < Duration::from_secs(40)
                && endless.write_all(b"1\r\n \r\n").is_ok()
            {
                std::thread::sleep(Duration::from_millis(300));
            }
        }
    });
    for _ in 0..20 {
        served.call(&token, "echo", &json!({ "text": "x" }));
    }
    assert!(started.elapsed() < Duration::from_secs(8), "held up");
    // Without a whole head there is nothing to answer.
    for slow in [&mut silent, &mut half] {
        let mut rest = Vec::new();
        let _ = slow.read_to_end(&mut rest);
        assert!(
            rest.is_empty() || rest.starts_with(b"HTTP/1.1 4"),
            "{rest:?}"
        );
    }
    assert!(
        started.elapsed() < Duration::from_secs(18),
        "{:?}",
        started.elapsed()
    );
    let mut text = Vec::new();
    let mut byte = [0];
    // Until the connection ends, in whichever way the last drops make it end.
    while endless.read(&mut byte).is_ok_and(|read| read == 1) {
        text.push(byte[0]);
    }
    let text = String::from_utf8(text).unwrap();
    assert!(text.starts_with("HTTP/1.1 408"), "{text}");
    assert!(text.contains("\"reason\":\"timeout\""), "{text}");
    drip.join().unwrap();
}

#[test]
fn more_connections_than_there_are_places_leave_room_again() {
    let site = Site::fast();
    let served = site.serve();
    // Fewer than a usual limit on descriptors, more than there are places.
    let held: Vec<_> = (0..512).map(|_| served.connect()).collect();
    let full = served.connect();
    let answer = Answer::read(full);
    answer.refused(503, "unavailable");
    drop(held);
    let started = Instant::now();
    while served.ask("GET", "/healthz", &[], "").status != 200 {
        assert!(started.elapsed() < Duration::from_secs(30), "no room again");
    }
}

#[test]
fn a_head_that_is_too_large_is_refused() {
    let site = Site::fast();
    let served = site.serve();
    let many: String = (0..200)
        .map(|n| format!("X-{n}: {}\r\n", "y".repeat(400)))
        .collect();
    let request = format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{many}\r\n");
    let mut stream = served.connect();
    let _ = stream.write_all(request.as_bytes());
    let mut start = [0; 12];
    if stream.read_exact(&mut start).is_ok() {
        assert_eq!(&start, b"HTTP/1.1 431");
    }
    served.ask("GET", "/healthz", &[], "").expect(200);
}
