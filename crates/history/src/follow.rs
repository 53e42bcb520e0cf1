//! Checks a history while it is written, window by window (see `window.rs` for what that finds). If there are
//! times, it is settled beside that (`settled.rs`) whether it is linearizable: then it satisfies all other models
//! as well, also where it is longer than a window.
//!
//! A model that is violated is not asked about any more: what follows cannot repair it.

use std::sync::Arc;

use weakspot_core::{
    Certification, HistoryModel, HistoryWay, Limit, Limits, LoggedOp, Progress, Times, Value,
    Verdict,
};

use crate::answer::{DecidedBy, Method};
use crate::classify::{Classified, Defect, classify};
use crate::settled::Settled;
use crate::ways::classify_open;
use crate::window::{Excerpt, Refused, RefusedWhy, Window};

/// A history that is followed.
#[derive(Debug)]
pub struct Following {
    window: Window,
    /// The models that no window has violated so far.
    open: Vec<HistoryModel>,
    /// Of these the ones about which a window was not decided, and why.
    undecided: Vec<(HistoryModel, Limit)>,
    method: Method,
    limits: Limits,
    /// How many operations had arrived at the last check, who decided there, and what the checker
    /// said.
    checked: Option<u64>,
    /// Whether it is linearizable, if there are times.
    settled: Option<Settled>,
    is_linearizable: bool,
    decided: Vec<(HistoryModel, DecidedBy, Certification)>,
}

/// A window that violates a model.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The operations.
    pub excerpt: Arc<Excerpt>,
    /// Which model, and why.
    pub found: Classified,
    /// The evidence for all choices, where it is open what some reads read.
    pub ways: Vec<HistoryWay>,
    /// How many operations had arrived.
    pub arrived: u64,
}

/// An answer, and the operations that it is about.
type Answered = (Arc<Excerpt>, Classified, Vec<HistoryWay>);

/// Why a history cannot be followed any further.
#[derive(Debug)]
pub enum Stopped {
    /// It is wrong.
    Refused(Refused),
    /// The answer for this model did not pass its own check.
    Rejected(Defect),
}

impl Following {
    /// Follows a history in windows of so many operations. The limits are those of each window and
    /// model.
    #[must_use]
    pub fn new(size: usize, models: &[HistoryModel], method: Method, limits: &Limits) -> Following {
        Following {
            window: Window::new(size),
            open: models.to_vec(),
            undecided: Vec::new(),
            method,
            limits: *limits,
            checked: None,
            settled: None,
            is_linearizable: false,
            decided: Vec::new(),
        }
    }

    /// The window.
    #[must_use]
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// The models that are not known to be violated.
    #[must_use]
    pub fn open(&self) -> &[HistoryModel] {
        &self.open
    }

    /// Takes operations, with the initial values of all variables so far, and checks each window
    /// that is full. What is violated comes to `found`.
    ///
    /// # Errors
    /// When an operation is wrong, or an answer.
    pub fn add(
        &mut self,
        ops: &[LoggedOp],
        initial: &[Value],
        found: &mut Vec<Broken>,
        progress: &mut dyn Progress,
    ) -> Result<(), Stopped> {
        let asks_for_times = self.open.iter().any(|model| model.has_real_time());
        for &op in ops {
            if asks_for_times && op.times == Times::UNKNOWN {
                return Err(Stopped::Refused(Refused { op, why: RefusedWhy::NoTimes }));
            }
            if self.window.is_full() {
                self.check(false, found, progress)?;
                self.window.slide();
            }
            if self.window.arrived() == 0 && op.times != Times::UNKNOWN {
                self.settled = Some(Settled::new(self.window.size()));
            }
            self.window.add(op, initial);
            if let Some(settled) = &mut self.settled {
                settled.add(op, initial);
            }
        }
        Ok(())
    }

