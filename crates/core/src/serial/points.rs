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
use super::overwritten::each_overwritten;
use super::ties::Trace;
use super::two::Two;

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
    points.iter().all(is_own)
        && directed.iter().all(leads)
        && events.iter().zip(&open).all(fits)
        && are_before_overwritten(trace, events, points)
}

/// So many pairs of reads are looked at. More are not known to fit.
const MOST_PAIRS: usize = 1 << 24;

/// Whether points also fit what reads come before if their own writes are overwritten. Then that write
/// is committed before the read, and a point that is noticed by then is before all that follows.
fn are_before_overwritten(
    trace: &Trace<'_>,
    events: &[usize],
    points: &HashMap<u32, usize>,
) -> bool {
    let point = |event: usize| points.get(&trace.events[event].txn).copied();
    // The moment is one of the read's transaction, hence of its thread.
    let is_over = |read: usize, moment: Moment| match moment {
        Moment::Event(at) => at <= read,
        Moment::Commit(write) => trace.own(read).is_some_and(|own| write <= own),
    };
    let is_open = |read: usize| {
        point(read).is_none_or(|point| !moments(trace, point).all(|moment| is_over(read, moment)))
    };
    let (mut fit, mut pairs) = (true, 0);
    each_overwritten(trace, events, &is_open, &mut |read, later| {
        pairs += 1;
        fit = pairs <= MOST_PAIRS
            && point(read).zip(point(later)).is_some_and(|(a, b)| is_noticed_before(trace, a, b));
        fit
    });
    fit
}
