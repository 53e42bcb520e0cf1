//! The checker of evidence for histories.

use super::cycle::Cycles;
use super::models::satisfies;
use super::replay::{replay, replay_each_variable};
use crate::evidence::rejected::Rejected;
use crate::{History, HistoryEvidence, HistoryModel, HistoryStep, Verdict, lrat};

/// Checks the evidence for a verdict on a history: a run is replayed, a cycle is checked edge by
/// edge. A claim that a causal model holds is only checked for being the right kind of claim (see
/// [`search_history`]).
pub fn history(
    ops: &History,
    model: HistoryModel,
    verdict: &Verdict,
    evidence: &HistoryEvidence,
) -> Result<(), Rejected> {
    if !ops.is_well_formed() {
        return Err(Rejected::Start);
    }
    match (verdict, evidence) {
        (Verdict::Holds, HistoryEvidence::Linear { store_order, steps }) => {
            let commits = steps.iter().any(|step| matches!(step, HistoryStep::Commit(_)));
            let machine = match model {
                HistoryModel::Coherence if !commits => {
                    return replay_each_variable(ops, store_order, steps);
                }
                HistoryModel::Coherence => HistoryModel::PsoOwn,
                HistoryModel::Sc
                | HistoryModel::Tso
                | HistoryModel::Pso
                | HistoryModel::PsoOwn
                | HistoryModel::Lin
                | HistoryModel::TsoRt => model,
                HistoryModel::Wccm if commits => HistoryModel::Tso,
                _ => HistoryModel::Sc,
            };
            replay(ops, machine, store_order, steps)
        }
        (Verdict::Holds, HistoryEvidence::ByDefinition) => match model {
            HistoryModel::Cc
            | HistoryModel::Ccv
            | HistoryModel::Cm
            | HistoryModel::Ccm
            | HistoryModel::Wccm => Ok(()),
            _ => Err(Rejected::WrongKind),
        },
        (Verdict::Violated, HistoryEvidence::Cycle(cycle)) => {
            Cycles::new(ops, model, &[])?.check(cycle, &mut Vec::new())
        }
        (Verdict::Violated, HistoryEvidence::Refuted { pairs, conflicts, proof }) => {
            let cycles = Cycles::new(ops, model, pairs)?;
            let mut clauses = Vec::with_capacity(conflicts.len());
            for conflict in conflicts {
                let mut chosen = Vec::new();
                cycles.check(conflict, &mut chosen)?;
                clauses.push(chosen.into_iter().map(|literal| -literal).collect());
            }
            lrat(&clauses, proof).map_err(Rejected::Lrat)
        }
        _ => Err(Rejected::WrongKind),
    }
}

/// Re-derives a verdict on a history from nothing, by the definition of the model, if there are at
/// most so many operations.
pub fn search_history(
    ops: &History,
    model: HistoryModel,
    verdict: &Verdict,
    max_ops: usize,
) -> Result<(), Rejected> {
    if !ops.is_well_formed() {
        return Err(Rejected::Start);
    }
    if ops.len() > max_ops {
        return Err(Rejected::TooLarge(max_ops));
    }
    match (verdict, satisfies(ops, model)) {
        (Verdict::Holds, true) | (Verdict::Violated, false) => Ok(()),
        _ => Err(Rejected::Contradicted),
    }
}
