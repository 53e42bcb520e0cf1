//! What is said about traces against the definitions, by all stages, with all evidence checked.

use std::collections::HashMap;

use weakspot_core::certify::trace;
use weakspot_core::serial::{
    BadTrace, BufferedReads, Trace, TraceEvidence, TraceMode, serializable_by_orientations,
    trace_serializable,
};
use weakspot_core::testing::{
    Rng, TxnSize, overwriting_trace, random_trace, scaled, show_trace, shrink_trace, small_traces,
    trace_of,
};
use weakspot_core::{
    Certification, Limit, Limits, Progress, Silent, Snapshot, TxnEvent, TxnKind, Verdict,
};
use weakspot_serial::{NoTraceAnswer, TraceAnswer, TraceMethod, TraceStage, check_trace};

const NO_LIMITS: Limits =
    Limits { time: None, memory: None, buffer: 0, workers: 1, ..Limits::UNLIMITED };
/// Both readings, and all modes.
const MODE: TraceMode = TraceMode::Exact(BufferedReads::Exact);
const EXACT: [TraceMode; 2] = [MODE, TraceMode::Exact(BufferedReads::Static)];
const ALL: [TraceMode; 5] = [
    MODE,
    TraceMode::Exact(BufferedReads::Static),
    TraceMode::Predictive(BufferedReads::Exact),
    TraceMode::Predictive(BufferedReads::Static),
    TraceMode::Literal,
];
const METHODS: [TraceMethod; 3] = [TraceMethod::Auto, TraceMethod::Chains, TraceMethod::Sat];

fn answer(events: &[TxnEvent], mode: TraceMode, method: TraceMethod) -> TraceAnswer {
    check_trace(events, mode, method, &NO_LIMITS, &mut Silent).expect("a trace").into_answer()
}

/// Whether the trace is serializable, with the evidence checked.
fn holds(events: &[TxnEvent], mode: TraceMode, method: TraceMethod) -> Result<bool, String> {
    let answer = check_trace(events, mode, method, &NO_LIMITS, &mut Silent)
        .map_err(|why| format!("{mode:?} {method:?}: {why:?}"))?;
    match answer.certification() {
        Certification::NotChecked => Err(format!("{mode:?} {method:?}: not checked")),
        _ => Ok(answer.verdict == Verdict::Holds),
    }
}

fn by_definition(events: &[TxnEvent], mode: TraceMode) -> bool {
    match mode {
        TraceMode::Exact(reads) => trace_serializable(events, reads),
        _ => serializable_by_orientations(&Trace::new(events, mode).expect("a trace")),
    }
}

fn wrong(events: &[TxnEvent], modes: &[TraceMode]) -> Option<String> {
    for &mode in modes {
        let expected = by_definition(events, mode);
        for method in METHODS {
            match holds(events, mode, method) {
                Ok(found) if found == expected => {}
                Ok(_) => return Some(format!("{mode:?} {method:?}: not {expected}")),
                Err(why) => return Some(why),
            }
        }
    }
    None
}

/// Fails with a small trace that is answered wrongly, if this one is.
fn check(events: &[TxnEvent], modes: &[TraceMode]) {
    if wrong(events, modes).is_some() {
        let small = shrink_trace(events, &|events| wrong(events, modes).is_some());
        panic!("{}\n{:?}", show_trace(&small), wrong(&small, modes));
    }
}

fn random(seed: u64, most: usize) -> Vec<TxnEvent> {
    let mut rng = Rng::new(seed);
    if seed % 4 == 3 {
        return overwriting_trace(&mut rng, most);
    }
    let size = TxnSize {
        threads: 2 + rng.below(3) as u32,
        vars: 1 + rng.below(3) as u32,
        events: 2 + rng.below(most - 1),
        txn: 1 + rng.below(4),
        fences: rng.below(3) * 5,
    };
    random_trace(&mut rng, size)
}

#[test]
fn all_small_traces() {
    // The readings differ on traces of five events at least.
    for events in 1..=4 {
        small_traces(events, &mut |trace| check(trace, &[MODE]));
    }
    for events in 1..=3 {
        small_traces(events, &mut |trace| check(trace, &ALL));
    }
}

