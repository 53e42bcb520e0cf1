//! The checks of executions event by event, against the definition of conflicts.

use weakspot_core::certify::Rejected;
use weakspot_core::serial::{
    BadExecution, BadTrace, BufferedReads, Conflicts, CycleCheck, CycleLog, OrderCheck, Paired,
    Trace, TraceMode, TxnCycle, conflict, conflict_cycle, is_buffered, pair, serial_order, values,
    without_commits,
};
use weakspot_core::testing::{Rng, TxnSize, random_trace, show_trace, trace_of};
use weakspot_core::{TxnEvent, TxnKind};

const RELATIONS: [Conflicts; 4] = [
    Conflicts::Sc,
    Conflicts::Tso(BufferedReads::Exact),
    Conflicts::Tso(BufferedReads::Static),
    Conflicts::TsoPo,
];

/// A random execution of at most so many events, of SC if it has no commits.
fn random(seed: u64, events: usize, has_commits: bool) -> Vec<TxnEvent> {
    let mut rng = Rng::new(seed);
    let size = TxnSize {
        threads: 2 + rng.below(2) as u32,
        vars: 1 + rng.below(2) as u32,
        events,
        txn: 2 + rng.below(3),
        fences: rng.below(3) * 2,
    };
    let mut trace = random_trace(&mut rng, size);
    if rng.one_in(2) {
        // Any events may be in a transaction together: the checks do not mind.
        trace.iter_mut().for_each(|e| e.txn = rng.below(3) as u32);
    }
    if has_commits { with_commits(&mut rng, &trace) } else { trace }
}

/// The stores of a trace reach memory some time.
fn with_commits(rng: &mut Rng, trace: &[TxnEvent]) -> Vec<TxnEvent> {
    let mut pending: Vec<TxnEvent> = Vec::new();
    let mut events = Vec::new();
    for &event in trace {
        pending.retain(|&write| {
            let waits = event.kind.drains() && write.thread == event.thread;
            let goes = waits || rng.one_in(4);
            if goes {
                events.push(write);
            }
            !goes
        });
        events.push(event);
        if event.kind == TxnKind::Write {
            pending.push(TxnEvent { kind: TxnKind::Commit, ..event });
        }
    }
    events.extend(pending);
    in_order(&mut events);
    events
}

/// Exchanges commits of a thread so that its stores reach memory in their order.
fn in_order(events: &mut [TxnEvent]) {
    for thread in 0..3 {
        let of = |kind: TxnKind, events: &[TxnEvent]| -> Vec<usize> {
            (0..events.len())
                .filter(|&at| (events[at].thread, events[at].kind) == (thread, kind))
                .collect()
        };
        for (write, commit) in
            of(TxnKind::Write, events).into_iter().zip(of(TxnKind::Commit, events))
        {
            events[commit] = TxnEvent { kind: TxnKind::Commit, ..events[write] };
        }
    }
}

fn paired(relation: Conflicts, events: &[TxnEvent]) -> Paired<'_> {
    match relation {
        Conflicts::Sc => without_commits(events),
        _ => pair(events).expect("an execution"),
    }
}

