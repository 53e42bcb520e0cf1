//! What read committed, read atomic and transactional causal consistency ask of commit orders, as
//! edges. Of a read of x from t1 by t3, they say that each other t2 that writes x and that t3 sees
//! comes before t1. Not all of these edges are added, but only so many that the others follow:
//!
//! - *read committed*: t3 sees whom it has read from before. Going backwards through its reads,
//!   the next read of each variable is known. When t2 is read from for the first time, its edges
//!   go to the next read of each variable that it writes; and of two reads of one variable, each
//!   source has an edge to that of the next. A later read of the variable then follows in steps.
//! - *read atomic*: t3 reads from t2, or t2 is the last before it in its session to write x.
//! - *causal*: clocks say which transactions of a session happen before t3: the last one of them
//!   that writes x has the edge, unless it happens before t1 anyway, or before one of another session that has it.
//!
//! For the first two, either the variables that t2 writes or those that t3 reads are gone through,
//! whichever are fewer, so that all takes at most n to the power of 3/2 steps for n operations, and
//! causal consistency n times the number of sessions.

use std::collections::HashMap;

use weakspot_core::transactional::BEGINNING;
use weakspot_core::{Limit, TxnHistory};

use super::Meter;
use super::graph::{Edge, EdgeWhy, Graph};
use super::writers::Writers;

/// What came of it.
pub(super) enum Found {
    /// The edges are in the graph.
    Orders,
    /// These edges are a cycle of two; or there is one, which leads to the beginning: an initial value was read that was
    /// overwritten.
    Cycle(Vec<Edge>),
}

/// The variables that were read from others by the current transaction, each with a number that is
/// valid only for it.
struct Marks {
    of_var: Vec<(u32, u32)>,
    vars: Vec<u32>,
    now: u32,
}

impl Marks {
    fn new(vars: usize) -> Marks {
        Marks { of_var: vec![(u32::MAX, 0); vars], vars: Vec::new(), now: 0 }
    }

    fn begin(&mut self, now: u32) {
        self.now = now;
        self.vars.clear();
    }

    fn get(&self, var: u32) -> Option<u32> {
        let (of, what) = self.of_var[var as usize];
        (of == self.now).then_some(what)
    }

    fn set(&mut self, var: u32, what: u32) {
        if self.of_var[var as usize].0 != self.now {
            self.vars.push(var);
        }
        self.of_var[var as usize] = (self.now, what);
    }
}

/// Calls `each` with every marked variable that a transaction writes and what it is marked with.
fn for_common(
    history: &TxnHistory,
    txn: u32,
    marks: &Marks,
    meter: &mut Meter<'_>,
    each: &mut dyn FnMut(u32),
) -> Result<(), Limit> {
    let written = history.written_by(txn);
    meter.step(1 + written.len().min(marks.vars.len()) as u64)?;
    if written.len() <= marks.vars.len() {
        written.iter().filter_map(|&(var, _)| marks.get(var)).for_each(each);
    } else {
        let vars = marks.vars.iter().filter(|&&var| history.last_write(txn, var).is_some());
        vars.filter_map(|&var| marks.get(var)).for_each(each);
    }
    Ok(())
}

/// Adds the edge that says that `from` is older than what a read has read.
fn older(graph: &mut Graph<'_>, from: u32, read: u32, closing: &mut Option<Vec<Edge>>) {
    let history = graph.history;
    let Some(to) = history.source(read).filter(|&to| to != from) else { return };
    let edge = Edge { from, to, why: EdgeWhy::Older(read), round: 1 };
    if to == BEGINNING {
        closing.get_or_insert_with(|| vec![edge]);
    } else if history.session_of(from) != history.session_of(to) {
        graph.edges.push(edge);
    } else if from > to {
        let back = Edge { from: to, to: from, why: EdgeWhy::Session, round: 0 };
        closing.get_or_insert_with(|| vec![back, edge]);
    }
}

fn found(closing: Option<Vec<Edge>>) -> Found {
    closing.map_or(Found::Orders, Found::Cycle)
}