#[test]
fn random_traces() {
    let mut stages: HashMap<(TraceStage, bool), usize> = HashMap::new();
    for seed in 0..scaled(3000) as u64 {
        let events = random(seed, if seed % 8 == 0 { 9 } else { 8 });
        check(&events, &EXACT[seed as usize % 2..][..1]);
        let auto = answer(&events, MODE, TraceMethod::Auto);
        *stages.entry((auto.decided_by, auto.verdict == Verdict::Holds)).or_default() += 1;
    }
    let often = |stage, holds| stages.get(&(stage, holds)).is_some_and(|&count| count > scaled(10));
    assert!(often(TraceStage::Runs, false) && often(TraceStage::Groups, true), "{stages:?}");
    assert!(often(TraceStage::Chains, false) && often(TraceStage::Chains, true), "{stages:?}");
}

#[test]
fn random_traces_in_other_modes() {
    for seed in 0..scaled(1500) as u64 {
        let predictive = ALL[2 + seed as usize / 4 % 2];
        check(&random(seed, 7), &[predictive, TraceMode::Literal]);
    }
}

#[test]
fn valid_is_more_than_acyclic() {
    for text in [
        "wr0(x)^0 rd0(x)^0 wr1(x)^1",
        "wr0(z)^0 rd1(y)^1 rd1(z)^1 wr2(y)^2 rd2(z)^2",
        "wr2(y)^0 rd2(y)^0 rd2(x)^1 wr0(x)^2 wr0(y)^2",
    ] {
        check(&trace_of(text), &ALL);
    }
}

#[test]
fn profiles_are_of_events() {
    // Each loses its violations if one profile stands for all of the same operations.
    for text in [
        "wr0(x)^0 wr0(x)^0 rd0(x)^1 rd1(x)^2 fn0^1 rd1(x)^3",
        "rd0(z)^0 rd1(z)^1 rd0(z)^0 wr0(z)^2 wr0(z)^2 wr1(y)^3 rd1(z)^3",
    ] {
        check(&trace_of(text), &ALL);
    }
}

/// Larger traces than the definitions can look at: the stages against each other.
#[test]
fn stages_agree() {
    let disagree = |events: &[TxnEvent], modes: &[TraceMode]| {
        modes.iter().any(|&mode| {
            let found = METHODS.map(|method| holds(events, mode, method));
            found.iter().any(Result::is_err) || found[0] != found[1] || found[0] != found[2]
        })
    };
    let mut by_sat = 0;
    for seed in 0..scaled(20_000) as u64 {
        let mut rng = Rng::new(seed);
        let size = TxnSize {
            threads: 2 + rng.below(4) as u32,
            vars: 2 + rng.below(6) as u32,
            events: 10 + rng.below(20),
            txn: 1 + rng.below(3),
            fences: 2 + rng.below(5),
        };
        let events = random_trace(&mut rng, size);
        let modes = TraceMode::all(BufferedReads::ALL[seed as usize % 2]);
        if disagree(&events, &modes) {
            let small = shrink_trace(&events, &|events| disagree(events, &modes));
            panic!("{modes:?} {}", show_trace(&small));
        }
        let sat = answer(&events, MODE, TraceMethod::Sat);
        by_sat += usize::from(sat.decided_by == TraceStage::Sat);
    }
    assert!(by_sat > scaled(2000), "{by_sat}");
}

/// Each transaction accesses two variables, and nothing is ever settled.
fn everything_open(events: usize) -> Vec<TxnEvent> {
    let mut rng = Rng::new(3);
    let mut trace = Vec::new();
    for txn in 0..events as u32 / 4 {
        let (thread, shared) = (txn % 4, rng.below(10) as u32);
        let of = |kind, var| TxnEvent { thread, kind, var, txn };
        let own = 10 + thread;
        let (read, write) = (TxnKind::Read, TxnKind::Write);
        trace.extend([of(read, own), of(write, shared), of(write, own), of(read, own)]);
    }
    trace
}

#[test]
fn limits() {
    struct Impatient;
    impl Progress for Impatient {
        fn tick(&mut self, _: Snapshot) -> bool {
            false
        }
    }
    // Its own executions are easy, because each transaction has one point in time.
    let events = everything_open(40_000);
    let found = answer(&events, MODE, TraceMethod::Auto);
    assert_eq!((found.verdict, found.decided_by), (Verdict::Holds, TraceStage::Groups));
    let ask = |limits: &Limits, progress: &mut dyn Progress| {
        let mode = TraceMode::Predictive(BufferedReads::Exact);
        let found = check_trace(&events, mode, TraceMethod::Auto, limits, progress);
        let found = found.expect("a trace");
        assert_eq!(found.evidence, None);
        found.verdict.clone()
    };
    let most = 60_000_000;
    let limits = Limits { memory: Some(most), ..NO_LIMITS };
    assert_eq!(ask(&limits, &mut Silent), Verdict::Unknown(Limit::Memory(most)));
    let time = std::time::Duration::ZERO;
    let limits = Limits { time: Some(time), ..NO_LIMITS };
    assert_eq!(ask(&limits, &mut Silent), Verdict::Unknown(Limit::Time(time)));
    assert_eq!(ask(&NO_LIMITS, &mut Impatient), Verdict::Unknown(Limit::Interrupted));
}

