//! The checker of evidence about traces: it accepts what is right, and nothing else.

use weakspot_core::certify::{search_trace, trace};
use weakspot_core::serial::{
    BufferedReads, NoCycle, Tie, Trace, TraceEvidence, TraceMode, TxnCycle, TxnGroup,
    TxnRefutation, TxnVar, serializable_by_orientations, trace_serializable,
};
use weakspot_core::testing::{
    Rng, TxnSize, overwriting_trace, random_trace, scaled, show_trace, trace_of,
};
use weakspot_core::{LratStep, TxnEvent, TxnKind, Verdict};

pub(crate) const EXACT: TraceMode = TraceMode::Exact(BufferedReads::Exact);
pub(crate) const PREDICTIVE: TraceMode = TraceMode::Predictive(BufferedReads::Exact);

pub(crate) fn groups(groups: &[&[u32]], why: NoCycle) -> TraceEvidence {
    let group = |txns: &&[u32]| {
        let why = if txns.len() == 1 { NoCycle::Single } else { why.clone() };
        TxnGroup { txns: txns.to_vec(), why }
    };
    TraceEvidence::Groups(groups.iter().map(group).collect())
}

fn accepts(text: &str, mode: TraceMode, evidence: &TraceEvidence) -> bool {
    let verdict = match evidence {
        TraceEvidence::Groups(_) => Verdict::Holds,
        _ => Verdict::Violated,
    };
    trace(&trace_of(text), mode, &verdict, evidence).is_ok()
}

/// With commits written `cm`.
pub(crate) fn execution(text: &str, cycle: &[(u64, u64)]) -> TraceEvidence {
    let mut events = trace_of(text);
    for (event, word) in events.iter_mut().zip(text.split_whitespace()) {
        if word.starts_with("cm") {
            event.kind = TxnKind::Commit;
        }
    }
    TraceEvidence::Execution { events, cycle: TxnCycle(cycle.to_vec()) }
}

#[test]
fn executions() {
    let text = "wr0(x)^0 wr1(x)^1 rd0(x)^0 rd1(y)^1";
    let good = "wr0(x)^0 cm0(x)^0 wr1(x)^1 cm1(x)^1 rd0(x)^0 rd1(y)^1";
    let cycle = [(1, 3), (3, 4)];
    assert!(accepts(text, EXACT, &execution(good, &cycle)));
    assert!(accepts(text, PREDICTIVE, &execution(good, &cycle)));
    for bad in [&[(1, 3)][..], &[(1, 3), (4, 3)], &[], &[(1, 3), (3, 5)], &[(1, 9), (3, 4)]] {
        assert!(!accepts(text, EXACT, &execution(good, bad)), "{bad:?}");
    }
    // No commit, another order, another event.
    let pending = "wr0(x)^0 wr1(x)^1 rd0(x)^0 rd1(y)^1";
    assert!(!accepts(text, EXACT, &execution(pending, &cycle)));
    let other = "wr1(x)^1 cm1(x)^1 wr0(x)^0 cm0(x)^0 rd1(x)^1 rd0(x)^0";
    assert!(!accepts(text, EXACT, &execution(other, &[(1, 3), (3, 4)])));
    assert!(!accepts(text, PREDICTIVE, &execution(other, &[(1, 3), (3, 4)])));
}

#[test]
fn predicted_executions_keep_directed_ties() {
    // In the trace the second thread writes before the first one reads.
    let text = "rd0(x)^0 wr1(x)^1 fn1^1 rd0(x)^0";
    let good = "rd0(x)^0 wr1(x)^1 cm1(x)^1 fn1^1 rd0(x)^0";
    assert!(accepts(text, PREDICTIVE, &execution(good, &[(0, 2), (2, 4)])));
    let text = "wr1(x)^1 fn1^1 rd0(x)^0 rd0(x)^0";
    assert!(!accepts(text, PREDICTIVE, &execution(good, &[(0, 2), (2, 4)])));
}

#[test]
fn directions() {
    let text = "wr0(x)^0 rd0(x)^0 wr1(x)^1";
    let cycle = TraceEvidence::Directions(TxnCycle(vec![(0, 2), (2, 1)]));
    assert!(accepts(text, TraceMode::Literal, &cycle));
    assert!(!accepts(text, EXACT, &cycle));
    // The tie would have both directions.
    let both = TraceEvidence::Directions(TxnCycle(vec![(0, 2), (2, 0)]));
    assert!(!accepts(text, TraceMode::Literal, &both));
}

