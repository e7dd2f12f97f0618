//! Everything that can be asked, in one table: the router and the description are both
//! made of it.

use std::{sync::Arc, time::Instant};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse as _, Response},
    routing::{MethodRouter, get, post},
};

use super::{Shared, caller, calls, events, gate, lists, openapi, plain, refusal::Refused};

/// One way to ask.
#[derive(Debug, Clone, Copy)]
pub(super) struct Route {
    pub(super) path: &'static str,
    /// `get` or `post`: the only one that it takes.
    pub(super) method: &'static str,
    pub(super) summary: &'static str,
    /// Answered without a token.
    pub(super) open: bool,
}

const fn route(path: &'static str, method: &'static str, summary: &'static str) -> Route {
    Route {
        path,
        method,
        summary,
        open: false,
    }
}

const fn open(path: &'static str, summary: &'static str) -> Route {
    Route {
        open: true,
        ..route(path, "get", summary)
    }
}

pub(super) const ROUTES: [Route; 9] = [
    open("/healthz", "Whether the process lives"),
    open("/readyz", "Whether calls would run now"),
    route(
        "/metrics",
        "get",
        "Numbers, in the text format of OpenMetrics",
    ),
    route(
        "/api/v1/tools",
        "get",
        "The tools that this principal may see",
    ),
    route("/api/v1/plugins", "get", "The plugins behind them"),
    route("/api/v1/call", "post", "Runs one call"),
    route("/api/v1/batch", "post", "Runs a model's reply as one batch"),
    route(
        "/api/v1/events",
        "get",
        "What happens, as server-sent events",
    ),
    route("/api/v1/openapi.json", "get", "This description"),
];

/// What answers a path. A path without an answer is no route.
fn handler(path: &str) -> Option<MethodRouter<Shared>> {
    Some(match path {
        "/healthz" => get(plain::health),
        "/readyz" => get(plain::ready),
        "/metrics" => get(plain::metrics),
        "/api/v1/tools" => get(lists::tools),
        "/api/v1/plugins" => get(lists::plugins),
        "/api/v1/call" => post(calls::call),
        "/api/v1/batch" => post(calls::batch),
        "/api/v1/events" => get(events::events),
        "/api/v1/openapi.json" => get(openapi::description),
        _ => return None,
    })
}

/// The route of a path, if it is one.
pub(super) fn of(path: &str) -> Option<&'static Route> {
    ROUTES.iter().find(|route| route.path == path)
}

pub(super) fn router(face: Shared) -> Router {
    let routes = ROUTES
        .iter()
        .filter_map(|route| Some((route.path, handler(route.path)?)));
    routes
        .fold(Router::new(), |router, (path, handler)| {
            router.route(path, handler)
        })
        .fallback(nothing_here)
        .method_not_allowed_fallback(other_method)
        // The last one is the outermost.
        .layer(from_fn_with_state(Arc::clone(&face), caller::require))
        .layer(from_fn_with_state(Arc::clone(&face), outermost))
        .with_state(face)
}

/// Meant for us? Then on; every answer is counted and says how it may be used.
async fn outermost(State(face): State<Shared>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let route = of(request.uri().path()).map_or("other", |route| route.path);
    let (parts, body) = request.into_parts();
    let headers = parts.headers.clone();
    let mut response = match gate::check(&face.serve, &parts) {
        Err(refused) => refused.into_response(),
        Ok(()) if gate::is_preflight(&face.serve, &parts) => {
            let mut response = StatusCode::NO_CONTENT.into_response();
            gate::preflight(response.headers_mut());
            response
        }
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
    };
    let answer = response.headers_mut();
    gate::allow_reading(&face.serve, &headers, answer);
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        answer.insert(name, HeaderValue::from_static(value));
    }
    if face.running.is_draining() {
        answer.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    tracing::debug!(route, status = response.status().as_u16(), elapsed = ?started.elapsed(), "a request was answered");
    face.host
        .dispatcher()
        .metrics()
        .http_request(route, response.status().as_u16());
    response
}

async fn nothing_here() -> Refused {
    Refused::new(
        StatusCode::NOT_FOUND,
        "not_found",
        "there is nothing at this path",
        "/api/v1/openapi.json lists what there is",
    )
}

/// A GET changes nothing, so nothing that acts answers to one.
async fn other_method(method: Method, request: Request) -> Refused {
    let takes = match of(request.uri().path()) {
        Some(route) if route.method == "post" => "POST",
        _ => "GET",
    };
    Refused::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method",
        format!("this path does not take {method}"),
        format!("send {takes}"),
    )
    .with(header::ALLOW, HeaderValue::from_static(takes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_has_an_answer() {
        for route in &ROUTES {
            assert!(handler(route.path).is_some(), "{}", route.path);
        }
    }
}
