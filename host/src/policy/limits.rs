//! What one call may use.

use std::time::Duration;

/// Limits of one call. Defaults are the kernel's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Wall clock.
    pub timeout: Duration,
    /// Linear memory, summed over all memories of the call, bytes.
    pub memory: u64,
    /// The result's value, bytes of JSON.
    pub result: u64,
    /// The result's media, bytes.
    pub blocks: u64,
    /// From guest to host in one host call, bytes.
    pub host_call: u64,
    /// Log text of one call, bytes.
    pub log_bytes: u64,
    /// Log lines of one call.
    pub log_lines: u64,
    /// Host handles that are open at once.
    pub handles: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            memory: 64 << 20,
            result: 1 << 20,
            blocks: 16 << 20,
            host_call: 16 << 20,
            log_bytes: 256 << 10,
            log_lines: 1_000,
            handles: 128,
        }
    }
}
