//! Runs from guesses against the definitions: in the command they are tried on histories of many
//! threads only, which are too large for these.

use weakspot_core::history::satisfies;
use weakspot_core::testing::{OpsSize, check_ops};
use weakspot_core::{Certified, Effort, History, HistoryModel, Limits, Silent, Verdict};
use weakspot_sat::Meter;

use super::guessed;
use crate::answer::{Answer, DecidedBy};
use crate::gradual::chains::{Chains, coherence};
use crate::gradual::found::Found;
use crate::gradual::linear::linear;
use crate::graph::explain::Ppo;

fn is_wrong(ops: &History, model: HistoryModel) -> bool {
    let chains = Chains::new(ops, Ppo::of(model));
    // What shows in one thread, or in program order and reads-from, never comes to guesses.
    let Ok(extra) = coherence(&chains) else { return satisfies(ops, model) };
    let mut silent = Silent;
    let mut meter = Meter::new(&Limits::UNLIMITED, &mut silent);
    let found = guessed(&chains, &extra, u64::MAX, &mut meter).expect("no limits");
    let (verdict, evidence) = match found {
        None => return satisfies(ops, model),
        Some(Found::Run(order)) => (Verdict::Holds, linear(ops, model, order)),
        Some(Found::Contradiction(evidence)) => (Verdict::Violated, evidence),
    };
    let holds = verdict == Verdict::Holds;
    let answer = Answer { verdict, evidence: Some(evidence.into()), decided_by: DecidedBy::Sat };
    let effort = Effort::within(&Limits::UNLIMITED);
    Certified::history(ops, model, answer, effort).is_err() || holds != satisfies(ops, model)
}

#[test]
fn guesses_lead_to_the_right_verdict() {
    let small = OpsSize { threads: 4, vars: 3, ops: 12, fences: 8, updates: 4 };
    let wide = OpsSize { threads: 8, vars: 3, ops: 16, fences: 0, updates: 6 };
    let updates = OpsSize { threads: 4, vars: 2, ops: 16, fences: 12, updates: 2 };
    for (i, model) in
        [HistoryModel::Sc, HistoryModel::Tso, HistoryModel::Pso].into_iter().enumerate()
    {
        for (j, (size, count)) in
            [(small, 24_000), (wide, 8_000), (updates, 8_000)].into_iter().enumerate()
        {
            let seed = 70 + 1_000_000 * (3 * i + j) as u64;
            check_ops(seed, count, size, &|ops| is_wrong(ops, model));
        }
    }
}
