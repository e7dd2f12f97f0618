//! A document from the workspace, read by `files_read` through the host: what the files
//! plugin refuses, and what the caller may not read, is refused here too.

use serde_json::{Value, json};
use toolgate_sdk::{
    ToolError,
    tools::{CallFailure, NestedCall, Options},
};

use crate::kernel::Kernel;

const TOOL: &str = "files_read";
const LARGEST: usize = 1 << 20;
/// Bytes of a page, well below what one result may hold.
const PAGE: usize = 256 << 10;

/// The whole text of a file.
///
/// # Errors
///
/// What the files plugin or the host said, or that the file is too large or was changed
/// while it was read.
pub(crate) fn text(kernel: &impl Kernel, path: &str) -> Result<String, ToolError> {
    let fault = |reason: &str, what: String| ToolError::new(reason, what).field("file");
    let mut text = String::new();
    let mut seen: Option<Value> = None;
    loop {
        let page = page(kernel, path, text.len())?;
        let state = json!([page.get("size"), page.get("digest")]);
        if seen.get_or_insert_with(|| state.clone()) != &state {
            return Err(
                fault("changed", format!("`{path}` was changed while it was read"))
                    .hint("try again"),
            );
        }
        let size = page.get("size").and_then(Value::as_u64).unwrap_or(u64::MAX);
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size > LARGEST {
            return Err(fault(
                "too_large",
                format!("`{path}` has {size} bytes; a document has at most {LARGEST}"),
            )
            .hint("split the sequence: one may call another with `seq_call`"));
        }
        let content = page
            .get("content")
            .and_then(Value::as_str)
            .unwrap_or_default();
        text.push_str(content);
        let more = page.get("truncated").and_then(Value::as_bool) == Some(true);
        if !more && text.len() == size {
            return Ok(text);
        }
        if !more || content.is_empty() || text.len() >= size {
            return Err(fault(
                "io",
                format!("`{path}` was read to {} of {size} bytes only", text.len()),
            ));
        }
    }
}

fn page(kernel: &impl Kernel, path: &str, offset: usize) -> Result<Value, ToolError> {
    let arguments = json!({ "path": path, "raw": true, "offset": offset, "limit": PAGE });
    let call = NestedCall {
        name: TOOL.into(),
        arguments: arguments.to_string(),
    };
    let mut results = kernel.execute(&[call], &Options::default());
    let failure = match results.pop().map(|result| result.outcome) {
        Some(Ok(output)) => {
            return serde_json::from_str(&output.value)
                .map_err(|_| ToolError::new("internal", "the host gave no JSON").field("file"));
        }
        Some(Err(failure)) => failure,
        None => return Err(ToolError::new("internal", "the host gave no result").field("file")),
    };
    let mut error = match failure {
        CallFailure::NotFound(_) => ToolError::new(
            "not_found",
            format!("there is no tool `{TOOL}` to read `{path}` with"),
        )
        .hint("give the document as `groups`"),
        CallFailure::Failed(failure) => failure.error,
        CallFailure::Invalid(errors) => errors
            .into_iter()
            .next()
            .unwrap_or_else(|| ToolError::new("arguments", "refused")),
        CallFailure::Unauthorized(error)
        | CallFailure::Timeout(error)
        | CallFailure::Trapped(error)
        | CallFailure::Unavailable(error)
        | CallFailure::Cancelled(error)
        | CallFailure::Limit(error)
        | CallFailure::Skipped(error)
        | CallFailure::Internal(error) => error,
    };
    error.field = Some("file".into());
    Err(error)
}
