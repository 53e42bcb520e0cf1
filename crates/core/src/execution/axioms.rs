//! The axiomatic meaning of SC, TSO and PSO: an execution is allowed when certain relations over
//! its events are acyclic.
//!
//! With *po* program order, *rf* reads-from, *co* coherence and *fr* from-reads (a read comes
//! before every write that overwrites what it read):
//! - SC: po ∪ rf ∪ co ∪ fr is acyclic (Proposition 1 of the monitoring paper).
//! - TSO and PSO: per location po ∪ rf ∪ co ∪ fr is acyclic (*coherence*), and *ppo* ∪ rfe ∪ co ∪
//!   fr is acyclic (*global order*), where rfe is reads-from between threads and *ppo* is the
//!   part of program order that the model preserves: see [`preserved`].
//!
//! An update is one event, so that its atomicity needs no axiom of its own: a write between what
//! it read and what it wrote closes a cycle of fr and co. All events of an atomic block count as
//! one event in SC and in the global order.
//!
//! Accesses of different widths: an access is one event, and rf, co and fr hold between two events
//! if they do in some cell that both take. Coherence is asked for cell by cell: a load may take one
//! cell from its thread's buffer and another from memory, before and after the same write. Under
//! PSO stores keep their order if they share a cell.

pub(crate) mod neighbours;

use crate::execution::cells::Cells;
use crate::execution::link::Link;
use crate::execution::relation::Relation;
use crate::{Drain, EventId, Execution, Fence, LocId, Model, Op};

/// An axiom that an execution breaks, with a shortest cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which axiom.
    pub axiom: Axiom,
    /// The events on the cycle, in order; the last leads back to the first.
    pub cycle: Vec<EventId>,
}

/// The axioms by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axiom {
    /// Sequential consistency.
    Sc,
    /// Per location, the threads agree on one order.
    Coherence,
    /// What the model preserves of program order agrees with what other threads see.
    GlobalOrder,
}

/// Whether `model` allows `execution`, with a cycle if it does not.
pub fn check(model: Model, execution: &Execution) -> Result<(), Broken> {
    for (axiom, relation) in relations(model, execution) {
        if let Some(cycle) = relation.shortest_cycle() {
            let cycle = cycle.into_iter().map(EventId::new).collect();
            return Err(Broken { axiom, cycle });
        }
    }
    Ok(())
}

/// Whether `model` allows `execution`.
#[must_use]
pub fn allows(model: Model, execution: &Execution) -> bool {
    if model == Model::Sc && execution.wides.is_empty() {
        return neighbours::sc_allows(execution);
    }
    relations(model, execution).into_iter().all(|(_, relation)| relation.is_acyclic())
}

/// Whether the steps, which lead back to where they began, are all in one relation that `axiom` wants
/// to be acyclic.
pub(crate) fn has_cycle(
    model: Model,
    execution: &Execution,
    axiom: Axiom,
    steps: &[(EventId, EventId)],
) -> bool {
    let blocks = blocks(execution);
    let node = |e: EventId| if axiom == Axiom::Coherence { e.index() } else { blocks[e.index()] };
    let asked = relations(model, execution).into_iter().filter(|(of, _)| *of == axiom);
    // Within an atomic block there is only one node.
    let between: Vec<(usize, usize)> =
        steps.iter().map(|&(a, b)| (node(a), node(b))).filter(|(a, b)| a != b).collect();
    let mut relations = asked.map(|(_, relation)| relation);
    !between.is_empty()
        && relations.any(|relation| between.iter().all(|&(a, b)| relation.contains(a, b)))
}

/// The relations that have to be acyclic. Coherence is part of SC; it is asked for on its own
/// because the events inside one atomic block count as one event in the other relation.
fn relations(model: Model, execution: &Execution) -> Vec<(Axiom, Relation)> {
    if !execution.wides.is_empty() {
        return wide_relations(model, execution);
    }
    let n = execution.events.len();
    let mut coherence = Relation::empty(n);
    let mut order = Relation::empty(n);
    let position = coherence_positions(execution);
    let node = blocks(execution);
    let events = &execution.events;
    for (a, ea) in events.iter().enumerate() {
        for (b, eb) in events.iter().enumerate() {
            if a == b {
                continue;
            }
            let same_thread = ea.thread == eb.thread;
            let same_loc = ea.op.loc().is_some() && ea.op.loc() == eb.op.loc();
            let po = same_thread && a < b;
            let rf = execution.reads_from[b] == Some(EventId::new(a));
            let co = ea.op.write().is_some() && position[a] < position[b];
            let fr =
                ea.op.read().is_some() && source_position(execution, &position, a) < position[b];
            let co_or_fr = same_loc && eb.op.write().is_some() && (co || fr);
            if po && same_loc || rf || co_or_fr {
                coherence.insert(a, b);
            }
            let kept_po = po && preserved(model, ea.op, eb.op);
            let kept_rf = rf && (model == Model::Sc || !same_thread);
            if node[a] != node[b] && (kept_po || kept_rf || co_or_fr) {
                order.insert(node[a], node[b]);
            }
        }
    }
    vec![(Axiom::Coherence, coherence), (order_axiom(model), order)]
}

