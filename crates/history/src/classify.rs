//! Which of several models does a history satisfy? Asks the strongest first, because a run of a
//! stronger machine is one of the weaker ones, too; and tries whether what was found for one model
//! decides another before that one is asked. What is taken over was accepted by the checker of
//! evidence for the model that it is taken over to.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weakspot_core::certify::Rejected;
use weakspot_core::{
    Certified, Effort, History, HistoryEvidence, HistoryModel, Limits, Progress, Snapshot, Verdict,
};

use crate::answer::{Answer, Method};
use crate::check::{check, with_commits};

/// The answer for one model.
#[derive(Clone, Debug)]
pub struct Classified {
    /// The model.
    pub model: HistoryModel,
    /// Whether the history satisfies it, and why.
    pub answer: Certified<Answer>,
    /// The model whose evidence this is, if this one was not asked itself.
    pub implied_by: Option<HistoryModel>,
    /// Units of work that were done, as far as progress was told.
    pub explored: u64,
    /// How long it took.
    pub time: Duration,
}

/// The answer for a model did not pass its check: a defect of this crate, and no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// The model.
    pub model: HistoryModel,
    /// What is wrong with the evidence.
    pub rejected: Rejected,
}

/// The models, those first whose evidence may decide later ones.
const STRONGEST_FIRST: [HistoryModel; HistoryModel::EVERY.len()] = [
    HistoryModel::Lin,
    HistoryModel::Sc,
    HistoryModel::TsoRt,
    HistoryModel::Tso,
    HistoryModel::Pso,
    HistoryModel::PsoOwn,
    HistoryModel::Coherence,
    HistoryModel::Ccm,
    HistoryModel::Wccm,
    HistoryModel::Cm,
    HistoryModel::Ccv,
    HistoryModel::Cc,
];

/// Which of these models the history satisfies, in the order in which they are given. The limits
/// are those of each model: the first question began when `limits` say, the next ones when it is
/// their turn.
///
/// # Errors
/// When the evidence for a model did not pass its check.
pub fn classify(
    ops: &History,
    models: &[HistoryModel],
    method: Method,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Vec<Classified>, Defect> {
    let mut all: Vec<Classified> = Vec::new();
    let mut limits = *limits;
    for model in STRONGEST_FIRST.into_iter().filter(|model| models.contains(model)) {
        let start = Instant::now();
        let effort = Effort::within(&limits);
        let mut found = match taken_over(ops, model, &all, effort) {
            Some(taken) => taken,
            None => ask(ops, model, method, &limits, progress)
                .map_err(|rejected| Defect { model, rejected })?,
        };
        found.time = start.elapsed();
        limits.began = None;
        all.push(found);
    }
    // A cycle of a weaker model may decide what a search gave up on.
    for i in 0..all.len() {
        let effort = Effort::within(&limits);
        if let Verdict::Unknown(_) = all[i].answer.verdict
            && let Some(taken) = taken_over(ops, all[i].model, &all, effort)
        {
            all[i] = Classified { time: all[i].time, explored: all[i].explored, ..taken };
        }
    }
    all.sort_by_key(|answer| models.iter().position(|&model| model == answer.model));
    Ok(all)
}

fn ask(
    ops: &History,
    model: HistoryModel,
    method: Method,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Classified, Rejected> {
    let mut heard = Heard { progress, states: 0 };
    let answer = check(ops, model, method, limits, &mut heard)?;
    let (explored, time) = (heard.states, Duration::ZERO);
    Ok(Classified { model, answer, implied_by: None, explored, time })
}

/// Passes progress on and remembers it.
struct Heard<'a> {
    progress: &'a mut dyn Progress,
    states: u64,
}

impl Progress for Heard<'_> {
    fn tick(&mut self, snapshot: Snapshot) -> bool {
        self.states = snapshot.states;
        self.progress.tick(snapshot)
    }
}

/// What the answers for other models say about this one, if anything.
fn taken_over(
    ops: &History,
    model: HistoryModel,
    others: &[Classified],
    effort: Effort,
) -> Option<Classified> {
    let has_buffers = model.is_relaxed() && !model.is_causal();
    others.iter().filter(|other| other.model != model).find_map(|other| {
        let evidence = other.answer.evidence.as_ref()?;
        let evidence = match &**evidence {
            HistoryEvidence::ByDefinition => return None,
            HistoryEvidence::Linear { store_order, steps }
                if has_buffers && other.model.without_time() == HistoryModel::Sc =>
            {
                let steps = with_commits(ops, steps);
                Arc::new(HistoryEvidence::Linear { store_order: store_order.clone(), steps })
            }
            _ => Arc::clone(evidence),
        };
        let answer = Answer { evidence: Some(evidence), ..Answer::clone(&other.answer) };
        let answer = Certified::history(ops, model, answer, effort).ok()?;
        // What was taken over itself comes from the model that was asked.
        let of = other.implied_by.unwrap_or(other.model);
        Some(Classified { model, answer, implied_by: Some(of), ..other.clone() })
    })
}
