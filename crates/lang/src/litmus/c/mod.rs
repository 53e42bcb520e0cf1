//! C.

pub(super) mod ast;

use super::ast::Frame;
use super::parse::{Parser, Parsing};
use crate::{Diagnostic, Parsed};
impl Parser<'_> {
    pub(super) fn functions(&mut self) -> Parsing<Vec<ast::Function>> {
        Err(self.unexpected("x"))
    }
}
pub(super) fn compile(_: &Frame, _: &[ast::Function]) -> Result<Parsed, Diagnostic> {
    todo!()
}
pub(super) fn print_functions(_: &[ast::Function]) -> String {
    todo!()
}
