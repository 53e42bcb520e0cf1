//! What holds in an order of memory before any choice: the edges, and a first order that respects
//! them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use weakspot_core::{INITIAL, Limit, OpKind};
use weakspot_sat::Meter;

use crate::gradual::chains::{Chains, END};
use crate::gradual::saturate::Orders;
use crate::graph::extra::Extra;
use crate::graph::store::Readers;
use crate::graph::walk::LinkKind;

/// The edges that hold anyway, by where they start and by where they end.
pub(super) struct Fixed {
    out_starts: Vec<u32>,
    out: Vec<(u32, LinkKind)>,
    in_starts: Vec<u32>,
    into: Vec<u32>,
}

/// Derived edges from reads to what overwrites, as far as saturation was not asked to find them.
pub(super) fn overtaken(
    orders: &Orders<'_>,
    readers: &Readers,
    meter: &mut Meter<'_>,
) -> Result<Option<Extra>, Limit> {
    let ops = orders.chains.ops;
    let mut found = Vec::new();
    for var in 0..ops.vars() as u32 {
        let mut writes: Vec<Vec<u32>> = vec![Vec::new(); ops.threads()];
        orders.writes_to(var).iter().for_each(|&w| writes[orders.chains.thread(w)].push(w));
        writes.retain(|writes| !writes.is_empty());
        for &w in writes.iter().flatten() {
            meter.work(writes.len() as u64, || orders.bytes() + 12 * found.len() as u64)?;
            for others in &writes {
                // What is before in a thread comes first there.
                let count = others.partition_point(|&a| a != w && orders.has_before(a, w));
                let Some(&last) = others[..count].last() else { continue };
                let late = |&r: &u32| r != w && !orders.has_before(r, w);
                found.extend(readers.of(last as usize).filter(late).map(|r| (r, w)));
            }
        }
    }
    if found.is_empty() {
        return Ok(None);
    }
    let mut extra = Extra::new(ops.len());
    extra.append(&orders.extra);
    for (r, w) in found {
        extra.push(r, w, r);
    }
    Ok(Some(extra))
}

impl Fixed {
    pub(super) fn new(chains: &Chains<'_>, extra: &Extra) -> Fixed {
        let ops = chains.ops;
        let mut edges: Vec<(u32, u32, LinkKind)> = Vec::new();
        // Per chain of writes its last one since the thread's last barrier.
        let mut open = vec![END; chains.len()];
        let mut opened: Vec<usize> = Vec::new();
        for thread in 0..ops.threads() {
            for op in ops.of_thread(thread) {
                let next = chains.next(op);
                if next != END {
                    edges.push((op, next, LinkKind::Po));
                }
                if let Some(w) = chains.reads_from(op) {
                    edges.push((w, op, LinkKind::Rf));
                }
                if !chains.ppo.is_relaxed() {
                    continue;
                }
                match ops.kind(op) {
                    OpKind::Read => {}
                    OpKind::Write => {
                        let before = chains.main_before(op);
                        edges.extend(before.map(|before| (before, op, LinkKind::Po)));
                        open[chains.of(op)] = op;
                        opened.push(chains.of(op));
                    }
                    OpKind::Update if !chains.ppo.is_barrier(OpKind::Update) => {
                        for chain in chains.waited(op) {
                            let w = std::mem::replace(&mut open[chain], END);
                            edges.extend((w != END).then_some((w, op, LinkKind::Po)));
                        }
                    }
                    OpKind::Update | OpKind::Fence => {
                        for chain in opened.drain(..) {
                            let w = std::mem::replace(&mut open[chain], END);
                            edges.extend((w != END).then_some((w, op, LinkKind::Po)));
                        }
                    }
                }
            }
            opened.drain(..).for_each(|chain| open[chain] = END);
        }
        for (index, edge) in extra.iter().enumerate() {
            edges.push((edge.from, edge.to, LinkKind::Extra(index as u32)));
        }
        let (out_starts, out) = by(ops.len(), &edges, |&(from, to, kind)| (from, (to, kind)));
        let (in_starts, into) = by(ops.len(), &edges, |&(from, to, _)| (to, from));
        Fixed { out_starts, out, in_starts, into }
    }

    /// Everything in the order of these guesses, as far as the edges allow; `None` if they are
    /// cyclic.
    pub(super) fn by_guesses(&self, guesses: &[u32]) -> Option<Vec<u32>> {
        let n = guesses.len();
        let mut missing: Vec<u32> =
            (0..n).map(|op| self.leading_to(op as u32).len() as u32).collect();
        let mut ready: BinaryHeap<Reverse<(u32, u32)>> = (0..n as u32)
            .filter(|&op| missing[op as usize] == 0)
            .map(|op| Reverse((guesses[op as usize], op)))
            .collect();
        let mut order = Vec::with_capacity(n);
        while let Some(Reverse((_, op))) = ready.pop() {
            order.push(op);
            for &(to, _) in self.leaving(op) {
                missing[to as usize] -= 1;
                if missing[to as usize] == 0 {
                    ready.push(Reverse((guesses[to as usize], to)));
                }
            }
        }
        (order.len() == n).then_some(order)
    }

