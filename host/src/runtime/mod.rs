//! The sandbox: the only floor that names the engine. A component in, one fresh instance
//! a call out. It knows what a plugin may touch, not who may call it.

mod abi;
mod beneath;
mod code_cache;
mod compile;
mod component;
mod engine;
mod guard;
mod imports;
mod instance;
mod limiter;
mod quota;
mod sandbox;
mod state;
mod stdio;
mod ticker;

pub use abi::{Described, WORLD};
use code_cache::Code;
pub use code_cache::CodeCache;
pub(crate) use component::MAX_BYTES;
pub use component::{Component, ComponentError};
pub use engine::{EngineSettings, Engines};
pub use instance::Invocation;
pub use quota::Quota;
pub use sandbox::{Capability, Sandbox, SandboxError, SandboxParts};
