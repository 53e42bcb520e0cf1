//! The threads of a test and their registers.

use std::collections::HashMap;

use weakspot_core::{RegId, Value, View};

use super::ast::Source;
use super::registers::{Family, Part, Register};
use super::thread;
use crate::Diagnostic;
use crate::litmus::arch::Arch;
use crate::litmus::ast::{InitItem, InitValue, Number, RegRef, Target};
use crate::litmus::layout::{Layout, does_not_fit, pattern};
use crate::litmus::mentions::each_frame_register;
use crate::litmus::observe::{SeenRegister, Threads, no_thread};
use crate::litmus::types::type_of;

/// The threads and their registers.
pub(super) struct ThreadTable {
    arch: Arch,
    /// From the numbers in the heads of columns to the columns.
    by_id: HashMap<u32, usize>,
    /// The registers of each thread with their initial values, by family.
    pub(super) regs: Vec<Vec<(Family, Value)>>,
    types: HashMap<(usize, Family), (u8, bool)>,
}

impl ThreadTable {
    pub(super) fn new(test: Source<'_>, layout: &Layout) -> Result<ThreadTable, Diagnostic> {
        let by_id = test.table.threads.iter().enumerate().map(|(i, t)| (t.id, i)).collect();
        let mut families: Vec<Vec<Family>> =
            (0..test.table.threads.len()).map(|i| thread::families(test, i)).collect();
        let mut table =
            ThreadTable { arch: test.frame.arch, by_id, regs: Vec::new(), types: HashMap::new() };
        let mut mentioned = Vec::new();
        each_frame_register(test.frame, &mut |r| mentioned.push(r));
        for r in mentioned {
            let thread = table.index(r)?;
            families[thread].push(resolve(test.frame.arch, r).family);
        }
        for mut list in families {
            list.sort_unstable();
            list.dedup();
            table.regs.push(list.into_iter().map(|f| (f, 0)).collect());
        }
        table.initialise(test, layout)?;
        Ok(table)
    }

    fn initialise(&mut self, test: Source<'_>, layout: &Layout) -> Result<(), Diagnostic> {
        let mut set: HashMap<(usize, Family), Vec<(Register, Number)>> = HashMap::new();
        for item in &test.frame.init {
            let Target::Reg(r) = &item.target else { continue };
            let thread = self.index(r)?;
            let reg = resolve(test.frame.arch, r);
            if let Some(ctype) = &item.ctype {
                self.types.insert((thread, reg.family), type_of(ctype, test.frame.arch.word()));
            }
            let Some((number, value)) = initial(item, r, layout, test)? else { continue };
            let earlier = set.entry((thread, reg.family)).or_default();
            let conflict = earlier.iter().any(|(other, n)| {
                if *other == reg { *n != number } else { !disjoint(*other, reg) }
            });
            if conflict {
                return Err(Diagnostic::new(
                    item.place.0,
                    format!("`{}:{}` already has another initial value", r.thread, r.reg),
                    "",
                ));
            }
            earlier.push((reg, number));
            if let Some((_, whole)) = self.regs[thread].iter_mut().find(|(f, _)| *f == reg.family) {
                *whole = match reg.part {
                    Part::Quad | Part::Dword => value,
                    Part::Word => (*whole & !0xffff) | value,
                    Part::Low => (*whole & !0xff) | value,
                    Part::High => (*whole & !0xff00) | (value << 8),
                };
            }
        }
        Ok(())
    }

    /// The column of a register's thread.
    pub(super) fn index(&self, reg: &RegRef) -> Result<usize, Diagnostic> {
        self.by_id.get(&reg.thread).copied().ok_or_else(|| no_thread(reg, self.by_id.keys()))
    }

    /// The core register of a family.
    pub(super) fn register(&self, thread: usize, family: Family) -> RegId {
        let at = self.regs[thread].iter().position(|(f, _)| *f == family);
        RegId::new(at.unwrap_or(0))
    }
}

impl Threads for ThreadTable {
    fn seen(&self, r: &RegRef) -> Result<SeenRegister, Diagnostic> {
        let thread = self.index(r)?;
        let reg = resolve(self.arch, r);
        if reg.part == Part::High {
            return Err(Diagnostic::new(
                r.place.0,
                format!("`{}` cannot be observed", r.reg),
                "expected a register that begins at bit 0",
            ));
        }
        // How it was declared: bytes and sign.
        let declared = self.types.get(&(thread, reg.family)).copied();
        let whole = reg == Register::whole(self.arch, reg.family);
        let view = match (declared, whole, reg.part.bits()) {
            (Some((8, true)), true, _) | (None, true, 64) => View::Full,
            (Some((bytes, false)), true, _) => View::Unsigned(bytes * 8),
            (Some((bytes, true)), true, _) => View::Signed(bytes * 8),
            (_, _, bits) => View::Signed(bits),
        };
        Ok(SeenRegister { thread, reg: self.register(thread, reg.family), view, rank: reg.rank() })
    }
}

/// The register that a reference means; the parser has let only known ones through.
pub(super) fn resolve(arch: Arch, r: &RegRef) -> Register {
    Register::parse(arch, &r.reg).unwrap_or(Register::whole(arch, Family::Ax))
}

/// The initial value of a register, as written and as bits.
fn initial(
    item: &InitItem,
    r: &RegRef,
    layout: &Layout,
    test: Source<'_>,
) -> Result<Option<(Number, Value)>, Diagnostic> {
    let bits = resolve(test.frame.arch, r).part.bits();
    let (number, place) = match &item.value {
        None => return Ok(None),
        Some(InitValue::Number(n, place)) => (*n, *place),
        Some(InitValue::Address(s)) => (Number::from(layout.address(s)?), s.place),
        Some(InitValue::List(_, place)) => (0, *place),
    };
    match pattern(number, bits) {
        Some(value) => Ok(Some((number, value))),
        None => {
            let what = format!("`{}`", r.reg);
            Err(does_not_fit(bits, &what, place.0))
        }
    }
}

/// Whether two parts of a register share no bits.
fn disjoint(a: Register, b: Register) -> bool {
    matches!((a.part, b.part), (Part::Low, Part::High) | (Part::High, Part::Low))
}
