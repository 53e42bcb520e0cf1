//! Robustness against the definition: every execution of small random programs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use weakspot_core::testing::{Size, check_programs, scaled};
use weakspot_core::{Drain, Limits, Model, Program, Silent, Verdict, reference};
use weakspot_explore::{Decide, NoAnswer, robust};

const LIMITS: Limits = Limits {
    time: Some(Duration::from_secs(60)),
    memory: None,
    buffer: 4,
    workers: 1,
    ..Limits::UNLIMITED
};
const WEAK: [Model; 3] = [Model::Tso, Model::Pso(Drain::All), Model::Pso(Drain::Own)];

fn is_robust(program: &Program, model: Model) -> Option<bool> {
    match robust(program, model, Decide::Pending, &LIMITS, &mut Silent).ok()?.verdict {
        Verdict::Holds => Some(true),
        Verdict::Violated => Some(false),
        Verdict::Unknown(_) => None,
    }
}

fn compare(seed: u64, all: usize, size: Size) {
    // Few programs are not robust.
    let count = scaled(all).max(all / 4);
    let counts = [const { AtomicUsize::new(0) }; 2];
    check_programs(seed, count, size, &[Model::Sc], &|program, _| {
        let Some(expected) = reference::robust(program, &WEAK, 3_000) else { return false };
        WEAK.iter().zip(expected).any(|(&model, expected)| {
            counts[usize::from(expected)].fetch_add(1, Ordering::Relaxed);
            is_robust(program, model) != Some(expected)
        })
    });
    let [broken, robust] = counts.map(AtomicUsize::into_inner);
    assert!(broken > count / 20 && robust > count, "{broken} broken, {robust} robust");
}

#[test]
fn small_programs_agree_with_the_definition() {
    compare(0, 10_000, Size { threads: 3, instrs: 4, total: 8, locs: 3, loops: false });
}

#[test]
fn longer_programs_of_two_threads_agree_with_the_definition() {
    compare(50_000, 5_000, Size { threads: 2, instrs: 7, total: 10, locs: 3, loops: false });
}

#[test]
fn four_threads_agree_with_the_definition() {
    compare(90_000, 5_000, Size { threads: 4, instrs: 3, total: 9, locs: 3, loops: false });
}

/// A program that faults has no answer, whichever algorithm looks at it.
#[test]
fn faults_are_noticed_by_both_algorithms() {
    let text = "thread a initial q0 transition q0 q1 read r 0 transition q1 q2 local s / 1 r end
thread b initial q0 transition q0 q1 write 1 0 end";
    let program =
        weakspot_lang::parse(weakspot_lang::Format::Trencher, text).expect("good").program;
    for decide in [Decide::Pending, Decide::Attack] {
        let answer = robust(&program, Model::Tso, decide, &LIMITS, &mut Silent);
        assert!(matches!(answer, Err(NoAnswer::Fault(_))), "{decide:?}: {answer:?}");
    }
}

/// Forty threads that take a lock are no more work than a few.
#[test]
fn many_threads() {
    let text = "shared lock, count
        thread p[40] { var c; await (cas(lock, 0, 1)); c = count; count = c + 1; lock = 0 }";
    let program = weakspot_lang::parse(weakspot_lang::Format::Weak, text).expect("good").program;
    let limits = Limits { memory: Some(64 << 20), ..LIMITS };
    let ask = |model| robust(&program, model, Decide::Pending, &limits, &mut Silent);
    let answer = ask(Model::Tso).expect("no fault");
    assert_eq!(answer.verdict, Verdict::Holds);
    assert!(answer.states < 1_000, "{}", answer.states);
    assert_eq!(ask(Model::Pso(Drain::All)).expect("no fault").verdict, Verdict::Violated);
}
