//! Cycles of traces that cannot be made simpler: Corollary 1 and Propositions 3 to 5 of the paper
//! (Enea and Farzan, TACAS 2016), with the validity of executions, and points in time.

use std::collections::HashMap;

use weakspot_core::TxnEvent;
use weakspot_core::serial::{
    BufferedReads, Executions, OpenEvent, Tie, Trace, TraceMode, TraceOrder, is_noticed_before,
    open_events, pair, trace_serializable,
};
use weakspot_core::testing::{
    Rng, TxnSize, overwriting_trace, random_trace, scaled, show_trace, trace_of,
};

fn random(seed: u64, most: usize) -> Vec<TxnEvent> {
    let mut rng = Rng::new(seed);
    if seed % 4 == 3 {
        return overwriting_trace(&mut rng, most);
    }
    let size = TxnSize {
        threads: 2 + rng.below(3) as u32,
        vars: 1 + rng.below(3) as u32,
        events: 3 + rng.below(most - 2),
        txn: 1 + rng.below(4),
        fences: rng.below(3) * 5,
    };
    random_trace(&mut rng, size)
}

/// What leads to what, by a relation on so many nodes.
fn closure(count: usize, edges: impl Iterator<Item = (usize, usize)>) -> Vec<Vec<bool>> {
    let mut leads = vec![vec![false; count]; count];
    edges.for_each(|(from, to)| leads[from][to] = true);
    for via in 0..count {
        for from in 0..count {
            for to in 0..count {
                leads[from][to] |= leads[from][via] && leads[via][to];
            }
        }
    }
    leads
}

/// Pairs of events.
type Pairs = Vec<(usize, usize)>;

struct Cycles<'a> {
    trace: &'a Trace<'a>,
    order: TraceOrder<'a>,
    /// Directed ties: which transaction, and which event, leads to which.
    txns: Vec<Vec<bool>>,
    events: Vec<Vec<bool>>,
    /// Undirected ties in both directions, and those that there are only sometimes; and what they
    /// demand.
    ties: Vec<((usize, usize), Pairs)>,
}

impl<'a> Cycles<'a> {
    fn new(trace: &'a Trace<'a>) -> Cycles<'a> {
        let directed = trace.all(Tie::Directed);
        let txn = |event: usize| trace.events[event].txn as usize;
        let count = trace.events.iter().map(|e| e.txn as usize + 1).max().unwrap_or(0);
        let of_txns = directed.iter().map(|&(a, b)| (txn(a), txn(b))).filter(|(a, b)| a != b);
        let order = TraceOrder::new(trace);
        let mut ties = Vec::new();
        for (a, b) in trace.all(Tie::Undirected) {
            ties.extend([(a, b), (b, a)].map(|(a, b)| ((a, b), order.demands(a, b).collect())));
        }
        let sometimes = trace.all(Tie::Sometimes).into_iter();
        for (read, later) in sometimes.filter(|&(read, later)| txn(read) != txn(later)) {
            let demands = |write: usize| order.overwrites(write, read).to_vec();
            ties.extend(trace.overwriting(read).map(|write| ((read, later), demands(write))));
        }
        Cycles {
            trace,
            order,
            txns: closure(count, of_txns),
            events: closure(trace.events.len(), directed.iter().copied()),
            ties,
        }
    }

    fn txn(&self, event: usize) -> usize {
        self.trace.events[event].txn as usize
    }

    fn leads(&self, from: usize, to: usize) -> bool {
        let (from, to) = (self.txn(from), self.txn(to));
        from == to || self.txns[from][to]
    }

    /// A cycle with so many undirected ties, which are possible together.
    fn with(&self, count: usize, used: &mut Vec<usize>) -> bool {
        let tie = |number: usize| self.ties[number].0;
        if used.len() == count {
            let (first, last) = (tie(used[0]).0, tie(used[count - 1]).1);
            let demands = used.iter().flat_map(|&number| self.ties[number].1.iter().copied());
            let demands: Vec<(usize, usize)> = demands.collect();
            return self.leads(last, first) && self.order.sorted(&demands).is_some();
        }
        for number in 0..self.ties.len() {
            let fits = used.last().is_none_or(|&last| self.leads(tie(last).1, tie(number).0));
            if !fits || used.contains(&number) {
                continue;
            }
            used.push(number);
            if self.with(count, used) {
                return true;
            }
            used.pop();
        }
        false
    }

    /// A cycle with as few undirected ties as possible.
    fn simplest(&self) -> Option<Vec<(usize, usize)>> {
        if (0..self.txns.len()).any(|txn| self.txns[txn][txn]) {
            return Some(Vec::new());
        }
        (1..=4).find_map(|count| {
            let mut used = Vec::new();
            let found = self.with(count, &mut used);
            found.then(|| used.into_iter().map(|number| self.ties[number].0).collect())
        })
    }
}

