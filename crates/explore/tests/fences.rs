//! Fences against the definition: all cheaper sets of fences, on small random programs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use weakspot_core::testing::{Rng, Size, check_programs};
use weakspot_core::{
    Condition, Drain, Expr, Fence, FenceCosts, FencePlaces, Goal, Limits, Model, PlacedFence,
    PointId, Program, Quantifier, Silent, Verdict, reference,
};
use weakspot_explore::{FenceQuestion, fences};

const LIMITS: Limits =
    Limits { time: Some(Duration::from_secs(60)), memory: None, buffer: 16, workers: 1 };
const WEAK: [Model; 3] = [Model::Tso, Model::Pso(Drain::All), Model::Pso(Drain::Own)];
const COSTS: [FenceCosts; 3] = [
    FenceCosts { full: 1, store_store: Some(1) },
    FenceCosts { full: 5, store_store: Some(2) },
    FenceCosts { full: 1, store_store: None },
];

/// Whether the goal is reached, by definition; `None` if that is too much work.
fn reached(program: &Program, model: Model, goal: Goal) -> Option<bool> {
    match goal {
        Goal::Robust => Some(reference::robust(program, &[model], 3_000)?[0]),
        Goal::Safe => {
            let found = reference::reachable(program, model, 30_000)?;
            let ends = program.condition.as_ref().is_none_or(|c| {
                let mut outcomes = found.outcomes.iter();
                match c.quantifier {
                    Quantifier::Exists => true,
                    Quantifier::NotExists => !outcomes.any(|o| c.prop.holds(o)),
                    Quantifier::Forall => outcomes.all(|o| c.prop.holds(o)),
                }
            });
            Some(ends && !found.forbidden && found.failure.is_none())
        }
    }
}

/// Whether some set of fences that costs less than `most` reaches the goal.
fn cheaper(
    places: &FencePlaces,
    question: &FenceQuestion,
    from: usize,
    set: &mut Vec<PlacedFence>,
    most: u64,
) -> Option<bool> {
    if question.costs.total(set) >= most {
        return Some(false);
    }
    if reached(&places.with(set), question.model, question.goal)? {
        return Some(true);
    }
    for place in from..places.places.len() {
        for kind in question.costs.kinds() {
            set.push(PlacedFence { place, kind });
            let found = cheaper(places, question, place + 1, set, most)?;
            set.pop();
            if found {
                return Some(true);
            }
        }
    }
    Some(false)
}

/// Whether the answer is wrong. Counts answers by the number of fences.
fn is_wrong(program: &Program, question: FenceQuestion, counts: &[AtomicUsize; 4]) -> bool {
    let places = FencePlaces::at_points(program);
    let FenceQuestion { model, goal, costs } = question;
    let Some(plain) = reached(program, model, goal) else { return false };
    let Ok(found) = fences(&places, question, &LIMITS, &mut Silent) else { return true };
    let Some(chosen) = &found.fences else {
        counts[0].fetch_add(1, Ordering::Relaxed);
        let all: Vec<PlacedFence> = (0..places.places.len())
            .map(|place| PlacedFence { place, kind: Fence::Full })
            .collect();
        let hopeless = reached(&places.with(&all), model, goal) != Some(true);
        return !(found.optimal && found.verdict == Verdict::Violated && hopeless);
    };
    counts[1 + chosen.len().min(2)].fetch_add(1, Ordering::Relaxed);
    let verdict = if plain { Verdict::Holds } else { Verdict::Violated };
    found.verdict != verdict
        || !found.optimal
        || reached(&places.with(chosen), model, goal) == Some(false)
        || cheaper(&places, &question, 0, &mut Vec::new(), costs.total(chosen)) == Some(true)
}

