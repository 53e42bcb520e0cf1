//! Jepsen's EDN.

#![no_main]

use weakspot_trace::HistoryFormat;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    weakspot_fuzz::check_history(bytes, HistoryFormat::Edn);
});
