//! Whether SC allows an execution, in time that grows with its events instead of their pairs.
//!
//! Program order, coherence and from-reads each are what their neighbours span: the next event of
//! the thread, the next write to the location. A relation has a cycle exactly if the neighbours in it
//! have one, because each other pair of it is a path of neighbours, and they are pairs of it
//! themselves. Coherence may list a write once at most, and only at its location; runs of the
//! machine do.

use std::collections::{HashMap, VecDeque};

use super::{blocks, coherence_positions, source_position};
use crate::{EventId, Execution};

/// Whether the relations are acyclic that SC wants to be; accesses have the same width.
pub(super) fn sc_allows(execution: &Execution) -> bool {
    graphs(execution).iter().all(|graph| graph.on_cycles().is_empty())
}

/// A cycle of the relations that SC wants to be acyclic, short but perhaps not a shortest one.
pub(crate) fn short_cycle(execution: &Execution) -> Option<Vec<EventId>> {
    let cycle = graphs(execution).iter().find_map(Graph::cycle)?;
    let cycle = cycle.into_iter().map(EventId::new).collect();
    Some(without_detours(execution, cycle))
}

/// Coherence, then the order of events in which an atomic block is one.
fn graphs(execution: &Execution) -> [Graph; 2] {
    let n = execution.events.len();
    let node = blocks(execution);
    let (mut coherence, mut order) = (Graph::empty(n), Graph::empty(n));
    let mut last = HashMap::new();
    let mut last_there = HashMap::new();
    for (i, event) in execution.events.iter().enumerate() {
        if let Some(before) = last.insert(event.thread, i) {
            order.insert(node[before], node[i]);
        }
        if let Some(loc) = event.op.loc()
            && let Some(before) = last_there.insert((event.thread, loc), i)
        {
            coherence.insert(before, i);
        }
    }
    for (from, to) in conflicts(execution) {
        coherence.insert(from, to);
        order.insert(node[from], node[to]);
    }
    [coherence, order]
}

/// Reads-from, and of coherence and from-reads the neighbours.
fn conflicts(execution: &Execution) -> Vec<(usize, usize)> {
    let position = coherence_positions(execution);
    let after = |at: usize, loc: crate::LocId, but: usize| {
        let writes = execution.coherence.get(loc.index())?;
        writes.iter().skip(at).map(|e| e.index()).find(|&e| e != but)
    };
    let mut pairs = Vec::new();
    for (i, event) in execution.events.iter().enumerate() {
        pairs.extend(execution.reads_from[i].map(|source| (source.index(), i)));
        let Some(loc) = event.op.loc() else { continue };
        if event.op.write().is_some() {
            pairs.extend(after(position[i], loc, i).map(|next| (i, next)));
        }
        if event.op.read().is_some() {
            let source = source_position(execution, &position, i);
            pairs.extend(after(source, loc, i).map(|next| (i, next)));
        }
    }
    pairs
}

/// The cycle without events that can be left out because the one before them comes before a later one.
fn without_detours(execution: &Execution, cycle: Vec<EventId>) -> Vec<EventId> {
    /// How far ahead is looked.
    const AHEAD: usize = 1000;
    let position = coherence_positions(execution);
    let before = |a: EventId, b: EventId| {
        let (first, second) = (execution.events[a.index()], execution.events[b.index()]);
        let to_write = second.op.write().is_some() && first.op.loc() == second.op.loc();
        let overwrites = |at: usize| at < position[b.index()];
        first.thread == second.thread && a < b
            || a != b
                && to_write
                && (first.op.write().is_some() && overwrites(position[a.index()])
                    || first.op.read().is_some()
                        && overwrites(source_position(execution, &position, a.index())))
    };
    let mut short = vec![cycle[0]];
    let mut at = 0;
    loop {
        let ahead = at + 2..cycle.len().min(at + AHEAD) + 1;
        let next = ahead.rev().find(|&i| before(cycle[at], cycle[i % cycle.len()]));
        at = next.unwrap_or(at + 1);
        if at >= cycle.len() {
            return short;
        }
        short.push(cycle[at]);
    }
}

/// A relation by its successors, for relations with few pairs.
struct Graph {
    next: Vec<Vec<usize>>,
}

impl Graph {
    fn empty(n: usize) -> Graph {
        Graph { next: vec![Vec::new(); n] }
    }

