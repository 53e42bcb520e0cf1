//! From the search's finding to a run of the machine.
//!
//! The chain of demands from the initial one to the goal is a run of the dual semantics: who takes
//! which step, in which order. The order of its stores and atomic steps is the order in which
//! memory changes. The time between two of these changes is a *slot*. The machine executes a load
//! in the slot of its view, a store is issued right after the instruction before it, and committed
//! where the dual run has it. Views only have to move forward and to show the right values, so
//! each is taken as early as it can be.

use rustc_hash::FxHashMap;
use weakspot_core::machine::{Schedule, Step};
use weakspot_core::{Location, Model, ThreadId, Value};

use super::demand::Demand;
use super::facts::{ANY, silent_path};
use super::graph::{Graphs, Item, Label};
use super::search::{Back, Demanded, Goal, Origin, Search, Source};

/// What the run to a goal is made of.
pub(super) struct Builder<'g, 'p> {
    graphs: &'g Graphs<'p>,
    /// Per change of memory the steps that make it, from number 1 on.
    changes: Vec<Vec<Step>>,
    /// Per change what it writes; number 0 is the initial memory.
    written: Vec<Vec<Item>>,
    threads: Vec<Vec<Action>>,
    /// Per store its thread and what it stores.
    stores: Vec<(usize, Item)>,
    /// Per store the change that it is part of, unless it stays in the buffer.
    committed: Vec<Option<usize>>,
    at: Vec<u32>,
}

/// A step in the program of one thread.
enum Action {
    Silent(Vec<Step>),
    Load(Step, Item, Source),
    /// A store, with its number among all stores.
    Store(Step, Item, usize),
    /// With the number of its change.
    Atomic(usize),
}

/// The run that the search found, with the goal that it reaches. `None` is a defect.
pub(crate) fn run(search: &Search<'_, '_, '_, Demand>, _: Model) -> Option<(Schedule, Goal)> {
    let graphs = search.graphs;
    let mut id = search.found?;
    let first = search.demand(id);
    let init = initial_values(graphs, &first.initial_memory(graphs)?);
    let mut builder = Builder::new(graphs);
    builder.walk_to(&first.locals)?;
    let goal = loop {
        match search.origin(id) {
            Origin::Goal(g) => break &search.goals[g as usize],
            Origin::Step { back: Back::Commit(..), .. } => return None,
            Origin::Step { next, back: Back::Arc(arc, source) } => {
                if let Some(store) = builder.take(arc, source) {
                    builder.commit(&[store]);
                }
                builder.walk_to(&search.demand(next).locals)?;
                id = next;
            }
        }
    };
    for tail in &goal.tails {
        for &(arc, source) in &tail.arcs {
            builder.walk(tail.thread, graphs.arcs[arc as usize].from)?;
            builder.take(arc, source);
        }
        builder.walk(tail.thread, tail.end)?;
    }
    Some((builder.schedule(init, goal)?, goal.clone()))
}

/// The initial values of the locations, of which some are wanted.
pub(super) fn initial_values(graphs: &Graphs<'_>, wanted: &[Item]) -> Vec<Value> {
    let locs = graphs.program.locs.iter().enumerate();
    let value = |(l, loc): (usize, &Location)| {
        let wanted = wanted.iter().find(|&&i| graphs.loc(i) as usize == l);
        wanted.map_or(loc.init[0], |&i| graphs.value(i))
    };
    locs.map(value).collect()
}

impl<'g, 'p> Builder<'g, 'p> {
    pub(super) fn new(graphs: &'g Graphs<'p>) -> Builder<'g, 'p> {
        let n = graphs.threads.len();
        Builder {
            graphs,
            changes: vec![Vec::new()],
            written: vec![Vec::new()],
            threads: (0..n).map(|_| Vec::new()).collect(),
            stores: Vec::new(),
            committed: Vec::new(),
            at: (0..n).map(|t| graphs.threads[t].init).collect(),
        }
    }

    /// Takes each thread by silent steps to where it has to be.
    pub(super) fn walk_to(&mut self, locals: &[u32]) -> Option<()> {
        locals.iter().enumerate().try_for_each(|(t, &q)| match q {
            ANY => Some(()),
            q => self.walk(t, q),
        })
    }

