//! All executions of a program, together with the [`Summary`] of what conflicts in them, breadth
//! first: is there one with a cycle of transactions?
//!
//! A state is a row of numbers: the memory, who holds the lock, the summary, and the local state of
//! each thread. Each part is stored once. Most events happen in few summaries and vice versa, so what
//! an event makes of a summary is computed once, too. The search is complete if it ends: a state
//! with an open cycle would have been met. Cost: the states of the machine, times the summaries that
//! go with each.

use rustc_hash::FxHashMap;
use weakspot_core::machine::{FailureKind, Schedule, Step};
use weakspot_core::serial::{BufferedReads, Conflicts, relation};
use weakspot_core::{Limit, Limits, Model, Part, ThreadId, TxnKind, Value};

use super::locals::{Act, Locals, What};
use super::marked::Marked;
use super::summary::{Happening, MOST, Summary};
use crate::buffers::space::Stop;
use crate::intern::Interner;
use crate::memory::Memories;
use crate::meter::Meter;

/// How a search ended.
pub(super) enum Searched {
    /// All executions are serializable.
    All,
    /// This execution is not serializable.
    Cycle(Schedule),
    /// A limit ended the search first.
    Limit(Limit),
}

/// Searches executions under a model.
pub(super) fn search(
    marked: &Marked,
    (model, reads): (Model, BufferedReads),
    limits: &Limits,
    meter: &mut Meter<'_>,
) -> Result<Searched, weakspot_core::machine::Failure> {
    let n = marked.program.threads.len();
    let mut search = Search {
        marked,
        relation: relation(model, reads),
        locals: (0..n).map(|t| Locals::new(marked, model, t, limits.buffer)).collect(),
        mems: Memories::new(&marked.program),
        summaries: Interner::new(),
        followed: FxHashMap::default(),
        states: Interner::new(),
        parents: Vec::new(),
        scratch: Vec::new(),
    };
    match search.run(meter) {
        Ok(None) => {
            let full = search.locals.iter().find_map(Locals::limit);
            Ok(full.map_or(Searched::All, Searched::Limit))
        }
        Ok(Some((id, step))) => Ok(Searched::Cycle(search.schedule(id, step, meter))),
        Err(Stop::Limit(limit)) => Ok(Searched::Limit(limit)),
        Err(Stop::Fault(failure)) => Err(failure),
        Err(Stop::OutOfWork) => Ok(Searched::Limit(Limit::Interrupted)),
    }
}

struct Search<'p> {
    marked: &'p Marked,
    relation: Conflicts,
    locals: Vec<Locals<'p>>,
    mems: Memories,
    summaries: Interner<u8>,
    /// By summary and event the next summary, or `CYCLE`.
    followed: FxHashMap<(u32, Happening), u32>,
    states: Interner<u32>,
    parents: Vec<u32>,
    scratch: Vec<u8>,
}

const CYCLE: u32 = u32::MAX;
/// Where things are in a row.
const MEM: usize = 0;
const LOCK: usize = 1;
const SUMMARY: usize = 2;
const LOCALS: usize = 3;

/// A successor of a state.
struct Successor {
    /// `None` if a cycle is closed.
    row: Option<Vec<u32>>,
    step: Step,
    t: usize,
    /// The local state right after the step.
    middle: u32,
}

