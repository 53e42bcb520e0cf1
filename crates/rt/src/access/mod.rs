//! Loads, stores, atomic operations and fences of the program, announced before they happen.
//!
//! `tsan.rs` has the names that compilers call, `strings.rs`, `stdio.rs` and `results.rs` functions of libc that
//! touch memory which may be shared, `traps.rs` instructions that nobody has instrumented, `marks.rs` what the program
//! says about itself. All of them end in `plain.rs` or `atomics.rs`.

pub mod atomics;
pub mod functions;
pub mod marks;
pub mod pending;
pub mod plain;
mod results;
pub mod sites;
mod stdio;
pub mod strings;
pub mod traps;
pub mod tsan;
mod variadic;
