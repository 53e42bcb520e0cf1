//! Messages of the runtime.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weakspot_fuzz::check_wire(bytes));
