//! Checks a history while it is written, window by window (see `window.rs` for what that finds).
//!
//! A model that is violated is not asked about any more: what follows cannot mend it.

use std::sync::Arc;

use weakspot_core::certify::{self, Rejected};
use weakspot_core::{HistoryModel, Limit, Limits, LoggedOp, Progress, Value, Verdict};

use crate::answer::{DecidedBy, Method};
use crate::classify::{Classified, classify};
use crate::window::{Excerpt, Refused, Window};

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
    /// How many operations had arrived at the last check, and who decided there.
    checked: u64,
    decided_by: Vec<(HistoryModel, DecidedBy)>,
}

/// A window that violates a model.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The operations.
    pub excerpt: Arc<Excerpt>,
    /// Which model, and why.
    pub found: Classified,
    /// How many operations had arrived.
    pub arrived: u64,
}

/// Why a history cannot be followed any further.
#[derive(Debug)]
pub enum Stopped {
    /// It is wrong.
    Refused(Refused),
    /// The answer for this model did not pass its own check.
    Rejected(HistoryModel, Rejected),
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
            checked: 0,
            decided_by: Vec::new(),
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
        for &op in ops {
            if self.window.is_full() {
                self.check(false, found, progress)?;
                self.window.slide();
            }
            self.window.add(op, initial).map_err(Stopped::Refused)?;
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
        if self.checked == self.window.arrived() && !at_end {
            return Ok(());
        }
        let excerpt = self.window.excerpt(at_end).map_err(Stopped::Refused)?;
        if self.checked == self.window.arrived() {
            return Ok(());
        }
        self.checked = self.window.arrived();
        let answers = classify(&excerpt.ops, &self.open, self.method, &self.limits, progress);
        self.decided_by = answers.iter().map(|a| (a.model, a.decided_by)).collect();
        let excerpt = Arc::new(excerpt);
        for answer in answers {
            // What is taken over from another model was checked when it was.
            if let (Some(evidence), None) = (&answer.evidence, answer.implied_by) {
                certify::history(&excerpt.ops, answer.model, &answer.verdict, evidence)
                    .map_err(|rejected| Stopped::Rejected(answer.model, rejected))?;
            }
            match &answer.verdict {
                Verdict::Holds => {}
                Verdict::Violated => {
                    self.open.retain(|&model| model != answer.model);
                    let (excerpt, arrived) = (Arc::clone(&excerpt), self.checked);
                    found.push(Broken { excerpt, found: answer, arrived });
                }
                Verdict::Unknown(limit) => {
                    if self.undecided.iter().all(|&(model, _)| model != answer.model) {
                        self.undecided.push((answer.model, limit.clone()));
                    }
                }
            }
        }
        Ok(())
    }

    /// Who decided about a model in the last window.
    #[must_use]
    pub fn decided_by(&self, model: HistoryModel) -> Option<DecidedBy> {
        self.decided_by.iter().find(|&&(other, _)| other == model).map(|&(_, by)| by)
    }

    /// What is known about a model that is still [`open`](Following::open) when the history has
    /// ended and was checked: that it holds only if the history fits into a window.
    #[must_use]
    pub fn verdict(&self, model: HistoryModel) -> Verdict {
        if let Some((_, limit)) = self.undecided.iter().find(|&&(other, _)| other == model) {
            return Verdict::Unknown(limit.clone());
        }
        match self.window.is_whole() && self.window.left_out() == 0 {
            true => Verdict::Holds,
            false => Verdict::Unknown(Limit::Window(self.window.size())),
        }
    }
}
