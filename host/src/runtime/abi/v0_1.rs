//! The world `toolgate:plugin@0.1.0`.

use std::{sync::Arc, time::Duration};

use serde_json::Value;

use super::Described;
use crate::{
    ports::Caller,
    tool::{
        Block, Digest, Failure, FailureKind, Hints, Output, Reason, ToolError, ToolName, ToolSpec,
    },
};

wasmtime::component::bindgen!({
    path: ["../wit/tool@0.1.0", "../wit/host@0.1.0", "../wit/plugin@0.1.0"],
    world: "toolgate:plugin/plugin@0.1.0",
    imports: { default: async | trappable },
    exports: { default: async },
});

pub(in crate::runtime) use self::toolgate::{host, tool::types as wit};

impl From<wit::ToolError> for ToolError {
    fn from(error: wit::ToolError) -> Self {
        Self {
            field: error.field,
            reason: error.reason.into(),
            detail: error.detail,
            hint: error.hint,
        }
    }
}

impl From<ToolError> for wit::ToolError {
    fn from(error: ToolError) -> Self {
        Self {
            field: error.field,
            reason: error.reason.into_owned(),
            detail: error.detail,
            hint: error.hint,
        }
    }
}

impl From<wit::Block> for Block {
    fn from(block: wit::Block) -> Self {
        Self {
            mime: block.mime,
            name: block.name,
            data: block.data.into(),
        }
    }
}

impl From<Block> for wit::Block {
    fn from(block: Block) -> Self {
        Self {
            mime: block.mime,
            name: block.name,
            data: block.data.into(),
        }
    }
}

fn blocks<A, B: From<A>>(blocks: Vec<A>) -> Vec<B> {
    blocks.into_iter().map(B::from).collect()
}

/// What the guest gave, measured before it is read.
pub(in crate::runtime) fn outcome(
    result: Result<wit::Output, wit::Failure>,
    caps: Caps,
) -> Result<Output, Failure> {
    match result {
        Ok(output) => {
            caps.check(&output.value, &output.blocks)?;
            Ok(Output {
                value: json(&output.value)?,
                blocks: blocks(output.blocks),
            })
        }
        Err(failure) => {
            let text = failure.value.as_deref().unwrap_or("null");
            caps.check(text, &failure.blocks)?;
            let value = match failure.value {
                Some(text) => Some(json(&text)?),
                None => None,
            };
            Err(Failure {
                value,
                blocks: blocks(failure.blocks),
                ..Failure::new(FailureKind::Failed, failure.error.into())
            })
        }
    }
}

/// How large a result may be, bytes.
#[derive(Debug, Clone, Copy)]
pub(in crate::runtime) struct Caps {
    pub(in crate::runtime) result: u64,
    pub(in crate::runtime) blocks: u64,
}

impl Caps {
    fn check(self, value: &str, blocks: &[wit::Block]) -> Result<(), Failure> {
        let over = |what: &str, size: u64, cap: u64, hint: &str| {
            Failure::host(
                FailureKind::Limit,
                format!("the {what} is {size} bytes; the limit is {cap}"),
            )
            .hint(hint)
        };
        let size = value.len() as u64;
        if size > self.result {
            return Err(over(
                "result",
                size,
                self.result,
                "ask for a smaller part at a time",
            ));
        }
        let media = blocks.iter().map(|block| block.data.len() as u64).sum();
        if media > self.blocks {
            return Err(over(
                "media of the result",
                media,
                self.blocks,
                "ask for less media at a time",
            ));
        }
        Ok(())
    }
}

fn json(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::new(
            FailureKind::Failed,
            ToolError::new(
                Reason::Schema,
                format!("the plugin's result is no JSON: {error}"),
            )
            .hint("a fault of the plugin; tell its author"),
        )
    })
}

pub(in crate::runtime) fn context(caller: &Caller) -> wit::Ctx {
    let cx = &caller.cx;
    wit::Ctx {
        call_id: cx.call_id.to_string(),
        index: cx.index,
        batch_id: cx.batch_id.to_string(),
        principal_id: cx.principal.id().to_owned(),
        principal_origin: cx.principal.origin().to_owned(),
        principal_kind: match cx.principal.kind() {
            crate::tool::Kind::User => wit::PrincipalKind::User,
            crate::tool::Kind::Agent => wit::PrincipalKind::Agent,
            crate::tool::Kind::Client => wit::PrincipalKind::Client,
        },
        depth: cx.depth(),
        remaining_ms: milliseconds(cx.deadline.remaining()),
        extra: cx
            .extra
            .iter()
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .collect(),
    }
}

