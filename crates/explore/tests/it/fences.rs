//! Fences against the definition: all cheaper sets of fences, on small random programs.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use weakspot_core::testing::{Rng, Size, check_programs, scaled};
use weakspot_core::{
    BinOp, Condition, Drain, Edge, Expr, Fence, FenceCosts, FencePlaces, Goal, Instr, Limits,
    Model, PlacedFence, Point, PointId, Program, Quantifier, RegId, Silent, Span, Value, Verdict,
    reference,
};
use weakspot_explore::{FenceQuestion, fences};

const LIMITS: Limits = Limits {
    time: Some(Duration::from_secs(60)),
    memory: None,
    buffer: 16,
    workers: 1,
    ..Limits::UNLIMITED
};
const WEAK: [Model; 3] = [Model::Tso, Model::Pso(Drain::All), Model::Pso(Drain::Own)];
const COSTS: [FenceCosts; 3] = [
    FenceCosts { full: 1, store_store: Some(1) },
    FenceCosts { full: 5, store_store: Some(2) },
    FenceCosts { full: 1, store_store: None },
];

/// Whether the goal is reached, by definition; `None` if that is too much work.
fn reached(program: &Program, model: Model, goal: Goal) -> Option<bool> {
    match goal {
        Goal::Robust => Some(reference::robust(program, &[model], 500)?[0]),
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
        for kind in question.costs.kinds(question.model) {
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

/// Random programs rarely need fences, because they have so many. Here they lose them, and most
/// updates become stores.
fn thin_out(program: &mut Program) {
    for thread in &mut program.threads {
        for (p, point) in thread.points.iter_mut().enumerate() {
            for edge in &mut point.edges {
                match &edge.instr {
                    Instr::Fence(_) => edge.instr = Instr::Nop,
                    Instr::Update { addr, value, .. } if p % 2 == 0 => {
                        edge.instr = Instr::Store { addr: addr.clone(), value: value.clone() };
                    }
                    _ => {}
                }
            }
        }
    }
}

fn compare(
    seed: u64,
    all: usize,
    size: Size,
    goal: Goal,
    ask: &(dyn Fn(&mut Program, Model) + Sync),
) {
    // Few programs need fences.
    let count = scaled(all).max(all / 4);
    let counts = [const { AtomicUsize::new(0) }; 4];
    check_programs(seed, count, size, &WEAK, &|program, model| {
        let mut program = program.clone();
        thin_out(&mut program);
        ask(&mut program, model);
        // Each program with other costs, by something that shrinking keeps.
        let costs = COSTS[program.observed.len() % COSTS.len()];
        is_wrong(&program, FenceQuestion { model, goal, costs }, &counts)
    });
    let [hopeless, none, one, more] = counts.map(AtomicUsize::into_inner);
    assert!(
        none > count / 4 && one > count / 40 && more > count / 100,
        "{hopeless} hopeless, {none} without, {one} with one, {more} with more"
    );
}

#[test]
fn robust_programs_have_the_fewest_fences() {
    let size = Size { threads: 3, instrs: 4, total: 8, locs: 3, loops: false };
    compare(0, 2_500, size, Goal::Robust, &|_, _| {});
}

#[test]
fn longer_programs_of_two_threads_have_the_fewest_fences() {
    let size = Size { threads: 2, instrs: 6, total: 9, locs: 3, loops: false };
    compare(50_000, 1_000, size, Goal::Robust, &|_, _| {});
}

/// The outcomes that `model` has and SC has not, looking only at the registers.
fn weak_only(program: &Program, model: Model) -> Vec<Vec<Value>> {
    let regs = program.threads.iter().map(|t| t.regs.len()).sum::<usize>();
    let seen = |model| -> BTreeSet<Vec<Value>> {
        let found = reference::reachable(program, model, 30_000);
        let outcomes = found.map(|f| f.outcomes).unwrap_or_default();
        outcomes.into_iter().map(|o| o[..regs.min(o.len())].to_vec()).collect()
    };
    seen(model).difference(&seen(Model::Sc)).cloned().collect()
}

/// `values` is what the registers from `first` on hold.
fn equal(first: usize, values: &[Value]) -> Expr {
    let one = |(i, &value): (usize, &Value)| {
        Expr::binary(BinOp::Eq, Expr::Reg(RegId::new(first + i)), Expr::Const(value))
    };
    let all = values.iter().enumerate().map(one);
    all.reduce(|a, b| Expr::binary(BinOp::And, a, b)).unwrap_or(Expr::Const(1))
}

/// Forbids the final states that only the weak model has.
fn forbid_final_states(program: &mut Program, model: Model) {
    let bad = weak_only(program, model);
    let any = bad.iter().map(|outcome| equal(0, outcome));
    let prop = any.reduce(|a, b| Expr::binary(BinOp::Or, a, b)).unwrap_or(Expr::Const(0));
    program.condition = Some(Condition { quantifier: Quantifier::NotExists, prop });
}

#[test]
fn safe_final_states_have_the_fewest_fences() {
    let size = Size { threads: 2, instrs: 5, total: 8, locs: 2, loops: false };
    compare(200_000, 1_500, size, Goal::Safe, &forbid_final_states);
}

/// Forbids that the threads have all come to their ends with what only the weak model gives them,
/// for the first such outcome.
fn forbid_points(program: &mut Program, model: Model) {
    let Some(bad) = weak_only(program, model).into_iter().next() else { return };
    let mut first = 0;
    for thread in &mut program.threads {
        let values = &bad[first..first + thread.regs.len()];
        first += thread.regs.len();
        let last = thread.points.len();
        let edge = Edge {
            instr: Instr::Assume(equal(0, values)),
            to: PointId::new(last),
            span: Span::default(),
        };
        thread.points[last - 1].edges.push(edge);
        thread.points.push(Point::default());
    }
    let row = program.threads.iter().map(|t| Some(PointId::new(t.points.len() - 1))).collect();
    program.forbidden.push(row);
}

#[test]
fn safe_control_points_have_the_fewest_fences() {
    let size = Size { threads: 2, instrs: 5, total: 8, locs: 2, loops: false };
    compare(300_000, 1_500, size, Goal::Safe, &forbid_points);
}

/// A program that SC breaks cannot be mended.
#[test]
fn no_fence_helps_against_sc() {
    let size = Size { threads: 2, instrs: 4, total: 7, locs: 2, loops: false };
    let counts = [const { AtomicUsize::new(0) }; 4];
    check_programs(400_000, scaled(2_000), size, &WEAK, &|program, model| {
        let mut program = program.clone();
        let prop = Expr::Const(1);
        program.condition = Some(Condition { quantifier: Quantifier::NotExists, prop });
        is_wrong(&program, FenceQuestion { model, goal: Goal::Safe, costs: COSTS[0] }, &counts)
    });
    assert!(counts[0].load(Ordering::Relaxed) > scaled(2_000));
}

/// The order in which fences are preferred is the order of the places.
#[test]
fn the_answer_does_not_depend_on_chance() {
    let size = Size { threads: 3, instrs: 5, total: 10, locs: 2, loops: false };
    for seed in 0..50 {
        let program = weakspot_core::testing::random_program(&mut Rng::new(seed), size);
        let places = FencePlaces::at_points(&program);
        let question = FenceQuestion { model: WEAK[1], goal: Goal::Robust, costs: COSTS[0] };
        let once =
            fences(&places, question, &LIMITS, &mut Silent).map(|f| f.into_answer().fences).ok();
        let again =
            fences(&places, question, &LIMITS, &mut Silent).map(|f| f.into_answer().fences).ok();
        assert_eq!(once, again);
    }
}
