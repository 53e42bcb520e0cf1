//! How calls of the program come in, what they hand over, and how libc is called instead.

pub mod calls;
pub mod frame;
pub mod guest;
pub mod native;
