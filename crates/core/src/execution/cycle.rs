//! Why SC does not allow an execution: a cycle of events, with the reason for each step of it.

use crate::execution::axioms::neighbours::short_cycle;
use crate::execution::cells::Cells;
pub use crate::execution::link::Link;
use crate::{EventId, Execution, Model, Op, ThreadId, axioms};

/// One step of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arc {
    /// The earlier event.
    pub from: EventId,
    /// Why it is the earlier one.
    pub link: Link,
    /// The later event.
    pub to: EventId,
}

/// Executions with more events than this get the first shortest cycle that is found: to compare
/// all of them takes cubic time.
const MAX_COMPARED: usize = 150;

/// Executions with more events than this get a short cycle that is found in linear time. To find a
/// shortest one takes cubic time, and memory for all pairs.
const MAX_SHORTEST: usize = 1500;

/// A shortest cycle of program order, reads-from, coherence and from-reads; `None` if there is
/// none, which is to say that SC allows the execution. Among the shortest ones it is one with the
/// fewest coherence arcs: what a thread read is easier to follow than in which order writes that
/// nobody read reached memory. In executions with thousands of events it is a short one.
#[must_use]
pub fn sc_cycle(execution: &Execution) -> Option<Vec<Arc>> {
    if execution.events.len() > MAX_SHORTEST && execution.wides.is_empty() {
        return arcs_between(execution, None, &short_cycle(execution)?);
    }
    let mut nodes = axioms::check(Model::Sc, execution).err()?.cycle;
    let cells = (!execution.wides.is_empty()).then(|| Cells::of(execution));
    if execution.events.len() <= MAX_COMPARED
        && let Some(plainer) = plainest(execution, cells.as_ref(), nodes.len())
    {
        nodes = plainer;
    }
    arcs_between(execution, cells.as_ref(), &nodes)
}

/// The steps of a cycle that an axiom found, each with its reason; `None` if there is none for one of
/// them.
pub(crate) fn arcs_of(execution: &Execution, nodes: &[EventId]) -> Option<Vec<Arc>> {
    let cells = (!execution.wides.is_empty()).then(|| Cells::of(execution));
    arcs_between(execution, cells.as_ref(), nodes)
}