pub(super) fn read_committed(graph: &mut Graph<'_>, meter: &mut Meter<'_>) -> Result<Found, Limit> {
    let history = graph.history;
    let mut next = Marks::new(history.vars());
    let mut first_read: Vec<(u32, u32)> = vec![(u32::MAX, 0); history.txns()];
    let mut closing = None;
    for txn in (0..history.txns() as u32).filter(|&t| history.committed(t)) {
        next.begin(txn);
        let reads = history.of_txn(txn);
        for op in reads.clone() {
            if let Some(source) = history.source(op).filter(|&s| s != BEGINNING) {
                let first = &mut first_read[source as usize];
                if first.0 != txn {
                    *first = (txn, op);
                }
            }
        }
        for op in reads.rev() {
            let Some(source) = history.source(op) else { continue };
            let var = history.var(op);
            if source != BEGINNING {
                let mut add = |read: u32| older(graph, source, read, &mut closing);
                next.get(var).into_iter().for_each(&mut add);
                if first_read[source as usize].1 == op {
                    for_common(history, source, &next, meter, &mut add)?;
                }
            }
            next.set(var, op);
        }
        if closing.is_some() {
            break;
        }
    }
    Ok(found(closing))
}

pub(super) fn read_atomic(graph: &mut Graph<'_>, meter: &mut Meter<'_>) -> Result<Found, Limit> {
    let history = graph.history;
    let mut reads = Marks::new(history.vars());
    let mut seen = vec![u32::MAX; history.txns()];
    let mut closing = None;
    // Who wrote a variable last in this session.
    let mut own: Vec<(u32, u32)> = vec![(u32::MAX, 0); history.vars()];
    for session in 0..history.sessions() {
        for txn in history.of_session(session).filter(|&t| history.committed(t)) {
            reads.begin(txn);
            for op in history.of_txn(txn) {
                let Some(source) = history.source(op) else { continue };
                let var = history.var(op);
                // Two versions of one variable: each has to be older than the other.
                if let Some(before) = reads.get(var)
                    && let Some(earlier) = history.source(before).filter(|&e| e != source)
                {
                    let edge =
                        |from, to, read| Edge { from, to, why: EdgeWhy::Older(read), round: 1 };
                    let both = [edge(earlier, source, op), edge(source, earlier, before)];
                    let cycle = both.into_iter().filter(|edge| edge.from != BEGINNING).collect();
                    closing.get_or_insert(cycle);
                }
                reads.set(var, op);
                let (of, last) = own[var as usize];
                if of == session as u32 {
                    older(graph, last, op, &mut closing);
                }
            }
            for op in history.of_txn(txn) {
                let Some(source) = history.source(op).filter(|&s| s != BEGINNING) else { continue };
                if std::mem::replace(&mut seen[source as usize], txn) != txn {
                    let mut add = |read: u32| older(graph, source, read, &mut closing);
                    for_common(history, source, &reads, meter, &mut add)?;
                }
            }
            for &(var, _) in history.written_by(txn) {
                own[var as usize] = (session as u32, txn);
            }
            if closing.is_some() {
                return Ok(found(closing));
            }
        }
    }
    Ok(Found::Orders)
}

pub(super) fn causal(graph: &mut Graph<'_>, meter: &mut Meter<'_>) -> Result<Found, Limit> {
    let history = graph.history;
    // Without versions: what happens before is not about them.
    let happens = Graph {
        history,
        edges: graph
            .edges
            .iter()
            .filter(|e| !matches!(e.why, EdgeWhy::Versions(..)))
            .copied()
            .collect(),
    };
    // A cycle of these is found again in the graph.
    let Some(order) = happens.order(meter)? else { return Ok(Found::Orders) };
    let sessions = history.sessions() as u64;
    meter.limits.check(sessions * sessions * 4)?;
    let mut clocks = Clocks::new(&happens);
    drop(happens);
    let writers = Writers::new(history);
    let mut closing = None;
    let mut done: Vec<(u32, u32)> = Vec::new();
    let mut place = vec![0; history.txns()];
    order.iter().zip(0..).for_each(|(&txn, at)| place[txn as usize] = at);
    let mut lasts: Vec<u32> = Vec::new();
    for txn in order {
        let clock = clocks.begin(txn, history);
        done.clear();
        for op in history.of_txn(txn) {
            let Some(source) = history.source(op) else { continue };
            let var = history.var(op);
            if done.last() == Some(&(var, source)) {
                continue;
            }
            done.push((var, source));
            meter.step(1)?;
            let of_source = clocks.of(source);
            lasts.clear();
            for (session, txns) in writers.of(var) {
                meter.step(1)?;
                let bound = clock[session as usize];
                // Most often the reader is not far behind or ahead.
                if txns[0] >= bound {
                    continue;
                }
                let last = txns[txns.partition_point(|&t| t < bound) - 1];
                let is_known =
                    last == source || of_source.is_some_and(|clock| last < clock[session as usize]);
                if !is_known && last != txn {
                    lasts.push(last);
                }
            }
            lasts.sort_unstable_by_key(|&last| std::cmp::Reverse(place[last as usize]));
            clocks.keep_latest(&mut lasts, history);
            lasts.iter().for_each(|&last| older(graph, last, op, &mut closing));
        }
        clocks.end(txn, clock, history);
        meter.bytes = clocks.bytes() + (graph.edges.capacity() * size_of::<Edge>()) as u64;
        if closing.is_some() {
            break;
        }
    }
    Ok(found(closing))
}

