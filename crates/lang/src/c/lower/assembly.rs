//! Assembly: fences, and the atomic instructions of x86 that locks are made of, in the syntax of AT&T.

use weakspot_core::{BinOp, Expr, Fence, Instr};

use super::{Lower, Lowering, Place, Typed};
use crate::Diagnostic;
use crate::c::ast::{Assembly, ExprKind, Operand, Stmt};
use crate::c::memory::cell;
use crate::c::parse::ELSEWHERE;
use crate::c::types::Type;
use crate::litmus::c::folded;

/// An operand while the instructions are done.
enum Slot {
    /// In memory.
    Memory(Expr, Type),
    /// In a register, whose value is known once it was given one.
    Register(Option<Typed>),
    /// What another one stands for, too.
    Same(usize),
}

/// The operands, and what the last instruction left.
struct Machine<'a> {
    operands: Vec<&'a Operand>,
    slots: Vec<Slot>,
    /// Whether the last result was 0, or the last comparison equal.
    zero: Option<Expr>,
}

impl Machine<'_> {
    /// The number of the operand that a word of the template names: `%0`, `%b1`, `%[name]`.
    fn number(&self, word: &str) -> Option<usize> {
        let word = word.strip_prefix('%')?;
        let word = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let found = match word.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            Some(name) => self.operands.iter().position(|operand| operand.name == name)?,
            None => word.parse().ok().filter(|n| *n < self.slots.len())?,
        };
        Some(match self.slots[found] {
            Slot::Same(other) => other,
            _ => found,
        })
    }

    fn memory(&self, word: &str) -> Option<(Expr, Type)> {
        match &self.slots[self.number(word)?] {
            Slot::Memory(addr, ty) => Some((addr.clone(), ty.clone())),
            _ => None,
        }
    }

    /// The value of a register or a number.
    fn value(&self, word: &str) -> Option<Typed> {
        if let Some(number) = word.strip_prefix('$') {
            return Some((Expr::Const(number.parse().ok()?), Type::LONG));
        }
        match &self.slots[self.number(word)?] {
            Slot::Register(value) => value.clone(),
            _ => None,
        }
    }

    fn set(&mut self, slot: usize, value: Typed) {
        if let Slot::Register(old) = &mut self.slots[slot] {
            *old = Some(value);
        }
    }

    /// The operand in `%eax`, which a compare-exchange compares with.
    fn accumulator(&self) -> Option<usize> {
        let found = self.operands.iter().position(|operand| operand.constraint.contains('a'))?;
        match self.slots[found] {
            Slot::Same(other) => Some(other),
            _ => Some(found),
        }
    }
}

