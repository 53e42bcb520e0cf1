//! A run from the events of a log, or of a real execution that was executed again.

use weakspot_core::{
    DelayedCommit, DelayedRun, DelayedSource, DelayedValue, End, Known, LogEvent, LogKind,
    LogTables, LogValue, Model,
};

use super::object::{Run, RunArc, RunLate, RunLocation, RunStep, RunThread, RunValue, StepKind};
use super::of_steps::value_of;
use crate::json::model_key;
use crate::text::show::plain;

/// The execution that a log has, or the part of it whose places in the log are given. The numbers of
/// its steps are those of the events, from 1.
#[must_use]
pub fn of_log(
    model: Model,
    tables: &LogTables,
    log: &[LogEvent],
    places: impl IntoIterator<Item = usize>,
) -> Run {
    let mut run = Run::new(model_key(model));
    run.threads = tables.threads.iter().map(|name| RunThread::new(plain(name))).collect();
    for place in places {
        let Some(event) = log.get(place) else { continue };
        // A log may have more threads than it has names.
        for thread in run.threads.len()..=event.thread as usize {
            run.threads.push(RunThread::new(format!("t{thread}")));
        }
        let step = step(tables, place as u64 + 1, event);
        if let Some(location) = &step.location
            && !run.locations.iter().any(|known| known.name == *location)
        {
            run.locations.push(RunLocation::new(location.clone()));
        }
        run.steps.push(step);
    }
    run
}

/// What is read and written in runs with a late store.
#[derive(Clone, Copy, Debug)]
pub enum RunValues<'a> {
    /// In the one run that there is.
    Known(&'a [DelayedValue]),
    /// In the log that all runs are of, by the places of events.
    Logged(&'a [(u32, LogValue)]),
}

impl RunValues<'_> {
    /// What the event at this place reads, if it is an update, and what it reads or writes.
    fn of(
        self,
        place: usize,
        (tables, log): (&LogTables, &[LogEvent]),
        delayed: &DelayedRun,
    ) -> [Option<RunValue>; 2] {
        let logged = match self {
            RunValues::Known(values) => {
                let known = values.iter().find(|known| known.event == place);
                return known.map_or([None, None], |known| {
                    let value =
                        |value: &Known| value_of(value.bits, known.len, value.in_words.as_deref());
                    [known.old.as_ref().map(value), known.value.as_ref().map(value)]
                });
            }
            RunValues::Logged(logged) => logged,
        };
        let at = |place: usize| {
            let found = logged.binary_search_by_key(&place, |&(at, _)| at as usize);
            found.ok().map(|i| logged[i].1)
        };
        let kind = log[place].kind;
        if place != delayed.access || kind == LogKind::Write {
            let old = at(place).and_then(|value| value.old);
            return [old, at(place).map(|value| value.value)].map(|v| v.map(RunValue::Number));
        }
        // Without the late store it reads something else than what was logged.
        let read = match delayed.source(log, tables) {
            Some(DelayedSource::Write(by)) => at(by).map(|value| value.value),
            Some(DelayedSource::Initial(next)) => {
                at(next).and_then(|value| value.old).or_else(|| {
                    let is_read = |e: &LogEvent| e.kind == LogKind::Read && e.loc == log[place].loc;
                    let read = log[..next].iter().position(is_read)?;
                    at(read).map(|value| value.value)
                })
            }
            None => None,
        };
        let read = read.map(RunValue::Number);
        if kind == LogKind::Update { [read, None] } else { [None, read] }
    }
}

/// The run behind a report: the events on its cycle, then the delayed store, and others on the cycle that
/// have to be late with it. `sources`: what stands at the sites of the log, if that is known; `values`: what is read and
/// written in it, as far as it is known.
#[must_use]
pub(crate) fn of_delay(
    tables: &LogTables,
    (log, sources): (&[LogEvent], &[String]),
    delayed: &DelayedRun,
    values: RunValues<'_>,
) -> Run {
    let mut places: Vec<usize> = delayed.cycle.iter().map(|arc| arc.from.index()).collect();
    places.retain(|&place| place < log.len());
    places.sort_unstable();
    places.dedup();
    let mut run = of_log(delayed.model, tables, log, places);
    for step in &mut run.steps {
        let site = log[step.n as usize - 1].site as usize;
        let source = site.checked_sub(1).and_then(|site| sources.get(site));
        step.text =
            source.filter(|s| !s.is_empty()).map(|s| plain(s).into_owned()).or(step.text.take());
        [step.old, step.value] = values.of(step.n as usize - 1, (tables, log), delayed);
    }
    let access = delayed.access as u64 + 1;
    run.init = initial(&run, log, delayed);
    run.cycle = (delayed.cycle.iter())
        .map(|arc| RunArc {
            from: arc.from.index() as u64 + 1,
            to: arc.to.index() as u64 + 1,
            edge: arc.link.name(),
            why: String::new(),
        })
        .collect();
    for store in late(log, delayed) {
        let last = run.steps.last().map_or(0, |step| step.n);
        let Some(late) = run.steps.iter_mut().find(|step| step.n == store) else { continue };
        late.effect = Some(last + 1);
        let mut commit = RunStep::new(last + 1, late.thread, StepKind::Commit);
        commit.location.clone_from(&late.location);
        commit.value.clone_from(&late.value);
        commit.of = Some(store);
        run.steps.push(commit);
        let behind = run.cycle.iter().find(|arc| arc.from == store && arc.edge == "po");
        run.late.push(RunLate { store, behind: behind.map_or(access, |arc| arc.to) });
    }
    run
}

