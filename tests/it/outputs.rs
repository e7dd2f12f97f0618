//! Output channels: who may send, in which order, and what a channel that fails says.

use std::{
    fs, io,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use toolgate::{ports::Console, tool::ToolResult};

use crate::world::{Watched, failure, value, world};

const TWO_CHANNELS: &str = r#"
[outputs.first]
kind = "memory"
[outputs.second]
kind = "memory"
"#;

fn texts(world: &crate::world::World, channel: &str) -> Vec<String> {
    world
        .host
        .memory_outputs()
        .messages(channel)
        .into_iter()
        .map(|message| message.text)
        .collect()
}

fn error(result: &ToolResult) -> &toolgate::tool::ToolError {
    &result.outcome.as_ref().unwrap_err().error
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_channel_keeps_its_order_while_other_tools_overlap() {
    let world = world(TWO_CHANNELS).start().await;
    let mut watch = world.watch();
    let mut calls = Vec::new();
    for n in 0..10 {
        calls.push(("output_send__first", json!({ "text": format!("a{n}") })));
        calls.push(("output_send__second", json!({ "text": format!("b{n}") })));
        if n % 5 == 0 {
            calls.push(("sleep_parallel", json!({ "ms": 150 })));
        }
    }
    let results = world.batch(&calls).await;
    assert!(
        results
            .iter()
            .all(|result| result.success() && result.parallel),
        "{results:?}"
    );
    assert_eq!(Watched::take(&mut watch).peak("sleep_parallel"), 2);
    let numbered = |letter: char| (0..10).map(|n| format!("{letter}{n}")).collect::<Vec<_>>();
    assert_eq!(texts(&world, "first"), numbered('a'));
    assert_eq!(texts(&world, "second"), numbered('b'));
    assert_eq!(
        value(&results[0]),
        json!({ "channel": "first", "text_bytes": 2 })
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_channel_needs_its_own_permission_and_deny_wins() {
    let config = format!(
        "{TWO_CHANNELS}
[principals.assistant]
kind = \"agent\"
allow = [\"*\"]
allowed_outputs = [\"first\"]
[principals.muted]
kind = \"agent\"
deny = [\"output_send__first\"]
allowed_outputs = [\"*\"]
"
    );
    let world = world(&config).start().await;
    let send = |channel: &str| (format!("output_send__{channel}"), json!({ "text": "x" }));
    for (principal, channel, may) in [
        ("assistant", "first", true),
        ("assistant", "second", false),
        ("muted", "first", false),
        ("muted", "second", true),
    ] {
        let (tool, arguments) = send(channel);
        let result = world.call_as(principal, &tool, arguments).await;
        assert_eq!(result.success(), may, "{principal} {channel}: {result:?}");
        if !may {
            assert_eq!(failure(&result), ("unauthorized", "unauthorized".into()));
        }
    }
    assert_eq!(
        (texts(&world, "first").len(), texts(&world, "second").len()),
        (1, 1)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_arrives_with_its_media() {
    let world = world(TWO_CHANNELS).start().await;
    let block = json!({ "mime": "image/png", "name": "dot", "data": "AAEC" });
    let sent = world
        .call(
            "output_send__first",
            json!({ "text": "see", "blocks": [block] }),
        )
        .await;
    assert_eq!(
        value(&sent),
        json!({ "channel": "first", "text_bytes": 3, "blocks": 1 })
    );
    let message = &world.host.memory_outputs().messages("first")[0];
    assert_eq!(message.blocks[0].data.as_ref(), [0, 1, 2]);

    let bad = world
        .call(
            "output_send__first",
            json!({ "text": "x", "blocks": [{ "mime": "png", "data": "" }] }),
        )
        .await;
    assert_eq!(failure(&bad), ("invalid", "pattern".into()));
    let bad = world
        .call(
            "output_send__first",
            json!({ "text": "x", "blocks": [{ "mime": "a/b", "data": "%" }] }),
        )
        .await;
    assert_eq!(failure(&bad), ("invalid", "format".into()));
    assert_eq!(error(&bad).field.as_deref(), Some("blocks[0].data"));
    let long = world
        .call(
            "output_send__first",
            json!({ "text": "x".repeat((1 << 20) + 1) }),
        )
        .await;
    assert_eq!(failure(&long), ("limit", "limit".into()));
    assert_eq!(texts(&world, "first"), ["see"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_gets_whole_messages_and_a_file_that_cannot_be_written_fails_the_call() {
    let config = r#"
[outputs.journal]
kind = "file"
path = "journal.txt"
[outputs.broken]
kind = "file"
path = "toolgate.toml/journal.txt"
"#;
    let world = world(config).start().await;
    let send = |tool: &'static str, text: &str| (tool, json!({ "text": text }));
    let results = world
        .batch(&[
            send("output_send__journal", "one\nand a half"),
            send("output_send__broken", "lost"),
            send("output_send__journal", "two"),
        ])
        .await;
    assert!(results[0].success() && results[2].success(), "{results:?}");
    assert_eq!(
        fs::read_to_string(world.root().join("journal.txt")).unwrap(),
        "one\nand a half\ntwo\n"
    );
    assert_eq!(
        failure(&results[1]),
        ("failed", "unavailable_channel".into())
    );
    assert!(
        !results[1].text.contains(world.root().to_str().unwrap()),
        "{}",
        results[1].text
    );

    let block = json!({ "mime": "a/b", "data": "AAEC" });
    let noted = world
        .call(
            "output_send__journal",
            json!({ "text": "with", "blocks": [block] }),
        )
        .await;
    assert_eq!(value(&noted)["blocks_noted"], 1);
    assert!(
        fs::read_to_string(world.root().join("journal.txt"))
            .unwrap()
            .ends_with("with\n[block a/b 3 bytes]\n")
    );
}

#[derive(Default)]
struct Paper(Mutex<Vec<String>>);

impl Console for Paper {
    fn write(&self, channel: &str, text: &str) -> io::Result<()> {
        self.0.lock().unwrap().push(format!("{channel}: {text}"));
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn standard_output_is_the_console_that_the_host_was_given() {
    let config = "[outputs.console]\nkind = \"stdout\"\n";
    let paper = Arc::new(Paper::default());
    let with = world(config)
        .console(Arc::clone(&paper) as Arc<dyn Console>)
        .start()
        .await;
    assert!(
        with.call("output_send__console", json!({ "text": "hello" }))
            .await
            .success()
    );
    assert_eq!(*paper.0.lock().unwrap(), ["console: hello"]);

    let without = world(config).start().await;
    let result = without
        .call("output_send__console", json!({ "text": "hello" }))
        .await;
    assert_eq!(failure(&result), ("failed", "unavailable_channel".into()));
}

/// A server that answers every request with `answer`, or never.
async fn server(answer: Option<&'static str>) -> (String, mpsc::Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (seen, requests) = mpsc::channel(16);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let request = read(&mut stream).await;
            seen.send(request).await.unwrap();
            match answer {
                Some(answer) => stream.write_all(answer.as_bytes()).await.unwrap(),
                None => {
                    // Until the client gives up.
                    let _ = stream.read(&mut [0]).await;
                    seen.send(Request::default()).await.unwrap();
                }
            }
        }
    });
    (format!("http://{address}/secret-path"), requests)
}

#[derive(Debug, Default)]
struct Request {
    head: String,
    body: Value,
}

async fn read(stream: &mut TcpStream) -> Request {
    let mut bytes = Vec::new();
    loop {
        assert_ne!(
            stream.read_buf(&mut bytes).await.unwrap(),
            0,
            "the request was cut short"
        );
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let head = head.to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .unwrap();
        if body.len() >= length.parse().unwrap() {
            return Request {
                body: serde_json::from_str(body).unwrap(),
                head,
            };
        }
    }
}

fn hook(url: &str) -> String {
    format!("[outputs.team]\nkind = \"webhook\"\nurl = \"{url}\"\ntoken_env = \"TEAM_TOKEN\"\n")
}

const NO_CONTENT: &str = "HTTP/1.1 204 No Content\r\n\r\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_gets_the_message_and_the_token() {
    let (url, mut requests) = server(Some(NO_CONTENT)).await;
    let world = world(&hook(&url))
        .host_env(&[("TEAM_TOKEN", "t0ken")])
        .start()
        .await;
    let block = json!({ "mime": "a/b", "name": null, "data": "AAEC" });
    let arguments = json!({ "text": "hi", "blocks": [{ "mime": "a/b", "data": "AAEC" }] });
    let result = world.call("output_send__team", arguments).await;
    assert!(result.success(), "{result:?}");
    let request = requests.recv().await.unwrap();
    assert!(
        request.head.starts_with("post /secret-path http/1.1\r\n"),
        "{}",
        request.head
    );
    assert!(
        request.head.contains("\r\nauthorization: bearer t0ken"),
        "{}",
        request.head
    );
    assert!(
        request.head.contains("\r\ncontent-type: application/json"),
        "{}",
        request.head
    );
    assert_eq!(
        request.body,
        json!({ "channel": "team", "text": "hi", "blocks": [block] })
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_without_its_token_sends_nothing() {
    let (url, mut requests) = server(Some(NO_CONTENT)).await;
    let world = world(&hook(&url)).host_env(&[]).start().await;
    let result = world
        .call("output_send__team", json!({ "text": "hi" }))
        .await;
    assert_eq!(failure(&result), ("failed", "unavailable_channel".into()));
    assert!(
        error(&result)
            .detail
            .as_ref()
            .unwrap()
            .contains("TEAM_TOKEN is not set")
    );
    assert!(requests.try_recv().is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_answer_but_success_is_a_failure_with_its_status_and_no_secret() {
    let elsewhere = server(Some(NO_CONTENT)).await;
    let moved = format!(
        "HTTP/1.1 307 Moved\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n",
        elsewhere.0
    );
    let moved: &'static str = moved.leak();
    let mut elsewhere = elsewhere.1;
    for (answer, status) in [
        (
            "HTTP/1.1 500 t0ken\r\ncontent-length: 5\r\n\r\nt0ken",
            "500",
        ),
        ("HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n", "401"),
        (moved, "307"),
    ] {
        let (url, mut requests) = server(Some(answer)).await;
        let world = world(&hook(&url))
            .host_env(&[("TEAM_TOKEN", "t0ken")])
            .start()
            .await;
        let result = world
            .call("output_send__team", json!({ "text": "hi" }))
            .await;
        assert_eq!(failure(&result), ("failed", "refused_by_channel".into()));
        assert!(
            error(&result).detail.as_ref().unwrap().contains(status),
            "{}",
            result.text
        );
        assert!(
            !result.text.contains("t0ken") && !result.text.contains("secret-path"),
            "{}",
            result.text
        );
        assert!(requests.recv().await.is_some());
        assert!(requests.try_recv().is_err(), "sent twice");
    }
    assert!(elsewhere.try_recv().is_err(), "a redirect was followed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_not_there_or_breaks_off_is_told_apart() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/secret-path", gone.local_addr().unwrap());
    drop(gone);
    let world_of_none = world(&hook(&url))
        .host_env(&[("TEAM_TOKEN", "t0ken")])
        .start()
        .await;
    let result = world_of_none
        .call("output_send__team", json!({ "text": "hi" }))
        .await;
    assert_eq!(failure(&result), ("failed", "unavailable_channel".into()));
    assert!(
        error(&result)
            .detail
            .as_ref()
            .unwrap()
            .contains("connection refused"),
        "{}",
        result.text
    );
    assert!(
        !result.text.contains("secret-path") && !result.text.contains("127.0.0.1"),
        "{}",
        result.text
    );

    let (url, mut requests) = server(Some("")).await;
    let cut = world(&hook(&url))
        .host_env(&[("TEAM_TOKEN", "t0ken")])
        .start()
        .await;
    let result = cut.call("output_send__team", json!({ "text": "hi" })).await;
    assert_eq!(failure(&result), ("failed", "delivery_unknown".into()));
    assert!(requests.recv().await.is_some());
    assert!(requests.try_recv().is_err(), "sent twice");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_never_answers_costs_the_calls_time_and_no_more() {
    let (url, mut requests) = server(None).await;
    let world = world(&hook(&url))
        .host_env(&[("TEAM_TOKEN", "t0ken")])
        .start()
        .await;
    let mut scope = world.scope("local");
    let started = Instant::now();
    scope.deadline = Some(started + Duration::from_millis(300));
    let calls = vec![toolgate::tool::ToolCall::new(
        "output_send__team",
        json!({ "text": "hi" }),
    )];
    let results = world
        .host
        .run(scope, toolgate::tool::Batch { calls, cut: false })
        .await;
    assert_eq!(failure(&results[0]), ("timeout", "timeout".into()));
    assert!(started.elapsed() < Duration::from_secs(10));
    assert!(requests.recv().await.is_some());
    // The connection is closed, not left behind.
    assert!(requests.recv().await.is_some());
}