impl Lower<'_> {
    pub(super) fn assembly(&mut self, assembly: &Assembly, stmt: &Stmt) -> Lowering<()> {
        let refused = |line: &str| {
            let message = format!("the instruction `{line}` is not supported here");
            let expected =
                "expected a fence, or one of the atomic instructions that locks are made of";
            Err(Diagnostic::new(stmt.at, message, expected).help(ELSEWHERE))
        };
        let mut machine = self.operands(assembly)?;
        // `lock` may stand alone, as an instruction before the one that it is for.
        let template = assembly.template.replace(',', ", ");
        let lines = template.split(['\n', ';']).map(str::trim).filter(|line| !line.is_empty());
        let mut locked = false;
        for line in lines {
            if line == "lock" {
                locked = true;
                continue;
            }
            let line = if std::mem::take(&mut locked) { &format!("lock {line}") } else { line };
            let words: Vec<&str> =
                line.split_whitespace().map(|w| w.trim_end_matches(',')).collect();
            if !self.fence_of(&words) && self.instruction(&words, &mut machine).is_none() {
                return refused(line);
            }
        }
        if locked {
            return refused("lock");
        }
        self.outputs(&machine, stmt)
    }

    /// The operands with what they start with.
    fn operands<'a>(&mut self, assembly: &'a Assembly) -> Lowering<Machine<'a>> {
        let operands: Vec<&Operand> = assembly.outputs.iter().chain(&assembly.inputs).collect();
        let mut machine = Machine { operands, slots: Vec::new(), zero: None };
        for operand in machine.operands.clone() {
            let slot = match &operand.value.kind {
                ExprKind::AddressOf(place) if operand.constraint.contains('m') => {
                    match self.place(place)? {
                        Place::Memory(addr, ty) => Slot::Memory(addr, ty),
                        Place::Reg(..) | Place::Parts(..) => {
                            let message = "this is no place in memory";
                            return Err(Diagnostic::new(place.at, message, ""));
                        }
                    }
                }
                ExprKind::Step { target, .. } if operand.constraint.contains('+') => {
                    let place = self.place(target)?;
                    Slot::Register(Some(self.load(place, None, target)?))
                }
                ExprKind::Step { .. } => Slot::Register(None),
                _ => {
                    let value = self.value(&operand.value)?;
                    let same = operand.constraint.trim_start_matches('%').parse().ok();
                    match same.filter(|n| *n < machine.slots.len()) {
                        Some(same) => {
                            machine.set(same, value);
                            Slot::Same(same)
                        }
                        None => Slot::Register(Some(value)),
                    }
                }
            };
            machine.slots.push(slot);
        }
        Ok(machine)
    }

    /// Writes what is in registers to where it goes.
    fn outputs(&mut self, machine: &Machine<'_>, stmt: &Stmt) -> Lowering<()> {
        for (operand, slot) in machine.operands.iter().zip(&machine.slots) {
            let (ExprKind::Step { target, .. }, Slot::Register(value)) =
                (&operand.value.kind, slot)
            else {
                continue;
            };
            let Some(value) = value.clone() else {
                let message = "what this writes is not known here";
                return Err(Diagnostic::new(stmt.at, message, "").help(ELSEWHERE));
            };
            let place = self.place(target)?;
            self.store(place, value, target)?;
        }
        Ok(())
    }

    /// Does what a fence does, or nothing to memory; whether it is one.
    fn fence_of(&mut self, words: &[&str]) -> bool {
        match words {
            ["mfence"] => self.fence(Fence::Full),
            ["sfence"] => self.fence(Fence::StoreStore),
            ["lfence" | "pause" | "nop"] | ["rep", "nop"] => self.instr(Instr::Nop),
            // The idiom for a fence that is faster than `mfence`.
            ["lock", "addl" | "addq" | "orl" | "orq", "$0", at] if at.contains("sp)") => {
                self.fence(Fence::Full);
            }
            _ => return false,
        }
        true
    }

    /// Does what an instruction does; `None` if it is not known.
    fn instruction(&mut self, words: &[&str], machine: &mut Machine<'_>) -> Option<()> {
        let (locked, words) = match words {
            ["lock", rest @ ..] => (true, rest),
            all => (false, all),
        };
        let (name, rest) = words.split_first()?;
        let name = match name.strip_suffix(['b', 'w', 'l', 'q']) {
            Some(short) if is_known(short) => {
                let bytes = match &name[short.len()..] {
                    "b" => 1,
                    "w" => 2,
                    "l" => 4,
                    _ => 8,
                };
                // What accesses a part of a variable, or more than one, is not known.
                let structs = &self.unit.structs;
                let mut places = rest.iter().filter_map(|word| machine.memory(word));
                if places.any(|(_, ty)| !ty.is_scalar() || ty.size(structs) != bytes) {
                    return None;
                }
                short
            }
            _ => name,
        };
        match (name, rest) {
            ("xchg", [a, b]) => {
                let (reg, at) = if machine.memory(a).is_some() { (b, a) } else { (a, b) };
                let (value, from) = machine.value(reg)?;
                let (addr, ty) = machine.memory(at)?;
                let value = self.converted(value, &from, &ty);
                let old = self.temp();
                self.instr(Instr::Update { reg: old, addr: cell(addr, &ty), value });
                machine.set(machine.number(reg)?, (Expr::Reg(old), plain(ty)));
            }
            ("cmpxchg", [new, at]) if locked => {
                let (new, from) = machine.value(new)?;
                let (addr, ty) = machine.memory(at)?;
                let new = self.converted(new, &from, &ty);
                let accumulator = machine.accumulator()?;
                let Slot::Register(Some((expected, from))) = &machine.slots[accumulator] else {
                    return None;
                };
                let expected = self.converted(expected.clone(), from, &ty);
                let found = self.temp();
                self.compare_exchange(found, cell(addr, &ty), expected.clone(), new);
                machine.zero = Some(Expr::binary(BinOp::Eq, Expr::Reg(found), expected));
                machine.set(accumulator, (Expr::Reg(found), plain(ty)));
            }
            ("xadd", [reg, at]) if locked => {
                let added = machine.value(reg)?;
                let (addr, ty) = machine.memory(at)?;
                let old = self.update(addr, &ty, BinOp::Add, added, true);
                machine.set(machine.number(reg)?, old);
            }
            ("inc" | "dec" | "add" | "sub" | "or" | "and" | "xor", [.., at]) if locked => {
                let operand = match rest {
                    [_] => (Expr::Const(1), Type::INT),
                    [by, _] => machine.value(by)?,
                    _ => return None,
                };
                let (addr, ty) = machine.memory(at)?;
                let (new, _) = self.update(addr, &ty, operation(name)?, operand, false);
                machine.zero = Some(folded(Expr::binary(BinOp::Eq, new, Expr::Const(0))));
            }
            ("sete" | "setz" | "setne" | "setnz", [to]) => {
                let zero = machine.zero.clone()?;
                let value = match name {
                    "sete" | "setz" => zero,
                    _ => Expr::binary(BinOp::Eq, zero, Expr::Const(0)),
                };
                machine.set(machine.number(to)?, (value, Type::int(1, false)));
            }
            ("mov", [from, to]) if !locked => match (machine.memory(from), machine.memory(to)) {
                (Some((addr, ty)), None) => {
                    let reg = self.temp();
                    self.instr(Instr::Load { reg, addr: cell(addr, &ty) });
                    machine.set(machine.number(to)?, (Expr::Reg(reg), plain(ty)));
                }
                (None, Some((addr, ty))) => {
                    let (value, from) = machine.value(from)?;
                    self.write(Place::Memory(addr, ty), value, &from);
                }
                (None, None) => machine.set(machine.number(to)?, machine.value(from)?),
                _ => return None,
            },
            _ => return None,
        }
        Some(())
    }
}

fn plain(ty: Type) -> Type {
    Type { atomic: false, ..ty }
}

/// Whether a name without the letter for the width is an instruction with one.
fn is_known(name: &str) -> bool {
    matches!(name, "xchg" | "cmpxchg" | "xadd" | "mov") || operation(name).is_some()
}

fn operation(name: &str) -> Option<BinOp> {
    Some(match name {
        "inc" | "add" => BinOp::Add,
        "dec" | "sub" => BinOp::Sub,
        "or" => BinOp::BitOr,
        "and" => BinOp::BitAnd,
        "xor" => BinOp::BitXor,
        _ => return None,
    })
}
