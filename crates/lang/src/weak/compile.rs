//! Syntax tree to program.

use super::flow::unreachable;
use super::lower::{Lowered, lower};
use super::question::questions;
use super::scope::Globals;
use super::syntax::*;
use crate::{Diagnostic, Parsed};
use weakspot_core::{Names, PointId, Program, ThreadId, Transactions, Undeclared, Unsigned};

/// Compiles a syntax tree. The name of the program is left empty: the text has none.
pub fn compile(file: &File) -> Result<Parsed, Diagnostic> {
    let globals = Globals::collect(file)?;
    let mut warnings = Vec::new();
    let mut threads: Vec<Lowered> = Vec::new();
    let mut thread_names = Vec::new();
    for decl in &globals.threads {
        unreachable(&decl.syntax.body, &mut warnings);
        let name = &decl.syntax.name.text;
        for copy in 0..decl.count.unwrap_or(1) {
            // All copies have the same text, hence the same warnings.
            let mut own = Vec::new();
            threads.push(lower(&globals, decl, copy, &mut own)?);
            if copy == 0 {
                warnings.append(&mut own);
            }
            thread_names.push(match decl.count {
                Some(_) => format!("{name}[{copy}]"),
                None => name.clone(),
            });
        }
    }
    if threads.is_empty() {
        return Err(Diagnostic::new(
            Span::default(),
            "a program without threads",
            "expected `thread t { ... }` somewhere",
        ));
    }
    let asked = questions(file, &globals, &threads, &mut warnings)?;
    let names = Names {
        program: String::new(),
        threads: thread_names,
        regs: threads.iter().map(|t| t.reg_names.clone()).collect(),
        locs: globals.loc_names,
        points: threads.iter().map(|t| t.point_names.clone()).collect(),
        observed: asked.observed_names,
        condition: asked.condition_text,
        // Addresses are small numbers, which occur as plain values much more often.
        addresses_are_symbolic: false,
        unsigned: Unsigned::default(),
    };
    let mut transactions = Transactions::default();
    for (t, thread) in threads.iter().enumerate() {
        for (p, marks) in thread.marks.iter().enumerate() {
            for (e, mark) in marks.iter().enumerate() {
                if let Some(mark) = *mark {
                    transactions.mark(ThreadId::new(t), PointId::new(p), e, mark);
                }
            }
        }
    }
    let program = Program {
        threads: threads.into_iter().map(|t| t.thread).collect(),
        locs: globals.locs,
        wides: Vec::new(),
        undeclared: Undeclared::Fault,
        observed: asked.observed,
        condition: asked.condition,
        forbidden: asked.forbidden,
    };
    Ok(Parsed { program, names, transactions, warnings, of_machine: None, too_strong: None })
}
