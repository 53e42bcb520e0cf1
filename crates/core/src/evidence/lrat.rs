//! A checker of LRAT proofs: that clauses contradict each other. Each step adds a clause that
//! follows from earlier ones by unit propagation, which the step's hints spell out (Cruz-Filipe et
//! al., "Efficient certified RAT verification", CADE 2017). Only steps by propagation are known,
//! not those by resolution on a pivot (RAT), which no solver needs to refute clauses without
//! changing them.
//!
//! Cost: linear in the literals of the clauses that the hints name.

use std::collections::HashMap;
use std::fmt;

/// One step of a proof. Clauses have numbers: those given are 1, 2, ...; those added have any
/// numbers that are not in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LratStep {
    /// Adds a clause.
    Add {
        /// Its number.
        id: u64,
        /// Its literals: `v` or `-v`, v > 0.
        clause: Vec<i32>,
        /// Clauses that, in this order, become unit when all literals of the new one are false;
        /// the last one becomes empty.
        hints: Vec<u64>,
    },
    /// Forgets clauses.
    Delete {
        /// Their numbers.
        ids: Vec<u64>,
    },
}

/// What is wrong with a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LratError {
    /// A number that is no literal, in this given clause or step.
    Literal(usize),
    /// This step gives a number that is in use.
    InUse(usize),
    /// A hint of this step, or what it deletes, names no clause.
    NoClause(usize),
    /// A hint of this step is neither unit nor empty.
    NotUnit(usize),
    /// The hints of this step end before a clause is empty.
    NotEmpty(usize),
    /// The empty clause is never added.
    NoContradiction,
    /// This step, or its last hints, come after what was to be shown.
    Needless(usize),
}

impl fmt::Display for LratError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LratError::Literal(at) => write!(f, "clause or step {} has a bad literal", at + 1),
            LratError::InUse(at) => write!(f, "step {} gives a number that is in use", at + 1),
            LratError::NoClause(at) => {
                write!(f, "step {} names a clause that is not there", at + 1)
            }
            LratError::NotUnit(at) => write!(f, "a hint of step {} is not unit", at + 1),
            LratError::NotEmpty(at) => write!(f, "step {} does not follow from its hints", at + 1),
            LratError::Needless(at) => {
                write!(f, "step {} has something after what it is to show", at + 1)
            }
            LratError::NoContradiction => f.write_str("it ends without the empty clause"),
        }
    }
}

impl std::error::Error for LratError {}

/// Checks that the proof derives the empty clause from the given ones.
pub fn lrat(clauses: &[Vec<i32>], proof: &[LratStep]) -> Result<(), LratError> {
    let is_bad = |clause: &[i32]| clause.contains(&0) || clause.contains(&i32::MIN);
    if let Some(bad) = clauses.iter().position(|c| is_bad(c)) {
        return Err(LratError::Literal(bad));
    }
    if clauses.iter().any(Vec::is_empty) {
        return nothing_after(proof, 0, 0);
    }
    let mut known: HashMap<u64, &[i32]> =
        clauses.iter().enumerate().map(|(i, c)| (i as u64 + 1, c.as_slice())).collect();
    // True literals while a step is checked.
    let mut values: HashMap<i32, bool> = HashMap::new();
    for (at, step) in proof.iter().enumerate() {
        match step {
            LratStep::Delete { ids } => {
                for id in ids {
                    known.remove(id).ok_or(LratError::NoClause(at))?;
                }
            }
            LratStep::Add { id, clause, hints } => {
                if is_bad(clause) {
                    return Err(LratError::Literal(at));
                }
                if known.contains_key(id) {
                    return Err(LratError::InUse(at));
                }
                follows(&known, clause, hints, &mut values, at)?;
                if clause.is_empty() {
                    return nothing_after(proof, at + 1, at + 1);
                }
                known.insert(*id, clause);
            }
        }
    }
    Err(LratError::NoContradiction)
}

/// Refuses what stands from a place on, where all is shown.
fn nothing_after<T>(list: &[T], from: usize, at: usize) -> Result<(), LratError> {
    match list.len() > from {
        true => Err(LratError::Needless(at)),
        false => Ok(()),
    }
}

