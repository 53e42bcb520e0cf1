//! X86 and X86_64.

mod arithmetic;
pub(super) mod assemble;
pub(super) mod ast;
mod compile;
mod exchange;
mod flags;
mod instructions;
mod lower;
mod mentions;
mod mnemonics;
mod operands;
mod print;
pub(super) mod registers;
mod rows;
mod thread;
mod threads;
mod typos;

#[cfg(test)]
mod tests;

pub(super) use compile::compile;
pub(super) use print::instruction as print_instruction;
