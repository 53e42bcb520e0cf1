//! Counters that grow for ever: the shipped programs get the answers that stand beside them, and
//! on random programs nothing is said to hold that a search of the machine's states finds violated.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::time::Duration;

use weakspot_core::certify::Rejected;
use weakspot_core::machine::{Machine, Outcome, State};
use weakspot_core::testing::{Rng, scaled, show};
use weakspot_core::{
    Abstraction, BinOp, Certification, Condition, Drain, Edge, Evidence, Expr, Fence, Instr,
    Limits, LocId, Location, Model, Observable, Observed, Point, PointId, Program, Quantifier,
    RegId, Silent, Span, Thread, ThreadId, Undeclared, Value, Verdict, View, certify, reference,
};
use weakspot_explore::{Algorithm, NoAnswer, reach};
use weakspot_lang::Format;

const MODELS: [Model; 4] = Model::ALL;

const LIMITS: Limits = Limits {
    time: Some(Duration::from_secs(60)),
    memory: Some(1 << 30),
    buffer: 64,
    ..Limits::UNLIMITED
};

fn program(path: &Path) -> Program {
    let text = std::fs::read_to_string(path).expect("a readable file");
    let format = Format::of_path(path).expect("a known ending");
    weakspot_lang::parse(format, &text)
        .unwrap_or_else(|d| panic!("{}: {}", path.display(), d.message))
        .program
}

/// Ticket locks and bakeries, with and without fences. Those that hold have no end in any other
/// search.
#[test]
fn corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/unbounded");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the corpus is part of the project")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "weak" || e == "rmm"))
        // To check three bakers takes half a minute for each model.
        .filter(|path| !path.to_string_lossy().contains("bakery-3"))
        .collect();
    paths.sort();
    assert!(paths.len() >= 10);
    for path in paths {
        let program = program(&path);
        let mut found = String::new();
        for (name, model) in
            [("sc", Model::Sc), ("tso", Model::Tso), ("pso", Model::Pso(Drain::All))]
        {
            let ask = |algorithm| {
                reach(&program, model, algorithm, &LIMITS, &mut Silent)
                    .unwrap_or_else(|e| panic!("{} {name}: {e:?}", path.display()))
            };
            let answer = ask(Algorithm::Counters);
            assert_eq!(ask(Algorithm::Auto).verdict, answer.verdict, "{} {name}", path.display());
            let word = match answer.verdict {
                Verdict::Holds => "holds",
                Verdict::Violated => "violated",
                Verdict::Unknown(_) => "unknown",
            };
            found += &format!("{name} {word}\n");
        }
        let ending = path.extension().and_then(|e| e.to_str()).expect("an ending");
        let beside = path.with_extension(format!("{ending}.expected"));
        expect_test::expect_file![beside].assert_eq(&found);
    }
}

/// What the checker accepts for a program, it accepts for no other.
#[test]
fn forged() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/unbounded");
    let (good, torn) =
        (program(&folder.join("ticket-2.weak")), program(&folder.join("ticket-torn.weak")));
    let answer = reach(&good, Model::Tso, Algorithm::Counters, &LIMITS, &mut Silent);
    let answer = answer.expect("an answer");
    assert_eq!(answer.certification(), Certification::Checked);
    let Some(Evidence::Abstracted { abstraction, .. }) = &answer.evidence else {
        panic!("{:?}", answer.evidence)
    };
    let check = |program: &Program, abstraction: &Abstraction| {
        certify::search_abstraction(program, Model::Tso, abstraction, 100_000)
    };
    check(&good, abstraction).expect("what was just checked");
    for gap in [2, 3, 10] {
        let mut finer = abstraction.clone();
        finer.gap = gap;
        check(&good, &finer).expect("more is told apart");
    }
    let mut forged = abstraction.clone();
    forged.locs[0] = None;
    check(&good, &forged).expect_err("a counter in memory that is none");
    let mut forged = abstraction.clone();
    forged.gap = 0;
    check(&good, &forged).expect_err("nothing is told apart");
    let found = reach(&torn, Model::Sc, Algorithm::Counters, &LIMITS, &mut Silent);
    assert_eq!(found.expect("an answer").verdict, Verdict::Violated);
}

