//! `toolgate:host/settings`.

use crate::runtime::{abi::v0_1::host::settings::Host, state::CallState};

impl Host for CallState {
    async fn get(&mut self) -> wasmtime::Result<String> {
        Ok(self.sandbox.settings.clone())
    }
}
