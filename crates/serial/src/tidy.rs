//! Violating executions of a trace that are easy to read: with a short cycle, and with as few stores
//! as possible that reach memory before they have to.
//!
//! Of an execution only its cycle counts. What that demands of commits is demanded of another
//! execution, in which they are as late as that allows; and that one may have a shorter cycle again.
//! Cost: linear in the trace, and a few times in the part of it up to the end of the cycle.

use std::collections::{HashMap, HashSet, VecDeque};

use weakspot_core::serial::{Tie, Trace, TxnCycle};
use weakspot_core::{TxnEvent, TxnKind};
use weakspot_sat::Meter;

use crate::online::first_violation;
use crate::shortest::shortest;

/// What happens at some time: an event of the trace, or the commit of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Point {
    Event(usize),
    Commit(usize),
}

impl Point {
    fn event(self) -> usize {
        match self {
            Point::Event(at) | Point::Commit(at) => at,
        }
    }
}

/// An edge of a cycle.
#[derive(Clone, Copy)]
struct Pair {
    from: Point,
    to: Point,
    /// If it is one of a read that finds its own write overwritten: the last thing that wrote over it.
    seen: Option<Point>,
}

type Pairs = Vec<Pair>;

/// So often another execution is made of the last one.
const ROUNDS: usize = 4;

/// A violating execution and its cycle, given an execution, or the beginning of one, with a cycle.
pub(crate) fn tidy(
    trace: &Trace<'_>,
    execution: &[TxnEvent],
    cycle: &TxnCycle,
    meter: &mut Meter<'_>,
) -> Option<(Vec<TxnEvent>, TxnCycle)> {
    let reads = trace.mode.buffered_reads();
    let points = points(trace.events.len(), execution);
    let mut best = in_points(trace, cycle, &points)?;
    // When time or memory are short, the answer is not improved, but still given.
    let mut is_allowed = |events: usize| {
        let events = events as u64;
        meter.room(events * 300).is_ok() && meter.work(events * 16, || 0).is_ok()
    };
    if let Some(&(_, end)) = cycle.0.last()
        && is_allowed(execution.len())
        && let Some(short) = shortest(execution, reads, end as usize)
        && short.0.len() < cycle.0.len()
    {
        best = in_points(trace, &short, &points)?;
    }
    let part = |pairs: &Pairs| {
        let last = pairs.iter().flat_map(|pair| [pair.from.event(), pair.to.event()]).max();
        &trace.events[..last.map_or(0, |last| last + 1)]
    };
    let late_part = |pairs: &Pairs| late(part(pairs), &demands(trace, pairs));
    let mut now = late_part(&best)?;
    for _ in 0..ROUNDS {
        if !is_allowed(now.events.len()) {
            break;
        }
        let points = self::points(trace.events.len(), &now.events);
        let end = best.last().and_then(|last| points.iter().position(|&p| p == last.to));
        let mut found = vec![end.and_then(|end| shortest(&now.events, reads, end))];
        let first = first_violation(&now.events, reads);
        found.extend(first.map(|(end, _)| shortest(&now.events[..=end], reads, end)));
        let mut better = None;
        for pairs in found.iter().flatten().filter_map(|cycle| in_points(trace, cycle, &points)) {
            let Some(run) = late_part(&pairs) else { continue };
            if (pairs.len(), run.early) < (best.len(), now.early) {
                (best, now) = (pairs, run);
                better = Some(());
            }
        }
        if better.is_none() {
            break;
        }
    }
    let events = late(trace.events, &demands(trace, &best))?.events;
    let cycle = in_execution(trace, &best, &events)?;
    Some((events, cycle))
}

/// A cycle of an execution, given what its events are.
fn in_points(trace: &Trace<'_>, cycle: &TxnCycle, points: &[Point]) -> Option<Pairs> {
    let mut pairs = Vec::with_capacity(cycle.0.len());
    for &(first, second) in &cycle.0 {
        let (from, to) = (*points.get(first as usize)?, *points.get(second as usize)?);
        let tie = match (from, to) {
            (Point::Event(from), Point::Event(to)) if from < to => trace.tie(from, to),
            _ => None,
        };
        let seen = match tie {
            Some(Tie::Sometimes) => Some(last_write(trace, &points[..first as usize], from)?),
            _ => None,
        };
        pairs.push(Pair { from, to, seen });
    }
    Some(pairs)
}

/// The last of these that writes the variable of an event in memory.
fn last_write(trace: &Trace<'_>, points: &[Point], event: Point) -> Option<Point> {
    let var = trace.events[event.event()].var;
    points.iter().copied().rfind(|point| match *point {
        Point::Commit(write) => trace.events[write].var == var,
        Point::Event(at) => trace.events[at].kind == TxnKind::Update && trace.events[at].var == var,
    })
}

/// What each event of an execution is; the trace has so many events.
fn points(count: usize, execution: &[TxnEvent]) -> Vec<Point> {
    let mut buffers: HashMap<u32, VecDeque<usize>> = HashMap::new();
    let mut next = 0;
    let mut point = |e: &TxnEvent| {
        if e.kind == TxnKind::Commit {
            let store = buffers.entry(e.thread).or_default().pop_front();
            return Point::Commit(store.unwrap_or(count));
        }
        if e.kind == TxnKind::Write {
            buffers.entry(e.thread).or_default().push_back(next);
        }
        next += 1;
        Point::Event(next - 1)
    };
    execution.iter().map(&mut point).collect()
}