#[test]
fn group_orders() {
    let text = "rd0(x)^0 wr1(x)^1 fn1^1 rd2(x)^2";
    assert!(accepts(text, EXACT, &groups(&[&[0], &[1], &[2]], NoCycle::Single)));
    for bad in [&[&[1][..], &[0], &[2]][..], &[&[0], &[2], &[1]], &[&[0], &[1]], &[&[0], &[0, 1]]] {
        assert!(!accepts(text, EXACT, &groups(bad, NoCycle::Single)), "{bad:?}");
    }
    // Without the fence the write may come last.
    let open = "rd0(x)^0 wr1(x)^1 rd2(x)^2";
    assert!(!accepts(open, EXACT, &groups(&[&[0], &[1], &[2]], NoCycle::Single)));
    assert!(accepts(open, EXACT, &groups(&[&[0], &[1, 2]], NoCycle::Tree)));
    assert!(accepts(open, EXACT, &groups(&[&[0], &[1, 2]], NoCycle::Events)));
    assert!(!accepts(open, EXACT, &groups(&[&[0], &[1, 2]], NoCycle::Single)));
    let two = "wr1(x)^1 wr1(y)^1 rd2(x)^2 rd2(y)^2";
    assert!(!accepts(two, EXACT, &groups(&[&[1, 2]], NoCycle::Tree)));
    assert!(!accepts(two, EXACT, &groups(&[&[1, 2]], NoCycle::Events)));
    // The read of y may come first only if that of x has not seen memory.
    let overwritten = "wr0(x)^0 wr1(x)^1 rd0(x)^2 rd0(y)^3";
    let first = groups(&[&[3], &[0, 1, 2]], NoCycle::Events);
    assert!(accepts(overwritten, TraceMode::Exact(BufferedReads::Static), &first));
    assert!(!accepts(overwritten, EXACT, &first));
    assert!(!accepts(overwritten, PREDICTIVE, &first));
    assert!(accepts(overwritten, EXACT, &groups(&[&[0, 1, 2], &[3]], NoCycle::Events)));
}

fn add(id: u64, clause: &[i32], hints: &[u64]) -> LratStep {
    LratStep::Add { id, clause: clause.to_vec(), hints: hints.to_vec() }
}

/// The write, its read, and the write of another thread, which comes later.
pub(crate) fn refutation() -> TxnRefutation {
    let vars = vec![
        TxnVar::On(0),
        TxnVar::On(1),
        TxnVar::Uses(0, 2),
        TxnVar::Uses(2, 0),
        TxnVar::Uses(1, 2),
        TxnVar::Uses(2, 1),
    ];
    let clauses = vec![
        vec![1, 2],
        vec![-1, 3, 5],
        vec![-2, 4, 6],
        vec![-3, 2],
        vec![-5, 2],
        vec![-4, 1],
        vec![-6],
        vec![-3, -4],
        vec![-5, -4],
    ];
    let proof = vec![
        add(10, &[2], &[1, 4, 5, 2]),
        add(11, &[4], &[10, 7, 3]),
        add(12, &[], &[11, 6, 8, 9, 2]),
    ];
    TxnRefutation { vars, clauses, proof }
}

#[test]
fn refutations() {
    let text = "wr0(x)^0 rd0(x)^0 wr1(x)^1";
    let evidence = |refutation| groups(&[&[0, 1]], NoCycle::Refuted(refutation));
    let check =
        |refutation, mode| trace(&trace_of(text), mode, &Verdict::Holds, &evidence(refutation));
    assert_eq!(check(refutation(), EXACT), Ok(()));
    // Only the exact mode knows that the last write does not come before the read.
    assert!(check(refutation(), TraceMode::Literal).is_err());
    assert!(check(refutation(), PREDICTIVE).is_err());
    let clauses = refutation().clauses.len();
    for at in 0..clauses {
        for literal in 0..refutation().clauses[at].len() {
            let mut changed = refutation();
            changed.clauses[at].remove(literal);
            let is_weaker = check(changed.clone(), EXACT).is_ok();
            assert!(!is_weaker, "clause {at} without literal {literal}");
            let mut changed = refutation();
            changed.clauses[at][literal] *= -1;
            assert!(check(changed, EXACT).is_err(), "clause {at} {literal}");
        }
    }
    let mut shorter = refutation();
    shorter.proof.pop();
    assert!(check(shorter, EXACT).is_err());
    let mut renamed = refutation();
    renamed.vars[5] = TxnVar::Uses(0, 1);
    assert!(check(renamed, EXACT).is_err());
}

