//! One of the traces of a log while it is followed.

use std::time::Instant;

use weakspot_core::{Limit, LogEvent, LogKind, LogTables, Model};
use weakspot_serial::{BadLog, Follow, Stop};

/// How many events are kept, and how many transactions of an order: 16 MiB.
pub(super) const KEPT: usize = 1 << 20;

/// A trace.
pub(super) struct Current {
    pub(super) id: Option<String>,
    /// Which one, if the log has several.
    pub(super) number: Option<usize>,
    pub(super) follow: Follow,
    /// The names of this trace, which the reader forgets when the next one begins.
    pub(super) tables: LogTables,
    /// The first events.
    pub(super) kept: Vec<LogEvent>,
    /// The reader's time included.
    pub(super) since: Instant,
    pub(super) limit: Option<Limit>,
    /// Under which models a cycle was reported as news.
    pub(super) reported: Vec<Model>,
}

/// What became of some events.
pub(super) enum Taken {
    Fine,
    /// The trace has to be followed again from its beginning, which was not kept.
    Again,
    Bad(BadLog),
}

impl Current {
    pub(super) fn new(
        id: Option<String>,
        number: Option<usize>,
        follow: Follow,
        tables: LogTables,
    ) -> Current {
        Current {
            id,
            number,
            follow,
            tables,
            kept: Vec::new(),
            since: Instant::now(),
            limit: None,
            reported: Vec::new(),
        }
    }

    /// Whether all events so far were kept.
    pub(super) fn is_whole(&self) -> bool {
        self.kept.len() as u64 == self.follow.count()
    }

    /// Whether it is known that nothing was stored but by updates: then the only execution of the
    /// trace is one of SC.
    pub(super) fn has_no_stores(&self) -> bool {
        self.is_whole() && !self.kept.iter().any(|event| event.kind == LogKind::Write)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.follow.bytes() + (self.kept.capacity() * size_of::<LogEvent>()) as u64
    }

    /// Follows the next events, and keeps them if not more than `keep` are kept then. Starts again if
    /// it turns out that there are commits, or that a location cuts others: with what `again` makes
    /// for that.
    pub(super) fn take(
        &mut self,
        events: &[LogEvent],
        tables: &LogTables,
        keep: usize,
        again: &dyn Fn(bool, &LogTables) -> Follow,
    ) -> Taken {
        let was_whole = self.is_whole();
        if was_whole && self.kept.len() + events.len() <= keep {
            self.kept.extend_from_slice(events);
        }
        let is_whole =
            was_whole && self.kept.len() as u64 == self.follow.count() + events.len() as u64;
        self.learn(tables);
        let mut has_commits = self.follow.has_commits();
        let learnt = self.follow.learn(&self.tables);
        let mut stop = learnt.and_then(|()| self.follow.events(events));
        loop {
            match stop {
                Ok(()) => return Taken::Fine,
                Err(Stop::Bad(bad)) => return Taken::Bad(bad),
                Err(Stop::Cut | Stop::HasCommits) if !is_whole => return Taken::Again,
                Err(Stop::HasCommits) => has_commits = true,
                Err(Stop::Cut) => {}
            }
            self.follow = again(has_commits, &self.tables);
            stop = self.follow.events(&self.kept);
        }
    }

    fn learn(&mut self, tables: &LogTables) {
        let mine = &mut self.tables;
        let more = |mine: usize, theirs: usize| mine.min(theirs)..theirs;
        let threads = more(mine.threads.len(), tables.threads.len());
        mine.threads.extend_from_slice(&tables.threads[threads]);
        mine.locs.extend_from_slice(&tables.locs[more(mine.locs.len(), tables.locs.len())]);
        mine.sites.extend_from_slice(&tables.sites[more(mine.sites.len(), tables.sites.len())]);
    }
}
