//! Which of several models does a history satisfy? Asks the strongest first, because a run of a
//! stronger machine is one of the weaker ones, too; and tries whether what was found for one model
//! decides another before that one is asked. What is taken over was accepted by the checker of
//! evidence for the model that it is taken over to.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weakspot_core::{
    HistoryEvidence, HistoryModel, HistoryStep, Limits, OpKind, Ops, Progress, Snapshot, Verdict,
    certify,
};

use crate::answer::{DecidedBy, Method};
use crate::check::check;

/// The answer for one model.
#[derive(Clone, Debug)]
pub struct Classified {
    /// The model.
    pub model: HistoryModel,
    /// Whether the history satisfies it.
    pub verdict: Verdict,
    /// Why; several models may have the same evidence. `None` when the verdict is unknown.
    pub evidence: Option<Arc<HistoryEvidence>>,
    /// Who found out.
    pub decided_by: DecidedBy,
    /// The model whose evidence this is, if this one was not asked itself.
    pub implied_by: Option<HistoryModel>,
    /// Units of work that were done, as far as progress was told.
    pub explored: u64,
    /// How long it took.
    pub time: Duration,
}

/// The models, those first whose evidence may decide later ones.
const STRONGEST_FIRST: [HistoryModel; 8] = [
    HistoryModel::Sc,
    HistoryModel::Tso,
    HistoryModel::Pso,
    HistoryModel::Ccm,
    HistoryModel::Wccm,
    HistoryModel::Cm,
    HistoryModel::Ccv,
    HistoryModel::Cc,
];

/// Which of these models the history satisfies, in the order in which they are given. The limits
/// are those of each model: the first question began when `limits` say, the next ones when it is
/// their turn.
pub fn classify(
    ops: &Ops,
    models: &[HistoryModel],
    method: Method,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Vec<Classified> {
    let mut all: Vec<Classified> = Vec::new();
    let mut limits = *limits;
    for model in STRONGEST_FIRST.into_iter().filter(|model| models.contains(model)) {
        let start = Instant::now();
        let taken = taken_over(ops, model, &all);
        let mut answer = taken.unwrap_or_else(|| ask(ops, model, method, &limits, progress));
        answer.time = start.elapsed();
        limits.began = None;
        all.push(answer);
    }
    // A cycle of a weaker model may decide what a search gave up on.
    for i in 0..all.len() {
        if let Verdict::Unknown(_) = all[i].verdict
            && let Some(taken) = taken_over(ops, all[i].model, &all)
        {
            all[i] = Classified { time: all[i].time, explored: all[i].explored, ..taken };
        }
    }
    all.sort_by_key(|answer| models.iter().position(|&model| model == answer.model));
    all
}

fn ask(
    ops: &Ops,
    model: HistoryModel,
    method: Method,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Classified {
    let mut heard = Heard { progress, states: 0 };
    let answer = check(ops, model, method, limits, &mut heard);
    Classified {
        model,
        verdict: answer.verdict,
        evidence: answer.evidence.map(Arc::new),
        decided_by: answer.decided_by,
        implied_by: None,
        explored: heard.states,
        time: Duration::ZERO,
    }
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
fn taken_over(ops: &Ops, model: HistoryModel, others: &[Classified]) -> Option<Classified> {
    let has_buffers = matches!(model, HistoryModel::Tso | HistoryModel::Pso);
    others.iter().filter(|other| other.model != model).find_map(|other| {
        let evidence = other.evidence.as_ref()?;
        let evidence = match &**evidence {
            HistoryEvidence::ByDefinition => return None,
            HistoryEvidence::Linear { store_order, steps }
                if has_buffers && other.model == HistoryModel::Sc =>
            {
                let steps = with_commits(ops, steps);
                Arc::new(HistoryEvidence::Linear { store_order: store_order.clone(), steps })
            }
            _ => Arc::clone(evidence),
        };
        certify::history(ops, model, &other.verdict, &evidence).ok()?;
        // What was taken over itself comes from the model that was asked.
        let of = other.implied_by.unwrap_or(other.model);
        Some(Classified { model, evidence: Some(evidence), implied_by: Some(of), ..other.clone() })
    })
}

/// A run without buffers as one in which each write leaves its buffer at once.
fn with_commits(ops: &Ops, steps: &[HistoryStep]) -> Vec<HistoryStep> {
    let mut run = Vec::with_capacity(steps.len() * 3 / 2);
    for &step in steps {
        run.push(step);
        if let HistoryStep::Issue(op) = step
            && ops.kind(op) == OpKind::Write
        {
            run.push(HistoryStep::Commit(op));
        }
    }
    run
}
