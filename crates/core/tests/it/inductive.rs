//! Sets of states as evidence: there is one exactly if the definition says so, and no other one is accepted.

use std::sync::atomic::{AtomicUsize, Ordering};

use weakspot_core::certify::{Over, Shows, StateSet, inductive, reached};
use weakspot_core::testing::{Rng, Size, check_programs, random_program, scaled};
use weakspot_core::{
    BinOp, Condition, Drain, Expr, Model, PointId, Program, Quantifier, RegId, Verdict, certify,
    reference,
};

const WEAK: [Model; 3] = [Model::Tso, Model::Pso(Drain::All), Model::Pso(Drain::Own)];

fn set(program: &Program, model: Model, shows: Shows, over: Over) -> Option<StateSet> {
    reached(program, model, (shows, over), &mut |bytes| bytes < 1 << 20)
}

fn robust_sets(seed: u64, all: usize, size: Size) {
    let count = scaled(all);
    let counts = [const { AtomicUsize::new(0) }; 2];
    check_programs(seed, count, size, &[Model::Sc], &|program, _| {
        let Some(expected) = reference::robust(program, &WEAK, 3_000) else { return false };
        WEAK.iter().zip(expected).any(|(&model, expected)| {
            let empty = StateSet { over: Over::Pending, states: 0, packed: Vec::new() };
            let refused = inductive(program, model, Shows::Robust, &empty);
            if refused == Err(certify::Rejected::WrongKind) {
                // Atomic blocks that may do one thing or another.
                return false;
            }
            let set = set(program, model, Shows::Robust, Over::Pending);
            counts[usize::from(expected)].fetch_add(1, Ordering::Relaxed);
            let is_accepted = |set| inductive(program, model, Shows::Robust, &set) == Ok(());
            expected != set.is_some() || set.is_some_and(|set| !is_accepted(set))
        })
    });
    let [broken, robust] = counts.map(AtomicUsize::into_inner);
    assert!(broken > count / 20 && robust > count, "{broken} broken, {robust} robust");
}

#[test]
fn robust_programs_have_a_set_and_others_have_none() {
    robust_sets(0, 5_000, Size { threads: 3, instrs: 4, total: 8, locs: 3, loops: false });
    robust_sets(50_000, 2_500, Size { threads: 2, instrs: 7, total: 10, locs: 3, loops: false });
    robust_sets(90_000, 2_500, Size { threads: 4, instrs: 3, total: 9, locs: 3, loops: false });
}

/// Asks something of a random program: control points, or what is observed at its end.
fn asking(rng: &mut Rng, mut program: Program) -> Program {
    program.condition = None;
    let point = |rng: &mut Rng, t: &weakspot_core::Thread| PointId::new(rng.below(t.points.len()));
    if rng.one_in(2) {
        let points = program.threads.iter().map(|t| Some(point(rng, t)).filter(|_| rng.one_in(2)));
        program.forbidden = vec![points.collect()];
    }
    if rng.one_in(2) && !program.observed.is_empty() {
        let observed = Expr::Reg(RegId(rng.below(program.observed.len()) as u32));
        let value = Expr::Const(rng.below(3) as i64);
        let quantifier = [Quantifier::Forall, Quantifier::NotExists][rng.below(2)];
        program.condition =
            Some(Condition { quantifier, prop: Expr::binary(BinOp::Eq, observed, value) });
    }
    program
}

/// With loops, too: those fill buffers, which may go on for ever.
#[test]
fn what_holds_has_a_set_and_what_does_not_has_none() {
    let mut counts = [[0; 2]; 2];
    let size = Size { threads: 3, instrs: 4, total: 8, locs: 2, loops: true };
    for seed in 0..scaled(4_000) as u64 {
        let mut rng = Rng::new(seed);
        let program = random_program(&mut rng, size);
        let program = asking(&mut rng, program);
        for model in Model::ALL {
            let all = certify::search_everything(&program, model, &Verdict::Holds, 5_000);
            let is_finite = !matches!(all, Err(certify::Rejected::TooLarge(_)));
            for over in [Over::Machine, Over::Pending] {
                if !is_finite && over == Over::Machine {
                    continue;
                }
                let found = set(&program, model, Shows::Everything, over);
                if let Some(set) = &found {
                    let checked = inductive(&program, model, Shows::Everything, set);
                    assert_eq!(checked, Ok(()), "seed {seed}, {model:?}, {over:?}");
                }
                // The program need not be robust for what it asks to hold.
                let is_right = match over {
                    Over::Machine => found.is_some() == all.is_ok(),
                    Over::Pending => found.is_none() || all.is_ok() || !is_finite,
                };
                assert!(is_right, "seed {seed}, {model:?}, {over:?}: {all:?}");
                counts[usize::from(over == Over::Pending)][usize::from(found.is_some())] += 1;
            }
        }
    }
    let enough = scaled(4_000) / 20;
    assert!(counts.iter().flatten().all(|&n| n > enough), "{counts:?}");
}

