//! Capability `process`: starts programs, under the operator's grant.

pub use crate::bindings::toolgate::host::process::{
    Captured, Ending, Finished, Program, Request, Signal, run,
};
