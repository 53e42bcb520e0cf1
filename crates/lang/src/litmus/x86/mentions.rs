//! Where locations are mentioned in a test of x86.

use super::ast::{Instruction, Mem, MemStyle, Operand, Source};
use super::mnemonics::{Decoded, Op, decode};
use crate::litmus::arch::Arch;
use crate::litmus::ast::Symbol;
use crate::litmus::mentions::{
    each_asked_term, each_init_address, each_init_symbol, each_term_symbol,
};

/// Calls `visit` for each mention of a location, in the order of the source. Bare names in Intel
/// syntax do not count: they are locations only if something else says so.
pub(super) fn each_symbol<'a>(test: Source<'a>, visit: &mut impl FnMut(&'a Symbol)) {
    each_init_symbol(test.frame, visit);
    each_code_symbol(test, surely_locations, visit);
    each_asked_term(test.frame, &mut |term| each_term_symbol(term, visit));
}

/// The names of locations in instructions; bare ones where `bare_names_count`.
pub(super) fn each_code_symbol<'a>(
    test: Source<'a>,
    bare_names_count: fn(Arch, &Instruction) -> bool,
    visit: &mut impl FnMut(&'a Symbol),
) {
    let cells = test.table.rows.iter().flatten();
    for instr in cells.filter_map(|c| c.instr.as_ref()) {
        let bare = bare_names_count(test.frame.arch, instr);
        for operand in &instr.operands {
            match operand {
                Operand::Address(s) => visit(s),
                Operand::Mem(m) => m.symbol.iter().for_each(&mut *visit),
                Operand::Name(s) if bare => visit(s),
                _ => {}
            }
        }
    }
}

/// The locations whose addresses may get into computed ones: what registers and memory are set to,
/// and what is accessed together with a register.
pub(super) fn each_taken_symbol<'a>(test: Source<'a>, visit: &mut impl FnMut(&'a Symbol)) {
    each_init_address(test.frame, visit);
    let cells = test.table.rows.iter().flatten();
    for instr in cells.filter_map(|c| c.instr.as_ref()) {
        let lea = matches!(decode(&instr.mnemonic), Some(Decoded { op: Op::Lea, .. }));
        for operand in &instr.operands {
            match operand {
                Operand::Address(s) | Operand::Name(s) => visit(s),
                Operand::Mem(m) if lea || m.base.is_some() || m.index.is_some() => {
                    m.symbol.iter().for_each(&mut *visit);
                }
                _ => {}
            }
        }
    }
}

/// Whether bare names in an instruction may be locations: they are no labels.
pub(super) fn may_be_locations(_: Arch, instr: &Instruction) -> bool {
    !matches!(decode(&instr.mnemonic), None | Some(Decoded { op: Op::Jump | Op::Branch(_), .. }))
}

/// Whether bare names in an instruction are surely locations, and not misspelt registers.
fn surely_locations(arch: Arch, instr: &Instruction) -> bool {
    match decode(&instr.mnemonic) {
        None | Some(Decoded { op: Op::Jump | Op::Branch(_), .. }) => false,
        Some(Decoded { suffix, .. }) => {
            is_att(arch, instr) || (instr.operands.len() == 1 && suffix.is_some())
        }
    }
}

/// Whether an instruction has its source first. Registers with `%` and memory in parentheses
/// are signs of AT&T syntax. In X86_64, where that is the usual one, a leading immediate is one
/// too; in X86 the usual order is the other, and parentheses may also stand for brackets.
pub(super) fn is_att(arch: Arch, instr: &Instruction) -> bool {
    let immediate =
        |o: Option<&Operand>| matches!(o, Some(Operand::Number { .. } | Operand::Address(_)));
    let first = immediate(instr.operands.first());
    let last = immediate(instr.operands.last());
    let has = |f: fn(&Operand) -> bool| instr.operands.iter().any(f);
    let percent = has(|o| {
        matches!(o, Operand::Reg { percent: true, .. } | Operand::Mem(Mem { percent: true, .. }))
    });
    let parens = has(|o| matches!(o, Operand::Mem(Mem { style: MemStyle::Parens, .. })));
    let brackets = has(|o| matches!(o, Operand::Mem(Mem { style: MemStyle::Brackets, .. })));
    match arch {
        Arch::X86 if first => percent || parens,
        Arch::X86 => percent && !brackets && !last,
        _ => percent || parens || first,
    }
}
