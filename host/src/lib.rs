//! Toolgate: the gate between LLM agents and their tools.
//!
//! Tools are WASM components. Every call is validated, authorised for its caller, run in a
//! fresh sandbox under hard limits, and reported honestly.
//!
//! The modules below are the floors of the house, lowest first; each uses only what stands
//! above it in this list. `ARCHITECTURE.md` walks through them, and `docs/embedders.md`
//! begins with a whole program around a [`Host`].

// 0: words
pub mod tool;

// 1: rules
pub mod arguments;
pub mod config;
pub mod metrics;
pub mod policy;
pub mod ports;
pub mod render;
pub mod stage;

// 2: sandbox
pub mod process;
pub mod runtime;
mod watch;

// 3: shelf
pub mod outputs;
pub mod registry;

// 4: call
pub mod dispatch;

// 5: agent
pub mod agent;

// 7: wiring
mod host;

// 8: faces
pub mod faces;

pub use faces::main;
pub use host::{Host, HostBuilder, HostError, ReloadError, Reloaded, Watching};

/// The programs in the documentation for embedders are doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/embedders.md")]
mod embedders {}
