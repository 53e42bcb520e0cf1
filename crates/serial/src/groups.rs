//! Transactions in groups, so that ties lead from a group to a later one only, whatever the
//! directions of undirected ones: the strongly connected parts of the conflict graph of a trace in
//! which undirected ties go both ways. A cycle, which uses each tie in one direction, is in one of
//! them. The polynomial pre-check for traces.
//!
//! There are quadratically many ties, but a few of them lead wherever all of them do. Forward, each
//! access is tied to the last write before it and a write to the reads since the last write; beside
//! them, ties of [`Trace::directed`] within threads, and those that there are only sometimes. Backward, from each access to the first write
//! of another thread that is not settled: that one leads forward to the others, and to reads of
//! them. Cost: linear in the trace, times the number of threads.

use std::collections::HashMap;

use weakspot_core::TxnKind;
use weakspot_core::serial::{Tie, Trace};

/// The transactions of a trace by the order of their first events, and who leads to whom.
pub(crate) struct Txns {
    /// Their numbers.
    pub(crate) numbers: Vec<u32>,
    /// Per event its transaction.
    pub(crate) of: Vec<u32>,
}

impl Txns {
    pub(crate) fn new(trace: &Trace<'_>) -> Txns {
        let mut places: HashMap<u32, u32> = HashMap::new();
        let mut numbers = Vec::new();
        let mut of = Vec::with_capacity(trace.events.len());
        for e in trace.events {
            of.push(*places.entry(e.txn).or_insert_with(|| {
                numbers.push(e.txn);
                numbers.len() as u32 - 1
            }));
        }
        Txns { numbers, of }
    }

    /// The numbers of some of them.
    pub(crate) fn numbers_of(&self, txns: &[u32]) -> Vec<u32> {
        txns.iter().map(|&txn| self.numbers[txn as usize]).collect()
    }
}

/// The groups in their order; each with its transactions.
pub(crate) fn groups(trace: &Trace<'_>, txns: &Txns) -> Vec<Vec<u32>> {
    let mut next: Vec<Vec<u32>> = vec![Vec::new(); txns.numbers.len()];
    let mut link = |from: usize, to: usize| {
        let (from, to) = (txns.of[from], txns.of[to]);
        let next = &mut next[from as usize];
        if from != to && next.last() != Some(&to) {
            next.push(to);
        }
    };
    trace.each_directed(&mut link);
    // Reads come after those of their thread that may have seen memory.
    let mut seen: HashMap<u32, usize> = HashMap::new();
    for (at, e) in trace.events.iter().enumerate() {
        if e.kind != TxnKind::Read {
            continue;
        }
        seen.get(&e.thread).into_iter().for_each(|&before| link(before, at));
        if trace.may_be_overwritten(at) {
            seen.insert(e.thread, at);
        } else if trace.own(at).is_none() {
            // All that follows comes after this one anyway.
            seen.remove(&e.thread);
        }
    }
    // Per variable the last write and the reads since then, and per thread its first write that is
    // not settled.
    let mut last: HashMap<u32, (Option<usize>, Vec<usize>)> = HashMap::new();
    let mut open: HashMap<u32, Vec<(u32, usize)>> = HashMap::new();
    for (at, e) in trace.events.iter().enumerate() {
        if !e.kind.is_access() {
            continue;
        }
        let (write, reads) = last.entry(e.var).or_default();
        write.iter().for_each(|&write| link(write, at));
        match trace.writes(at) {
            true => {
                reads.drain(..).for_each(|read| link(read, at));
                *write = Some(at);
            }
            false => reads.push(at),
        }
        let open = open.entry(e.var).or_default();
        open.retain(|&(_, first)| trace.drain(first) > at);
        let mut is_first = true;
        for &(thread, first) in open.iter() {
            is_first &= thread != e.thread;
            if thread != e.thread {
                link(at, first);
            }
        }
        if e.kind == TxnKind::Write && is_first {
            open.push((e.thread, at));
        }
    }
    components(&next)
}

/// Whether the ties between these transactions are undirected and make a tree.
pub(crate) fn is_tree(trace: &Trace<'_>, txns: &Txns, group: &[u32], events: &[usize]) -> bool {
    // Two transactions of a thread are hardly ever without a directed tie.
    if group.len() > 64 || events.len() > 1024 {
        return false;
    }
    let mut root: HashMap<u32, u32> = group.iter().map(|&txn| (txn, txn)).collect();
    for (number, &second) in events.iter().enumerate() {
        for &first in &events[..number] {
            let (a, b) = (txns.of[first], txns.of[second]);
            let Some(tie) = trace.tie(first, second).filter(|_| a != b) else { continue };
            let [a, b] = [a, b].map(|mut txn| {
                while root[&txn] != txn {
                    txn = root[&txn];
                }
                txn
            });
            if a == b || tie != Tie::Undirected {
                return false;
            }
            root.insert(a, b);
        }
    }
    true
}

/// The strongly connected parts, each sorted, those that lead to others first (Tarjan, 1972).
fn components(next: &[Vec<u32>]) -> Vec<Vec<u32>> {
    const UNSEEN: u32 = u32::MAX;
    let mut seen = vec![UNSEEN; next.len()];
    let mut low = vec![0; next.len()];
    let mut is_open = vec![false; next.len()];
    let (mut found, mut open, mut count) = (Vec::new(), Vec::new(), 0);
    let mut stack: Vec<(u32, usize)> = Vec::new();
    for start in 0..next.len() {
        if seen[start] != UNSEEN {
            continue;
        }
        stack.push((start as u32, 0));
        while let Some((node, at)) = stack.last_mut() {
            let v = *node as usize;
            if *at == 0 && seen[v] == UNSEEN {
                (seen[v], low[v]) = (count, count);
                count += 1;
                open.push(*node);
                is_open[v] = true;
            }
            if let Some(&to) = next[v].get(*at) {
                *at += 1;
                if seen[to as usize] == UNSEEN {
                    stack.push((to, 0));
                } else if is_open[to as usize] {
                    low[v] = low[v].min(seen[to as usize]);
                }
                continue;
            }
            stack.pop();
            if let Some(&(parent, _)) = stack.last() {
                low[parent as usize] = low[parent as usize].min(low[v]);
            }
            if low[v] == seen[v] {
                let from = open.iter().rposition(|&other| other as usize == v).unwrap_or(0);
                let mut component: Vec<u32> = open.drain(from..).collect();
                component.sort_unstable();
                component.iter().for_each(|&node| is_open[node as usize] = false);
                found.push(component);
            }
        }
    }
    found.reverse();
    found
}