/// Each two edges that hold together are a cycle exactly if both are conflicts, and no event of them
/// was forgotten.
#[test]
fn cycles_are_those_of_the_definition() {
    let mut counts = [0; 2];
    for (seed, relation) in (0..400).zip(RELATIONS.into_iter().cycle()) {
        let events = random(seed, 4 + seed as usize % 4, relation != Conflicts::Sc);
        let execution = paired(relation, &events);
        let mut log = CycleLog::new(relation != Conflicts::Sc);
        assert!(log.is_empty());
        events.iter().for_each(|&event| log.event(event).expect("an execution"));
        assert!(log.len() == events.len() && !log.is_empty());
        // One that keeps only some of the first events.
        let half = events.len() as u64 / 2;
        let kept = |event: u64| event >= half || event % 3 == seed % 3;
        let mut short = CycleLog::new(relation != Conflicts::Sc);
        for (at, &event) in events.iter().enumerate() {
            if at as u64 == half {
                short.retain(kept);
                assert_eq!(short.len(), (0..half).filter(|&event| kept(event)).count());
            }
            short.event(event).expect("an execution");
        }
        let is_edge = |(a, b): (usize, usize)| a < b && conflict(&execution, relation, a, b);
        let pairs: Vec<(usize, usize)> = (0..events.len())
            .flat_map(|a| (0..events.len()).map(move |b| (a, b)))
            .filter(|&(a, b)| events[a].txn != events[b].txn)
            .collect();
        for &(a, b) in &pairs {
            let back = |&&(c, d): &&(usize, usize)| {
                events[c].txn == events[b].txn && events[d].txn == events[a].txn
            };
            for &(c, d) in pairs.iter().filter(back) {
                let is_cycle = is_edge((a, b)) && is_edge((c, d));
                let cycle = TxnCycle(vec![(a as u64, b as u64), (c as u64, d as u64)]);
                let noted = log.check(relation, &cycle).is_ok();
                assert_eq!(noted, is_cycle, "{relation:?} {cycle:?} {}", show_trace(&events));
                counts[usize::from(is_cycle)] += 1;
                let has_all = [a, b, c, d].iter().all(|&event| kept(event as u64));
                assert_eq!(short.check(relation, &cycle).is_ok(), is_cycle && has_all);
                if (a + 3 * b + 5 * c + 7 * d) % 11 > 1 {
                    continue;
                }
                let mut check = CycleCheck::new(relation, &cycle);
                events.iter().for_each(|&event| check.event(event).expect("an execution"));
                assert_eq!(check.end().is_ok(), is_cycle, "{}", show_trace(&events));
            }
        }
    }
    assert!(counts[0] > 10_000 && counts[1] > 200, "{counts:?}");
}

/// An order is accepted exactly if it has the transactions of all conflicts the right way round.
#[test]
fn orders_are_those_of_the_definition() {
    let mut counts = [0; 3];
    for (seed, relation) in (0..2400).zip(RELATIONS.into_iter().cycle()) {
        let events = random(seed, 5 + seed as usize % 4, relation != Conflicts::Sc);
        let execution = paired(relation, &events);
        let mut txns: Vec<u32> = events.iter().map(|e| e.txn).collect();
        txns.sort_unstable();
        txns.dedup();
        if txns.len() > 4 {
            continue;
        }
        let edges: Vec<(u32, u32)> = (0..events.len())
            .flat_map(|b| (0..b).map(move |a| (a, b)))
            .filter(|&(a, b)| {
                events[a].txn != events[b].txn && conflict(&execution, relation, a, b)
            })
            .map(|(a, b)| (events[a].txn, events[b].txn))
            .collect();
        let mut is_serializable = false;
        for order in permutations(&txns) {
            let place = |txn: u32| order.iter().position(|&t| t == txn);
            let respects = edges.iter().all(|&(from, to)| place(from) < place(to));
            let mut check = OrderCheck::new(relation, &order).expect("no transaction twice");
            let accepted = events.iter().try_for_each(|&event| check.event(event));
            let accepted = accepted.and_then(|()| check.end().map(drop));
            assert_eq!(
                accepted.is_ok(),
                respects,
                "{relation:?} {order:?} {}",
                show_trace(&events)
            );
            is_serializable |= respects;
            counts[usize::from(respects)] += 1;
        }
        let found = serial_order(&execution, relation);
        assert_eq!(found.is_some(), is_serializable, "{relation:?} {}", show_trace(&events));
        counts[2] += usize::from(!is_serializable);
        let cycle = conflict_cycle(&execution, relation);
        assert_eq!(cycle.is_none(), is_serializable, "{relation:?} {}", show_trace(&events));
        if let Some(cycle) = cycle {
            assert_eq!(Some(cycle.len()), shortest_cycle(&txns, &edges));
            let number = |&(a, b): &(usize, usize)| (a as u64, b as u64);
            let cycle = TxnCycle(cycle.iter().map(number).collect());
            let mut check = CycleCheck::new(relation, &cycle);
            events.iter().for_each(|&event| check.event(event).expect("an execution"));
            assert!(check.end().is_ok(), "{relation:?} {cycle:?} {}", show_trace(&events));
        }
        if let Some(mut order) = found {
            let place = |txn: u32| order.iter().position(|&t| t == txn);
            assert!(edges.iter().all(|&(from, to)| place(from) < place(to)));
            order.sort_unstable();
            assert_eq!(order, txns);
        }
    }
    assert!(counts[0] > 2000 && counts[1] > 1000 && counts[2] > 100, "{counts:?}");
}

