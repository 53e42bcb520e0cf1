//! Witnesses.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weakspot_fuzz::check_witness(bytes));
