//! The notions of serializable traces against each other: by executions and by directions of ties.

use std::collections::BTreeSet;

use weakspot_core::TxnEvent;
use weakspot_core::serial::{
    Executions, Tie, Trace, TraceMode, is_buffered, orientations, own_write, pair, predicted,
    predicted_serializable, serializable_by_orientations, trace_serializable,
};
use weakspot_core::testing::{
    Rng, TxnSize, random_trace, show_trace, shrink_trace, small_traces, trace_of,
};

fn random(seed: u64, most: usize) -> Vec<TxnEvent> {
    let mut rng = Rng::new(seed);
    let size = TxnSize {
        threads: 2 + rng.below(2) as u32,
        vars: 1 + rng.below(3) as u32,
        events: 2 + rng.below(most - 1),
        txn: 1 + rng.below(4),
        fences: rng.below(3) * 5,
    };
    random_trace(&mut rng, size)
}

/// Fails with a small trace for which this is false.
fn check(events: &[TxnEvent], holds: &dyn Fn(&[TxnEvent]) -> bool) {
    if !holds(events) {
        let small = shrink_trace(events, &|events| !holds(events));
        panic!("{}", show_trace(&small));
    }
}

fn by_orientations(events: &[TxnEvent], mode: TraceMode) -> bool {
    serializable_by_orientations(&Trace::new(events).expect("a trace"), mode)
}

/// Which of two events others notice first, for all ties between threads, in an execution.
fn directions(events: &[TxnEvent], execution: &[TxnEvent]) -> Vec<(usize, usize)> {
    let trace = Trace::new(events).expect("a trace");
    let paired = pair(execution).expect("an execution");
    // Per event of the trace its place in the execution.
    let place = |event: usize| {
        let thread = events[event].thread;
        let number = events[..event].iter().filter(|e| e.thread == thread).count();
        let is_mine = |e: &TxnEvent| e.thread == thread && e.kind != weakspot_core::TxnKind::Commit;
        let mine = execution.iter().enumerate().filter(|(_, e)| is_mine(e));
        mine.map(|(at, _)| at).nth(number).expect("it is there")
    };
    let noticed = |event: usize| {
        let at = |event: usize| paired.commit_of(place(event)).unwrap_or(place(event));
        at(event).max(trace.own(event).map_or(0, at))
    };
    let mut found = Vec::new();
    for second in 0..events.len() {
        for first in 0..second {
            if trace.tie(first, second).is_none() {
                continue;
            }
            let forward =
                events[first].thread == events[second].thread || noticed(first) < noticed(second);
            found.push(if forward { (first, second) } else { (second, first) });
        }
    }
    found.sort_unstable();
    found
}

#[test]
fn facts() {
    for seed in 0..3000 {
        let events = random(seed, 20);
        let trace = Trace::new(&events).expect("a trace");
        for (at, e) in events.iter().enumerate() {
            let is_read = e.kind == weakspot_core::TxnKind::Read;
            let own = own_write(&events, at).filter(|_| is_read && is_buffered(&events, at));
            assert_eq!(trace.own(at), own);
        }
        // What directed ties lead to what is all in the few that `directed` gives.
        let n = events.len();
        let reach = |edges: &[(usize, usize)]| {
            let mut reach = vec![vec![false; n]; n];
            for to in 0..n {
                for &(from, _) in edges.iter().filter(|&&(from, t)| t == to && from < to) {
                    reach[from][to] = true;
                    (0..n).for_each(|before| reach[before][to] |= reach[before][from]);
                }
            }
            reach
        };
        let mut all = Vec::new();
        for to in 0..n {
            all.extend(
                (0..to).filter(|&from| trace.tie(from, to) == Some(Tie::Directed)).map(|f| (f, to)),
            );
        }
        let few = trace.directed();
        assert!(few.iter().all(|edge| all.contains(edge)), "{}", show_trace(&events));
        assert_eq!(reach(&few), reach(&all), "{}", show_trace(&events));
    }
}

