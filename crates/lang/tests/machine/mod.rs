//! A small and slow machine for SC, TSO and PSO. Buffers are bounded, which is enough for programs
//! of the size of these tests.

use std::collections::{BTreeMap, HashSet};

use weakspot_core::{Fence, Instr, Program, Undeclared};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    Sc,
    Tso,
    Pso,
}

/// No buffer grows longer than this.
const BUFFER: usize = 4;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) threads: Vec<Local>,
    pub(crate) memory: BTreeMap<i64, i64>,
    lock: Option<usize>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Local {
    pub(crate) point: usize,
    pub(crate) regs: Vec<i64>,
    /// `None` is a store-store fence.
    pub(crate) buffer: Vec<Option<(i64, i64)>>,
}

/// The states that can be reached.
pub(crate) fn reachable(program: &Program, model: Model) -> HashSet<State> {
    let mut open = initial_states(program);
    let mut seen: HashSet<State> = open.iter().cloned().collect();
    while let Some(state) = open.pop() {
        for next in successors(program, model, &state) {
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    seen
}

fn initial_states(program: &Program) -> Vec<State> {
    let mut memories = vec![BTreeMap::new()];
    for loc in &program.locs {
        memories = memories
            .iter()
            .flat_map(|m: &BTreeMap<i64, i64>| {
                loc.init.iter().map(|v| {
                    let mut m = m.clone();
                    m.insert(loc.addr, *v);
                    m
                })
            })
            .collect();
    }
    let local = |t: &weakspot_core::Thread| Local {
        point: t.entry.index(),
        regs: t.regs.clone(),
        buffer: Vec::new(),
    };
    let threads: Vec<Local> = program.threads.iter().map(local).collect();
    memories
        .into_iter()
        .map(|memory| State { threads: threads.clone(), memory, lock: None })
        .collect()
}

fn successors(program: &Program, model: Model, state: &State) -> Vec<State> {
    let mut all = Vec::new();
    for (t, local) in state.threads.iter().enumerate() {
        if state.lock.is_some_and(|owner| owner != t) {
            continue;
        }
        let fence = local.buffer.iter().position(Option::is_none).unwrap_or(local.buffer.len());
        let candidates = if model == Model::Tso { fence.min(1) } else { fence };
        for i in 0..candidates {
            let Some((addr, value)) = local.buffer[i] else { continue };
            let oldest = local.buffer[..i].iter().flatten().all(|(a, _)| *a != addr);
            if oldest {
                let mut next = state.clone();
                next.memory.insert(addr, value);
                let buffer = &mut next.threads[t].buffer;
                buffer.remove(i);
                while buffer.first() == Some(&None) {
                    buffer.remove(0);
                }
                all.push(next);
            }
        }
        for edge in &program.threads[t].points[local.point].edges {
            step(program, model, state, t, &edge.instr, edge.to.index(), &mut all);
        }
    }
    all
}

fn step(
    program: &Program,
    model: Model,
    state: &State,
    t: usize,
    instr: &Instr,
    to: usize,
    all: &mut Vec<State>,
) {
    let mut next = state.clone();
    let State { threads, memory, lock } = &mut next;
    let Local { point, regs, buffer } = &mut threads[t];
    let read = |memory: &BTreeMap<i64, i64>, addr: i64| {
        assert!(program.undeclared == Undeclared::Zero || memory.contains_key(&addr));
        memory.get(&addr).copied().unwrap_or(0)
    };
    let check = |addr: i64, value: i64| {
        let range = program.loc_at(addr).and_then(|l| program.locs[l.index()].range);
        assert!(range.is_none_or(|(low, high)| (low..=high).contains(&value)), "{value}");
    };
    *point = to;
    match instr {
        Instr::Nop => {}
        Instr::Assign { reg, value } => regs[reg.index()] = value.eval(regs).expect("no division"),
        Instr::Choose { reg, low, high } => {
            for value in *low..=*high {
                let mut chosen = next.clone();
                chosen.threads[t].regs[reg.index()] = value;
                all.push(chosen);
            }
            return;
        }
        Instr::Assume(e) | Instr::Assert(e) if e.eval(regs) != Ok(0) => {}
        Instr::Load { reg, addr } => {
            let addr = addr.eval(regs).expect("no division");
            let own = buffer.iter().rev().flatten().find(|(a, _)| *a == addr);
            regs[reg.index()] = own.map_or_else(|| read(memory, addr), |(_, v)| *v);
        }
        Instr::Store { addr, value } => {
            let addr = addr.eval(regs).expect("no division");
            let value = value.eval(regs).expect("no division");
            check(addr, value);
            if model == Model::Sc {
                memory.insert(addr, value);
            } else if buffer.len() < BUFFER {
                buffer.push(Some((addr, value)));
            } else {
                return;
            }
        }
        Instr::Update { reg, addr, value } if buffer.is_empty() => {
            let addr = addr.eval(regs).expect("no division");
            regs[reg.index()] = read(memory, addr);
            let value = value.eval(regs).expect("no division");
            check(addr, value);
            memory.insert(addr, value);
        }
        Instr::Fence(Fence::Full) if buffer.is_empty() => {}
        Instr::Fence(Fence::StoreStore) => {
            if model == Model::Pso && !buffer.is_empty() {
                buffer.push(None);
            }
        }
        Instr::Lock if buffer.is_empty() && lock.is_none() => *lock = Some(t),
        Instr::Unlock if buffer.is_empty() && *lock == Some(t) => *lock = None,
        _ => return,
    }
    all.push(next);
}
