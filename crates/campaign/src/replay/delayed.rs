//! What is read and written in a run in which a store is late: the values of an execution that was executed again under
//! SC, but for the access that overtakes the store, which reads what memory has without it.

use std::collections::{HashMap, VecDeque};

use weakspot_core::{DelayedCommit, DelayedRun, DelayedValue, Known, LogEvent, LogKind, LogTables};
use weakspot_live::wire::TracedStep;

use crate::replay::log::Logged;
use crate::replay::names::Names;

/// Of more bytes than this only a digest is known.
const LARGEST: u32 = 8;

/// The values of the events on the run's cycle, as far as they are known.
pub(crate) fn values(
    run: &DelayedRun,
    logged: &Logged,
    steps: &[TracedStep],
    names: &Names<'_>,
) -> Vec<DelayedValue> {
    let Logged { tables, events, .. } = logged;
    let step = |event: usize| steps.get(*logged.steps.get(event)?);
    let mut places: Vec<usize> = run.cycle.iter().map(|arc| arc.from.index()).collect();
    places.sort_unstable();
    places.dedup();
    let value = |event: usize| {
        let (traced, kind) = (step(event)?, events.get(event)?.kind);
        let is_access = matches!(kind, LogKind::Read | LogKind::Write | LogKind::Update);
        if !is_access || traced.len > LARGEST {
            return None;
        }
        let (mut old, mut value) = (traced.old, traced.value);
        if event == run.access && kind != LogKind::Write {
            let read = match source(events, tables, run)? {
                Source::Write(by) => step(by).and_then(|traced| traced.value),
                Source::Initial(next) => step(next).and_then(|traced| traced.old),
            };
            // What an update would make of another value is not known.
            (old, value) = if kind == LogKind::Update { (read, None) } else { (None, read) };
        } else if kind != LogKind::Update {
            old = None;
        }
        let location = names.data(traced.addr, u64::from(traced.len));
        let known = |bits: u64| {
            let in_words = names.value_in_words(traced.addr, traced.len, bits, Some(&location));
            Known { bits, in_words }
        };
        let (old, value) = (old.map(known), value.map(known));
        Some(DelayedValue { event, len: traced.len, old, value })
    };
    places.into_iter().filter_map(value).collect()
}

/// Where the access of a run reads from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// From this event.
    Write(usize),
    /// What was there before this event, the first one to write there.
    Initial(usize),
}

/// The access reads what its thread has written last and what still waits, or else what is in memory. Nothing is known if
/// accesses to these bytes overlap in part, unless those to others are over: they initialise what these are a part of.
fn source(events: &[LogEvent], tables: &LogTables, run: &DelayedRun) -> Option<Source> {
    let access = events.get(run.access)?;
    let before = &events[..run.access];
    let writes = |event: &LogEvent| matches!(event.kind, LogKind::Write | LogKind::Update);
    let first = before.iter().position(|event| writes(event) && event.loc == access.loc);
    let overlaps =
        |e: &LogEvent| writes(e) && e.loc != access.loc && tables.overlap(e.loc, access.loc);
    let is_over = |(place, event): (usize, &LogEvent)| {
        let same = |e: &&LogEvent| (e.thread, e.loc) == (event.thread, event.loc);
        let stores = before.iter().filter(same).filter(|e| e.kind == LogKind::Write).count();
        let of_it = |c: &&DelayedCommit| (c.thread, c.loc) == (event.thread, event.loc);
        let commits = run.commits.iter().filter(|c| c.before <= run.access).filter(of_it).count();
        first.is_some_and(|first| place < first) && commits >= stores
    };
    if !before.iter().enumerate().filter(|(_, event)| overlaps(event)).all(is_over) {
        return None;
    }
    let mut waiting: HashMap<u16, VecDeque<usize>> = HashMap::new();
    let mut memory = None;
    let mut commits = run.commits.iter().peekable();
    for (place, event) in events.iter().enumerate().take(run.access + 1) {
        while let Some(commit) = commits.next_if(|commit| commit.before <= place) {
            if commit.loc == access.loc {
                memory = waiting.get_mut(&commit.thread).and_then(VecDeque::pop_front).or(memory);
            }
        }
        match event.kind {
            _ if place == run.access || event.loc != access.loc => {}
            LogKind::Write => waiting.entry(event.thread).or_default().push_back(place),
            LogKind::Update => memory = Some(place),
            _ => {}
        }
    }
    let own = waiting.get(&access.thread).and_then(VecDeque::back).copied();
    own.or(memory).map(Source::Write).or(first.map(Source::Initial))
}

#[cfg(test)]
mod tests {
    use weakspot_core::{
        Bytes, DelayedCommit, DelayedRun, LogEvent, LogKind, LogLoc, LogTables, Model,
    };

    use super::{Source, source};

    /// Where the last of these events reads from: thread, kind and location of each; commits of threads' stores to
    /// location 0, each before an event.
    fn check(events: &[(u16, LogKind)], commits: &[(usize, u16)], expected: Source) {
        let events: Vec<LogEvent> =
            events.iter().map(|&(t, kind)| LogEvent::new(t, kind, 0)).collect();
        let commit = |&(before, thread): &(usize, u16)| DelayedCommit { before, thread, loc: 0 };
        let run = DelayedRun {
            model: Model::Tso,
            store: 0,
            access: events.len() - 1,
            commits: commits.iter().map(commit).collect(),
            cycle: Vec::new(),
        };
        assert_eq!(source(&events, &LogTables::default(), &run), Some(expected));
    }

    #[test]
    fn what_is_read_without_late_stores() {
        use LogKind::{Read, Update, Write};
        check(&[(1, Write), (2, Read)], &[], Source::Initial(0));
        check(&[(1, Write), (2, Read)], &[(1, 1)], Source::Write(0));
        check(&[(1, Write), (1, Write), (2, Read)], &[(2, 1)], Source::Write(0));
        check(&[(2, Write), (1, Write), (2, Read)], &[(2, 1)], Source::Write(0));
        check(&[(2, Write), (1, Write), (2, Update)], &[(1, 2)], Source::Write(0));
        check(&[(3, Update), (1, Write), (2, Read)], &[], Source::Write(0));
    }

    /// What initialises more than is read later says nothing against what is read, once it is in memory.
    #[test]
    fn parts_of_what_was_initialised() {
        use LogKind::{Read, Write};
        let bytes = |start, len| LogLoc { name: String::new(), bytes: Some(Bytes { start, len }) };
        let locs = vec![bytes(8, 4), bytes(0, 16)];
        let tables = LogTables { locs, ..LogTables::default() };
        let read_from = |events: &[(LogKind, u32)], commits: &[usize]| {
            let events: Vec<LogEvent> =
                events.iter().map(|&(kind, loc)| LogEvent::new(1, kind, loc)).collect();
            let access = events.len();
            let events = [&events[..], &[LogEvent::new(2, Read, 0)]].concat();
            let commit = |&before: &usize| DelayedCommit { before, thread: 1, loc: 1 };
            let commits = commits.iter().map(commit).collect();
            let run =
                DelayedRun { model: Model::Tso, store: 1, access, commits, cycle: Vec::new() };
            source(&events, &tables, &run)
        };
        assert_eq!(read_from(&[(Write, 1), (Write, 0)], &[1]), Some(Source::Initial(1)));
        // It is late, too; or it comes in between; or nobody knows what was there.
        assert_eq!(read_from(&[(Write, 1), (Write, 0)], &[9]), None);
        assert_eq!(read_from(&[(Write, 0), (Write, 1)], &[2]), None);
        assert_eq!(read_from(&[(Write, 1)], &[1]), None);
    }
}
