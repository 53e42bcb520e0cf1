//! Live registers: at each control point, which registers can still matter. Dead ones are set to
//! 0 in stored states, so that states that differ only in what nobody will look at are one.

use weakspot_core::{Expr, Instr, Observable, Program, RegId, ThreadId};

use crate::flow::postorder;

/// Per control point of `thread` and per register, whether its value matters.
pub(crate) fn live_registers(program: &Program, thread: ThreadId) -> Vec<Vec<bool>> {
    let code = &program.threads[thread.index()];
    let mut live = vec![vec![false; code.regs.len()]; code.points.len()];
    for (point, live) in code.points.iter().zip(&mut live) {
        if point.edges.is_empty() {
            for observed in &program.observed {
                if let Observable::Reg(t, r) = observed.what
                    && t == thread
                {
                    live[r.index()] = true;
                }
            }
        }
    }
    let order = postorder(code);
    loop {
        let mut changed = false;
        for &p in &order {
            for edge in &code.points[p].edges {
                let mut before = live[edge.to.index()].clone();
                transfer(&edge.instr, &mut before);
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

/// From what is live after an instruction to what is live before it.
fn transfer(instr: &Instr, live: &mut [bool]) {
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
            kill(live, reg);
            uses(live, addr);
        }
        Instr::Store { addr, value } => {
            uses(live, addr);
            uses(live, value);
        }
        Instr::Update { reg, addr, value } => {
            uses(live, value);
            kill(live, reg);
            uses(live, addr);
        }
    }
}
