//! Loads, stores, atomic operations and fences of the program, announced before they happen.
//!
//! `tsan.rs` has the names that compilers call, `strings.rs`, `stdio.rs` and `results.rs` functions of libc that
//! touch memory which may be shared, `containers.rs` and `texts.rs` those of libstdc++, `traps.rs` instructions
//! that nobody has instrumented, `marks.rs` what the program says about itself. All of them end in `plain.rs` or
//! `atomics.rs`.

pub mod atomics;
mod containers;
pub mod functions;
pub mod marks;
pub mod pending;
pub mod plain;
mod results;
pub mod sites;
mod stdio;
pub mod strings;
mod texts;
pub mod traps;
pub mod tsan;
pub mod variadic;
