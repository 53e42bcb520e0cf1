//! Litmus tests.

#![no_main]

use weakspot_lang::litmus::{compile, parse, print};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weakspot_fuzz::check(bytes, parse, print, compile));