    fn insert(&mut self, from: usize, to: usize) {
        if from != to {
            self.next[from].push(to);
        }
    }

    /// What is left when elements without a predecessor are removed, again and again: nothing if
    /// there is no cycle, else cycles and what is behind them.
    fn on_cycles(&self) -> Vec<usize> {
        let mut before = vec![0_usize; self.next.len()];
        for &to in self.next.iter().flatten() {
            before[to] += 1;
        }
        let mut free: Vec<usize> = (0..before.len()).filter(|&i| before[i] == 0).collect();
        while let Some(i) = free.pop() {
            for &to in &self.next[i] {
                before[to] -= 1;
                if before[to] == 0 {
                    free.push(to);
                }
            }
        }
        (0..before.len()).filter(|&i| before[i] > 0).collect()
    }

    /// A shortest cycle through some element.
    fn cycle(&self) -> Option<Vec<usize>> {
        let left = self.on_cycles();
        let mut predecessor = vec![None; self.next.len()];
        for &from in &left {
            for &to in &self.next[from] {
                predecessor[to] = Some(from);
            }
        }
        // Each of what is left has a predecessor there: back and back again leads to a cycle.
        let mut start = *left.first()?;
        for _ in &left {
            start = predecessor[start]?;
        }
        let mut parent = vec![None; self.next.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(i) = queue.pop_front() {
            for &to in &self.next[i] {
                if to == start {
                    let mut path = vec![i];
                    while path[path.len() - 1] != start {
                        path.push(parent[path[path.len() - 1]]?);
                    }
                    path.reverse();
                    return Some(path);
                }
                if parent[to].is_none() {
                    parent[to] = Some(i);
                    queue.push_back(to);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::axioms;
    use crate::testing::{Rng, scaled};
    use crate::{Event, LocId, Model, Op, ThreadId};

    /// Any events, each read from any write to its location, writes in any order.
    fn random_execution(rng: &mut Rng) -> Execution {
        let mut execution = Execution { coherence: vec![Vec::new(); 3], ..Execution::default() };
        let mut locked = [false; 3];
        for i in 0..2 + rng.below(9) {
            let thread = rng.below(3);
            let loc = LocId::new(rng.below(3));
            let op = match rng.below(8) {
                0 if !locked[thread] => Op::Lock,
                0 => Op::Unlock,
                1 => Op::Update { loc, old: 0, new: 0 },
                2..5 => Op::Read { loc, value: 0 },
                _ => Op::Write { loc, value: 0 },
            };
            match op {
                Op::Lock | Op::Unlock => locked[thread] = op == Op::Lock,
                _ => {}
            }
            if op.write().is_some() && !rng.one_in(10) {
                let writes = &mut execution.coherence[loc.index()];
                writes.insert(rng.below(writes.len() + 1), EventId::new(i));
            }
            execution.events.push(Event { thread: ThreadId::new(thread), op });
        }
        let n = execution.events.len();
        execution.reads_from = (0..n)
            .map(|i| {
                let (loc, _) = execution.events[i].op.read()?;
                let writes = &execution.coherence[loc.index()];
                let source = *writes.get(rng.below(writes.len() + 1))?;
                (source.index() != i).then_some(source)
            })
            .collect();
        execution
    }

    #[test]
    fn neighbours_have_a_cycle_where_the_relations_have_one() {
        let mut seen = [0, 0];
        for seed in 0..scaled(40_000) as u64 {
            let execution = random_execution(&mut Rng::new(seed));
            let broken = axioms::check(Model::Sc, &execution);
            assert_eq!(sc_allows(&execution), broken.is_ok(), "seed {seed}: {execution:?}");
            let cycle = short_cycle(&execution);
            assert_eq!(cycle.is_some(), broken.is_err(), "seed {seed}");
            if let (Some(cycle), Err(broken)) = (cycle, &broken) {
                let arcs = crate::cycle::arcs_of(&execution, &cycle);
                assert!(arcs.is_some(), "seed {seed}: {cycle:?} {execution:?}");
                assert!(
                    cycle.len() > 1
                        && (broken.axiom != axioms::Axiom::Sc || cycle.len() >= broken.cycle.len())
                );
            }
            seen[usize::from(broken.is_ok())] += 1;
        }
        assert!(seen.iter().all(|&n| n >= scaled(2_000)), "{seen:?}");
    }
}
