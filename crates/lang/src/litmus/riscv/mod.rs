//! RISC-V with the extension Ztso.

pub(super) mod ast;
pub(super) mod registers;

use super::ast::{Frame, Table};
use super::parse::{Parser, Parsing};
use crate::{Diagnostic, Parsed};
impl Parser<'_> {
    pub(super) fn riscv_instruction(&mut self) -> Parsing<ast::Instruction> {
        Err(self.unexpected("x"))
    }
}
pub(super) fn compile(_: &Frame, _: &Table<ast::Instruction>) -> Result<Parsed, Diagnostic> {
    todo!()
}
pub(super) fn print_instruction(_: &ast::Instruction) -> String {
    todo!()
}
