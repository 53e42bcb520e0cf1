//! From the events of a log to those of executions with transactions, one by one.
//!
//! - A transaction is what stands between `begin` and `end` of a thread, and brackets within belong
//!   to it; outside of brackets, it is the events of the thread with the same number, between which
//!   there are no others; an event with neither is a transaction of its own. A commit belongs to
//!   that of its store.
//! - Locations of bytes are cut where others begin or end, so that those that overlap have variables
//!   in common. An access of a location that consists of several variables becomes an event of each.
//! - Taking and giving back locks are updates. `spawn` is an update of a variable of the new thread,
//!   which reads it, in a transaction of its own, before its first event. At a `join` the thread that
//!   is waited for updates a variable, in a transaction of its own, which is then read. So `spawn`
//!   waits for the stores of its thread and `join` for those of the other one, as in the monitors.
//! - A fence between stores does nothing under TSO.
//!
//! A log that grows may cut a variable that was used before. Then it has to be read again with what
//! is known of its locations by then.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt;

use weakspot_core::{LogEvent, LogKind, LogLoc, LogTables, TxnEvent, TxnKind};

/// Makes events of transactions from those of a log.
pub struct TxnReader {
    /// Whether the log has commits.
    has_commits: bool,
    threads: Vec<Thread>,
    /// Per location its variable if it has one, or else where its list begins in `lists`, and how
    /// many there are.
    locs: Vec<(u32, u32)>,
    lists: Vec<u32>,
    /// The variables of bytes, by their first address: the address behind the last, and the variable.
    cells: BTreeMap<u64, (u128, u32)>,
    vars: u32,
    txns: u32,
    /// The numbers that each thread gave to transactions, the first of them.
    labels: HashSet<(u16, u32)>,
    /// How many events of the log there were.
    events: u64,
}

#[derive(Default)]
struct Thread {
    /// How many brackets are open.
    depth: u32,
    /// The number that the log gives to the transaction, plus one; 0 in brackets and outside of all.
    label: u32,
    txn: u32,
    /// Stores that were not committed.
    pending: VecDeque<Pending>,
    /// Was started and has not done anything since.
    is_new: bool,
    /// Was waited for, and not started again.
    has_ended: bool,
    /// The variables that are used for its start and its end.
    start: Option<u32>,
    end: Option<u32>,
}

struct Pending {
    loc: u32,
    label: u32,
    txn: u32,
    event: u64,
}

/// What the start of a thread and the end of one have in their numbers beyond those of the events of
/// the log that they belong to.
pub(crate) const START: u32 = 1 << 31;
pub(crate) const END: u32 = 1 << 30;

/// How long all lists of variables of locations together may be.
const MOST_LISTED: usize = 1 << 24;

/// So many numbers of transactions are remembered.
const MOST_LABELS: usize = 1 << 12;

/// A new location cuts a variable that is in use already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut;

/// Why a log is none of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadLog {
    /// The event of the log, from 0.
    pub event: u64,
    /// What is wrong.
    pub why: BadEvent,
}

/// What is wrong with an event of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadEvent {
    /// A transaction ends that did not begin.
    NoBegin,
    /// A transaction goes on after something else of its thread.
    Resumed,
    /// A thread goes on that was waited for.
    Ended,
    /// A commit without a store.
    NothingPending,
    /// A commit of another location than that of the oldest store.
    OtherLocation(u64),
    /// A commit of another transaction than that of the oldest store.
    OtherTransaction(u64),
    /// Something that waits until stores are in memory, and this one is not.
    Waits(LogKind, u64),
    /// A store that is never committed.
    NeverCommitted,
    /// There are too many locations that overlap.
    TooMany,
}

