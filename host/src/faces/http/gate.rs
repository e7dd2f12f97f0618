//! Before anything of a request is believed: was it meant for this host? A web page can
//! make its own name point at this machine and then call as if it were here (DNS
//! rebinding), so the name under which a client reached us has to be one that the operator
//! allows, and so has the page that sent it.

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header, request::Parts};

use super::refusal::Refused;
use crate::config::ServeConfig;

/// Characters of a header that are quoted in an error.
const QUOTED: usize = 80;

/// Whether the request is for us.
///
/// # Errors
///
/// 403, whatever it asks for.
pub(super) fn check(serve: &ServeConfig, parts: &Parts) -> Result<(), Refused> {
    let host = host_of(&parts.headers, &parts.uri)?;
    if !is_allowed_host(serve, &host) {
        let shown: String = host.chars().take(QUOTED).collect();
        return Err(forbidden(
            "host",
            format!("this host does not answer to the name {shown:?}"),
            "the operator lists names in serve.allowed_hosts",
        ));
    }
    match origin_of(&parts.headers)? {
        Some(origin) if !is_allowed_origin(serve, &origin, &host) => {
            let shown: String = origin.chars().take(QUOTED).collect();
            Err(forbidden(
                "origin",
                format!("web pages from {shown:?} may not call here"),
                "the operator lists origins in serve.allowed_origins",
            ))
        }
        _ => Ok(()),
    }
}

/// What a browser needs to let an allowed page of another origin read the answer.
pub(super) fn allow_reading(serve: &ServeConfig, request: &HeaderMap, answer: &mut HeaderMap) {
    let Some(origin) = request.get(header::ORIGIN) else {
        return;
    };
    let listed = origin
        .to_str()
        .is_ok_and(|text| is_listed(&serve.allowed_origins, text));
    if listed {
        answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        answer.insert(header::VARY, HeaderValue::from_static("origin"));
    }
}

/// A browser's question before it sends an allowed page's request.
pub(super) fn is_preflight(serve: &ServeConfig, parts: &Parts) -> bool {
    parts.method == Method::OPTIONS
        && parts
            .headers
            .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
        && parts
            .headers
            .get(header::ORIGIN)
            .and_then(|origin| origin.to_str().ok())
            .is_some_and(|origin| is_listed(&serve.allowed_origins, origin))
}

pub(super) fn preflight(answer: &mut HeaderMap) {
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type, last-event-id",
        ),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ] {
        answer.insert(name, HeaderValue::from_static(value));
    }
}

/// One name: of two, somebody between us and the client may have believed the other.
fn host_of(headers: &HeaderMap, uri: &Uri) -> Result<String, Refused> {
    let missing = || {
        forbidden(
            "host",
            "the request does not say in one Host header for whom it is",
            "send one",
        )
    };
    let mut all = headers.get_all(header::HOST).iter();
    let host = match (all.next(), all.next()) {
        (Some(host), None) => host.to_str().map_err(|_| missing())?,
        _ => return Err(missing()),
    };
    // A target with a host of its own counts more than the header (RFC 9112, 3.2.2).
    match uri.authority() {
        Some(authority) if !authority.as_str().eq_ignore_ascii_case(host) => Err(missing()),
        _ => Ok(host.to_ascii_lowercase()),
    }
}

fn origin_of(headers: &HeaderMap) -> Result<Option<String>, Refused> {
    let mut all = headers.get_all(header::ORIGIN).iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(origin), None) if origin.to_str().is_ok() => {
            Ok(origin.to_str().ok().map(str::to_ascii_lowercase))
        }
        _ => Err(forbidden(
            "origin",
            "the Origin header cannot be understood",
            "send one, or none",
        )),
    }
}

fn is_allowed_host(serve: &ServeConfig, host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|c| c.is_ascii_digit()) => name,
        _ => host,
    };
    serve
        .allowed_hosts
        .iter()
        .any(|allowed| allowed == host || allowed == name)
}

/// A page that came from this host itself, under a name that was allowed, or one that the
/// operator lists.
fn is_allowed_origin(serve: &ServeConfig, origin: &str, host: &str) -> bool {
    let own = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"))
        .is_some_and(|rest| rest == host);
    own || is_listed(&serve.allowed_origins, origin)
}

fn is_listed(allowed: &[String], origin: &str) -> bool {
    allowed.iter().any(|one| one.eq_ignore_ascii_case(origin))
}

fn forbidden(reason: &'static str, detail: impl Into<String>, hint: &str) -> Refused {
    Refused::new(StatusCode::FORBIDDEN, reason, detail, hint)
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn passes(target: &str, headers: &[(&str, &str)]) -> bool {
        let serve = ServeConfig {
            allowed_hosts: vec!["localhost".into(), "[::1]".into(), "tools.test:8443".into()],
            allowed_origins: vec!["https://app.test".into()],
            ..ServeConfig::default()
        };
        let mut request = Request::builder().uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        check(&serve, &parts).is_ok()
    }

    #[test]
    fn only_names_and_pages_that_are_allowed_pass() {
        for good in [
            &[("host", "localhost")][..],
            &[("host", "LocalHost:1234")],
            &[("host", "[::1]:80")],
            &[("host", "tools.test:8443")],
            &[("host", "localhost:1"), ("origin", "http://localhost:1")],
            &[("host", "localhost:1"), ("origin", "https://APP.test")],
        ] {
            assert!(passes("/x", good), "{good:?}");
        }
        for bad in [
            &[][..],
            &[("host", "")],
            &[("host", "evil.test")],
            &[("host", "localhost.evil.test")],
            &[("host", "evil.test:localhost")],
            &[("host", "localhost:1@evil.test")],
            &[("host", "tools.test")],
            &[("host", "tools.test:1")],
            &[("host", "localhost"), ("host", "evil.test")],
            &[("host", "localhost"), ("origin", "null")],
            &[("host", "localhost"), ("origin", "http://evil.test")],
            // Another port is another page.
            &[("host", "localhost:1"), ("origin", "http://localhost:2")],
            &[
                ("host", "localhost"),
                ("origin", "https://app.test.evil.test"),
            ],
            &[("host", "localhost"), ("origin", "http://app.test")],
            &[
                ("host", "localhost"),
                ("origin", "https://app.test"),
                ("origin", "null"),
            ],
        ] {
            assert!(!passes("/x", bad), "{bad:?}");
        }
        assert!(passes("http://localhost/x", &[("host", "localhost")]));
        assert!(!passes("http://evil.test/x", &[("host", "localhost")]));
    }
}
