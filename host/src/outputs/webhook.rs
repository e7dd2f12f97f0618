//! Kind `webhook`: one POST of JSON a message, `{"channel", "text", "blocks"}`.
//!
//! Never sent twice, never to another place than the configured one (an answer that
//! points elsewhere is a refusal), and neither the address nor the token is ever in an
//! error: both may be secrets.

use std::{io, sync::Arc};

use futures_util::future::BoxFuture;
use reqwest::{
    Client,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
    redirect,
};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;
use serde::Serialize;
use tokio::sync::OnceCell;

use super::{
    Message,
    tool::{Channel, Undelivered},
};

pub(super) struct Webhook {
    name: String,
    url: String,
    /// `Err`: why there is none although one is wanted.
    token: Result<Option<HeaderValue>, String>,
    /// Made at the first message: reading the certificates of the machine takes a while.
    client: OnceCell<Client>,
}

#[derive(Serialize)]
struct Body<'a> {
    channel: &'a str,
    #[serde(flatten)]
    message: &'a Message,
}

impl Webhook {
    pub(super) fn new(
        name: &str,
        url: &str,
        token_env: Option<&str>,
        env: &[(String, String)],
    ) -> Self {
        let token = token_env.map(|variable| bearer(variable, env)).transpose();
        Self {
            name: name.to_owned(),
            url: url.to_owned(),
            token,
            client: OnceCell::new(),
        }
    }

    async fn post(&self, message: &Message) -> Result<(), Undelivered> {
        let token = self.token.as_ref().map_err(|missing| {
            Undelivered::unavailable(
                missing,
                "use another channel; the operator has to set the variable",
            )
        })?;
        let client = self
            .client
            .get_or_try_init(|| client(self.url.starts_with("https://")))
            .await?;
        let body = serde_json::to_vec(&Body {
            channel: &self.name,
            message,
        })
        .map_err(|error| Undelivered::unavailable(error.to_string(), "a fault of the host"))?;
        let mut request = client
            .post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, token);
        }
        let answer = request.send().await.map_err(|error| self.broken(error))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let hint = if status.is_redirection() {
            "use another channel; the operator has to configure the address that this one points to"
        } else if status.is_server_error() {
            "it may work later, or use another channel"
        } else {
            "use another channel; the operator has to check its address and token"
        };
        // The answer's text stays out: it may repeat what it was sent.
        Err(Undelivered::refused(
            format!("its server answered with status {}", status.as_u16()),
            hint,
        ))
    }

    fn broken(&self, error: reqwest::Error) -> Undelivered {
        let error = error.without_url();
        let (connect, builder) = (error.is_connect(), error.is_builder());
        let why = why(&error);
        tracing::warn!(channel = %self.name, error = %chain(&error), "a webhook failed");
        if builder {
            return Undelivered::unavailable(
                "its address is not usable",
                "use another channel; the operator has to correct it",
            );
        }
        if connect {
            return Undelivered::unavailable(
                format!("its server cannot be reached{why}"),
                "it may work later, or use another channel",
            );
        }
        Undelivered::unknown(
            format!("the connection broke off before an answer came{why}"),
            "whether the message arrived is not known; send it again only if twice does no harm",
        )
    }
}

impl Channel for Webhook {
    fn kind(&self) -> &'static str {
        "a web hook"
    }

    fn keeps_media(&self) -> bool {
        true
    }

    fn send(self: Arc<Self>, message: Message) -> BoxFuture<'static, Result<(), Undelivered>> {
        Box::pin(async move { self.post(&message).await })
    }
}

fn bearer(variable: &str, env: &[(String, String)]) -> Result<HeaderValue, String> {
    let value = env
        .iter()
        .find(|(key, _)| key == variable)
        .map(|(_, value)| value.trim());
    let value = value.filter(|value| !value.is_empty());
    let value =
        value.ok_or_else(|| format!("its token is missing: the variable {variable} is not set"))?;
    let mut header = HeaderValue::try_from(format!("Bearer {value}")).map_err(|_| {
        format!(
            "its token is not usable: the variable {variable} holds characters that no header takes"
        )
    })?;
    header.set_sensitive(true);
    Ok(header)
}

/// No proxy of the environment, no connection kept: messages are rare, and what is kept
/// would belong to the runtime of one call.
async fn client(secure: bool) -> Result<Client, Undelivered> {
    let made = tokio::task::spawn_blocking(move || {
        let tls = tls(secure).map_err(|error| error.to_string())?;
        Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .pool_max_idle_per_host(0)
            .user_agent(concat!("toolgate/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| error.to_string())
    });
    let made = made.await.unwrap_or_else(|error| Err(error.to_string()));
    made.map_err(|error| {
        tracing::error!(%error, "web hooks cannot be used");
        Undelivered::unavailable(
            "this machine's certificates cannot be used",
            "use another channel; the operator finds the reason in the log",
        )
    })
}

/// With the machine's own certificates; plain HTTP works on a machine that has none.
fn tls(secure: bool) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let config = if secure {
        config.with_platform_verifier()?
    } else {
        config.with_root_certificates(RootCertStore::empty())
    };
    Ok(config.with_no_client_auth())
}

/// `: connection refused`, where the operating system gave a reason.
fn why(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |error| error.source());
    let kind = causes
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .last()
        .map(io::Error::kind);
    match kind {
        Some(kind) if !matches!(kind, io::ErrorKind::Other) => format!(": {kind}"),
        _ => String::new(),
    }
}

fn chain(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| {
        error.source()
    });
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}
