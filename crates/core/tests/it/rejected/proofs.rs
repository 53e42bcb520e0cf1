//! LRAT proofs.

use weakspot_core::certify::Rejected;
use weakspot_core::{LratStep, lrat};

use super::{Case, case};

pub(super) fn add(id: u64, clause: &[i32], hints: &[u64]) -> LratStep {
    LratStep::Add { id, clause: clause.to_vec(), hints: hints.to_vec() }
}

fn check(clauses: &[&[i32]], proof: &[LratStep]) -> Result<(), Rejected> {
    let clauses: Vec<Vec<i32>> = clauses.iter().map(|c| c.to_vec()).collect();
    lrat(&clauses, proof).map_err(Rejected::Lrat)
}

pub(super) fn cases() -> Vec<Case> {
    // All four clauses over two variables.
    let square: [&[i32]; 4] = [&[1, 2], &[-1, 2], &[1, -2], &[-1, -2]];
    let proof = || vec![add(5, &[2], &[1, 2]), add(6, &[], &[5, 3, 4])];
    let delete = |ids: &[u64]| LratStep::Delete { ids: ids.to_vec() };
    let with = |step: LratStep| [vec![step], proof()].concat();
    let good = || check(&square, &proof());
    let bad = |proof: &[LratStep]| check(&square, proof);
    let in_place = |place, change: &dyn Fn(&mut Vec<LratStep>)| {
        let mut changed = proof();
        change(&mut changed);
        case(place, good(), bad(&changed))
    };
    vec![
        case(
            "lrat lrat: Literal",
            good(),
            check(&[&[1, 2], &[-1, 2], &[1, -2, 0], &[-1, -2]], &proof()),
        ),
        case(
            "lrat lrat: Literal",
            good(),
            check(&[&[1, 2], &[-1, 2], &[1, i32::MIN], &[-1, -2]], &proof()),
        ),
        // An empty clause that was given needs no proof, unless another one is none.
        case("lrat lrat: Literal", check(&[&[1], &[]], &[]), check(&[&[0], &[]], &[])),
        in_place("lrat lrat: Literal", &|p| p[0] = add(5, &[2, 0], &[1, 2])),
        in_place("lrat lrat: Literal", &|p| p[0] = add(5, &[2, i32::MIN], &[1, 2])),
        case("lrat lrat: NoClause", bad(&with(add(9, &[2], &[1, 2]))), bad(&with(delete(&[9])))),
        // Deleted once is deleted.
        case("lrat lrat: NoClause", good(), bad(&[delete(&[1, 1])])),
        in_place("lrat lrat: InUse", &|p| p[0] = add(4, &[2], &[1, 2])),
        // The number of a step is in use from then on.
        in_place("lrat lrat: InUse", &|p| p.insert(1, add(5, &[2], &[1, 2]))),
        in_place("lrat lrat: NoContradiction", &|p| {
            p.pop();
        }),
        case("lrat lrat: NoContradiction", good(), bad(&[])),
        in_place("lrat follows: NoClause", &|p| p[1] = add(6, &[], &[5, 7, 4])),
        // A clause does not follow from itself.
        in_place("lrat follows: NoClause", &|p| p[0] = add(5, &[2], &[5])),
        // What was deleted is gone.
        case("lrat follows: NoClause", good(), bad(&with(delete(&[3])))),
        // Satisfied, though all of its other literals are false.
        in_place("lrat follows: NotUnit", &|p| p[1] = add(6, &[], &[5, 1, 4])),
        case("lrat follows: NotUnit", good(), bad(&[add(5, &[-2], &[1, 3])])),
        // Two literals are open.
        in_place("lrat follows: NotUnit", &|p| p[1] = add(6, &[], &[1, 5, 4])),
        case(
            "lrat follows: NotUnit",
            check(&[&[1, 1], &[-1]], &[add(3, &[], &[1, 2])]),
            check(&[&[1, 2], &[-1]], &[add(3, &[], &[1, 2])]),
        ),
        in_place("lrat nothing_after: Needless", &|p| p.push(delete(&[1]))),
        in_place("lrat nothing_after: Needless", &|p| p[1] = add(6, &[], &[5, 3, 4, 1])),
        case(
            "lrat nothing_after: Needless",
            check(&[&[1], &[]], &[]),
            check(&[&[1], &[]], &[delete(&[1])]),
        ),
        case(
            "lrat nothing_after: Needless",
            bad(&with(add(9, &[1, -1], &[]))),
            bad(&with(add(9, &[1, -1], &[1]))),
        ),
        in_place("lrat follows: NotEmpty", &|p| p[0] = add(5, &[2], &[1])),
        in_place("lrat follows: NotEmpty", &|p| p[0] = add(5, &[2], &[])),
        in_place("lrat follows: NotEmpty", &|p| p[1] = add(6, &[], &[5, 3])),
    ]
}

/// What is true anyway may be added, and helps nobody.
#[test]
fn tautologies() {
    let clauses: [&[i32]; 2] = [&[1, 2], &[-1, 2]];
    let tautology = add(3, &[1, 2, -1], &[]);
    assert!(check(&clauses, std::slice::from_ref(&tautology)).is_err());
    assert!(check(&clauses, &[tautology, add(4, &[], &[1, 2, 3])]).is_err());
    // Said twice is not said and denied.
    assert!(check(&clauses, &[add(3, &[1, 1], &[])]).is_err());
    assert!(check(&clauses, &[add(3, &[-1, -1], &[])]).is_err());
    // A deleted number may be given again.
    let square: [&[i32]; 4] = [&[1, 2], &[-1, 2], &[1, -2], &[-1, -2]];
    let again = [add(5, &[2], &[1, 2]), LratStep::Delete { ids: vec![1] }, add(1, &[], &[5, 3, 4])];
    assert_eq!(check(&square, &again), Ok(()));
}
