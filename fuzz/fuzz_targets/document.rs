//! See `toolgate_seq::fuzz::document` for what has to hold.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| toolgate_seq::fuzz::document(text));