#[test]
fn what_is_no_trace() {
    let bad = |events: &[TxnEvent]| match check_trace(
        events,
        MODE,
        TraceMethod::Auto,
        &NO_LIMITS,
        &mut Silent,
    ) {
        Ok(_) => None,
        Err(NoTraceAnswer::Bad(bad)) => Some(bad),
        Err(NoTraceAnswer::Rejected(rejected)) => panic!("{rejected}"),
    };
    assert_eq!(bad(&trace_of("wr0(x)^0 wr1(x)^0")), Some(BadTrace::Shared(1)));
    assert_eq!(bad(&trace_of("wr0(x)^0 wr0(x)^1 rd0(x)^0")), Some(BadTrace::Resumed(2)));
    let commit = TxnEvent { thread: 0, kind: TxnKind::Commit, var: 0, txn: 0 };
    assert_eq!(bad(&[commit]), Some(BadTrace::Commit(0)));
    assert_eq!(bad(&[]), None);
}

/// Some thousand transactions of one event, without a fence, and a few of two or three.
#[test]
fn large_groups() {
    let mut by_chains = 0;
    for seed in 0..30 {
        let mut rng = Rng::new(seed);
        let size = TxnSize { threads: 4, vars: 100, events: 3000, txn: 1, fences: 0 };
        let mut events = random_trace(&mut rng, size);
        // Per thread the last transaction and how many events it may still get.
        let mut last = [(0, 0); 4];
        for e in &mut events {
            let (txn, left) = &mut last[e.thread as usize];
            if *left > 0 && rng.one_in(200) {
                (e.txn, *left) = (*txn, *left - 1);
            } else {
                (*txn, *left) = (e.txn, 2);
            }
        }
        let limits = Limits { memory: Some(400_000_000), ..NO_LIMITS };
        let found = check_trace(&events, MODE, TraceMethod::Auto, &limits, &mut Silent);
        let found = found.expect("a trace");
        assert_eq!(found.evidence.is_some(), found.certification().is_checked());
        let is_bad = found.verdict == Verdict::Violated;
        by_chains += usize::from(is_bad && found.decided_by == TraceStage::Chains);
    }
    assert!(by_chains > 0, "{by_chains}");
}

/// However long the way around is that the monitor sees first.
#[test]
fn cycles_are_short() {
    let mut rng = Rng::new(1);
    let mut events = Vec::new();
    for txn in 0..10_000 {
        let (thread, var) = (rng.below(4) as u32, rng.below(100) as u32);
        let kinds = [TxnKind::Read, TxnKind::Write];
        events.extend(kinds.map(|kind| TxnEvent { thread, kind, var, txn }));
    }
    let found = answer(&events, MODE, TraceMethod::Auto);
    let evidence = found.evidence.expect("it is there");
    let TraceEvidence::Execution { events, cycle } = evidence else { panic!("{evidence:?}") };
    assert_eq!(cycle.0.len(), 2);
    // No store has to be in memory before the last event.
    assert!(events[20_000..].iter().all(|e| e.kind == TxnKind::Commit));
}

/// Evidence for one reading is none for the other where they differ.
#[test]
fn readings_are_told_apart() {
    let [exact, by_the_paper] = EXACT;
    let mut differ = 0;
    for seed in 0..scaled(2000) as u64 {
        let events = overwriting_trace(&mut Rng::new(seed), 9);
        check(&events, &EXACT);
        let [found, other] = EXACT.map(|mode| answer(&events, mode, TraceMethod::Auto));
        if found.verdict == other.verdict {
            continue;
        }
        differ += 1;
        assert_eq!((&found.verdict, &other.verdict), (&Verdict::Violated, &Verdict::Holds));
        let accepts = |mode, answer: &TraceAnswer| {
            let evidence = answer.evidence.as_ref().expect("there is some");
            trace(&events, mode, &answer.verdict, evidence).is_ok()
        };
        assert!(accepts(exact, &found) && !accepts(by_the_paper, &found));
        assert!(accepts(by_the_paper, &other) && !accepts(exact, &other));
    }
    assert!(differ > scaled(25), "{differ}");
}