fn check(events: &[TxnEvent], reads: BufferedReads) -> Option<usize> {
    let trace = Trace::new(events, TraceMode::Exact(reads)).expect("a trace");
    let cycles = Cycles::new(&trace);
    let found = cycles.simplest();
    // Corollary 1 and Proposition 4.
    assert_eq!(found.is_none(), trace_serializable(events, reads), "{}", show_trace(events));
    let ties = found?;
    // Propositions 3 (ii) and 5: what is on one chain of directed ties is visited at once.
    for (at, one) in ties.iter().enumerate() {
        for other in &ties[..at] {
            let unordered = |a: usize, b: usize| !cycles.leads(a, b) && !cycles.leads(b, a);
            assert!(unordered(one.0, other.0), "{} {ties:?}", show_trace(events));
            assert!(unordered(one.1, other.1), "{} {ties:?}", show_trace(events));
        }
    }
    // Proposition 3 (i): somewhere a transaction is entered and left against the order of events.
    let follows = |at: usize| {
        let (entered, left) = (ties[at].1, ties[(at + 1) % ties.len()].0);
        entered == left || cycles.events[entered][left]
    };
    assert!(ties.is_empty() || !(0..ties.len()).all(follows), "{}", show_trace(events));
    Some(ties.len())
}

#[test]
fn cycles_that_cannot_be_made_simpler() {
    let mut counts = [0; 5];
    for seed in 0..scaled(3000) as u64 {
        for reads in BufferedReads::ALL {
            if let Some(ties) = check(&random(seed, 8), reads) {
                counts[ties] += 1;
            }
        }
    }
    assert!(counts[..3].iter().all(|&count| count > scaled(50)), "{counts:?}");
}

#[test]
fn profiles_are_of_events() {
    for text in [
        "wr0(x)^0 wr0(x)^0 rd0(x)^1 rd1(x)^2 fn0^1 rd1(x)^3",
        "rd0(z)^0 rd1(z)^1 rd0(z)^0 wr0(z)^2 wr0(z)^2 wr1(y)^3 rd1(z)^3",
    ] {
        assert!(check(&trace_of(text), BufferedReads::Static).is_some(), "{text}");
    }
}

/// What is noticed before what in all executions, and what has undirected ties, by definition.
#[test]
fn points_in_time() {
    for seed in 0..scaled(6000) as u64 {
        let events = random(seed, 7);
        let trace = Trace::new(&events, TraceMode::Exact(BufferedReads::Exact)).expect("a trace");
        let n = events.len();
        let mut always = vec![vec![true; n]; n];
        for execution in Executions::new(&events) {
            let paired = pair(&execution).expect("an execution");
            let issued: Vec<usize> = (0..execution.len())
                .filter(|&at| execution[at].kind != weakspot_core::TxnKind::Commit)
                .collect();
            let at = |event: usize| paired.commit_of(issued[event]).unwrap_or(issued[event]);
            let noticed = |event: usize| at(event).max(trace.own(event).map_or(0, at));
            for (one, always) in always.iter_mut().enumerate() {
                for (other, always) in always.iter_mut().enumerate() {
                    *always &= noticed(one) <= noticed(other);
                }
            }
        }
        let mut open: HashMap<usize, OpenEvent> = HashMap::new();
        for (first, second) in trace.all(Tie::Undirected) {
            open.entry(first).or_default().later = true;
            open.entry(second).or_default().earlier = true;
        }
        let all: Vec<usize> = (0..n).collect();
        for (one, found) in open_events(&trace, &all).into_iter().enumerate() {
            assert_eq!(
                found,
                open.get(&one).copied().unwrap_or_default(),
                "{}",
                show_trace(&events)
            );
            for (other, &always) in always[one].iter().enumerate() {
                let is_first = is_noticed_before(&trace, one, other);
                assert!(!is_first || always, "{} {one} {other}", show_trace(&events));
            }
        }
    }
}
