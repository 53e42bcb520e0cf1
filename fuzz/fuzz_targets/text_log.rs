//! Logs as text.

#![no_main]

use weakspot_trace::LogFormat;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weakspot_fuzz::check_log(bytes, LogFormat::Text));