impl fmt::Display for BadEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadEvent::NoBegin => f.write_str("`end` of a transaction that did not begin"),
            BadEvent::Resumed => f.write_str(
                "the transaction of this number goes on after something else of the thread; it has to \
                 be in one piece",
            ),
            BadEvent::Ended => f.write_str("the thread goes on although it was waited for by a `join`"),
            BadEvent::NothingPending => {
                f.write_str("`com` although all stores of the thread are in memory")
            }
            BadEvent::OtherLocation(store) => write!(
                f,
                "`com` of another location than that of the thread's oldest pending store, event {}",
                store + 1
            ),
            BadEvent::OtherTransaction(store) => write!(
                f,
                "`com` of another transaction than that of the thread's oldest pending store, event {}",
                store + 1
            ),
            BadEvent::Waits(kind, store) => write!(
                f,
                "`{}` waits for the store of event {}, which is not committed",
                kind.word(),
                store + 1
            ),
            BadEvent::NeverCommitted => f.write_str(
                "the store is never committed: an execution has a `com` for every `wr`, or none at \
                 all",
            ),
            BadEvent::TooMany => f.write_str("too many locations that overlap"),
        }
    }
}

impl TxnReader {
    /// For a log whose first events are about these names. If it has commits, then all of its stores
    /// have to be committed; otherwise there must be none.
    #[must_use]
    pub fn new(has_commits: bool, tables: &LogTables) -> TxnReader {
        let mut reader = TxnReader {
            has_commits,
            threads: Vec::new(),
            locs: Vec::new(),
            lists: Vec::new(),
            cells: BTreeMap::new(),
            vars: 0,
            txns: 0,
            labels: HashSet::new(),
            events: 0,
        };
        reader.cut(&tables.locs);
        reader.add(&tables.locs);
        reader
    }

    /// Goes on with more names.
    ///
    /// # Errors
    /// When a new location cuts a variable. The log has to be read again then.
    pub fn learn(&mut self, tables: &LogTables) -> Result<(), Cut> {
        let new = &tables.locs[self.locs.len().min(tables.locs.len())..];
        if new.is_empty() {
            return Ok(());
        }
        let cuts = |bytes: &weakspot_core::Bytes| {
            let ends = [u128::from(bytes.start), u128::from(bytes.start) + u128::from(bytes.len)];
            ends.into_iter().any(|at| self.cell_around(at).is_some())
        };
        if new.iter().filter_map(|loc| loc.bytes.as_ref()).any(cuts) {
            return Err(Cut);
        }
        // The new ones may cut each other.
        self.cut(new);
        self.add(new);
        Ok(())
    }

    /// How many events of the log there were.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// How many transactions began.
    #[must_use]
    pub fn transactions(&self) -> u32 {
        self.txns
    }

