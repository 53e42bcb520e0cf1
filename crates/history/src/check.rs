//! Does a history satisfy a model? The causal models by their definitions, coherence and
//! linearizability variable by variable, SC, TSO and PSO in
//! stages: a greedy run, saturation, and a completion of the store order (section 5 of the paper
//! calls this gradual checking).

use std::sync::Arc;

use weakspot_core::certify::Rejected;
use weakspot_core::{
    Certified, Effort, History, HistoryEvidence, HistoryModel, HistoryStep, Limit, Limits, OpKind,
    Progress, Verdict,
};
use weakspot_sat::Meter;

use crate::answer::{Answer, Complete, DecidedBy, Method};
use crate::causal::causal;
use crate::clock::Clocked;
use crate::coherent::coherent;
use crate::gradual::chains::{Chains, coherence};
use crate::gradual::enumerate;
use crate::gradual::found::Found;
use crate::gradual::greedy::{Greedy, Place, greedy};
use crate::gradual::linear::linear;
use crate::gradual::part::{Part, closed, mentioned};
use crate::gradual::sat;
use crate::gradual::saturate::saturate;
use crate::gradual::search::search;
use crate::graph::explain::Ppo;
use crate::graph::extra::Extra;
use crate::linearizable::linearizable;

/// Whether the history satisfies the model.
///
/// ```
/// use weakspot_core::{HistoryModel, INITIAL, Limits, OpKind, History, Silent, Verdict};
/// use weakspot_history::{Complete, Method, check};
///
/// // Two threads each write one variable and then read that the other one is as it was.
/// let mut ops = History::new();
/// for (mine, other) in [(0, 1), (1, 0)] {
///     ops.thread();
///     ops.push(OpKind::Write, mine, INITIAL);
///     ops.push(OpKind::Read, other, INITIAL);
/// }
/// let method = Method { complete: Complete::Auto, saturate: true };
/// let ask = |model| check(&ops, model, method, &Limits::UNLIMITED, &mut Silent);
/// assert_eq!(ask(HistoryModel::Sc)?.verdict, Verdict::Violated);
/// assert_eq!(ask(HistoryModel::Tso)?.verdict, Verdict::Holds);
/// assert!(ask(HistoryModel::Tso)?.certification().is_checked());
/// # Ok::<(), weakspot_core::certify::Rejected>(())
/// ```
///
/// Nobody can make an answer up that claims to be checked:
///
/// ```compile_fail,E0451
/// use weakspot_core::{Certification, Certified, Verdict};
/// use weakspot_history::{Answer, DecidedBy};
///
/// let answer = Answer { verdict: Verdict::Holds, evidence: None, decided_by: DecidedBy::Sat };
/// let forged = Certified { answer, certification: Certification::Checked };
/// ```
///
/// # Errors
/// When the evidence did not pass its check, which is a defect of this crate and no answer.
pub fn check(
    ops: &History,
    model: HistoryModel,
    method: Method,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Certified<Answer>, Rejected> {
    let limits = limits.begin();
    let answer = decide(ops, model, method, &limits, progress);
    Certified::history(ops, model, answer, Effort::within(&limits))
}

/// The answer before its evidence is checked.
pub(crate) fn decide(
    ops: &History,
    model: HistoryModel,
    method: Method,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Answer {
    let mut meter = Meter::new(limits, progress);
    if model == HistoryModel::Coherence {
        return coherent(ops, &mut meter);
    }
    if model.has_real_time() {
        return in_real_time(ops, model, method, &mut meter)
            .unwrap_or_else(|| with_clock(ops, model, method, limits, progress));
    }
    if method.complete == Complete::Auto {
        let (verdict, evidence) = match stronger_run(ops, model, &mut meter) {
            Ok(Some(run)) => (Verdict::Holds, Some(run)),
            Err(limit) => (Verdict::Unknown(limit), None),
            Ok(None) => return by_stages(ops, model, method, &mut meter),
        };
        let evidence = evidence.map(Arc::new);
        return Answer { verdict, evidence, decided_by: DecidedBy::Greedy };
    }
    by_stages(ops, model, method, &mut meter)
}

/// The answer about a model with real time if the operations on each variable by themselves say it.
fn in_real_time(
    ops: &History,
    model: HistoryModel,
    method: Method,
    meter: &mut Meter<'_>,
) -> Option<Answer> {
    if model == HistoryModel::TsoRt && method.complete != Complete::Auto {
        return None;
    }
    let mut answer = linearizable(ops, meter)?;
    if model == HistoryModel::TsoRt {
        match answer.evidence.as_deref() {
            Some(HistoryEvidence::Linear { store_order, steps }) => {
                let steps = with_commits(ops, steps);
                let store_order = store_order.clone();
                answer.evidence = Some(Arc::new(HistoryEvidence::Linear { store_order, steps }));
            }
            Some(_) => return None,
            None => {}
        }
    }
    Some(answer)
}

/// The answer about a model with real time by that about the model without it, on the history with
/// a clock.
fn with_clock(
    ops: &History,
    model: HistoryModel,
    method: Method,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Answer {
    let Some(clocked) = Clocked::new(ops) else {
        let verdict = Verdict::Unknown(Limit::Memory(limits.memory.unwrap_or(u64::MAX)));
        return Answer { verdict, evidence: None, decided_by: DecidedBy::Greedy };
    };
    let model = model.without_time();
    let mut answer = decide(&clocked.ops, model, method, limits, progress);
    answer.evidence = answer.evidence.map(|evidence| Arc::new(clocked.evidence(&evidence, model)));
    answer
}

/// A run without buffers as one in which each write leaves its buffer at once.
pub(crate) fn with_commits(ops: &History, steps: &[HistoryStep]) -> Vec<HistoryStep> {
    let mut run = Vec::with_capacity(steps.len() * 3 / 2);
    for &step in steps {
        run.push(step);
        if !step.is_commit() && ops.kind(step.op()) == OpKind::Write {
            run.push(HistoryStep::commit(step.op()));
        }
    }
    run
}

/// A run of a stronger machine, which is cheaper to find than CM, CCM and wCCM are to evaluate,
/// and shows more.
fn stronger_run(
    ops: &History,
    model: HistoryModel,
    meter: &mut Meter<'_>,
) -> Result<Option<HistoryEvidence>, Limit> {
    let stronger = match model {
        HistoryModel::Cm | HistoryModel::Ccm => HistoryModel::Sc,
        HistoryModel::Wccm => HistoryModel::Tso,
        HistoryModel::Cc
        | HistoryModel::Ccv
        | HistoryModel::Coherence
        | HistoryModel::Pso
        | HistoryModel::Tso
        | HistoryModel::Sc
        | HistoryModel::PsoOwn
        | HistoryModel::Lin
        | HistoryModel::TsoRt => return Ok(None),
    };
    let chains = Chains::new(ops, Ppo::of(stronger));
    let Ok(extra) = coherence(&chains) else { return Ok(None) };
    // No more than the definitions would cost.
    let pains = Pains { work: WORK.min(ops.threads() as u64), patience: PATIENCE };
    Ok(match run(&chains, &extra, pains, &mut DecidedBy::Greedy, meter)? {
        Tried::Found(Found::Run(order)) => Some(linear(ops, stronger, order)),
        _ => None,
    })
}

fn by_stages(ops: &History, model: HistoryModel, method: Method, meter: &mut Meter<'_>) -> Answer {
    if let Some(answer) = causal(ops, model, meter) {
        return answer;
    }
    let mut stage = DecidedBy::Saturation;
    let (verdict, evidence) = match strong(ops, model, method, &mut stage, meter) {
        Ok(Found::Run(order)) => (Verdict::Holds, Some(linear(ops, model, order))),
        Ok(Found::Contradiction(evidence)) => (Verdict::Violated, Some(evidence)),
        Err(limit) => (Verdict::Unknown(limit), None),
    };
    Answer { verdict, evidence: evidence.map(Arc::new), decided_by: stage }
}

/// How often a greedy run may go back before the next stage is tried: so many steps per operation;
/// and if it is the last hope before saturation.
const PATIENCE: u64 = 4;
const MORE_PATIENCE: u64 = 64;

/// How much work a run from a guess may be: so much per operation.
const WORK: u64 = 2000;

/// How hard to look for a run.
#[derive(Clone, Copy)]
struct Pains {
    /// Per operation for a run from a guess.
    work: u64,
    /// Of the last greedy run.
    patience: u64,
}

/// What came of the search for a run without saturation.
enum Tried {
    Found(Found),
    /// The greedy run was stuck at this place, or tired there.
    Stuck(Place),
}

/// Looks for a run: a greedy one, and if that takes too many steps, which is because there are
/// many threads, one from a guess when each operation happened. Guesses are of no use where many
/// threads write few variables, because there the writes to one variable are too near each other.
fn run(
    chains: &Chains<'_>,
    extra: &Extra,
    pains: Pains,
    stage: &mut DecidedBy,
    meter: &mut Meter<'_>,
) -> Result<Tried, Limit> {
    let ops = chains.ops;
    let is_crowded = 8 * ops.vars() < ops.threads();
    *stage = DecidedBy::Greedy;
    let patience = if is_crowded { pains.patience } else { PATIENCE };
    let place = match greedy(chains, extra, patience, meter)? {
        Greedy::Run(order) => return Ok(Tried::Found(Found::Run(order))),
        Greedy::Stuck(place) => return Ok(Tried::Stuck(place)),
        Greedy::Tired(place) => place,
    };
    if let Some(found) = sat::guessed(chains, extra, pains.work * ops.len() as u64, meter)? {
        *stage = DecidedBy::Sat;
        return Ok(Tried::Found(found));
    }
    if patience == pains.patience {
        return Ok(Tried::Stuck(place));
    }
    drop(place);
    Ok(match greedy(chains, extra, pains.patience, meter)? {
        Greedy::Run(order) => Tried::Found(Found::Run(order)),
        Greedy::Stuck(place) | Greedy::Tired(place) => Tried::Stuck(place),
    })
}

fn strong(
    ops: &History,
    model: HistoryModel,
    method: Method,
    stage: &mut DecidedBy,
    meter: &mut Meter<'_>,
) -> Result<Found, Limit> {
    let ppo = Ppo::of(model);
    if method.complete == Complete::Auto {
        let chains = Chains::new(ops, ppo);
        let extra = match coherence(&chains) {
            Ok(extra) => extra,
            Err(evidence) => return Ok(Found::Contradiction(evidence)),
        };
        let pains = Pains { work: WORK, patience: MORE_PATIENCE };
        let place = match run(&chains, &extra, pains, stage, meter)? {
            Tried::Found(Found::Contradiction(evidence)) => {
                let part = Part::new(ops, closed(mentioned(&evidence), |op| ops.from(op)));
                return Ok(Found::Contradiction(match saturate(&part.ops, ppo, true, meter)? {
                    // A cycle says more than a proof by cases.
                    Err(cycle) => {
                        *stage = DecidedBy::Saturation;
                        part.evidence(cycle)
                    }
                    Ok(_) => evidence,
                }));
            }
            Tried::Found(found) => return Ok(found),
            Tried::Stuck(place) => place,
        };
        *stage = DecidedBy::Saturation;
        // The reason is rarely far from where the run was stuck.
        for count in [1 << 10, 1 << 14].into_iter().filter(|count| 4 * count < ops.len()) {
            if !method.saturate {
                break;
            }
            let part = Part::new(ops, closed(place.around(&chains, count), |op| ops.from(op)));
            if let Err(evidence) = saturate(&part.ops, ppo, true, meter)? {
                return Ok(Found::Contradiction(part.evidence(evidence)));
            }
        }
    }
    let orders = match saturate(ops, ppo, method.saturate, meter)? {
        Err(evidence) => return Ok(Found::Contradiction(evidence)),
        Ok(orders) => orders,
    };
    if matches!(method.complete, Complete::Auto | Complete::Search)
        && let Greedy::Run(order) = greedy(&orders.chains, &orders.extra, MORE_PATIENCE, meter)?
    {
        *stage = DecidedBy::Greedy;
        return Ok(Found::Run(order));
    }
    match method.complete {
        Complete::Search => {
            *stage = DecidedBy::Search;
            match search(&orders, meter)? {
                Some(order) => Ok(Found::Run(order)),
                // A search leaves no proof behind.
                None => sat::complete(&orders, meter),
            }
        }
        Complete::Enum => {
            *stage = DecidedBy::Enumeration;
            enumerate::complete(&orders, meter)
        }
        Complete::Sat if !method.saturate => {
            *stage = DecidedBy::Sat;
            sat::plain(&orders, meter)
        }
        Complete::Auto | Complete::Sat => {
            *stage = DecidedBy::Sat;
            sat::complete(&orders, meter)
        }
    }
}
