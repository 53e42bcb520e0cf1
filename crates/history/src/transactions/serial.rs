//! Serializability. Checking it is NP-complete, so there are stages:
//!
//! 1. a search that executes one transaction after the other, with little patience;
//! 2. saturation: of a read of x from t1 by t3 and another t2 that writes x, if t2 comes before t3
//!    it comes before t1, and if it comes after t1 it comes after t3, until nothing follows any
//!    more; a cycle decides;
//! 3. the search again, with all that was derived, as long as the limits allow.
//!
//! The search knows two things that keep it small. A transaction can be the next one if those that
//! have to come before it are done and nobody waits for a version that it overwrites; so what can
//! happen depends only on what is done, and sets of transactions that lead nowhere are remembered.
//! And one whose versions nobody reads later prevents nothing: it is done at once, and nothing else
//! need be tried in its place.

use std::collections::HashSet;

use weakspot_core::transactional::BEGINNING;
use weakspot_core::{Limit, TxnEvidence, TxnHistory, TxnModel};

use super::Meter;
use super::explain;
use super::graph::{Edge, EdgeWhy, Graph, Outgoing};
use super::writers::Writers;

/// Decides about a history that is causally consistent; `order` agrees with all edges.
pub(super) fn decide(
    mut graph: Graph<'_>,
    order: Vec<u32>,
    meter: &mut Meter<'_>,
) -> Result<(TxnEvidence, &'static str), Limit> {
    let patience = 4 * order.len() as u64 + 1_000;
    if let Some(Some(order)) = Search::new(&graph, &order).run(patience, meter)? {
        return Ok((TxnEvidence::Order(order), "greedy"));
    }
    let order = match saturate(&mut graph, order, meter)? {
        Ok(order) => order,
        Err(evidence) => return Ok((evidence, "saturation")),
    };
    match Search::new(&graph, &order).run(u64::MAX, meter)? {
        Some(Some(order)) => Ok((TxnEvidence::Order(order), "search")),
        _ => Ok((TxnEvidence::Searched, "search")),
    }
}

type Saturated = Result<Vec<u32>, TxnEvidence>;

/// Adds what follows in every order, round by round.
fn saturate(
    graph: &mut Graph<'_>,
    mut order: Vec<u32>,
    meter: &mut Meter<'_>,
) -> Result<Saturated, Limit> {
    let history = graph.history;
    let writers = Writers::new(history);
    let sessions = history.sessions();
    let held = meter.bytes;
    for round in 2.. {
        let bytes = (history.txns() * sessions * 4 + graph.edges.len() * 24) as u64;
        meter.bytes = held + bytes;
        meter.limits.check(meter.bytes)?;
        let past = Past::new(graph, &order, meter)?;
        let before = graph.edges.len();
        let mut closing = None;
        for &t3 in &order {
            for read in history.of_txn(t3) {
                let Some(t1) = history.source(read) else { continue };
                let var = history.var(read);
                for (session, txns) in writers.of(var) {
                    meter.step(2)?;
                    // The last one that comes before t3.
                    let bound = past.of(t3, session);
                    let seen = txns.partition_point(|&t| t < bound);
                    let older = txns[..seen].last().copied().filter(|&t2| t2 != t1);
                    if let Some(t2) = older {
                        if t1 == BEGINNING {
                            closing = Some((t2, read));
                        } else if !past.comes_before(history, t2, t1) {
                            graph.add(t2, t1, EdgeWhy::Older(read), round);
                        }
                    }
                    // The first one that comes after t1.
                    let after = |&t2: &u32| {
                        t1 == BEGINNING || t2 != t1 && past.comes_before(history, t1, t2)
                    };
                    let first = txns.partition_point(|t2| !after(t2));
                    let later = txns[first..].iter().copied().find(|&t2| t2 != t3);
                    if let Some(t2) = later
                        && !past.comes_before(history, t3, t2)
                    {
                        graph.add(t3, t2, EdgeWhy::Overwrites(read), round);
                    }
                }
            }
        }
        if let Some((from, read)) = closing {
            let edge = Edge { from, to: BEGINNING, why: EdgeWhy::Older(read), round };
            return explain::cycle(graph, TxnModel::Serializable, &[edge], meter).map(Err);
        }
        if graph.edges.len() == before {
            break;
        }
        match graph.sort(meter)? {
            Ok(sorted) => order = sorted,
            Err(cycle) => {
                return explain::cycle(graph, TxnModel::Serializable, &cycle, meter).map(Err);
            }
        }
    }
    Ok(Ok(order))
}

