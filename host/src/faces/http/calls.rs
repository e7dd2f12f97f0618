//! Calls and batches. A call that was run or refused by the host is a 200: its result says
//! how it ended.

use std::time::{Duration, Instant};

use axum::{
    Extension,
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::Response,
};

use super::{Shared, body, caller::Caller, json, refusal::Refused};
use crate::{
    dispatch::Scope,
    faces::batch_file,
    tool::{Batch, ToolResult},
};

pub(super) async fn call(
    State(face): State<Shared>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    if face.running.is_draining() {
        return Err(Refused::draining());
    }
    let text = body::read(&face.serve, &headers, body).await?;
    let (call, timeout) = batch_file::read_call(&text).map_err(Refused::malformed)?;
    drop(text);
    let batch = Batch {
        calls: vec![call],
        cut: false,
    };
    let results = run(&face, &caller, batch, timeout).await?;
    let result = results.first().ok_or_else(Refused::internal)?;
    Ok(json(StatusCode::OK, result))
}

pub(super) async fn batch(
    State(face): State<Shared>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    if face.running.is_draining() {
        return Err(Refused::draining());
    }
    let text = body::read(&face.serve, &headers, body).await?;
    let batch = batch_file::read(&text).map_err(Refused::malformed)?;
    drop(text);
    // The first was paid for by the request.
    let more = batch.calls.len().saturating_sub(1);
    face.rates.also(caller.principal.id(), more, Instant::now());
    let results = run(&face, &caller, batch, None).await?;
    Ok(json(StatusCode::OK, &results))
}

/// Runs on a task of its own: when the client goes away this future is dropped, which
/// cancels the calls, and they still come to their end on record.
async fn run(
    face: &Shared,
    caller: &Caller,
    batch: Batch,
    timeout: Option<Duration>,
) -> Result<Vec<ToolResult>, Refused> {
    let place = face.running.begin().ok_or_else(Refused::draining)?;
    let mut scope = Scope::new(caller.principal.clone());
    scope.cancel = face.running.give_up();
    scope.deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let client_gone = scope.cancel.clone().drop_guard();
    let host = face.host.clone();
    let task = tokio::spawn(async move {
        let results = host.run(scope, batch).await;
        drop(place);
        results
    });
    let results = task.await.map_err(|error| {
        tracing::error!(%error, "a batch ended without its results");
        Refused::internal()
    })?;
    client_gone.disarm();
    Ok(results)
}
