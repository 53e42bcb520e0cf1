//! How calls of the program come in, and how libc is called instead.

pub mod frame;
pub mod native;
