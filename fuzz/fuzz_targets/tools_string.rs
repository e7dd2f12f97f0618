//! See `toolgate_seq::fuzz::tools_string` for what has to hold.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| toolgate_seq::fuzz::tools_string(text));
