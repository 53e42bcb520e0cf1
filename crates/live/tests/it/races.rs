//! Data races against their definition: synchronises-with edge by edge as C11 says it, happens-before as
//! the transitive closure, and every pair of accesses looked at. On random executions, and on all
//! executions of random programs: those that `dpor` explores show all the races that there are.

use std::collections::BTreeSet;

use weakspot_core::testing::{Rng, scaled};
use weakspot_live::testing::{
    Buffers, Steps, System, SystemSize, all_executions, random_system, run, shrink_system,
};
use weakspot_live::{Dpor, Ended, Op, OpKind, Order, Races, Rules, Step, Strategy, Sync, What};

/// An execution.
type Trace = Vec<(Step, Sync)>;

/// Pairs of program addresses, the lower first.
pub(crate) type Pairs = BTreeSet<(u64, u64)>;

pub(crate) fn acquires(order: Order) -> bool {
    [Order::Acquire, Order::AcqRel, Order::SeqCst].contains(&order)
}

pub(crate) fn releases(order: Order) -> bool {
    [Order::Release, Order::AcqRel, Order::SeqCst].contains(&order)
}

pub(crate) fn reads(step: &Step) -> bool {
    matches!(step.op.kind, OpKind::Read | OpKind::Compare | OpKind::Acquire)
        || step.op.kind.updates()
}

pub(crate) fn writes(step: &Step) -> bool {
    step.op.kind == OpKind::Write || step.op.kind.updates()
}

pub(crate) fn is_fence(step: &Step) -> bool {
    matches!(step.op.kind, OpKind::Fence | OpKind::StoreFence)
}

fn covers(step: &Step, byte: u64) -> bool {
    (step.op.addr..step.op.addr + u64::from(step.op.len)).contains(&byte)
}

/// Whether `later` belongs to the release sequence of a byte that `head` is, or would be, at the head
/// of. Both are stores to it.
fn in_sequence(trace: &Trace, rules: Rules, byte: u64, head: usize, later: usize) -> bool {
    let first = &trace[head].0;
    first.order != Order::Plain
        && trace[head + 1..=later].iter().all(|(step, _)| {
            let own = step.thread == first.thread && step.order != Order::Plain;
            !writes(step)
                || !covers(step, byte)
                || step.op.kind.updates()
                || rules == Rules::C11 && own
        })
}

/// Adds what synchronises with what because `read` has read a byte.
fn synchronise(trace: &Trace, rules: Rules, read: usize, byte: u64, edge: &mut [Vec<bool>]) {
    let step = &trace[read].0;
    let stores: Vec<usize> =
        (0..read).filter(|&i| writes(&trace[i].0) && covers(&trace[i].0, byte)).collect();
    let Some(&seen) = stores.last() else { return };
    // Who takes a lock or passes a semaphore acquires what was stored there, whatever is said.
    let taken = step.op.kind == OpKind::Acquire;
    if step.order == Order::Plain && !taken {
        return;
    }
    let fences = |thread: u16, range: std::ops::Range<usize>, kind: fn(Order) -> bool| {
        let its = move |i: &usize| {
            let fence = &trace[*i].0;
            is_fence(fence) && fence.thread == thread && kind(fence.order)
        };
        range.filter(its).collect::<Vec<usize>>()
    };
    let mut to = fences(step.thread, read + 1..trace.len(), acquires);
    to.extend((taken || acquires(step.order)).then_some(read));
    for head in stores.into_iter().filter(|&i| in_sequence(trace, rules, byte, i, seen)) {
        let store = &trace[head].0;
        let mut from = fences(store.thread, 0..head, releases);
        from.extend(releases(store.order).then_some(head));
        for &a in &from {
            to.iter().for_each(|&b| edge[a][b] = true);
        }
    }
}