/// `wr0(x)^0` is a store, `cm0(x)^0` its commit.
fn events(text: &str) -> Vec<TxnEvent> {
    let mut events = trace_of(text);
    for (event, word) in events.iter_mut().zip(text.split_whitespace()) {
        if word.starts_with("cm") {
            event.kind = TxnKind::Commit;
        }
    }
    events
}

/// What is wrong before the first event.
#[test]
fn no_cycle_and_no_order() {
    let none = Rejected::Transactions(0, "there is no cycle");
    assert_eq!(CycleLog::new(true).check(Conflicts::TsoPo, &TxnCycle(vec![])), Err(none));
    let twice = Rejected::Transactions(0, "the order names a transaction twice");
    assert_eq!(OrderCheck::new(Conflicts::TsoPo, &[4, 5, 4]).err(), Some(twice));
}

#[test]
fn what_is_no_execution() {
    let why = |text| pair(&events(text)).map(drop).err();
    assert_eq!(why("wr0(x)^0 cm0(x)^0 up0(x)^0 fn0^0"), None);
    assert_eq!(why("wr0(x)^0 up0(x)^0 cm0(x)^0"), Some(BadExecution::NotEmpty(1)));
    assert_eq!(why("wr0(x)^0 fn0^0 cm0(x)^0"), Some(BadExecution::NotEmpty(1)));
    assert_eq!(why("wr0(x)^0 up1(x)^1 cm0(x)^0"), None);
    assert_eq!(why("wr0(x)^0 cm0(y)^0"), Some(BadExecution::Commit(1)));
    assert_eq!(why("wr0(x)^0 cm0(x)^1"), Some(BadExecution::Commit(1)));
    assert_eq!(why("wr0(x)^0 cm1(x)^0"), Some(BadExecution::Commit(1)));
    assert_eq!(why("wr1(x)^0 wr0(x)^1 cm0(x)^1 wr0(y)^2"), Some(BadExecution::Pending(0)));
}

/// Reads of the buffer, or of what is still in memory.
#[test]
fn buffered_reads() {
    let is = |text: &str, reads| {
        let events = events(text);
        let execution = pair(&events).expect("an execution");
        let read = events.iter().rposition(|e| e.kind == TxnKind::Read).expect("a read");
        is_buffered(&execution, reads, read)
    };
    let [exact, by_paper] = [BufferedReads::Exact, BufferedReads::Static];
    let after = |between: &str| format!("wr0(x)^0 cm0(x)^0 {between} rd0(x)^0");
    for between in ["", "rd1(x)^1", "up1(y)^1", "wr1(y)^1 cm1(y)^1"] {
        assert!(is(&after(between), exact) && is(&after(between), by_paper), "{between}");
    }
    for between in ["up1(x)^1", "wr1(x)^1 cm1(x)^1"] {
        assert!(!is(&after(between), exact) && is(&after(between), by_paper), "{between}");
    }
    for between in ["fn0^0", "up0(y)^0"] {
        assert!(!is(&after(between), exact) && !is(&after(between), by_paper), "{between}");
    }
    assert!(is("wr0(x)^0 cm0(x)^0 wr1(x)^1 rd0(x)^0 cm1(x)^1", exact));
    assert!(is("wr0(x)^0 up1(x)^1 rd0(x)^0 cm0(x)^0", exact));
    assert!(!is("wr0(y)^0 rd0(x)^0 cm0(y)^0", by_paper));
}

