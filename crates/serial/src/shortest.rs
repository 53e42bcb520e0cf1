//! A shortest cycle of an execution among those that lead into a given event. If that closes the
//! first cycles of the execution, and nothing after it is looked at, these are all of them.
//!
//! The monitor finds some cycle, which may go through thousands of transactions, because it only
//! keeps conflicts from which all others follow. Here all conflicts count, so that one goes from a
//! transaction to any later one that it conflicts with at once. The search is breadth-first from
//! the transaction of the event.
//!
//! There are quadratically many conflicts, but they have a shape: what an event leads to is, of a
//! few lists such as the writes of its thread or the reads of its variable by another one, all from
//! some place on. So per list it is enough to know from where on all was visited. Cost: linear in
//! the execution, times the number of threads.

use std::collections::{HashMap, VecDeque};

use weakspot_core::serial::{BufferedReads, TxnCycle};
use weakspot_core::{TxnEvent, TxnKind};

/// A shortest cycle that leads into this event last, if there is one.
pub(crate) fn shortest(events: &[TxnEvent], reads: BufferedReads, last: usize) -> Option<TxnCycle> {
    if last >= events.len() {
        return None;
    }
    let facts = Facts::new(events, reads);
    let mut search = Search::new(&facts);
    let start = facts.txns[last];
    let mut came: Vec<Option<(usize, usize)>> = vec![None; facts.of_txn.len()];
    let mut queue = VecDeque::from([start]);
    let mut found = Vec::new();
    while let Some(txn) = queue.pop_front() {
        let events = &facts.of_txn[txn];
        let leads = |&&event: &&usize| event < last && facts.conflict(event, last);
        if txn != start
            && let Some(&event) = events.iter().find(leads)
        {
            let (mut edge, mut at) = ((event, last), txn);
            loop {
                found.push((edge.0 as u64, edge.1 as u64));
                if at == start {
                    found.reverse();
                    return Some(TxnCycle(found));
                }
                edge = came[at]?;
                at = facts.txns[edge.0];
            }
        }
        for &event in events {
            search.follow(event, &mut |to| {
                let next = facts.txns[to];
                if next != start && came[next].is_none() {
                    came[next] = Some((event, to));
                    queue.push_back(next);
                }
            });
        }
    }
    None
}

/// What conflicts depend on, per event by its place.
struct Facts<'a> {
    events: &'a [TxnEvent],
    txns: Vec<usize>,
    of_txn: Vec<Vec<usize>>,
    reads: Vec<ReadFacts>,
}

/// When a read counts. For events that are no reads all are their place.
#[derive(Clone, Copy)]
struct ReadFacts {
    /// Whether it counts as one of the buffer, so that later reads overtake it.
    is_buffered: bool,
    /// It comes after what is before this: its place, or the own write that is pending then.
    since: usize,
    /// It comes before what is after this: its place, or the commit of that write.
    until: usize,
}

