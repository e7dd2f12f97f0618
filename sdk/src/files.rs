//! Capability `fs`: what a guest cannot do alone beneath its preopens. For everything
//! else use `std::fs`; the granted folders are there under their guest paths.

pub use crate::bindings::toolgate::host::files::{
    CopyOptions, ErrorCode, FileError, ReplaceOptions, Root, copy, replace, roots,
};
