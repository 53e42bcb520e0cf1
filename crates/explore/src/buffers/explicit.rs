//! All final states, by plain search, breadth first: every state of the machine once, as a row of numbers (the
//! memory, then one local state per thread). Interned parts make a state a few words however
//! long its buffers are.
//!
//! One reduction: where all that a thread can do is silent, nothing else needs to be tried first,
//! because a silent step commutes with every step of the others and disables none. The usual
//! proviso keeps a thread that runs in silent circles from starving the rest: the other threads
//! are left out only if the silent steps lead to new states.

use rustc_hash::FxHashMap;
use weakspot_core::machine::{Schedule, Step};
use weakspot_core::{Factor, Model, OutcomeSet, PointId, Program, Value};

use crate::buffers::local::Move;
use crate::buffers::space::{Effect, Ended, Space, Stop, Until};
use crate::intern::Interner;
use crate::meter::Meter;

/// A finished or interrupted search.
pub(crate) struct Explicit<'p> {
    pub(crate) space: Space<'p>,
    states: Interner<u32>,
    /// Per state the state before it and the thread that moved; roots point at themselves.
    parents: Vec<(u32, u32)>,
    /// The observed final states, each with a state that has it.
    rows: FxHashMap<Vec<Value>, u32>,
    /// The first state that is forbidden, with the steps from it into a block if need be.
    pub(crate) forbidden: Option<(u32, Vec<Step>)>,
    /// Whether silent steps go first. Not if a violation is looked for: control points must be
    /// seen together with those of all others, and a thread that is silent for ever would keep
    /// the others from failing their assertions.
    reduce: bool,
}

/// Searches until done, stopped, or `until` is met.
pub(crate) fn search<'p>(
    program: &'p Program,
    model: Model,
    buffer: usize,
    until: Until,
    meter: &mut Meter<'_>,
) -> (Explicit<'p>, Ended) {
    let mut search = Explicit {
        space: Space::new(program, model, buffer),
        states: Interner::new(),
        parents: Vec::new(),
        rows: FxHashMap::default(),
        forbidden: None,
        reduce: !until.violation && program.forbidden.is_empty(),
    };
    let ended = match search.run(until, meter) {
        Ok(()) => Ended::Complete,
        Err(Stop::OutOfWork) => Ended::OutOfWork,
        Err(stop) => Ended::Stopped(stop),
    };
    (search, ended)
}

