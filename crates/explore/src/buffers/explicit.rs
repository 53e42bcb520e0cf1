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

use crate::buffers::alike;
use crate::buffers::local::Move;
use crate::buffers::space::{Effect, Ended, Space, Stop, Until};
use crate::buffers::turn::Turn;
use crate::intern::Interner;
use crate::keep::{In, NotKept, Out};
use crate::meter::Meter;

/// Who makes a value of a sampled location become lost.
const NOBODY: u32 = u32::MAX;

/// A finished or interrupted search.
pub(crate) struct Explicit<'p> {
    pub(crate) space: Space<'p>,
    states: Interner<u32>,
    /// Per state the state before it and the thread that moved, or [`NOBODY`]; roots point at
    /// themselves.
    parents: Vec<(u32, u32)>,
    /// If there are threads that are alike: per state the place of each thread in the state
    /// before it.
    places: Vec<u16>,
    /// The observed final states, each with a state that has it.
    rows: FxHashMap<Vec<Value>, u32>,
    /// The first state that is forbidden, with the steps from it into a block if need be.
    pub(crate) forbidden: Option<(u32, Vec<Step>)>,
    /// Whether silent steps go first. Not if a violation is looked for: control points must be
    /// seen together with those of all others, and a thread that is silent for ever would keep
    /// the others from failing their assertions.
    reduce: bool,
    /// Whether forbidden control points are looked for.
    points_count: bool,
    /// The first state that was not looked at.
    next: u32,
}

impl<'p> Explicit<'p> {
    /// Before its first state.
    pub(crate) fn new(program: &'p Program, model: Model, buffer: usize, until: Until) -> Self {
        Explicit {
            space: Space::new(program, model, buffer, until.points_count(program)),
            states: Interner::new(),
            parents: Vec::new(),
            places: Vec::new(),
            rows: FxHashMap::default(),
            forbidden: None,
            reduce: !until.violation,
            points_count: until.points_count(program),
            next: 0,
        }
    }

    /// Searches until done, stopped, or `until` is met.
    pub(crate) fn search(&mut self, until: Until, turn: &Turn<'_>, meter: &mut Meter<'_>) -> Ended {
        match self.run(until, turn, meter) {
            Ok(()) => Ended::Complete,
            Err(Stop::OutOfWork) => Ended::OutOfWork,
            Err(stop) => Ended::Stopped(stop),
        }
    }

    fn run(&mut self, until: Until, turn: &Turn<'_>, meter: &mut Meter<'_>) -> Result<(), Stop> {
        if self.next == 0 {
            self.add_initial(meter)?;
        }
        let n = self.space.threads.len();
        // States are numbered in the order in which they are found: breadth first.
        while (self.next as usize) < self.states.len() {
            let id = self.next;
            if turn.is_due(id, 256) {
                turn.keep(meter.states, |out| self.keep(out));
            }
            let state = self.states.get(id).to_vec();
            meter.states += 1;
            let usage = || ((self.states.len() - id as usize) as u64, self.bytes() as u64);
            if let Err(limit) = meter.work(usage) {
                if id > 0 {
                    turn.keep(meter.states - 1, |out| self.keep(out));
                }
                return Err(Stop::Limit(limit));
            }
            self.note(id, &state, meter)?;
            let silent = (0..n).find(|&t| self.only_silent(t, state[t + 1]));
            let enough = match silent {
                Some(t) => self.expand(id, &state, t, meter)?,
                None => false,
            };
            for t in (0..n).filter(|&t| !enough && Some(t) != silent) {
                self.expand(id, &state, t, meter)?;
            }
            if !enough {
                for mem in self.space.mems.losses(state[0]) {
                    let mut lost = state.clone();
                    lost[0] = mem;
                    self.add(lost, Some((id, NOBODY)));
                }
            }
            if until.violation && (self.forbidden.is_some() || self.space.assertion.is_some()) {
                return Ok(());
            }
            if self.states.len() as u64 > until.work {
                return Err(Stop::OutOfWork);
            }
            self.next += 1;
        }
        self.look_for_growth();
        Ok(())
    }

    fn add_initial(&mut self, meter: &mut Meter<'_>) -> Result<(), Stop> {
        let n = self.space.threads.len();
        for mem in self.space.initial_memories(meter)? {
            let mut state = vec![mem];
            for t in 0..n {
                let t = self.space.alike.first[t];
                state.push(self.space.threads[t].initial());
            }
            self.add(state, None);
        }
        Ok(())
    }

    /// Writes the search as it is between two states, before anything forbidden was found.
    fn keep(&self, out: &mut Out<'_>) {
        self.space.keep(out);
        out.number(self.next.into());
        out.number(self.states.len() as u64);
        for id in 0..self.states.len() {
            self.states.get(id as u32).iter().for_each(|&part| out.number(part.into()));
            let (from, thread) = self.parents[id];
            out.number((id as u32 - from).into());
            out.number(thread.into());
        }
        self.places.iter().for_each(|&place| out.number(place.into()));
        out.number(self.rows.len() as u64);
        for (row, &id) in &self.rows {
            row.iter().for_each(|&value| out.value(value));
            out.number(id.into());
        }
    }