fn order_axiom(model: Model) -> Axiom {
    if model == Model::Sc { Axiom::Sc } else { Axiom::GlobalOrder }
}

/// The same where accesses overlap: coherence for each cell, then the order of whole accesses.
fn wide_relations(model: Model, execution: &Execution) -> Vec<(Axiom, Relation)> {
    let n = execution.events.len();
    let cells = Cells::of(execution);
    let node = blocks(execution);
    let mut coherence = vec![Relation::empty(n); execution.coherence.len()];
    let mut order = Relation::empty(n);
    let events = &execution.events;
    for (a, ea) in events.iter().enumerate() {
        for (b, eb) in events.iter().enumerate().filter(|&(b, _)| b != a) {
            let (first, second) = (EventId::new(a), EventId::new(b));
            let po = ea.thread == eb.thread && a < b;
            let mut conflict = false;
            for cell in cells.common(first, second) {
                let linked = |link| cells.linked(first, link, second, cell);
                let rf = linked(Link::Rf);
                let co_or_fr = linked(Link::Co) || linked(Link::Fr);
                if po || rf || co_or_fr {
                    coherence[LocId::index(cell)].insert(a, b);
                }
                conflict |= co_or_fr || rf && (model == Model::Sc || ea.thread != eb.thread);
            }
            let in_turn = matches!(ea.op, Op::Write { .. })
                && eb.op.write().is_some()
                && cells.common(first, second).next().is_some();
            let kept_po = po && (in_turn || preserved(model, ea.op, eb.op));
            if node[a] != node[b] && (kept_po || conflict) {
                order.insert(node[a], node[b]);
            }
        }
    }
    let mut all: Vec<_> = coherence.into_iter().map(|r| (Axiom::Coherence, r)).collect();
    all.push((order_axiom(model), order));
    all
}

/// Whether `model` keeps the order of `first` and `second` when they follow one another, at any
/// distance, in program order. Fences and updates between two events order them by transitivity.
#[must_use]
pub fn preserved(model: Model, first: Op, second: Op) -> bool {
    let fence_ss = Op::Fence(Fence::StoreStore);
    match (model, first, second) {
        (Model::Sc, _, _) => true,
        (Model::Tso, _, _) if first == fence_ss || second == fence_ss => false,
        (Model::Tso, Op::Write { .. }, Op::Read { .. }) => false,
        (Model::Tso, _, _) => true,
        (Model::Pso(_), Op::Write { .. }, Op::Read { .. }) => false,
        (Model::Pso(_), Op::Write { loc: a, .. }, Op::Write { loc: b, .. }) => a == b,
        (Model::Pso(Drain::Own), Op::Write { loc: a, .. }, Op::Update { loc: b, .. }) => a == b,
        // A store-store fence orders stores, and what stores, on both sides; never a read.
        (Model::Pso(_), Op::Fence(Fence::StoreStore), Op::Read { .. }) => false,
        (Model::Pso(_), _, _) => true,
    }
}

/// For each write its place in the coherence order of its location, from 1; 0 for other events.
fn coherence_positions(execution: &Execution) -> Vec<usize> {
    let mut position = vec![0; execution.events.len()];
    for writes in &execution.coherence {
        for (i, e) in writes.iter().enumerate() {
            position[e.index()] = i + 1;
        }
    }
    position
}

fn source_position(execution: &Execution, position: &[usize], read: usize) -> usize {
    execution.reads_from[read].map_or(0, |w| position[w.index()])
}

/// The representative of each event: the first event of its atomic block, else itself.
fn blocks(execution: &Execution) -> Vec<usize> {
    let mut open: Vec<(crate::ThreadId, usize)> = Vec::new();
    let mut node = Vec::with_capacity(execution.events.len());
    for (i, e) in execution.events.iter().enumerate() {
        if e.op == Op::Lock {
            open.push((e.thread, i));
        }
        node.push(open.iter().find(|(t, _)| *t == e.thread).map_or(i, |&(_, first)| first));
        if e.op == Op::Unlock {
            open.retain(|(t, _)| *t != e.thread);
        }
    }
    node
}