    pub(super) fn leaving(&self, op: u32) -> &[(u32, LinkKind)] {
        let op = op as usize;
        &self.out[self.out_starts[op] as usize..self.out_starts[op + 1] as usize]
    }

    pub(super) fn leading_to(&self, op: u32) -> &[u32] {
        let op = op as usize;
        &self.into[self.in_starts[op] as usize..self.in_starts[op + 1] as usize]
    }

    pub(super) fn bytes(&self) -> u64 {
        16 * self.into.len() as u64
    }

    pub(super) fn kind(&self, from: u32, to: u32) -> LinkKind {
        let found = self.leaving(from).iter().find(|&&(next, _)| next == to);
        found.map_or(LinkKind::Po, |&(_, kind)| kind)
    }
}

/// Lists edges by one of their ends.
fn by<T: Copy>(
    count: usize,
    edges: &[(u32, u32, LinkKind)],
    key: impl Fn(&(u32, u32, LinkKind)) -> (u32, T),
) -> (Vec<u32>, Vec<T>) {
    let mut starts = vec![0; count + 1];
    let Some(first) = edges.first() else { return (starts, Vec::new()) };
    edges.iter().for_each(|edge| starts[key(edge).0 as usize + 1] += 1);
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut next = starts.clone();
    let mut list = vec![key(first).1; edges.len()];
    for edge in edges {
        let (at, value) = key(edge);
        list[next[at as usize] as usize] = value;
        next[at as usize] += 1;
    }
    (starts, list)
}

/// Everything in an order that respects the fixed edges, if there is one. Reads come as early as
/// possible, and writes, as far as possible, after the reads of what they overwrite.
pub(super) fn first_order(
    chains: &Chains<'_>,
    readers: &Readers,
    fixed: &Fixed,
) -> Option<Vec<u32>> {
    let ops = chains.ops;
    let n = ops.len();
    let mut missing: Vec<u32> = (0..n).map(|op| fixed.leading_to(op as u32).len() as u32).collect();
    // Per variable the last write, and how many reads of it are still to come.
    let mut current = vec![INITIAL; ops.vars()];
    let mut awaited: Vec<u32> =
        (0..ops.vars()).map(|var| readers.of(n + var).count() as u32).collect();
    let is_counted = |r: u32| {
        let w = ops.from(r).map_or(n + ops.var(r) as usize, |w| w as usize);
        readers.of(w).any(|reader| reader == r)
    };
    let mut order = Vec::with_capacity(n);
    // Operations that can come next; writes that had better wait, per variable; and all of these.
    let mut ready: Vec<u32> = (0..n as u32).rev().filter(|&op| missing[op as usize] == 0).collect();
    let mut late: Vec<Vec<u32>> = vec![Vec::new(); ops.vars()];
    let mut all_late: Vec<u32> = Vec::new();
    let (mut done, mut listed) = (vec![false; n], vec![false; n]);
    loop {
        let (op, forced) = match ready.pop() {
            Some(op) => (op, false),
            None => match all_late.pop() {
                Some(op) => (op, true),
                None => break,
            },
        };
        if done[op as usize] {
            continue;
        }
        let kind = ops.kind(op);
        let var = ops.var(op) as usize;
        let reads_now = ops.reads(op) && ops.from(op).unwrap_or(INITIAL) == current[var];
        if ops.writes(op) && !forced && awaited[var] > u32::from(reads_now) {
            late[var].push(op);
            if !std::mem::replace(&mut listed[op as usize], true) {
                all_late.push(op);
            }
            continue;
        }
        done[op as usize] = true;
        order.push(op);
        if kind != OpKind::Fence {
            if reads_now && is_counted(op) {
                awaited[var] = awaited[var].saturating_sub(1);
            }
            if ops.writes(op) {
                current[var] = op;
                let to_come = readers.of(op as usize).filter(|&r| !done[r as usize]);
                awaited[var] = to_come.count() as u32;
            }
            if awaited[var] <= 1 {
                ready.append(&mut late[var]);
            }
        }
        for &(to, _) in fixed.leaving(op) {
            missing[to as usize] -= 1;
            if missing[to as usize] == 0 {
                ready.push(to);
            }
        }
    }
    (order.len() == n).then_some(order)
}
