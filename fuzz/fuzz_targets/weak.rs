//! The `.weak` language.

#![no_main]

use weakspot_lang::weak::{compile, parse, print};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weakspot_fuzz::check(bytes, parse, print, compile));
