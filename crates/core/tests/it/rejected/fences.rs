//! Proofs that no cheaper fences reach a goal.

use weakspot_core::certify::Rejected;
use weakspot_core::machine::{Schedule, Step};
use weakspot_core::{
    Clause, Drain, Fence, FenceCosts, FencePlaces, FencesClaimed, Goal, Instr, Limit, Location,
    Model, PlacedFence, PointId, Program, ThreadId, Value, Verdict, fence_proof,
};

use super::programs::{X, Y, load, run, sb, store, straight};
use super::{Case, case};

pub(super) const COSTS: FenceCosts = FenceCosts { full: 1, store_store: None };

pub(super) fn full(places: &[usize]) -> Vec<PlacedFence> {
    places.iter().map(|&place| PlacedFence { place, kind: Fence::Full }).collect()
}

/// Each thread has a place before its store and one, 1 and 3, before its load.
pub(super) fn clause(text: &str, hit_by: &[usize]) -> Clause {
    Clause { run: run(text), hit_by: full(hit_by) }
}

/// Only the store of thread 0 is late, or only that of thread 1, or both.
pub(super) const FIRST: &str = "0 0 0 0 1 1 1y 1 1 0x";
const SECOND: &str = "1 1 1 1 0 0 0x 0 0 1y";
const BOTH: &str = "0 0 0 0 1 1 1 1 0x 1y";
/// Nothing is late.
const NONE: &str = "0 0 0x 0 0 1 1 1y 1 1";

fn check(
    goal: Goal,
    program: &Program,
    chosen: &[usize],
    clauses: &[Clause],
) -> Result<(), Rejected> {
    let places = FencePlaces::at_points(program);
    fence_proof::check(&places, Model::Tso, goal, &COSTS, &full(chosen), clauses)
}

