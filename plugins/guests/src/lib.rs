//! The standard plugins as bytes, so that a host works with no file at all.

include!(concat!(env!("OUT_DIR"), "/guests.rs"));
