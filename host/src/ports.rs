//! Traits that lower floors call and upper floors, or embedders, fill in.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::{
    stage::{Link, StageContext},
    tool::{
        Digest, Extra, Failure, Implementation, Output, Principal, RawArguments, ToolError,
        ToolName, ToolSpec,
    },
};

/// A tool that the host itself, or its embedder, provides. The same contract as a
/// plugin's: validated, authorised and reported at the one gate.
pub trait NativeTool: Send + Sync {
    /// Its definition.
    fn spec(&self) -> &ToolSpec;

    /// One call. `args` fits the schema. Dropped at the deadline or when cancelled.
    fn call(
        self: Arc<Self>,
        cx: Arc<StageContext>,
        args: Arc<Value>,
    ) -> BoxFuture<'static, Result<Output, Failure>>;
}

/// Where an output channel of kind `stdout` writes: the face decides, since under a
/// protocol or `--json` standard output is not for text.
pub trait Console: Send + Sync {
    /// Writes one message whole, never mixed with another.
    ///
    /// # Errors
    ///
    /// If nobody reads any more.
    fn write(&self, channel: &str, text: &str) -> std::io::Result<()>;
}

/// Answers what a rule says to ask.
pub trait Approver: Send + Sync {
    /// Waits for a person's decision on exactly this call.
    fn ask(&self, question: Question) -> BoxFuture<'static, Decision>;
}

/// What a person is asked: exactly what will run.
#[derive(Debug, Clone)]
pub struct Question {
    /// Unique in this host.
    pub id: String,
    /// Who wants it.
    pub principal: Principal,
    /// Through which calls.
    pub chain: Arc<[Link]>,
    /// Which tool.
    pub tool: ToolName,
    /// With which arguments, coerced.
    pub arguments: Arc<Value>,
    /// Which code would run.
    pub implementation: Implementation,
    /// The rule that asks.
    pub rule: String,
    /// SHA-256 over implementation, tool and arguments: what an approval is bound to.
    pub binding: Digest,
    /// How long the question stands.
    pub expires_in: Duration,
}

/// A person's answer. One approval is one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Run it, once.
    Approve,
    /// Do not, with the person's reason.
    Deny(String),
    /// Nobody answered in time.
    Expired,
}

/// How a running guest reaches other tools: filled in by the dispatcher, so that there
/// is no second way into a tool.
pub trait Nested: Send + Sync {
    /// What this chain may call.
    fn list(&self, from: &Caller) -> Vec<NestedTool>;

    /// What the gate would say now; asks nobody.
    fn can_use(&self, from: &Caller, tool: &str, arguments: RawArguments) -> Permission;

    /// Runs one batch; results in the order of the calls.
    fn execute(
        &self,
        from: Caller,
        calls: Vec<(String, RawArguments)>,
        options: NestedOptions,
    ) -> BoxFuture<'static, Vec<NestedResult>>;
}

/// The call that calls.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Its context.
    pub cx: Arc<StageContext>,
    /// Itself, as the next link of the chain.
    pub link: Link,
}

/// One tool as a guest sees it.
#[derive(Debug, Clone)]
pub struct NestedTool {
    /// Its definition.
    pub spec: Arc<ToolSpec>,
    /// Whether it is parallel-safe after the operator's word.
    pub parallel_safe: bool,
    /// Which code stands behind it now.
    pub implementation: Implementation,
}

/// What the gate says.
#[derive(Debug, Clone)]
pub enum Permission {
    /// It may.
    Allowed,
    /// A person would be asked.
    NeedsApproval,
    /// It may not, or the call could not run: why.
    Denied(ToolError),
}

/// How a nested batch runs.
#[derive(Debug, Clone, Default)]
pub struct NestedOptions {
    /// One after another in any case.
    pub serial: bool,
    /// After the first failure the rest is skipped; means serial.
    pub stop_on_failure: bool,
    /// For the whole batch.
    pub timeout: Option<Duration>,
    /// Waited before the first call.
    pub retry_delay: Option<Duration>,
    /// The keys that come down to the nested calls.
    pub extra: Extra,
}

/// How one nested call ended.
#[derive(Debug, Clone)]
pub struct NestedResult {
    /// The output, or why there is none.
    pub outcome: Result<Output, Failure>,
    /// Time in the tool.
    pub elapsed: Duration,
    /// Which code answered.
    pub implementation: Option<Implementation>,
}