    /// Hands out what an event of the log stands for, each with a number that only what comes from
    /// the same event has, and the commits of a store have that of the store.
    ///
    /// # Errors
    /// When the event does not fit the ones before.
    pub fn event(
        &mut self,
        event: &LogEvent,
        mut give: impl FnMut(TxnEvent, u32),
    ) -> Result<(), BadLog> {
        let number = self.events;
        self.events += 1;
        let unit = number as u32;
        let wrong = |why| Err(BadLog { event: number, why });
        let thread = u32::from(event.thread);
        while self.threads.len() <= event.thread.into() {
            self.threads.push(Thread::default());
        }
        if self.threads[event.thread as usize].has_ended {
            return wrong(BadEvent::Ended);
        }
        if self.threads[event.thread as usize].is_new {
            self.threads[event.thread as usize].is_new = false;
            let var = self.start_var(thread);
            let txn = self.fresh();
            // Units of synthetic events must differ from those of the event itself.
            give(TxnEvent { thread, kind: TxnKind::Read, var, txn }, unit ^ START);
        }
        let state = &mut self.threads[event.thread as usize];
        let kind = match event.kind {
            LogKind::Read => TxnKind::Read,
            LogKind::Write => TxnKind::Write,
            LogKind::Update | LogKind::Acquire | LogKind::Release | LogKind::Spawn => {
                TxnKind::Update
            }
            LogKind::Join => TxnKind::Read,
            LogKind::Fence => TxnKind::Fence,
            LogKind::StoreFence => return Ok(()),
            LogKind::Commit => return self.commit(event, number, give),
            LogKind::Begin => {
                state.depth = state.depth.saturating_add(1);
                if state.depth == 1 {
                    state.label = 0;
                    state.txn = self.txns;
                    self.txns = self.txns.wrapping_add(1);
                }
                return Ok(());
            }
            LogKind::End => {
                let Some(depth) = state.depth.checked_sub(1) else {
                    return wrong(BadEvent::NoBegin);
                };
                state.depth = depth;
                return Ok(());
            }
        };
        if state.depth == 0 && (event.txn == 0 || event.txn != state.label) {
            if event.txn != 0
                && self.labels.len() < MOST_LABELS
                && !self.labels.insert((event.thread, event.txn))
            {
                return wrong(BadEvent::Resumed);
            }
            state.label = event.txn;
            state.txn = self.txns;
            self.txns = self.txns.wrapping_add(1);
        }
        let txn = state.txn;
        if kind.drains()
            && let Some(pending) = state.pending.front()
        {
            return wrong(BadEvent::Waits(event.kind, pending.event));
        }
        match event.kind {
            LogKind::Fence => give(TxnEvent { thread, kind, var: 0, txn }, unit),
            LogKind::Spawn => {
                let var = self.start_var(event.loc);
                let other = &mut self.threads[event.loc as usize];
                (other.is_new, other.has_ended) = (true, false);
                (other.depth, other.label) = (0, 0);
                give(TxnEvent { thread, kind, var, txn }, unit);
            }
            LogKind::Join if event.loc == thread => return wrong(BadEvent::Ended),
            LogKind::Join => {
                let var = self.end_var(event.loc);
                let other = &self.threads[event.loc as usize];
                if let Some(pending) = other.pending.front() {
                    return wrong(BadEvent::Waits(event.kind, pending.event));
                }
                let update = TxnKind::Update;
                let last = TxnEvent { thread: event.loc, kind: update, var, txn: self.fresh() };
                // Its transaction ends with it.
                let other = &mut self.threads[event.loc as usize];
                (other.is_new, other.has_ended) = (false, true);
                (other.depth, other.label) = (0, 0);
                give(last, unit ^ END);
                give(TxnEvent { thread, kind, var, txn }, unit);
            }
            _ => {
                if kind == TxnKind::Write && self.has_commits {
                    let (loc, label) = (event.loc, event.txn);
                    state.pending.push_back(Pending { loc, label, txn, event: number });
                }
                let (var, count) = self.locs.get(event.loc as usize).copied().unwrap_or((0, 0));
                if count == 0 {
                    return wrong(BadEvent::TooMany);
                }
                if count == 1 {
                    give(TxnEvent { thread, kind, var, txn }, unit);
                } else {
                    for &var in &self.lists[var as usize..(var + count) as usize] {
                        give(TxnEvent { thread, kind, var, txn }, unit);
                    }
                }
            }
        }
        Ok(())
    }

    /// After the last event.
    ///
    /// # Errors
    /// When stores are pending.
    pub fn end(&self) -> Result<(), BadLog> {
        let pending = self.threads.iter().filter_map(|thread| thread.pending.front());
        match pending.map(|store| store.event).min() {
            Some(event) => Err(BadLog { event, why: BadEvent::NeverCommitted }),
            None => Ok(()),
        }
    }

    fn commit(
        &mut self,
        event: &LogEvent,
        number: u64,
        mut give: impl FnMut(TxnEvent, u32),
    ) -> Result<(), BadLog> {
        let wrong = |why| Err(BadLog { event: number, why });
        let state = &mut self.threads[event.thread as usize];
        let Some(store) = state.pending.pop_front() else {
            return wrong(BadEvent::NothingPending);
        };
        if store.loc != event.loc {
            return wrong(BadEvent::OtherLocation(store.event));
        }
        if event.txn != 0 && store.label != 0 && event.txn != store.label {
            return wrong(BadEvent::OtherTransaction(store.event));
        }
        let (thread, kind, txn) = (u32::from(event.thread), TxnKind::Commit, store.txn);
        let (var, count) = self.locs[event.loc as usize];
        if count == 1 {
            give(TxnEvent { thread, kind, var, txn }, store.event as u32);
            return Ok(());
        }
        for &var in &self.lists[var as usize..(var + count) as usize] {
            give(TxnEvent { thread, kind, var, txn }, store.event as u32);
        }
        Ok(())
    }

