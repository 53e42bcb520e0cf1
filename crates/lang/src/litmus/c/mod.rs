//! Tests in C, as the Linux kernel and C11 have them. What a function does is that of the machine:
//! the instructions that compilers make of it on x86 and SPARC, not what LKMM or C11 promise.

pub(super) mod ast;
mod calls;
mod compile;
mod effects;
mod fold;
mod lex;
mod lower;
mod parse;
mod print;
mod types;
mod value;

// What programs in C share with tests: the arithmetic of their types and the orders.
pub(crate) use crate::litmus::fold::{binary as simplified, not};
pub(crate) use calls::{Order, order_named};
pub(super) use compile::compile;
pub(crate) use fold::{folded, truth};
pub(super) use print::functions as print_functions;
pub(crate) use types::Ty;
pub(crate) use value::{binary, undefined_shift};
