//! Data races of executions with store buffers against their definition: what a thread reads is its own latest store while that
//! waits, else what has reached memory last.

use weakspot_core::testing::{Rng, scaled};
use weakspot_live::{Op, OpKind, Order, Races, Rules, Step, Sync};

use crate::races::{ORDERS, Pairs, acquires, is_fence, reads, releases, writes};

/// Steps, those of buffers included.
type Trace = Vec<Step>;

fn waits(kind: OpKind) -> bool {
    matches!(kind, OpKind::Update | OpKind::Compare)
}

/// A random execution over few bytes in which stores wait. `fifo`: they leave in their order.
fn random_trace(rng: &mut Rng, fifo: bool) -> Trace {
    let (threads, bytes) = (2 + rng.below(2), 1 + rng.below(3));
    let mut trace = Trace::new();
    // Of each thread, what waits.
    let mut buffers: Vec<Vec<Op>> = vec![Vec::new(); threads];
    let order = |rng: &mut Rng| ORDERS[rng.below(5)];
    for n in 0..6 + rng.below(14) {
        let thread = rng.below(threads);
        let buffer = &mut buffers[thread];
        let commit = |op: Op| Step {
            thread: thread as u16,
            op: Op { kind: OpKind::Commit, ..op },
            order: Order::Plain,
            at: 0,
        };
        if !buffer.is_empty() && rng.one_in(3) {
            // The oldest, or under PSO that of some byte.
            let addr = buffer[if fifo { 0 } else { rng.below(buffer.len()) }].addr;
            let first = buffer.iter().position(|op| op.addr == addr).unwrap_or(0);
            trace.push(commit(buffer.remove(first)));
            continue;
        }
        let (kind, order) = match rng.below(12) {
            0..3 => (OpKind::Read, Order::Plain),
            3..5 => (OpKind::Write, Order::Plain),
            5..7 => (OpKind::Read, order(rng)),
            7..9 => (OpKind::Write, [Order::Relaxed, Order::Release][rng.below(2)]),
            9 => (OpKind::Update, order(rng)),
            10 => (OpKind::Compare, order(rng)),
            _ => (OpKind::Fence, order(rng)),
        };
        let len = u32::from(kind != OpKind::Fence);
        let op = Op { kind, len, addr: 64 + u64::from(len) * rng.below(bytes) as u64 };
        if waits(kind) {
            trace.extend(buffer.drain(..).map(commit));
        }
        if kind == OpKind::Write {
            buffer.push(op);
        }
        trace.push(Step { thread: thread as u16, op, order, at: n as u64 + 1 });
    }
    trace
}

/// Which stores to a byte had reached memory before a step, by their places, in the order in which they did; and the own store that
/// the thread of the step would read.
fn stores(trace: &Trace, addr: u64, before: usize, thread: u16) -> (Vec<usize>, Option<usize>) {
    let mut waiting: Vec<usize> = Vec::new();
    let mut there = Vec::new();
    for (i, step) in trace[..before].iter().enumerate().filter(|(_, s)| s.op.addr == addr) {
        match step.op.kind {
            OpKind::Write => waiting.push(i),
            OpKind::Update => there.push(i),
            OpKind::Commit => {
                let first = waiting.iter().position(|&w| trace[w].thread == step.thread);
                there.push(waiting.remove(first.expect("its store")));
            }
            _ => {}
        }
    }
    (there, waiting.into_iter().rev().find(|&w| trace[w].thread == thread))
}

fn by_definition(trace: &Trace, rules: Rules) -> Pairs {
    let n = trace.len();
    let mut edge = vec![vec![false; n]; n];
    for j in 0..n {
        for i in 0..j {
            edge[i][j] = trace[i].thread == trace[j].thread
                && [i, j].iter().all(|&s| trace[s].op.kind != OpKind::Commit);
        }
    }
    for (j, read) in trace.iter().enumerate().filter(|(_, s)| reads(s)) {
        let (there, None) = stores(trace, read.op.addr, j, read.thread) else { continue };
        if read.order == Order::Plain {
            continue;
        }
        let after = |b: &usize| {
            let s = &trace[*b];
            is_fence(s) && s.thread == read.thread && acquires(s.order)
        };
        let to: Vec<usize> =
            (j + 1..n).filter(after).chain(acquires(read.order).then_some(j)).collect();
        for (at, &head) in there.iter().enumerate() {
            let store = &trace[head];
            let goes_on = |&later: &usize| {
                let own = trace[later].thread == store.thread && trace[later].order != Order::Plain;
                trace[later].op.kind.updates() || rules == Rules::C11 && own
            };
            if store.order == Order::Plain || !there[at + 1..].iter().all(goes_on) {
                continue;
            }
            let before = |a: &usize| {
                let s = &trace[*a];
                is_fence(s) && s.thread == store.thread && releases(s.order)
            };
            let from = (0..head).filter(before).chain(releases(store.order).then_some(head));
            from.for_each(|a| to.iter().for_each(|&b| edge[a][b] = true));
        }
    }
    for k in 0..n {
        let from_k = edge[k].clone();
        for row in edge.iter_mut().filter(|row| row[k]) {
            row.iter_mut().zip(&from_k).for_each(|(known, new)| *known |= new);
        }
    }
    let plain = |s: &Step| s.order == Order::Plain && !s.op.kind.updates();
    let is_access = |s: &Step| s.op.kind != OpKind::Commit && (reads(s) || writes(s));
    let mut pairs = Pairs::new();
    for j in 0..n {
        for i in 0..j {
            let (a, b) = (&trace[i], &trace[j]);
            let conflict = is_access(a)
                && is_access(b)
                && a.op.addr == b.op.addr
                && a.thread != b.thread
                && (writes(a) || writes(b));
            if conflict && (plain(a) || plain(b)) && !edge[i][j] {
                pairs.insert((a.at.min(b.at), a.at.max(b.at)));
            }
        }
    }
    pairs
}

fn detected(races: &mut Races, trace: &Trace) -> Pairs {
    let mut pairs = Pairs::new();
    races.begin();
    for step in trace {
        match step.op.kind {
            OpKind::Write => races.store_into_buffer(step, Sync::Usual),
            _ => races.step(step, Sync::Usual),
        }
        while let Some(race) = races.take() {
            pairs.insert((race.first.at.min(race.second.at), race.first.at.max(race.second.at)));
        }
    }
    pairs
}

#[test]
fn random_executions() {
    for rules in [Rules::C11, Rules::Rust] {
        let mut rng = Rng::new(72);
        let mut races = Races::new(rules);
        let (mut racy, mut free) = (0, 0);
        for n in 0..scaled(40_000) {
            let trace = random_trace(&mut rng, n % 2 == 0);
            let want = by_definition(&trace, rules);
            let got = detected(&mut races, &trace);
            assert_eq!(got, want, "{rules:?}, {n}: {trace:#?}");
            *(if want.is_empty() { &mut free } else { &mut racy }) += 1;
        }
        assert!(racy > scaled(10_000) && free > scaled(2000), "{racy} {free}");
    }
}
