//! X86 and X86_64 litmus tests: text to syntax tree ([`parse()`]), tree to program ([`compile()`]),
//! tree to text ([`print()`]).
//!
//! ```
//! use weakspot_lang::litmus;
//!
//! let text = r"
//! X86 SB
//! { x=0; y=0; }
//!  P0          | P1          ;
//!  MOV [x],$1  | MOV [y],$1  ;
//!  MOV EAX,[y] | MOV EAX,[x] ;
//! exists (0:EAX=0 /\ 1:EAX=0)";
//! let test = litmus::parse(text).expect("a litmus test");
//! let parsed = litmus::compile(&test).expect("a program");
//! assert_eq!(parsed.names.observed, ["0:EAX", "1:EAX"]);
//! assert_eq!(litmus::parse(&litmus::print(&test)), Ok(test));
//! ```
//!
//! The format, what is accepted of it and what the instructions mean is described for users in
//! `docs/litmus.md`.

mod arithmetic;
mod ast;
mod bytes;
mod compile;
mod conditions;
mod exchange;
mod flags;
mod fold;
mod header;
mod init;
mod instructions;
mod layout;
mod lex;
mod lower;
mod mentions;
mod mnemonics;
mod observe;
mod operands;
mod parse;
mod print;
mod registers;
mod rows;
mod thread;
mod types;
mod typos;

#[cfg(test)]
mod tests;

pub use ast::{
    Arch, Atom, CType, Cell, Final, HeaderLine, InitItem, InitValue, Instruction, Listed, Mem,
    MemStyle, Number, Operand, Prop, RegRef, Symbol, Target, Term, Test, ThreadHead,
};
pub use compile::compile;
pub use parse::parse;
pub use print::print;
pub use registers::{Family, Part, Register};
