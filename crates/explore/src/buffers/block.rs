//! Atomic blocks: from a `Lock` to the matching `Unlock` nobody else takes a step, so the whole
//! block is one step of its thread from one memory to another. Inside of it stores might as well
//! go to memory at once: the buffer is empty at both ends and nobody looks.

use std::collections::HashSet;

use weakspot_core::machine::{Failure, FailureKind, Step};
use weakspot_core::{Instr, Limit, Model, PointId, Value};

use crate::buffers::local::Locals;
use crate::buffers::roles::Role;
use crate::eval::eval;
use crate::memory::Memories;
use crate::meter::Meter;

/// All ways through one block from one local state and memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockRuns {
    /// After the `Unlock`: memory, local state, and the steps that lead there.
    pub(crate) exits: Vec<(u32, u32, Vec<Step>)>,
    /// The thread terminated inside the block: memory, registers and steps.
    pub(crate) ends: Vec<(u32, Vec<Value>, Vec<Step>)>,
    /// Control points passed inside, each with steps that lead there.
    pub(crate) points: Vec<(PointId, Vec<Step>)>,
    /// A step inside that fails, with the steps up to and including it.
    pub(crate) failure: Option<(Failure, Vec<Step>)>,
}

impl BlockRuns {
    /// Bytes in use, with the counts of an `Rc`.
    pub(crate) fn bytes(&self) -> usize {
        let exits = self.exits.iter().map(|(_, _, steps)| vec_bytes(steps));
        let ends = self.ends.iter().map(|(_, regs, steps)| vec_bytes(regs) + vec_bytes(steps));
        let points = self.points.iter().map(|(_, steps)| vec_bytes(steps));
        let failure = self.failure.as_ref().map_or(0, |(_, steps)| vec_bytes(steps));
        size_of::<BlockRuns>()
            + 2 * size_of::<usize>()
            + vec_bytes(&self.exits)
            + vec_bytes(&self.ends)
            + vec_bytes(&self.points)
            + exits.chain(ends).chain(points).sum::<usize>()
            + failure
    }
}

fn vec_bytes<T>(vec: &Vec<T>) -> usize {
    vec.capacity() * size_of::<T>()
}

/// Runs the block that the `Lock` on edge `edge` of `local` opens, in memory `mem`.
pub(crate) fn run_block(
    locals: &mut Locals<'_>,
    mems: &mut Memories,
    model: Model,
    (local, edge): (u32, u32),
    mem: u32,
    meter: &mut Meter<'_>,
) -> Result<BlockRuns, Limit> {
    let thread = locals.thread;
    let code = locals.code;
    let lock = &locals.edges(local)[edge as usize];
    let first = Step::Execute { thread, edge, choice: 0 };
    let roles = locals.roles.clone();
    let read = |regs: &[Value], mem, loc, mems: &Memories| match roles.role(loc) {
        Role::Own(cell) => regs[code.regs.len() + cell],
        _ => mems.read(mem, loc),
    };
    let written = |mut regs: Vec<Value>, mem, loc, value, mems: &mut Memories| {
        match roles.role(loc) {
            Role::Own(cell) => regs[code.regs.len() + cell] = value,
            Role::Unread(_) => {}
            Role::Shared | Role::Sampled => return (regs, mems.write(mem, loc, value)),
        }
        (regs, mem)
    };
    let mut runs = BlockRuns::default();
    let mut todo = vec![(lock.to, locals.regs(local).to_vec(), mem, vec![first])];
    let mut seen: HashSet<(PointId, Vec<Value>, u32)> = HashSet::new();
    while let Some((point, regs, mem, steps)) = todo.pop() {
        // What waits and what was seen, each with its registers and the steps that lead there.
        let entry = (regs.len() + 6) * 8 + (steps.len() + 1) * size_of::<Step>();
        let entries = todo.len() + seen.len() + runs.exits.len();
        meter.work(|| (todo.len() as u64, (mems.bytes() + entries * entry) as u64))?;
        if !seen.insert((point, regs.clone(), mem)) {
            continue;
        }
        if !runs.points.iter().any(|(p, _)| *p == point) {
            runs.points.push((point, steps.clone()));
        }
        let edges = &code.points[point.index()].edges;
        if edges.is_empty() {
            runs.ends.push((mem, regs.clone(), steps.clone()));
        }
        for (i, edge) in edges.iter().enumerate() {
            let mut go = |regs: Vec<Value>, mem: u32, choice: Value, commit: Option<Value>| {
                let mut steps = steps.clone();
                steps.push(Step::Execute { thread, edge: i as u32, choice });
                if let Some(addr) = commit.filter(|_| model != Model::Sc) {
                    steps.push(Step::Commit { thread, addr });
                }
                todo.push((edge.to, regs, mem, steps));
            };
            let with = |reg: &weakspot_core::RegId, value| {
                let mut regs = regs.clone();
                regs[reg.index()] = value;
                regs
            };
            let mut step = || {
                match &edge.instr {
                    Instr::Nop | Instr::Fence(_) => go(regs.clone(), mem, 0, None),
                    Instr::Assign { reg, value } => {
                        go(with(reg, eval(value, &regs)?), mem, 0, None)
                    }
                    Instr::Choose { reg, low, high } => {
                        for choice in *low..=*high {
                            go(with(reg, choice), mem, choice, None);
                        }
                    }
                    Instr::Assume(e) => {
                        if eval(e, &regs)? != 0 {
                            go(regs.clone(), mem, 0, None);
                        }
                    }
                    Instr::Assert(e) => {
                        if eval(e, &regs)? == 0 {
                            return Err(FailureKind::Assertion);
                        }
                        go(regs.clone(), mem, 0, None);
                    }
                    Instr::Load { reg, addr } => {
                        let loc = mems.loc(eval(addr, &regs)?)?;
                        go(with(reg, read(&regs, mem, loc, mems)), mem, 0, None);
                    }
                    Instr::Store { addr, value } => {
                        let (addr, value) = (eval(addr, &regs)?, eval(value, &regs)?);
                        let loc = mems.loc(addr)?;
                        mems.check(loc, value)?;
                        let (regs, mem) = written(regs.clone(), mem, loc, value, mems);
                        go(regs, mem, 0, Some(addr));
                    }
                    Instr::Update { reg, addr, value } => {
                        let loc = mems.loc(eval(addr, &regs)?)?;
                        let regs = with(reg, read(&regs, mem, loc, mems));
                        let value = eval(value, &regs)?;
                        mems.check(loc, value)?;
                        let (regs, mem) = written(regs, mem, loc, value, mems);
                        go(regs, mem, 0, None);
                    }
                    // The lock is not re-entrant: the thread waits for itself for ever.
                    Instr::Lock => {}
                    Instr::Unlock => {
                        let next = locals.intern(edge.to, &regs, &[]);
                        let mut steps = steps.clone();
                        steps.push(Step::Execute { thread, edge: i as u32, choice: 0 });
                        runs.exits.push((mem, next, steps));
                    }
                }
                Ok(())
            };
            if let Err(kind) = step() {
                // A fault outweighs an assertion: it says that the program is wrong.
                if runs.failure.is_none() || kind != FailureKind::Assertion {
                    let mut steps = steps.clone();
                    steps.push(Step::Execute { thread, edge: i as u32, choice: 0 });
                    runs.failure = Some((Failure { thread, span: edge.span, kind }, steps));
                }
            }
        }
    }
    Ok(runs)
}
