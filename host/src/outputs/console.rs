//! Kind `stdout`: through the console of whoever runs the host.

use std::{io, sync::Arc};

use futures_util::future::BoxFuture;

use super::{
    Message,
    tool::{Channel, Undelivered},
};
use crate::{ports::Console, render};

/// The console of a host that was given none: a library does not write on its program's
/// terminal unasked.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoConsole;

impl Console for NoConsole {
    fn write(&self, _: &str, _: &str) -> io::Result<()> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this host has no console",
        ))
    }
}

/// Hands over text that a terminal will show and not obey, without a last line end.
pub(super) struct ConsoleChannel {
    name: Arc<str>,
    console: Arc<dyn Console>,
    /// Held while something is written: what was given up on may still be on its way.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl ConsoleChannel {
    pub(super) fn new(name: &str, console: Arc<dyn Console>) -> Self {
        Self {
            name: name.into(),
            console,
            turn: Arc::default(),
        }
    }
}

impl Channel for ConsoleChannel {
    fn kind(&self) -> &'static str {
        "the console"
    }

    fn keeps_media(&self) -> bool {
        false
    }

    fn send(self: Arc<Self>, message: Message) -> BoxFuture<'static, Result<(), Undelivered>> {
        Box::pin(async move {
            let turn = Arc::clone(&self.turn).lock_owned().await;
            // A reader may be slow for ever: that shall cost one thread, no worker.
            let written = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                let text = render::for_terminal(&message.as_text());
                self.console.write(&self.name, text.trim_end_matches('\n'))
            });
            match written.await {
                Ok(Ok(())) => Ok(()),
                Ok(Err(error)) => Err(Undelivered::unavailable(
                    format!("the console cannot be written: {error}"),
                    "say it in your reply instead",
                )),
                Err(_) => Err(Undelivered::unknown(
                    "the console failed",
                    "the operator finds the reason in the log",
                )),
            }
        })
    }
}
