//! Litmus tests, for X86, X86_64, RISC-V and in C: text to syntax tree ([`parse()`]), tree to program ([`compile()`]),
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
//! `docs/reference/litmus.md`.

mod arch;
mod ast;
mod bytes;
pub(crate) mod c;
mod conditions;
mod filter;
pub(crate) mod fold;
mod header;
mod init;
mod layout;
mod lex;
mod mentions;
mod observe;
mod parse;
mod print;
mod riscv;
mod table;
mod test;
#[cfg(test)]
mod tests;
mod types;
mod x86;

pub use arch::Arch;
pub use ast::{
    Atom, CType, Cell, Final, Frame, HeaderLine, InitItem, InitValue, Listed, Number, Prop, RegRef,
    Symbol, Table, Target, Term, ThreadHead,
};
pub use test::{Code, Test, assemble, compile, parse, print};
pub use x86::assemble::{Assembly, AssemblyThread, Placed};
pub use x86::ast::{Instruction, Mem, MemStyle, Operand};
pub use x86::registers::{Family, Part, Register};

pub(crate) use c::ast::{Function, Stmt, StmtKind};
pub(crate) use riscv::ast::Instruction as RiscvInstruction;
