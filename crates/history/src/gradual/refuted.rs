//! The evidence that no choices between writes complete the store order: the clauses that a proof
//! uses are shown as cycles.

use std::collections::HashMap;

use weakspot_core::{HistoryEvidence, Limit, LratStep, Within};
use weakspot_sat::Meter;

use crate::gradual::order::Order;
use crate::graph::explain::Explain;
use weakspot_sat::{Lit, Proof};

/// The evidence, of a proof that ends in the empty clause.
pub(crate) fn refuted(
    order: &mut Order<'_>,
    proof: &Proof,
    meter: &mut Meter<'_>,
) -> Result<HistoryEvidence, Limit> {
    let mut refutation = proof.refutation();
    let mut cycles = Vec::with_capacity(refutation.clauses.len());
    for clause in &refutation.clauses {
        let choices: Vec<Lit> = clause.iter().map(|&lit| !lit).collect();
        cycles.push(order.cycle(&choices));
        meter.work(order.take_work(), || order.bytes() + proof.bytes())?;
    }
    // Only the pairs that are used have a number.
    let mut used: Vec<usize> = refutation.clauses.iter().flatten().map(|lit| lit.var()).collect();
    used.sort_unstable();
    used.dedup();
    let renumbered = |number: i32| {
        let var = number.unsigned_abs() as usize - 1;
        number.signum() * (used.partition_point(|&other| other < var) as i32 + 1)
    };
    for step in &mut refutation.steps {
        if let LratStep::Add { clause, .. } = step {
            clause.iter_mut().for_each(|number| *number = renumbered(*number));
        }
    }
    let number = |lit: Lit| renumbered(lit.number());
    let explain = Explain::strong(order.chains.ops, order.chains.ppo, order.extra());
    let mut known = HashMap::new();
    let mut conflicts = Vec::with_capacity(cycles.len());
    for cycle in cycles {
        conflicts.push(explain.justified(Within::Global, &cycle, &mut known, number));
        meter.work(64, || order.bytes() + proof.bytes())?;
    }
    let pairs = used.iter().map(|&var| order.pairs()[var]).collect();
    Ok(HistoryEvidence::Refuted { pairs, conflicts, proof: refutation.steps })
}