/// So many runs, each of two threads of its own, with one of two fences for each.
fn one_of_two(runs: usize) -> Result<(), Rejected> {
    let place = |i: usize| (1 + 2 * i as Value, 2 + 2 * i as Value);
    let threads: Vec<Vec<Instr>> = (0..runs)
        .flat_map(|i| {
            let (x, y) = place(i);
            [vec![store(x), Instr::Nop, load(y)], vec![store(y), load(x)]]
        })
        .collect();
    let mut program = straight(&threads.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let loc = |addr| Location { addr, init: vec![0], range: None };
    program.locs = (1..=2 * runs as Value).map(loc).collect();
    let clause = |i: usize| {
        let ((x, y), late, other) = (place(i), ThreadId::new(2 * i), ThreadId::new(2 * i + 1));
        let take = |thread| Step::Execute { thread, edge: 0, choice: 0 };
        let mut steps = vec![take(late); 6];
        steps.extend([take(other), take(other), Step::Commit { thread: other, addr: y }]);
        steps.extend([take(other), take(other), Step::Commit { thread: late, addr: x }]);
        let run = Schedule { init: vec![0; 2 * runs], steps };
        Clause { run, hit_by: full(&[5 * i + 1, 5 * i + 2]) }
    };
    let clauses: Vec<Clause> = (0..runs).map(clause).collect();
    let chosen: Vec<usize> = (0..runs).map(|i| 5 * i + 1).collect();
    check(Goal::Robust, &program, &chosen, &clauses)
}

pub(super) fn cases() -> Vec<Case> {
    let robust = |chosen: &[usize], clauses: &[Clause]| check(Goal::Robust, &sb(), chosen, clauses);
    let (first, second) = (clause(FIRST, &[1]), clause(SECOND, &[3]));
    let good = || robust(&[1, 3], &[first.clone(), second.clone()]);
    // Both threads end, which nothing prevents. The last point of a thread keeps its number.
    let mut ending = sb();
    ending.forbidden = vec![vec![Some(PointId(2)), Some(PointId(2))]];
    let safe = |chosen: &[usize], hit_by: &[&[usize]]| {
        let clauses: Vec<Clause> = hit_by.iter().map(|hit_by| clause(NONE, hit_by)).collect();
        check(Goal::Safe, &ending, chosen, &clauses)
    };
    // Under PSO the stores of message passing may change places, and two kinds of fence forbid it.
    let passing = straight(&[&[store(X), store(Y)], &[load(Y), load(X)]]);
    let pso = |hit_by: &[Fence]| {
        let hit_by = hit_by.iter().map(|&kind| PlacedFence { place: 1, kind }).collect();
        let clause = Clause { run: run("0 0 0 0 0y 1 1 1 1 0x"), hit_by };
        let costs = FenceCosts { full: 1, store_store: Some(1) };
        let places = FencePlaces::at_points(&passing);
        let model = Model::Pso(Drain::All);
        fence_proof::check(&places, model, Goal::Robust, &costs, &full(&[1]), &[clause])
    };
    let claimed = |chosen: &[usize], clauses: &[Clause]| {
        let claimed = FencesClaimed {
            verdict: &Verdict::Violated,
            fences: Some(&full(chosen)),
            optimal: false,
            clauses,
        };
        let places = FencePlaces::at_points(&sb());
        fence_proof::check_claim(&places, (Model::Tso, Goal::Robust), &COSTS, claimed)
    };
    let twice = "fence_proof check_claim_while: a fence or a run is there twice";
    let two = [first.clone(), second.clone()];
    let stopped = |after: usize| {
        let (clauses, fences) = ([clause(FIRST, &[1])], full(&[1]));
        let claimed = FencesClaimed {
            verdict: &Verdict::Violated,
            fences: Some(&fences),
            optimal: false,
            clauses: &clauses,
        };
        let places = FencePlaces::at_points(&sb());
        let mut left = after;
        let mut go_on = || {
            left = left.saturating_sub(1);
            left > 0
        };
        let asked = (Model::Tso, Goal::Robust);
        fence_proof::check_claim_while(&places, asked, &COSTS, claimed, &mut go_on)
    };
    let claim = |verdict: Verdict, place: usize, kind| {
        let places = FencePlaces::at_points(&sb());
        let fences = [full(&[1]), vec![PlacedFence { place, kind }]].concat();
        let clauses = [first.clone()];
        let claimed = FencesClaimed {
            verdict: &verdict,
            fences: Some(&fences),
            optimal: false,
            clauses: &clauses,
        };
        fence_proof::check_claim(&places, (Model::Tso, Goal::Robust), &COSTS, claimed)
    };
    let good_claim = || claim(Verdict::Violated, 3, Fence::Full);
    let no_place =
        "fence_proof check_claim_while: a fence is in no place, or of a kind that there is not";
    vec![
        case("fence_proof check_clauses: TooLarge", stopped(9), stopped(0)),
        case(
            "fence_proof check_claim_while: WrongKind",
            good_claim(),
            claim(Verdict::Unknown(Limit::Interrupted), 3, Fence::Full),
        ),
        case(no_place, good_claim(), claim(Verdict::Violated, 4, Fence::Full)),
        case(no_place, good_claim(), claim(Verdict::Violated, 3, Fence::StoreStore)),
        case(twice, claimed(&[1, 3], &two), claimed(&[1, 3, 1], &two)),
        case(
            twice,
            claimed(&[1, 3], &two),
            claimed(&[1, 3], &[first.clone(), second.clone(), first.clone()]),
        ),
        case(
            twice,
            claimed(&[1, 3], &two),
            claimed(&[1, 3], &[clause(FIRST, &[1, 1]), second.clone()]),
        ),
        case(
            "fence_proof check_clauses: a clause has a fence that there is no place for",
            good(),
            robust(&[1, 3], &[clause(FIRST, &[1, 4]), second.clone()]),
        ),
        // There is a place before the store, but a fence there does nothing.
        case(
            "fence_proof check_clauses: a clause has a fence that does not forbid its run",
            good(),
            robust(&[1, 3], &[clause(FIRST, &[1, 0]), second.clone()]),
        ),
        // Also where nothing is said of the cheapest ones.
        case(
            "fence_proof check_clauses: a clause has a fence that does not forbid its run",
            claimed(&[1, 3], &two),
            claimed(&[1, 3], &[clause(FIRST, &[1, 3]), second.clone()]),
        ),
        case(
            "fence_proof check_clauses: a clause lacks a fence that forbids its run",
            pso(&[Fence::Full, Fence::StoreStore]),
            pso(&[Fence::Full]),
        ),
        case(
            "fence_proof check_clauses: a clause lacks a fence that forbids its run",
            robust(&[1, 3], &[clause(BOTH, &[1, 3]), first.clone(), second.clone()]),
            robust(&[1, 3], &[clause(BOTH, &[1]), first.clone(), second.clone()]),
        ),
        case(
            "fence_proof check_bound: no fence forbids one of the runs",
            safe(&[], &[&[]]),
            safe(&[1], &[&[]]),
        ),
        case(
            "fence_proof check_bound: one of the runs is still possible",
            good(),
            robust(&[1], &[first.clone(), second.clone()]),
        ),
        case(
            "fence_proof check_bound: a cheaper set forbids all of the runs",
            good(),
            robust(&[1, 3], std::slice::from_ref(&first)),
        ),
        case(
            "fence_proof check_bound: a cheaper set forbids all of the runs",
            good(),
            robust(&[1, 3, 2], &[first.clone(), second.clone()]),
        ),
        case(
            "fence_proof cheaper: TooLarge",
            one_of_two(10),
            // 2^18 sets.
            one_of_two(18),
        ),
        // A clause is a run that misses the goal.
        case(
            "certify robust: AllowedBySc",
            good(),
            robust(&[1, 3], &[first, second, clause(NONE, &[1, 3])]),
        ),
    ]
}

#[test]
fn costs() {
    let costs = FenceCosts { full: 5, store_store: Some(2) };
    let fence = |kind| PlacedFence { place: 0, kind };
    assert_eq!([Fence::Full, Fence::StoreStore].map(|kind| costs.of(kind)), [5, 2]);
    assert_eq!(COSTS.of(Fence::StoreStore), u64::MAX);
    assert_eq!(costs.total(&[]), 0);
    assert_eq!(costs.total(&[Fence::Full, Fence::StoreStore, Fence::Full].map(fence)), 12);
    assert_eq!(COSTS.total(&[Fence::Full, Fence::StoreStore].map(fence)), u64::MAX);
}
