//! From what a model wrote to arguments that fit a tool's schema, or to errors from
//! which the model can repair its call.
//!
//! [`read`] turns raw text into one JSON object and repairs nothing. [`Parameters`]
//! bounds and compiles a tool's schema once, then takes the one reading of each value
//! that fits it, and validates. This room never rounds, never fills in a default and
//! never fetches a schema from anywhere.

mod canonical;
mod coerce;
mod effort;
mod exact;
mod explain;
mod faults;
mod inspect;
mod keywords;
mod names;
mod parameters;
mod pointer;
mod read;
mod reading;
mod union;
mod wording;

#[cfg(test)]
mod tests;

pub use canonical::canonical;
pub use parameters::{OutputSchema, Parameters, SchemaError};
pub use read::read;

/// Deepest nesting of arguments, in arrays and objects: the parser's own limit, which
/// keeps every walk over a value within a thread's stack.
pub const MAX_DEPTH: usize = 128;
