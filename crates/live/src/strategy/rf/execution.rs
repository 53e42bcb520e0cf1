//! An execution as a graph: its events, what each needs, and which write each of them reads from.
//!
//! The bytes that are accessed are cut into *cells*: no access has a part of one. A read reads each
//! of its cells from a write, or what was there at the beginning. An event needs the one before it
//! of its agent, what had to be done before it was possible (the creation of its thread, the end of
//! the thread that it joins, the store that it commits, the commits that a fence waits for, whatever
//! let it go on when it could not), and the writes that it reads from. All that together is its
//! *past*, kept as a clock: how many events of each agent.
//!
//! With buffers, a load reads from its thread's own store if that is the last to leave, or has not
//! left: whether it has makes no difference. What others read is the commit.

use rustc_hash::FxHashMap;

use crate::{Agent, Next, Op, OpKind};

/// No event; as a write that is read from, what was there at the beginning.
pub(super) const NONE: u32 = u32::MAX;

/// An event in all executions that have it: whose, and which one of it, from 1.
pub(super) type Id = (Agent, u32);

#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) id: Id,
    pub(super) op: Op,
    slot: usize,
    /// What it needs but for what it reads, by place.
    pub(super) needs: Vec<u32>,
    /// Its cells, from the first to before the second.
    pub(super) cells: (usize, usize),
    /// What it reads in each of its cells, if it reads.
    pub(super) from: Vec<u32>,
    /// Of a store in a buffer its commit, of a commit its store.
    pub(super) partner: u32,
    /// What let it go on when it waited.
    pub(super) waker: u32,
    /// Whether it writes depends on what it reads.
    pub(super) varies: bool,
}

impl Event {
    /// What comes before it, directly.
    pub(super) fn past(&self) -> impl Iterator<Item = u32> {
        let all = self.needs.iter().chain(&self.from).copied().chain([self.waker]);
        all.filter(|&p| p != NONE)
    }
}

/// What an event reads where: the first byte, how many, and from whom.
pub(super) type Part = (u64, u64, Option<Id>);

#[derive(Clone, Debug, Default)]
pub(super) struct Execution {
    /// Those that took place, in order, and then what was about to be done.
    pub(super) events: Vec<Event>,
    /// How many of them took place.
    pub(super) taken: usize,
    /// Where cells begin; one more where the last one ends.
    starts: Vec<u64>,
    /// Per cell, who writes it, in order.
    pub(super) writers: Vec<Vec<u32>>,
    places: FxHashMap<Id, u32>,
    agents: usize,
    /// A row per event.
    clocks: Vec<u32>,
    /// The same without what let threads go on that waited in loops, which might be something else; empty
    /// if there is none of that.
    sure: Vec<u32>,
    buffered: bool,
}

/// Whether a step reads its bytes.
pub(super) fn reads(op: Op) -> bool {
    use OpKind::{Acquire, Add, Compare, Read, Release, Update};
    matches!(op.kind, Read | Compare | Update | Add | Acquire | Release)
}

/// What was recorded of an execution.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    pub(super) steps: Vec<(Agent, Op)>,
    /// Of each step, whether it depends on what it reads whether it writes.
    pub(super) varies: Vec<bool>,
    /// Who could go on after so many steps and not before.
    pub(super) woken: Vec<(u32, Agent)>,
}

impl Execution {
    /// The graph of what was recorded, and of what was about to be done.
    pub(super) fn new(record: &Record, left: &[Next], buffered: bool) -> Execution {
        let mut new = Execution { taken: record.steps.len(), buffered, ..Execution::default() };
        let steps = record.steps.iter().copied().chain(left.iter().map(|n| (n.agent, n.op)));
        let steps: Vec<(Agent, Op)> = steps.collect();
        let varies = record.varies.iter().copied().chain(left.iter().map(|n| n.varies));
        new.cut_into_cells(&steps);
        let mut maker = Maker::default();
        for (&(agent, op), varies) in steps.iter().zip(varies) {
            new.add(&mut maker, (agent, op, varies), &record.woken);
        }
        new.set_clocks();
        new
    }

    fn cut_into_cells(&mut self, steps: &[(Agent, Op)]) {
        let touching = || steps.iter().map(|s| s.1).filter(|op| op.touches() && op.len > 0);
        let ends = touching().flat_map(|op| [op.addr, op.addr.saturating_add(op.len.into())]);
        self.starts = ends.collect();
        self.starts.sort_unstable();
        self.starts.dedup();
        self.writers = vec![Vec::new(); self.starts.len()];
    }

    fn cells(&self, op: Op) -> (usize, usize) {
        if !op.touches() || op.len == 0 {
            return (0, 0);
        }
        let at = |addr: u64| self.starts.partition_point(|&start| start < addr);
        (at(op.addr), at(op.addr.saturating_add(op.len.into())))
    }