fn compare(seed: u64, count: usize, size: Size, goal: Goal, ask: &(dyn Fn(&mut Program) + Sync)) {
    let counts = [const { AtomicUsize::new(0) }; 4];
    check_programs(seed, count, size, &WEAK, &|program, model| {
        let mut program = program.clone();
        ask(&mut program);
        // Each program with other costs, by something that shrinking keeps.
        let costs = COSTS[program.observed.len() % COSTS.len()];
        is_wrong(&program, FenceQuestion { model, goal, costs }, &counts)
    });
    let [hopeless, none, one, more] = counts.map(AtomicUsize::into_inner);
    assert!(
        none > count / 4 && one > count / 20 && more > count / 50,
        "{hopeless} hopeless, {none} without, {one} with one, {more} with more"
    );
}

#[test]
fn robust_programs_have_the_fewest_fences() {
    let size = Size { threads: 3, instrs: 4, total: 8, locs: 3, loops: false };
    compare(0, 4_000, size, Goal::Robust, &|_| {});
}

#[test]
fn longer_programs_of_two_threads_have_the_fewest_fences() {
    let size = Size { threads: 2, instrs: 6, total: 9, locs: 3, loops: false };
    compare(50_000, 2_000, size, Goal::Robust, &|_| {});
}

/// Forbids final states that TSO or PSO may have and SC perhaps not: those in which the registers
/// of all threads are 0.
fn forbid_zeros(program: &mut Program) {
    let zero = |i| {
        let seen = Expr::Reg(weakspot_core::RegId::new(i));
        Expr::binary(weakspot_core::BinOp::Eq, seen, Expr::Const(0))
    };
    let regs = program.threads.iter().map(|t| t.regs.len()).sum::<usize>();
    let regs = regs.min(program.observed.len());
    let all = (0..regs).map(zero).reduce(|a, b| Expr::binary(weakspot_core::BinOp::And, a, b));
    let prop = all.unwrap_or(Expr::Const(0));
    program.condition = Some(Condition { quantifier: Quantifier::NotExists, prop });
}

#[test]
fn safe_final_states_have_the_fewest_fences() {
    let size = Size { threads: 2, instrs: 5, total: 8, locs: 2, loops: false };
    compare(200_000, 3_000, size, Goal::Safe, &forbid_zeros);
}

/// Forbids that two threads stand at their last points but one together, if they got there after
/// they read 0.
fn forbid_points(program: &mut Program) {
    for thread in &mut program.threads {
        // The last value read has to be 0 for the thread to go on to the forbidden point.
        let last = thread.points.len() - 1;
        if let Some(reg) = thread.regs.len().checked_sub(1) {
            let read = Expr::Reg(weakspot_core::RegId::new(reg));
            let zero = Expr::binary(weakspot_core::BinOp::Eq, read, Expr::Const(0));
            let edge = weakspot_core::Edge {
                instr: weakspot_core::Instr::Assume(zero),
                to: PointId::new(last + 1),
                span: weakspot_core::Span::default(),
            };
            thread.points[last].edges.push(edge);
            thread.points.push(weakspot_core::Point::default());
        }
    }
    let row = program.threads.iter().map(|t| Some(PointId::new(t.points.len() - 1))).collect();
    program.forbidden.push(row);
}

#[test]
fn safe_control_points_have_the_fewest_fences() {
    let size = Size { threads: 2, instrs: 5, total: 8, locs: 2, loops: false };
    compare(300_000, 3_000, size, Goal::Safe, &forbid_points);
}

/// The order in which fences are preferred is the order of the places.
#[test]
fn the_answer_does_not_depend_on_chance() {
    let size = Size { threads: 3, instrs: 5, total: 10, locs: 2, loops: false };
    for seed in 0..50 {
        let program = weakspot_core::testing::random_program(&mut Rng::new(seed), size);
        let places = FencePlaces::at_points(&program);
        let question = FenceQuestion { model: WEAK[1], goal: Goal::Robust, costs: COSTS[0] };
        let once = fences(&places, question, &LIMITS, &mut Silent).map(|f| f.fences).ok();
        let again = fences(&places, question, &LIMITS, &mut Silent).map(|f| f.fences).ok();
        assert_eq!(once, again);
    }
}
