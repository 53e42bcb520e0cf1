//! Loads, stores, atomic operations and fences of the program, announced before they happen.

pub mod atomics;
pub mod marks;
pub mod plain;
pub mod strings;
pub mod traps;
pub mod tsan;
