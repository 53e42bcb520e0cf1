//! Real code in: compilers called so that what they build can be controlled.
//!
//! [`compiler`] says what a call of a C or C++ compiler becomes, [`assembly`], [`bits`] and
//! [`endless`] what is done about inline assembly, bit-fields and empty loops on the way (and `unannounced` about what gcc forgets, `unused` about additions whose results nobody uses), and
//! [`compile`](compile()) does it, and looks at what is linked in; [`runtime`] is the library that is linked in; [`source`] says where
//! statements can be put into a source.

pub mod assembly;
pub mod bits;
pub mod compiler;
mod drive;
pub mod endless;
mod linked;
pub mod runtime;
pub mod source;
mod unannounced;
mod unused;

pub use drive::{Language, Remark, UNSEEN, compile};
pub use linked::COMPILED;