/// What locations held in the beginning, as far as steps read it: nobody has written them before, but for stores that are
/// late.
fn initial(run: &Run, log: &[LogEvent], delayed: &DelayedRun) -> Vec<(String, RunValue)> {
    let late = late(log, delayed);
    let mut init: Vec<(String, RunValue)> = Vec::new();
    for step in &run.steps {
        let read = match step.kind {
            StepKind::Load => &step.value,
            StepKind::Update => &step.old,
            _ => &None,
        };
        let (Some(location), Some(value)) = (&step.location, read) else { continue };
        let place = step.n as usize - 1;
        let is_late = |n: usize| place == delayed.access && late.contains(&(n as u64 + 1));
        let mut writes = log[..place].iter().enumerate().filter(|(_, event)| {
            matches!(event.kind, LogKind::Write | LogKind::Update) && event.loc == log[place].loc
        });
        if writes.all(|(n, _)| is_late(n)) && !init.iter().any(|(known, _)| known == location) {
            init.push((location.clone(), value.clone()));
        }
    }
    init
}

/// The numbers of the stores that reach memory after the access, as far as the run says so, but of the
/// delayed one in any case.
fn late(log: &[LogEvent], delayed: &DelayedRun) -> Vec<u64> {
    let after = delayed.commits.iter().filter(|commit| commit.before > delayed.access);
    let mut late: Vec<u64> = Vec::new();
    for commit in after {
        let earlier = delayed.commits.iter().filter(|c| c.before <= delayed.access);
        let same = |c: &&DelayedCommit| (c.thread, c.loc) == (commit.thread, commit.loc);
        let stores = log.iter().enumerate().filter(|(_, e)| {
            e.kind == LogKind::Write && (e.thread, e.loc) == (commit.thread, commit.loc)
        });
        let mut waiting = stores.skip(earlier.filter(same).count()).map(|(i, _)| i as u64 + 1);
        late.extend(waiting.find(|n| !late.contains(n)));
    }
    if late.is_empty() {
        late.push(delayed.store as u64 + 1);
    }
    late
}

/// The event with this number as a step.
fn step(tables: &LogTables, n: u64, event: &LogEvent) -> RunStep {
    let mut step = RunStep::new(n, event.thread.into(), kind(event.kind));
    if event.kind.is_access() || event.kind == LogKind::Commit {
        step.location = Some(loc_name(tables, event.loc));
    }
    step.text = Some(did(tables, &end(event)));
    if let Some(site) = site(tables, event.site) {
        step.put_at(&plain(site));
    }
    step
}

/// What kind of step an event is.
pub(crate) fn kind(kind: LogKind) -> StepKind {
    match kind {
        LogKind::Read => StepKind::Load,
        LogKind::Write => StepKind::Store,
        LogKind::Update => StepKind::Update,
        LogKind::Acquire => StepKind::Lock,
        LogKind::Release => StepKind::Unlock,
        LogKind::Fence => StepKind::Fence,
        LogKind::StoreFence => StepKind::StoreFence,
        LogKind::Spawn => StepKind::Spawn,
        LogKind::Join => StepKind::Join,
        LogKind::Begin => StepKind::Begin,
        LogKind::End => StepKind::End,
        LogKind::Commit => StepKind::Commit,
    }
}

/// An event as one side of a report.
pub(crate) fn end(event: &LogEvent) -> End {
    let LogEvent { thread, kind, loc, site, .. } = *event;
    End { thread, kind, loc, site }
}

/// `wr x`, `spawn T1`, `fence`.
pub(crate) fn did(tables: &LogTables, end: &End) -> String {
    match end.kind {
        LogKind::Spawn | LogKind::Join => {
            format!("{} {}", end.kind.word(), thread_name(tables, end.loc as u16))
        }
        kind if kind.is_access() || kind == LogKind::Commit => {
            format!("{} {}", end.kind.word(), loc_name(tables, end.loc))
        }
        kind => kind.word().to_owned(),
    }
}

pub(crate) fn site(tables: &LogTables, number: u32) -> Option<&str> {
    tables.sites.get((number as usize).checked_sub(1)?).map(String::as_str)
}

pub(crate) fn thread_name(tables: &LogTables, thread: u16) -> String {
    match tables.threads.get(thread as usize) {
        Some(name) => plain(name).into_owned(),
        None => format!("t{thread}"),
    }
}

pub(crate) fn loc_name(tables: &LogTables, loc: u32) -> String {
    match tables.locs.get(loc as usize) {
        Some(loc) => plain(&loc.name).into_owned(),
        None => format!("location {loc}"),
    }
}
