//! Who runs: threads as coroutines, the steps that they announce, who only waits in a loop.

pub mod buffers;
pub mod coroutine;
pub mod spin;
pub mod threads;