/// Per transaction and session which transactions of that session come before it: those below a
/// number.
struct Past {
    bounds: Vec<u32>,
    sessions: usize,
}

impl Past {
    fn new(graph: &Graph<'_>, order: &[u32], meter: &mut Meter<'_>) -> Result<Past, Limit> {
        let history = graph.history;
        let sessions = history.sessions();
        let mut bounds = vec![0u32; history.txns() * sessions];
        let out = Outgoing::new(graph, |_| true);
        let mut mine = vec![0; sessions];
        for &txn in order {
            let at = txn as usize * sessions;
            mine.copy_from_slice(&bounds[at..at + sessions]);
            let session = history.session_of(txn) as usize;
            mine[session] = mine[session].max(txn + 1);
            for &edge in out.of(txn) {
                meter.step(1 + sessions as u64 / 8)?;
                let to = graph.edges[edge as usize].to as usize * sessions;
                for (theirs, mine) in bounds[to..to + sessions].iter_mut().zip(&mine) {
                    *theirs = (*theirs).max(*mine);
                }
            }
        }
        Ok(Past { bounds, sessions })
    }

    fn of(&self, txn: u32, session: u32) -> u32 {
        self.bounds[txn as usize * self.sessions + session as usize]
    }

    fn comes_before(&self, history: &TxnHistory, first: u32, second: u32) -> bool {
        first < self.of(second, history.session_of(first))
    }
}

/// Transactions are executed one after the other.
struct Search<'a> {
    graph: &'a Graph<'a>,
    out: Outgoing,
    /// The committed transactions of each session, and how many of them are done.
    sessions: Vec<Vec<u32>>,
    done: Vec<u32>,
    /// How many edges lead to a transaction from those that are not done.
    incoming: Vec<u32>,
    /// Per variable how many that are not done read its current version.
    waiting: Vec<u32>,
    /// Per transaction and variable that it writes, in the order of all of these, how many read
    /// its version; and where those of a transaction begin.
    readers: Vec<u32>,
    reader_starts: Vec<u32>,
    /// Which variables a transaction reads from others, each once.
    reads: Vec<Vec<u32>>,
    /// Where a transaction is in the order that is tried first.
    place: Vec<u32>,
    failed: HashSet<Box<[u32]>>,
}

/// A transaction that was done, and what is to be tried in its place.
struct Choice {
    txn: u32,
    /// What variables had waiting before.
    waiting: Vec<u32>,
    others: Vec<u32>,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph<'a>, order: &[u32]) -> Search<'a> {
        let history = graph.history;
        let n = history.txns();
        let mut incoming = vec![0; n];
        for edge in &graph.edges {
            incoming[edge.to as usize] += 1;
        }
        let mut place = vec![0; n];
        for (i, &txn) in order.iter().enumerate() {
            place[txn as usize] = i as u32;
        }
        let mut reader_starts = vec![0u32];
        for txn in 0..n as u32 {
            let last = reader_starts[txn as usize];
            reader_starts.push(last + history.written_by(txn).len() as u32);
        }
        let mut readers = vec![0; reader_starts[n] as usize];
        let mut waiting = vec![0; history.vars()];
        let mut reads = vec![Vec::new(); n];
        for &txn in order {
            let mut vars: Vec<(u32, u32)> = history
                .of_txn(txn)
                .filter_map(|op| Some((history.var(op), history.source(op)?)))
                .collect();
            vars.sort_unstable();
            vars.dedup();
            for &(var, source) in &vars {
                if source == BEGINNING {
                    waiting[var as usize] += 1;
                    continue;
                }
                let written = history.written_by(source);
                if let Ok(at) = written.binary_search_by_key(&var, |w| w.0) {
                    readers[reader_starts[source as usize] as usize + at] += 1;
                }
            }
            reads[txn as usize] = vars.into_iter().map(|(var, _)| var).collect();
        }
        let committed = |t: &u32| history.committed(*t);
        let sessions: Vec<Vec<u32>> = (0..history.sessions())
            .map(|s| history.of_session(s).filter(committed).collect())
            .collect();
        let done = vec![0; sessions.len()];
        let out = Outgoing::new(graph, |_| true);
        let failed = HashSet::new();
        Search {
            graph,
            out,
            sessions,
            done,
            incoming,
            waiting,
            readers,
            reader_starts,
            reads,
            place,
            failed,
        }
    }

