//! Why SC does not allow an execution: a cycle of events, with the reason for each step of it.

use weakspot_core::{EventId, Execution, Model, Op, ThreadId, axioms};

/// Why one event comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// Earlier in the program of the same thread.
    Po,
    /// The second reads what the first wrote.
    Rf,
    /// The second overwrites what the first wrote.
    Co,
    /// The second overwrites what the first read.
    Fr,
    /// Both stand in one atomic block, which counts as one event.
    Block,
}

/// One step of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arc {
    pub(crate) from: EventId,
    pub(crate) link: Link,
    pub(crate) to: EventId,
}

/// Executions with more events than this are not checked: the check takes cubic time, and nobody
/// reads a drawing of that size.
pub(crate) const MAX_EVENTS: usize = 1500;

impl Link {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Link::Po => "po",
            Link::Rf => "rf",
            Link::Co => "co",
            Link::Fr => "fr",
            Link::Block => "atomic",
        }
    }
}

/// A shortest cycle of program order, reads-from, coherence and from-reads; `None` if there is
/// none, which is to say that SC allows the execution.
pub(crate) fn sc_cycle(execution: &Execution) -> Option<Vec<Arc>> {
    let nodes = axioms::check(Model::Sc, execution).err()?.cycle;
    let mut arcs: Vec<Arc> = Vec::new();
    for (i, &a) in nodes.iter().enumerate() {
        let arc = arc(execution, a, nodes[(i + 1) % nodes.len()])?;
        if let Some(last) = arcs.last()
            && last.to != arc.from
        {
            arcs.push(Arc { from: last.to, link: Link::Block, to: arc.from });
        }
        arcs.push(arc);
    }
    if let (Some(first), Some(last)) = (arcs.first(), arcs.last())
        && last.to != first.from
    {
        arcs.push(Arc { from: last.to, link: Link::Block, to: first.from });
    }
    Some(arcs)
}

/// All reads-from, coherence and from-reads arcs between neighbours: each write to the next one
/// of its location, each read from its write and to the write after that one.
pub(crate) fn communication(execution: &Execution) -> Vec<Arc> {
    let mut arcs = Vec::new();
    for writes in &execution.coherence {
        arcs.extend(writes.windows(2).map(|w| Arc { from: w[0], link: Link::Co, to: w[1] }));
    }
    for (i, event) in execution.history.events.iter().enumerate() {
        let Some((loc, _)) = event.op.read() else { continue };
        let read = EventId::new(i);
        let source = execution.history.reads_from[i];
        if let Some(from) = source {
            arcs.push(Arc { from, link: Link::Rf, to: read });
        }
        let writes = execution.coherence.get(loc.index()).map_or(&[][..], Vec::as_slice);
        let next = match source {
            None => writes.first(),
            Some(from) => writes.iter().position(|&w| w == from).and_then(|at| writes.get(at + 1)),
        };
        // An update overwrites what it read itself.
        if let Some(&to) = next
            && to != read
        {
            arcs.push(Arc { from: read, link: Link::Fr, to });
        }
    }
    arcs
}

/// The reason why (the block of) `a` comes before (the block of) `b`.
fn arc(execution: &Execution, a: EventId, b: EventId) -> Option<Arc> {
    let thread = |e: EventId| execution.history.events[e.index()].thread;
    if thread(a) == thread(b) {
        return Some(Arc { from: a, link: Link::Po, to: b });
    }
    let (firsts, seconds) = (block(execution, a), block(execution, b));
    [Link::Rf, Link::Co, Link::Fr].into_iter().find_map(|link| {
        firsts.iter().find_map(|&from| {
            let to = *seconds.iter().find(|&&to| linked(execution, from, link, to))?;
            Some(Arc { from, link, to })
        })
    })
}

fn linked(execution: &Execution, from: EventId, link: Link, to: EventId) -> bool {
    let op = |e: EventId| execution.history.events[e.index()].op;
    let source = |e: EventId| execution.history.reads_from[e.index()];
    let place = |e: EventId| -> usize {
        let writes = op(e).loc().and_then(|loc| execution.coherence.get(loc.index()));
        writes.and_then(|w| w.iter().position(|&w| w == e)).map_or(0, |at| at + 1)
    };
    let same_place = op(from).loc().is_some() && op(from).loc() == op(to).loc();
    match link {
        Link::Rf => source(to) == Some(from),
        Link::Co => same_place && op(from).write().is_some() && place(from) < place(to),
        Link::Fr => {
            same_place && op(from).read().is_some() && source(from).map_or(0, place) < place(to)
        }
        Link::Po | Link::Block => false,
    }
}

/// The events of the atomic block that `first` opens, else just `first`.
fn block(execution: &Execution, first: EventId) -> Vec<EventId> {
    let events = &execution.history.events;
    let thread: ThreadId = events[first.index()].thread;
    if events[first.index()].op != Op::Lock {
        return vec![first];
    }
    let mut members = Vec::new();
    for (i, event) in events.iter().enumerate().skip(first.index()) {
        if event.thread == thread {
            members.push(EventId::new(i));
            if event.op == Op::Unlock {
                break;
            }
        }
    }
    members
}
