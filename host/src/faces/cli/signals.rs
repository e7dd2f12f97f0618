//! Ctrl-C and a polite kill.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::problem::Problem;

/// Both signals that ask this program to end.
#[derive(Debug)]
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// From here on they end nothing by themselves.
    pub(super) fn listen() -> Result<Self, Problem> {
        let listen = |kind| {
            signal(kind)
                .map_err(|error| Problem::failed(format!("signals cannot be listened to: {error}")))
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
