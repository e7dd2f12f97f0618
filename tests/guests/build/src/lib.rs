//! The test guests as bytes.

include!(concat!(env!("OUT_DIR"), "/guests.rs"));

/// A version of the component `living`; `way` is how it describes itself: `-` as it should,
/// `t` by a trap, `l` never, `s` with a schema that is none.
#[must_use]
pub fn living(version: u64, way: char) -> Vec<u8> {
    let mark = b"@living:00000000:-@";
    let mut bytes = LIVING.to_vec();
    if let Some(at) = bytes.windows(mark.len()).position(|window| window == mark) {
        let new = format!("@living:{version:08}:{way}@");
        bytes[at..at + mark.len()].copy_from_slice(new.as_bytes());
    }
    bytes
}

/// The component `memories`: eight linear memories in one core module.
pub static MEMORIES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/memories.wasm"));
