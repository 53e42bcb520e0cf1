//! Syntax tree to core program.

use std::collections::{BTreeSet, HashMap};

use weakspot_core::{Names, Program, Transactions, Undeclared, Unsigned, Value, View};

use super::ast::{Instruction, Operand};
use super::lower::Notes;
use super::mnemonics::{Op, decode};
use super::registers;
use super::thread::{self, core_register};
use crate::litmus::ast::{Frame, InitValue, RegRef, Symbol, Table, Target};
use crate::litmus::bytes::Bytes;
use crate::litmus::filter::filter;
use crate::litmus::layout::{Layout, does_not_fit, pattern, view_of};
use crate::litmus::mentions::{
    each_asked_term, each_frame_register, each_init_symbol, each_term_symbol,
};
use crate::litmus::observe::{Observation, SeenRegister, Threads, no_thread, observe};
use crate::litmus::types::type_of;
use crate::{Diagnostic, Parsed};

/// The program of a test, with the names of its parts.
pub(in crate::litmus) fn compile(
    frame: &Frame,
    table: &Table<Instruction>,
) -> Result<Parsed, Diagnostic> {
    let mut symbols: Vec<&Symbol> = Vec::new();
    each_init_symbol(frame, &mut |s| symbols.push(s));
    for instr in table.rows.iter().flatten().filter_map(|cell| cell.instr.as_ref()) {
        if let (Some(Op::Address), Some(Operand::Name(s))) =
            (decode(&instr.mnemonic), instr.operands.get(1))
        {
            symbols.push(s);
        }
    }
    let known: BTreeSet<String> = symbols.iter().map(|s| s.name.clone()).collect();
    let mut warnings = Vec::new();
    each_asked_term(frame, &mut |term| {
        each_term_symbol(term, &mut |s| {
            if !known.contains(&s.name) {
                let message = format!("no register is set to the address of `{}`", s.name);
                warnings.push(Diagnostic::new(s.place.0, message, "it is always 0"));
            }
            symbols.push(s);
        });
    });
    let mut layout = Layout::new(frame, &symbols, known)?;
    let threads = Threaded::new(frame, table, &layout)?;
    // The first pass only finds out how wide the accesses are.
    let mut notes = Notes::default();
    for index in 0..table.threads.len() {
        thread::compile(table, index, &threads.regs[index], &layout, &mut notes)?;
    }
    warnings.extend(layout.settle(&notes.accesses)?);
    let mut compiled = Vec::new();
    for index in 0..table.threads.len() {
        let mut notes = Notes::default();
        compiled.push(thread::compile(table, index, &threads.regs[index], &layout, &mut notes)?);
    }
    let too_strong = overtaken(table);
    warnings.extend(too_strong.clone());
    let mut automata: Vec<_> = compiled.iter().map(|c| c.thread.clone()).collect();
    filter(frame, &threads, &mut automata)?;
    let Observation { observed, names: seen, condition, text, warnings: more } =
        observe(frame, &layout, &threads)?;
    warnings.extend(more);
    warnings.sort_by_key(|w| w.span.start);
    for (c, thread) in compiled.iter_mut().zip(&automata) {
        c.points.resize(thread.points.len(), String::new());
    }
    let Bytes { locs, wides, names: places, .. } = layout.bytes;
    let names = Names {
        program: frame.name.clone(),
        threads: table.threads.iter().map(|t| format!("P{}", t.id)).collect(),
        regs: compiled.iter().map(|c| c.regs.clone()).collect(),
        locs: places,
        points: compiled.into_iter().map(|c| c.points).collect(),
        observed: seen,
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
        too_strong,
    })
}

/// Where loads may overtake the `sc` before them on a machine, but do not here.
fn overtaken(table: &Table<Instruction>) -> Option<Diagnostic> {
    for index in 0..table.threads.len() {
        let mut conditional = None;
        let cells = table.rows.iter().filter_map(|row| row.get(index)?.instr.as_ref());
        for instr in cells {
            match decode(&instr.mnemonic) {
                Some(Op::Conditional { order, .. }) if !order.acquire => conditional = Some(instr),
                Some(Op::Fence | Op::Amo { .. }) => conditional = None,
                Some(Op::Load { .. } | Op::Reserve { .. }) if conditional.is_some() => {
                    return conditional.map(|sc| {
                        let message = "an `sc` that succeeds is in memory before later loads here";
                        Diagnostic::new(sc.place.0, message, "Ztso lets later loads overtake it")
                    });
                }
                _ => {}
            }
        }
    }
    None
}

/// The threads and their registers.
struct Threaded {
    by_id: HashMap<u32, usize>,
    regs: Vec<Vec<(u8, Value)>>,
    types: HashMap<(usize, u8), (u8, bool)>,
}

impl Threaded {
    fn new(
        frame: &Frame,
        table: &Table<Instruction>,
        layout: &Layout,
    ) -> Result<Threaded, Diagnostic> {
        let by_id = table.threads.iter().enumerate().map(|(i, t)| (t.id, i)).collect();
        let mut found = Threaded { by_id, regs: Vec::new(), types: HashMap::new() };
        let mut mentioned: Vec<Vec<u8>> =
            (0..table.threads.len()).map(|i| thread::mentioned(table, i)).collect();
        let mut refs = Vec::new();
        each_frame_register(frame, &mut |r| refs.push(r));
        for r in refs {
            mentioned[found.index(r)?].push(number(r));
        }
        for mut list in mentioned {
            list.sort_unstable();
            list.dedup();
            found.regs.push(list.into_iter().map(|r| (r, 0)).collect());
        }
        for item in &frame.init {
            let Target::Reg(r) = &item.target else { continue };
            let thread = found.index(r)?;
            if let Some(ctype) = &item.ctype {
                found.types.insert((thread, number(r)), type_of(ctype, 8));
            }
            let value = match &item.value {
                Some(InitValue::Number(n, place)) => match pattern(*n, 64) {
                    Some(value) => value,
                    None => return Err(does_not_fit(64, &format!("`{}`", r.reg), place.0)),
                },
                Some(InitValue::Address(s)) => layout.address(s)?,
                _ => continue,
            };
            if number(r) == 0 {
                return Err(Diagnostic::new(item.place.0, "`x0` is always 0", ""));
            }
            for (reg, whole) in &mut found.regs[thread] {
                if *reg == number(r) {
                    *whole = value;
                }
            }
        }
        Ok(found)
    }

    fn index(&self, r: &RegRef) -> Result<usize, Diagnostic> {
        self.by_id.get(&r.thread).copied().ok_or_else(|| no_thread(r, self.by_id.keys()))
    }
}

/// The number of a register; the parser has let only known ones through.
fn number(r: &RegRef) -> u8 {
    registers::parse(&r.reg).unwrap_or(0)
}

impl Threads for Threaded {
    fn seen(&self, r: &RegRef) -> Result<SeenRegister, Diagnostic> {
        let thread = self.index(r)?;
        let number = number(r);
        // As other tools do, registers are shown as `int` unless they are declared.
        let view = match self.types.get(&(thread, number)) {
            Some((bytes, signed)) => view_of(*bytes, *signed),
            None => View::Signed(32),
        };
        let reg = core_register(&self.regs[thread], number);
        Ok(SeenRegister { thread, reg, view, rank: u32::from(number) })
    }
}
