//! One log from beginning to end: the monitors that were asked for, and afterwards the runs that
//! show what they report, each accepted by `certify`.
//!
//! The first events of a log are kept, so that reports about them can be shown and checked even if
//! the log came through a pipe.

use weakspot_core::{
    Certified, Claim, DelayedRun, Drain, Limit, LogBatch, LogEvent, LogKind, LogTables, LogValue,
    LogValues, Model, NotSc, Overtaking, Verdict, certify, certify::Rejected,
};

use crate::engine::Refused;
use crate::monitor::Monitor;
use crate::reference::Form;
use crate::sober::{Definition, Sober};
use crate::tally::end;
use crate::witness::{NoRun, search};

/// How a log is monitored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// monitor_TSO and monitor_PSO.
    Monitor(Form),
    /// SOBER, for TSO only.
    Sober(Definition),
}

/// The monitors on a log.
#[derive(Debug)]
pub struct Watch {
    /// Which models each of them is for. A monitor knows only one kind of PSO.
    monitors: Vec<(Vec<Model>, Monitor)>,
    sober: Option<Sober>,
    form: Form,
    kept: Vec<LogEvent>,
    /// The values of these, as far as the log says them, each with the place of its event.
    kept_values: Vec<(u32, LogValue)>,
    events: u64,
    values: LogValues,
}

/// A report and what shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The report.
    pub overtaking: Overtaking,
    /// The run behind its first occurrence, accepted by `certify`. `None` if that lies too far down
    /// the log, or if there are too many reports to check them all.
    pub run: Option<DelayedRun>,
}

/// What the monitors found in a log, or in what was followed of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings {
    /// Holds if nothing was reported.
    pub verdict: Verdict,
    /// The reports, with the runs that show them.
    pub reports: Vec<Shown>,
}

impl Claim for Findings {
    type Evidence = DelayedRun;

    fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    fn evidence(&self) -> Option<&DelayedRun> {
        self.reports.iter().find_map(|shown| shown.run.as_ref())
    }
}

/// How many events are kept: 16 MiB.
const KEPT: usize = 1 << 20;
/// How many of their values: 8 MiB.
const KEPT_VALUES: usize = 1 << 18;
/// How many events are gone through again to check reports, all together: some seconds.
const WORK: usize = 1 << 20;

impl Watch {
    /// Monitors for `models`.
    #[must_use]
    pub fn new(models: &[Model], algorithm: Algorithm) -> Watch {
        let (mut monitors, mut sober, mut form) = (Vec::new(), None, Form::All);
        match algorithm {
            Algorithm::Monitor(asked) => {
                form = asked;
                let own = Model::Pso(Drain::Own);
                let both = models.contains(&own) && models.contains(&Model::Pso(Drain::All));
                let (first, second): (Vec<Model>, Vec<Model>) =
                    models.iter().partition(|&&model| !(both && model == own));
                for models in [first, second].into_iter().filter(|models| !models.is_empty()) {
                    let monitor = Monitor::new(&models, form);
                    monitors.push((models, monitor));
                }
            }
            Algorithm::Sober(definition) => sober = Some(Sober::new(definition)),
        }
        let (kept, kept_values, values) = (Vec::new(), Vec::new(), LogValues::default());
        Watch { monitors, sober, form, kept, kept_values, events: 0, values }
    }

    /// Follows the next events of the log.
    ///
    /// # Errors
    /// When an event cannot be one of an SC execution, or is of too many threads. Those before it
    /// have been followed.
    pub fn follow(&mut self, batch: &LogBatch, tables: &LogTables) -> Result<(), Refused> {
        self.keep_values(batch);
        match self.values.follow(batch, tables) {
            None => self.follow_events(&batch.events, tables),
            Some((at, refused)) => {
                self.follow_events(&batch.events[..at], tables)?;
                Err(Refused::NotSc(refused))
            }
        }
    }

    fn keep_values(&mut self, batch: &LogBatch) {
        let valued = batch.events.iter().enumerate().filter(|(_, event)| event.valued);
        for ((at, _), &value) in valued.zip(&batch.values) {
            let place = self.kept.len() + at;
            if place >= KEPT || self.kept_values.len() >= KEPT_VALUES {
                return;
            }
            self.kept_values.push((place as u32, value));
        }
    }

    fn follow_events(&mut self, events: &[LogEvent], tables: &LogTables) -> Result<(), Refused> {
        let room = KEPT - self.kept.len();
        self.kept.extend_from_slice(&events[..events.len().min(room)]);
        for (_, monitor) in &mut self.monitors {
            monitor.learn(tables);
            monitor.events(events)?;
        }
        if let Some(sober) = &mut self.sober {
            for event in events {
                if event.kind == LogKind::Commit {
                    return Err(Refused::NotSc(NotSc::Commit(self.events)));
                }
                sober.event(event, tables);
                self.events += 1;
            }
            return Ok(());
        }
        self.events += events.len() as u64;
        Ok(())
    }

    /// How many events there have been.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The values of the first events, as far as the log says them, each with the place of its event.
    #[must_use]
    pub fn kept_values(&self) -> &[(u32, LogValue)] {
        &self.kept_values
    }

    /// The first events of the log.
    #[must_use]
    pub fn kept(&self) -> &[LogEvent] {
        &self.kept
    }

    /// How many reports there were under a model, of all pairs together.
    #[must_use]
    pub fn total(&self, model: Model) -> u64 {
        match &self.sober {
            Some(sober) => sober.found().iter().map(|found| found.count).sum(),
            None => self.monitor(model).map_or(0, |monitor| monitor.total(model)),
        }
    }

