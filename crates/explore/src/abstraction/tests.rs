//! The search, and the checked answer, against the first states of the machine, on random programs.

use std::collections::{HashSet, VecDeque};

use weakspot_core::certify::Rejected;
use weakspot_core::machine::{Machine, Outcome, State};
use weakspot_core::testing::{Rng, scaled, show};
use weakspot_core::{
    BinOp, Condition, Edge, Evidence, Expr, Fence, Instr, Limits, LocId, Location, Model,
    Observable, Observed, Point, PointId, Program, Quantifier, RegId, Silent, Span, Thread,
    ThreadId, Undeclared, Value, Verdict, View, certify, reference,
};

use super::search::{Ended, search};
use super::steps::{Machine as Abstracted, Stop};
use super::{counters, decided};
use crate::meter::Meter;

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

/// Few bytes: what is large is left out.
const LIMITS: Limits = Limits { memory: Some(128 << 10), buffer: 64, ..Limits::UNLIMITED };

/// What the search said, and whether the checker accepts it, each by itself.
struct Said {
    gap: Value,
    ended: Ended,
    accepted: bool,
}

/// Still fewer, for what is asked often.
const FEWER: Limits = Limits { memory: Some(32 << 10), ..LIMITS };

/// What both say for gaps of 1 and 2.
fn said(program: &Program, model: Model) -> Vec<Said> {
    let Some(mut classes) = counters(program) else { return Vec::new() };
    let mut all = Vec::new();
    while all.len() < 2 {
        let gap = 1 << all.len();
        let machine = Abstracted::new(program, model, &classes, gap, FEWER.buffer);
        match search(&machine, &mut Meter::new(FEWER.begin(), &mut Silent)) {
            Ended::Stopped(Stop::Clash(clash)) => classes.mend(clash),
            Ended::Stopped(Stop::Grows(slot)) => classes.wake(slot),
            ended => {
                let abstraction = classes.abstraction(program, gap);
                let checked = certify::search_abstraction(program, model, &abstraction, 300);
                all.push(Said { gap, ended, accepted: checked.is_ok() });
            }
        }
        classes.settle(program);
    }
    all
}

/// Neither the search nor the check claims anything that is not so, also without the other.
#[test]
fn each_alone() {
    let (mut complete, mut accepted, mut found) = (0, 0, 0);
    // The last one was once called safe by the search alone.
    for seed in (0..scaled(1_000) as u64).chain([346]) {
        let program = random(&mut Rng::new(seed));
        for model in Model::ALL {
            let all = said(&program, model);
            found += all.iter().filter(|s| matches!(s.ended, Ended::Found(..))).count();
            let claimed = |s: &&Said| s.accepted || matches!(s.ended, Ended::Complete);
            let Some(claim) = all.iter().find(claimed) else { continue };
            let (gap, by_check) = (claim.gap, claim.accepted);
            let is_bad = is_bad_soon(&program, model, 1_500);
            let show = show(&program);
            assert!(!is_bad, "seed {seed}, {model}, gap {gap}, checked: {by_check}\n{show}");
            complete += all.iter().filter(|s| matches!(s.ended, Ended::Complete)).count();
            accepted += all.iter().filter(|s| s.accepted).count();
        }
    }
    let counts = format!("{complete} searches end, {accepted} checks do, {found} find something");
    assert!(complete > 0 && accepted > complete / 2 && found > complete / 20, "{counts}");
}

/// Holds in the abstraction, holds as far as one can see; violated with a run that was replayed.
#[test]
fn checked_answers() {
    let (mut holds, mut violated, mut checked) = (0, 0, 0);
    for seed in 0..scaled(1_500) as u64 {
        let program = random(&mut Rng::new(seed));
        for model in Model::ALL {
            let answer = match decided(&program, model, &LIMITS, &mut Silent) {
                Ok(Some(answer)) => answer,
                Ok(None) => continue,
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