#[test]
fn ties_are_what_executions_have_in_common() {
    for seed in 0..400 {
        let events = random(seed, 6);
        let trace = Trace::new(&events).expect("a trace");
        let all: Vec<_> = Executions::new(&events).map(|x| directions(&events, &x)).collect();
        for second in 0..events.len() {
            for first in 0..second {
                let forward = all.iter().any(|edges| edges.contains(&(first, second)));
                let backward = all.iter().any(|edges| edges.contains(&(second, first)));
                let tie = match (forward, backward) {
                    (true, true) => Some(Tie::Undirected),
                    (true, false) => Some(Tie::Directed),
                    _ => None,
                };
                assert_eq!(trace.tie(first, second), tie, "{}", show_trace(&events));
            }
        }
    }
}

#[test]
fn small_traces_by_executions_and_by_directions() {
    let mut count = 0;
    for events in 1..=4 {
        small_traces(events, &mut |trace| {
            count += 1;
            check(trace, &|trace| {
                by_orientations(trace, TraceMode::Exact) == trace_serializable(trace)
            });
        });
    }
    assert_eq!(count, 59_619);
}

#[test]
fn random_traces_by_executions_and_by_directions() {
    let mut bad = 0;
    for seed in 0..1000 {
        let events = random(seed, 8);
        check(&events, &|events| {
            by_orientations(events, TraceMode::Exact) == trace_serializable(events)
        });
        bad += usize::from(!trace_serializable(&events));
    }
    assert!(bad > 100, "{bad}");
}

#[test]
fn directions_that_are_valid_are_those_of_executions() {
    for seed in 0..600 {
        check(&random(seed, 6), &|events| {
            let trace = Trace::new(events).expect("a trace");
            let exact: BTreeSet<_> =
                Executions::new(events).map(|x| directions(events, &x)).collect();
            exact == orientations(&trace, TraceMode::Exact)
        });
        check(&random(seed, 5), &|events| {
            let trace = Trace::new(events).expect("a trace");
            let mut found = BTreeSet::new();
            predicted(&trace, &mut |x| {
                found.insert(directions(events, x));
                true
            });
            found == orientations(&trace, TraceMode::Predictive)
        });
    }
}

#[test]
fn predictions() {
    let mut more = 0;
    for seed in 0..600 {
        let events = random(seed, 6);
        check(&events, &|events| {
            let trace = Trace::new(events).expect("a trace");
            let predictive = by_orientations(events, TraceMode::Predictive);
            predictive == predicted_serializable(&trace)
                // What is found in one mode is found in the next.
                && (!predictive || by_orientations(events, TraceMode::Exact))
                && (predictive || !by_orientations(events, TraceMode::Literal))
        });
        let exact = by_orientations(&events, TraceMode::Exact);
        more += usize::from(exact != by_orientations(&events, TraceMode::Predictive));
    }
    assert!(more > 5, "{more}");
}

#[test]
fn valid_is_more_than_acyclic() {
    for text in [
        "wr0(x)^0 rd0(x)^0 wr1(x)^1",
        "wr0(z)^0 rd1(y)^1 rd1(z)^1 wr2(y)^2 rd2(z)^2",
        "wr2(y)^0 rd2(y)^0 rd2(x)^1 wr0(x)^2 wr0(y)^2",
    ] {
        let events = trace_of(text);
        assert!(trace_serializable(&events), "{text}");
        assert!(by_orientations(&events, TraceMode::Exact), "{text}");
        assert!(!by_orientations(&events, TraceMode::Literal), "{text}");
    }
    // The first two happen in another order of the same threads, the third one never.
    let predicted = |text| by_orientations(&trace_of(text), TraceMode::Predictive);
    assert!(!predicted("wr0(x)^0 rd0(x)^0 wr1(x)^1"));
    assert!(!predicted("wr0(z)^0 rd1(y)^1 rd1(z)^1 wr2(y)^2 rd2(z)^2"));
    assert!(predicted("wr2(y)^0 rd2(y)^0 rd2(x)^1 wr0(x)^2 wr0(y)^2"));
}