/// The members of a set, and a set of members.
fn members(set: &StateSet) -> Vec<Vec<u8>> {
    let (mut all, mut at): (Vec<Vec<u8>>, usize) = (Vec::new(), 0);
    let number = |at: &mut usize| {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = set.packed[*at];
            *at += 1;
            number |= usize::from(byte & 127) << shift;
            shift += 7;
            if byte < 128 {
                return number;
            }
        }
    };
    while at < set.packed.len() {
        let (common, length) = (number(&mut at), number(&mut at));
        let mut member = all.last().map_or(Vec::new(), |before| before[..common].to_vec());
        member.extend(&set.packed[at..at + length]);
        at += length;
        all.push(member);
    }
    all
}

fn packed(over: Over, members: &[Vec<u8>]) -> StateSet {
    let mut packed = Vec::new();
    for member in members {
        packed.push(0);
        let length = member.len();
        if length >= 128 {
            packed.extend([(length & 127 | 128) as u8, (length >> 7) as u8]);
        } else {
            packed.push(length as u8);
        }
        packed.extend(member);
    }
    StateSet { over, states: members.len() as u64, packed }
}

/// Each state is reached from another one, or is initial, so that none can be missing.
#[test]
fn altered_sets_are_rejected() {
    let size = Size { threads: 2, instrs: 4, total: 7, locs: 2, loops: true };
    let mut altered = [0; 5];
    for seed in 0..scaled(600) as u64 {
        let mut rng = Rng::new(seed);
        let program = random_program(&mut rng, size);
        let program = asking(&mut rng, program);
        let asked = [
            (Model::Sc, Shows::Everything, Over::Machine),
            (Model::Tso, Shows::Everything, Over::Machine),
            (Model::Tso, Shows::Everything, Over::Pending),
            (WEAK[rng.below(3)], Shows::Robust, Over::Pending),
        ];
        for (model, shows, over) in asked {
            let Some(set) = set(&program, model, shows, over).filter(|s| s.states < 2_000) else {
                continue;
            };
            let check = |set: &StateSet| inductive(&program, model, shows, set);
            let all = members(&set);
            assert_eq!(check(&packed(over, &all)), Ok(()), "packed in another way");
            let at = rng.below(all.len());
            let mut reject = |kind: usize, bad: StateSet| {
                altered[kind] += 1;
                assert!(check(&bad).is_err(), "seed {seed}, {model:?}, {over:?}, way {kind}");
            };
            let mut missing = all.clone();
            missing.remove(at);
            reject(0, packed(over, &missing));
            let mut other = all.clone();
            let byte = rng.below(other[at].len());
            other[at][byte] ^= 1 << rng.below(8);
            other.sort_unstable();
            other.dedup();
            reject(1, packed(over, &other));
            let cut = set.packed[..rng.below(set.packed.len())].to_vec();
            reject(2, StateSet { packed: cut, ..set.clone() });
            if all.len() > 1 {
                let mut swapped = all.clone();
                swapped.swap(at, (at + 1) % all.len());
                reject(3, packed(over, &swapped));
            }
            reject(4, StateSet { states: set.states + 1, ..set.clone() });
            // Anything at all may stand there, and is an error.
            let mut noise = set.clone();
            for _ in 0..1 + rng.below(4) {
                let at = rng.below(noise.packed.len());
                noise.packed[at] = rng.next_u64() as u8;
            }
            assert!(noise == set || check(&noise).is_err(), "seed {seed}: noise is accepted");
        }
    }
    assert!(altered.iter().all(|&n| n > scaled(600)), "{altered:?}");
}