fn follows(
    known: &HashMap<u64, &[i32]>,
    clause: &[i32],
    hints: &[u64],
    values: &mut HashMap<i32, bool>,
    at: usize,
) -> Result<(), LratError> {
    values.clear();
    for &literal in clause {
        // A clause with v and -v is true anyway.
        if values.insert(literal.abs(), literal < 0) == Some(literal > 0) {
            return nothing_after(hints, 0, at);
        }
    }
    for (i, hint) in hints.iter().enumerate() {
        let mut open = None;
        for &literal in *known.get(hint).ok_or(LratError::NoClause(at))? {
            match values.get(&literal.abs()) {
                Some(&value) if value == (literal > 0) => return Err(LratError::NotUnit(at)),
                Some(_) => {}
                None if open.is_none_or(|o| o == literal) => open = Some(literal),
                None => return Err(LratError::NotUnit(at)),
            }
        }
        match open {
            Some(literal) => values.insert(literal.abs(), literal > 0),
            None => return nothing_after(hints, i + 1, at),
        };
    }
    Err(LratError::NotEmpty(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(id: u64, clause: &[i32], hints: &[u64]) -> LratStep {
        LratStep::Add { id, clause: clause.to_vec(), hints: hints.to_vec() }
    }

    /// All four clauses over two variables.
    fn square() -> Vec<Vec<i32>> {
        vec![vec![1, 2], vec![-1, 2], vec![1, -2], vec![-1, -2]]
    }

    fn refutation() -> Vec<LratStep> {
        vec![add(5, &[2], &[1, 2]), add(6, &[], &[5, 3, 4])]
    }

    #[test]
    fn good_proofs() {
        assert_eq!(lrat(&square(), &refutation()), Ok(()));
        assert_eq!(lrat(&[vec![1], vec![]], &[]), Ok(()));
        assert_eq!(lrat(&[vec![1], vec![-1]], &[add(9, &[], &[1, 2])]), Ok(()));
        let mut with_deletion = refutation();
        with_deletion.insert(1, LratStep::Delete { ids: vec![1, 2] });
        assert_eq!(lrat(&square(), &with_deletion), Ok(()));
        // Three pigeons and two holes; pigeon p sits in hole h: 2p + h.
        let mut clauses = vec![vec![1, 2], vec![3, 4], vec![5, 6]];
        for hole in 1..=2 {
            for (p, q) in [(0, 2), (0, 4), (2, 4)] {
                clauses.push(vec![-(p + hole), -(q + hole)]);
            }
        }
        let proof = [add(10, &[-1], &[4, 2, 5, 3, 9]), add(11, &[], &[10, 1, 7, 2, 8, 3, 6])];
        assert_eq!(lrat(&clauses, &proof), Ok(()));
    }

    #[test]
    fn bad_proofs() {
        let check = |steps: &[LratStep], expect| assert_eq!(lrat(&square(), steps), Err(expect));
        check(&[], LratError::NoContradiction);
        check(&refutation()[..1], LratError::NoContradiction);
        check(&[add(5, &[], &[1, 2])], LratError::NotUnit(0));
        check(&[add(5, &[2], &[1])], LratError::NotEmpty(0));
        check(&[add(5, &[2], &[])], LratError::NotEmpty(0));
        check(&[add(5, &[2], &[1, 7])], LratError::NoClause(0));
        check(&[add(4, &[2], &[1, 2])], LratError::InUse(0));
        check(&[add(5, &[0], &[1, 2])], LratError::Literal(0));
        check(&[add(5, &[-2], &[1, 2])], LratError::NotUnit(0));
        check(&[LratStep::Delete { ids: vec![8] }], LratError::NoClause(0));
        let deleted = [LratStep::Delete { ids: vec![3] }, add(6, &[2], &[3, 1])];
        check(&deleted, LratError::NoClause(1));
        // Clauses that can all be true have no proof, whatever the hints.
        let true_ones = [vec![1, 2], vec![-1, 2], vec![1, -2]];
        assert!(lrat(&true_ones, &refutation()).is_err());
    }

    #[test]
    fn mutated_proofs() {
        // Every change of one hint or literal is noticed, or leaves a proof that derives the empty
        // clause by steps that were checked: removing a given clause makes all of them fail.
        let steps = refutation();
        let satisfiable: Vec<Vec<i32>> = square()[1..].to_vec();
        for at in 0..steps.len() {
            for change in -3i64..=3 {
                let mut changed = steps.clone();
                if let LratStep::Add { hints, clause, .. } = &mut changed[at] {
                    let hint = hints[0] as i64;
                    hints[0] = (hint + change).max(0) as u64;
                    clause.extend((change == 2).then_some(1));
                }
                assert!(lrat(&satisfiable, &changed).is_err());
            }
        }
    }

    /// Where a proof goes on although all is shown, and clauses that have a literal twice.
    #[test]
    fn places_and_doubled_literals() {
        let proof = [add(5, &[2], &[1, 2]), add(6, &[], &[5, 3, 4]), add(7, &[1], &[])];
        assert_eq!(lrat(&square(), &proof[..2]), Ok(()));
        assert_eq!(lrat(&square(), &proof), Err(LratError::Needless(2)));
        assert_eq!(lrat(&[vec![]], &[]), Ok(()));
        assert_eq!(lrat(&[vec![]], &proof[..1]), Err(LratError::Needless(0)));
        for clause in [[1, 1], [-1, -1]] {
            let doubled = [add(5, &clause, &[])];
            assert_eq!(lrat(&square(), &doubled), Err(LratError::NotEmpty(0)));
        }
    }
}
