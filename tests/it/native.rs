//! Tools of the host or its embedder: the same contract, at the same gate.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use toolgate::{
    ports::NativeTool,
    stage::StageContext,
    tool::{Block, Failure, FailureKind, Output, ToolName, ToolSpec},
};

use crate::world::{failure, value, world};

type Handler = fn(Arc<StageContext>, Arc<Value>) -> BoxFuture<'static, Result<Output, Failure>>;

struct Native {
    spec: ToolSpec,
    handler: Handler,
}

impl NativeTool for Native {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(
        self: Arc<Self>,
        cx: Arc<StageContext>,
        args: Arc<Value>,
    ) -> BoxFuture<'static, Result<Output, Failure>> {
        (self.handler)(cx, args)
    }
}

fn native(name: &str, handler: Handler) -> Arc<dyn NativeTool> {
    let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
    let mut spec = ToolSpec::new(ToolName::new(name).unwrap(), "for tests", schema);
    spec.parallel_safe = true;
    spec.timeout = Some(std::time::Duration::from_millis(500));
    Arc::new(Native { spec, handler })
}

#[tokio::test]
async fn a_native_tool_is_checked_like_any_other() {
    let shout = native("shout", |_, args| {
        let text = args["text"].as_str().unwrap_or_default().to_uppercase();
        Box::pin(async move {
            Ok(Output {
                value: json!(text),
                blocks: Vec::new(),
            })
        })
    });
    let rules = "[principals.nobody]\nkind = \"agent\"\n";
    let world = world(rules).native(shout).start().await;
    // Coerced, since the schema says so.
    assert_eq!(value(&world.call("shout", json!({ "text": 7 })).await), "7");
    assert_eq!(
        failure(&world.call("shout", json!({})).await),
        ("invalid", "required".into())
    );
    assert_eq!(
        failure(
            &world
                .call("shout", json!({ "text": "a", "loud": true }))
                .await
        )
        .1,
        "additional"
    );
    assert_eq!(
        failure(
            &world
                .call_as("nobody", "shout", json!({ "text": "a" }))
                .await
        )
        .0,
        "unauthorized"
    );
    let result = world.call("shout", json!({ "text": "a" })).await;
    assert_eq!(result.implementation.unwrap().plugin.as_str(), "host");
}

