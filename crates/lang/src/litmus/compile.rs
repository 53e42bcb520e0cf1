//! Syntax tree to core program.

use std::collections::HashMap;

use weakspot_core::{Names, Program, RegId, Transactions, Undeclared, Value};

use super::ast::{InitItem, InitValue, Number, RegRef, Target, Term, Test};
use super::bytes::Bytes;
use super::layout::{Layout, does_not_fit, pattern};
use super::lower::Notes;
use super::mentions::each_register;
use super::observe::{Observation, Threads, observe};
use super::registers::{Family, Part, Register};
use super::thread;
use super::types::type_of;
use super::typos::typos;
use crate::{Diagnostic, Parsed};

/// The program of a test, with the names of its parts.
pub fn compile(test: &Test) -> Result<Parsed, Diagnostic> {
    let mut layout = Layout::new(test)?;
    let threads = ThreadTable::new(test, &layout)?;
    // The first pass only finds out how wide the accesses are; with that the second one knows
    // what a load can find, and leaves out what is not needed.
    let mut notes = Notes::default();
    for index in 0..test.threads.len() {
        thread::compile(test, index, &threads.regs[index], &layout, &mut notes)?;
    }
    let mut warnings = layout.settle(&notes.accesses)?;
    let mut notes = Notes::default();
    let mut compiled = Vec::new();
    for index in 0..test.threads.len() {
        compiled.push(thread::compile(test, index, &threads.regs[index], &layout, &mut notes)?);
    }
    let Observation { observed, names, condition, text, warnings: more } =
        observe(test, &layout, &threads)?;
    warnings.extend(notes.warnings);
    warnings.extend(more);
    let automata: Vec<_> = compiled.iter().map(|c| &c.thread).collect();
    warnings.extend(typos(test, &threads, &automata));
    warnings.sort_by_key(|w| w.span.start);
    let Bytes { locs, wides, names: places, .. } = layout.bytes;
    let names = Names {
        program: test.name.clone(),
        threads: test.threads.iter().map(|t| format!("P{}", t.id)).collect(),
        regs: compiled.iter().map(|c| c.regs.clone()).collect(),
        locs: places,
        points: compiled.iter().map(|c| c.points.clone()).collect(),
        observed: names,
        condition: text,
        addresses_are_symbolic: true,
    };
    let program = Program {
        locs,
        wides,
        threads: compiled.into_iter().map(|c| c.thread).collect(),
        undeclared: Undeclared::Fault,
        observed,
        condition: Some(condition),
        forbidden: Vec::new(),
    };
    Ok(Parsed { program, names, transactions: Transactions::default(), warnings })
}

/// The threads and their registers.
struct ThreadTable {
    /// From the numbers in the heads of columns to the columns.
    by_id: HashMap<u32, usize>,
    /// The registers of each thread with their initial values, by family.
    regs: Vec<Vec<(Family, Value)>>,
    types: HashMap<(usize, Family), (u8, bool)>,
}

impl ThreadTable {
    fn new(test: &Test, layout: &Layout) -> Result<ThreadTable, Diagnostic> {
        let by_id = test.threads.iter().enumerate().map(|(i, t)| (t.id, i)).collect();
        let mut families: Vec<Vec<Family>> =
            (0..test.threads.len()).map(|i| thread::families(test, i)).collect();
        let mut table = ThreadTable { by_id, regs: Vec::new(), types: HashMap::new() };
        let mut mentioned = Vec::new();
        for item in &test.init {
            if let Target::Reg(r) = &item.target {
                mentioned.push(r);
            }
        }
        for listed in &test.locations {
            if let Term::Reg(r) = &listed.what {
                mentioned.push(r);
            }
        }
        if let Some(condition) = &test.condition {
            each_register(&condition.prop, &mut |r| mentioned.push(r));
        }
        for r in mentioned {
            let thread = table.index(r)?;
            families[thread].push(r.reg.family);
        }
        for mut list in families {
            list.sort_unstable();
            list.dedup();
            table.regs.push(list.into_iter().map(|f| (f, 0)).collect());
        }
        table.initialise(test, layout)?;
        Ok(table)
    }

    fn initialise(&mut self, test: &Test, layout: &Layout) -> Result<(), Diagnostic> {
        let mut set: HashMap<(usize, Family), Vec<(Register, Number)>> = HashMap::new();
        for item in &test.init {
            let Target::Reg(r) = &item.target else { continue };
            let thread = self.index(r)?;
            if let Some(ctype) = &item.ctype {
                self.types.insert((thread, r.reg.family), type_of(ctype, test.arch.word()));
            }
            let Some((number, value)) = initial(item, r, layout, test)? else { continue };
            let earlier = set.entry((thread, r.reg.family)).or_default();
            let conflict = earlier.iter().any(|(other, n)| {
                if *other == r.reg { *n != number } else { !disjoint(*other, r.reg) }
            });
            if conflict {
                return Err(Diagnostic::new(
                    item.place.0,
                    format!(
                        "`{}:{}` already has another initial value",
                        r.thread,
                        r.reg.name(test.arch)
                    ),
                    "",
                ));
            }
            earlier.push((r.reg, number));
            if let Some((_, whole)) = self.regs[thread].iter_mut().find(|(f, _)| *f == r.reg.family)
            {
                *whole = match r.reg.part {
                    Part::Quad | Part::Dword => value,
                    Part::Word => (*whole & !0xffff) | value,
                    Part::Low => (*whole & !0xff) | value,
                    Part::High => (*whole & !0xff00) | (value << 8),
                };
            }
        }
        Ok(())
    }
}

impl Threads for ThreadTable {
    fn index(&self, reg: &RegRef) -> Result<usize, Diagnostic> {
        self.by_id.get(&reg.thread).copied().ok_or_else(|| {
            let mut ids: Vec<u32> = self.by_id.keys().copied().collect();
            ids.sort_unstable();
            let known: Vec<String> = ids.iter().take(8).map(|id| format!("P{id}")).collect();
            Diagnostic::new(
                reg.place.0,
                format!("there is no thread `P{}`", reg.thread),
                format!("expected one of {}", known.join(", ")),
            )
        })
    }

    fn register(&self, thread: usize, family: Family) -> RegId {
        let at = self.regs[thread].iter().position(|(f, _)| *f == family);
        RegId::new(at.unwrap_or(0))
    }

    fn declared(&self, thread: usize, family: Family) -> Option<(u8, bool)> {
        self.types.get(&(thread, family)).copied()
    }
}

/// The initial value of a register, as written and as bits.
fn initial(
    item: &InitItem,
    r: &RegRef,
    layout: &Layout,
    test: &Test,
) -> Result<Option<(Number, Value)>, Diagnostic> {
    let bits = r.reg.part.bits();
    let (number, place) = match &item.value {
        None => return Ok(None),
        Some(InitValue::Number(n, place)) => (*n, *place),
        Some(InitValue::Address(s)) => (Number::from(layout.address(s)?), s.place),
        Some(InitValue::List(_, place)) => (0, *place),
    };
    match pattern(number, bits) {
        Some(value) => Ok(Some((number, value))),
        None => {
            let what = format!("`{}`", r.reg.name(test.arch));
            Err(does_not_fit(bits, &what, place.0))
        }
    }
}

/// Whether two parts of a register share no bits.
fn disjoint(a: Register, b: Register) -> bool {
    matches!((a.part, b.part), (Part::Low, Part::High) | (Part::High, Part::Low))
}