    /// Checks what the window has now, if there is something new. At the end of the input each
    /// read has to have a write.
    ///
    /// # Errors
    /// As [`add`](Following::add).
    pub fn check(
        &mut self,
        at_end: bool,
        found: &mut Vec<Broken>,
        progress: &mut dyn Progress,
    ) -> Result<(), Stopped> {
        let arrived = self.window.arrived();
        if !at_end && (arrived == 0 || self.checked == Some(arrived)) {
            return Ok(());
        }
        let excerpt = self.window.excerpt(at_end).map_err(Stopped::Refused)?;
        if at_end && let Some(mut settled) = self.settled.take() {
            self.is_linearizable = settled.finish().is_some();
        }
        if self.checked == Some(arrived) && excerpt.open.is_empty() {
            return Ok(());
        }
        self.checked = Some(arrived);
        let answers = self.answers(excerpt, progress)?;
        let decided =
            |(_, a, _): &Answered| (a.model, a.answer.decided_by, a.answer.certification());
        self.decided = answers.iter().map(decided).collect();
        for (excerpt, classified, ways) in answers {
            let model = classified.model;
            match &classified.answer.verdict {
                Verdict::Holds => {}
                Verdict::Violated => {
                    self.open.retain(|&other| other != model);
                    found.push(Broken { excerpt, found: classified, ways, arrived });
                }
                Verdict::Unknown(limit) => {
                    if self.undecided.iter().all(|&(other, _)| other != model) {
                        self.undecided.push((model, limit.clone()));
                    }
                }
            }
        }
        Ok(())
    }

    /// What is found about an excerpt; with a choice for each model, where it is open what reads read.
    fn answers(
        &self,
        excerpt: Excerpt,
        progress: &mut dyn Progress,
    ) -> Result<Vec<Answered>, Stopped> {
        let Following { open: models, method, limits, .. } = self;
        if excerpt.open.is_empty() {
            let answers = classify(&excerpt.ops, models, *method, limits, progress);
            let excerpt = Arc::new(excerpt);
            let with = |found| (Arc::clone(&excerpt), found, Vec::new());
            return Ok(answers.map_err(Stopped::Rejected)?.into_iter().map(with).collect());
        }
        let mut answers = Vec::new();
        for &model in models {
            let (ops, open) = (&excerpt.ops, &excerpt.open);
            let chosen = classify_open(ops, open, model, *method, limits, progress)
                .map_err(Stopped::Rejected)?;
            let excerpt = Excerpt { ops: chosen.ops, ..excerpt.clone() };
            answers.push((Arc::new(excerpt), chosen.found, chosen.ways));
        }
        Ok(answers)
    }

    /// Who decided about a model in the last window.
    #[must_use]
    pub fn decided_by(&self, model: HistoryModel) -> Option<DecidedBy> {
        self.decided.iter().find(|&&(other, ..)| other == model).map(|&(_, by, _)| by)
    }

    /// What the checker of evidence said about the [`verdict`](Following::verdict) on a model: if it
    /// holds, the last window was the whole history, or all of it was checked as it was settled.
    #[must_use]
    pub fn certification(&self, model: HistoryModel) -> Certification {
        match self.verdict(model) {
            Verdict::Holds if self.is_linearizable => Certification::Checked,
            Verdict::Holds => {
                let last = self.decided.iter().find(|&&(other, ..)| other == model);
                last.map_or(Certification::NotChecked, |&(.., certification)| certification)
            }
            _ => Certification::NotChecked,
        }
    }

    /// What is known about a model that is still [`open`](Following::open) when the history has
    /// ended and was checked: that it holds only if the history fits into a window, or all of it was
    /// settled, and is linearizable.
    #[must_use]
    pub fn verdict(&self, model: HistoryModel) -> Verdict {
        if self.is_linearizable {
            return Verdict::Holds;
        }
        if let Some((_, limit)) = self.undecided.iter().find(|&&(other, _)| other == model) {
            return Verdict::Unknown(limit.clone());
        }
        match self.window.is_whole() && self.window.left_out() == 0 {
            true => Verdict::Holds,
            false => Verdict::Unknown(Limit::Window(self.window.size())),
        }
    }
}