/// What has to come before what for these pairs to conflict in their order.
fn demands(trace: &Trace<'_>, pairs: &Pairs) -> Vec<(Point, Point)> {
    let mut demands = Vec::new();
    for &Pair { from, to, seen } in pairs {
        if trace.events[from.event()].thread == trace.events[to.event()].thread {
            if let (Some(seen), Some(own)) = (seen, trace.own(from.event())) {
                demands.extend([(Point::Commit(own), seen), (seen, from)]);
            }
            continue;
        }
        demands.push((from, to));
        // A read of the buffer conflicts with what comes after the commit of what it reads.
        demands.extend(trace.own(from.event()).map(|own| (Point::Commit(own), to)));
    }
    demands
}

/// An execution in which commits are as late as some demands allow.
pub(crate) struct Late {
    pub(crate) events: Vec<TxnEvent>,
    /// How many commits do not wait for the next fence of their thread, or the end.
    early: usize,
}

/// The execution of these events; `None` if the demands contradict each other.
pub(crate) fn late(events: &[TxnEvent], demands: &[(Point, Point)]) -> Option<Late> {
    let mut first: HashMap<Point, Vec<usize>> = HashMap::new();
    for &(before, after) in demands {
        if let Point::Commit(write) = before {
            first.entry(after).or_default().push(write);
        }
    }
    let most = demands.len() + 1;
    let mut run = Running { trace: events, first, most, buffers: HashMap::new(), done: Vec::new() };
    let mut early = 0;
    for (at, e) in events.iter().enumerate() {
        if let Some(writes) = run.first.remove(&Point::Event(at)) {
            for write in writes {
                early += run.flush(write)?;
            }
        }
        if e.kind.drains()
            && let Some(&last) = run.buffers.entry(e.thread).or_default().back()
        {
            let own = run.buffers[&e.thread].len();
            early += run.flush(last)? - own;
        }
        run.done.push(*e);
        if e.kind == TxnKind::Write {
            run.buffers.entry(e.thread).or_default().push_back(at);
        }
    }
    let mut last: Vec<usize> = run.buffers.values().filter_map(|b| b.back().copied()).collect();
    last.sort_unstable();
    for write in last {
        run.flush(write)?;
    }
    Some(Late { events: run.done, early })
}

struct Running<'a> {
    trace: &'a [TxnEvent],
    /// What has to be committed before something.
    first: HashMap<Point, Vec<usize>>,
    /// How many demands can wait for each other.
    most: usize,
    buffers: HashMap<u32, VecDeque<usize>>,
    done: Vec<TxnEvent>,
}

impl Running<'_> {
    fn is_pending(&self, write: usize) -> bool {
        let buffer = self.buffers.get(&self.trace[write].thread);
        buffer.is_some_and(|b| b.front() <= Some(&write) && b.back() >= Some(&write))
    }

    /// Commits a write, with what has to come before; how many commits that were.
    fn flush(&mut self, write: usize) -> Option<usize> {
        let (mut stack, mut count) = (vec![write], 0);
        while let Some(&write) = stack.last() {
            if !self.is_pending(write) {
                stack.pop();
                continue;
            }
            let thread = self.trace[write].thread;
            let front = *self.buffers.get(&thread)?.front()?;
            let mut before = self.first.get(&Point::Commit(front)).into_iter().flatten();
            if let Some(&before) = before.find(|&&write| self.is_pending(write)) {
                stack.push(before);
                if stack.len() > self.most {
                    return None;
                }
                continue;
            }
            self.buffers.get_mut(&thread)?.pop_front();
            self.done.push(TxnEvent { kind: TxnKind::Commit, ..self.trace[front] });
            count += 1;
        }
        Some(count)
    }
}

/// The cycle of these pairs in an execution that has what they demand.
fn in_execution(trace: &Trace<'_>, pairs: &Pairs, execution: &[TxnEvent]) -> Option<TxnCycle> {
    let mut wanted: HashSet<Point> = HashSet::new();
    for &Pair { from, to, .. } in pairs {
        let own = trace.own(to.event());
        wanted.extend([from, to]);
        wanted.extend(own.into_iter().flat_map(|own| [Point::Event(own), Point::Commit(own)]));
    }
    let mut places: HashMap<Point, usize> = HashMap::new();
    for (at, point) in points(trace.events.len(), execution).into_iter().enumerate() {
        if wanted.contains(&point) {
            places.insert(point, at);
        }
    }
    let mut cycle = Vec::new();
    let mut add = |from: Point, to: Point| {
        cycle.push((*places.get(&from)? as u64, *places.get(&to)? as u64));
        Some(())
    };
    for &Pair { from, to, .. } in pairs {
        let [first, second] = [from, to].map(|point| trace.events[point.event()]);
        let own = trace.own(to.event()).filter(|_| first.thread != second.thread);
        let own = own.map(|own| (Point::Event(own), Point::Commit(own)));
        match own {
            // A commit while the write that is read is pending comes before that write.
            Some((issue, commit))
                if places.get(&issue) < places.get(&from)
                    && places.get(&to) < places.get(&commit) =>
            {
                add(from, commit)?;
                if trace.events[issue.event()].txn != second.txn {
                    add(issue, to)?;
                }
            }
            _ => add(from, to)?,
        }
    }
    Some(TxnCycle(cycle))
}
