//! Who asks: a bearer token to a principal of the configuration, and not too often.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use jiff::Timestamp;

use super::{Shared, rate::Place, refusal::Refused, routes};
use crate::{
    faces::tokens::{Checked, Refusal, Secret},
    tool::{Kind, Principal},
};

/// Who asks, once that is known.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub(super) principal: Principal,
    pub(super) token: Checked,
    /// Until the answer is complete.
    _place: Arc<Place>,
}

impl Caller {
    /// A person, who may see what concerns others too.
    pub(super) fn is_user(&self) -> bool {
        self.principal.kind() == Kind::User
    }
}

/// Nothing but the routes that say so is answered without a token, what does not exist
/// neither.
pub(super) async fn require(
    State(face): State<Shared>,
    mut request: Request,
    next: Next,
) -> Response {
    if routes::of(request.uri().path()).is_some_and(|route| route.open) {
        return next.run(request).await;
    }
    match identify(&face, request.headers()) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(refused) => refused.into_response(),
    }
}

fn identify(face: &Shared, headers: &HeaderMap) -> Result<Caller, Refused> {
    let token = bearer(headers)?;
    let checked = face
        .tokens
        .check(&token, Timestamp::now())
        .map_err(|error| {
            tracing::error!(%error, "tokens cannot be read, so nobody is let in");
            Refused::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "unavailable",
                "the host cannot read its tokens",
                "the operator finds the reason in the log",
            )
        })?;
    let checked = checked.map_err(|refusal| {
        tracing::info!(token = ?token, ?refusal, "a token was refused");
        unauthenticated(match refusal {
            Refusal::Unknown => "the token is not known here",
            Refusal::Expired => "the token has expired",
        })
    })?;
    let Some(principal) = face.host.principal(&checked.principal) else {
        tracing::warn!(token = %checked.id, principal = %checked.principal, "a token of a principal that the configuration no longer has");
        return Err(Refused::new(
            StatusCode::FORBIDDEN,
            "unauthorized",
            "the principal of this token is not defined any more",
            "the operator defines principals in the configuration, and makes tokens with `toolgate token new`",
        ));
    };
    let place = face
        .rates
        .take(principal.id(), Instant::now())
        .map_err(too_fast)?;
    Ok(Caller {
        principal,
        token: checked,
        _place: Arc::new(place),
    })
}

fn bearer(headers: &HeaderMap) -> Result<Secret, Refused> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (all.next(), all.next()) else {
        return Err(unauthenticated("the request has no token"));
    };
    let credentials = value.to_str().ok().and_then(|text| text.split_once(' '));
    credentials
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .and_then(|(_, token)| Secret::read(token.trim()))
        .ok_or_else(|| unauthenticated("the Authorization header has no token of Toolgate"))
}

fn unauthenticated(detail: &str) -> Refused {
    Refused::new(
        StatusCode::UNAUTHORIZED,
        "unauthenticated",
        detail,
        "send `Authorization: Bearer tg_…`; the operator makes tokens with `toolgate token new`",
    )
    .with(
        header::WWW_AUTHENTICATE,
        HeaderValue::from_static("Bearer realm=\"toolgate\""),
    )
}

fn too_fast(wait: Duration) -> Refused {
    // Whole seconds, and never too early.
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    Refused::new(
        StatusCode::TOO_MANY_REQUESTS,
        "rate_limited",
        "this principal asks more than it may at once",
        format!("wait {seconds} s; the operator sets serve.rate_limit"),
    )
    .with(header::RETRY_AFTER, HeaderValue::from(seconds))
}
