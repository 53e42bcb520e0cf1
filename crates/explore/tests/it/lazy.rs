//! Lazy TSO reachability against the brute-force reference, and on what it was made for.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use weakspot_core::testing::{Rng, Size, check_programs, scaled};
use weakspot_core::{
    BinOp, Condition, Drain, Edge, Evidence, Expr, Fence, Instr, Limit, Limits, Location, Model,
    Point, PointId, Program, Progress, Quantifier, RegId, Silent, Snapshot, Span, Thread,
    Undeclared, Verdict, certify, reference,
};
use weakspot_explore::{Algorithm, Lazily, reach, reach_lazily};
use weakspot_lang::Format;

const LIMITS: Limits =
    Limits { time: None, memory: None, buffer: 16, workers: 1, ..Limits::UNLIMITED };

/// Stops a search after so many questions and ticks of searches, whatever the time they took.
struct Patience(usize);

impl Progress for Patience {
    fn tick(&mut self, _: Snapshot) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 > 0
    }
}

/// Adds questions of all kinds to a random program, by what the program itself looks like, so that
/// the shrinker keeps them.
fn ask(program: &Program) -> Program {
    let mut program = program.clone();
    let edges: usize = program.threads.iter().flat_map(|t| &t.points).map(|p| p.edges.len()).sum();
    let mut rng = Rng::new(edges as u64 ^ (program.observed.len() as u64) << 8);
    let random_point =
        |rng: &mut Rng, t: &weakspot_core::Thread| PointId::new(rng.below(t.points.len()));
    if !rng.one_in(3) {
        let all = program.threads.iter().map(|t| {
            let p = random_point(&mut rng, t);
            (!rng.one_in(4)).then_some(p)
        });
        let combination: Vec<_> = all.collect();
        if combination.iter().any(Option::is_some) {
            program.forbidden = vec![combination];
        }
    }
    if rng.one_in(4) {
        // A no-op becomes an assertion.
        let t = rng.below(program.threads.len());
        let thread = &mut program.threads[t];
        let p = rng.below(thread.points.len());
        if !thread.regs.is_empty()
            && let Some(edge) = thread.points[p].edges.first_mut()
            && matches!(edge.instr, Instr::Assign { .. } | Instr::Choose { .. } | Instr::Fence(_))
        {
            let reg = Expr::Reg(RegId::new(rng.below(thread.regs.len())));
            edge.instr = Instr::Assert(Expr::binary(BinOp::Ne, reg, Expr::Const(1)));
        }
    }
    if !program.observed.is_empty() && !rng.one_in(3) {
        let mut value = || {
            let i = Expr::Reg(RegId::new(rng.below(program.observed.len())));
            Expr::binary(BinOp::Eq, i, Expr::Const(rng.below(3) as i64))
        };
        let prop = Expr::binary(BinOp::And, value(), value());
        let quantifier = match rng.below(3) {
            0 => Quantifier::Exists,
            1 => Quantifier::NotExists,
            _ => Quantifier::Forall,
        };
        program.condition = Some(Condition { quantifier, prop });
    }
    if rng.one_in(4) {
        program.locs[0].init = vec![0, 1];
    }
    if rng.one_in(4) {
        program.undeclared = Undeclared::Zero;
    }
    program
}

/// What the answers were.
#[derive(Default)]
struct Counts {
    holds: AtomicUsize,
    violated: AtomicUsize,
    unknown: AtomicUsize,
}

impl Counts {
    fn get(&self) -> (usize, usize, usize) {
        let get = |n: &AtomicUsize| n.load(Ordering::Relaxed);
        (get(&self.holds), get(&self.violated), get(&self.unknown))
    }
}

/// Whether an answer is wrong. Unknowns are counted.
fn is_wrong(
    program: &Program,
    (model, algorithm): (Model, Algorithm),
    patience: usize,
    counts: &Counts,
) -> bool {
    const MOST: usize = 5_000;
    let mut patience = Patience(patience);
    if reference::reachable(program, model, MOST).is_none() {
        return false;
    }
    let Ok(answer) = reach(program, model, algorithm, &LIMITS, &mut patience) else {
        return true;
    };
    let count = match answer.verdict {
        Verdict::Holds => &counts.holds,
        Verdict::Violated => &counts.violated,
        Verdict::Unknown(_) => &counts.unknown,
    };
    count.fetch_add(1, Ordering::Relaxed);
    !matches!(answer.verdict, Verdict::Unknown(_))
        && certify::search_everything(program, model, &answer.verdict, MOST).is_err()
}

fn compare(
    seed: u64,
    count: usize,
    size: Size,
    models: &[Model],
    algorithm: Algorithm,
    patience: usize,
) -> Counts {
    let counts = Counts::default();
    check_programs(seed, count, size, models, &|program, model| {
        is_wrong(&ask(program), (model, algorithm), patience, &counts)
    });
    counts
}

