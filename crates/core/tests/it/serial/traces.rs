//! The notions of serializable traces against each other: by executions and by directions of ties.

use std::collections::BTreeSet;

use weakspot_core::serial::{
    BufferedReads, Executions, Tie, Trace, TraceMode, is_buffered, orientations, own_write, pair,
    predicted, predicted_serializable, serializable_by_orientations, trace_serializable,
};
use weakspot_core::testing::{
    Rng, TxnSize, overwriting_trace, random_trace, scaled, show_trace, shrink_trace, small_traces,
    trace_of,
};
use weakspot_core::{TxnEvent, TxnKind};

const STATIC: BufferedReads = BufferedReads::Static;
const EXACT: BufferedReads = BufferedReads::Exact;

/// Every fourth is made for reads that find their own write overwritten.
fn random(seed: u64, most: usize) -> Vec<TxnEvent> {
    let mut rng = Rng::new(seed);
    if seed % 4 == 3 {
        return overwriting_trace(&mut rng, most);
    }
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
    serializable_by_orientations(&Trace::new(events, mode).expect("a trace"))
}

/// Which of two events others notice first, for all ties between threads, in an execution.
/// Ties that there are only sometimes are there if the read is not buffered.
fn directions(trace: &Trace<'_>, execution: &[TxnEvent]) -> Vec<(usize, usize)> {
    let events = trace.events;
    let paired = pair(execution).expect("an execution");
    // Per event of the trace its place in the execution.
    let place = |event: usize| {
        let thread = events[event].thread;
        let number = events[..event].iter().filter(|e| e.thread == thread).count();
        let is_mine = |e: &TxnEvent| e.thread == thread && e.kind != TxnKind::Commit;
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
            let Some(tie) = trace.tie(first, second) else { continue };
            let reads = trace.mode.buffered_reads();
            if tie == Tie::Sometimes && is_buffered(&paired, reads, place(first)) {
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
        let trace = Trace::new(&events, TraceMode::Exact(STATIC)).expect("a trace");
        let execution = Executions::new(&events).next().expect("there is one");
        let paired = pair(&execution).expect("an execution");
        let issued = (0..execution.len()).filter(|&at| execution[at].kind != TxnKind::Commit);
        for (at, there) in issued.enumerate() {
            let is_read = events[at].kind == TxnKind::Read;
            let own =
                own_write(&events, at).filter(|_| is_read && is_buffered(&paired, STATIC, there));
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
        let mode = TraceMode::Exact(BufferedReads::ALL[seed as usize % 2]);
        let trace = Trace::new(&events, mode).expect("a trace");
        let all: Vec<_> = Executions::new(&events).map(|x| directions(&trace, &x)).collect();
        for second in 0..events.len() {
            for first in 0..second {
                let forward = all.iter().any(|edges| edges.contains(&(first, second)));
                let backward = all.iter().any(|edges| edges.contains(&(second, first)));
                let always = all.iter().all(|edges| edges.contains(&(first, second)));
                let tie = match (forward, backward) {
                    (true, true) => Some(Tie::Undirected),
                    (true, false) if !always => Some(Tie::Sometimes),
                    (true, false) => Some(Tie::Directed),
                    _ => None,
                };
                assert_eq!(trace.tie(first, second), tie, "{}", show_trace(&events));
            }
        }
    }
}

/// Whether both ways to say whether a trace is serializable agree, for both readings.
fn by_directions(trace: &[TxnEvent]) -> bool {
    BufferedReads::ALL.iter().all(|&reads| {
        by_orientations(trace, TraceMode::Exact(reads)) == trace_serializable(trace, reads)
    })
}

#[test]
fn small_traces_by_executions_and_by_directions() {
    let mut count = 0;
    for events in 1..=4 {
        small_traces(events, &mut |trace| {
            count += 1;
            check(trace, &by_directions);
        });
    }
    assert_eq!(count, 59_619);
}

#[test]
fn random_traces_by_executions_and_by_directions() {
    let (mut bad, mut differ) = (0, 0);
    for seed in 0..scaled(2000) as u64 {
        let events = random(seed, 8);
        check(&events, &by_directions);
        let [exact, fixed] = [EXACT, STATIC].map(|reads| trace_serializable(&events, reads));
        // The exact reading has more conflicts.
        assert!(fixed || !exact, "{}", show_trace(&events));
        bad += usize::from(!exact);
        differ += usize::from(exact != fixed);
    }
    assert!(bad > scaled(200) && differ > scaled(10), "{bad} {differ}");
}

#[test]
fn directions_that_are_valid_are_those_of_executions() {
    for seed in 0..600 {
        check(&random(seed, 6), &|events| {
            let trace = Trace::new(events, TraceMode::Exact(STATIC)).expect("a trace");
            let exact: BTreeSet<_> =
                Executions::new(events).map(|x| directions(&trace, &x)).collect();
            exact == orientations(&trace)
        });
        check(&random(seed, 5), &|events| {
            let trace = Trace::new(events, TraceMode::Predictive(STATIC)).expect("a trace");
            let mut found = BTreeSet::new();
            predicted(&trace, &mut |x| {
                found.insert(directions(&trace, x));
                true
            });
            found == orientations(&trace)
        });
    }
}

#[test]
fn predictions() {
    let mut more = [0; 2];
    for seed in 0..scaled(800) as u64 {
        let events = random(seed, 6);
        for (reads, more) in [EXACT, STATIC].into_iter().zip(&mut more) {
            let [exact, predictive, literal] = TraceMode::all(reads);
            check(&events, &|events| {
                let trace = Trace::new(events, predictive).expect("a trace");
                let predicted = by_orientations(events, predictive);
                predicted == predicted_serializable(&trace)
                    // What is found in one mode is found in the next.
                    && (!predicted || by_orientations(events, exact))
                    && (reads == EXACT || predicted || !by_orientations(events, literal))
            });
            let differs = by_orientations(&events, exact) != by_orientations(&events, predictive);
            *more += usize::from(differs);
        }
    }
    assert!(more.iter().all(|&more| more >= scaled(5)), "{more:?}");
}

#[test]
fn valid_is_more_than_acyclic() {
    for text in [
        "wr0(x)^0 rd0(x)^0 wr1(x)^1",
        "wr0(z)^0 rd1(y)^1 rd1(z)^1 wr2(y)^2 rd2(z)^2",
        "wr2(y)^0 rd2(y)^0 rd2(x)^1 wr0(x)^2 wr0(y)^2",
    ] {
        let events = trace_of(text);
        assert!(trace_serializable(&events, EXACT), "{text}");
        assert!(by_orientations(&events, TraceMode::Exact(EXACT)), "{text}");
        assert!(!by_orientations(&events, TraceMode::Literal), "{text}");
    }
    // The first two happen in another order of the same threads, the third one never.
    let predicted = |text| by_orientations(&trace_of(text), TraceMode::Predictive(EXACT));
    assert!(!predicted("wr0(x)^0 rd0(x)^0 wr1(x)^1"));
    assert!(!predicted("wr0(z)^0 rd1(y)^1 rd1(z)^1 wr2(y)^2 rd2(z)^2"));
    assert!(predicted("wr2(y)^0 rd2(y)^0 rd2(x)^1 wr0(x)^2 wr0(y)^2"));
}

/// A thread reads another's value where it wrote, and then another variable: the static reading lets
/// the second read come first.
#[test]
fn readings() {
    let events = trace_of("wr0(x)^0 wr1(x)^1 rd0(x)^2 rd0(y)^3 wr1(y)^1");
    assert!(!trace_serializable(&events, EXACT));
    assert!(trace_serializable(&events, STATIC));
    // Nothing overwrites the own write before it is read.
    let events = trace_of("wr0(x)^0 rd0(x)^2 wr1(x)^1 rd0(y)^3 wr1(y)^1");
    assert!(trace_serializable(&events, EXACT));
}