/// What happens before what.
fn happens_before(trace: &Trace, rules: Rules) -> Vec<Vec<bool>> {
    let n = trace.len();
    let mut edge = vec![vec![false; n]; n];
    for (j, (b, how)) in trace.iter().enumerate() {
        for (i, (a, how_before)) in trace[..j].iter().enumerate() {
            let release = a.op.kind == OpKind::Release && *how_before != Sync::Nothing;
            let acquire = b.op.kind == OpKind::Acquire && *how != Sync::Nothing;
            let readers = *how == Sync::Reader && *how_before == Sync::Reader;
            edge[i][j] = a.thread == b.thread
                || a.op.kind == OpKind::Spawn && a.op.addr == u64::from(b.thread)
                || b.op.kind == OpKind::Join && b.op.addr == u64::from(a.thread)
                // A thread between the two that has done nothing.
                || b.op.kind == OpKind::Join && a.op.kind == OpKind::Spawn && a.op.addr == b.op.addr
                || release && acquire && a.op.addr == b.op.addr && !readers;
        }
    }
    for (j, (step, _)) in trace.iter().enumerate().filter(|(_, s)| reads(&s.0)) {
        for byte in step.op.addr..step.op.addr + u64::from(step.op.len) {
            synchronise(trace, rules, j, byte, &mut edge);
        }
    }
    // A round at a barrier: whoever arrived comes before all that those who arrived do later.
    let mut round: Vec<usize> = Vec::new();
    for (i, (_, how)) in trace.iter().enumerate() {
        let Sync::Arrival { last } = how else { continue };
        round.push(i);
        if *last {
            for &a in &round {
                for (j, (step, _)) in trace.iter().enumerate().skip(i + 1) {
                    edge[a][j] |= round.iter().any(|&b| trace[b].0.thread == step.thread);
                }
            }
            round.clear();
        }
    }
    for k in 0..n {
        let from_k = edge[k].clone();
        for row in edge.iter_mut().filter(|row| row[k]) {
            for (known, new) in row.iter_mut().zip(&from_k) {
                *known |= new;
            }
        }
    }
    edge
}

/// The races of an execution, by definition.
fn by_definition(trace: &Trace, rules: Rules) -> Pairs {
    // Volatile accesses order as the strongest atomics do.
    let mut stronger = trace.clone();
    for (step, _) in stronger.iter_mut().filter(|(_, sync)| *sync == Sync::Volatile) {
        step.order = Order::SeqCst;
    }
    let before = happens_before(&stronger, rules);
    let is_access = |s: &Step| reads(s) || writes(s);
    let plain = |s: &Step| s.order == Order::Plain && !s.op.kind.updates();
    let mut pairs = Pairs::new();
    for (j, (b, second)) in trace.iter().enumerate() {
        for (i, (a, first)) in trace[..j].iter().enumerate() {
            let same = (a.op.addr..a.op.addr + u64::from(a.op.len)).any(|byte| covers(b, byte));
            if is_access(a)
                && is_access(b)
                && ![first, second].contains(&&Sync::Volatile)
                && a.thread != b.thread
                && same
                && (writes(a) || writes(b))
                && (plain(a) || plain(b))
                && !before[i][j]
            {
                pairs.insert((a.at.min(b.at), a.at.max(b.at)));
            }
        }
    }
    pairs
}

/// The races of an execution, as the detector finds them.
fn detected(races: &mut Races, trace: &Trace) -> Pairs {
    let mut pairs = Pairs::new();
    races.begin();
    for (step, sync) in trace {
        races.step(step, *sync);
        while let Some(race) = races.take() {
            assert_eq!(race.second.at, step.at);
            let key = |a: u64, b: u64| (a.min(b), a.max(b));
            assert!(pairs.insert(key(race.first.at, race.second.at)), "twice: {race:?}");
        }
    }
    pairs
}

pub(crate) const ORDERS: [Order; 5] =
    [Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst];

