//! From the search's finding to a run of the machine, under PSO. What a demand leaves out of a
//! buffer is committed together with the store behind it. Loads are put where memory holds what
//! they return, as under TSO: see [`run`](super::run).

use weakspot_core::Model;
use weakspot_core::machine::Schedule;

use super::graph::{Graphs, Item, Label};
use super::pso::PsoDemand;
use super::run::{Builder, initial_values};
use super::search::{Back, Demanded, Goal, Origin, Search};

/// An entry of a store buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// By its number, with what it stores.
    Store(usize, Item),
    Barrier,
}

/// The run that the search found, with the goal that it reaches. `None` is a defect.
pub(crate) fn run(search: &Search<'_, '_, '_, PsoDemand>, _: Model) -> Option<(Schedule, Goal)> {
    let graphs = search.graphs;
    let mut id = search.found?;
    let first = search.demand(id);
    let init = initial_values(graphs, &first.initial_memory(graphs)?);
    let mut builder = Builder::new(graphs);
    let mut buffers: Vec<Vec<Entry>> = vec![Vec::new(); graphs.threads.len()];
    builder.walk_to(first.locals())?;
    let goal = loop {
        let (next, back) = match search.origin(id) {
            Origin::Goal(g) => break &search.goals[g as usize],
            Origin::Step { next, back } => (next, back),
        };
        let after = search.demand(next);
        match back {
            Back::Arc(a, source) => {
                let arc = graphs.arcs[a as usize];
                let buffer = &mut buffers[arc.thread as usize];
                match (builder.take(a, source), arc.label) {
                    (Some(store), Label::Store(item)) => buffer.push(Entry::Store(store, item)),
                    (_, Label::Barrier) if !buffer.is_empty() => buffer.push(Entry::Barrier),
                    _ => {}
                }
            }
            Back::Commit(t, item) => {
                let at = t as usize;
                builder.commit(&commits(graphs, &mut buffers[at], (at, item), &after)?);
            }
        }
        builder.walk_to(after.locals())?;
        id = next;
    };
    Some((builder.schedule(init, goal)?, goal.clone()))
}

/// Takes from the buffer of thread `t` what is committed with `item`.
fn commits(
    graphs: &Graphs<'_>,
    buffer: &mut Vec<Entry>,
    (t, item): (usize, Item),
    after: &PsoDemand,
) -> Option<Vec<usize>> {
    let loc = graphs.loc(item);
    let after = &after.buffers[t];
    let nothing_is_left = after.items(loc).is_empty() && after.is_closed(loc);
    let oldest = buffer.iter().take_while(|e| **e != Entry::Barrier);
    let there: Vec<(usize, Item)> = oldest
        .filter_map(|e| match e {
            Entry::Store(store, item) if graphs.loc(*item) == loc => Some((*store, *item)),
            _ => None,
        })
        .collect();
    let count = match nothing_is_left {
        true => there.len(),
        false => there.iter().position(|s| s.1 == item)? + 1,
    };
    let stores: Vec<usize> = there[..count].iter().map(|s| s.0).collect();
    buffer.retain(|e| !matches!(e, Entry::Store(store, _) if stores.contains(store)));
    while buffer.first() == Some(&Entry::Barrier) {
        buffer.remove(0);
    }
    (!stores.is_empty()).then_some(stores)
}
