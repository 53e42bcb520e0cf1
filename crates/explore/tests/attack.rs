//! Robustness against TSO by attacks, compared with the definition and with the other search.

use std::sync::atomic::{AtomicUsize, Ordering};

use weakspot_core::machine::Step;
use weakspot_core::testing::{Size, check_programs};
use weakspot_core::{Evidence, Limits, Model, Program, Silent, ThreadId, Verdict, reference};
use weakspot_explore::{Decide, Robust, robust};

/// Some programs with loops count for ever.
const LIMITS: Limits = Limits { time: None, memory: Some(8 << 20), buffer: 0, workers: 1 };

fn ask(program: &Program, decide: Decide, workers: usize) -> Option<Robust> {
    let limits = Limits { workers, ..LIMITS };
    robust(program, Model::Tso, decide, &limits, &mut Silent).ok()
}

/// How many programs were robust and how many were not, so that a test is known to test something.
#[derive(Default)]
struct Tally([AtomicUsize; 2]);

impl Tally {
    fn count(&self, robust: bool) {
        self.0[usize::from(robust)].fetch_add(1, Ordering::Relaxed);
    }

    fn at_least(&self, least: usize) {
        for count in &self.0 {
            assert!(count.load(Ordering::Relaxed) >= least, "{:?}", self.0);
        }
    }
}

fn check_straight(seed: u64, count: usize, size: Size) {
    let tally = Tally::default();
    check_programs(seed, count, size, &[Model::Tso], &|program, _| {
        let Some(expected) = reference::robust(program, &[Model::Tso], 20_000) else {
            return false;
        };
        tally.count(expected[0]);
        let Some(answer) = ask(program, Decide::Attack, 1) else { return true };
        answer.verdict != if expected[0] { Verdict::Holds } else { Verdict::Violated }
    });
    tally.at_least(count / 10);
}

#[test]
fn two_threads_agree_with_the_definition() {
    check_straight(
        500_000,
        4_000,
        Size { threads: 2, instrs: 6, total: 10, locs: 3, loops: false },
    );
}

#[test]
fn three_threads_agree_with_the_definition() {
    check_straight(
        510_000,
        4_000,
        Size { threads: 3, instrs: 5, total: 10, locs: 3, loops: false },
    );
}

#[test]
fn loops_agree_with_the_other_search() {
    let tally = Tally::default();
    let size = Size { threads: 3, instrs: 6, total: 14, locs: 3, loops: true };
    check_programs(520_000, 3_000, size, &[Model::Tso], &|program, _| {
        let Some(expected) = ask(program, Decide::Pending, 1) else { return false };
        let Some(answer) = ask(program, Decide::Attack, 1) else { return true };
        let known = |robust: &Robust| !matches!(robust.verdict, Verdict::Unknown(_));
        if !known(&expected) || !known(&answer) {
            return false;
        }
        tally.count(expected.verdict == Verdict::Holds);
        answer.verdict != expected.verdict
    });
    tally.at_least(300);
}
