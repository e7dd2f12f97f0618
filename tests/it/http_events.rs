//! The stream of events: whose it is, how it goes on, and what it says about gaps.

use serde_json::{Value, json};

use crate::serving::{Events, Site, bearer};

#[test]
fn a_reader_that_comes_back_goes_on_where_it_was() {
    let site = Site::fast();
    let token = site.token("local");
    let served = site.serve();
    let mut events = Events::open(&served, &token);
    served.call(&token, "echo", &json!({ "text": "1" }));
    let kinds: Vec<String> = (0..4).map(|_| events.next().unwrap().kind).collect();
    assert_eq!(
        kinds,
        [
            "batch_started",
            "call_started",
            "tool_call",
            "batch_finished"
        ]
    );
    served.call(&token, "echo", &json!({ "text": "2" }));
    let seen = events.until("call_started");
    assert!(
        seen.id.ends_with(&format!("-{}", seen.data["seq"])),
        "{seen:?}"
    );
    drop(events);
    served.call(&token, "echo", &json!({ "text": "3" }));

    let mut events = Events::after(&served, &token, Some(&seen.id));
    assert_eq!(events.next().unwrap().kind, "open");
    let next = events.next().unwrap();
    assert_eq!(next.kind, "tool_call");
    assert_eq!(next.data["batch"], seen.data["batch"]);
    let mut last = next.data["seq"].as_u64().unwrap();
    for _ in 0..5 {
        let seq = events.next().unwrap().data["seq"].as_u64().unwrap();
        assert_eq!(seq, last + 1);
        last = seq;
    }
}

#[test]
fn what_is_gone_is_counted() {
    let site = Site::fast();
    let token = site.token("local");
    let served = site.serve();
    let mut events = Events::open(&served, &token);
    served.call(&token, "echo", &json!({ "text": "1" }));
    let seen = events.until("batch_finished");
    drop(events);
    let calls: Vec<Value> = (0..1_250)
        .map(|n| json!({ "name": "echo", "arguments": { "text": n.to_string() } }))
        .collect();
    for _ in 0..2 {
        served
            .post(&token, "/api/v1/batch", &json!(calls))
            .expect(200);
    }
    // Each has 2 events a call and 2 of its own.
    let after = 2 * (1_250 * 2 + 2);
    let mut events = Events::after(&served, &token, Some(&seen.id));
    assert_eq!(events.next().unwrap().kind, "open");
    let missed = events.next().unwrap();
    assert_eq!(missed.kind, "missed");
    assert_eq!(missed.data["missed"], after - 4_096);
    let before = seen.data["seq"].as_u64().unwrap();
    for n in 0..4_096 {
        let event = events.next().unwrap();
        assert_eq!(event.data["seq"], before + (after - 4_096) + 1 + n);
    }
}

#[test]
fn a_principal_sees_its_own_events_and_a_user_everybodys() {
    let site = Site::fast();
    let [user, client] = ["local", "prober"].map(|who| site.token(who));
    let served = site.serve();
    let mut own = Events::open(&served, &client);
    let mut all = Events::open(&served, &user);
    served.call(&user, "echo", &json!({ "text": "secret" }));
    served.call(&client, "echo", &json!({ "text": "x" }));
    for _ in 0..4 {
        assert_eq!(own.next().unwrap().data["principal"], "prober");
    }
    for who in ["local", "prober"] {
        for _ in 0..4 {
            assert_eq!(all.next().unwrap().data["principal"], who);
        }
    }
}

#[test]
fn an_id_that_this_host_did_not_give_is_told_apart() {
    let site = Site::fast();
    let token = site.token("local");
    let served = site.serve();
    let seen = {
        let mut events = Events::open(&served, &token);
        served.call(&token, "echo", &json!({ "text": "1" }));
        events.until("tool_call")
    };
    let (run, _) = seen.id.split_once('-').unwrap();
    let bearer = bearer(&token);
    for id in [
        "x",
        "7",
        "-",
        &format!("{run}-x"),
        &format!("{run}-99999"),
        "zzzzzzzz-1",
    ] {
        let headers = [bearer.as_header(), ("Last-Event-ID", id)];
        served
            .ask("GET", "/api/v1/events", &headers, "")
            .refused(400, "malformed");
    }
    drop(served);
    // After a restart the numbers mean something else.
    let served = site.serve();
    served.call(&token, "echo", &json!({ "text": "2" }));
    let mut events = Events::after(&served, &token, Some(&seen.id));
    let missed = events.next().unwrap();
    assert_eq!(
        (missed.kind.as_str(), &missed.data["missed"]),
        ("missed", &Value::Null)
    );
    assert_eq!(events.next().unwrap().kind, "open");
    assert_eq!(events.until("tool_call").data["status"], "ok");
}

#[test]
fn a_stream_ends_with_its_token() {
    let site = Site::fast();
    let [user, client] = ["local", "prober"].map(|who| site.token(who));
    let served = site.serve();
    let mut events = Events::open(&served, &client);
    served.call(&client, "echo", &json!({ "text": "1" }));
    events.until("batch_finished");
    let (code, _, err) = site.run(&["token", "revoke", &client[3..13]]);
    assert_eq!(code, Some(0), "{err}");
    // Even of what concerns it nothing is shown any more.
    let other = site.token("prober");
    served.call(&other, "echo", &json!({ "text": "2" }));
    assert!(events.next().is_none());
    served.get(&user, "/api/v1/tools").expect(200);
}