impl<'a> Facts<'a> {
    fn new(events: &'a [TxnEvent], reading: BufferedReads) -> Facts<'a> {
        let mut numbers: HashMap<u32, usize> = HashMap::new();
        let mut of_txn: Vec<Vec<usize>> = Vec::new();
        let mut txns = Vec::with_capacity(events.len());
        let mut reads: Vec<ReadFacts> = Vec::with_capacity(events.len());
        // Per thread and variable the last write since the last fence, and per thread the pending
        // ones, each with the reads that see it there.
        let mut own: HashMap<(u32, u32), usize> = HashMap::new();
        let mut buffers: HashMap<u32, VecDeque<(usize, Vec<usize>)>> = HashMap::new();
        let mut touched: HashMap<u32, Vec<u32>> = HashMap::new();
        // Per variable the thread whose value is in memory.
        let mut memory: HashMap<u32, u32> = HashMap::new();
        for (at, e) in events.iter().enumerate() {
            let txn = *numbers.entry(e.txn).or_insert_with(|| {
                of_txn.push(Vec::new());
                of_txn.len() - 1
            });
            txns.push(txn);
            of_txn[txn].push(at);
            let mut facts = ReadFacts { is_buffered: false, since: at, until: at };
            let buffer = buffers.entry(e.thread).or_default();
            match e.kind {
                TxnKind::Write => {
                    own.insert((e.thread, e.var), at);
                    touched.entry(e.thread).or_default().push(e.var);
                    buffer.push_back((at, Vec::new()));
                }
                TxnKind::Read => {
                    if let Some(&write) = own.get(&(e.thread, e.var)) {
                        facts.is_buffered = reading == BufferedReads::Static
                            || memory.get(&e.var) == Some(&e.thread);
                        let place = buffer.partition_point(|&(pending, _)| pending < write);
                        if let Some((pending, seen)) = buffer.get_mut(place)
                            && *pending == write
                        {
                            seen.push(at);
                            let (since, until) = (write, usize::MAX);
                            facts = ReadFacts { is_buffered: true, since, until };
                        }
                    }
                }
                TxnKind::Commit => {
                    for read in buffer.pop_front().into_iter().flat_map(|(_, seen)| seen) {
                        reads[read].until = at;
                    }
                }
                TxnKind::Update | TxnKind::Fence => {
                    for var in touched.entry(e.thread).or_default().drain(..) {
                        own.remove(&(e.thread, var));
                    }
                }
            }
            if matches!(e.kind, TxnKind::Commit | TxnKind::Update) {
                memory.insert(e.var, e.thread);
            }
            reads.push(facts);
        }
        Facts { events, txns, of_txn, reads }
    }

    /// Whether an event conflicts with a later one: `core/src/serial/conflict.rs`, but for the two
    /// halves of a write.
    fn conflict(&self, first: usize, second: usize) -> bool {
        let (e, f) = (&self.events[first], &self.events[second]);
        if e.thread == f.thread {
            let is_commit = |e: &TxnEvent| e.kind == TxnKind::Commit;
            return e.kind.drains()
                || f.kind.drains()
                || is_commit(e) && is_commit(f)
                || !is_commit(e) && !is_commit(f) && !self.overtakes(first, second);
        }
        let (reads, writes) = (TxnKind::Read, [TxnKind::Commit, TxnKind::Update]);
        e.kind.is_access()
            && f.kind.is_access()
            && e.var == f.var
            && match (writes.contains(&e.kind), writes.contains(&f.kind)) {
                (true, true) => true,
                (true, false) => f.kind == reads && first < self.reads[second].since,
                (false, true) => e.kind == reads && self.reads[first].until < second,
                (false, false) => false,
            }
    }

    /// Whether a read of another variable overtakes what its thread did before.
    fn overtakes(&self, first: usize, second: usize) -> bool {
        let (e, f) = (&self.events[first], &self.events[second]);
        let may = e.kind == TxnKind::Write || self.reads[first].is_buffered;
        may && f.kind == TxnKind::Read && e.var != f.var
    }
}

/// Events by their places, or in the last sort of list by since when they count, with the number of
/// those that were not visited.
#[derive(Default)]
struct List {
    events: Vec<(usize, usize)>,
    left: usize,
}

/// The lists of a thread.
#[derive(Default)]
struct OfThread {
    /// All but commits.
    issued: List,
    /// Writes, fences and updates.
    writes: List,
    /// Commits, fences and updates.
    commits: List,
}

/// The lists of a variable and a thread.
#[derive(Default)]
struct OfVar {
    thread: u32,
    /// Commits and updates.
    writes: List,
    /// Reads.
    reads: List,
    /// Reads by since when they come after what others do.
    since: List,
}

impl List {
    fn push(&mut self, key: usize, event: usize) {
        self.events.push((key, event));
        self.left += 1;
    }

    /// Visits what was not visited and comes after a place.
    fn after(&mut self, place: usize, each: &mut dyn FnMut(usize)) {
        if self.left == 0 || self.events[self.left - 1].0 <= place {
            return;
        }
        let from = self.events[..self.left].partition_point(|&(key, _)| key <= place);
        self.events[from..self.left].iter().for_each(|&(_, event)| each(event));
        self.left = from;
    }
}

struct Search<'a> {
    facts: &'a Facts<'a>,
    threads: HashMap<u32, OfThread>,
    vars: HashMap<u32, Vec<OfVar>>,
}