    /// How many of them are about pairs that are not listed.
    #[must_use]
    pub fn unlisted(&self, model: Model) -> u64 {
        self.monitor(model).map_or(0, |monitor| monitor.unlisted(model))
    }

    /// Whether stores had to be forgotten to bound memory, so that reports may be missing.
    #[must_use]
    pub fn is_coarse(&self) -> bool {
        self.monitors.iter().any(|(_, monitor)| monitor.is_coarse())
    }

    /// How much memory is in use, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        let monitors: usize = self.monitors.iter().map(|(_, monitor)| monitor.memory()).sum();
        let values = self.kept_values.capacity() * size_of::<(u32, LogValue)>();
        monitors + self.kept.capacity() * size_of::<LogEvent>() + values
    }

    /// How many pairs of source positions were reported under a model.
    #[must_use]
    pub fn pairs(&self, model: Model) -> usize {
        match &self.sober {
            Some(sober) => sober.found().len(),
            None => self.monitor(model).map_or(0, |monitor| monitor.pairs(model)),
        }
    }

    /// The reports under a model so far, not checked again.
    #[must_use]
    pub fn overtakings(&self, model: Model) -> Vec<Overtaking> {
        match &self.sober {
            Some(sober) => sober.found(),
            None => self.monitor(model).map_or(Vec::new(), |monitor| monitor.reports(model)),
        }
    }

    /// The reports under a model, with the runs that show them.
    ///
    /// # Errors
    /// When a run is not accepted: then the report is wrong.
    pub fn reports(&self, tables: &LogTables, model: Model) -> Result<Vec<Shown>, Rejected> {
        let reports = self.overtakings(model);
        let mut work = WORK;
        let mut shown = Vec::with_capacity(reports.len());
        for overtaking in reports {
            let run = match self.sober {
                None => show(&self.kept, tables, model, &overtaking, &mut work)?,
                // SOBER may have other executions of the program in mind.
                Some(_) => None,
            };
            shown.push(Shown { overtaking, run });
        }
        Ok(shown)
    }

    /// The answer under a model when the log has been followed to its end, or to `limit`. It is unknown
    /// if stores had to be forgotten and nothing was reported.
    ///
    /// # Errors
    /// When a run is not accepted, or the monitor is silent where its definition is not.
    pub fn answer(
        &self,
        tables: &LogTables,
        model: Model,
        limit: Option<&Limit>,
    ) -> Result<Certified<Findings>, Rejected> {
        let reports = self.reports(tables, model)?;
        // What was forgotten might have been reported.
        let is_coarse = self.monitor(model).is_some_and(Monitor::is_coarse);
        let forgot = is_coarse.then_some(Limit::Memory(Monitor::MOST_MEMORY));
        let verdict = match (self.total(model), limit.or(forgot.as_ref())) {
            (1.., _) => Verdict::Violated,
            (0, Some(limit)) => Verdict::Unknown(limit.clone()),
            (0, None) => Verdict::Holds,
        };
        let findings = Findings { verdict, reports };
        match (&findings.verdict, findings.evidence().is_some()) {
            // SOBER is about other executions of the program, too, which the log does not know.
            _ if self.sober.is_some() => Ok(Certified::not_checked(findings)),
            (Verdict::Unknown(_), _) => Ok(Certified::not_checked(findings)),
            (Verdict::Violated, true) => Certified::delayed(&self.kept, tables, findings),
            (Verdict::Violated, false) => Ok(Certified::too_large(findings)),
            (Verdict::Holds, _) if (self.kept.len() as u64) < self.events => {
                Ok(Certified::too_large(findings))
            }
            (Verdict::Holds, _) => {
                Certified::silent(&self.kept, tables, (model, self.form), findings)
            }
        }
    }

    fn monitor(&self, model: Model) -> Option<&Monitor> {
        self.monitors.iter().find(|(models, _)| models.contains(&model)).map(|(_, m)| m)
    }
}

/// The run that shows the first occurrence of a report about a log, as far as `events` have it and
/// no more than `work` events have to be gone through for it.
///
/// # Errors
/// When the run is not accepted: then the report is wrong.
pub fn show(
    events: &[LogEvent],
    tables: &LogTables,
    model: Model,
    report: &Overtaking,
    work: &mut usize,
) -> Result<Option<DelayedRun>, Rejected> {
    let access = report.first as usize;
    if access >= events.len() {
        return Ok(None);
    }
    let stores: Vec<usize> = (0..access).filter(|&i| end(&events[i]) == report.store).collect();
    // Stores that are too old were committed, those that are too new do not happen before. Of those
    // in between the last one is taken, which is the one that `Form::Last` is about.
    let (mut low, mut high) = (0, stores.len());
    let mut found = None;
    while low < high {
        let Some(left) = work.checked_sub(access + 1) else { break };
        *work = left;
        let middle = low + (high - low) / 2;
        match search(events, tables, model, stores[middle], access) {
            Ok(run) => {
                found = Some(run);
                low = middle + 1;
            }
            Err(NoRun::Committed) => low = middle + 1,
            Err(NoRun::Unordered) => high = middle,
        }
    }
    if let Some(run) = &found {
        certify::delayed(events, tables, run)?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_forgotten_is_not_known() {
        let tables = LogTables::default();
        let answer = |watch: &Watch| {
            watch.answer(&tables, Model::Tso, None).expect("an answer").verdict.clone()
        };
        let mut watch = Watch::new(&[Model::Tso], Algorithm::Monitor(Form::All));
        assert_eq!(answer(&watch), Verdict::Holds);
        watch.monitors[0].1.forget();
        assert_eq!(answer(&watch), Verdict::Unknown(Limit::Memory(Monitor::MOST_MEMORY)));
    }
}
