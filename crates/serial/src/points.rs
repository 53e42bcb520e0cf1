//! Do the transactions of a group have one point in time each, as if each was one event? The
//! condition is that of `core/src/serial/points.rs`; here points are looked for.
//!
//! A transaction with undirected ties has little choice: all of them are at its point. Any other
//! one gets the first event that fits what leads to it. Cost: linear, for short transactions.

use std::collections::HashMap;

use weakspot_core::TxnKind;
use weakspot_core::serial::{Trace, are_points, is_noticed_before, open_events};

/// The points of the transactions of a group, in the order of the transactions, if they have some.
/// Directed ties are given by events.
pub(crate) fn points(
    trace: &Trace<'_>,
    txns: &[u32],
    events: &[usize],
    directed: &[(usize, usize)],
) -> Option<Vec<usize>> {
    let place: HashMap<u32, usize> = txns.iter().copied().zip(0..).collect();
    let of = |event: usize| place.get(&trace.events[event].txn).copied();
    let mut own: Vec<Vec<usize>> = vec![Vec::new(); txns.len()];
    let mut point: Vec<Option<usize>> = vec![None; txns.len()];
    for (&at, open) in events.iter().zip(open_events(trace, events)) {
        let txn = of(at)?;
        own[txn].push(at);
        if open.earlier || open.later {
            let is_write = |at: usize| trace.events[at].kind == TxnKind::Write;
            let is_better = |old: usize| is_write(at) && !is_write(old);
            point[txn] = point[txn].filter(|&old| !is_better(old)).or(Some(at));
        }
    }
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); txns.len()];
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); txns.len()];
    for &(from, to) in directed {
        let (from, to) = (of(from)?, of(to)?);
        before[to].push(from);
        next[from].push(to);
    }
    let mut waits: Vec<usize> = before.iter().map(Vec::len).collect();
    let mut ready: Vec<usize> = (0..txns.len()).filter(|&txn| waits[txn] == 0).collect();
    let mut done = 0;
    while let Some(txn) = ready.pop() {
        done += 1;
        if point[txn].is_none() {
            let fits = |&&at: &&usize| {
                let leads = |&other: &usize| {
                    point[other].is_some_and(|other| is_noticed_before(trace, other, at))
                };
                before[txn].iter().all(leads)
            };
            // Events that are noticed at once fit more of what follows.
            let is_late = |at: &&usize| trace.events[**at].kind == TxnKind::Write;
            let mut early = own[txn].iter().filter(|at| !is_late(at));
            let mut late = own[txn].iter().filter(is_late);
            point[txn] = Some(*early.find(fits).or_else(|| late.find(fits))?);
        }
        for &to in &next[txn] {
            waits[to] -= 1;
            if waits[to] == 0 {
                ready.push(to);
            }
        }
    }
    let points: Option<Vec<usize>> = point.into_iter().collect();
    let points = points.filter(|_| done == txns.len())?;
    let of_txn: HashMap<u32, usize> = txns.iter().copied().zip(points.iter().copied()).collect();
    let txn = |event: usize| trace.events[event].txn;
    let directed: Vec<(u32, u32)> = directed.iter().map(|&(a, b)| (txn(a), txn(b))).collect();
    are_points(trace, events, &directed, &of_txn).then_some(points)
}