    /// Reads it, before the first state.
    pub(crate) fn resume(
        &mut self,
        from: &mut In<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<(), NotKept> {
        self.space.resume(from, meter)?;
        let n = self.space.threads.len();
        self.next = from.at_most(u32::MAX)?;
        let count = from.at_most(u32::MAX)?;
        let mut state = vec![0; n + 1];
        for id in 0..count {
            meter.work(|| (0, self.bytes() as u64)).map_err(NotKept::Limit)?;
            for part in &mut state {
                *part = from.at_most(u32::MAX)?;
            }
            let back = from.at_most(id)?;
            let thread = from.at_most(NOBODY)?;
            let is_good = self.space.is_memory(state[0])
                && (0..n).all(|t| self.space.stands_for(t, state[t + 1]))
                && (thread == NOBODY || (thread as usize) < n);
            if !is_good || self.states.insert(&state).0 != id {
                return Err(NotKept::Damaged);
            }
            self.parents.push((id - back, thread));
        }
        if !self.space.alike.classes.is_empty() {
            for _ in 0..count as usize * n {
                self.places.push(from.at_most(n as u32 - 1)? as u16);
            }
        }
        let width = self.space.program.observed.len();
        for _ in 0..from.at_most(u32::MAX)? {
            let row = (0..width).map(|_| from.value()).collect::<Result<_, _>>()?;
            let id = from.at_most(count.saturating_sub(1))?;
            self.rows.insert(row, id);
        }
        if self.next == 0 || self.next >= count { Err(NotKept::Damaged) } else { Ok(()) }
    }

    /// If a buffer was full, looks for proof that it can grow for ever, from some of the states.
    fn look_for_growth(&mut self) {
        for t in 0..self.space.threads.len() {
            for id in 0..self.states.len().min(64) as u32 {
                let first = self.space.alike.first[t] == t;
                if first && self.space.threads[t].was_full && !self.space.threads[t].unbounded {
                    let (mem, local) = (self.states.get(id)[0], self.states.get(id)[t + 1]);
                    self.space.threads[t].look_for_growth(&[local], mem, &mut self.space.mems);
                }
            }
        }
    }

    fn only_silent(&mut self, t: usize, local: u32) -> bool {
        let t = self.space.alike.first[t];
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
        if self.space.alike.repeats(&state[1..], t) {
            return Ok(true);
        }
        let mut successors: Vec<(u32, u32)> = Vec::new();
        let first = self.space.alike.first[t];
        self.space.effects(first, state[t + 1], state[0], meter, &mut |effect| {
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
            all_new &= self.add(next_state.clone(), Some((from, t as u32)));
        }
        Ok(all_new)
    }

    /// Adds a state; true if it is new.
    fn add(&mut self, mut state: Vec<u32>, from: Option<(u32, u32)>) -> bool {
        let places = self.space.alike.sort(&mut state[1..]);
        let (id, new) = self.states.insert(&state);
        if new {
            self.parents.push(from.unwrap_or((id, 0)));
            self.places.extend(places.unwrap_or_default());
        }
        new
    }

    /// Notes what is asked about a state.
    fn note(&mut self, id: u32, state: &[u32], meter: &mut Meter<'_>) -> Result<(), Stop> {
        let n = self.space.threads.len();
        let first = self.space.alike.first.clone();
        let is_final = |s: &Space<'_>, t: usize| s.threads[first[t]].is_final(state[t + 1]);
        if (0..n).all(|t| is_final(&self.space, t)) {
            self.add_row(id, state[0], |s, t| s.threads[first[t]].regs(state[t + 1]).to_vec());
        }
        let point = |t: usize| self.space.threads[first[t]].point(state[t + 1]);
        let points: Vec<_> = (0..n).map(point).collect();
        let program = self.space.program;
        let points_count = self.points_count;
        let met = |at: &dyn Fn(usize) -> PointId| {
            points_count
                && program.forbidden.iter().any(|c| (0..n).all(|t| c[t].is_none_or(|w| w == at(t))))
        };
        if self.forbidden.is_none() && met(&|t| points[t]) {
            self.forbidden = Some((id, Vec::new()));
        }
        for t in 0..n {
            for i in self.space.threads[first[t]].moves(state[t + 1], &mut self.space.mems) {
                let Move::Block { edge } = self.space.threads[first[t]].get(i) else { continue };
                let runs = self.space.block(first[t], state[t + 1], edge, state[0], meter)?;
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
                            false => s.threads[first[u]].regs(state[u + 1]).to_vec(),
                        });
                    }
                }
            }
        }
        Ok(())
    }

    fn add_row(&mut self, id: u32, mem: u32, regs: impl Fn(&Space<'_>, usize) -> Vec<Value>) {
        if !self.space.may_be_final(mem) {
            return;
        }
        let mut row = vec![0; self.space.program.observed.len()];
        let put = |row: &mut Vec<Value>, columns: &[usize], values: &[Value]| {
            for (&c, &v) in columns.iter().zip(values) {
                row[c] = v;
            }
        };
        let columns = self.space.columns(None);
        put(&mut row, &columns, &self.space.observe_memory(&columns, mem));
        let columns: Vec<Vec<usize>> =
            (0..self.space.threads.len()).map(|t| self.space.columns(Some(t))).collect();
        let mut values: Vec<Vec<Value>> = Vec::new();
        for t in 0..columns.len() {
            let first = &columns[self.space.alike.first[t]];
            values.push(self.space.observe_regs(first, &regs(&self.space, t)));
        }
        // Threads that are alike may change places: each place is named by an equal one.
        let number = |t: usize| values.iter().position(|v| *v == values[t]).unwrap_or(t) as u32;
        let parts: Vec<u32> = (0..columns.len()).map(number).collect();
        let rows = &mut self.rows;
        self.space.alike.arrangements(&parts, &mut |parts| {
            for (columns, &part) in columns.iter().zip(parts) {
                put(&mut row, columns, &values[part as usize]);
            }
            if !rows.contains_key(&row) {
                rows.insert(row.clone(), id);
            }
            true
        });
    }

    /// A run that ends in a final state with `outcome`.
    pub(crate) fn run_to(&mut self, outcome: &[Value]) -> Option<Schedule> {
        let id = *self.rows.get(outcome)?;
        let space = &self.space;
        let state = self.states.get(id);
        let columns: Vec<Vec<usize>> =
            (0..space.threads.len()).map(|t| space.columns(Some(t))).collect();
        let who = space.alike.assign(columns.len(), &mut |place, thread| {
            let first = space.alike.first[place];
            let regs = space.threads[first].regs(state[place + 1]);
            let values = space.observe_regs(&columns[first], regs);
            columns[thread].iter().zip(values).all(|(&c, v)| outcome[c] == v)
        });
        // A thread that ends inside of a block is elsewhere.
        let who = who.unwrap_or_else(|| (0..columns.len()).collect());
        let run = self.run_to_state(id, who)?;
        Some(self.space.with_quiet_commits(run))
    }

    /// A run that ends in the violation at which the search stopped.
    pub(crate) fn run_to_violation(&mut self) -> Option<Schedule> {
        let n = self.space.threads.len();
        let (id, steps) = match (&self.forbidden, &self.space.assertion) {
            (Some(found), _) => found.clone(),
            (None, Some(failed)) => {
                let alike = &self.space.alike;
                let at = |id: u32| {
                    let state = self.states.get(id);
                    let stands = |&t: &usize| {
                        alike.first[t] == failed.thread && state[t + 1] == failed.local
                    };
                    (0..n).filter(|_| state[0] == failed.mem).find(stands).map(|t| (id, t))
                };
                let (id, place) = (0..self.states.len() as u32).find_map(at)?;
                (id, failed.steps.iter().map(|&step| alike::by(place, step)).collect())
            }
            (None, None) => return None,
        };
        let mut run = self.run_to_state(id, (0..n).collect())?;
        run.steps.extend(steps);
        Some(self.space.with_quiet_commits(run))
    }

    /// A run to a state at whose places the threads `who` stand.
    fn run_to_state(&mut self, mut id: u32, mut who: Vec<usize>) -> Option<Schedule> {
        let n = who.len();
        let mut backwards: Vec<Vec<Step>> = Vec::new();
        loop {
            let (from, t) = self.parents[id as usize];
            if from == id {
                break;
            }
            let (before, after) = (self.states.get(from).to_vec(), self.states.get(id).to_vec());
            let place = |place: usize| {
                self.places.get(id as usize * n + place).map_or(place, |&p| usize::from(p))
            };
            let mut earlier = vec![0; n];
            let mut moved = None;
            for (p, &thread) in who.iter().enumerate() {
                earlier[place(p)] = thread;
                moved = moved.or((place(p) == t as usize).then_some(after[p + 1]));
            }
            who = earlier;
            if let Some(next) = moved {
                let t = t as usize;
                let first = self.space.alike.first[t];
                let moves = self.space.moves_with_steps(first, before[t + 1], before[0]);
                let taken = moves.into_iter().find(|m| m.mem == after[0] && m.next == next)?;
                backwards.push(taken.steps.iter().map(|&s| alike::by(who[t], s)).collect());
            }
            id = from;
        }
        let init = self.space.mems.declared(self.states.get(id)[0]).to_vec();
        Some(Schedule { init, steps: backwards.into_iter().rev().flatten().collect() })
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        let rows = self.rows.capacity() * (self.space.program.observed.len() * 8 + 48);
        self.space.bytes() + self.states.bytes() + self.parents.capacity() * 10 + rows
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