    /// Whether an event is a store that goes into a buffer.
    pub(super) fn hidden(&self, op: Op) -> bool {
        self.buffered && op.kind == OpKind::Write
    }

    fn add(&mut self, maker: &mut Maker, step: (Agent, Op, bool), woken: &[(u32, Agent)]) {
        let (agent, op, varies) = step;
        let at = self.events.len() as u32;
        let slot = maker.slot(agent);
        let previous = maker.last[slot];
        let index = if previous == NONE { 1 } else { self.events[previous as usize].id.1 + 1 };
        let mut needs = Vec::new();
        needs.extend(Some(previous).filter(|&p| p != NONE));
        if previous == NONE && !agent.is_buffer() {
            let spawns =
                |e: &Event| e.op.kind == OpKind::Spawn && e.op.addr == u64::from(agent.of());
            needs.extend(self.events.iter().rposition(spawns).map(|p| p as u32));
        }
        if op.kind == OpKind::Join {
            needs.extend(maker.last_of(|a| u64::from(a.of()) == op.addr));
        }
        if self.buffered && op.waits() {
            needs.extend(maker.last_of(|a| a.is_buffer() && a.of() == agent.of()));
        }
        let cells = self.cells(op);
        let commits = agent.is_buffer() && matches!(op.kind, OpKind::Commit | OpKind::Free);
        let partner = if commits { self.store_of(agent, op) } else { NONE };
        if partner != NONE {
            needs.push(partner);
            self.needs_of_commit(partner, &mut needs);
            self.events[partner as usize].partner = at;
        }
        let after = if previous == NONE { 0 } else { previous + 1 };
        let last = woken.iter().rfind(|w| w.1 == agent && w.0 > after && w.0 <= at);
        let waker = last.map_or(NONE, |w| w.0 - 1);
        let mut from = Vec::new();
        if reads(op) && (at as usize) < self.taken {
            for cell in cells.0..cells.1 {
                let last = self.writers[cell].last().copied().unwrap_or(NONE);
                let own = self.own_store(agent, at, cell);
                from.push(match own {
                    Some(own) if self.is_last(own, last) => own,
                    Some(own) => {
                        needs.push(self.events[own as usize].partner);
                        last
                    }
                    None => last,
                });
            }
        }
        if op.writes() && !self.hidden(op) && (at as usize) < self.taken {
            for cell in cells.0..cells.1 {
                self.writers[cell].push(at);
            }
        }
        // Who reads something new was let go on by that.
        let new = |&f: &u32| f != NONE && (previous == NONE || f > previous);
        let waker = if from.iter().any(new) { NONE } else { waker };
        let id = (agent, index);
        self.events.push(Event { id, op, slot, needs, cells, from, partner, waker, varies });
        self.places.insert(id, at);
        maker.last[slot] = at;
    }

    /// Whether a thread that has made this store, to a buffer, reads it where this write was last.
    fn is_last(&self, own: u32, last: u32) -> bool {
        let commit = self.events[own as usize].partner;
        commit == NONE || commit == last
    }

    /// The last store of a thread to a cell that went into its buffer, before this place, if nothing
    /// was written there past the buffer since.
    pub(super) fn own_store(&self, agent: Agent, before: u32, cell: usize) -> Option<u32> {
        if !self.buffered {
            return None;
        }
        let mine =
            |e: &Event| e.id.0 == agent && e.op.writes() && (e.cells.0..e.cells.1).contains(&cell);
        let at = self.events[..before as usize].iter().rposition(mine)?;
        self.hidden(self.events[at].op).then_some(at as u32)
    }

    /// The store that a commit is the commit of: the oldest to these bytes.
    fn store_of(&self, agent: Agent, op: Op) -> u32 {
        let found = self.events.iter().position(|e| {
            let same = (e.op.addr, e.op.len) == (op.addr, op.len);
            same && self.hidden(e.op) && e.id.0.of() == agent.of() && e.partner == NONE
        });
        found.map_or(NONE, |at| at as u32)
    }

    /// The commits of what the thread of an event has stored before.
    pub(super) fn commits_of(&self, at: u32) -> Vec<u32> {
        let thread = self.events[at as usize].id.0;
        let stores = self.events[..at as usize].iter().filter(|e| e.id.0 == thread);
        stores.filter(|e| self.hidden(e.op) && e.partner != NONE).map(|e| e.partner).collect()
    }

    /// A commit comes after those of earlier stores of its thread that share bytes with its store, or
    /// that a fence between stores has put before it.
    fn needs_of_commit(&self, store: u32, needs: &mut Vec<u32>) {
        let Event { id, cells, .. } = self.events[store as usize];
        let mut fenced = false;
        for e in self.events[..store as usize].iter().rev().filter(|e| e.id.0 == id.0) {
            fenced |= e.op.kind == OpKind::StoreFence;
            let shares = e.cells.0 < cells.1 && cells.0 < e.cells.1;
            if self.hidden(e.op) && e.partner != NONE && (fenced || shares) {
                needs.push(e.partner);
            }
        }
    }

