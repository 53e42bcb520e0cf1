//! Transactions that have one point in time each.
//!
//! Others *notice* an event of a trace at some time: a write when it is committed, a read of the
//! buffer when it happens or when the write that it reads is committed, if that is later, and any
//! other event when it happens. Two events of different threads conflict in the order in which they
//! are noticed. If each transaction of a group has an event, its point, so that every conflict in
//! which it comes first demands that this is noticed not later, and every conflict in which it
//! comes second that it is noticed not earlier, then the points of the transactions of a cycle
//! would be noticed one after the other in a circle, which nothing is.
//!
//! This is about the executions of a trace as it is ([`TraceMode::Exact`](super::TraceMode)).
//! Cost: linear.

use std::collections::HashMap;

use super::TxnKind;
use super::ties::Trace;

/// Something that happens once in an execution.
#[derive(Clone, Copy)]
enum Moment {
    Event(usize),
    Commit(usize),
}

/// When an event is noticed: at the latest of these.
fn moments(trace: &Trace<'_>, event: usize) -> impl Iterator<Item = Moment> + Clone {
    let is_write = trace.events[event].kind == TxnKind::Write;
    let itself = if is_write { Moment::Commit(event) } else { Moment::Event(event) };
    [Some(itself), trace.own(event).map(Moment::Commit)].into_iter().flatten()
}

/// Whether the one moment is not after the other, whatever the execution.
fn is_before(trace: &Trace<'_>, one: Moment, other: Moment) -> bool {
    let thread = |event: usize| trace.events[event].thread;
    match (one, other) {
        (Moment::Event(a), Moment::Event(b) | Moment::Commit(b)) => a <= b,
        (Moment::Commit(a), Moment::Event(b)) => trace.drain(a) <= b,
        (Moment::Commit(a), Moment::Commit(b)) => {
            thread(a) == thread(b) && a <= b || trace.drain(a) <= b
        }
    }
}

/// Whether an event is noticed not later than another, whatever the execution.
#[must_use]
pub fn is_noticed_before(trace: &Trace<'_>, one: usize, other: usize) -> bool {
    let others = moments(trace, other);
    moments(trace, one).all(|a| others.clone().any(|b| is_before(trace, a, b)))
}

/// Which undirected ties an event has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenEvent {
    /// One to an earlier event.
    pub earlier: bool,
    /// One to a later event.
    pub later: bool,
}

/// Which events have undirected ties. They are given in the order of the trace.
#[must_use]
pub fn open_events(trace: &Trace<'_>, events: &[usize]) -> Vec<OpenEvent> {
    let mut found = vec![OpenEvent::default(); events.len()];
    let is_late = |at: usize| trace.events[at].kind == TxnKind::Write || trace.own(at).is_some();
    // Per variable how long writes, and reads, of earlier events are not settled.
    let mut vars: HashMap<u32, [Two; 2]> = HashMap::new();
    for (&at, open) in events.iter().zip(&mut found) {
        let e = &trace.events[at];
        if !e.kind.is_access() {
            continue;
        }
        let writes = trace.writes(at);
        let of_var = vars.entry(e.var).or_default();
        let not_settled = |two: &Two| two.of_others(e.thread).is_some_and(|end| end > at);
        open.earlier = not_settled(&of_var[0]) || writes && not_settled(&of_var[1]);
        if is_late(at) {
            of_var[usize::from(!writes)].put(e.thread, trace.drain(at));
        }
    }
    // The same backward: per variable the nearest write, and read, as distances from the end.
    vars.clear();
    let from_end = |at: usize| trace.events.len() - at;
    for (&at, open) in events.iter().zip(&mut found).rev() {
        let e = &trace.events[at];
        if !e.kind.is_access() {
            continue;
        }
        let writes = trace.writes(at);
        let of_var = vars.entry(e.var).or_default();
        let is_near = |two: &Two| {
            two.of_others(e.thread).is_some_and(|distance| distance > from_end(trace.drain(at)))
        };
        open.later = is_late(at) && (is_near(&of_var[0]) || writes && is_near(&of_var[1]));
        of_var[usize::from(!writes)].put(e.thread, from_end(at));
    }
    found
}

/// The largest number, and the largest one of another thread.
#[derive(Clone, Copy, Default)]
struct Two([Option<(usize, u32)>; 2]);

impl Two {
    fn put(&mut self, thread: u32, number: usize) {
        let [first, second] = &mut self.0;
        match first {
            Some((most, of)) if *of == thread => *most = number.max(*most),
            Some((most, _)) if *most >= number => {
                let other = second.map_or(0, |(most, _)| most);
                *second = Some((number, thread)).filter(|_| number >= other).or(*second);
            }
            _ => (*first, *second) = (Some((number, thread)), *first),
        }
    }

    fn of_others(&self, thread: u32) -> Option<usize> {
        self.0.iter().flatten().find(|(_, of)| *of != thread).map(|&(number, _)| number)
    }
}

/// Whether these are points of the transactions of a group, whose events and directed ties between
/// transactions are given: per transaction one of its events.
#[must_use]
pub fn are_points(
    trace: &Trace<'_>,
    events: &[usize],
    directed: &[(u32, u32)],
    points: &HashMap<u32, usize>,
) -> bool {
    let is_own = |(&txn, &point): (&u32, &usize)| {
        trace.events.get(point).is_some_and(|event| event.txn == txn)
    };
    let point = |txn: u32| points.get(&txn).copied();
    let leads = |&(from, to): &(u32, u32)| match (point(from), point(to)) {
        (Some(from), Some(to)) => is_noticed_before(trace, from, to),
        _ => false,
    };
    let open = open_events(trace, events);
    let fits = |(&at, open): (&usize, &OpenEvent)| {
        let Some(point) = point(trace.events[at].txn) else { return false };
        if *open == OpenEvent::default() {
            return true;
        }
        // A write that is issued after a read of the buffer is noticed before it only if it is
        // noticed before what is read.
        let second = trace.own(at).filter(|_| !open.earlier).unwrap_or(at);
        is_noticed_before(trace, point, at) && is_noticed_before(trace, second, point)
    };
    points.iter().all(is_own) && directed.iter().all(leads) && events.iter().zip(&open).all(fits)
}
