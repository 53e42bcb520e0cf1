//! Whether all executions of programs are serializable: the searches and theorems against all
//! executions by definition, on random programs with random transactions.

use std::time::Duration;

use weakspot_core::serial::each_run;
use weakspot_core::testing::{Rng, Size, random_program, show};
use weakspot_core::{
    Evidence, Limits, Model, PointId, Program, Silent, ThreadId, Transactions, TxnMark, Verdict,
    certify,
};
use weakspot_explore::{Serializable, fence_program, serializable};

const LIMITS: Limits =
    Limits { time: Some(Duration::from_secs(60)), memory: Some(1 << 30), buffer: 4, workers: 1 };
const MODELS: [Model; 2] = [Model::Sc, Model::Tso];

/// A random program and pieces of its threads that are transactions.
fn random(seed: u64, size: Size) -> (Program, Transactions) {
    let mut rng = Rng::new(seed);
    let program = random_program(&mut rng, size);
    let mut marks = Transactions::default();
    for (t, thread) in program.threads.iter().enumerate() {
        let mut open = None;
        for (p, point) in thread.points.iter().enumerate() {
            if rng.one_in(3) {
                open = match rng.below(3) {
                    0 => None,
                    _ => Some(p as u32),
                };
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

fn ask(program: &Program, marks: &Transactions, model: Model) -> Serializable {
    serializable(program, marks, model, &LIMITS, &mut Silent)
        .unwrap_or_else(|e| panic!("{e:?}\n{}{marks:?}", show(program)))
}

/// Whether all executions are serializable, by definition; `None` if there are too many.
fn by_definition(program: &Program, marks: &Transactions, model: Model) -> Option<bool> {
    let mut all = true;
    let counted = each_run(program, marks, model, 300_000, &mut |run| {
        all = run.cycle(model).is_none();
        all
    });
    counted.map(|_| all)
}

const SMALL: Size = Size { threads: 3, instrs: 4, total: 7, locs: 3, loops: false };

/// Seeds side by side.
fn each_seed(
    seeds: std::ops::Range<u64>,
    check: &(dyn Fn(u64) -> [usize; 4] + Sync),
) -> [usize; 4] {
    let half = |half: u64| {
        let mut counts = [0; 4];
        for seed in seeds.clone().filter(|seed| seed % 2 == half) {
            let found = check(seed);
            (0..4).for_each(|i| counts[i] += found[i]);
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
    let counts = each_seed(0..3000, &|seed| {
        let (program, marks) = random(seed, SMALL);
        let mut counts = [0; 4];
        for (i, model) in MODELS.into_iter().enumerate() {
            let Some(expected) = by_definition(&program, &marks, model) else { continue };
            let answer = ask(&program, &marks, model);
            let holds = answer.verdict == Verdict::Holds;
            assert_eq!(holds, expected, "seed {seed} {model}\n{}{marks:?}", show(&program));
            if answer.verdict == Verdict::Violated {
                assert!(matches!(answer.evidence, Some(Evidence::Run(_))), "seed {seed}");
            }
            counts[2 * i + usize::from(holds)] += 1;
        }
        counts
    });
    assert!(counts.iter().all(|&count| count > 200), "{counts:?}");
}