    fn fresh(&mut self) -> u32 {
        let txn = self.txns;
        self.txns = self.txns.wrapping_add(1);
        txn
    }

    fn start_var(&mut self, thread: u32) -> u32 {
        let fresh = self.vars;
        let state = self.thread(thread);
        let var = *state.start.get_or_insert(fresh);
        self.vars += u32::from(var == fresh);
        var
    }

    fn end_var(&mut self, thread: u32) -> u32 {
        let fresh = self.vars;
        let state = self.thread(thread);
        let var = *state.end.get_or_insert(fresh);
        self.vars += u32::from(var == fresh);
        var
    }

    fn thread(&mut self, thread: u32) -> &mut Thread {
        while self.threads.len() <= thread as usize {
            self.threads.push(Thread::default());
        }
        &mut self.threads[thread as usize]
    }

    /// The variable of bytes that this address lies within, but for its first byte.
    fn cell_around(&self, at: u128) -> Option<u64> {
        let below = u64::try_from(at).ok().map_or(u64::MAX, |at| at);
        let (&start, &(end, _)) = self.cells.range(..=below).next_back()?;
        (u128::from(start) < at && at < end).then_some(start)
    }

    /// Makes variables of the bytes of new locations that no variable has. Those that have one are
    /// not cut by them.
    fn cut(&mut self, new: &[LogLoc]) {
        let ends = |loc: &LogLoc| {
            let bytes = loc.bytes?;
            let start = u128::from(bytes.start);
            Some((start, start + u128::from(bytes.len)))
        };
        let mut cuts: Vec<u128> = Vec::new();
        for (start, end) in new.iter().filter_map(ends) {
            cuts.extend([start, end]);
        }
        if cuts.is_empty() {
            return;
        }
        cuts.sort_unstable();
        cuts.dedup();
        // How many locations cover what follows each cut.
        let index = |at: u128| cuts.binary_search(&at).unwrap_or_else(|at| at);
        let mut covers = vec![0i64; cuts.len() + 1];
        for (start, end) in new.iter().filter_map(ends) {
            covers[index(start)] += 1;
            covers[index(end)] -= 1;
        }
        let mut covered = 0;
        for at in 0..cuts.len().saturating_sub(1) {
            covered += covers[at];
            if covered > 0 {
                self.fill(cuts[at], cuts[at + 1]);
            }
        }
    }

    /// Makes variables of the bytes from `start` to `end` that have none.
    fn fill(&mut self, start: u128, end: u128) {
        let mut at = start;
        while at < end {
            let Ok(first) = u64::try_from(at) else { return };
            let next = self.cells.range(first..).next();
            match next.map(|(&start, &(end, _))| (u128::from(start), end)) {
                Some((start, behind)) if start == at => at = behind,
                next => {
                    let stop = next.map_or(end, |(start, _)| start.min(end));
                    self.cells.insert(first, (stop, self.vars));
                    self.vars = self.vars.saturating_add(1);
                    at = stop;
                }
            }
        }
    }

    fn add(&mut self, new: &[LogLoc]) {
        for loc in new {
            let entry = match loc.bytes {
                None => {
                    self.vars = self.vars.saturating_add(1);
                    (self.vars - 1, 1)
                }
                Some(bytes) => {
                    let end = u128::from(bytes.start) + u128::from(bytes.len);
                    let within = self.cells.range(bytes.start..);
                    let within = within.take_while(|&(&start, _)| u128::from(start) < end);
                    let before = self.lists.len();
                    let room = MOST_LISTED + 1 - before;
                    self.lists.extend(within.take(room).map(|(_, &(_, var))| var));
                    match self.lists[before..] {
                        _ if self.lists.len() > MOST_LISTED => {
                            self.lists.truncate(before);
                            (0, 0)
                        }
                        [var] => {
                            self.lists.truncate(before);
                            (var, 1)
                        }
                        _ => (before as u32, (self.lists.len() - before) as u32),
                    }
                }
            };
            self.locs.push(entry);
        }
    }
}