const PSO: [Model; 2] = [Model::Pso(Drain::All), Model::Pso(Drain::Own)];

/// Without loops both must answer, and rightly.
#[test]
fn straight_programs_agree_with_the_reference() {
    let size = Size { threads: 3, instrs: 5, total: 9, locs: 3, loops: false };
    for (algorithm, count) in
        [(Algorithm::Lazy, scaled(2_500)), (Algorithm::Unroll, scaled(500).max(125))]
    {
        let (holds, violated, unknown) =
            compare(1_000_000, count, size, &[Model::Tso], algorithm, usize::MAX).get();
        let counts = format!("{algorithm:?}: {holds} hold, {violated} violated, {unknown} unknown");
        assert!(holds > count / 8 && violated > count / 3 && unknown == 0, "{counts}");
    }
}

/// The same under PSO, with both readings of what an update waits for. There are more ways to be
/// late: a few programs take more extensions than there is patience.
#[test]
fn straight_programs_agree_with_the_reference_under_pso() {
    let size = Size { threads: 3, instrs: 5, total: 9, locs: 3, loops: false };
    for (algorithm, count) in
        [(Algorithm::Lazy, scaled(2_500)), (Algorithm::Unroll, scaled(500).max(125))]
    {
        let (holds, violated, unknown) =
            compare(1_200_000, count, size, &PSO, algorithm, 200).get();
        let counts = format!("{algorithm:?}: {holds} hold, {violated} violated, {unknown} unknown");
        assert!(holds > count / 8 && violated > count / 3 && unknown < count / 20, "{counts}");
    }
}

#[test]
fn programs_with_loops_agree_with_the_reference_under_pso() {
    let size = Size { threads: 2, instrs: 6, total: 8, locs: 2, loops: true };
    for (algorithm, count) in
        [(Algorithm::Lazy, scaled(1_500)), (Algorithm::Unroll, scaled(500).max(125))]
    {
        let (holds, violated, unknown) = compare(2_200_000, count, size, &PSO, algorithm, 25).get();
        let counts = format!("{algorithm:?}: {holds} hold, {violated} violated, {unknown} unknown");
        assert!(holds > count / 10 && violated > count / 10 && unknown < count / 4, "{counts}");
    }
}

/// With loops they need not answer, but mostly do.
#[test]
fn programs_with_loops_agree_with_the_reference() {
    let size = Size { threads: 2, instrs: 6, total: 8, locs: 2, loops: true };
    for (algorithm, count) in
        [(Algorithm::Lazy, scaled(1_500)), (Algorithm::Unroll, scaled(500).max(125))]
    {
        let (holds, violated, unknown) =
            compare(2_000_000, count, size, &[Model::Tso], algorithm, 25).get();
        let counts = format!("{algorithm:?}: {holds} hold, {violated} violated, {unknown} unknown");
        assert!(holds > count / 10 && violated > count / 10 && unknown < count / 5, "{counts}");
    }
}

/// The same program, the same answer for one worker and two.
#[test]
fn workers_change_nothing() {
    let size = Size { threads: 3, instrs: 5, total: 9, locs: 3, loops: false };
    check_programs(3_000_000, scaled(1_200), size, &[Model::Tso], &|program, model| {
        let program = ask(program);
        let answer = |workers| {
            let limits = Limits { workers, ..LIMITS };
            let answer =
                reach(&program, model, Algorithm::Lazy, &limits, &mut Silent).ok()?.into_answer();
            let run = match answer.evidence {
                Some(Evidence::Run(run)) => Some(run),
                _ => None,
            };
            Some((answer.verdict, answer.violation, run))
        };
        answer(1) != answer(2)
    });
}

/// Reads a program of the corpus.
fn read(path: &Path) -> Program {
    let text = std::fs::read_to_string(path).expect("a readable file");
    let format = Format::of_path(path).expect("a known ending");
    weakspot_lang::parse(format, &text).expect("a shipped program").program
}

/// Every program that is not safe is found out, and no other one.
#[test]
fn corpus_programs() {
    let all = [("programs", "weak"), ("trencher", "txt"), ("memorax", "rmm")];
    for (folder, ending) in all {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(folder);
        for entry in std::fs::read_dir(folder).expect("the corpus is part of the project") {
            let path = entry.expect("a readable folder").path();
            if path.extension().is_none_or(|e| e != ending) {
                continue;
            }
            let expected = std::fs::read_to_string(path.with_extension("expected"));
            let safe = expected.expect("beside it").lines().any(|l| l == "tso holds");
            let mut patience = Patience(if safe { 25 } else { usize::MAX });
            let answer = reach(&read(&path), Model::Tso, Algorithm::Lazy, &LIMITS, &mut patience)
                .unwrap_or_else(|e| panic!("{}: {e:?}", path.display()));
            let right = match answer.verdict {
                Verdict::Holds | Verdict::Unknown(_) => safe,
                Verdict::Violated => !safe,
            };
            assert!(right, "{}: {:?}", path.display(), answer.verdict);
        }
    }
}

