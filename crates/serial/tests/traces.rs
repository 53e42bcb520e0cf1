//! What is said about traces against the definitions, by all stages, with all evidence checked.

use std::collections::HashMap;

use weakspot_core::serial::{Trace, TraceMode, serializable_by_orientations, trace_serializable};
use weakspot_core::testing::{
    Rng, TxnSize, random_trace, show_trace, shrink_trace, small_traces, trace_of,
};
use weakspot_core::{Limits, Silent, TxnEvent, Verdict, certify};
use weakspot_serial::{TraceAnswer, TraceMethod, TraceStage, check_trace};

const NO_LIMITS: Limits = Limits { time: None, memory: None, buffer: 0, workers: 1 };
const METHODS: [TraceMethod; 3] = [TraceMethod::Auto, TraceMethod::Chains, TraceMethod::Sat];

fn answer(events: &[TxnEvent], mode: TraceMode, method: TraceMethod) -> TraceAnswer {
    check_trace(events, mode, method, &NO_LIMITS, &mut Silent).expect("a trace")
}

/// Whether the trace is serializable, with the evidence checked.
fn holds(events: &[TxnEvent], mode: TraceMode, method: TraceMethod) -> Result<bool, String> {
    let answer = answer(events, mode, method);
    let evidence = answer.evidence.as_ref().ok_or("no evidence")?;
    certify::trace(events, mode, &answer.verdict, evidence)
        .map_err(|why| format!("{mode:?} {method:?}: {why} {evidence:?}"))?;
    Ok(answer.verdict == Verdict::Holds)
}

fn by_definition(events: &[TxnEvent], mode: TraceMode) -> bool {
    match mode {
        TraceMode::Exact => trace_serializable(events),
        _ => serializable_by_orientations(&Trace::new(events).expect("a trace"), mode),
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
    for events in 1..=4 {
        small_traces(events, &mut |trace| check(trace, &[TraceMode::Exact]));
    }
    for events in 1..=3 {
        small_traces(events, &mut |trace| check(trace, &TraceMode::ALL));
    }
}

#[test]
fn random_traces() {
    let mut stages: HashMap<(TraceStage, bool), usize> = HashMap::new();
    for seed in 0..3000 {
        let events = random(seed, 9);
        check(&events, &[TraceMode::Exact]);
        let auto = answer(&events, TraceMode::Exact, TraceMethod::Auto);
        *stages.entry((auto.decided_by, auto.verdict == Verdict::Holds)).or_default() += 1;
    }
    let often = |stage, holds| stages.get(&(stage, holds)).is_some_and(|&count| count > 20);
    assert!(often(TraceStage::Runs, false) && often(TraceStage::Groups, true), "{stages:?}");
    assert!(often(TraceStage::Chains, false) && often(TraceStage::Chains, true), "{stages:?}");
}

#[test]
fn random_traces_in_other_modes() {
    for seed in 0..1500 {
        check(&random(seed, 7), &[TraceMode::Predictive, TraceMode::Literal]);
    }
}

#[test]
fn valid_is_more_than_acyclic() {
    for text in [
        "wr0(x)^0 rd0(x)^0 wr1(x)^1",
        "wr0(z)^0 rd1(y)^1 rd1(z)^1 wr2(y)^2 rd2(z)^2",
        "wr2(y)^0 rd2(y)^0 rd2(x)^1 wr0(x)^2 wr0(y)^2",
    ] {
        check(&trace_of(text), &TraceMode::ALL);
    }
}

#[test]
fn profiles_are_of_events() {
    // Each loses its violations if one profile stands for all of the same operations.
    for text in [
        "wr0(x)^0 wr0(x)^0 rd0(x)^1 rd1(x)^2 fn0^1 rd1(x)^3",
        "rd0(z)^0 rd1(z)^1 rd0(z)^0 wr0(z)^2 wr0(z)^2 wr1(y)^3 rd1(z)^3",
    ] {
        check(&trace_of(text), &TraceMode::ALL);
    }
}
