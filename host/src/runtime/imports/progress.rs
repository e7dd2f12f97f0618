//! `toolgate:host/progress`: a line of the call's log at level debug, so that the same
//! budget holds.

use crate::runtime::{abi::v0_1::host::progress::Host, state::CallState};

impl Host for CallState {
    async fn report(
        &mut self,
        done: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> wasmtime::Result<()> {
        let of = total
            .map(|total| format!(" of {total}"))
            .unwrap_or_default();
        let message = message
            .map(|message| format!(": {message}"))
            .unwrap_or_default();
        self.log.line(
            tracing::Level::DEBUG,
            "progress",
            &format!("{done}{of}{message}"),
        );
        Ok(())
    }
}