/// Per transaction and session which transactions of that session happen before it: those below a
/// number. Clocks are kept as long as somebody reads from the transaction.
struct Clocks {
    of_session: Vec<Box<[u32]>>,
    kept: HashMap<u32, Box<[u32]>>,
    /// How many edges lead from a transaction to those that read from it and are not done.
    readers: Vec<u32>,
    free: Vec<Box<[u32]>>,
}

impl Clocks {
    fn new(happens: &Graph<'_>) -> Clocks {
        let history = happens.history;
        let sessions = history.sessions();
        let mut readers = vec![0; history.txns()];
        for op in 0..history.len() as u32 {
            if history.committed(history.txn_of(op))
                && let Some(source) = history.source(op).filter(|&s| s != BEGINNING)
            {
                readers[source as usize] += 1;
            }
        }
        let of_session = (0..sessions).map(|_| vec![0; sessions].into()).collect();
        Clocks { of_session, kept: HashMap::new(), readers, free: Vec::new() }
    }

    fn of(&self, txn: u32) -> Option<&[u32]> {
        self.kept.get(&txn).map(|clock| &clock[..])
    }

    /// Of transactions, the latest first, leaves out those that happen before one that stays, as far as clocks are
    /// kept: what those have to come before, they come before as well.
    fn keep_latest(&self, txns: &mut Vec<u32>, history: &TxnHistory) {
        const MOST: usize = 8;
        let mut kept: Vec<&[u32]> = Vec::new();
        txns.retain(|&txn| {
            let session = history.session_of(txn) as usize;
            let stays = !kept.iter().any(|clock| txn < clock[session]);
            if let (true, Some(clock)) = (stays && kept.len() < MOST, self.of(txn)) {
                kept.push(clock);
            }
            stays
        });
    }

    /// The clock of a transaction, whose predecessors are done.
    fn begin(&mut self, txn: u32, history: &TxnHistory) -> Box<[u32]> {
        let session = history.session_of(txn) as usize;
        let mut clock = std::mem::take(&mut self.of_session[session]);
        let mut before = None;
        for op in history.of_txn(txn) {
            let Some(source) = history.source(op).filter(|&s| s != BEGINNING) else { continue };
            if before.replace(source) == Some(source) {
                continue;
            }
            let bound = clock[history.session_of(source) as usize];
            if source < bound {
                continue;
            }
            if let Some(theirs) = self.kept.get(&source) {
                for (mine, theirs) in clock.iter_mut().zip(theirs) {
                    *mine = (*mine).max(*theirs);
                }
            }
            clock[history.session_of(source) as usize] = source + 1;
        }
        clock
    }

    fn end(&mut self, txn: u32, mut clock: Box<[u32]>, history: &TxnHistory) {
        for op in history.of_txn(txn) {
            let Some(source) = history.source(op).filter(|&s| s != BEGINNING) else { continue };
            let readers = &mut self.readers[source as usize];
            *readers -= 1;
            if *readers == 0 {
                self.free.extend(self.kept.remove(&source));
            }
        }
        if self.readers[txn as usize] > 0 {
            let mut kept = self.free.pop().unwrap_or_else(|| clock.clone());
            kept.copy_from_slice(&clock);
            self.kept.insert(txn, kept);
        }
        let session = history.session_of(txn) as usize;
        clock[session] = txn + 1;
        self.of_session[session] = clock;
    }

    fn bytes(&self) -> u64 {
        let clocks = self.kept.len() + self.free.len() + self.of_session.len();
        (clocks * self.of_session.len() * 4) as u64
    }
}
