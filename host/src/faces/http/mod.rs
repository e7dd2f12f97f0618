//! The HTTP face: what `toolgate serve` answers. Requests become batches for the host and
//! results become JSON; nothing is decided here about tools or rights.
//!
//! From the outside in: [`connections`] bounds what a client can hold, [`gate`] turns away
//! what was not meant for this host, [`caller`] finds the principal behind a token, and
//! [`routes`] lists everything that can be asked.

mod body;
mod caller;
mod calls;
mod connections;
mod drain;
mod events;
mod gate;
mod lists;
mod openapi;
mod patience;
mod plain;
mod rate;
mod refusal;
mod ring;
mod routes;

use std::{io, net::SocketAddr, sync::Arc};

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Serialize;
use tokio::net::TcpListener;

use super::tokens::Tokens;
use crate::{Host, config::ServeConfig};
use connections::Connections;
use drain::Running;
use rate::Rates;
use ring::Ring;

pub(super) use drain::Drained;

/// What every request can reach.
#[derive(Debug)]
struct Face {
    host: Host,
    serve: ServeConfig,
    tokens: Tokens,
    rates: Rates,
    running: Running,
    ring: Ring,
    /// Of this process: event numbers begin anew in another one.
    run: String,
}

type Shared = Arc<Face>;

/// A listening face.
pub(super) struct Server {
    face: Shared,
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Takes the address. Nobody is answered yet.
    ///
    /// # Errors
    ///
    /// If the address cannot be taken.
    pub(super) async fn bind(host: Host, serve: ServeConfig, tokens: Tokens) -> io::Result<Self> {
        let listener = TcpListener::bind(serve.listen).await?;
        let address = listener.local_addr()?;
        let events = host.dispatcher().events();
        let recorded = events.subscribe();
        let ring = Ring::new(events.last());
        tokio::spawn(ring.clone().record(recorded));
        let mut run = [0; 4];
        getrandom::fill(&mut run)?;
        let face = Face {
            rates: Rates::new(serve.rate_limit),
            running: Running::default(),
            run: format!("{:08x}", u32::from_be_bytes(run)),
            host,
            serve,
            tokens,
            ring,
        };
        Ok(Self {
            face: Arc::new(face),
            listener,
            address,
        })
    }

    /// With the port that was really taken.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` resolves; then lets running calls finish, for as long as the
    /// configuration says, and ends what is left.
    pub(super) async fn run(self, stop: impl Future<Output = ()>) -> Drained {
        let Self { face, listener, .. } = self;
        let connections = Connections::new(routes::router(Arc::clone(&face)));
        tokio::select! {
            () = connections.accept(&listener) => {}
            () = stop => {}
        }
        // The door stays open meanwhile: whoever asks is told, and readiness turns.
        let drained = tokio::select! {
            drained = face.running.drain(face.serve.drain) => drained,
            () = connections.accept(&listener) => Drained::Finished,
        };
        drop(listener);
        connections.close().await;
        drained
    }
}

/// A JSON answer that no browser guesses about and nobody keeps.
fn json(status: StatusCode, value: &(impl Serialize + ?Sized)) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => text(status, "application/json", bytes),
        Err(error) => {
            tracing::error!(%error, "an answer is no JSON");
            text(
                StatusCode::INTERNAL_SERVER_ERROR,
                "application/json",
                Vec::new(),
            )
        }
    }
}

fn text(status: StatusCode, kind: &'static str, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