#[tokio::test]
async fn it_comes_before_a_plugins_tool_of_its_name() {
    let echo = native("echo", |_, _| {
        Box::pin(async {
            Ok(Output {
                value: json!("native"),
                blocks: Vec::new(),
            })
        })
    });
    let world = world("").native(echo).start().await;
    assert_eq!(
        value(&world.call("echo", json!({ "text": "a" })).await),
        "native"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_is_that_calls_failure_alone() {
    let bad = native("bad", |_, _| panic!("a fault of the host"));
    let world = world("").native(bad).start().await;
    let results = world
        .batch(&[
            ("echo", json!({ "text": "a" })),
            ("bad", json!({ "text": "a" })),
            ("echo", json!({ "text": "b" })),
        ])
        .await;
    assert!(results[0].success() && results[2].success());
    assert_eq!(failure(&results[1]), ("internal", "internal".into()));
    assert!(
        !results[1].text.contains("a fault of the host"),
        "{}",
        results[1].text
    );
}

#[tokio::test]
async fn what_waits_for_ever_ends_at_its_deadline() {
    let stuck = native("stuck", |_, _| Box::pin(std::future::pending()));
    let world = world("").native(stuck).start().await;
    assert_eq!(
        failure(&world.call("stuck", json!({ "text": "a" })).await).0,
        "timeout"
    );
}

#[tokio::test]
async fn its_own_failure_is_never_a_missing_tool() {
    let missing = native("missing", |_, _| {
        Box::pin(async {
            let error = toolgate::tool::ToolError::new(
                toolgate::tool::Reason::NotFound,
                "there is no tool \"missing\"",
            );
            Err(Failure::new(FailureKind::Failed, error))
        })
    });
    let world = world("").native(missing).start().await;
    assert_eq!(
        failure(&world.call("missing", json!({ "text": "a" })).await),
        ("failed", "not_found".into())
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn media_stay_with_their_call() {
    let painter = native("painter", |cx, args| {
        Box::pin(async move {
            let text = args["text"].as_str().unwrap_or_default().to_owned();
            tokio::task::yield_now().await;
            cx.blocks.add(Block {
                mime: "text/plain".into(),
                name: None,
                data: text.into(),
            });
            tokio::task::yield_now().await;
            Ok(Output::default())
        })
    });
    let world = world("").native(painter).start().await;
    let calls: Vec<_> = (0..10)
        .map(|n| ("painter", json!({ "text": format!("{n}") })))
        .collect();
    for (n, result) in world.batch(&calls).await.iter().enumerate() {
        let blocks = &result.outcome.as_ref().unwrap().blocks;
        assert_eq!(blocks.len(), 1);
        assert_eq!(blocks[0].data, n.to_string());
    }
}

/// A shelf that fails for reasons of its own, in words that look like a missing tool.
struct Broken;

impl toolgate::registry::Shelf for Broken {
    fn lookup(
        &self,
        name: &str,
    ) -> Result<toolgate::registry::Target, Box<dyn std::error::Error + Send + Sync>> {
        let text = format!("there is no tool {name:?}");
        Err(Box::new(std::io::Error::new(
            std::io::ErrorKind::NotFound,
            text,
        )))
    }

    fn names(&self) -> Vec<ToolName> {
        Vec::new()
    }
}

#[tokio::test]
async fn a_layers_real_failure_is_never_a_missing_tool() {
    use toolgate::tool::{Batch, ToolCall};
    let world = world("").start().await;
    let mut scope = world.scope("local");
    scope.layers = vec![Arc::new(toolgate::registry::Layer::default())];
    let calls = vec![ToolCall::new("echo", json!({ "text": "a" }))];
    let results = world
        .host
        .run(
            scope.clone(),
            Batch {
                calls: calls.clone(),
                cut: false,
            },
        )
        .await;
    assert_eq!(value(&results[0]), "a", "an empty layer falls through");
    scope.layers = vec![Arc::new(Broken)];
    let results = world.host.run(scope, Batch { calls, cut: false }).await;
    assert_eq!(failure(&results[0]).0, "internal");
}

#[tokio::test]
async fn a_value_that_breaks_its_own_schema_is_the_tools_fault() {
    let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
    let mut spec = ToolSpec::new(ToolName::new("promise").unwrap(), "for tests", schema);
    spec.output_schema = Some(json!({ "type": "integer" }));
    let handler: Handler = |_, args| {
        let value = args.get("text").cloned().unwrap_or(json!(7));
        Box::pin(async move {
            Ok(Output {
                value,
                blocks: Vec::new(),
            })
        })
    };
    let world = world("")
        .native(Arc::new(Native { spec, handler }))
        .start()
        .await;
    assert_eq!(value(&world.call("promise", json!({})).await), 7);
    let result = world.call("promise", json!({ "text": "seven" })).await;
    assert_eq!(failure(&result), ("failed", "schema".into()));
    let kept = result.outcome.unwrap_err().value;
    assert_eq!(
        kept,
        Some(json!("seven")),
        "the value is attached as it came"
    );
}

/// A shelf whose tool is another one at each look.
struct Changing {
    looks: std::sync::atomic::AtomicUsize,
    targets: [toolgate::registry::Target; 2],
}

impl toolgate::registry::Shelf for Changing {
    fn lookup(
        &self,
        _: &str,
    ) -> Result<toolgate::registry::Target, Box<dyn std::error::Error + Send + Sync>> {
        let look = self
            .looks
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(self.targets[look.min(1)].clone())
    }

    fn names(&self) -> Vec<ToolName> {
        Vec::new()
    }
}

#[tokio::test]
async fn an_approval_does_not_hold_for_another_implementation() {
    use toolgate::{
        ports::Decision,
        registry::{Layer, Shelf as _},
        tool::{Batch, ToolCall},
    };
    let person = crate::world::Person::who(|_| Decision::Approve);
    let rules = "[principals.careful]\nkind = \"agent\"\notherwise = \"ask\"\n";
    let world = world(rules).approver(person.clone()).start().await;
    let before = world.host.catalog().lookup("echo").unwrap();
    let other = native("echo", |_, _| {
        Box::pin(async {
            Ok(Output {
                value: json!("other code"),
                blocks: Vec::new(),
            })
        })
    });
    let after = Layer::new([other]).unwrap().lookup("echo").unwrap();
    let call = async |targets| {
        let mut scope = world.scope("careful");
        scope.layers = vec![Arc::new(Changing {
            looks: Default::default(),
            targets,
        })];
        let calls = vec![ToolCall::new("echo", json!({ "text": "a" }))];
        world
            .host
            .run(scope, Batch { calls, cut: false })
            .await
            .remove(0)
    };
    let same = call([before.clone(), before.clone()]).await;
    assert_eq!(value(&same), "a");
    let result = call([before, after]).await;
    assert_eq!(failure(&result).0, "unauthorized");
    assert!(result.text.contains("replaced"), "{}", result.text);
    assert_eq!(person.questions().len(), 2);
}

/// A shelf whose tool is gone after three looks.
struct Vanishing {
    looks: std::sync::atomic::AtomicUsize,
    target: toolgate::registry::Target,
}

impl toolgate::registry::Shelf for Vanishing {
    fn lookup(
        &self,
        name: &str,
    ) -> Result<toolgate::registry::Target, Box<dyn std::error::Error + Send + Sync>> {
        let look = self
            .looks
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if name == "sleep_alone" && look < 3 {
            return Ok(self.target.clone());
        }
        Err(Box::new(toolgate::tool::ErrToolNotFound {
            name: "gone".into(),
        }))
    }

    fn names(&self) -> Vec<ToolName> {
        Vec::new()
    }
}

#[tokio::test]
async fn a_serial_call_is_looked_up_again_at_its_turn() {
    use toolgate::{
        registry::Shelf as _,
        tool::{Batch, ToolCall},
    };
    let world = world("[principals.local]\nkind = \"user\"\nallow = [\"*\"]\n")
        .start()
        .await;
    let target = world.host.catalog().lookup("sleep_alone").unwrap();
    let other = native("sleep_alone", |_, _| {
        Box::pin(async {
            Ok(Output {
                value: json!("the one below"),
                blocks: Vec::new(),
            })
        })
    });
    let below = toolgate::registry::Layer::new([other]).unwrap();
    let mut scope = world.scope("local");
    scope.layers = vec![
        Arc::new(Vanishing {
            looks: Default::default(),
            target,
        }),
        Arc::new(below),
    ];
    // Two looks to plan, one for the first call's turn; at the second's it is gone.
    let calls = vec![ToolCall::new("sleep_alone", json!({ "ms": 1 })); 2];
    let results = world.host.run(scope, Batch { calls, cut: false }).await;
    assert_eq!(value(&results[0]), 1);
    // The tool below wants other arguments: it is that one which is asked now.
    assert_eq!(failure(&results[1]).0, "invalid");
}
