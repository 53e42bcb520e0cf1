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

mod labels;
mod variables;

use std::collections::VecDeque;
use std::fmt;

use super::{TxnEvent, TxnKind};
use crate::{LogEvent, LogKind, LogTables};

use labels::{Label, Labels};
pub use variables::Cut;
use variables::Variables;

/// Makes events of transactions from those of a log.
pub struct TxnReader {
    /// Whether the log has commits.
    has_commits: bool,
    threads: Vec<Thread>,
    variables: Variables,
    txns: u32,
    /// For how many numbers of transactions there is room in the threads.
    label_room: usize,
    /// How many events of the log there were.
    events: u64,
    /// The threads whose transactions are over since the last event.
    over: Vec<u32>,
    /// How many transactions are only the start of a thread, or the end of one.
    asides: u32,
    /// Whether some transaction has brackets or a number.
    is_marked: bool,
    /// Brackets that were open when their thread was waited for: the first few, by `begin`.
    unended: Vec<(u16, u64)>,
}

#[derive(Default)]
struct Thread {
    /// How many brackets are open.
    depth: u32,
    /// The event that opened the outermost of them.
    began: u64,
    /// The number that the log gives to the transaction, plus one; 0 in brackets and outside of all.
    label: u32,
    txn: u32,
    /// Was started or waited for: its next event is not like others.
    is_odd: bool,
    /// Stores that were not committed.
    pending: VecDeque<Pending>,
    /// The numbers that it gave to transactions.
    labels: Labels,
    /// Was started and has not done anything since.
    is_new: bool,
    /// Was waited for, and not started again.
    has_ended: bool,
    /// The variables that are used for its start and its end.
    start: Option<u32>,
    end: Option<u32>,
}

impl Thread {
    /// Its oldest store reaches memory, if this is its commit.
    #[inline]
    fn commit(&mut self, event: &LogEvent) -> Result<Pending, BadEvent> {
        let Some(store) = self.pending.pop_front() else {
            return Err(BadEvent::NothingPending);
        };
        if store.loc != event.loc {
            return Err(BadEvent::OtherLocation(store.event));
        }
        if event.txn != 0 && store.label != 0 && event.txn != store.label {
            return Err(BadEvent::OtherTransaction(store.event));
        }
        Ok(store)
    }
}

struct Pending {
    loc: u32,
    label: u32,
    txn: u32,
    event: u64,
}

/// What the start of a thread has in its number beyond that of the event of the log that it belongs to.
pub const START: u32 = 1 << 31;
/// The same for the end of one.
pub const END: u32 = 1 << 30;

/// So many numbers of transactions are remembered that do not follow the one before.
const MOST_LABELS: usize = 1 << 20;