fn random_trace(rng: &mut Rng) -> Trace {
    let threads = 2 + rng.below(3);
    let events = 4 + rng.below(14);
    // Bytes on both sides of the end of a word.
    let bytes = 1 + rng.below(3);
    let order = |rng: &mut Rng| ORDERS[rng.below(5)];
    let mut trace = Trace::new();
    // Who waits at the barrier.
    let mut waiting: Vec<u16> = Vec::new();
    for _ in 0..events {
        let thread = rng.below(threads) as u16;
        if waiting.contains(&thread) {
            continue;
        }
        let addr = 8 - bytes as u64 / 2 + rng.below(bytes) as u64;
        // Some are for many bytes at once.
        let len = match rng.below(16) {
            0..3 => 2,
            3 => 300,
            _ => 1,
        };
        let object = 640 + 64 * rng.below(2) as u64;
        let usual = Sync::Usual;
        let made = match rng.below(32) {
            0..5 => (OpKind::Read, len, addr, Order::Plain, usual),
            5..10 => (OpKind::Write, len, addr, Order::Plain, usual),
            10..14 => (OpKind::Read, len.min(2), addr, order(rng), usual),
            14..18 => (OpKind::Write, len.min(2), addr, order(rng), usual),
            18..21 => (OpKind::Update, len.min(2), addr, order(rng), usual),
            21 => (OpKind::Compare, len.min(2), addr, order(rng), usual),
            22 => (OpKind::Read, len.min(2), addr, Order::Plain, Sync::Volatile),
            23 if rng.one_in(3) => {
                (OpKind::Update, len.min(2), addr, Order::SeqCst, Sync::Volatile)
            }
            23 => (OpKind::Write, len.min(2), addr, Order::Plain, Sync::Volatile),
            24..26 => (OpKind::Fence, 0, 0, order(rng), usual),
            26 => (OpKind::Release, 40, object, Order::SeqCst, usual),
            27 => (OpKind::Acquire, 40, object, Order::SeqCst, usual),
            28 => (OpKind::Release, 40, object, Order::SeqCst, Sync::Reader),
            29 => (OpKind::Acquire, 40, object, Order::SeqCst, Sync::Reader),
            30 => {
                let other = rng.below(threads) as u64;
                let kind = if rng.one_in(2) { OpKind::Spawn } else { OpKind::Join };
                if other == u64::from(thread) {
                    continue;
                }
                (kind, 0, other, Order::Plain, usual)
            }
            _ if rng.one_in(4) => (OpKind::Acquire, 32, 1280, Order::SeqCst, Sync::Nothing),
            _ => {
                let last = rng.one_in(2);
                waiting.push(thread);
                if last {
                    waiting.clear();
                }
                (OpKind::Release, 32, 1280, Order::SeqCst, Sync::Arrival { last })
            }
        };
        let at = u64::from(thread) * 8 + rng.below(6) as u64;
        let (kind, len, addr, order, sync) = made;
        trace.push((Step { thread, op: Op { kind, len, addr }, order, at }, sync));
    }
    trace
}

/// The smallest part of an execution that still `fails`.
fn shrink(trace: &Trace, fails: &dyn Fn(&Trace) -> bool) -> Trace {
    let mut smallest = trace.clone();
    'again: loop {
        for at in 0..smallest.len() {
            let mut smaller = smallest.clone();
            smaller.remove(at);
            if fails(&smaller) {
                smallest = smaller;
                continue 'again;
            }
        }
        return smallest;
    }
}

#[test]
fn random_executions() {
    for rules in [Rules::C11, Rules::Rust] {
        let mut rng = Rng::new(71);
        // One detector for all of them: what an execution leaves behind must not matter.
        let mut races = Races::new(rules);
        let (mut racy, mut free) = (0, 0);
        for n in 0..scaled(80_000) {
            let trace = random_trace(&mut rng);
            let want = by_definition(&trace, rules);
            if detected(&mut races, &trace) != want {
                let wrong =
                    |t: &Trace| detected(&mut Races::new(rules), t) != by_definition(t, rules);
                let small = shrink(&trace, &wrong);
                let got = detected(&mut Races::new(rules), &small);
                let want = by_definition(&small, rules);
                panic!("{rules:?}, {n}: {got:?} instead of {want:?}\n{small:#?}");
            }
            if want.is_empty() {
                free += 1;
            } else {
                racy += 1;
            }
        }
        assert!(racy > scaled(20_000) && free > scaled(8000), "{racy} {free}");
    }
}

/// The steps of a program's execution, with orders that depend on the thread and on how many steps it
/// had taken: what a thread does next may depend only on what it has seen. Rounds of a loop count as one.
fn with_orders(steps: &Steps, seed: u64) -> Trace {
    let mut taken = [0; 8];
    let mut before = [None; 8];
    let with_order = |&(agent, op): &(weakspot_live::Agent, Op)| {
        let thread = agent.of();
        let count = &mut taken[usize::from(thread)];
        let before = before[usize::from(thread)].replace(op);
        *count += u64::from(op.kind != OpKind::Read || before != Some(op));
        let at = u64::from(thread) << 8 | *count;
        let mut rng = Rng::new(seed ^ at << 32 ^ op.addr << 8 ^ u64::from(op.len));
        let order = match op.kind {
            OpKind::Read | OpKind::Write if rng.one_in(2) => Order::Plain,
            OpKind::Fence | OpKind::StoreFence => Order::SeqCst,
            _ => ORDERS[rng.below(5)],
        };
        (Step { thread, op, order, at }, Sync::Usual)
    };
    steps.iter().map(with_order).collect()
}

