//! What the access reads that overtakes a late store.

use std::collections::{HashMap, VecDeque};

use crate::{DelayedCommit, DelayedRun, LogEvent, LogKind, LogTables};

/// Where the access of a run reads from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayedSource {
    /// From this event.
    Write(usize),
    /// What was there before this event, the first one to write there.
    Initial(usize),
}

impl DelayedRun {
    /// The access reads what its thread has written last and what still waits, or else what is in memory. Nothing is known if
    /// accesses to these bytes overlap in part, unless those to others are over: they initialise what these are a part of.
    #[must_use]
    pub fn source(&self, events: &[LogEvent], tables: &LogTables) -> Option<DelayedSource> {
        let access = events.get(self.access)?;
        let before = &events[..self.access];
        let writes = |event: &LogEvent| matches!(event.kind, LogKind::Write | LogKind::Update);
        let first = before.iter().position(|event| writes(event) && event.loc == access.loc);
        let overlaps =
            |e: &LogEvent| writes(e) && e.loc != access.loc && tables.overlap(e.loc, access.loc);
        let is_over = |(place, event): (usize, &LogEvent)| {
            let same = |e: &&LogEvent| (e.thread, e.loc) == (event.thread, event.loc);
            let stores = before.iter().filter(same).filter(|e| e.kind == LogKind::Write).count();
            let of_it = |c: &&DelayedCommit| (c.thread, c.loc) == (event.thread, event.loc);
            let commits =
                self.commits.iter().filter(|c| c.before <= self.access).filter(of_it).count();
            first.is_some_and(|first| place < first) && commits >= stores
        };
        if !before.iter().enumerate().filter(|(_, event)| overlaps(event)).all(is_over) {
            return None;
        }
        let mut waiting: HashMap<u16, VecDeque<usize>> = HashMap::new();
        let mut memory = None;
        let mut commits = self.commits.iter().peekable();
        for (place, event) in events.iter().enumerate().take(self.access + 1) {
            while let Some(commit) = commits.next_if(|commit| commit.before <= place) {
                if commit.loc == access.loc {
                    memory =
                        waiting.get_mut(&commit.thread).and_then(VecDeque::pop_front).or(memory);
                }
            }
            match event.kind {
                _ if place == self.access || event.loc != access.loc => {}
                LogKind::Write => waiting.entry(event.thread).or_default().push_back(place),
                LogKind::Update => memory = Some(place),
                _ => {}
            }
        }
        let own = waiting.get(&access.thread).and_then(VecDeque::back).copied();
        own.or(memory).map(DelayedSource::Write).or(first.map(DelayedSource::Initial))
    }
}

#[cfg(test)]
mod tests {
    use super::DelayedSource as Source;
    use crate::{Bytes, DelayedCommit, DelayedRun, LogEvent, LogKind, LogLoc, LogTables, Model};

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
        assert_eq!(run.source(&events, &LogTables::default()), Some(expected));
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
            run.source(&events, &tables)
        };
        assert_eq!(read_from(&[(Write, 1), (Write, 0)], &[1]), Some(Source::Initial(1)));
        // It is late, too; or it comes in between; or nobody knows what was there.
        assert_eq!(read_from(&[(Write, 1), (Write, 0)], &[9]), None);
        assert_eq!(read_from(&[(Write, 0), (Write, 1)], &[2]), None);
        assert_eq!(read_from(&[(Write, 1)], &[1]), None);
    }
}
