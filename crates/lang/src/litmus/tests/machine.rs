//! A store-buffer machine of a page, straight from the definitions, to see what programs mean.

use std::collections::{BTreeSet, HashSet};

use weakspot_core::{Fence, Instr, Observable, Program, Quantifier, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Model {
    Sc,
    Tso,
    Pso,
}

/// What all runs of a program come to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outcomes {
    pub(super) states: BTreeSet<Vec<Value>>,
    pub(super) faults: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Entry {
    Write(Value, Value),
    /// Keeps what is before it in PSO before what is after it.
    Bar,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    points: Vec<usize>,
    regs: Vec<Vec<Value>>,
    buffers: Vec<Vec<Entry>>,
    memory: Vec<Value>,
}

pub(super) fn run(program: &Program, model: Model) -> Outcomes {
    let start = State {
        points: program.threads.iter().map(|t| t.entry.index()).collect(),
        regs: program.threads.iter().map(|t| t.regs.clone()).collect(),
        buffers: vec![Vec::new(); program.threads.len()],
        memory: program.locs.iter().map(|l| l.init[0]).collect(),
    };
    let mut outcomes = Outcomes::default();
    let mut seen = HashSet::from([start.clone()]);
    let mut todo = vec![start];
    while let Some(state) = todo.pop() {
        let mut next = Vec::new();
        let mut done = true;
        for t in 0..state.points.len() {
            flush(program, model, &state, t, &mut next);
            let edges = &program.threads[t].points[state.points[t]].edges;
            done &= edges.is_empty() && state.buffers[t].is_empty();
            for edge in edges {
                let mut after = state.clone();
                after.points[t] = edge.to.index();
                match step(program, model, &mut after, t, &edge.instr) {
                    Some(true) => next.push(after),
                    Some(false) => {}
                    None => outcomes.faults = true,
                }
            }
        }
        if done {
            outcomes.states.insert(observe(program, &state));
        }
        for state in next {
            if seen.insert(state.clone()) {
                todo.push(state);
            }
        }
        assert!(seen.len() < 2_000_000, "too many states");
    }
    outcomes
}

/// `Observation` as litmus tools give it, and whether the condition is met.
pub(super) fn judge(program: &Program, outcomes: &Outcomes) -> (&'static str, bool) {
    let condition = program.condition.as_ref().expect("litmus tests have conditions");
    let holds = |s: &Vec<Value>| condition.prop.eval(s) != Ok(0);
    let good = outcomes.states.iter().filter(|s| holds(s)).count();
    let observation = match good {
        0 => "Never",
        n if n == outcomes.states.len() => "Always",
        _ => "Sometimes",
    };
    let ok = match condition.quantifier {
        Quantifier::Exists => good > 0,
        Quantifier::NotExists => good == 0,
        Quantifier::Forall => good == outcomes.states.len(),
    };
    (observation, ok)
}

fn observe(program: &Program, state: &State) -> Vec<Value> {
    let value = |o: &Observable| match o {
        Observable::Reg(t, r) => state.regs[t.index()][r.index()],
        Observable::Loc(l) => state.memory[l.index()],
    };
    program.observed.iter().map(|o| o.view.apply(value(&o.what))).collect()
}

fn flush(program: &Program, model: Model, state: &State, t: usize, next: &mut Vec<State>) {
    let mut addrs = Vec::new();
    for (i, entry) in state.buffers[t].iter().enumerate() {
        match entry {
            Entry::Bar if i == 0 => {
                let mut after = state.clone();
                after.buffers[t].remove(0);
                next.push(after);
                return;
            }
            Entry::Bar => return,
            Entry::Write(addr, value) => {
                if !addrs.contains(addr) {
                    let mut after = state.clone();
                    after.buffers[t].remove(i);
                    after.memory[program.loc_at(*addr).expect("checked").index()] = *value;
                    next.push(after);
                }
                addrs.push(*addr);
                if model == Model::Tso {
                    return;
                }
            }
        }
    }
}

/// Takes a step: whether it was possible, or `None` for a fault.
fn step(program: &Program, model: Model, s: &mut State, t: usize, instr: &Instr) -> Option<bool> {
    let regs = s.regs[t].clone();
    match instr {
        Instr::Nop => {}
        Instr::Assign { reg, value } => s.regs[t][reg.index()] = value.eval(&regs).ok()?,
        Instr::Assume(e) => return Some(e.eval(&regs).ok()? != 0),
        Instr::Load { reg, addr } => {
            let addr = addr.eval(&regs).ok()?;
            let loc = program.loc_at(addr)?;
            let own = s.buffers[t].iter().rev().find_map(|e| match e {
                Entry::Write(a, v) if *a == addr => Some(*v),
                _ => None,
            });
            s.regs[t][reg.index()] = own.unwrap_or(s.memory[loc.index()]);
        }
        Instr::Store { addr, value } => {
            let addr = addr.eval(&regs).ok()?;
            let value = value.eval(&regs).ok()?;
            let loc = program.loc_at(addr)?;
            match model {
                Model::Sc => s.memory[loc.index()] = value,
                _ => s.buffers[t].push(Entry::Write(addr, value)),
            }
        }
        Instr::Update { reg, addr, value } => {
            if !s.buffers[t].is_empty() {
                return Some(false);
            }
            let loc = program.loc_at(addr.eval(&regs).ok()?)?;
            s.regs[t][reg.index()] = s.memory[loc.index()];
            s.memory[loc.index()] = value.eval(&s.regs[t]).ok()?;
        }
        Instr::Fence(Fence::Full) => return Some(s.buffers[t].is_empty()),
        Instr::Fence(Fence::StoreStore) => {
            if model == Model::Pso && !s.buffers[t].is_empty() {
                s.buffers[t].push(Entry::Bar);
            }
        }
        other => panic!("litmus tests do not compile to {other:?}"),
    }
    Some(true)
}