/// What `dpor` shows of the races of a program, if that is not all that its executions have.
fn missed(system: &System, seed: u64, rules: Rules) -> Option<(Pairs, Pairs)> {
    let mut want = Pairs::new();
    let all = all_executions(system, 800, &mut |steps, _, _| {
        want.extend(by_definition(&with_orders(&steps.to_vec(), seed), rules));
    });
    if !all {
        return None;
    }
    let (mut races, mut got) = (Races::new(rules), Pairs::new());
    let mut strategy = Dpor::new(false);
    run(system, &mut strategy, 100_000, &mut |steps, state, ended| {
        // Who is left after a round in vain has done so for all to see.
        if ended != Ended::Stopped || state.next(system).iter().any(|n| n.again) {
            let trace = with_orders(&steps.to_vec(), seed);
            let found = detected(&mut races, &trace);
            let shown = by_definition(&trace, rules);
            // Additions may come in another order, which may show more, but none that no order shows.
            let adds = trace.iter().any(|(step, _)| step.op.kind == OpKind::Add);
            let more = adds && found.is_superset(&shown) && found.is_subset(&want);
            assert!(found == shown || more, "{found:?} {shown:?}");
            got.extend(found);
        }
    });
    (strategy.complete() && got != want).then_some((got, want))
}

/// One execution of each class is enough.
#[test]
fn dpor_misses_no_race() {
    let size = SystemSize {
        threads: 4,
        instrs: 4,
        total: 8,
        bytes: 3,
        locks: true,
        semaphores: false,
        loops: true,
        crashes: false,
        spawns: true,
        buffers: Buffers::None,
    };
    let mut rng = Rng::new(72);
    for n in 0..scaled(8000) as u64 {
        let system = random_system(&mut rng, SystemSize { semaphores: n % 4 == 0, ..size });
        let rules = if n % 2 == 0 { Rules::C11 } else { Rules::Rust };
        if let Some((got, want)) = missed(&system, n, rules) {
            let small = shrink_system(&system, &|s| missed(s, n, rules).is_some());
            panic!("program {n}: {got:?} instead of {want:?}\n{small:?}");
        }
    }
}

/// An instruction is remembered for each thread that has executed it; what locks are used by, and memory that is new, counts.
#[test]
fn what_is_remembered_of_bytes() {
    let op = |kind, addr, len| Op { kind, len, addr };
    let step = |thread, op, order, at| Step { thread, op, order, at };
    let (store, load) = (op(OpKind::Write, 0x1000, 4), op(OpKind::Read, 0x1000, 4));
    let lock = |kind| op(kind, 0x2000, 40);
    let mut races = Races::new(Rules::Rust);
    races.begin();
    // Both execute the same line; who loads comes after one of them.
    races.step(&step(1, store, Order::Relaxed, 7), Sync::Usual);
    races.step(&step(2, store, Order::Relaxed, 7), Sync::Usual);
    races.step(&step(2, lock(OpKind::Release), Order::SeqCst, 8), Sync::Lock);
    races.step(&step(3, lock(OpKind::Acquire), Order::SeqCst, 9), Sync::Lock);
    races.step(&step(3, load, Order::Plain, 10), Sync::Usual);
    let race = races.take().expect("a race");
    assert_eq!((race.first.thread, race.second.thread, race.second.at), (1, 3, 10));
    // What is given out again has nothing to do with what was there, and a few bytes of it are not all.
    for (forgotten, len, is_race) in [(0x1000, 8, false), (0x1002, 8, true), (0xff0, 4096, false)] {
        for bytes in [4, 600] {
            races.begin();
            races.step(&step(1, Op { len: bytes, ..store }, Order::Plain, 7), Sync::Usual);
            let len = if bytes > 8 { len.max(600) } else { len };
            races.forget(forgotten, len);
            races.step(&step(2, store, Order::Plain, 8), Sync::Usual);
            let is_there = is_race && bytes <= 8;
            assert_eq!(races.take().is_some(), is_there, "{forgotten:x} {bytes}");
        }
    }
    // An attempt that fails uses the lock, whose bytes somebody makes.
    races.begin();
    races.step(&step(1, op(OpKind::Write, 0x2000, 40), Order::Plain, 7), Sync::Usual);
    races.step(&step(2, lock(OpKind::Compare), Order::SeqCst, 8), Sync::Use);
    let race = races.take().expect("a race");
    assert_eq!((race.second.what, race.second.at), (What::Uses, 8));
}
