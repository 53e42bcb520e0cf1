//! Histories of transactions: do they satisfy read committed, read atomic, transactional causal
//! consistency, serializability? `docs/reference/database-transactions.md` says what these mean and why this
//! is right; the definitions are in `core/src/transactional`.
//!
//! `weak` has the first three, as orders that every commit order has; `serial` adds what
//! serializability asks, and searches. `graph` finds commit orders and cycles, `explain` makes
//! evidence of cycles.

mod explain;
mod graph;
mod serial;
mod weak;
mod writers;

use std::sync::Arc;
use std::time::Duration;

use weakspot_core::certify::Rejected;
use weakspot_core::transactional::{misread, version_orders};
use weakspot_core::{
    Certified, Claim, Effort, Limit, Limits, Progress, Snapshot, TxnEvidence, TxnHistory, TxnModel,
    Verdict,
};

use graph::Graph;

/// The answer to the question whether a history of transactions satisfies a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxnAnswer {
    /// Whether it does.
    pub verdict: Verdict,
    /// Why; `None` when the verdict is unknown.
    pub evidence: Option<Arc<TxnEvidence>>,
    /// The stage that decided, as it is written in JSON.
    pub decided_by: &'static str,
}

impl Claim for TxnAnswer {
    type Evidence = TxnEvidence;

    fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    fn evidence(&self) -> Option<&TxnEvidence> {
        self.evidence.as_deref()
    }
}

/// What a history came to under a model.
#[derive(Clone, Debug)]
pub struct TxnClassified {
    /// The model.
    pub model: TxnModel,
    /// The answer.
    pub answer: Certified<TxnAnswer>,
    /// The weaker model that is violated, if its evidence is this one's as well.
    pub implied_by: Option<TxnModel>,
    /// How long it took.
    pub time: Duration,
}

/// Asks about several models. What violates one violates those that imply it.
///
/// # Errors
/// When the checker of evidence rejects an answer, which is a defect.
pub fn classify_transactions(
    history: &TxnHistory,
    models: &[TxnModel],
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Vec<TxnClassified>, (TxnModel, Rejected)> {
    let mut order: Vec<TxnModel> = models.to_vec();
    order.sort_unstable();
    order.dedup();
    let mut found: Vec<TxnClassified> = Vec::new();
    for model in order {
        let limits = limits.begin();
        let start = limits.elapsed();
        let violated = found.iter().rev().find(|weaker| weaker.answer.verdict == Verdict::Violated);
        let (answer, implied_by) = match violated {
            Some(weaker) => {
                let by = weaker.implied_by.unwrap_or(weaker.model);
                (TxnAnswer { ..(*weaker.answer).clone() }, Some(by))
            }
            None => (decide(history, model, &limits, progress), None),
        };
        let answer = Certified::transactional(history, model, answer, Effort::within(&limits))
            .map_err(|rejected| (model, rejected))?;
        let time = limits.elapsed().saturating_sub(start);
        found.push(TxnClassified { model, answer, implied_by, time });
    }
    let place = |model: TxnModel| models.iter().position(|&m| m == model);
    found.sort_by_key(|found| place(found.model));
    Ok(found)
}

/// Whether a history satisfies a model. The answer is not certified yet.
fn decide(
    history: &TxnHistory,
    model: TxnModel,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> TxnAnswer {
    let mut meter = Meter { limits, progress, work: 0, bytes: 0 };
    match find(history, model, &mut meter) {
        Ok((evidence, decided_by)) => {
            let verdict = match evidence {
                TxnEvidence::Order(_) => Verdict::Holds,
                _ => Verdict::Violated,
            };
            TxnAnswer { verdict, evidence: Some(Arc::new(evidence)), decided_by }
        }
        Err(limit) => {
            TxnAnswer { verdict: Verdict::Unknown(limit), evidence: None, decided_by: "search" }
        }
    }
}

fn find(
    history: &TxnHistory,
    model: TxnModel,
    meter: &mut Meter<'_>,
) -> Result<(TxnEvidence, &'static str), Limit> {
    let versions = version_orders(history);
    let wrong = (0..history.len() as u32)
        .find_map(|op| misread(history, &versions, op).map(|what| (op, what)));
    if let Some((op, what)) = wrong {
        return Ok((TxnEvidence::Misread { op, what }, "reads"));
    }
    meter.step(history.len() as u64)?;
    // What breaks these two is often found before what sessions and reads say is needed.
    let mut asked = Graph { history, edges: Vec::new() };
    let early = match model {
        TxnModel::ReadCommitted => Some(weak::read_committed(&mut asked, meter)?),
        TxnModel::ReadAtomic => Some(weak::read_atomic(&mut asked, meter)?),
        TxnModel::Causal | TxnModel::Serializable => None,
    };
    if let Some(weak::Found::Cycle(cycle)) = &early {
        return Ok((explain::cycle(&asked, model, cycle, meter)?, "saturation"));
    }
    let mut graph = Graph::new(history);
    graph.add_versions(&versions);
    graph.edges.append(&mut asked.edges);
    // What breaks read atomic breaks the others, and is found sooner.
    if matches!(model, TxnModel::Causal | TxnModel::Serializable)
        && let Some(cycle) = fractured(&graph, meter)?
    {
        return Ok((cycle, "saturation"));
    }
    let weak = match early {
        Some(found) => found,
        None => weak::causal(&mut graph, meter)?,
    };
    let closing = match weak {
        weak::Found::Orders => None,
        weak::Found::Cycle(cycle) => Some(cycle),
    };
    let sorted = match closing {
        Some(cycle) => Err(cycle),
        None => graph.sort(meter)?,
    };
    let below = if model == TxnModel::Serializable { TxnModel::Causal } else { model };
    match sorted {
        Err(cycle) => Ok((explain::cycle(&graph, below, &cycle, meter)?, "saturation")),
        Ok(order) if model == TxnModel::Serializable => serial::decide(graph, order, meter),
        Ok(order) => Ok((TxnEvidence::Order(order), "saturation")),
    }
}

/// A cycle of what read atomic asks for.
fn fractured(graph: &Graph<'_>, meter: &mut Meter<'_>) -> Result<Option<TxnEvidence>, Limit> {
    let mut asked = Graph { history: graph.history, edges: Vec::new() };
    let found = weak::read_atomic(&mut asked, meter)?;
    let (graph, cycle) = match found {
        weak::Found::Cycle(cycle) => (asked, cycle),
        weak::Found::Orders => {
            let edges = graph.edges.iter().chain(&asked.edges).copied().collect();
            let graph = Graph { history: graph.history, edges };
            match graph.sort(meter)? {
                Err(cycle) => (graph, cycle),
                Ok(_) => return Ok(None),
            }
        }
    };
    explain::cycle(&graph, TxnModel::ReadAtomic, &cycle, meter).map(Some)
}

/// Counts work, and looks at the limits now and then.
struct Meter<'a> {
    limits: &'a Limits,
    progress: &'a mut dyn Progress,
    work: u64,
    bytes: u64,
}

impl Meter<'_> {
    fn step(&mut self, work: u64) -> Result<(), Limit> {
        const OFTEN: u64 = 1 << 14;
        let before = self.work / OFTEN;
        self.work += work;
        if self.work / OFTEN == before {
            return Ok(());
        }
        let snapshot = Snapshot { states: self.work, memory: self.bytes, ..Snapshot::default() };
        if !self.progress.tick(snapshot) {
            return Err(Limit::Interrupted);
        }
        self.limits.check(self.bytes)
    }
}