/// A random program with two counters and a flag in memory, whose threads copy, move and compare
/// counters in loops.
fn random(rng: &mut Rng) -> Program {
    let thread = |rng: &mut Rng| {
        let n = 3 + rng.below(5);
        let ends = rng.one_in(3);
        let points = (0..n).map(|p| Point { edges: edges(rng, p, n, ends) });
        let mut points: Vec<Point> = points.collect();
        points.push(Point::default());
        Thread { regs: vec![0; 3], entry: PointId(0), points }
    };
    let threads: Vec<Thread> = (0..2).map(|_| thread(rng)).collect();
    let start = rng.below(3) as Value;
    let loc = |l: usize| Location {
        addr: 1 + l as Value,
        init: if l == 0 && start == 2 { vec![0, 3] } else { vec![start] },
        range: None,
    };
    let point = |rng: &mut Rng, t: usize| PointId::new(rng.below(threads[t].points.len()));
    let forbidden = match rng.below(3) {
        0 => vec![],
        _ => vec![vec![Some(point(rng, 0)), Some(point(rng, 1))]],
    };
    let observed = vec![
        Observed { what: Observable::Loc(LocId(0)), view: View::Full },
        Observed { what: Observable::Loc(LocId(1)), view: View::Full },
        Observed { what: Observable::Reg(ThreadId(0), RegId(0)), view: View::Full },
    ];
    let condition = rng.one_in(2).then(|| Condition {
        quantifier: if rng.one_in(2) { Quantifier::Forall } else { Quantifier::NotExists },
        prop: comparison(rng),
    });
    Program {
        locs: (0..3).map(loc).collect(),
        wides: vec![],
        undeclared: Undeclared::Fault,
        observed,
        condition,
        forbidden,
        threads,
    }
}

const COUNTERS: usize = 2;

/// Registers 0 and 1 are for counters, 2 is for the flag.
fn counter(rng: &mut Rng) -> Expr {
    Expr::Reg(RegId::new(rng.below(COUNTERS)))
}

fn moved(rng: &mut Rng) -> Expr {
    let by = [0, 0, 1, 1, 1, 2, -1][rng.below(7)];
    Expr::binary(BinOp::Add, counter(rng), Expr::Const(by))
}

fn comparison(rng: &mut Rng) -> Expr {
    let op = [BinOp::Eq, BinOp::Ne, BinOp::Lt, BinOp::Le, BinOp::Gt][rng.below(5)];
    let difference = Expr::binary(BinOp::Sub, Expr::Reg(RegId(0)), Expr::Reg(RegId(1)));
    match rng.below(6) {
        0 => Expr::binary(op, counter(rng), Expr::Const(rng.below(3) as Value)),
        1 => Expr::binary(op, difference, Expr::Const(rng.below(3) as Value - 1)),
        _ => Expr::binary(op, moved(rng), moved(rng)),
    }
}

