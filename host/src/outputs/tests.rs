//! What needs no host: reading messages, their text, and each kind of channel alone.

use std::{
    fs, io,
    os::unix::fs::symlink,
    sync::{Arc, Mutex},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{
    MemoryOutputs, Message, NoConsole,
    console::ConsoleChannel,
    file::FileChannel,
    message::TEXT,
    tool::{Channel, Undelivered},
    webhook::Webhook,
};
use crate::{
    arguments::Parameters,
    ports::Console,
    tool::{Block, Failure, FailureKind},
};

fn text(text: &str) -> Message {
    Message {
        text: text.into(),
        blocks: Vec::new(),
    }
}

fn refused(arguments: &Value) -> Failure {
    *Message::read(arguments).unwrap_err()
}

fn said(undelivered: &Undelivered) -> String {
    format!("{undelivered:?}")
}

#[test]
fn the_schema_is_one_that_the_host_takes() {
    Parameters::compile(&Message::schema()).unwrap();
}

#[test]
fn text_over_the_cap_says_size_and_cap() {
    assert!(Message::read(&json!({ "text": "x".repeat(TEXT) })).is_ok());
    let failure = refused(&json!({ "text": "x".repeat(TEXT + 1) }));
    assert_eq!(failure.kind, FailureKind::Limit);
    assert_eq!(failure.error.field.as_deref(), Some("text"));
    assert_eq!(
        failure.error.detail.as_deref(),
        Some("1048577 bytes; the limit of one message is 1048576")
    );
}

#[test]
fn media_over_the_cap_are_refused_in_sum_and_undecoded() {
    // No base64 at all: nothing may have tried to read it.
    let half = json!({ "mime": "a/b", "data": "?".repeat(12 << 20) });
    let failure = refused(&json!({ "text": "", "blocks": [half, half] }));
    assert_eq!(
        (failure.kind, failure.error.field.as_deref()),
        (FailureKind::Limit, Some("blocks"))
    );
}

#[test]
fn every_block_that_is_no_base64_is_named() {
    let block = |data: &str| json!({ "mime": "a/b", "data": data });
    let failure =
        refused(&json!({ "text": "", "blocks": [block("!"), block("AAAA"), block("AA")] }));
    assert_eq!(failure.kind, FailureKind::Invalid);
    assert_eq!(failure.error.field.as_deref(), Some("blocks[0].data"));
    assert_eq!(failure.also[0].field.as_deref(), Some("blocks[2].data"));
}

#[test]
fn blocks_are_noted_on_lines_of_their_own() {
    let message = Message::read(&json!({ "text": "Look:", "blocks": [
        { "mime": "image/png", "name": "a\n[block]", "data": BASE64_STANDARD.encode("123") },
        { "mime": "text/plain", "data": "" },
    ] }));
    let noted = message.unwrap().as_text();
    assert_eq!(
        noted,
        "Look:\n[block image/png \"a\\n[block]\" 3 bytes]\n[block text/plain 0 bytes]"
    );
}

#[derive(Default)]
struct Paper(Mutex<Vec<(String, String)>>);

impl Console for Paper {
    fn write(&self, channel: &str, text: &str) -> io::Result<()> {
        self.0.lock().unwrap().push((channel.into(), text.into()));
        Ok(())
    }
}

#[tokio::test]
async fn the_console_gets_text_that_a_terminal_does_not_obey() {
    let paper = Arc::new(Paper::default());
    let channel = Arc::new(ConsoleChannel::new(
        "console",
        Arc::clone(&paper) as Arc<dyn Console>,
    ));
    channel.send(text("a\u{1b}[2Jb\n")).await.unwrap();
    assert_eq!(
        *paper.0.lock().unwrap(),
        [("console".to_owned(), "a\\x1b[2Jb".to_owned())]
    );
}

#[tokio::test]
async fn a_host_without_a_console_says_so() {
    let channel = Arc::new(ConsoleChannel::new("console", Arc::new(NoConsole)));
    let failed = said(&channel.send(text("x")).await.unwrap_err());
    assert!(
        failed.contains("unavailable_channel") && failed.contains("this host has no console"),
        "{failed}"
    );
}

#[tokio::test]
async fn messages_are_appended_in_a_folder_that_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/journal.txt");
    let channel = Arc::new(FileChannel::new(path.clone()));
    for message in ["one", "two\n", ""] {
        Arc::clone(&channel).send(text(message)).await.unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap(), "one\ntwo\n\n");
}

#[tokio::test]
async fn a_link_a_folder_or_a_pipe_in_the_files_place_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let (victim, path) = (folder.path().join("victim"), folder.path().join("journal"));
    fs::write(&victim, "").unwrap();
    let send = || Arc::new(FileChannel::new(path.clone())).send(text("x"));

    symlink(&victim, &path).unwrap();
    assert!(said(&send().await.unwrap_err()).contains("unavailable_channel"));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "");
    fs::remove_file(&path).unwrap();

    fs::create_dir(&path).unwrap();
    send().await.unwrap_err();
    fs::remove_dir(&path).unwrap();

    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        &path,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    )
    .unwrap();
    send().await.unwrap_err();
    // With a reader the open itself works.
    let _reader = fs::File::options()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    send().await.unwrap_err();
}

#[tokio::test]
async fn memory_keeps_the_youngest_and_counts_the_rest() {
    let outputs = MemoryOutputs::default();
    let channel = Arc::new(outputs.channel("m"));
    for n in 0..1_030 {
        Arc::clone(&channel)
            .send(text(&n.to_string()))
            .await
            .unwrap();
    }
    assert_eq!(outputs.messages("m").len(), 1_024);
    assert_eq!(outputs.messages("m")[0].text, "6");
    assert_eq!(outputs.dropped("m"), 6);

    let large = Message {
        text: String::new(),
        blocks: vec![Block {
            mime: "a/b".into(),
            name: None,
            data: vec![0; 16 << 20].into(),
        }],
    };
    for _ in 0..3 {
        Arc::clone(&channel).send(large.clone()).await.unwrap();
    }
    assert_eq!(
        outputs
            .messages("m")
            .iter()
            .filter(|message| !message.blocks.is_empty())
            .count(),
        2
    );
}

#[tokio::test]
async fn a_token_that_is_missing_or_unusable_stops_the_message_here() {
    for (env, word) in [
        (vec![], "TOKEN is not set"),
        (
            vec![("TOKEN".to_owned(), " ".to_owned())],
            "TOKEN is not set",
        ),
        (
            vec![("TOKEN".to_owned(), "sec\nret".to_owned())],
            "TOKEN holds characters",
        ),
    ] {
        // Nobody listens there: asking for the token comes first.
        let hook = Arc::new(Webhook::new(
            "team",
            "http://127.0.0.1:9/",
            Some("TOKEN"),
            &env,
        ));
        let failed = said(&hook.send(text("x")).await.unwrap_err());
        assert!(
            failed.contains(word) && !failed.contains("ret\""),
            "{failed}"
        );
    }
}

#[tokio::test]
async fn an_address_that_is_none_is_the_operators_to_correct() {
    let hook = Arc::new(Webhook::new("team", "http://[half", None, &[]));
    let failed = said(&hook.send(text("x")).await.unwrap_err());
    assert!(
        failed.contains("its address is not usable") && !failed.contains("half"),
        "{failed}"
    );
}