/// The length of a shortest cycle of a graph, by the lengths of all shortest paths.
fn shortest_cycle(nodes: &[u32], edges: &[(u32, u32)]) -> Option<usize> {
    let mut reached = edges.to_vec();
    for length in 1..=nodes.len() {
        if reached.iter().any(|(from, to)| from == to) {
            return Some(length);
        }
        let longer = |&(a, b): &(u32, u32)| {
            edges.iter().filter(move |(from, _)| *from == b).map(move |&(_, to)| (a, to))
        };
        reached = reached.iter().flat_map(longer).collect();
        reached.sort_unstable();
        reached.dedup();
    }
    None
}

fn permutations(of: &[u32]) -> Vec<Vec<u32>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for at in 0..of.len() {
        let mut rest = of.to_vec();
        let first = rest.remove(at);
        all.extend(permutations(&rest).into_iter().map(|order| [&[first][..], &order].concat()));
    }
    all
}

#[test]
fn what_is_no_trace() {
    let mode = TraceMode::Exact(BufferedReads::Exact);
    let why = |text| Trace::new(&events(text), mode).map(drop).err();
    assert_eq!(why("wr0(x)^0 wr1(x)^1 rd0(x)^0 rd0(y)^2"), None);
    assert_eq!(why("wr0(x)^0 rd1(x)^0"), Some(BadTrace::Shared(1)));
    assert_eq!(why("wr0(x)^0 rd0(x)^1 rd0(x)^0"), Some(BadTrace::Resumed(2)));
    assert_eq!(why("wr0(x)^0 cm0(x)^0"), Some(BadTrace::Commit(1)));
}

/// Two stores of a thread have two values.
#[test]
fn values_of_stores() {
    let of = |text| values(&pair(&events(text)).expect("an execution"));
    let second = of("wr0(x)^0 cm0(x)^0 wr0(x)^0 cm0(x)^0 rd1(x)^1");
    let first = of("wr0(x)^0 cm0(x)^0 rd1(x)^1 wr0(x)^0 cm0(x)^0");
    let none = of("rd1(x)^1 wr0(x)^0 cm0(x)^0 wr0(x)^0 cm0(x)^0");
    assert!(first != second && first != none && second != none);
    assert_eq!(first.1, second.1, "memory ends with the same");
}

/// Which value a read finds in memory after its own store: that of another thread's update, and not
/// that of a fence.
#[test]
fn own_stores_that_are_overwritten() {
    let is_cycle = |text, reads, cycle: &[(u64, u64)]| {
        let mut log = CycleLog::new(true);
        events(text).into_iter().for_each(|event| log.event(event).expect("an execution"));
        log.check(Conflicts::Tso(reads), &TxnCycle(cycle.to_vec())).is_ok()
    };
    let updated = "wr1(a)^3 cm1(a)^3 up0(a)^2 rd1(a)^2 rd1(b)^3";
    assert!(is_cycle(updated, BufferedReads::Exact, &[(3, 4), (1, 2)]));
    assert!(!is_cycle(updated, BufferedReads::Static, &[(3, 4), (1, 2)]));
    let fenced = "wr1(a)^3 cm1(a)^3 rd0(a)^2 fn0^2 rd1(a)^2 rd1(b)^3";
    assert!(!is_cycle(fenced, BufferedReads::Exact, &[(4, 5), (1, 2)]));
    // A fence of the thread itself counts behind its store, and not before it.
    let before = "fn1^3 wr1(a)^3 cm1(a)^3 rd0(a)^2 rd1(a)^2 rd1(b)^3";
    assert!(!is_cycle(before, BufferedReads::Exact, &[(4, 5), (2, 3)]));
    let behind = "wr1(a)^3 cm1(a)^3 fn1^3 rd0(a)^2 rd1(a)^2 rd1(b)^3";
    assert!(is_cycle(behind, BufferedReads::Exact, &[(4, 5), (1, 3)]));
}
