//! Transactions in text logs.

#![no_main]

use weakspot_trace::LogFormat;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weakspot_fuzz::check_serial(bytes, LogFormat::Text));
