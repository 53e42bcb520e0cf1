//! Checks a history while it is written, window by window (see `window.rs` for what that finds). If there are
//! times, it is settled beside that (`settled.rs`) whether it is linearizable: then it satisfies all other models
//! as well, also where it is longer than a window.
//!
//! A model that is violated is not asked about any more: what follows cannot repair it. But a read may turn out to have read
//! a write that comes only later in the log, if that writes the same value. So a violation that rests on such reads is
//! *held*: dropped when one of their values is written again, told when the log has ended.
//!
//! What neither windows nor what was settled say of a log with times, the log as a whole does when it has ended: it is
//! kept (`kept.rs`), as long as it is not too long.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use weakspot_core::{
    Certification, History, HistoryModel, HistoryWay, Limit, Limits, LoggedOp, OpKind, Progress,
    Times, Value, Verdict,
};

use crate::answer::{DecidedBy, Method};
use crate::classify::{Classified, Defect, classify};
use crate::kept::KeptLog;
use crate::minimise::named;
use crate::settled::Settled;
use crate::ways::classify_open;
use crate::window::{Excerpt, Refused, RefusedWhy, Window};

/// A log that takes more bytes is not kept: some 20 million operations.
const MOST_KEPT: usize = 256 << 20;

/// A history that is followed.
#[derive(Debug)]
pub struct Following {
    window: Window,
    /// The models that are not known to be violated.
    open: Vec<HistoryModel>,
    /// The violations of some of these that are so if no value is written again.
    held: Vec<Held>,
    is_distinct: bool,
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
    /// The first operation, and whether any says when it began or ended.
    first: Option<LoggedOp>,
    has_times: bool,
    /// The log, if there are times, and how long its check as a whole may take.
    log: Option<KeptLog>,
    time: Option<Duration>,
    /// Whether it was checked as a whole: then `undecided` says of which models nothing is known.
    is_checked_whole: bool,
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

/// A violation, and the variables and values that its reads rest on.
#[derive(Debug)]
struct Held {
    broken: Broken,
    rests_on: HashSet<(u32, Value)>,
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
            held: Vec::new(),
            is_distinct: false,
            undecided: Vec::new(),
            method,
            limits: *limits,
            checked: None,
            settled: None,
            is_linearizable: false,
            first: None,
            has_times: false,
            log: None,
            time: None,
            is_checked_whole: false,
            decided: Vec::new(),
        }
    }

    /// Nobody writes a value twice to a variable, nor its initial one: violations are told at once.
    pub fn promise_distinct(&mut self) {
        self.is_distinct = true;
        self.window.promise_distinct();
    }

    /// A history with times that is longer than a window may be checked as a whole for so long, when it has ended.
    pub fn set_time_at_end(&mut self, time: Option<Duration>) {
        self.time = time;
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

    /// Whether all of it was checked together when it had ended, though it is longer than a window.
    #[must_use]
    pub fn is_checked_whole(&self) -> bool {
        self.is_checked_whole
    }

    /// What violates models if no value is written again.
    pub fn held(&self) -> impl Iterator<Item = &Broken> {
        self.held.iter().map(|held| &held.broken)
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
            self.note_times(op);
            self.window.add(op, initial);
            if op.writes() && !self.held.is_empty() {
                self.held.retain(|held| !held.rests_on.contains(&(op.var, op.value)));
            }
            if let Some(log) = &mut self.log {
                log.push(&op);
            }
            self.log.take_if(|log| log.bytes() > MOST_KEPT);
            if let Some(settled) = &mut self.settled {
                settled.add(op, initial);
            }
        }
        Ok(())
    }

    /// Notes whether there are times: a log with times is kept, and settled as long as all have them.
    fn note_times(&mut self, op: LoggedOp) {
        let (is_first, is_timed) = (self.window.arrived() == 0, op.times != Times::UNKNOWN);
        if is_first {
            self.first = Some(op);
            self.settled = is_timed.then(|| Settled::new(self.window.size()));
            self.log = (is_timed || self.asks_for_times()).then(KeptLog::default);
        }
        self.settled.take_if(|_| !is_timed);
        self.has_times |= is_timed;
    }

    fn asks_for_times(&self) -> bool {
        self.open.iter().any(|model| model.has_real_time())
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
        if let (true, false, Some(op)) =
            (at_end && self.asks_for_times(), self.has_times, self.first)
        {
            return Err(Stopped::Refused(Refused { op, why: RefusedWhy::NoTimes }));
        }
        let excerpt = self.window.excerpt(at_end).map_err(Stopped::Refused)?;
        let mut whole = None;
        if at_end {
            if let Some(mut settled) = self.settled.take() {
                self.is_linearizable = settled.finish().is_some();
            }
            // What is wrong with the log as a whole is said first: then no violation of it counts.
            whole = self.whole()?;
            for Held { broken, .. } in std::mem::take(&mut self.held) {
                self.open.retain(|&other| other != broken.found.model);
                found.push(broken);
            }
        }
        if self.checked != Some(arrived) || !excerpt.open.is_empty() {
            self.checked = Some(arrived);
            self.look(excerpt, at_end, found, progress)?;
        }
        match whole {
            Some(whole) if !self.open.is_empty() => {
                self.undecided.clear();
                self.is_checked_whole = true;
                self.limits.time = self.time;
                self.look(whole, true, found, progress)
            }
            _ => Ok(()),
        }
    }

    /// All operations of a history that has ended, if they were kept, do not fit into a window, and something is
    /// not known about them yet.
    fn whole(&mut self) -> Result<Option<Excerpt>, Stopped> {
        let is_known = self.window.is_whole() || self.is_linearizable;
        let is_long = self.window.arrived() > History::MOST as u64 / 8;
        let Some(log) = self.log.take().filter(|_| !is_known && !is_long) else { return Ok(None) };
        let mut whole = Window::new(self.window.arrived() as usize);
        let initial = self.window.initials();
        log.ops().for_each(|op| whole.add(op, &initial));
        let excerpt = whole.excerpt(true).map_err(Stopped::Refused)?;
        Ok((whole.left_out() == 0).then_some(excerpt))
    }

    /// Checks operations, all that there are if the history has ended.
    fn look(
        &mut self,
        excerpt: Excerpt,
        at_end: bool,
        found: &mut Vec<Broken>,
        progress: &mut dyn Progress,
    ) -> Result<(), Stopped> {
        let answers = self.answers(excerpt, progress)?;
        let decided =
            |(_, a, _): &Answered| (a.model, a.answer.decided_by, a.answer.certification());
        self.decided = answers.iter().map(decided).collect();
        for (excerpt, classified, ways) in answers {
            let model = classified.model;
            match &classified.answer.verdict {
                Verdict::Holds => {}
                Verdict::Violated => {
                    let arrived = self.window.arrived();
                    let broken = Broken { excerpt, found: classified, ways, arrived };
                    let rests_on = match at_end || self.is_distinct {
                        true => HashSet::new(),
                        false => self.rests_on(&broken),
                    };
                    if rests_on.is_empty() {
                        self.open.retain(|&other| other != model);
                        found.push(broken);
                    } else {
                        self.held.push(Held { broken, rests_on });
                    }
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

    /// The variables and values, by their numbers in the log, of the reads that a violation rests on.
    fn rests_on(&self, broken: &Broken) -> HashSet<(u32, Value)> {
        let Excerpt { ops, vars, values, said, .. } = &*broken.excerpt;
        let evidence = broken.found.answer.evidence.as_deref();
        let model = broken.found.model;
        let mut some = evidence.map(|e| named(ops, model, e)).unwrap_or_default();
        if some.is_empty() {
            some.extend(0..ops.len() as u32);
        }
        let reads = |op: &u32| matches!(ops.kind(*op), OpKind::Read | OpKind::Update);
        let by_value = some.into_iter().filter(|op| reads(op) && !said[*op as usize]);
        by_value
            .map(|op| {
                let var = vars[ops.var(op) as usize];
                let value = match ops.from(op) {
                    Some(write) => values[write as usize],
                    None => self.window.initial(var),
                };
                (var, value)
            })
            .collect()
    }

    /// What is found about an excerpt; with a choice for each model, where it is open what reads read.
    fn answers(
        &self,
        excerpt: Excerpt,
        progress: &mut dyn Progress,
    ) -> Result<Vec<Answered>, Stopped> {
        let Following { method, limits, .. } = self;
        let is_held = |model: &HistoryModel| self.held().any(|broken| broken.found.model == *model);
        let models: Vec<HistoryModel> =
            self.open.iter().copied().filter(|model| !is_held(model)).collect();
        if excerpt.open.is_empty() {
            let answers = classify(&excerpt.ops, &models, *method, limits, progress);
            let excerpt = Arc::new(excerpt);
            let with = |found| (Arc::clone(&excerpt), found, Vec::new());
            return Ok(answers.map_err(Stopped::Rejected)?.into_iter().map(with).collect());
        }
        let mut answers = Vec::new();
        for model in models {
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
    /// holds, what was checked last was the whole history, or all of it was checked as it was settled.
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
    /// ended and was checked: that it holds only if the history fits into a window, all of it was
    /// settled, and is linearizable, or it was checked as a whole.
    #[must_use]
    pub fn verdict(&self, model: HistoryModel) -> Verdict {
        if self.is_linearizable {
            return Verdict::Holds;
        }
        if let Some((_, limit)) = self.undecided.iter().find(|&&(other, _)| other == model) {
            return Verdict::Unknown(limit.clone());
        }
        let is_all = self.window.is_whole() && self.window.left_out() == 0;
        match is_all || self.is_checked_whole {
            true => Verdict::Holds,
            false => Verdict::Unknown(Limit::Window(self.window.size())),
        }
    }
}
