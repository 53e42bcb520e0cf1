//! The searches against all executions by definition, and the theorems, on random programs with
//! random transactions.

use weakspot_core::machine::Machine;
use weakspot_core::serial::{RunBounds, each_run, txn_run};
use weakspot_core::testing::{Rng, Size, random_program, show};
use weakspot_core::{
    Evidence, Limits, Model, PointId, Program, Silent, ThreadId, Transactions, TxnMark, Verdict,
};

use super::marked::Marked;
use super::search::{Searched, search};
use super::{fence_program, serializable};
use crate::meter::Meter;
use crate::robust::{Decide, robust};

/// Little memory ends searches of what has no end.
const LIMITS: Limits =
    Limits { time: None, memory: Some(2 << 20), buffer: 2, workers: 1, ..Limits::UNLIMITED };
const MODELS: [Model; 2] = [Model::Sc, Model::Tso];
const SMALL: Size = Size { threads: 3, instrs: 4, total: 7, locs: 3, loops: false };
const LARGER: Size = Size { threads: 3, instrs: 6, total: 12, locs: 3, loops: false };
const LOOPS: Size = Size { threads: 2, instrs: 4, total: 7, locs: 2, loops: true };

/// A random program and pieces of its threads that are transactions.
fn random(seed: u64, size: Size) -> (Program, Transactions) {
    let mut rng = Rng::new(seed);
    let program = random_program(&mut rng, size);
    let mut marks = Transactions::default();
    for (t, thread) in program.threads.iter().enumerate() {
        let mut open = None;
        for (p, point) in thread.points.iter().enumerate() {
            if rng.one_in(3) {
                open = (!rng.one_in(3)).then_some(p as u32);
            }
            for e in 0..point.edges.len() {
                if let Some(block) = open {
                    let mark = TxnMark { block, begins: rng.one_in(12) };
                    marks.mark(ThreadId::new(t), PointId::new(p), e, mark);
                }
            }
        }
    }
    (program, marks)
}

/// What the search alone says: whether it holds, `None` at a limit. Runs are checked.
fn searched(program: &Program, marks: &Transactions, model: Model) -> Option<bool> {
    let marked = Marked::new(program, marks);
    let mut silent = Silent;
    let mut meter = Meter::new(LIMITS, &mut silent);
    match search(&marked, model, &LIMITS, &mut meter).expect("no faults") {
        Searched::All => Some(true),
        Searched::Limit(_) => None,
        Searched::Cycle(run) => {
            let run = txn_run(program, marks, model, &run).expect("a run");
            assert!(run.cycle(model).is_some(), "no cycle\n{}{marks:?}", show(program));
            Some(false)
        }
    }
}

/// Whether all executions are serializable, by definition; `None` if there are too many.
fn by_definition(program: &Program, marks: &Transactions, model: Model) -> Option<bool> {
    let mut all = true;
    let bounds = RunBounds { steps: 15_000, depth: 100 };
    let counted = each_run(program, marks, model, bounds, &mut |run| {
        all = run.cycle(model).is_none();
        all
    });
    match (counted, all) {
        (None, true) => None,
        _ => Some(all),
    }
}

/// Programs side by side; `check` says what to count.
fn each_program(
    seeds: std::ops::Range<u64>,
    size: Size,
    check: &(dyn Fn(&Program, &Transactions, &mut [usize; 4]) + Sync),
) -> [usize; 4] {
    let half = |half: u64| {
        let mut counts = [0; 4];
        for seed in seeds.clone().filter(|seed| seed % 2 == half) {
            let (program, marks) = random(seed, size);
            check(&program, &marks, &mut counts);
        }
        counts
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| half(1));
        let mut counts = half(0);
        let other = other.join().expect("no failure");
        (0..4).for_each(|i| counts[i] += other[i]);
        counts
    })
}

