//! Syntax tree to core program.

use std::collections::BTreeSet;

use weakspot_core::{Names, Program, Transactions, Undeclared, Unsigned};

use super::ast::{Instruction, Source};
use super::lower::Notes;
use super::mentions::{each_symbol, each_taken_symbol};
use super::thread;
use super::threads::ThreadTable;
use super::typos::typos;
use crate::litmus::ast::{Frame, Table};
use crate::litmus::bytes::Bytes;
use crate::litmus::filter::filter;
use crate::litmus::layout::Layout;
use crate::litmus::observe::{Observation, observe};
use crate::{Diagnostic, Parsed};

/// What is known about a test before its threads are compiled.
pub(super) struct Prepared {
    pub(super) layout: Layout,
    pub(super) threads: ThreadTable,
    warnings: Vec<Diagnostic>,
}

/// Lays out the memory of a test and finds the registers of its threads.
pub(super) fn prepare(test: Source<'_>) -> Result<Prepared, Diagnostic> {
    let mut symbols = Vec::new();
    each_symbol(test, &mut |symbol| symbols.push(symbol));
    let mut taken = BTreeSet::new();
    each_taken_symbol(test, &mut |symbol| {
        taken.insert(symbol.name.clone());
    });
    let mut layout = Layout::new(test.frame, &symbols, taken)?;
    let threads = ThreadTable::new(test, &layout)?;
    // The first pass only finds out how wide the accesses are; with that the second one knows
    // what a load can find, and leaves out what is not needed.
    let mut notes = Notes::default();
    for index in 0..test.table.threads.len() {
        thread::compile(test, index, &threads.regs[index], &layout, &mut notes)?;
    }
    let warnings = layout.settle(&notes.accesses)?;
    Ok(Prepared { layout, threads, warnings })
}

/// The program of a test, with the names of its parts.
pub(in crate::litmus) fn compile(
    frame: &Frame,
    table: &Table<Instruction>,
) -> Result<Parsed, Diagnostic> {
    let test = Source { frame, table };
    let Prepared { layout, threads, mut warnings } = prepare(test)?;
    let mut notes = Notes::default();
    let mut compiled = Vec::new();
    for index in 0..table.threads.len() {
        compiled.push(thread::compile(test, index, &threads.regs[index], &layout, &mut notes)?);
    }
    let Observation { observed, names, condition, text, warnings: more } =
        observe(frame, &layout, &threads)?;
    warnings.extend(notes.warnings);
    warnings.extend(more);
    let automata: Vec<_> = compiled.iter().map(|c| &c.thread).collect();
    warnings.extend(typos(test, &threads, &automata));
    warnings.sort_by_key(|w| w.span.start);
    let mut automata: Vec<_> = compiled.iter().map(|c| c.thread.clone()).collect();
    filter(frame, &threads, &mut automata)?;
    let Bytes { locs, wides, names: places, .. } = layout.bytes;
    let names = Names {
        program: frame.name.clone(),
        threads: table.threads.iter().map(|t| format!("P{}", t.id)).collect(),
        regs: compiled.iter().map(|c| c.regs.clone()).collect(),
        locs: places,
        points: compiled.iter().zip(&automata).map(|(c, t)| c.point_names(t)).collect(),
        observed: names,
        condition: text,
        addresses_are_symbolic: true,
        unsigned: Unsigned::default(),
    };
    let program = Program {
        locs,
        wides,
        threads: automata,
        undeclared: Undeclared::Fault,
        observed,
        condition: Some(condition),
        forbidden: Vec::new(),
    };
    Ok(Parsed {
        program,
        names,
        transactions: Transactions::default(),
        warnings,
        of_machine: None,
        too_strong: None,
    })
}
