//! The solver alone: what it says about random clauses and pigeons, with models and proofs checked.

use weakspot_core::testing::Rng;
use weakspot_core::{Limit, Limits, Silent, lrat};
use weakspot_sat::{Lit, Meter, NoTheory, Solver};

const NO_LIMITS: Limits =
    Limits { time: None, memory: None, buffer: 0, workers: 1, ..Limits::UNLIMITED };

/// Whether the clauses can all be true, with that checked.
fn solve(vars: usize, clauses: &[Vec<Lit>]) -> bool {
    let mut solver = Solver::new(true);
    solver.grow(vars);
    clauses.iter().for_each(|clause| solver.add(clause));
    let found = solver.solve(&mut NoTheory(0), &mut Meter::new(&NO_LIMITS, &mut Silent));
    match found {
        Ok(true) => {
            let is_true = |lit: &Lit| solver.value(*lit) == Some(true);
            assert!(clauses.iter().all(|clause| clause.iter().any(is_true)));
            true
        }
        Ok(false) => {
            let refutation = solver.proof().refutation();
            let given: Vec<Vec<i32>> = refutation
                .clauses
                .iter()
                .map(|clause| clause.iter().map(|lit| lit.number()).collect())
                .collect();
            let sorted = |clause: &Vec<Lit>| {
                let mut clause = clause.clone();
                clause.sort_unstable();
                clause
            };
            let known: Vec<Vec<Lit>> = clauses.iter().map(sorted).collect();
            assert!(refutation.clauses.iter().all(|clause| known.contains(&sorted(clause))));
            assert_eq!(lrat(&given, &refutation.steps), Ok(()));
            false
        }
        Err(limit) => panic!("there is no limit, but {limit:?}"),
    }
}

fn random_clauses(rng: &mut Rng, vars: usize, count: usize, length: usize) -> Vec<Vec<Lit>> {
    let mut clauses = Vec::new();
    for _ in 0..count {
        let mut clause: Vec<Lit> = Vec::new();
        while clause.len() < length.min(vars) {
            let lit = Lit::new(rng.below(vars) as u32, rng.one_in(2));
            if clause.iter().all(|other| other.var() != lit.var()) {
                clause.push(lit);
            }
        }
        clauses.push(clause);
    }
    clauses
}

/// More pigeons than holes.
fn pigeons(holes: u32) -> (usize, Vec<Vec<Lit>>) {
    let sits = |pigeon: u32, hole: u32| Lit::new(pigeon * holes + hole, true);
    let mut clauses = Vec::new();
    for pigeon in 0..=holes {
        clauses.push((0..holes).map(|hole| sits(pigeon, hole)).collect());
        for other in 0..pigeon {
            let both = |hole| vec![!sits(pigeon, hole), !sits(other, hole)];
            clauses.extend((0..holes).map(both));
        }
    }
    ((holes * (holes + 1)) as usize, clauses)
}

#[test]
fn random_3_sat_at_the_threshold() {
    let mut rng = Rng::new(1);
    let mut count = [0, 0];
    for (vars, rounds) in [(5, 300), (20, 300), (60, 150), (120, 30), (180, 6)] {
        for _ in 0..rounds {
            let clauses = random_clauses(&mut rng, vars, vars * 426 / 100, 3);
            count[usize::from(solve(vars, &clauses))] += 1;
        }
    }
    assert!(count[0] > 150 && count[1] > 150, "{count:?}");
}

#[test]
fn small_clauses() {
    // With clauses of all lengths, against all values.
    let mut rng = Rng::new(2);
    for _ in 0..3000 {
        let vars = 1 + rng.below(6);
        let mut clauses = Vec::new();
        for _ in 0..rng.below(16) {
            let length = 1 + rng.below(3);
            clauses.extend(random_clauses(&mut rng, vars, 1, length));
        }
        if rng.one_in(50) {
            clauses.push(Vec::new());
        }
        let holds = |values: u32, lit: &Lit| (values >> lit.var() & 1 == 1) == lit.is_positive();
        let expect = (0..1 << vars)
            .any(|values| clauses.iter().all(|c| c.iter().any(|lit| holds(values, lit))));
        assert_eq!(solve(vars, &clauses), expect);
    }
}

#[test]
fn pigeonhole() {
    for holes in 1..=7 {
        let (vars, clauses) = pigeons(holes);
        assert!(!solve(vars, &clauses));
        assert!(solve(vars, &clauses[1..]));
    }
}

#[test]
fn limits() {
    let (vars, clauses) = pigeons(11);
    let mut solver = Solver::new(true);
    solver.grow(vars);
    clauses.iter().for_each(|clause| solver.add(clause));
    let limits = Limits { memory: Some(3_000_000), ..NO_LIMITS };
    let found = solver.solve(&mut NoTheory(0), &mut Meter::new(&limits, &mut Silent));
    assert_eq!(found, Err(Limit::Memory(3_000_000)));
}
