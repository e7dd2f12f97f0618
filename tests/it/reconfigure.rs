//! A configuration that is edited while the host runs: what the edit takes away is gone at
//! once, what it adds waits for the operator.

use std::{fs, sync::Arc};

use futures_util::future::BoxFuture;
use serde_json::json;
use toolgate::{
    ReloadError,
    dispatch::EventKind,
    ports::{Approver, Decision, Question},
};

use crate::world::{Person, World, event, failure, living, value, world};

const CONFIG: &str = r#"
[principals.agent]
kind = "agent"
allow = ["echo", "files_*"]
[plugins.files.grants]
fs = [{ host = "workspace", mode = "rw" }]
"#;

async fn denied(world: &World, tool: &str) -> bool {
    let args = match tool {
        "echo" => json!({"text": "x"}),
        _ => json!({"json": "1"}),
    };
    let result = world.call_as("agent", tool, args).await;
    match &result.outcome {
        Ok(_) => false,
        Err(_) => {
            assert_eq!(failure(&result).0, "unauthorized");
            true
        }
    }
}

/// The watch has seen the edit. A look reads the configuration first and the plugins
/// after it: what was edited in between is read by the next look, so there are two.
async fn noticed(world: &World, mark: u64) {
    let mut watch = world.watch();
    for mark in [2 * mark, 2 * mark + 1] {
        world.save("living", &living(mark, '-'));
        event(&mut watch, &mut Vec::new(), |event| {
            event.kind == EventKind::PluginLoaded && event.plugin.as_deref() == Some("living")
        })
        .await;
    }
}

