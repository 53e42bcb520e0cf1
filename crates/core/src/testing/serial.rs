//! Traces with transactions.

use super::Rng;
use crate::{TxnEvent, TxnKind};

/// How large random traces are.
#[derive(Clone, Copy, Debug)]
pub struct TxnSize {
    /// So many threads.
    pub threads: u32,
    /// So many variables.
    pub vars: u32,
    /// So many events.
    pub events: usize,
    /// A new transaction begins at one in so many events.
    pub txn: usize,
    /// One in so many events is a fence or an update; 0 for none.
    pub fences: usize,
}

/// A random trace. The transactions of a thread have numbers that are its own modulo the number of
/// threads.
#[must_use]
pub fn random_trace(rng: &mut Rng, size: TxnSize) -> Vec<TxnEvent> {
    let mut txns: Vec<u32> = (0..size.threads).collect();
    let mut events = Vec::with_capacity(size.events);
    for _ in 0..size.events {
        let thread = rng.below(size.threads as usize) as u32;
        let txn = &mut txns[thread as usize];
        if rng.one_in(size.txn) {
            *txn += size.threads;
        }
        let kind = match size.fences > 0 && rng.one_in(size.fences) {
            true if rng.one_in(2) => TxnKind::Fence,
            true => TxnKind::Update,
            false if rng.one_in(2) => TxnKind::Read,
            false => TxnKind::Write,
        };
        let var = rng.below(size.vars as usize) as u32;
        let var = if kind == TxnKind::Fence { 0 } else { var };
        events.push(TxnEvent { thread, kind, var, txn: *txn });
    }
    events
}

/// A trace made for reads that find their own write overwritten, which random ones hardly have: a
/// thread writes a variable, reads it and then others, beside threads with transactions that write
/// several of them; in any order, with some more events in between.
#[must_use]
pub fn overwriting_trace(rng: &mut Rng, most: usize) -> Vec<TxnEvent> {
    let vars = 2 + rng.below(2);
    let threads = 2 + rng.below(2) as u32;
    let (any, read, write) =
        (|rng: &mut Rng| rng.below(vars) as u32, TxnKind::Read, TxnKind::Write);
    let mut plans: Vec<Vec<(TxnKind, u32)>> = Vec::new();
    for thread in 0..threads {
        let first = any(rng);
        let second = (first + 1 + rng.below(vars - 1) as u32) % vars as u32;
        let mut plan = match thread == 0 || rng.one_in(3) {
            true => vec![(write, first), (read, first), (read, second)],
            false => vec![(write, first), (write, second)],
        };
        if rng.one_in(4) {
            let kind = [read, write, TxnKind::Update, TxnKind::Fence][rng.below(4)];
            let var = if kind == TxnKind::Fence { 0 } else { any(rng) };
            plan.insert(rng.below(plan.len() + 1), (kind, var));
        }
        plans.push(plan);
    }
    let splits: Vec<bool> = (0..threads).map(|thread| thread == 0 && !rng.one_in(4)).collect();
    let mut txns: Vec<u32> = (0..threads).collect();
    let mut events = Vec::new();
    while events.len() < most && plans.iter().any(|plan| !plan.is_empty()) {
        let thread = rng.below(plans.len());
        if plans[thread].is_empty() {
            continue;
        }
        let (kind, var) = plans[thread].remove(0);
        let splits = if splits[thread] { !rng.one_in(5) } else { rng.one_in(5) };
        if splits {
            txns[thread] += threads;
        }
        events.push(TxnEvent { thread: thread as u32, kind, var, txn: txns[thread] });
    }
    events
}

/// All traces of so many events, with at most three threads and two variables, but for names.
pub fn small_traces(events: usize, each: &mut dyn FnMut(&[TxnEvent])) {
    extend(&mut Vec::new(), events, each);
}

fn extend(trace: &mut Vec<TxnEvent>, left: usize, each: &mut dyn FnMut(&[TxnEvent])) {
    if left == 0 {
        return each(trace);
    }
    let used = |number: &dyn Fn(&TxnEvent) -> u32| trace.iter().map(number).max();
    let threads = used(&|e| e.thread).map_or(0, |most| most + 1);
    let accessed = trace.iter().filter(|e| e.kind.is_access()).map(|e| e.var).max();
    let vars = accessed.map_or(0, |most| most + 1);
    let txns = used(&|e| e.txn).map_or(0, |most| most + 1);
    for thread in 0..(threads + 1).min(3) {
        let last = trace.iter().rev().find(|e| e.thread == thread).map(|e| e.txn);
        for txn in last.into_iter().chain([txns]) {
            for kind in [TxnKind::Read, TxnKind::Write, TxnKind::Update, TxnKind::Fence] {
                let choices = if kind.is_access() { (vars + 1).min(2) } else { 1 };
                for var in 0..choices {
                    trace.push(TxnEvent { thread, kind, var, txn });
                    extend(trace, left - 1, each);
                    trace.pop();
                }
            }
        }
    }
}

/// A trace from its text: `wr0(x)^1 rd1(y)^2 up0(x)^1 fn0^1`; a letter is a variable.
#[must_use]
pub fn trace_of(text: &str) -> Vec<TxnEvent> {
    let number = |text: &str| text.parse().expect("a number");
    let event = |word: &str| {
        let (what, txn) = word.split_once('^').expect("a transaction");
        let (kind, rest) = what.split_at(2);
        let (thread, var) = match rest.split_once('(') {
            Some((thread, var)) => (thread, u32::from(var.as_bytes()[0] - b'a')),
            None => (rest, 0),
        };
        let kind = match kind {
            "rd" => TxnKind::Read,
            "wr" => TxnKind::Write,
            "up" => TxnKind::Update,
            _ => TxnKind::Fence,
        };
        TxnEvent { thread: number(thread), kind, var, txn: number(txn) }
    };
    text.split_whitespace().map(event).collect()
}

/// The text of a trace, or of an execution, whose commits are `cm0(x)^1`.
#[must_use]
pub fn show_trace(events: &[TxnEvent]) -> String {
    let word = |e: &TxnEvent| {
        let kind = match e.kind {
            TxnKind::Read => "rd",
            TxnKind::Write => "wr",
            TxnKind::Update => "up",
            TxnKind::Fence => return format!("fn{}^{}", e.thread, e.txn),
            TxnKind::Commit => "cm",
        };
        let var = char::from(b'a' + (e.var % 26) as u8);
        format!("{kind}{}({var})^{}", e.thread, e.txn)
    };
    events.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// A smaller trace for which the test still fails.
#[must_use]
pub fn shrink_trace(events: &[TxnEvent], fails: &dyn Fn(&[TxnEvent]) -> bool) -> Vec<TxnEvent> {
    let mut small = events.to_vec();
    'again: loop {
        for at in 0..small.len() {
            let mut fewer = small.clone();
            fewer.remove(at);
            if fails(&fewer) {
                small = fewer;
                continue 'again;
            }
        }
        return small;
    }
}