impl Explicit<'_> {
    fn run(&mut self, until: Until, meter: &mut Meter<'_>) -> Result<(), Stop> {
        let n = self.space.threads.len();
        for mem in self.space.initial_memories(meter)? {
            let mut state = vec![mem];
            state.extend((0..n).map(|t| self.space.threads[t].initial()));
            let (id, new) = self.states.insert(&state);
            if new {
                self.parents.push((id, 0));
            }
        }
        // States are numbered in the order in which they are found: breadth first.
        let mut id = 0;
        while (id as usize) < self.states.len() {
            let state = self.states.get(id).to_vec();
            meter.states += 1;
            let usage = || ((self.states.len() - id as usize) as u64, self.bytes() as u64);
            meter.work(usage).map_err(Stop::Limit)?;
            self.note(id, &state, meter)?;
            let silent = (0..n).find(|&t| self.only_silent(t, state[t + 1]));
            let enough = match silent {
                Some(t) => self.expand(id, &state, t, meter)?,
                None => false,
            };
            for t in (0..n).filter(|&t| !enough && Some(t) != silent) {
                self.expand(id, &state, t, meter)?;
            }
            if until.violation && (self.forbidden.is_some() || self.space.assertion.is_some()) {
                return Ok(());
            }
            if self.states.len() as u64 > until.work {
                return Err(Stop::OutOfWork);
            }
            id += 1;
        }
        self.look_for_growth();
        Ok(())
    }

    /// If a buffer was full, looks for proof that it can grow for ever, from some of the states.
    fn look_for_growth(&mut self) {
        for t in 0..self.space.threads.len() {
            for id in 0..self.states.len().min(64) as u32 {
                if self.space.threads[t].was_full && !self.space.threads[t].unbounded {
                    let (mem, local) = (self.states.get(id)[0], self.states.get(id)[t + 1]);
                    self.space.threads[t].look_for_growth(&[local], mem, &mut self.space.mems);
                }
            }
        }
    }

    fn only_silent(&mut self, t: usize, local: u32) -> bool {
        let mut moves = self.space.threads[t].moves(local, &mut self.space.mems);
        self.reduce
            && !moves.is_empty()
            && moves.all(|i| matches!(self.space.threads[t].get(i), Move::Silent { .. }))
    }

    /// Adds the new states to which thread `t` leads; true if all of them are new.
    fn expand(
        &mut self,
        from: u32,
        state: &[u32],
        t: usize,
        meter: &mut Meter<'_>,
    ) -> Result<bool, Stop> {
        let mut successors: Vec<(u32, u32)> = Vec::new();
        self.space.effects(t, state[t + 1], state[0], meter, &mut |effect| {
            successors.push(match effect {
                Effect::Local(next) => (state[0], next),
                Effect::Memory(mem, next) => (mem, next),
            });
        })?;
        let mut all_new = true;
        let mut next_state = state.to_vec();
        for (mem, next) in successors {
            next_state[0] = mem;
            next_state[t + 1] = next;
            let (_, new) = self.states.insert(&next_state);
            all_new &= new;
            if new {
                self.parents.push((from, t as u32));
            }
        }
        Ok(all_new)
    }

    /// Notes what is asked about a state.
    fn note(&mut self, id: u32, state: &[u32], meter: &mut Meter<'_>) -> Result<(), Stop> {
        let n = self.space.threads.len();
        let is_final = |s: &Space<'_>, t: usize| s.threads[t].is_final(state[t + 1]);
        if (0..n).all(|t| is_final(&self.space, t)) {
            self.add_row(id, state[0], |s, t| s.threads[t].regs(state[t + 1]).to_vec());
        }
        let points: Vec<_> = (0..n).map(|t| self.space.threads[t].point(state[t + 1])).collect();
        let program = self.space.program;
        let met = |at: &dyn Fn(usize) -> PointId| {
            program.forbidden.iter().any(|c| (0..n).all(|t| c[t].is_none_or(|w| w == at(t))))
        };
        if self.forbidden.is_none() && met(&|t| points[t]) {
            self.forbidden = Some((id, Vec::new()));
        }
        for t in 0..n {
            for i in self.space.threads[t].moves(state[t + 1], &mut self.space.mems) {
                let Move::Block { edge } = self.space.threads[t].get(i) else { continue };
                let runs = self.space.block(t, state[t + 1], edge, state[0], meter)?;
                for (point, steps) in &runs.points {
                    if self.forbidden.is_none() && met(&|u| if u == t { *point } else { points[u] })
                    {
                        self.forbidden = Some((id, steps.clone()));
                    }
                }
                if (0..n).all(|u| u == t || is_final(&self.space, u)) {
                    for (mem, regs, _) in &runs.ends {
                        self.add_row(id, *mem, |s, u| match u == t {
                            true => regs.clone(),
                            false => s.threads[u].regs(state[u + 1]).to_vec(),
                        });
                    }
                }
            }
        }
        Ok(())
    }

    fn add_row(&mut self, id: u32, mem: u32, regs: impl Fn(&Space<'_>, usize) -> Vec<Value>) {
        let mut row = vec![0; self.space.program.observed.len()];
        let mut put = |columns: Vec<usize>, values: Vec<Value>| {
            for (c, v) in columns.into_iter().zip(values) {
                row[c] = v;
            }
        };
        let columns = self.space.columns(None);
        let values = self.space.observe_memory(&columns, mem);
        put(columns, values);
        for t in 0..self.space.threads.len() {
            let columns = self.space.columns(Some(t));
            let values = self.space.observe_regs(&columns, &regs(&self.space, t));
            put(columns, values);
        }
        self.rows.entry(row).or_insert(id);
    }

    /// A run that ends in a final state with `outcome`.
    pub(crate) fn run_to(&mut self, outcome: &[Value]) -> Option<Schedule> {
        let id = *self.rows.get(outcome)?;
        self.run_to_state(id)
    }

    /// A run that ends in the violation at which the search stopped.
    pub(crate) fn run_to_violation(&mut self) -> Option<Schedule> {
        let (id, steps) = match (&self.forbidden, &self.space.assertion) {
            (Some(found), _) => found.clone(),
            (None, Some(failed)) => {
                let at = |id: &u32| {
                    let state = self.states.get(*id);
                    state[0] == failed.mem && state[failed.thread + 1] == failed.local
                };
                ((0..self.states.len() as u32).find(at)?, failed.steps.clone())
            }
            (None, None) => return None,
        };
        let mut run = self.run_to_state(id)?;
        run.steps.extend(steps);
        Some(run)
    }

    fn run_to_state(&mut self, mut id: u32) -> Option<Schedule> {
        let mut backwards = Vec::new();
        loop {
            let (from, t) = self.parents[id as usize];
            if from == id {
                break;
            }
            let (before, after) = (self.states.get(from).to_vec(), self.states.get(id).to_vec());
            let t = t as usize;
            let moves = self.space.moves_with_steps(t, before[t + 1], before[0]);
            let taken = moves.into_iter().find(|m| m.mem == after[0] && m.next == after[t + 1])?;
            backwards.push(taken.steps);
            id = from;
        }
        let init = self.space.mems.declared(self.states.get(id)[0]).to_vec();
        Some(Schedule { init, steps: backwards.into_iter().rev().flatten().collect() })
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        let rows = self.rows.capacity() * (self.space.program.observed.len() * 8 + 48);
        self.space.bytes() + self.states.bytes() + self.parents.capacity() * 8 + rows
    }

    /// How many final states were found.
    pub(crate) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The final states that were found, as many as `go_on` allows.
    pub(crate) fn outcomes(&self, go_on: &mut dyn FnMut(usize, usize) -> bool) -> OutcomeSet {
        let width = self.space.program.observed.len();
        let columns: Vec<usize> = (0..width).collect();
        let rows: Vec<Vec<Value>> = self.rows.keys().cloned().collect();
        OutcomeSet::union(width, &[vec![Factor { columns: &columns, rows: &rows }]], go_on)
    }
}
