//! Reads a body: JSON by its own word, no larger than allowed, and not for ever.

use std::time::Duration;

use axum::{
    body::Body,
    http::{HeaderMap, StatusCode, header},
};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use super::refusal::Refused;
use crate::config::ServeConfig;

/// For a whole body. One that takes longer is sent by the byte, or never ends.
const PATIENCE: Duration = Duration::from_secs(20);

/// The text of a JSON body.
///
/// # Errors
///
/// 415, 413, 408 or 400.
pub(super) async fn read(
    serve: &ServeConfig,
    headers: &HeaderMap,
    body: Body,
) -> Result<String, Refused> {
    if !is_json(headers) {
        return Err(Refused::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "media_type",
            "the body does not say that it is JSON",
            "send `Content-Type: application/json`",
        ));
    }
    let too_large = || {
        Refused::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "limit",
            format!("the body is larger than {} bytes", serve.max_body),
            "send less at once; the operator sets serve.max_body",
        )
    };
    // Known without reading any of it.
    let said = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if said.is_some_and(|length| usize::try_from(length).is_ok_and(|it| it > serve.max_body)) {
        return Err(too_large());
    }
    let whole = Limited::new(body, serve.max_body).collect();
    let bytes = match tokio::time::timeout(PATIENCE, whole).await {
        Err(_) => {
            return Err(Refused::new(
                StatusCode::REQUEST_TIMEOUT,
                "timeout",
                format!("the body did not end within {PATIENCE:?}"),
                "send it faster, or less of it",
            ));
        }
        Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(too_large()),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a body broke off");
            return Err(Refused::new(
                StatusCode::BAD_REQUEST,
                "malformed",
                "the body broke off",
                "send it whole",
            ));
        }
        Ok(Ok(whole)) => whole.to_bytes(),
    };
    String::from_utf8(bytes.into()).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Refused::new(
            StatusCode::BAD_REQUEST,
            "malformed",
            format!("the body is not UTF-8, at byte {at}"),
            "JSON is UTF-8",
        )
    })
}

fn is_json(headers: &HeaderMap) -> bool {
    let said = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    said.and_then(|text| text.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}
