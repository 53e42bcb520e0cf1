//! Live registers: at each control point, which registers can still matter. Dead ones are set to
//! 0 in stored states, so that states that differ only in what nobody will look at are one.

use rustc_hash::FxHashMap;
use weakspot_core::{Expr, Instr, LocId, Observable, Program, RegId, ThreadId};

use crate::flow::postorder;

/// Per control point of `thread` and per register, whether its value matters.
pub(crate) fn live_registers(program: &Program, thread: ThreadId) -> Vec<Vec<bool>> {
    live_with_cells(program, thread, &[], |_| None)
}

/// The same where the thread has `cells` of memory for itself, which count as registers behind
/// those that it has anyway. `cell` says which of them an instruction accesses, if it does.
pub(crate) fn live_with_cells(
    program: &Program,
    thread: ThreadId,
    cells: &[LocId],
    cell: impl Fn(&Instr) -> Option<usize>,
) -> Vec<Vec<bool>> {
    let code = &program.threads[thread.index()];
    let own = code.regs.len();
    let mut live = vec![vec![false; own + cells.len()]; code.points.len()];
    let place: FxHashMap<LocId, usize> = cells.iter().enumerate().map(|(i, &l)| (l, i)).collect();
    for (point, live) in code.points.iter().zip(&mut live) {
        if point.edges.is_empty() {
            for observed in &program.observed {
                match observed.what {
                    Observable::Reg(t, r) if t == thread => live[r.index()] = true,
                    Observable::Reg(..) => {}
                    Observable::Loc(l) => {
                        if let Some(i) = place.get(&l) {
                            live[own + i] = true;
                        }
                    }
                }
            }
        }
    }
    let order = postorder(code);
    let mut before = Vec::new();
    loop {
        let mut changed = false;
        for &p in &order {
            for edge in &code.points[p].edges {
                before.clone_from(&live[edge.to.index()]);
                transfer(&edge.instr, cell(&edge.instr).map(|i| own + i), &mut before);
                for (have, &add) in live[p].iter_mut().zip(&before) {
                    changed |= add && !*have;
                    *have |= add;
                }
            }
        }
        if !changed {
            return live;
        }
    }
}

/// From what is live after an instruction to what is live before it. `cell` is what it accesses.
fn transfer(instr: &Instr, cell: Option<usize>, live: &mut [bool]) {
    let kill = |live: &mut [bool], reg: &RegId| live[reg.index()] = false;
    let uses = |live: &mut [bool], e: &Expr| e.for_each_reg(&mut |r| live[r.index()] = true);
    match instr {
        Instr::Nop | Instr::Fence(_) | Instr::Lock | Instr::Unlock => {}
        Instr::Assign { reg, value } => {
            kill(live, reg);
            uses(live, value);
        }
        Instr::Choose { reg, .. } => kill(live, reg),
        Instr::Assume(e) | Instr::Assert(e) => uses(live, e),
        Instr::Load { reg, addr } => {
            if let Some(cell) = cell {
                live[cell] |= live[reg.index()];
            }
            kill(live, reg);
            uses(live, addr);
        }
        Instr::Store { addr, value } => {
            if let Some(cell) = cell {
                live[cell] = false;
            }
            uses(live, addr);
            uses(live, value);
        }
        Instr::Update { reg, addr, value } => {
            uses(live, value);
            if let Some(cell) = cell {
                live[cell] = live[reg.index()];
            }
            kill(live, reg);
            uses(live, addr);
        }
    }
}
