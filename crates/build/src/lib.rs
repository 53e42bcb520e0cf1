//! Real code in: compilers called so that what they build can be controlled.
//!
//! [`compiler`] says what a call of a C or C++ compiler becomes, [`assembly`] what is done about
//! inline assembly on the way, and [`compile`](compile()) does it.

pub mod assembly;
pub mod compiler;
mod drive;

pub use drive::{Language, Remark, compile};