#[test]
fn answers_are_those_of_the_definition() {
    let counts = each_program(0..2000, SMALL, &|program, marks, counts| {
        for (i, model) in MODELS.into_iter().enumerate() {
            let Some(expected) = by_definition(program, marks, model) else { continue };
            let found = searched(program, marks, model);
            assert_eq!(found, Some(expected), "{model}\n{}{marks:?}", show(program));
            let answer = serializable(program, marks, model, &LIMITS, &mut Silent);
            let answer = answer.expect("an answer");
            let holds = answer.verdict == Verdict::Holds;
            assert_eq!(holds, expected, "{model}\n{}{marks:?}", show(program));
            counts[2 * i + usize::from(holds)] += 1;
        }
    });
    assert!(counts.iter().all(|&count| count > 150), "{counts:?}");
}

/// Loops go round for ever, but what is found within the first steps is found.
#[test]
fn loops() {
    let counts = each_program(0..400, LOOPS, &|program, marks, counts| {
        for (i, model) in MODELS.into_iter().enumerate() {
            let mut all = true;
            let bounds = RunBounds { steps: 2_000, depth: 14 };
            each_run(program, marks, model, bounds, &mut |run| {
                all = run.cycle(model).is_none();
                all
            });
            let found = searched(program, marks, model);
            assert!(all || found != Some(true), "{model}\n{}{marks:?}", show(program));
            match found {
                Some(true) => counts[2 * i] += 1,
                _ if !all => counts[2 * i + 1] += 1,
                _ => {}
            }
        }
    });
    assert!(counts.iter().all(|&count| count > 20), "{counts:?}");
}

/// Theorem 2: what is robust and SC-serializable is TSO-serializable. And Theorem 3: if stores do not
/// reach into other transactions, the converse, too.
#[test]
fn theorems() {
    let counts = each_program(0..1500, LARGER, &|program, marks, counts| {
        let fenced = fence_program(program, marks);
        assert!(Marked::new(&fenced.program, &fenced.transactions).is_fenced());
        for (program, marks) in [(program, marks), (&fenced.program, &fenced.transactions)] {
            let Some(sc) = searched(program, marks, Model::Sc) else { continue };
            let Some(tso) = searched(program, marks, Model::Tso) else { continue };
            let robust = robust(program, Model::Tso, Decide::Pending, &LIMITS, &mut Silent);
            let both = sc && robust.expect("an answer").verdict == Verdict::Holds;
            let is_fenced = Marked::new(program, marks).is_fenced();
            assert!(tso || !both, "{}{marks:?}", show(program));
            assert!(both || !(tso && is_fenced), "{}{marks:?}", show(program));
            counts[2 * usize::from(is_fenced) + usize::from(tso)] += 1;
        }
    });
    assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
}

/// Fences only take executions away, and add none.
#[test]
fn fences_keep_what_sc_does() {
    each_program(0..1000, SMALL, &|program, marks, _| {
        let fenced = fence_program(program, marks);
        let before = searched(program, marks, Model::Sc);
        assert_eq!(before, searched(&fenced.program, &fenced.transactions, Model::Sc));
        let outcomes = |program: &Program| {
            let mut program = program.clone();
            program.observed.clear();
            weakspot_core::reference::reachable(&program, Model::Sc, 20_000).map(|all| all.outcomes)
        };
        assert_eq!(outcomes(program), outcomes(&fenced.program));
    });
}

/// A run of the evidence is one of the program that was asked about, not of the one with more points.
#[test]
fn runs_are_runs_of_the_program() {
    let counts = each_program(0..300, LARGER, &|program, marks, counts| {
        let answer = serializable(program, marks, Model::Tso, &LIMITS, &mut Silent);
        if let Some(Evidence::Run(run)) = &answer.expect("an answer").evidence {
            let machine = Machine { program, model: Model::Tso };
            assert!(weakspot_core::certify::replay(machine, run).is_ok());
            counts[0] += 1;
        }
    });
    assert!(counts[0] > 50, "{counts:?}");
}
