//! RISC-V with the extension Ztso: its memory is TSO.

pub(super) mod ast;
mod compile;
mod lower;
mod mnemonics;
mod parse;
pub(super) mod registers;
mod thread;

pub(super) use compile::compile;
pub(super) use parse::print as print_instruction;
