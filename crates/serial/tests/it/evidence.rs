//! The checks of cycles and orders against the definition, and what the monitors give against both.

use weakspot_core::serial::{
    BufferedReads, Conflicts, CycleCheck, OrderCheck, Question, TxnCycle, conflict, pair,
    serial_order,
};
use weakspot_core::testing::{Rng, scaled};
use weakspot_core::{TxnEvent, TxnKind};
use weakspot_serial::Online;

/// A random execution, with commits or as one of SC.
fn random_execution(rng: &mut Rng, has_commits: bool) -> Vec<TxnEvent> {
    let (threads, vars) = (2 + rng.below(2) as u32, 1 + rng.below(3));
    let mut left = 3 + rng.below(10);
    let mut events: Vec<TxnEvent> = Vec::new();
    let mut buffers: Vec<Vec<TxnEvent>> = vec![Vec::new(); threads as usize];
    let mut txns: Vec<u32> = (0..threads).map(|t| 100 * t).collect();
    while left > 0 || buffers.iter().any(|buffer| !buffer.is_empty()) {
        let thread = rng.below(threads as usize) as u32;
        let buffer = &mut buffers[thread as usize];
        if !buffer.is_empty() && (left == 0 || rng.one_in(3)) {
            events.push(TxnEvent { kind: TxnKind::Commit, ..buffer.remove(0) });
            continue;
        }
        if left == 0 {
            continue;
        }
        txns[thread as usize] += u32::from(rng.one_in(3));
        let kind = match rng.below(12) {
            0..5 => TxnKind::Read,
            5..10 => TxnKind::Write,
            10 => TxnKind::Fence,
            _ => TxnKind::Update,
        };
        if kind.drains() && !buffer.is_empty() {
            continue;
        }
        let var = if kind == TxnKind::Fence { 0 } else { rng.below(vars) as u32 };
        let event = TxnEvent { thread, kind, var, txn: txns[thread as usize] };
        if has_commits && kind == TxnKind::Write {
            buffer.push(event);
        }
        events.push(event);
        left -= 1;
    }
    events
}

/// Whether two events conflict, by definition.
fn conflicts(events: &[TxnEvent], relation: Conflicts, first: usize, second: usize) -> bool {
    if relation == Conflicts::Sc {
        // What is asked about SC does not look at commits.
        let reads: Vec<TxnEvent> = events
            .iter()
            .map(|e| match e.kind {
                TxnKind::Write => TxnEvent { kind: TxnKind::Update, ..*e },
                _ => *e,
            })
            .collect();
        return conflict(&pair(&reads).expect("no buffers"), relation, first, second);
    }
    conflict(&pair(events).expect("an execution"), relation, first, second)
}

fn check_cycle(events: &[TxnEvent], relation: Conflicts, cycle: &TxnCycle) -> bool {
    let mut check = CycleCheck::new(relation, cycle);
    events.iter().try_for_each(|&event| check.event(event)).is_ok() && check.end().is_ok()
}

fn check_order(events: &[TxnEvent], relation: Conflicts, order: &[u32]) -> bool {
    let Ok(mut check) = OrderCheck::new(relation, order) else { return false };
    events.iter().try_for_each(|&event| check.event(event)).is_ok() && check.end().is_ok()
}

const RELATIONS: [Conflicts; 4] = [
    Conflicts::Sc,
    Conflicts::Tso(BufferedReads::Exact),
    Conflicts::Tso(BufferedReads::Static),
    Conflicts::TsoPo,
];

