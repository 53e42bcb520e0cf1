//! A group of transactions in which there may be a cycle, and what such a cycle can be made of.
//!
//! A cycle is a sequence of undirected ties with directions, where the transaction that one leads to
//! is that from which the next one leaves, or leads there by directed ties. It shows that the trace
//! is not serializable if what the ties demand is possible together: the graph of [`TraceOrder`]
//! with it has no cycle (Corollary 1 of the paper, with the validity of executions). Beside undirected
//! ties there are those of reads that find their own write overwritten, which demand some write that
//! does it.

use std::collections::HashMap;

use weakspot_core::serial::{
    TraceEvidence, TraceMode, TraceOrder, TxnCycle, each_open_tie, each_overwritten,
};
use weakspot_core::{Limit, TxnEvent, TxnKind};
use weakspot_sat::Meter;

use crate::groups::Txns;
use crate::online::first_violation;
use crate::shortest::shortest;
use crate::tidy::{Point, late, tidy};

/// A group.
pub(crate) struct Part<'a> {
    pub(crate) order: &'a TraceOrder<'a>,
    /// The numbers of its transactions.
    pub(crate) txns: Vec<u32>,
    /// Undirected ties, by events of the trace, in the direction in which they are used.
    pub(crate) ties: Vec<Use>,
    /// Per transaction those that it leads to by a directed tie, and the events of the tie.
    pub(crate) next: Vec<Vec<(u32, (usize, usize))>>,
    /// Reads that their own write may be overwritten for, and lead to others then.
    pub(crate) overwritten: Vec<Overwritten>,
}

/// A read that its own write may be overwritten for.
pub(crate) struct Overwritten {
    pub(crate) read: usize,
    /// Its transaction, by its place in the group.
    pub(crate) from: u32,
    /// Those that it leads to if it is overwritten.
    pub(crate) to: Vec<u32>,
    /// The writes that may do it.
    pub(crate) by: Vec<usize>,
}

/// A tie that a cycle may use.
#[derive(Clone, Copy)]
pub(crate) struct Use {
    pub(crate) events: (usize, usize),
    /// The transactions, by their places in the group.
    pub(crate) from: u32,
    pub(crate) to: u32,
}

