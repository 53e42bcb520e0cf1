//! From the search's finding to a run of the machine, under PSO: the steps of the demands from
//! the initial one to the goal. What a demand leaves out of a buffer is committed when the store
//! behind it is.

use weakspot_core::machine::{Entry, Machine, Outcome, Schedule, State, Step};
use weakspot_core::{Model, ThreadId, Value};

use super::facts::{ANY, silent_path};
use super::graph::{Graphs, Item, Label};
use super::pso::PsoDemand;
use super::search::{Back, Demanded, Goal, Origin, Search};

/// A run in the making.
struct Runner<'g, 'p> {
    graphs: &'g Graphs<'p>,
    machine: Machine<'p>,
    state: State,
    steps: Vec<Step>,
    /// Local states in the graphs.
    at: Vec<u32>,
}

/// The run that the search found, with the goal that it reaches. `None` is a defect.
pub(crate) fn run(
    search: &Search<'_, '_, '_, PsoDemand>,
    model: Model,
) -> Option<(Schedule, Goal)> {
    let graphs = search.graphs;
    let mut id = search.found?;
    let mut demand = search.demand(id);
    let initial = demand.initial_memory(graphs)?;
    let init: Vec<Value> = (graphs.program.locs.iter().enumerate())
        .map(|(l, loc)| {
            let wanted = initial.iter().find(|&&i| graphs.loc(i) as usize == l);
            wanted.map_or(loc.init[0], |&i| graphs.value(i))
        })
        .collect();
    let machine = Machine { program: graphs.program, model };
    let mut runner = Runner {
        graphs,
        machine,
        state: machine.initial_state(&init),
        steps: Vec::new(),
        at: graphs.threads.iter().map(|t| t.init).collect(),
    };
    runner.walk_to(demand.locals())?;
    let goal = loop {
        let (next, back) = match search.origin(id) {
            Origin::Goal(g) => break &search.goals[g as usize],
            Origin::Step { next, back } => (next, back),
        };
        let after = search.demand(next);
        match back {
            Back::Arc(arc, _) => runner.follow(arc)?,
            Back::Commit(t, item) => runner.commit(t as usize, item, &demand, &after)?,
        }
        runner.walk_to(after.locals())?;
        (id, demand) = (next, after);
    };
    let mut steps = runner.steps;
    if let Some(m) = goal.moment {
        steps.extend_from_slice(&graphs.moments[m as usize].steps);
    }
    Some((Schedule { init, steps }, goal.clone()))
}

impl Runner<'_, '_> {
    fn take(&mut self, step: Step) -> Option<()> {
        let Outcome::Next(next) = self.machine.take(&self.state, step) else { return None };
        self.state = next;
        self.steps.push(step);
        Some(())
    }

    /// Takes each thread by silent steps to where it has to be.
    fn walk_to(&mut self, locals: &[u32]) -> Option<()> {
        for (t, &to) in locals.iter().enumerate() {
            if to != ANY && self.at[t] != to {
                for step in silent_path(self.graphs, t, self.at[t], to)? {
                    self.take(step)?;
                }
                self.at[t] = to;
            }
        }
        Some(())
    }

    fn follow(&mut self, arc: u32) -> Option<()> {
        let graphs = self.graphs;
        let arc = graphs.arcs[arc as usize];
        // A thread that may be anywhere walks to where its step begins.
        let t = arc.thread as usize;
        if self.at[t] != arc.from {
            for step in silent_path(graphs, t, self.at[t], arc.from)? {
                self.take(step)?;
            }
        }
        match arc.label {
            Label::Atomic(a) => {
                for &step in &graphs.atomics[a as usize].steps {
                    self.take(step)?;
                }
            }
            _ => self.take(arc.step)?,
        }
        self.at[t] = arc.to;
        Some(())
    }

    /// Commits `item`, and what was left out before it.
    fn commit(
        &mut self,
        t: usize,
        item: Item,
        before: &PsoDemand,
        after: &PsoDemand,
    ) -> Option<()> {
        let loc = self.graphs.loc(item);
        let (addr, value) = (self.graphs.addr(item), self.graphs.value(item));
        let (before, after) = (&before.buffers[t].segments, &after.buffers[t].segments);
        let nothing_is_left = before.len() > after.len()
            || after[0].items(loc).is_empty() && (after.len() > 1 || after[0].is_closed(loc));
        let oldest = self.state.threads[t].buffer.iter();
        let oldest = oldest.take_while(|e| !matches!(e, Entry::Barrier));
        let values: Vec<Value> = oldest
            .filter_map(|e| match e {
                Entry::Store { addr: a, value } if *a == addr => Some(*value),
                _ => None,
            })
            .collect();
        let count = match nothing_is_left {
            true => values.len(),
            false => values.iter().position(|&v| v == value)? + 1,
        };
        for _ in 0..count {
            self.take(Step::Commit { thread: ThreadId::new(t), addr })?;
        }
        Some(())
    }
}