fn edges(rng: &mut Rng, p: usize, n: usize, ends: bool) -> Vec<Edge> {
    let next = if p + 1 == n && !ends { 0 } else { p + 1 };
    let edge = |instr, to| Edge { instr, to: PointId::new(to), span: Span::default() };
    let reg = RegId::new(rng.below(COUNTERS));
    let addr = Expr::Const(1 + rng.below(COUNTERS) as Value);
    let old = Expr::Reg(reg);
    let instr = match rng.below(20) {
        0..4 => Instr::Load { reg, addr },
        4..7 => Instr::Store { addr, value: moved(rng) },
        7 => Instr::Store { addr, value: Expr::Const(rng.below(2) as Value) },
        8 | 9 => {
            let value = Expr::binary(BinOp::Add, old, Expr::Const(1));
            Instr::Update { reg, addr, value }
        }
        10 => {
            let test = Expr::binary(BinOp::Eq, old.clone(), counter(rng));
            Instr::Update { reg, addr, value: Expr::select(test, moved(rng), old) }
        }
        11 => Instr::Assign { reg, value: moved(rng) },
        12 => {
            let (a, b) = (Expr::Reg(RegId(0)), Expr::Reg(RegId(1)));
            let larger = Expr::binary(BinOp::Lt, a.clone(), b.clone());
            Instr::Assign { reg, value: Expr::select(larger, b, a) }
        }
        13 => Instr::Fence(if rng.one_in(3) { Fence::StoreStore } else { Fence::Full }),
        14 => Instr::Store { addr: Expr::Const(3), value: Expr::Const(rng.below(2) as Value) },
        15 => Instr::Load { reg: RegId(2), addr: Expr::Const(3) },
        16 => Instr::Assert(comparison(rng)),
        _ => {
            let test = match rng.one_in(4) {
                true => Expr::Reg(RegId(2)),
                false => comparison(rng),
            };
            let away = rng.below(n);
            return vec![
                edge(Instr::Assume(test.clone()), next),
                edge(Instr::Assume(test.negate()), away),
            ];
        }
    };
    vec![edge(instr, next)]
}

/// Whether one of the first states of the machine is bad.
fn is_bad_soon(program: &Program, model: Model, most: usize) -> bool {
    let machine = Machine { program, model };
    let mut todo: VecDeque<State> = machine.initial_states().into();
    let mut seen: HashSet<State> = todo.iter().cloned().collect();
    while let Some(state) = todo.pop_front() {
        let ends_badly = |c: &Condition| {
            c.prop.holds(&machine.observe(&state)) != (c.quantifier == Quantifier::Forall)
        };
        if reference::is_forbidden(program, &state)
            || machine.is_final(&state) && program.condition.as_ref().is_some_and(ends_badly)
        {
            return true;
        }
        for step in machine.steps(&state) {
            match machine.take(&state, step) {
                Outcome::Blocked => {}
                Outcome::Failed(_) => return true,
                Outcome::Next(next) => {
                    if seen.len() < most && seen.insert(next.clone()) {
                        todo.push_back(next);
                    }
                }
            }
        }
    }
    false
}

/// Holds in the abstraction, holds as far as one can see; violated with a run that was replayed.
#[test]
fn random_programs() {
    let (mut holds, mut violated, mut checked) = (0, 0, 0);
    // Few bytes: what is large is left out.
    let limits = Limits { memory: Some(512 << 10), ..LIMITS };
    for seed in 0..scaled(6_000) as u64 {
        let program = random(&mut Rng::new(seed));
        for model in MODELS {
            let answer = match reach(&program, model, Algorithm::Counters, &limits, &mut Silent) {
                Ok(answer) => answer,
                Err(NoAnswer::NotApplicable(_)) => continue,
                Err(e) => panic!("seed {seed}, {model}: {e:?}\n{}", show(&program)),
            };
            match answer.verdict {
                Verdict::Holds => {
                    holds += 1;
                    let Some(Evidence::Abstracted { abstraction, .. }) = &answer.evidence else {
                        panic!("{:?}", answer.evidence)
                    };
                    match certify::search_abstraction(&program, model, abstraction, 2_000) {
                        Ok(()) => checked += 1,
                        Err(Rejected::TooLarge(_) | Rejected::Coarse) => {}
                        Err(e) => panic!("seed {seed}, {model}: {e}\n{}", show(&program)),
                    }
                    let bad = is_bad_soon(&program, model, 1_500);
                    assert!(!bad, "seed {seed}, {model}\n{}", show(&program));
                }
                Verdict::Violated => violated += 1,
                Verdict::Unknown(_) => {}
            }
        }
    }
    let counts = format!("{holds} hold, {checked} of them checked; {violated} are violated");
    assert!(holds > 0 && violated > holds / 20 && checked > holds / 2, "{counts}");
}