impl Search<'_> {
    /// A state from which a step closes a cycle, if there is one.
    fn run(&mut self, meter: &mut Meter<'_>) -> Result<Option<(u32, Step)>, Stop> {
        for row in self.initial(meter)? {
            let (id, new) = self.states.insert(&row);
            if new {
                self.parents.push(id);
            }
        }
        // States are numbered in the order in which they are found: breadth first.
        let mut id = 0;
        let mut found = Vec::new();
        while (id as usize) < self.states.len() {
            let row = self.states.get(id).to_vec();
            meter.states += 1;
            let usage = || ((self.states.len() - id as usize) as u64, self.bytes() as u64);
            meter.work(usage).map_err(Stop::Limit)?;
            self.successors(&row, meter, &mut found)?;
            for next in found.drain(..) {
                let Some(row) = next.row else { return Ok(Some((id, next.step))) };
                if self.states.insert(&row).1 {
                    self.parents.push(id);
                }
            }
            id += 1;
        }
        Ok(None)
    }

    fn initial(&mut self, meter: &mut Meter<'_>) -> Result<Vec<Vec<u32>>, Stop> {
        let mut limit = None;
        let mems = self.mems.initial(&self.marked.program, &mut |bytes| {
            limit = meter.work(|| (0, bytes as u64)).err();
            limit.is_none()
        });
        if let Some(limit) = limit {
            return Err(Stop::Limit(limit));
        }
        let summary = Summary::new(self.locals.len(), self.relation);
        let summary = self.intern(&summary);
        let mut rows: Vec<Vec<u32>> = mems.iter().map(|&mem| vec![mem, 0, summary]).collect();
        for locals in &mut self.locals {
            let start = locals.initial();
            let stops = locals.stops(start, &self.mems, meter)?;
            let with = |row: &Vec<u32>| {
                let with = |&stop: &u32| row.iter().copied().chain([stop]).collect::<Vec<u32>>();
                stops.iter().map(with).collect::<Vec<_>>()
            };
            let size = rows.len().saturating_mul(stops.len());
            meter.room(size.saturating_mul(4 * (LOCALS + 8)) as u64).map_err(Stop::Limit)?;
            rows = rows.iter().flat_map(with).collect();
        }
        Ok(rows)
    }

    /// All that may happen next.
    fn successors(
        &mut self,
        row: &[u32],
        meter: &mut Meter<'_>,
        found: &mut Vec<Successor>,
    ) -> Result<(), Stop> {
        for t in 0..self.locals.len() {
            if row[LOCK] != 0 && row[LOCK] as usize != t + 1 {
                continue;
            }
            let local = row[LOCALS + t];
            if let &[loc, value, ..] = self.locals[t].buffer(local) {
                self.commit(row, t, loc as u32, value, found)?;
            }
            for &act in self.locals[t].acts(local, &mut self.mems).iter() {
                self.act(row, t, act, meter, found)?;
            }
        }
        Ok(())
    }

    fn commit(
        &mut self,
        row: &[u32],
        t: usize,
        loc: u32,
        value: Value,
        found: &mut Vec<Successor>,
    ) -> Result<(), Stop> {
        let thread = ThreadId::new(t);
        let middle = self.locals[t].committed(row[LOCALS + t]);
        let last = self.locals[t].is_last(middle, &mut self.mems);
        let (kind, part) = (TxnKind::Commit, Part::Same);
        let event = Happening { thread: thread.0, kind, var: loc, part, ends: false, last };
        let summary = self.follow(row[SUMMARY], event)?;
        let step = Step::Commit { thread, addr: self.mems.addr(loc) };
        let row = summary.map(|summary| {
            let mut next = row.to_vec();
            next[MEM] = self.mems.write(row[MEM], loc, value);
            next[SUMMARY] = summary;
            next[LOCALS + t] = middle;
            next
        });
        found.push(Successor { row, step, t, middle });
        Ok(())
    }

    fn act(
        &mut self,
        row: &[u32],
        t: usize,
        act: Act,
        meter: &mut Meter<'_>,
        found: &mut Vec<Successor>,
    ) -> Result<(), Stop> {
        let local = row[LOCALS + t];
        let (kind, loc) = match act.what {
            What::Read { loc, .. } => (TxnKind::Read, loc),
            What::Store { loc, .. } => (TxnKind::Write, loc),
            What::Update { loc } => (TxnKind::Update, loc),
            // The lock is not re-entrant, and only its owner can free it.
            What::Lock if row[LOCK] != 0 => return Ok(()),
            What::Unlock if row[LOCK] == 0 => return Ok(()),
            What::Fence | What::Lock | What::Unlock | What::Fail(_) => (TxnKind::Fence, 0),
        };
        let seen = if kind.is_access() { self.mems.read(row[MEM], loc) } else { 0 };
        let after = self.locals[t].after(local, act, seen, &self.mems);
        let Some((stored, middle)) = after.map_err(|kind: FailureKind| {
            Stop::Fault(self.locals[t].failure(local, act.edge, kind))
        })?
        else {
            return Ok(());
        };
        let mut next = row.to_vec();
        if let Some(value) = stored {
            next[MEM] = self.mems.write(row[MEM], loc, value);
        }
        match act.what {
            What::Lock => next[LOCK] = t as u32 + 1,
            What::Unlock => next[LOCK] = 0,
            _ => {}
        }
        let thread = ThreadId::new(t);
        let step = Step::Execute { thread, edge: act.edge, choice: 0 };
        for &stop in self.locals[t].stops(middle, &self.mems, meter)?.iter() {
            let ends = !self.locals[t].is_open(stop);
            let last = self.locals[t].is_last(stop, &mut self.mems);
            let event = Happening { thread: thread.0, kind, var: loc, part: act.part, ends, last };
            let summary = self.follow(row[SUMMARY], event)?;
            let row = summary.map(|summary| {
                let mut next = next.clone();
                next[SUMMARY] = summary;
                next[LOCALS + t] = stop;
                next
            });
            found.push(Successor { row, step, t, middle });
        }
        Ok(())
    }

    /// What an event makes of a summary; `None` if it closes a cycle.
    fn follow(&mut self, summary: u32, event: Happening) -> Result<Option<u32>, Stop> {
        if let Some(&known) = self.followed.get(&(summary, event)) {
            return Ok((known != CYCLE).then_some(known));
        }
        let n = self.locals.len();
        let bytes = self.summaries.get(summary);
        let mut next = Summary::decode(n, self.relation, bytes);
        let thread = ThreadId(event.thread);
        let too_many = Limit::Buffer { thread, entries: MOST, unbounded: false };
        let fine = next.follow(event).map_err(|_| Stop::Limit(too_many))?;
        let known = if fine { self.intern(&next) } else { CYCLE };
        self.followed.insert((summary, event), known);
        Ok((known != CYCLE).then_some(known))
    }

    fn intern(&mut self, summary: &Summary) -> u32 {
        let mut bytes = std::mem::take(&mut self.scratch);
        summary.encode(&mut bytes);
        let id = self.summaries.insert(&bytes).0;
        self.scratch = bytes;
        id
    }

    /// The run to a state, and one step more.
    fn schedule(&mut self, mut id: u32, last: Step, meter: &mut Meter<'_>) -> Schedule {
        let mut backwards = vec![vec![last]];
        let mut found = Vec::new();
        while self.parents[id as usize] != id {
            let from = self.parents[id as usize];
            let (before, after) = (self.states.get(from).to_vec(), self.states.get(id).to_vec());
            found.clear();
            // It was computed before, so that nothing can go wrong here but time.
            let _ = self.successors(&before, meter, &mut found);
            let taken = found.iter().find(|next| next.row.as_ref() == Some(&after));
            if let Some(&Successor { step, t, middle, .. }) = taken {
                let mut steps = vec![step];
                steps.extend(self.locals[t].steps_to(middle, after[LOCALS + t]));
                backwards.push(steps);
            }
            id = from;
        }
        let row = self.states.get(id).to_vec();
        let mut first = Vec::new();
        for (t, locals) in self.locals.iter_mut().enumerate() {
            let start = locals.initial();
            first.extend(locals.steps_to(start, row[LOCALS + t]));
        }
        backwards.push(first);
        let init = self.mems.declared(row[MEM]).to_vec();
        Schedule { init, steps: backwards.into_iter().rev().flatten().collect() }
    }

    fn bytes(&self) -> usize {
        self.mems.bytes()
            + self.locals.iter().map(Locals::bytes).sum::<usize>()
            + self.summaries.bytes()
            + self.followed.capacity() * (size_of::<((u32, Happening), u32)>() + 1)
            + self.states.bytes()
            + self.parents.capacity() * 4
    }
}