/// A program in Trencher's syntax, whose goal is that all threads are at their final points.
fn trencher(text: &str) -> Program {
    weakspot_lang::parse(Format::Trencher, text).expect("a good program").program
}

/// Fig. 12: safe, but there is always one more path to extend by.
#[test]
fn figure_12_never_ends() {
    let program = trencher(
        "
thread t1
initial q0
final qf
transition q0 q0 write - 1 r1 100
transition q0 q0 read r1 101
transition q0 qf check == r1 2
end
thread t2
initial p0
final pf
transition p0 p0 write - 1 r2 101
transition p0 p0 read r2 100
transition p0 pf check == r2 2
end
",
    );
    let time = Duration::from_millis(200);
    let limits = Limits { time: Some(time), ..LIMITS };
    for lazily in [Lazily::Whole, Lazily::Unrolled] {
        for workers in [1, 2] {
            let limits = Limits { workers, ..limits };
            let (answer, queries) =
                reach_lazily(&program, Model::Tso, lazily, &limits, &mut Silent)
                    .expect("nothing is wrong with the program");
            assert_eq!(answer.verdict, Verdict::Unknown(Limit::Time(time)));
            assert!(queries.oracle > 3, "{queries:?}");
        }
    }
}

/// A loop with a known end needs no more unrolling than it has rounds.
#[test]
fn bounded_loops_are_decided_by_unrolling() {
    let program = trencher(
        "
thread t1
initial q0
final qf
transition q0 q1 write 1 100
transition q1 q2 read r1 101
transition q2 q3 local n + n 1
transition q3 q0 check < n 3
transition q3 qf check == n 5
end
thread t2
initial p0
final pf
transition p0 p1 write 1 101
transition p1 p2 read r2 100
transition p2 pf check == r2 0
end
",
    );
    let (answer, _) = reach_lazily(&program, Model::Tso, Lazily::Unrolled, &LIMITS, &mut Silent)
        .expect("nothing is wrong with the program");
    assert_eq!((answer.verdict.clone(), answer.algorithm), (Verdict::Holds, "unroll"));
}

/// p is inside of an atomic block, having read the old x, while q stands behind its store to x.
/// Only a full buffer allows that, although the program is robust.
#[test]
fn points_inside_of_blocks_are_left_to_the_buffers() {
    let point = |edges: &[(Instr, usize)]| Point {
        edges: edges
            .iter()
            .map(|(instr, to)| {
                let (instr, to) = (instr.clone(), PointId::new(*to));
                Edge { instr, to, span: Span::default() }
            })
            .collect(),
    };
    let old = Expr::binary(BinOp::Eq, Expr::Reg(RegId::new(0)), Expr::Const(0));
    let load = Instr::Load { reg: RegId::new(0), addr: Expr::Const(0) };
    let store = Instr::Store { addr: Expr::Const(0), value: Expr::Const(1) };
    let thread = |points| Thread { regs: vec![0], entry: PointId::new(0), points };
    let mut program = Program {
        threads: vec![
            thread(vec![
                point(&[(Instr::Lock, 1)]),
                point(&[(load, 2)]),
                point(&[(Instr::Assume(old), 3)]),
                point(&[(Instr::Unlock, 4)]),
                point(&[]),
            ]),
            thread(vec![
                point(&[(store, 1)]),
                point(&[(Instr::Fence(Fence::Full), 2)]),
                point(&[]),
            ]),
        ],
        locs: vec![Location { addr: 0, init: vec![0], range: None }],
        wides: Vec::new(),
        undeclared: Undeclared::Fault,
        observed: Vec::new(),
        condition: None,
        forbidden: vec![vec![Some(PointId::new(3)), Some(PointId::new(1))]],
    };
    let ask = |program: &Program| {
        let answer = reach(program, Model::Tso, Algorithm::Lazy, &LIMITS, &mut Silent)
            .expect("nothing is wrong with the program");
        (answer.verdict.clone(), answer.algorithm)
    };
    assert_eq!(ask(&program), (Verdict::Violated, "eager"));
    // Behind the fence nothing is in the buffer.
    program.forbidden[0][1] = Some(PointId::new(2));
    assert_eq!(ask(&program), (Verdict::Holds, "lazy"));
}
