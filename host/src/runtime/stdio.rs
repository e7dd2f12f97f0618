//! What a guest prints or logs: lines for the operator, within the call's budget, with
//! control characters escaped. Never the host's own standard output.

use std::{
    fmt::Write as _,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::{
    cli::{IsTerminal, StdoutStream},
    p2::{OutputStream, Pollable, StreamResult},
};

use crate::{policy::Limits, ports::Caller, tool::PluginName};

/// A line is cut here; what follows is the next line.
const LINE: usize = 4 << 10;

/// Accepted in one write: the budget below decides what is kept.
const WRITE: usize = 64 << 10;

/// One call's log.
#[derive(Debug, Clone)]
pub(super) struct GuestLog(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    plugin: PluginName,
    call: Option<(Arc<str>, String)>,
    budget: Mutex<Budget>,
}

#[derive(Debug)]
struct Budget {
    bytes: u64,
    lines: u64,
    dropped_bytes: u64,
    dropped_lines: u64,
}

impl GuestLog {
    pub(super) fn new(plugin: &PluginName, caller: Option<&Caller>, limits: &Limits) -> Self {
        Self(Arc::new(Shared {
            plugin: plugin.clone(),
            call: caller.map(|caller| {
                (
                    Arc::clone(&caller.cx.batch_id),
                    format!("{}", caller.cx.call_id),
                )
            }),
            budget: Mutex::new(Budget {
                bytes: limits.log_bytes,
                lines: limits.log_lines,
                dropped_bytes: 0,
                dropped_lines: 0,
            }),
        }))
    }

    pub(super) fn stream(&self, name: &'static str) -> GuestStream {
        GuestStream {
            log: self.clone(),
            name,
            line: Vec::new(),
        }
    }

    /// One line, at a level.
    pub(super) fn line(&self, level: tracing::Level, source: &str, text: &str) {
        {
            let mut budget = self.0.budget.lock().unwrap_or_else(PoisonError::into_inner);
            let size = u64::try_from(text.len()).unwrap_or(u64::MAX);
            if budget.lines == 0 || budget.bytes < size {
                // Once over, always over: a small line after a large one would mislead.
                budget.bytes = 0;
                budget.dropped_lines += 1;
                budget.dropped_bytes = budget.dropped_bytes.saturating_add(size);
                return;
            }
            budget.lines -= 1;
            budget.bytes -= size;
        }
        let text = escaped(text);
        let plugin = self.0.plugin.as_str();
        let (batch, call) = self
            .0
            .call
            .as_ref()
            .map_or(("", ""), |(batch, call)| (batch, call));
        match level {
            tracing::Level::ERROR => {
                tracing::error!(target: "toolgate::guest", plugin, batch, call, source, "{text}");
            }
            tracing::Level::WARN => {
                tracing::warn!(target: "toolgate::guest", plugin, batch, call, source, "{text}");
            }
            tracing::Level::INFO => {
                tracing::info!(target: "toolgate::guest", plugin, batch, call, source, "{text}");
            }
            tracing::Level::DEBUG => {
                tracing::debug!(target: "toolgate::guest", plugin, batch, call, source, "{text}");
            }
            tracing::Level::TRACE => {
                tracing::trace!(target: "toolgate::guest", plugin, batch, call, source, "{text}");
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let budget = self
            .budget
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if budget.dropped_lines > 0 {
            tracing::warn!(
                target: "toolgate::guest",
                plugin = self.plugin.as_str(),
                "dropped {} bytes in {} log lines over the call's limit (limits.log_bytes, limits.log_lines)",
                budget.dropped_bytes,
                budget.dropped_lines
            );
        }
    }
}

/// Control characters could move an operator's cursor or fake a line.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        let bidi = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if (c.is_control() && c != '\t') || bidi {
            let _ = write!(safe, "{}", c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Standard output or error of one guest.
#[derive(Debug)]
pub(super) struct GuestStream {
    log: GuestLog,
    name: &'static str,
    line: Vec<u8>,
}

impl GuestStream {
    fn take(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte != b'\n' {
                self.line.push(byte);
            }
            if byte == b'\n' || self.line.len() >= LINE {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.log.line(
            tracing::Level::INFO,
            self.name,
            &String::from_utf8_lossy(&line),
        );
    }
}

impl Drop for GuestStream {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
    }
}

impl StdoutStream for GuestStream {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.log.stream(self.name))
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.log.stream(self.name))
    }
}

impl IsTerminal for GuestStream {
    fn is_terminal(&self) -> bool {
        false
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for GuestStream {
    async fn ready(&mut self) {}
}

impl OutputStream for GuestStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.take(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE)
    }
}

impl AsyncWrite for GuestStream {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        self.get_mut().take(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn a_log_line_cannot_move_the_cursor() {
        assert_eq!(escaped("a\u{1b}[2J\rb\u{202e}"), "a\\u{1b}[2J\\rb\\u{202e}");
    }
}