pub(in crate::runtime) fn described(info: wit::PluginInfo) -> Described {
    Described {
        name: info.name,
        version: info.version,
        description: info.description,
        tools: info.tools.into_iter().map(spec).collect(),
        capabilities: info
            .capabilities
            .into_iter()
            .map(|c| (c.name, c.reason))
            .collect(),
    }
}

fn spec(def: wit::ToolDef) -> Result<ToolSpec, (String, String)> {
    let given = def.name.clone();
    let read = move || -> Result<ToolSpec, String> {
        Ok(ToolSpec {
            name: ToolName::new(&def.name).map_err(|error| error.to_string())?,
            title: def.title,
            description: def.description,
            parameters: schema("parameters", &def.parameters)?,
            output_schema: match def.output_schema {
                Some(text) => Some(schema("output-schema", &text)?),
                None => None,
            },
            parallel_safe: def.parallel_safe,
            serial: def.serial,
            hints: Hints {
                read_only: def.hints.read_only,
                destructive: def.hints.destructive,
                idempotent: def.hints.idempotent,
                open_world: def.hints.open_world,
            },
            timeout: def.timeout_ms.map(Duration::from_millis),
        })
    };
    read().map_err(|problem| (given, problem))
}

/// Schema text over this is refused before it is parsed.
const SCHEMA_TEXT: usize = 64 << 10;

fn schema(what: &str, text: &str) -> Result<Value, String> {
    if text.len() > SCHEMA_TEXT {
        return Err(format!(
            "{what}: {} bytes of schema; the limit is {SCHEMA_TEXT}",
            text.len()
        ));
    }
    serde_json::from_str(text).map_err(|error| format!("{what} is no JSON: {error}"))
}

pub(in crate::runtime) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

pub(in crate::runtime) fn implementation(
    of: &crate::tool::Implementation,
) -> host::tools::Implementation {
    host::tools::Implementation {
        plugin: of.plugin.as_str().to_owned(),
        version: of.version.to_string(),
        digest: Digest::to_string(&of.digest),
        generation: of.generation,
    }
}

pub(in crate::runtime) fn call_outcome(
    outcome: Result<Output, Failure>,
    tool: &str,
) -> Result<wit::Output, host::tools::CallFailure> {
    use host::tools::{CallFailure, Missing};
    let failure = match outcome {
        Ok(output) => {
            return Ok(wit::Output {
                value: output.value.to_string(),
                blocks: blocks(output.blocks),
            });
        }
        Err(failure) => failure,
    };
    let error = wit::ToolError::from(failure.error);
    Err(match failure.kind {
        FailureKind::NotFound => CallFailure::NotFound(Missing {
            tool: tool.to_owned(),
            error,
        }),
        FailureKind::Unauthorized => CallFailure::Unauthorized(error),
        FailureKind::Invalid => {
            let also = failure.also.into_iter().map(wit::ToolError::from);
            CallFailure::Invalid(std::iter::once(error).chain(also).collect())
        }
        FailureKind::Failed => CallFailure::Failed(wit::Failure {
            error,
            value: failure.value.map(|value| value.to_string()),
            blocks: blocks(failure.blocks),
        }),
        FailureKind::Timeout => CallFailure::Timeout(error),
        FailureKind::Trapped => CallFailure::Trapped(error),
        FailureKind::Unavailable => CallFailure::Unavailable(error),
        FailureKind::Cancelled => CallFailure::Cancelled(error),
        FailureKind::Limit => CallFailure::Limit(error),
        FailureKind::Skipped => CallFailure::Skipped(error),
        FailureKind::Internal => CallFailure::Internal(error),
    })
}

pub(in crate::runtime) fn tool_info(tool: crate::ports::NestedTool) -> host::tools::ToolInfo {
    let spec = Arc::unwrap_or_clone(tool.spec);
    host::tools::ToolInfo {
        name: spec.name.as_str().to_owned(),
        title: spec.title,
        description: spec.description,
        parameters: spec.parameters.to_string(),
        output_schema: spec.output_schema.map(|schema| schema.to_string()),
        parallel_safe: tool.parallel_safe,
        serial: spec.serial,
        hints: wit::Hints {
            read_only: spec.hints.read_only,
            destructive: spec.hints.destructive,
            idempotent: spec.hints.idempotent,
            open_world: spec.hints.open_world,
        },
        implementation: implementation(&tool.implementation),
    }
}
