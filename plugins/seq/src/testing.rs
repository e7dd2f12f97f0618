//! A host made of closures, with a clock of its own: tools that appear, vanish, fail and
//! take time as a test says.

#![expect(
    clippy::needless_pass_by_value,
    reason = "`json!` is written where it is used"
)]

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
    time::Duration,
};

use serde_json::{Map, Value, json};
use toolgate_sdk::{
    Context, Failure, Hints, Output, PrincipalKind, ToolError,
    tools::{
        CallFailure, CallResult, Implementation, Missing, NestedCall, Options, Permission, ToolInfo,
    },
};

use crate::{
    call::{self, Call, RunArguments},
    create::{self, Create},
    kernel::Kernel,
    store::Store,
};

type Handler = Rc<dyn Fn(&Fake, &Value) -> Result<Value, CallFailure>>;

#[derive(Clone)]
pub(crate) struct FakeTool {
    pub(crate) parallel_safe: bool,
    pub(crate) idempotent: bool,
    pub(crate) digest: String,
    pub(crate) takes: Duration,
    handler: Handler,
}

/// One batch as it reached the host.
#[derive(Debug, Clone)]
pub(crate) struct Batch {
    pub(crate) tools: Vec<String>,
    pub(crate) serial: bool,
    pub(crate) stop_on_failure: bool,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) retry_delay_ms: Option<u64>,
}

pub(crate) struct Fake {
    pub(crate) tools: RefCell<BTreeMap<String, FakeTool>>,
    pub(crate) clock: Cell<Duration>,
    pub(crate) batches: RefCell<Vec<Batch>>,
    /// Every call that reached a tool: name and arguments.
    pub(crate) calls: RefCell<Vec<(String, Value)>>,
    pub(crate) store: Store,
    extra: RefCell<Vec<(String, String)>>,
    folder: tempfile::TempDir,
}

pub(crate) fn fail(reason: &str) -> CallFailure {
    CallFailure::Failed(Failure::from(ToolError::new(reason, "as asked")))
}

impl Fake {
    /// With `echo` (gives its `value`), `alone` (the same, not parallel-safe), and the
    /// calls of this plugin.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let fake = Self {
            tools: RefCell::default(),
            clock: Cell::default(),
            batches: RefCell::default(),
            calls: RefCell::default(),
            store: Store::at(folder.path().join("sequences")),
            extra: RefCell::default(),
            folder,
        };
        fake.tool("echo", |_, args| Ok(args["value"].clone()));
        fake.tool("alone", |_, args| Ok(args["value"].clone()));
        fake.change("alone", |tool| tool.parallel_safe = false);
        for name in ["seq_call", "seq_when_call"] {
            fake.tool(name, move |fake, args| fake.nested(name, args));
        }
        fake
    }

    pub(crate) fn tool(
        &self,
        name: &str,
        handler: impl Fn(&Self, &Value) -> Result<Value, CallFailure> + 'static,
    ) {
        let tool = FakeTool {
            parallel_safe: true,
            idempotent: false,
            digest: format!("sha256:{name}"),
            takes: Duration::ZERO,
            handler: Rc::new(handler),
        };
        self.tools.borrow_mut().insert(name.to_owned(), tool);
    }

    pub(crate) fn change(&self, name: &str, change: impl FnOnce(&mut FakeTool)) {
        change(self.tools.borrow_mut().get_mut(name).unwrap());
    }

    pub(crate) fn remove(&self, name: &str) {
        assert!(self.tools.borrow_mut().remove(name).is_some());
    }

    pub(crate) fn context(&self, principal: &str, kind: PrincipalKind) -> Context {
        Context {
            call_id: "c".into(),
            index: 0,
            batch_id: "b".into(),
            principal_id: principal.into(),
            principal_origin: principal.into(),
            principal_kind: kind,
            depth: 0,
            remaining_ms: 600_000,
            extra: self.extra.borrow().clone(),
        }
    }

    pub(crate) fn user(&self) -> Context {
        self.context("local", PrincipalKind::User)
    }

    pub(crate) fn create(&self, name: &str, groups: Value) -> Result<Value, Failure> {
        let arguments = json!({ "name": name, "groups": groups });
        let arguments: Create = serde_json::from_value(arguments).unwrap();
        create::create(self, &self.store, &self.user(), arguments).map(|output| value(&output))
    }

    /// The report, of a failed run too.
    pub(crate) fn run(&self, name: &str, args: Value) -> Value {
        match self.try_run(name, args) {
            Ok(report) => report,
            Err(failure) => serde_json::from_str(&failure.value.expect("a report")).unwrap(),
        }
    }

    pub(crate) fn try_run(&self, name: &str, args: Value) -> Result<Value, Failure> {
        let arguments: RunArguments =
            serde_json::from_value(json!({ "name": name, "args": args })).unwrap();
        call::run(self, &self.store, &self.user(), arguments).map(|output| value(&output))
    }

    pub(crate) fn count(&self, tool: &str) -> usize {
        self.calls
            .borrow()
            .iter()
            .filter(|(name, _)| name == tool)
            .count()
    }

    pub(crate) fn store_file(&self, name: &str) -> std::path::PathBuf {
        self.folder
            .path()
            .join("sequences")
            .join(format!("{name}.json"))
    }

    fn nested(&self, name: &str, args: &Value) -> Result<Value, CallFailure> {
        let context = self.user();
        let outcome = if name == "seq_call" {
            let arguments: Call = serde_json::from_value(args.clone()).unwrap();
            call::call(self, &self.store, &context, arguments)
        } else {
            call::when_call(
                self,
                &self.store,
                &context,
                serde_json::from_value(args.clone()).unwrap(),
            )
        };
        outcome
            .map(|output| value(&output))
            .map_err(CallFailure::Failed)
    }

    fn one(&self, call: &NestedCall, deadline: Option<Duration>) -> Result<Value, CallFailure> {
        let Some(tool) = self.tools.borrow().get(&call.name).cloned() else {
            return Err(CallFailure::NotFound(Missing {
                tool: call.name.clone(),
                error: ToolError::new("not_found", format!("there is no tool {:?}", call.name)),
            }));
        };
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
        self.calls
            .borrow_mut()
            .push((call.name.clone(), arguments.clone()));
        let ends = self.clock.get() + tool.takes;
        if let Some(deadline) = deadline.filter(|deadline| ends > *deadline) {
            self.clock.set(deadline);
            return Err(CallFailure::Timeout(ToolError::new(
                "timeout",
                "over the limit",
            )));
        }
        self.clock.set(ends);
        (tool.handler)(self, &arguments)
    }
}

