//! The host's side of each interface that a plugin may import: one file each. Each checks
//! both keys, the plugin's request and the operator's grant, at the moment of the effect.

mod files;
mod log;
mod process;
mod progress;
mod settings;
mod tools;

use wasmtime::component::{HasSelf, Linker};

use super::{abi::v0_1, state::CallState};

pub(super) fn add_to_linker(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    v0_1::Plugin::add_to_linker::<CallState, HasSelf<CallState>>(linker, |state| state)
}

impl v0_1::wit::Host for CallState {}
