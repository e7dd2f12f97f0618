//! `toolgate:host/log`.

use crate::runtime::{
    abi::v0_1::host::log::{Host, Level},
    state::CallState,
};

impl Host for CallState {
    async fn log(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        let level = match level {
            Level::Trace => tracing::Level::TRACE,
            Level::Debug => tracing::Level::DEBUG,
            Level::Info => tracing::Level::INFO,
            Level::Warn => tracing::Level::WARN,
            Level::Error => tracing::Level::ERROR,
        };
        self.log.line(level, "log", &message);
        Ok(())
    }
}
