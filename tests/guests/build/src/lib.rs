//! The test guests as bytes.

include!(concat!(env!("OUT_DIR"), "/guests.rs"));
