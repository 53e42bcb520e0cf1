//! The checker of evidence for histories.

use std::collections::BTreeSet;

use super::cycle::Cycles;
use super::models::satisfies;
use super::replay::{replay, replay_each_variable};
use crate::evidence::rejected::Rejected;
use crate::{
    History, HistoryEvidence, HistoryModel, HistoryWay, INITIAL, Verdict, initial_write,
    initial_write_var, lrat,
};

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
            let commits = steps.iter().any(|step| step.is_commit());
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
                // A run of SC satisfies them, too.
                HistoryModel::Cc
                | HistoryModel::Ccv
                | HistoryModel::Cm
                | HistoryModel::Ccm
                | HistoryModel::Wccm => HistoryModel::Sc,
            };
            replay(ops, machine, store_order, steps)
        }
        (Verdict::Holds, HistoryEvidence::ByDefinition) if model.is_causal() => Ok(()),
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

/// Whether ways to choose what the reads in `open` of a history read are enough for a verdict: one that satisfies the
/// model, or all that there are, which do not. An initial value is that of the read's variable: were another one taken
/// for it, the same choice could stand there twice, and one that is missing would not be missed.
///
/// # Errors
/// When they are not.
pub fn history_ways(
    ops: &History,
    open: &[(u32, Vec<u32>)],
    verdict: &Verdict,
    ways: &[HistoryWay],
) -> Result<(), Rejected> {
    let mut seen = BTreeSet::new();
    for HistoryWay { reads, .. } in ways {
        if reads.len() != open.len() {
            return Err(Rejected::Ways("other reads are of values that were written again"));
        }
        for (&(read, from), (open, writes)) in reads.iter().zip(open) {
            let from = match initial_write_var(from) {
                Some(_) if read == *open && from == initial_write(ops.var(read)) => Some(INITIAL),
                Some(_) => None,
                None => Some(from),
            };
            if read != *open || from.is_none_or(|from| !writes.contains(&from)) {
                return Err(Rejected::Ways("a read cannot have read what is said"));
            }
        }
        seen.insert(reads);
    }
    let all = open.iter().map(|(_, writes)| writes.len()).product();
    let needed = if *verdict == Verdict::Holds { 1 } else { all };
    match seen.len() == needed && ways.len() == needed {
        true => Ok(()),
        false => Err(Rejected::Ways("not all choices of what reads read are there")),
    }
}