impl<'a> Search<'a> {
    fn new(facts: &'a Facts<'a>) -> Search<'a> {
        let (mut threads, mut vars) = (HashMap::new(), HashMap::new());
        for (at, e) in facts.events.iter().enumerate() {
            let thread: &mut OfThread = threads.entry(e.thread).or_default();
            if e.kind != TxnKind::Commit {
                thread.issued.push(at, at);
            }
            if e.kind == TxnKind::Write || e.kind.drains() {
                thread.writes.push(at, at);
            }
            if e.kind == TxnKind::Commit || e.kind.drains() {
                thread.commits.push(at, at);
            }
            if matches!(e.kind, TxnKind::Fence | TxnKind::Write) {
                continue;
            }
            let of_var: &mut Vec<OfVar> = vars.entry(e.var).or_default();
            let place = of_var.iter().position(|of| of.thread == e.thread).unwrap_or_else(|| {
                of_var.push(OfVar { thread: e.thread, ..OfVar::default() });
                of_var.len() - 1
            });
            if e.kind == TxnKind::Read {
                of_var[place].reads.push(at, at);
                of_var[place].since.push(facts.reads[at].since, at);
            } else {
                of_var[place].writes.push(at, at);
            }
        }
        Search { facts, threads, vars }
    }

    /// Visits all that this event leads to and that was not visited in the same list.
    fn follow(&mut self, at: usize, each: &mut dyn FnMut(usize)) {
        let e = &self.facts.events[at];
        let read = self.facts.reads[at];
        let overtaken = e.kind == TxnKind::Write || read.is_buffered;
        if let Some(thread) = self.threads.get_mut(&e.thread) {
            match e.kind {
                TxnKind::Commit => thread.commits.after(at, each),
                TxnKind::Update | TxnKind::Fence => {
                    thread.issued.after(at, each);
                    thread.commits.after(at, each);
                }
                TxnKind::Read | TxnKind::Write if overtaken => thread.writes.after(at, each),
                TxnKind::Read | TxnKind::Write => thread.issued.after(at, each),
            }
        }
        if !e.kind.is_access() {
            return;
        }
        for of in self.vars.get_mut(&e.var).into_iter().flatten() {
            if of.thread == e.thread {
                if overtaken {
                    of.reads.after(at, each);
                }
                continue;
            }
            match e.kind {
                TxnKind::Read => of.writes.after(read.until, each),
                TxnKind::Commit | TxnKind::Update => {
                    of.writes.after(at, each);
                    of.since.after(at, each);
                }
                TxnKind::Write | TxnKind::Fence => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use weakspot_core::serial::{Conflicts, Executions, conflict, pair};
    use weakspot_core::testing::{Rng, TxnSize, overwriting_trace, random_trace};

    use super::*;
    use crate::online::first_violation;

    /// The length of a shortest cycle of transactions, by all conflicts up to an event.
    fn by_definition(events: &[TxnEvent], reads: BufferedReads, end: usize) -> Option<usize> {
        let execution = pair(events).expect("an execution");
        let mut txns: Vec<u32> = events.iter().map(|e| e.txn).collect();
        txns.sort_unstable();
        txns.dedup();
        let n = txns.len();
        let node = |at: usize| txns.partition_point(|&txn| txn < events[at].txn);
        let mut steps = vec![vec![usize::MAX / 4; n]; n];
        for b in 0..=end {
            for a in 0..b {
                if node(a) != node(b) && conflict(&execution, Conflicts::Tso(reads), a, b) {
                    steps[node(a)][node(b)] = 1;
                }
            }
        }
        for via in 0..n {
            for a in 0..n {
                for b in 0..n {
                    steps[a][b] = steps[a][b].min(steps[a][via] + steps[via][b]);
                }
            }
        }
        (0..n).map(|a| steps[a][a]).min().filter(|&least| least < usize::MAX / 4)
    }

    #[test]
    fn cycles_are_shortest() {
        let mut found = [0; 6];
        for seed in 0..1500 {
            let mut rng = Rng::new(seed);
            let size = TxnSize {
                threads: 2 + rng.below(3) as u32,
                vars: 1 + rng.below(3) as u32,
                events: 6 + rng.below(8),
                txn: 1 + rng.below(3),
                fences: rng.below(3) * 5,
            };
            let trace = match seed % 3 {
                0 => overwriting_trace(&mut rng, 9),
                _ => random_trace(&mut rng, size),
            };
            let reads = BufferedReads::ALL[rng.below(2)];
            for events in Executions::new(&trace).take(10) {
                let Some((end, _)) = first_violation(&events, reads) else { continue };
                let cycle = shortest(&events[..=end], reads, end).expect("there is one");
                let expected = by_definition(&events, reads, end);
                assert_eq!(expected, Some(cycle.0.len()), "{reads:?} {events:?}");
                found[cycle.0.len().min(5)] += 1;
            }
        }
        assert!(found[2] > 100 && found[3] > 50 && found[4] + found[5] > 10, "{found:?}");
    }
}