    fn set_clocks(&mut self) {
        self.agents = self.events.iter().map(|e| e.slot + 1).max().unwrap_or(0);
        self.clocks = self.clocks_of(|_| true);
        if self.events.iter().any(|e| e.waker != NONE) {
            self.sure = self.clocks_of(|(e, p)| p != e.waker || e.from.contains(&p));
        }
    }

    fn clocks_of(&self, counts: impl Fn((&Event, u32)) -> bool) -> Vec<u32> {
        let mut clocks = vec![0; self.agents * self.events.len()];
        for (at, e) in self.events.iter().enumerate() {
            let (before, rest) = clocks.split_at_mut(at * self.agents);
            let row = &mut rest[..self.agents];
            for p in e.past().filter(|&p| counts((e, p))) {
                let other = &before[p as usize * row.len()..][..row.len()];
                row.iter_mut().zip(other).for_each(|(mine, other)| *mine = (*mine).max(*other));
            }
            row[e.slot] = e.id.1;
        }
        clocks
    }

    /// Where an event is.
    pub(super) fn place(&self, id: Id) -> Option<u32> {
        self.places.get(&id).copied()
    }

    /// Whether an event took place.
    pub(super) fn has_taken(&self, id: Id) -> bool {
        self.place(id).is_some_and(|at| (at as usize) < self.taken)
    }

    /// Whether the first is in the past of the second, or is it.
    pub(super) fn before(&self, first: u32, second: u32) -> bool {
        let Event { slot, id, .. } = self.events[first as usize];
        self.clocks[second as usize * self.agents + slot] >= id.1
    }

    /// The same in every execution in which both do the same.
    pub(super) fn surely_before(&self, first: u32, second: u32) -> bool {
        let Event { slot, id, .. } = self.events[first as usize];
        let clocks = if self.sure.is_empty() { &self.clocks } else { &self.sure };
        clocks[second as usize * self.agents + slot] >= id.1
    }

    /// Whether something is freed that another thread stores to, and no order of the two is sure. Which
    /// of them comes first matters, but is not seen in what is read.
    pub(super) fn frees_what_others_store(&self) -> bool {
        let freed = |f: u32| {
            let e = &self.events[f as usize];
            let others = (e.cells.0..e.cells.1).flat_map(|cell| &self.writers[cell]);
            let open = |w: u32| !self.surely_before(w, f) && !self.surely_before(f, w);
            others.copied().any(|w| self.events[w as usize].id.0.of() != e.id.0.of() && open(w))
        };
        let taken = 0..self.taken as u32;
        taken.filter(|&f| self.events[f as usize].op.kind == OpKind::Free).any(freed)
    }

    /// Whether the first is needed by the second for something else than what it reads.
    pub(super) fn needed(&self, first: u32, second: u32) -> bool {
        self.events[second as usize].needs.iter().any(|&p| self.surely_before(first, p))
    }

    /// Adds the past of an event to a set.
    pub(super) fn add_past(&self, at: u32, set: &mut [bool]) {
        if !set[at as usize] {
            for first in 0..=at {
                set[first as usize] |= self.before(first, at);
            }
        }
    }

    /// Adds what an event needs, and not what it reads.
    pub(super) fn add_needs(&self, at: u32, set: &mut [bool]) {
        for &p in &self.events[at as usize].needs {
            self.add_past(p, set);
        }
    }

    fn id_of(&self, from: u32) -> Option<Id> {
        (from != NONE).then(|| self.events[from as usize].id)
    }

    /// What an event reads, with as few parts as possible.
    pub(super) fn parts(&self, at: u32) -> Vec<Part> {
        self.parts_from(at, &self.events[at as usize].from)
    }

    /// The same if it reads its cells from there.
    pub(super) fn parts_from(&self, at: u32, from: &[u32]) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        for (cell, &from) in (self.events[at as usize].cells.0..).zip(from) {
            let (start, len) = (self.starts[cell], self.starts[cell + 1] - self.starts[cell]);
            let from = self.id_of(from);
            match parts.last_mut() {
                Some(last) if last.2 == from => last.1 += len,
                _ => parts.push((start, len, from)),
            }
        }
        parts
    }
}

/// What is known while events are added.
#[derive(Default)]
struct Maker {
    agents: Vec<Agent>,
    last: Vec<u32>,
}

impl Maker {
    fn slot(&mut self, agent: Agent) -> usize {
        let known = self.agents.iter().position(|&a| a == agent);
        known.unwrap_or_else(|| {
            self.agents.push(agent);
            self.last.push(NONE);
            self.agents.len() - 1
        })
    }

    fn last_of(&self, of: impl Fn(Agent) -> bool) -> impl Iterator<Item = u32> {
        let all = self.agents.iter().zip(&self.last);
        all.filter(move |(a, last)| of(**a) && **last != NONE).map(|(_, last)| *last)
    }
}