/// So many transactions are remembered that were open when their thread was waited for.
const MOST_UNENDED: usize = 16;

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
    /// It cannot be known whether a transaction goes on after something else of its thread.
    PerhapsResumed,
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
            BadEvent::PerhapsResumed => write!(
                f,
                "the thread has given a larger number to a transaction before; after {MOST_LABELS} \
                 transactions the numbers of a thread have to rise, so that it is known that none of \
                 them goes on after something else"
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
            variables: Variables::default(),
            txns: 0,
            label_room: MOST_LABELS,
            events: 0,
            over: Vec::new(),
            asides: 0,
            is_marked: false,
            unended: Vec::new(),
        };
        // Nothing is there to be cut.
        let _ = reader.variables.learn(&tables.locs);
        reader
    }

    /// Goes on with more names.
    ///
    /// # Errors
    /// When a new location cuts a variable. The log has to be read again then.
    pub fn learn(&mut self, tables: &LogTables) -> Result<(), Cut> {
        self.variables.learn(&tables.locs)
    }

    /// How many events of the log there were.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// How many transactions began, but for those that are only the start or the end of a thread.
    #[must_use]
    pub fn transactions(&self) -> u32 {
        self.txns.wrapping_sub(self.asides)
    }

    /// Whether some transaction has brackets or a number.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.is_marked
    }

    /// The transactions that began with a bracket and have not ended, by thread and event: those of
    /// threads that were waited for, of which the first few are remembered, and those that are open.
    #[must_use]
    pub fn unended(&self) -> Vec<(u16, u64)> {
        let open = self.threads.iter().enumerate().filter(|(_, state)| state.depth > 0);
        let open = open.map(|(thread, state)| (thread as u16, state.began));
        let mut all: Vec<(u16, u64)> = self.unended.iter().copied().chain(open).collect();
        all.sort_unstable_by_key(|&(_, began)| began);
        all
    }

    /// The event, without its number if that does not count because the event is in brackets.
    #[must_use]
    pub fn labelled(&self, event: &LogEvent) -> LogEvent {
        let in_brackets =
            self.threads.get(event.thread as usize).is_some_and(|state| state.depth > 0);
        if in_brackets { LogEvent { txn: 0, ..*event } } else { *event }
    }

    /// The threads whose transactions are known to be over with the last event.
    #[must_use]
    pub fn over(&self) -> &[u32] {
        &self.over
    }

    /// Hands out what an event of the log stands for, each with a number that only what comes from
    /// the same event has, and the commits of a store have that of the store.
    ///
    /// # Errors
    /// When the event does not fit the ones before.
    #[inline]
    pub fn event(
        &mut self,
        event: &LogEvent,
        mut give: impl FnMut(TxnEvent, u32),
    ) -> Result<(), BadLog> {
        let kind = match event.kind {
            LogKind::Read => TxnKind::Read,
            LogKind::Write => TxnKind::Write,
            LogKind::Commit => TxnKind::Commit,
            _ => return self.other_event(event, give),
        };
        let number = self.events;
        self.events += 1;
        self.over.clear();
        if self.threads.get(event.thread as usize).is_none_or(|state| state.is_odd) {
            self.arrive(event.thread, number as u32, &mut give)
                .map_err(|why| BadLog { event: number, why })?;
        }
        let state = &mut self.threads[event.thread as usize];
        let (mut unit, mut txn) = (number as u32, state.txn);
        if kind == TxnKind::Commit {
            let store = state.commit(event).map_err(|why| BadLog { event: number, why })?;
            (unit, txn) = (store.event as u32, store.txn);
        } else {
            if state.depth == 0 && (event.txn == 0 || event.txn != state.label) {
                txn = self.next_txn(event, number)?;
            }
            if kind == TxnKind::Write && self.has_commits {
                let (loc, label) = (event.loc, event.txn);
                let state = &mut self.threads[event.thread as usize];
                state.pending.push_back(Pending { loc, label, txn, event: number });
            }
        }
        self.access(event, TxnEvent { thread: event.thread.into(), kind, var: 0, txn }, unit, give)
            .map_err(|why| BadLog { event: number, why })
    }

    /// An event that is more than a load or a store.
    fn other_event(
        &mut self,
        event: &LogEvent,
        mut give: impl FnMut(TxnEvent, u32),
    ) -> Result<(), BadLog> {
        let number = self.events;
        self.events += 1;
        self.over.clear();
        let unit = number as u32;
        let wrong = |why| Err(BadLog { event: number, why });
        if self.threads.get(event.thread as usize).is_none_or(|state| state.is_odd) {
            // A thread that does nothing notices nothing of its start.
            let does_nothing =
                matches!(event.kind, LogKind::Begin | LogKind::End | LogKind::StoreFence);
            let arrived = match does_nothing {
                true if self.thread(event.thread.into()).has_ended => Err(BadEvent::Ended),
                true => Ok(()),
                false => self.arrive(event.thread, unit, &mut give),
            };
            arrived.map_err(|why| BadLog { event: number, why })?;
        }
        let thread = u32::from(event.thread);
        let state = &mut self.threads[event.thread as usize];
        let kind = match event.kind {
            LogKind::Join => TxnKind::Read,
            LogKind::Fence => TxnKind::Fence,
            LogKind::StoreFence => return Ok(()),
            LogKind::Begin => {
                state.depth = state.depth.saturating_add(1);
                if state.depth == 1 {
                    self.is_marked = true;
                    state.began = number;
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
                if depth == 0 {
                    self.over.push(thread);
                }
                return Ok(());
            }
            _ => TxnKind::Update,
        };
        let mut txn = state.txn;
        if state.depth == 0 && (event.txn == 0 || event.txn != state.label) {
            txn = self.next_txn(event, number)?;
        }
        let state = &mut self.threads[event.thread as usize];
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
                (other.is_new, other.has_ended, other.is_odd) = (true, false, true);
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
                if other.depth > 0 && self.unended.len() < MOST_UNENDED {
                    self.unended.push((event.loc as u16, other.began));
                }
                (other.is_new, other.has_ended, other.is_odd) = (false, true, true);
                (other.depth, other.label) = (0, 0);
                self.over.push(event.loc);
                give(last, unit ^ END);
                give(TxnEvent { thread, kind, var, txn }, unit);
            }
            _ => {
                let access = TxnEvent { thread, kind, var: 0, txn };
                return self
                    .access(event, access, unit, give)
                    .map_err(|why| BadLog { event: number, why });
            }
        }
        Ok(())
    }

    /// The first event of a thread, or the first one after its start, or after its end, which must
    /// not be.
    #[cold]
    fn arrive(
        &mut self,
        thread: u16,
        unit: u32,
        give: &mut impl FnMut(TxnEvent, u32),
    ) -> Result<(), BadEvent> {
        let thread = u32::from(thread);
        let state = self.thread(thread);
        if state.has_ended {
            return Err(BadEvent::Ended);
        }
        state.is_odd = false;
        if std::mem::take(&mut state.is_new) {
            let var = self.start_var(thread);
            let txn = self.fresh();
            // What belongs to the start must differ from the event itself.
            give(TxnEvent { thread, kind: TxnKind::Read, var, txn }, unit ^ START);
        }
        Ok(())
    }

    /// The next transaction of a thread, outside of brackets.
    fn next_txn(&mut self, event: &LogEvent, number: u64) -> Result<u32, BadLog> {
        let state = &mut self.threads[event.thread as usize];
        if event.txn != 0 {
            self.is_marked = true;
            let why = match state.labels.add(event.txn, &mut self.label_room) {
                Label::New => None,
                Label::Used => Some(BadEvent::Resumed),
                Label::Unknown => Some(BadEvent::PerhapsResumed),
            };
            if let Some(why) = why {
                return Err(BadLog { event: number, why });
            }
        }
        if event.txn == 0 {
            self.over.push(event.thread.into());
        }
        state.label = event.txn;
        state.txn = self.txns;
        self.txns = self.txns.wrapping_add(1);
        Ok(state.txn)
    }

    /// An access of the variables of a location.
    #[inline]
    fn access(
        &self,
        event: &LogEvent,
        access: TxnEvent,
        unit: u32,
        mut give: impl FnMut(TxnEvent, u32),
    ) -> Result<(), BadEvent> {
        let give = |var| give(TxnEvent { var, ..access }, unit);
        if self.variables.each(event.loc, give) { Ok(()) } else { Err(BadEvent::TooMany) }
    }

    /// The transactions that go on, because events of theirs may come.
    pub fn open_transactions(&self) -> impl Iterator<Item = u32> {
        self.threads.iter().map(|state| state.txn)
    }

    /// The stores that are pending, by the numbers of their events, and their transactions.
    pub fn open_stores(&self) -> impl Iterator<Item = (u64, u32)> {
        let pending = self.threads.iter().flat_map(|state| &state.pending);
        pending.map(|store| (store.event, store.txn))
    }

    /// The memory that numbers of transactions take.
    pub fn bytes(&self) -> u64 {
        self.threads.iter().map(|state| state.labels.bytes() as u64).sum()
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

    /// The transaction of the start of a thread, or of its end.
    fn fresh(&mut self) -> u32 {
        let txn = self.txns;
        self.txns = self.txns.wrapping_add(1);
        self.asides = self.asides.wrapping_add(1);
        txn
    }

    fn start_var(&mut self, thread: u32) -> u32 {
        let known = self.thread(thread).start;
        let var = known.unwrap_or_else(|| self.variables.fresh());
        *self.thread(thread).start.insert(var)
    }

    fn end_var(&mut self, thread: u32) -> u32 {
        let known = self.thread(thread).end;
        let var = known.unwrap_or_else(|| self.variables.fresh());
        *self.thread(thread).end.insert(var)
    }

    fn thread(&mut self, thread: u32) -> &mut Thread {
        while self.threads.len() <= thread as usize {
            self.threads.push(Thread::default());
        }
        &mut self.threads[thread as usize]
    }
}