/// Whether any order of groups of one transaction is accepted, against the definition that ties,
/// undirected ones in both directions, lead forward.
#[test]
fn random_group_orders() {
    let mut count = [0, 0];
    for seed in 0..20_000 {
        let mut rng = Rng::new(seed);
        let size = TxnSize {
            threads: 2 + rng.below(2) as u32,
            vars: 1 + rng.below(3) as u32,
            events: 2 + rng.below(6),
            txn: 1 + rng.below(3),
            fences: 3,
        };
        let events: Vec<TxnEvent> = match rng.one_in(4) {
            true => overwriting_trace(&mut rng, 8),
            false => random_trace(&mut rng, size),
        };
        let mut txns: Vec<u32> = events.iter().map(|e| e.txn).collect();
        txns.sort_unstable();
        txns.dedup();
        let mut order = Vec::new();
        // Almost as in the trace.
        for e in &events {
            if !order.contains(&e.txn) {
                order.push(e.txn);
            }
        }
        if rng.one_in(2) {
            let at = rng.below(order.len());
            let moved = order.remove(at);
            order.insert(rng.below(order.len() + 1), moved);
        }
        let mut groups: Vec<Vec<u32>> = order.iter().map(|&txn| vec![txn]).collect();
        // What is said about a group of several is only claimed.
        while groups.len() > 1 && rng.one_in(2) {
            let at = rng.below(groups.len() - 1);
            let next = groups.remove(at + 1);
            groups[at].extend(next);
        }
        let all_single = groups.iter().all(|group| group.len() == 1);
        let group = |txns: &Vec<u32>| {
            let why = match txns.len() {
                1 => NoCycle::Single,
                _ => NoCycle::Searched { steps: 0 },
            };
            TxnGroup { txns: txns.clone(), why }
        };
        let evidence = TraceEvidence::Groups(groups.iter().map(group).collect());
        let place = |event: usize| groups.iter().position(|g| g.contains(&events[event].txn));
        for mode in [TraceMode::Literal, EXACT, PREDICTIVE] {
            let of = Trace::new(&events, mode).expect("a trace");
            let mut forward = true;
            for second in 0..events.len() {
                for first in 0..second {
                    forward &= match of.tie(first, second) {
                        None => true,
                        Some(Tie::Directed | Tie::Sometimes) => place(first) <= place(second),
                        Some(Tie::Undirected) => place(first) == place(second),
                    };
                }
            }
            let found = trace(&events, mode, &Verdict::Holds, &evidence).is_ok();
            assert_eq!(found, forward, "{mode:?} {} {order:?}", show_trace(&events));
            count[usize::from(forward)] += 1;
            if forward && all_single {
                assert!(serializable_by_orientations(&of));
            }
        }
    }
    assert!(count[0] > 6000 && count[1] > 6000, "{count:?}");
}

#[test]
fn full_searches() {
    let events = trace_of("wr0(x)^0 rd0(x)^0 wr1(x)^1");
    assert_eq!(search_trace(&events, &[], EXACT, &Verdict::Holds, 8), Ok(()));
    for mode in [PREDICTIVE, TraceMode::Literal] {
        assert_eq!(search_trace(&events, &[], mode, &Verdict::Violated, 8), Ok(()));
        assert!(search_trace(&events, &[], mode, &Verdict::Holds, 8).is_err());
    }
    assert!(search_trace(&events, &[], EXACT, &Verdict::Violated, 8).is_err());
    assert!(search_trace(&events, &[], EXACT, &Verdict::Holds, 2).is_err());
}

#[test]
fn points() {
    let text = "wr0(p)^0 wr0(s)^0 wr1(s)^1 wr1(q)^1 wr0(s)^2 wr0(p)^2 wr1(s)^3 wr1(q)^3";
    let all = |points: &[usize]| groups(&[&[0, 1, 2, 3]], NoCycle::Points(points.to_vec()));
    assert!(accepts(text, EXACT, &all(&[1, 2, 4, 6])));
    assert!(!accepts(text, PREDICTIVE, &all(&[1, 2, 4, 6])));
    for bad in [&[0, 2, 4, 6][..], &[1, 2, 4], &[1, 2, 4, 6, 6], &[2, 1, 4, 6], &[1, 2, 4, 99]] {
        assert!(!accepts(text, EXACT, &all(bad)), "{bad:?}");
    }
}

/// Whatever points are claimed, they are none if the trace is not serializable.
#[test]
fn points_of_random_traces() {
    let (mut good, mut bad) = (0, 0);
    for seed in 0..scaled(4000) as u64 {
        let mut rng = Rng::new(seed);
        let size = TxnSize {
            threads: 2 + rng.below(2) as u32,
            vars: 1 + rng.below(3) as u32,
            events: 3 + rng.below(6),
            txn: 1 + rng.below(3),
            fences: rng.below(3) * 5,
        };
        let events = match seed % 2 {
            0 => random_trace(&mut rng, size),
            _ => overwriting_trace(&mut rng, 8),
        };
        let mut txns: Vec<u32> = events.iter().map(|e| e.txn).collect();
        txns.sort_unstable();
        txns.dedup();
        let mut all: Vec<Vec<usize>> = vec![Vec::new()];
        for &txn in &txns {
            let own: Vec<usize> = (0..events.len()).filter(|&at| events[at].txn == txn).collect();
            let with = |points: &Vec<usize>, at: usize| [&points[..], &[at]].concat();
            all = all.iter().flat_map(|p| own.iter().map(|&at| with(p, at))).collect();
        }
        let has_points = all.into_iter().any(|points| {
            let group = TxnGroup { txns: txns.clone(), why: NoCycle::Points(points) };
            let evidence = TraceEvidence::Groups(vec![group]);
            trace(&events, EXACT, &Verdict::Holds, &evidence).is_ok()
        });
        let holds = trace_serializable(&events, BufferedReads::Exact);
        assert!(holds || !has_points, "{}", show_trace(&events));
        good += usize::from(has_points);
        bad += usize::from(!holds);
    }
    assert!(good > scaled(200) && bad > scaled(200), "{good} {bad}");
}