fn arcs_between(
    execution: &Execution,
    cells: Option<&Cells>,
    nodes: &[EventId],
) -> Option<Vec<Arc>> {
    let mut arcs: Vec<Arc> = Vec::new();
    for (i, &a) in nodes.iter().enumerate() {
        let arc = arc(execution, cells, a, nodes[(i + 1) % nodes.len()])?;
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

/// Of the cycles with `length` events (atomic blocks count as one) one with the fewest coherence
/// arcs: Dijkstra's algorithm from every event.
fn plainest(execution: &Execution, cells: Option<&Cells>, length: usize) -> Option<Vec<EventId>> {
    const STEP: u32 = 1 << 16;
    let n = execution.events.len();
    let nodes: Vec<EventId> = heads(execution);
    let weights: Vec<Vec<Option<u32>>> = nodes
        .iter()
        .map(|&a| {
            nodes
                .iter()
                .map(|&b| {
                    let link =
                        if a == b { None } else { arc(execution, cells, a, b).map(|arc| arc.link) };
                    link.map(|link| STEP + u32::from(link == Link::Co))
                })
                .collect()
        })
        .collect();
    let most = u32::try_from(length).ok()?.checked_mul(STEP)?.checked_add(n as u32)?;
    let mut best: Option<(u32, Vec<EventId>)> = None;
    for start in 0..nodes.len() {
        let mut cost = vec![u32::MAX; nodes.len()];
        let mut parent = vec![usize::MAX; nodes.len()];
        let mut done = vec![false; nodes.len()];
        cost[start] = 0;
        let bound = best.as_ref().map_or(most + 1, |(cost, _)| *cost);
        while let Some(at) =
            (0..nodes.len()).filter(|&i| !done[i] && cost[i] < bound).min_by_key(|&i| cost[i])
        {
            done[at] = true;
            for (to, weight) in weights[at].iter().enumerate() {
                let Some(weight) = weight else { continue };
                let total = cost[at] + weight;
                if to == start && best.as_ref().map_or(most + 1, |(cost, _)| *cost) > total {
                    let mut path = vec![nodes[at]];
                    let mut back = at;
                    while back != start {
                        back = parent[back];
                        path.push(nodes[back]);
                    }
                    path.reverse();
                    best = Some((total, path));
                } else if to != start && total < cost[to] {
                    cost[to] = total;
                    parent[to] = at;
                }
            }
        }
    }
    best.map(|(_, path)| path)
}

/// The events that stand for themselves or for an atomic block.
fn heads(execution: &Execution) -> Vec<EventId> {
    let events = &execution.events;
    let mut inside: Vec<ThreadId> = Vec::new();
    let mut heads = Vec::new();
    for (i, event) in events.iter().enumerate() {
        if !inside.contains(&event.thread) {
            heads.push(EventId::new(i));
        }
        match event.op {
            Op::Lock => inside.push(event.thread),
            Op::Unlock => inside.retain(|&t| t != event.thread),
            _ => {}
        }
    }
    heads
}

/// The reason why (the block of) `a` comes before (the block of) `b`.
fn arc(execution: &Execution, cells: Option<&Cells>, a: EventId, b: EventId) -> Option<Arc> {
    let thread = |e: EventId| execution.events[e.index()].thread;
    if thread(a) == thread(b) && a < b {
        return Some(Arc { from: a, link: Link::Po, to: b });
    }
    let (firsts, seconds) = (block(execution, a), block(execution, b));
    let linked = |from, link, to| match cells {
        None => linked(execution, from, link, to),
        Some(cells) => cells.common(from, to).any(|cell| cells.linked(from, link, to, cell)),
    };
    [Link::Rf, Link::Co, Link::Fr].into_iter().find_map(|link| {
        firsts.iter().find_map(|&from| {
            let to = *seconds.iter().find(|&&to| linked(from, link, to))?;
            Some(Arc { from, link, to })
        })
    })
}

fn linked(execution: &Execution, from: EventId, link: Link, to: EventId) -> bool {
    let op = |e: EventId| execution.events[e.index()].op;
    let source = |e: EventId| execution.reads_from[e.index()];
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
        Link::Po | Link::Block | Link::Start | Link::Join => false,
    }
}

/// The events of the atomic block that `first` opens, else just `first`.
fn block(execution: &Execution, first: EventId) -> Vec<EventId> {
    let events = &execution.events;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, LocId};

    /// The plainest cycle in short: `0-po->1 1-fr->2`.
    fn check(events: &[(u32, Op)], coherence: &[&[u32]], expected: &str) {
        let events: Vec<Event> =
            events.iter().map(|&(t, op)| Event { thread: ThreadId(t), op }).collect();
        let reads_from = vec![None; events.len()];
        let coherence = coherence.iter().map(|w| w.iter().map(|&e| EventId(e)).collect()).collect();
        let execution = Execution { events, reads_from, coherence, ..Execution::default() };
        let arc = |a: &Arc| format!("{}-{}->{}", a.from.0, a.link.name(), a.to.0);
        let cycle = sc_cycle(&execution).map(|c| c.iter().map(arc).collect::<Vec<_>>().join(" "));
        assert_eq!(cycle.unwrap_or_default(), expected);
    }

    fn read(loc: u32) -> Op {
        Op::Read { loc: LocId(loc), value: 0 }
    }

    fn write(loc: u32) -> Op {
        Op::Write { loc: LocId(loc), value: 1 }
    }

    /// Store buffering with a store to a third place between, as in Peterson's algorithm: one
    /// cycle goes through the order of these stores, another of the same length through reads.
    #[test]
    fn reads_rather_than_coherence() {
        let p = [(0, write(0)), (0, write(2)), (0, read(1))];
        let q = [(1, write(1)), (1, write(2)), (1, read(0))];
        let events = [p, q].concat();
        check(&events, &[&[0], &[3], &[4, 1]], "0-po->2 2-fr->3 3-po->5 5-fr->0");
        check(&events[..5], &[&[0], &[3], &[4, 1]], "1-po->2 2-fr->3 3-po->4 4-co->1");
        check(&events[..4], &[&[0], &[3], &[1]], "");
    }

    /// Store buffering behind ten thousand stores of each thread, for which all pairs would take minutes.
    #[test]
    fn a_long_execution_has_a_short_cycle() {
        const STORES: u32 = 10_000;
        let half = |t, mine, other| {
            let stores = std::iter::repeat_n((t, write(2)), STORES as usize);
            stores.chain([(t, write(mine)), (t, read(other))])
        };
        let events = half(0, 0, 1).chain(half(1, 1, 0));
        let events: Vec<Event> = events.map(|(t, op)| Event { thread: ThreadId(t), op }).collect();
        let q = STORES + 2;
        let stores = (0..STORES).flat_map(|i| [EventId(i), EventId(q + i)]).collect();
        let coherence = vec![vec![EventId(STORES)], vec![EventId(q + STORES)], stores];
        let reads_from = vec![None; events.len()];
        let mut execution = Execution { events, reads_from, coherence, ..Execution::default() };
        assert!(!axioms::allows(Model::Sc, &execution));
        let cycle = sc_cycle(&execution).unwrap_or_default();
        assert_eq!(cycle.iter().filter(|arc| arc.link == Link::Po).count(), 2, "{cycle:?}");
        assert!(cycle.iter().all(|arc| arc.link != Link::Co) && cycle.len() == 4, "{cycle:?}");
        execution.reads_from[q as usize + STORES as usize + 1] = Some(EventId(STORES));
        assert!(axioms::allows(Model::Sc, &execution));
        assert_eq!(sc_cycle(&execution), None);
    }

    /// A block counts as one event, whatever stands in it.
    #[test]
    fn blocks_are_one_event() {
        let p = [(0, write(0)), (0, read(1))];
        let q = [(1, Op::Lock), (1, read(0)), (1, write(1)), (1, Op::Unlock)];
        let events = [&p[..], &q[..]].concat();
        check(&events, &[&[0], &[4]], "0-po->1 1-fr->4 4-atomic->3 3-fr->0");
    }
}
