//! Requests to the server.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weakspot_fuzz::check_serve(bytes));