    fn walk(&mut self, t: usize, to: u32) -> Option<()> {
        if self.at[t] != to {
            let steps = silent_path(self.graphs, t, self.at[t], to)?;
            self.threads[t].push(Action::Silent(steps));
            self.at[t] = to;
        }
        Some(())
    }

    /// Takes an arc. If it is a store, returns its number: it has yet to reach memory.
    pub(super) fn take(&mut self, arc: u32, source: Source) -> Option<usize> {
        let arc = self.graphs.arcs[arc as usize];
        let t = arc.thread as usize;
        let mut store = None;
        let action = match arc.label {
            Label::Silent | Label::Barrier => Action::Silent(vec![arc.step]),
            Label::Load(item) => Action::Load(arc.step, item, source),
            Label::Store(item) => {
                let number = self.committed.len();
                self.committed.push(None);
                self.stores.push((t, item));
                store = Some(number);
                Action::Store(arc.step, item, number)
            }
            Label::Atomic(a) => {
                let atomic = &self.graphs.atomics[a as usize];
                self.changes.push(atomic.steps.clone());
                self.written.push(atomic.writes.clone());
                Action::Atomic(self.changes.len() - 1)
            }
        };
        self.threads[t].push(action);
        self.at[t] = arc.to;
        store
    }

    /// These stores of one thread to one location reach memory, one right after the other.
    pub(super) fn commit(&mut self, stores: &[usize]) {
        let change = self.changes.len();
        let step = |&store: &usize| {
            let (t, item) = self.stores[store];
            Step::Commit { thread: ThreadId::new(t), addr: self.graphs.addr(item) }
        };
        self.changes.push(stores.iter().map(step).collect());
        self.written.push(stores.last().map(|&store| self.stores[store].1).into_iter().collect());
        for &store in stores {
            self.committed[store] = Some(change);
        }
    }

    pub(super) fn schedule(&self, init: Vec<Value>, goal: &Goal) -> Option<Schedule> {
        let mut slots: Vec<Vec<Step>> = vec![Vec::new(); self.changes.len()];
        for actions in &self.threads {
            self.place(actions, &init, &mut slots)?;
        }
        let mut steps = Vec::new();
        for (change, slot) in self.changes.iter().zip(slots) {
            steps.extend_from_slice(change);
            steps.extend(slot);
        }
        if let Some(m) = goal.moment {
            steps.extend_from_slice(&self.graphs.moments[m as usize].steps);
        }
        Some(Schedule { init, steps })
    }

    /// Puts the steps of one thread into slots.
    fn place(&self, actions: &[Action], init: &[Value], slots: &mut [Vec<Step>]) -> Option<()> {
        let graphs = self.graphs;
        let mut view = 0;
        // The newest store to each location, and its change.
        let mut newest: FxHashMap<u32, Option<usize>> = FxHashMap::default();
        for action in actions {
            match action {
                Action::Silent(steps) => slots[view].extend_from_slice(steps),
                Action::Load(step, _, Source::Own) => slots[view].push(*step),
                Action::Load(step, item, Source::Memory) => {
                    let own = newest.get(&graphs.loc(*item)).copied();
                    let earliest = own.map_or(Some(0), |change| change)?;
                    let from = view.max(earliest);
                    view = (from..slots.len()).find(|&slot| self.holds(*item, slot, init))?;
                    slots[view].push(*step);
                }
                Action::Store(step, item, store) => {
                    slots[view].push(*step);
                    newest.insert(graphs.loc(*item), self.committed[*store]);
                }
                Action::Atomic(change) => view = *change,
            }
        }
        Some(())
    }

    /// Whether memory holds `item` in this slot.
    fn holds(&self, item: Item, slot: usize, init: &[Value]) -> bool {
        let loc = self.graphs.loc(item);
        let mut writes = self.written[..=slot].iter().rev().flatten();
        match writes.find(|&&w| self.graphs.loc(w) == loc) {
            Some(&write) => write == item,
            None => init.get(loc as usize).copied().unwrap_or(0) == self.graphs.value(item),
        }
    }
}
