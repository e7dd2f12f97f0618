//! The test guests as bytes.

include!(concat!(env!("OUT_DIR"), "/guests.rs"));

/// The component `memories`: eight linear memories in one core module.
pub static MEMORIES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/memories.wasm"));