    /// An order, `Some(None)` if there is none, `None` when the patience ends.
    fn run(
        mut self,
        mut patience: u64,
        meter: &mut Meter<'_>,
    ) -> Result<Option<Option<Vec<u32>>>, Limit> {
        let all: usize = self.sessions.iter().map(Vec::len).sum();
        let mut choices: Vec<Choice> = Vec::new();
        let held = meter.bytes;
        loop {
            if choices.len() == all {
                return Ok(Some(Some(choices.into_iter().map(|c| c.txn).collect())));
            }
            if patience == 0 {
                return Ok(None);
            }
            patience -= 1;
            meter.step(self.sessions.len() as u64)?;
            let mut next = self.next();
            if next.len() > 1 && self.failed.contains(&self.done[..]) {
                next.clear();
            }
            if let Some(txn) = next.pop() {
                let waiting = self.execute(txn);
                choices.push(Choice { txn, waiting, others: next });
                continue;
            }
            // Back to the last choice that has something else to try.
            loop {
                self.remember(meter, held);
                let Some(mut choice) = choices.pop() else { return Ok(Some(None)) };
                self.undo(&choice);
                if let Some(txn) = choice.others.pop() {
                    let waiting = self.execute(txn);
                    choices.push(Choice { txn, waiting, others: choice.others });
                    break;
                }
            }
        }
    }

    fn remember(&mut self, meter: &mut Meter<'_>, held: u64) {
        self.failed.insert(self.done.clone().into());
        meter.bytes = held + (self.failed.len() * (self.done.len() * 4 + 32)) as u64;
    }

    /// What can be the next transaction; the one to be tried first is the last.
    fn next(&self) -> Vec<u32> {
        let mut next = Vec::new();
        for (txns, &done) in self.sessions.iter().zip(&self.done) {
            let Some(&txn) = txns.get(done as usize) else { continue };
            if self.incoming[txn as usize] > 0 || !self.may_write(txn) {
                continue;
            }
            let start = self.reader_starts[txn as usize] as usize;
            let end = self.reader_starts[txn as usize + 1] as usize;
            if self.readers[start..end].iter().all(|&n| n == 0) {
                return vec![txn];
            }
            next.push(txn);
        }
        next.sort_unstable_by_key(|&txn| std::cmp::Reverse(self.place[txn as usize]));
        next
    }

    /// Whether nobody else waits for what a transaction overwrites.
    fn may_write(&self, txn: u32) -> bool {
        let reads = &self.reads[txn as usize];
        self.graph.history.written_by(txn).iter().all(|&(var, _)| {
            let own = u32::from(reads.binary_search(&var).is_ok());
            self.waiting[var as usize] == own
        })
    }

    /// Does a transaction. Returns what its variables had waiting before.
    fn execute(&mut self, txn: u32) -> Vec<u32> {
        let history = self.graph.history;
        for &var in &self.reads[txn as usize] {
            self.waiting[var as usize] -= 1;
        }
        let start = self.reader_starts[txn as usize] as usize;
        let mut before = Vec::new();
        for (i, &(var, _)) in history.written_by(txn).iter().enumerate() {
            let waiting = &mut self.waiting[var as usize];
            before.push(std::mem::replace(waiting, self.readers[start + i]));
        }
        for &edge in self.out.of(txn) {
            self.incoming[self.graph.edges[edge as usize].to as usize] -= 1;
        }
        self.done[history.session_of(txn) as usize] += 1;
        before
    }

    fn undo(&mut self, choice: &Choice) {
        let history = self.graph.history;
        let txn = choice.txn;
        self.done[history.session_of(txn) as usize] -= 1;
        for &edge in self.out.of(txn) {
            self.incoming[self.graph.edges[edge as usize].to as usize] += 1;
        }
        for (&(var, _), &waiting) in history.written_by(txn).iter().zip(&choice.waiting) {
            self.waiting[var as usize] = waiting;
        }
        for &var in &self.reads[txn as usize] {
            self.waiting[var as usize] += 1;
        }
    }
}
