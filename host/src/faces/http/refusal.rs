//! What a client is told when its request is no call: a status, and the same four words
//! that a tool's errors have. Nothing of the inside is in there.

use std::borrow::Cow;

use axum::{
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::json;
use crate::{faces::batch_file::BatchFileError, tool::ToolError};

/// A request that is not answered.
#[derive(Debug)]
pub(super) struct Refused {
    status: StatusCode,
    error: Box<ToolError>,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Refused {
    pub(super) fn new(
        status: StatusCode,
        reason: &'static str,
        detail: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            status,
            error: Box::new(ToolError {
                field: None,
                reason: Cow::Borrowed(reason),
                detail: Some(detail.into()),
                hint: Some(hint.into()),
            }),
            header: None,
        }
    }

    pub(super) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    /// The body is no call and no batch.
    pub(super) fn malformed(error: BatchFileError) -> Self {
        let place = error.at.map_or_else(String::new, |(line, column)| {
            format!("line {line}, column {column}: ")
        });
        Self::new(
            StatusCode::BAD_REQUEST,
            "malformed",
            format!("{place}{}", error.what),
            error
                .hint
                .unwrap_or_else(|| "/api/v1/openapi.json describes the bodies".to_owned()),
        )
    }

    /// The host is about to end.
    pub(super) fn draining() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "this host is shutting down and takes no new calls",
            "try again after it has started again, or another host",
        )
        .with(header::RETRY_AFTER, HeaderValue::from_static("5"))
    }

    pub(super) fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "the host failed while it answered",
            "whether it took effect is not known; the operator finds the reason in the log",
        )
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut response = json(self.status, &Body(&self.error));
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

#[derive(Serialize)]
#[serde(transparent)]
struct Body<'a>(&'a ToolError);