fn waits(world: &World) -> Vec<String> {
    let problems = world.host.problems().into_iter();
    problems
        .filter(|problem| problem.contains("toolgate reload"))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_edit_takes_away_is_gone_at_once_and_what_it_adds_waits() {
    let world = world(CONFIG).start().await;
    let _watching = world.host.watch();
    assert!(!denied(&world, "echo").await);
    assert!(denied(&world, "answer").await);

    world.edit(|text| text.replace("\"echo\", \"files_*\"", "\"answer\", \"files_*\""));
    noticed(&world, 1).await;
    assert!(denied(&world, "echo").await, "taken away");
    assert!(denied(&world, "answer").await, "not there yet");
    assert_eq!(waits(&world).len(), 1, "{:?}", world.host.problems());
    assert!(waits(&world)[0].contains("[principals]"));

    // Taking the edit back adds again what it took away: that waits, too.
    world.edit(|text| text.replace("\"answer\", \"files_*\"", "\"echo\", \"files_*\""));
    noticed(&world, 2).await;
    assert!(denied(&world, "echo").await);

    world.host.reload().await.unwrap();
    assert!(!denied(&world, "echo").await);
    assert!(denied(&world, "answer").await);
    assert!(waits(&world).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_is_granted_no_longer_is_out_of_reach_at_once() {
    let world = world(CONFIG).start().await;
    fs::write(world.workspace.join("a.txt"), "a").unwrap();
    let _watching = world.host.watch();
    let read = || world.call("files_read", json!({"path": "a.txt"}));
    let write = || world.call("files_write", json!({"path": "b.txt", "content": "b"}));
    assert!(read().await.success());
    assert!(write().await.success());

    world.edit(|text| text.replace("mode = \"rw\"", "mode = \"ro\""));
    noticed(&world, 1).await;
    assert!(read().await.success());
    assert!(!write().await.success());

    world.edit(|text| text.replace("mode = \"ro\"", "mode = \"rw\""));
    noticed(&world, 2).await;
    assert!(!write().await.success());
    assert!(waits(&world)[0].contains("[plugins.files]"));

    world.edit(|text| text.replace("fs = [{ host = \"workspace\", mode = \"rw\" }]", ""));
    noticed(&world, 3).await;
    assert!(!read().await.success());
    let catalog = world.host.catalog();
    let files = catalog.plugins().find(|(name, _)| name.as_str() == "files");
    let files = files.unwrap().1.plugin.as_ref().unwrap();
    assert_eq!(files.implementation.generation, 1, "the same code");

    world.edit(|text| text + "fs = [{ host = \"workspace\", mode = \"rw\" }]\n");
    world.host.reload().await.unwrap();
    assert!(write().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_shrink_at_once_and_grow_when_confirmed() {
    let world = world("[plugins.probe.limits]\ntimeout = \"20s\"")
        .start()
        .await;
    let _watching = world.host.watch();
    let remaining = || async {
        let result = world.call("context", json!({})).await;
        value(&result)["remaining_ms"].as_u64().unwrap()
    };
    assert!(remaining().await > 15_000);
    world.edit(|text| text.replace("20s", "5s"));
    noticed(&world, 1).await;
    assert!(remaining().await <= 5_000);
    world.edit(|text| text.replace("\"5s\"", "\"30s\""));
    noticed(&world, 2).await;
    assert!(remaining().await <= 5_000);
    world.host.reload().await.unwrap();
    assert!(remaining().await > 25_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_edit_changes_nothing_and_is_said() {
    let world = world(CONFIG).start().await;
    let _watching = world.host.watch();
    world.edit(|text| text.replace("kind = \"agent\"", "knid = \"agent\""));
    noticed(&world, 1).await;
    assert!(!denied(&world, "echo").await);
    let problems = world.host.problems().join("\n");
    assert!(problems.contains("is not used"), "{problems}");
    assert!(problems.contains("knid"), "{problems}");
    let error = world.host.reload().await.unwrap_err();
    assert!(matches!(error, ReloadError::Config(_)), "{error}");
    assert!(error.to_string().contains("knid"));
    assert!(!denied(&world, "echo").await);
    world.edit(|text| text.replace("knid", "kind"));
    world.host.reload().await.unwrap();
    assert!(world.host.problems().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_configuration_that_has_gone_leaves_the_running_one() {
    let world = world(CONFIG).start().await;
    let _watching = world.host.watch();
    let file = world.root().join("toolgate.toml");
    let text = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    noticed(&world, 1).await;
    assert!(!denied(&world, "echo").await);
    assert!(denied(&world, "answer").await);
    assert!(world.host.reload().await.is_err());
    fs::write(&file, text).unwrap();
    world.host.reload().await.unwrap();
    assert!(world.host.problems().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_from_another_place_waits_and_a_section_that_has_gone_takes_its_code_along() {
    let world = world("").start().await;
    let _watching = world.host.watch();
    fs::create_dir(world.root().join("elsewhere")).unwrap();
    let file = world.root().join("elsewhere/living.wasm");
    fs::write(&file, living(7, '-')).unwrap();
    let call = || world.call("living_version", json!({}));
    let source = "\n[plugins.living]\nsource = \"elsewhere/living.wasm\"\n";
    world.edit(|text| text + source);
    // Its own folder's plugins are no mark here: hello is.
    let seen = |number: u8| {
        let mut bytes = toolgate_test_guest_bytes::HELLO.to_vec();
        bytes.extend([0, 2, 0, number]);
        world.save("hello", &bytes);
    };
    let loaded = |name: &'static str| {
        let mut watch = world.watch();
        async move {
            event(&mut watch, &mut Vec::new(), |event| {
                event.kind == EventKind::PluginLoaded && event.plugin.as_deref() == Some(name)
            })
            .await
        }
    };
    let hello = loaded("hello");
    seen(1);
    hello.await;
    assert_eq!(failure(&call().await).0, "not-found");
    world.host.reload().await.unwrap();
    assert_eq!(value(&call().await), json!(7));

    world.edit(|text| text.replace(source, ""));
    let hello = loaded("hello");
    seen(2);
    hello.await;
    assert_eq!(failure(&call().await).0, "not-found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_after_the_rule_was_tightened_runs_nothing() {
    let asked = Arc::new(tokio::sync::Notify::new());
    let answer = Arc::new(tokio::sync::Notify::new());
    struct Slow(Arc<tokio::sync::Notify>, Arc<tokio::sync::Notify>);
    impl toolgate::ports::Approver for Slow {
        fn ask(
            &self,
            _: toolgate::ports::Question,
        ) -> futures_util::future::BoxFuture<'static, Decision> {
            let (asked, answer) = (Arc::clone(&self.0), Arc::clone(&self.1));
            Box::pin(async move {
                asked.notify_one();
                answer.notified().await;
                Decision::Approve
            })
        }
    }
    let config = "[principals.agent]\nkind = \"agent\"\nask = [\"echo\"]\n";
    let slow = Slow(Arc::clone(&asked), Arc::clone(&answer));
    let world = Arc::new(world(config).approver(Arc::new(slow)).start().await);
    let _watching = world.host.watch();
    let call = {
        let world = Arc::clone(&world);
        tokio::spawn(async move { world.call_as("agent", "echo", json!({"text": "x"})).await })
    };
    asked.notified().await;
    world.edit(|text| text.replace("ask = [\"echo\"]", "deny = [\"echo\"]"));
    noticed(&world, 1).await;
    answer.notify_one();
    let result = call.await.unwrap();
    assert_eq!(failure(&result).0, "unauthorized");
    assert!(result.text.contains("not yours to call"), "{}", result.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_does_not_hold_for_a_new_version() {
    let world = world("[principals.agent]\nkind = \"agent\"\nask = [\"living_version\"]\n");
    let plugins = world.root().join("plugins");
    let file = plugins.join("living.wasm");
    let host = Arc::new(std::sync::OnceLock::<toolgate::Host>::new());
    let person = {
        let (host, file) = (Arc::clone(&host), file.clone());
        Person::who(move |_| {
            fs::write(&file, living(2, '-')).unwrap();
            let host = host.get().unwrap().clone();
            let (done, over) = std::sync::mpsc::sync_channel(1);
            tokio::spawn(async move {
                host.refresh().await;
                done.send(()).unwrap();
            });
            over.recv().unwrap();
            Decision::Approve
        })
    };
    fs::create_dir_all(&plugins).unwrap();
    fs::write(&file, living(1, '-')).unwrap();
    let world = world.approver(person).start().await;
    host.set(world.host.clone()).unwrap();
    let result = world.call_as("agent", "living_version", json!({})).await;
    assert_eq!(failure(&result).0, "unauthorized");
    let detail = format!("{:?}", result.outcome);
    assert!(
        detail.contains("replaced while a person was asked"),
        "{detail}"
    );
}

/// Answers no question before it is told to.
struct Away(tokio::sync::watch::Receiver<bool>);

impl Approver for Away {
    fn ask(&self, _: Question) -> BoxFuture<'static, Decision> {
        let mut back = self.0.clone();
        Box::pin(async move {
            back.wait_for(|back| *back).await.unwrap();
            Decision::Approve
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_waits_holds_up_no_new_version() {
    let (back, away) = tokio::sync::watch::channel(false);
    let world = world("[principals.agent]\nkind = \"agent\"\nask = [\"living_version\"]\n")
        .approver(Arc::new(Away(away)))
        .start()
        .await;
    let mut watch = world.watch();
    let mut passed = Vec::new();
    world.save("living", &living(1, '-'));
    world.host.refresh().await;
    let agent = world.call_as("agent", "living_version", json!({}));
    let others = async {
        event(&mut watch, &mut passed, |event| {
            event.kind == EventKind::ApprovalRequested
        })
        .await;
        for number in 2..=3 {
            world.save("living", &living(number, '-'));
            world.host.refresh().await;
            let result = world.call("living_version", json!({})).await;
            assert_eq!(value(&result), json!(number));
            assert_eq!(result.implementation.unwrap().generation, number);
        }
        back.send(true).unwrap();
    };
    let (asked, ()) = tokio::join!(agent, others);
    assert_eq!(failure(&asked).0, "unauthorized");
}