fn value(output: &Output) -> Value {
    serde_json::from_str(&output.value).unwrap()
}

/// The errors of a refused document.
pub(crate) fn errors(refused: Result<Value, Failure>) -> Vec<Map<String, Value>> {
    let failure = refused.expect_err("it was taken");
    let value: Value = serde_json::from_str(&failure.value.expect("errors")).unwrap();
    assert_eq!(value["saved"], false);
    serde_json::from_value(value["errors"].clone()).unwrap()
}

impl Kernel for Fake {
    fn list(&self) -> Vec<ToolInfo> {
        let tools = self.tools.borrow();
        let info = |(name, tool): (&String, &FakeTool)| {
            ToolInfo {
            name: name.clone(),
            title: None,
            description: String::new(),
            parameters: json!({ "type": "object", "properties": { "command": { "type": "string", "format": "shell-command" } } }).to_string(),
            output_schema: None,
            parallel_safe: tool.parallel_safe,
            serial: false,
            hints: Hints {
                read_only: None,
                destructive: None,
                idempotent: tool.idempotent.then_some(true),
                open_world: None,
            },
            implementation: implementation(&tool.digest),
        }
        };
        tools.iter().map(info).collect()
    }

    fn can_use(&self, tool: &str, _: &str) -> Permission {
        let reason = if tool == "forbidden" {
            "unauthorized"
        } else {
            "not_found"
        };
        Permission::Denied(ToolError::new(reason, "no"))
    }

    fn execute(&self, calls: &[NestedCall], options: &Options) -> Vec<CallResult> {
        self.batches.borrow_mut().push(Batch {
            tools: calls.iter().map(|call| call.name.clone()).collect(),
            serial: options.serial,
            stop_on_failure: options.stop_on_failure,
            timeout_ms: options.timeout_ms,
            retry_delay_ms: options.retry_delay_ms,
        });
        let deadline = options
            .timeout_ms
            .map(|ms| self.clock.get() + Duration::from_millis(ms));
        let delay = Duration::from_millis(options.retry_delay_ms.unwrap_or(0));
        self.clock.set(self.clock.get() + delay);
        let before = self.extra.replace(options.extra.clone());
        let mut failed = false;
        let results = calls.iter().map(|call| {
            let outcome = if failed && options.stop_on_failure {
                Err(CallFailure::Skipped(ToolError::new(
                    "skipped",
                    "an earlier call failed",
                )))
            } else {
                self.one(call, deadline)
            };
            failed |= outcome.is_err();
            let implementation = self
                .tools
                .borrow()
                .get(&call.name)
                .map(|tool| implementation(&tool.digest));
            CallResult {
                outcome: outcome.map(|value| Output::new(&value)),
                elapsed_ms: 1.0,
                implementation,
            }
        });
        let results = results.collect();
        self.extra.replace(before);
        results
    }

    fn elapsed(&self) -> Duration {
        self.clock.get()
    }

    fn progress(&self, _: usize, _: usize, _: &str) {}
}

fn implementation(digest: &str) -> Implementation {
    Implementation {
        plugin: "fake".into(),
        version: "1.0.0".into(),
        digest: digest.into(),
        generation: 1,
    }
}

/// A `tools` text of these items.
pub(crate) fn tools(items: &[Value]) -> String {
    crate::tools_string::write(items.iter().map(|item| item.as_object().unwrap().clone()))
}
