//! Real code in: compilers called so that what they build can be controlled.
//!
//! [`compiler`] says what a call of a C or C++ compiler becomes, [`assembly`] looks at inline
//! assembly, [`bits`] at bit-fields, `unannounced` at accesses that gcc does not announce, `unused`
//! at additions whose results nobody uses, `wrapped` at functions of libc in C that a crate is linked with, `temporaries` at values that nobody needs any more, [`endless`] at empty loops, `linked` at what the linker
//! takes that is not ours, `operands` what instructions access; [`compile`](compile()) does it. [`runtime`] is the library of `rt`,
//! which `build.rs` packs; [`source`] says where statements can be put into a source.

pub mod assembly;
mod beside;
pub mod bits;
pub mod compiler;
mod drive;
pub mod endless;
mod linked;
mod operands;
pub mod runtime;
pub mod source;
mod temporaries;
mod unannounced;
mod unused;
mod wrapped;

pub use drive::{FOR_BUILD_SCRIPTS, Language, Remark, UNSEEN, compile};
pub use linked::COMPILED;