/// Two edges there and back, right or wrong: accepted if and only if the definition has both.
#[test]
fn cycles() {
    let (mut right, mut wrong) = (0, 0);
    for seed in 0..scaled(160_000) as u64 {
        let mut rng = Rng::new(seed);
        let relation = RELATIONS[rng.below(4)];
        let events = random_execution(&mut rng, relation != Conflicts::Sc);
        let any = |rng: &mut Rng| rng.below(events.len());
        let (a, b, c, d) = (any(&mut rng), any(&mut rng), any(&mut rng), any(&mut rng));
        let txn = |event: usize| events[event].txn;
        let edge =
            |a: usize, b: usize| a < b && txn(a) != txn(b) && conflicts(&events, relation, a, b);
        // Most random pairs do not meet in the same transactions; those that do are the test.
        let expected = edge(a, b) && edge(c, d) && txn(b) == txn(c) && txn(d) == txn(a);
        let cycle = TxnCycle(vec![(a as u64, b as u64), (c as u64, d as u64)]);
        assert_eq!(check_cycle(&events, relation, &cycle), expected, "seed {seed}");
        // An edge alone is no cycle, but tells whether the check knows it.
        for second in 0..events.len() {
            for first in 0..second {
                let back = (0..events.len())
                    .flat_map(|x| (0..x).map(move |y| (y, x)))
                    .find(|&(y, x)| txn(y) == txn(second) && txn(x) == txn(first) && edge(y, x));
                let Some((y, x)) = back else { continue };
                if txn(first) == txn(second) {
                    continue;
                }
                let cycle = TxnCycle(vec![(first as u64, second as u64), (y as u64, x as u64)]);
                let expected = edge(first, second);
                *if expected { &mut right } else { &mut wrong } += 1;
                assert_eq!(
                    check_cycle(&events, relation, &cycle),
                    expected,
                    "seed {seed} {first} {second}"
                );
            }
        }
    }
    assert!(right > scaled(40_000) && wrong > scaled(40_000), "{right} {wrong}");
}

/// Random orders: accepted if and only if no conflict goes back. The definition's own is accepted.
#[test]
fn orders() {
    let (mut right, mut wrong) = (0, 0);
    for seed in 0..scaled(240_000) as u64 {
        let mut rng = Rng::new(seed);
        let relation = RELATIONS[rng.below(4)];
        let events = random_execution(&mut rng, relation != Conflicts::Sc);
        let mut order: Vec<u32> = events.iter().map(|e| e.txn).collect();
        order.sort_unstable();
        order.dedup();
        if relation != Conflicts::Sc
            && let Some(order) = serial_order(&pair(&events).expect("an execution"), relation)
        {
            assert!(check_order(&events, relation, &order), "seed {seed}");
        }
        for _ in 0..2 {
            let (i, j) = (rng.below(order.len()), rng.below(order.len()));
            order.swap(i, j);
        }
        let place = |event: usize| order.iter().position(|&txn| txn == events[event].txn);
        let expected = (0..events.len()).all(|second| {
            (0..second).all(|first| {
                place(first) <= place(second) || !conflicts(&events, relation, first, second)
            })
        });
        *if expected { &mut right } else { &mut wrong } += 1;
        assert_eq!(check_order(&events, relation, &order), expected, "seed {seed}");
    }
    assert!(right > scaled(20_000) && wrong > scaled(20_000), "{right} {wrong}");
}

/// What the monitors find is accepted: cycles and orders.
#[test]
fn monitors() {
    let (mut cycles, mut orders) = (0, 0);
    for seed in 0..scaled(160_000) as u64 {
        let mut rng = Rng::new(seed);
        let relation = RELATIONS[rng.below(4)];
        let events = random_execution(&mut rng, relation != Conflicts::Sc);
        let question = match relation {
            Conflicts::Tso(reads) => Question::TsoSerializable(reads),
            Conflicts::Sc | Conflicts::TsoPo => Question::ScSerializable,
        };
        let mut online = Online::with_order(question);
        let cycle = events.iter().find_map(|&event| match relation {
            Conflicts::Sc => online.sc_event(event),
            _ => online.event(event).expect("an execution"),
        });
        match cycle {
            Some(cycle) => {
                cycles += 1;
                assert!(check_cycle(&events, relation, &cycle), "seed {seed}");
            }
            None => {
                orders += 1;
                let order = online.into_order().expect("it was asked for");
                assert!(check_order(&events, relation, &order), "seed {seed}");
            }
        }
    }
    assert!(cycles > scaled(20_000) && orders > scaled(20_000), "{cycles} {orders}");
}
