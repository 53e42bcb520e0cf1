//! A whole test: text to syntax tree, tree to program, tree to text.

use weakspot_core::Span;

use super::arch::Arch;
use super::ast::{Frame, Table};
use super::conditions::Sections;
use super::parse::Parser;
use super::print::{head, tail};
use super::{c, header, riscv, x86};
use crate::{Diagnostic, Parsed};

/// Texts longer than this are refused: spans are 32 bits wide, and no litmus test is this long.
const LONGEST: usize = 64 << 20;

/// A litmus test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// What all tests have.
    pub frame: Frame,
    /// What the threads do.
    pub code: Code,
}

/// What the threads do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    /// Instructions of x86, for `X86` and `X86_64`.
    X86(Table<x86::ast::Instruction>),
    /// Instructions of RISC-V.
    Riscv(Table<riscv::ast::Instruction>),
    /// Functions in C.
    C(Vec<c::ast::Function>),
}

/// Reads a litmus test.
pub fn parse(text: &str) -> Result<Test, Diagnostic> {
    if text.len() > LONGEST {
        return Err(Diagnostic::new(
            Span::default(),
            format!("the text is {} bytes long", text.len()),
            format!("expected at most {LONGEST} bytes"),
        ));
    }
    let head = header::parse(text)?;
    let mut p = Parser::new(head.arch, text, head.init);
    let init = p.init()?;
    let code = match head.arch {
        Arch::X86 | Arch::X86_64 => Code::X86(p.table(Parser::x86_instruction)?),
        Arch::Riscv => Code::Riscv(p.table(Parser::riscv_instruction)?),
        Arch::C => Code::C(p.functions()?),
    };
    let Sections { locations, filter, condition } = p.sections()?;
    let frame = Frame {
        arch: head.arch,
        name: head.name,
        label: head.label,
        doc: head.doc,
        header: head.lines,
        init,
        locations,
        filter,
        condition,
    };
    Ok(Test { frame, code })
}

/// The program of a test, with the names of its parts.
pub fn compile(test: &Test) -> Result<Parsed, Diagnostic> {
    match &test.code {
        Code::X86(table) => x86::compile(&test.frame, table),
        Code::Riscv(table) => riscv::compile(&test.frame, table),
        Code::C(functions) => c::compile(&test.frame, functions),
    }
}

/// The instructions of a test for x86, for an assembler; `None` for tests in other languages.
pub fn assemble(test: &Test) -> Result<Option<x86::assemble::Assembly>, Diagnostic> {
    match (&test.code, &test.frame.filter) {
        (Code::X86(_), Some(_)) => Err(Diagnostic::new(
            Span::default(),
            "a test with `filter` cannot be run on this CPU",
            "expected a test whose final states all count",
        )),
        (Code::X86(table), None) => x86::assemble::assemble(&test.frame, table).map(Some),
        _ => Ok(None),
    }
}

/// The test as text.
#[must_use]
pub fn print(test: &Test) -> String {
    let code = match &test.code {
        Code::X86(table) => {
            super::print::table(table, |i| x86::print_instruction(test.frame.arch, i))
        }
        Code::Riscv(table) => super::print::table(table, riscv::print_instruction),
        Code::C(functions) => c::print_functions(functions),
    };
    head(&test.frame) + &code + &tail(&test.frame)
}