impl<'a> Part<'a> {
    /// A group with its events and the directed ties between different transactions of it.
    pub(crate) fn new(
        order: &'a TraceOrder<'a>,
        all: &Txns,
        group: &[u32],
        events: &[usize],
        directed: &[(usize, usize)],
        meter: &mut Meter<'_>,
    ) -> Result<Part<'a>, Limit> {
        let txns = all.numbers_of(group);
        let place: HashMap<u32, u32> = txns.iter().copied().zip(0..).collect();
        let txn = |event: usize| order.trace.events[event].txn;
        let mut next: Vec<Vec<(u32, (usize, usize))>> = vec![Vec::new(); txns.len()];
        for &(from, to) in directed {
            let (a, b) = (place[&txn(from)], place[&txn(to)]);
            next[a as usize].push((b, (from, to)));
        }
        for next in &mut next {
            next.sort_unstable();
            next.dedup_by_key(|&mut (to, _)| to);
        }
        let (mut ties, mut limit): (Vec<Use>, Option<Limit>) = (Vec::new(), None);
        each_open_tie(order.trace, events, &mut |found| {
            if ties.len() + found.len() > ties.capacity() {
                // Doubled at once it might not fit any more.
                let more = found.len() + ties.capacity() / 8;
                let bytes = ((ties.len() + more) * size_of::<Use>()) as u64;
                limit = meter.room(bytes).err();
                if limit.is_some() {
                    return false;
                }
                ties.reserve_exact(more);
            }
            for &(from, to) in found {
                let (a, b) = (place[&txn(from)], place[&txn(to)]);
                ties.push(Use { events: (from, to), from: a, to: b });
            }
            let bytes = (ties.capacity() * size_of::<Use>()) as u64;
            limit = meter.work(8 + found.len() as u64 * 8, || bytes).err();
            limit.is_none()
        });
        if let Some(limit) = limit {
            return Err(limit);
        }
        let trace = order.trace;
        let mut found: Vec<Overwritten> = Vec::new();
        let mut numbers: HashMap<usize, usize> = HashMap::new();
        let mut bytes = (ties.capacity() * size_of::<Use>()) as u64;
        each_overwritten(trace, events, &|_| true, &mut |read, later| {
            let number = *numbers.entry(read).or_insert(found.len());
            if number == found.len() {
                let by: Vec<usize> = trace.overwriting(read).collect();
                bytes += (by.len() * 8 + 128) as u64;
                found.push(Overwritten { read, from: place[&txn(read)], to: Vec::new(), by });
            }
            found[number].to.push(place[&txn(later)]);
            bytes += 8;
            limit = meter.work(8, || bytes).err();
            limit.is_none()
        });
        match limit {
            Some(limit) => Err(limit),
            None => Ok(Part { order, txns, ties, next, overwritten: found }),
        }
    }

    /// The evidence that these ties, with what else is demanded, make a cycle.
    pub(crate) fn violation(
        &self,
        ties: &[(usize, usize)],
        more: &[(usize, usize)],
        meter: &mut Meter<'_>,
    ) -> Option<TraceEvidence> {
        let trace = self.order.trace;
        let reads = trace.mode.buffered_reads();
        if trace.mode == TraceMode::Literal {
            return self.cycle(ties).map(TraceEvidence::Directions);
        }
        let demands = ties.iter().flat_map(|&(from, to)| self.order.demands(from, to));
        let demands: Vec<(usize, usize)> = demands.chain(more.iter().copied()).collect();
        let events = trace.events;
        let mut writes: Vec<usize> = Vec::new();
        writes.extend((0..events.len()).filter(|&at| events[at].kind == TxnKind::Write));
        let point = |node: usize| match node.checked_sub(events.len()) {
            Some(commit) => Point::Commit(writes[commit]),
            None => Point::Event(node),
        };
        if trace.mode.is_exact() {
            let demands: Vec<_> = demands.iter().map(|&(a, b)| (point(a), point(b))).collect();
            let execution = late(events, &demands)?.events;
            let (end, cycle) = first_violation(&execution, reads)?;
            let (events, cycle) = tidy(trace, &execution[..=end], &cycle, meter)?;
            return Some(TraceEvidence::Execution { events, cycle });
        }
        let event = |node: usize| match point(node) {
            Point::Event(at) => events[at],
            Point::Commit(write) => TxnEvent { kind: TxnKind::Commit, ..events[write] },
        };
        let events: Vec<TxnEvent> = self.order.sorted(&demands)?.into_iter().map(event).collect();
        let (end, cycle) = first_violation(&events, reads)?;
        let cycle = shortest(&events[..=end], reads, end).unwrap_or(cycle);
        Some(TraceEvidence::Execution { events, cycle })
    }

    /// A cycle of these ties and directed ones.
    fn cycle(&self, ties: &[(usize, usize)]) -> Option<TxnCycle> {
        let used: Vec<&Use> = self.ties.iter().filter(|tie| ties.contains(&tie.events)).collect();
        let mut next = self.next.clone();
        for tie in &used {
            next[tie.from as usize].push((tie.to, tie.events));
        }
        for tie in used {
            // Breadth-first from where it leads to where it comes from.
            let mut came: Vec<Option<(u32, (usize, usize))>> = vec![None; next.len()];
            let mut queue = std::collections::VecDeque::from([tie.to]);
            while let Some(node) = queue.pop_front() {
                for &(to, events) in &next[node as usize] {
                    if came[to as usize].is_none() && to != tie.to {
                        came[to as usize] = Some((node, events));
                        queue.push_back(to);
                    }
                }
            }
            let mut cycle = vec![tie.events];
            let mut at = tie.from;
            while let Some((before, events)) = came[at as usize] {
                cycle.push(events);
                at = before;
            }
            if at == tie.to {
                cycle.reverse();
                let numbers = |(from, to): (usize, usize)| (from as u64, to as u64);
                return Some(TxnCycle(cycle.into_iter().map(numbers).collect()));
            }
        }
        None
    }
}
