//! Accepts connections and bounds what each can hold: how many there are, how long a
//! client may take for its headers, and how long it may not read.

use std::{sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};

use super::patience::Patient;

/// Each holds a descriptor and some kilobytes; limits on descriptors begin at 1,024 in
/// many places, and guests need some too.
const MOST: usize = 512;

/// For a whole request head, and between two requests.
const HEAD: Duration = Duration::from_secs(10);

/// For a client that does not read.
const UNREAD: Duration = Duration::from_secs(30);

/// Bytes of a request head.
const HEAD_BYTES: usize = 32 << 10;

/// For answers that are on their way when everything else has ended.
const LAST_ANSWERS: Duration = Duration::from_secs(3);

/// When no connection can be accepted, such as for want of descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// What one client too many reads.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
content-type: application/json\r\n\
connection: close\r\n\
retry-after: 1\r\n\
content-length: 92\r\n\r\n\
{\"reason\":\"unavailable\",\"detail\":\"too many connections are open\",\"hint\":\"try again later\"}  ";

pub(super) struct Connections {
    router: Router,
    places: Arc<Semaphore>,
    open: GracefulShutdown,
}

impl Connections {
    pub(super) fn new(router: Router) -> Self {
        Self {
            router,
            places: Arc::new(Semaphore::new(MOST)),
            open: GracefulShutdown::new(),
        }
    }

    /// Takes connections until it is dropped.
    pub(super) async fn accept(&self, listener: &TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => self.take(stream),
                Err(error) => {
                    tracing::warn!(%error, "no connection can be accepted");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    fn take(&self, stream: TcpStream) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            // It fits into the socket's buffer, or the client learns nothing.
            let _ = stream.try_write(FULL);
            return;
        };
        // Answers are small and complete: waiting to fill a packet only delays them.
        let _ = stream.set_nodelay(true);
        let io = TokioIo::new(Patient::new(stream, UNREAD));
        let serving = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(io, TowerToHyperService::new(self.router.clone()));
        let serving = self.open.watch(serving);
        tokio::spawn(async move {
            if let Err(error) = serving.await {
                tracing::debug!(%error, "a connection ended early");
            }
            drop(place);
        });
    }

    /// Lets the answers that are on their way reach their clients, for a short time.
    pub(super) async fn close(self) {
        let _ = tokio::time::timeout(LAST_ANSWERS, self.open.shutdown()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_one_too_many_is_whole() {
        let text = std::str::from_utf8(FULL).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(
            head.contains(&format!("content-length: {}", body.len())),
            "{}",
            body.len()
        );
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["reason"], "unavailable");
    }
}
