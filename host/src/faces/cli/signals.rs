//! The two ways in which a person or a supervisor asks the program to end.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::problem::Problem;

/// Ctrl-C and SIGTERM.
#[derive(Debug)]
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
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
