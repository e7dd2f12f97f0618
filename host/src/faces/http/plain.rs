//! What probes and collectors ask.

use axum::{Extension, extract::State, http::StatusCode, response::Response};
use serde_json::json as value;

use super::{Shared, caller::Caller, json, refusal::Refused, text};

/// The process lives. That is all it says.
pub(super) async fn health() -> Response {
    json(StatusCode::OK, &value!({ "status": "ok" }))
}

/// Calls would run now. Anybody may ask, so details stay in the log.
pub(super) async fn ready(State(face): State<Shared>) -> Result<Response, Refused> {
    if face.running.is_draining() {
        return Err(Refused::draining());
    }
    if let Err(reason) = face.host.ready() {
        tracing::warn!(%reason, "not ready");
        return Err(Refused::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "this host is not ready",
            "the operator finds the reason in the log; `toolgate doctor` looks for it",
        ));
    }
    Ok(json(StatusCode::OK, &value!({ "status": "ready" })))
}

/// The numbers tell of everybody's calls and of tools that not everybody may see, so they
/// are for a `user`.
pub(super) async fn metrics(
    State(face): State<Shared>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Refused> {
    if !caller.is_user() {
        return Err(Refused::new(
            StatusCode::FORBIDDEN,
            "unauthorized",
            "metrics are for principals of kind `user`",
            "the operator gives the collector a token of a `user` without rules, who may call nothing",
        ));
    }
    Ok(text(
        StatusCode::OK,
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
        face.host.metrics_text(),
    ))
}
