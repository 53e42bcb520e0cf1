//! Which registers matter where: the others may hold anything, and every run stays as it is.

use std::collections::BTreeSet;

use crate::{Expr, Instr, Observable, Program, RegId};

/// Per thread, point and register whether some way from there reads it before it is written, or
/// ends where it is observed.
pub(crate) fn live(program: &Program) -> Vec<Vec<Vec<bool>>> {
    let of_thread = |(t, thread): (usize, &crate::Thread)| {
        let mut live = vec![vec![false; thread.regs.len()]; thread.points.len()];
        for observed in &program.observed {
            if let Observable::Reg(of, r) = observed.what
                && of.index() == t
            {
                let ends = thread.points.iter().map(|p| p.edges.is_empty());
                ends.zip(&mut live).filter(|(end, _)| *end).for_each(|(_, l)| l[r.index()] = true);
            }
        }
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for (p, point) in thread.points.iter().enumerate().rev() {
                for edge in &point.edges {
                    let (reads, writes) = reads_and_writes(&edge.instr);
                    let after = live[edge.to.index()].clone();
                    for (r, (now, after)) in live[p].iter_mut().zip(after).enumerate() {
                        let here = reads.contains(&r) || after && writes != Some(RegId::new(r));
                        changed |= here && !*now;
                        *now |= here;
                    }
                }
            }
        }
        live
    };
    program.threads.iter().enumerate().map(of_thread).collect()
}

/// The registers that an instruction reads, before it writes one.
fn reads_and_writes(instr: &Instr) -> (BTreeSet<usize>, Option<RegId>) {
    let (read, own, writes): (Vec<&Expr>, Option<RegId>, Option<RegId>) = match instr {
        Instr::Nop | Instr::Fence(_) | Instr::Lock | Instr::Unlock => (vec![], None, None),
        Instr::Choose { reg, .. } => (vec![], None, Some(*reg)),
        Instr::Assign { reg, value } => (vec![value], None, Some(*reg)),
        Instr::Assume(e) | Instr::Assert(e) => (vec![e], None, None),
        Instr::Load { reg, addr } => (vec![addr], None, Some(*reg)),
        Instr::Store { addr, value } => (vec![addr, value], None, None),
        // What is stored sees the value that was just read.
        Instr::Update { reg, addr, value } => {
            let mut in_addr = false;
            addr.for_each_reg(&mut |r| in_addr |= r == *reg);
            (vec![addr, value], Some(*reg).filter(|_| !in_addr), Some(*reg))
        }
    };
    let mut reads = BTreeSet::new();
    for e in read {
        e.for_each_reg(&mut |r| {
            reads.insert(r.index());
        });
    }
    if let Some(own) = own {
        reads.remove(&own.index());
    }
    (reads, writes)
}
