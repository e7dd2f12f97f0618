//! `[serve]`: where the HTTP face listens, for whom, and how much it takes.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};

use super::{check::Check, document::KeyPath, shape, units};

/// Larger bodies are no calls: one call takes 16 MiB at most.
const MOST_BODY: u64 = 64 << 20;

/// With less not even a call's frame fits.
const LEAST_BODY: u64 = 1 << 10;

/// Beyond this a rate is no limit.
const MOST_RATE: u32 = 1_000_000;

/// `[serve]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServeConfig {
    /// Where to listen.
    pub listen: SocketAddr,
    /// What a `Host` header may say, in lower case: names without a port stand for any
    /// port.
    pub allowed_hosts: Vec<String>,
    /// Which web pages may call, besides those that this host serves itself: `https://name`
    /// with a port where it is not the usual one; in lower case.
    pub allowed_origins: Vec<String>,
    /// Bytes of one request's body.
    pub max_body: usize,
    /// Of each principal.
    pub rate_limit: RateLimit,
    /// How long running calls may take after the host was told to end.
    pub drain: Duration,
}

/// So many calls a second, and so many at once after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// Calls.
    pub per_second: u32,
    /// Calls.
    pub burst: u32,
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8931),
            allowed_hosts: ["localhost", "127.0.0.1", "[::1]"]
                .map(str::to_owned)
                .to_vec(),
            allowed_origins: Vec::new(),
            max_body: 4 << 20,
            rate_limit: RateLimit {
                per_second: 50,
                burst: 100,
            },
            drain: Duration::from_secs(20),
        }
    }
}

impl Check<'_> {
    /// `[serve]`.
    pub(super) fn serve(&mut self, shape: &shape::Serve) -> ServeConfig {
        let key = |name: &str| KeyPath::of(&["serve", name]);
        let mut serve = ServeConfig::default();
        if let Some(text) = &shape.listen {
            match text.parse() {
                Ok(address) => serve.listen = address,
                Err(_) => self.problem(
                    &key("listen"),
                    format!("{text:?} is no address"),
                    "write an IP address and a port, such as \"127.0.0.1:8931\" or \"[::1]:8931\"",
                ),
            }
        }
        if let Some(hosts) = &shape.allowed_hosts {
            for (i, host) in hosts.iter().enumerate() {
                if !is_host(host) {
                    self.problem(
                        &key("allowed_hosts").item(i),
                        format!("{host:?} is no name of a host"),
                        "write a name or an address, with a port or for any port: \"tools.example.test\", \"10.0.0.5:8931\"",
                    );
                }
            }
            serve.allowed_hosts = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        }
        if let Some(origins) = &shape.allowed_origins {
            for (i, origin) in origins.iter().enumerate() {
                if !is_origin(origin) {
                    self.problem(
                        &key("allowed_origins").item(i),
                        format!("{origin:?} is no origin of a web page"),
                        "write scheme and host, nothing behind: \"https://tools.example.test\"",
                    );
                }
            }
            serve.allowed_origins = origins.iter().map(|one| one.to_ascii_lowercase()).collect();
        }
        if let Some(size) = shape.max_body {
            if !(LEAST_BODY..=MOST_BODY).contains(&size.0) {
                let [least, most] = [LEAST_BODY, MOST_BODY].map(units::size_text);
                self.problem(
                    &key("max_body"),
                    "is out of range",
                    format!("use {least} to {most}"),
                );
            }
            serve.max_body = usize::try_from(size.0).unwrap_or(usize::MAX);
        }
        for (name, given, value) in [
            (
                "per_second",
                shape.rate_limit.per_second,
                &mut serve.rate_limit.per_second,
            ),
            ("burst", shape.rate_limit.burst, &mut serve.rate_limit.burst),
        ] {
            let Some(given) = given else { continue };
            if given == 0 || given > MOST_RATE {
                self.problem(
                    &key("rate_limit").key(name),
                    format!("{given} is out of range"),
                    format!("use 1 to {MOST_RATE}"),
                );
            }
            *value = given;
        }
        if let Some(time) = shape.drain {
            serve.drain = time.0;
        }
        serve
    }
}

/// Every value, for `toolgate config`.
pub(super) fn explained(serve: &ServeConfig) -> Vec<(Vec<&'static str>, String)> {
    let quoted = |text: &str| format!("{text:?}");
    vec![
        (vec!["serve", "listen"], quoted(&serve.listen.to_string())),
        (
            vec!["serve", "allowed_hosts"],
            format!("{:?}", serve.allowed_hosts),
        ),
        (
            vec!["serve", "allowed_origins"],
            format!("{:?}", serve.allowed_origins),
        ),
        (
            vec!["serve", "max_body"],
            quoted(&units::size_text(
                u64::try_from(serve.max_body).unwrap_or(u64::MAX),
            )),
        ),
        (
            vec!["serve", "rate_limit", "per_second"],
            serve.rate_limit.per_second.to_string(),
        ),
        (
            vec!["serve", "rate_limit", "burst"],
            serve.rate_limit.burst.to_string(),
        ),
        (
            vec!["serve", "drain"],
            quoted(&units::time_text(serve.drain)),
        ),
    ]
}

/// A name or an address, perhaps with a port. No pattern: `*` would open what the check
/// is there to close.
fn is_host(text: &str) -> bool {
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (text, None),
    };
    let inside = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let legal = match inside {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
        }
    };
    legal && port.is_none_or(|port| port.parse::<u16>().is_ok())
}

fn is_origin(text: &str) -> bool {
    let host = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    host.is_some_and(is_host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_origins_are_exact() {
        for good in [
            "localhost",
            "127.0.0.1",
            "tools.example.test:8443",
            "[::1]",
            "[::1]:80",
        ] {
            assert!(is_host(good), "{good}");
            assert!(is_origin(&format!("https://{good}")), "{good}");
        }
        for bad in [
            "",
            "*",
            "*.example.test",
            "a/b",
            "a b",
            "http://a",
            "::1",
            "a:port",
            "a:99999",
            "[x]",
        ] {
            assert!(!is_host(bad), "{bad}");
        }
        for bad in [
            "null",
            "*",
            "localhost",
            "https://a/",
            "ftp://a",
            "https://",
        ] {
            assert!(!is_origin(bad), "{bad}");
        }
    }
}
