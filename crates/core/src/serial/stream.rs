//! Checks of what answers about executions with transactions come with, event by event, in one pass
//! and without a graph: a cycle against the definition of conflicts, and an order of the transactions
//! against all conflicts that there are.
//!
//! Both take the events one by one, so that an execution that fits no memory can be read again for
//! them. The cycle needs what the definition asks about its own events only: which write a read of
//! the same thread could see, whether that was in the buffer, and when it was committed. The order
//! needs, per thread and per variable, the last place of what the next event conflicts with. Cost:
//! a look into a table per event; memory per thread and variable, and for the order per transaction.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{BufferedReads, Conflicts, TxnCycle, TxnEvent, TxnKind};
use crate::Verdict;
use crate::evidence::rejected::Rejected;

/// What both checks know about the execution so far.
#[derive(Default)]
struct Past {
    threads: HashMap<u32, Thread>,
    /// Per variable the thread whose value is in memory.
    memory: HashMap<u32, u32>,
    /// The number of the next event.
    now: u64,
}

#[derive(Default)]
struct Thread {
    /// The writes in the buffer.
    buffer: VecDeque<Buffered>,
    /// The last fence or update.
    drained: Option<u64>,
    /// Per variable the last write or update.
    own: HashMap<u32, u64>,
}

/// A write in a buffer.
struct Buffered {
    at: u64,
    event: TxnEvent,
    /// For the order: the last place of another thread's commit when it was issued.
    before: Place,
    /// For the order: the last place of a read that saw it.
    read: Place,
}

/// What a read found of a write of its own thread that no fence came after.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OwnWrite {
    /// There is none.
    None,
    /// Its value.
    Found,
    /// Another thread's value, which was written over it.
    Overwritten,
}

impl OwnWrite {
    /// Whether the read counts as one of the buffer.
    fn is_buffered(self, reads: BufferedReads) -> bool {
        match self {
            OwnWrite::None => false,
            OwnWrite::Found => true,
            OwnWrite::Overwritten => reads == BufferedReads::Static,
        }
    }
}

/// What an event found.
struct Found {
    /// For a read: whether it counts as one of the buffer.
    own: OwnWrite,
    /// For a read: whether that write is in the buffer, and where.
    pending: Option<usize>,
    /// For a commit: its write.
    write: Option<Buffered>,
}

impl Past {
    /// Takes the next event, which has to be one that TSO allows; writes of executions without
    /// commits are not put into buffers.
    fn take(&mut self, has_commits: bool, event: TxnEvent) -> Result<Found, Rejected> {
        let now = self.now;
        self.now += 1;
        let wrong = |why| Err(Rejected::Transactions(now, why));
        let mut found = Found { own: OwnWrite::None, pending: None, write: None };
        if !has_commits {
            return match event.kind {
                TxnKind::Commit => wrong("a commit in an execution of SC"),
                _ => Ok(found),
            };
        }
        let thread = self.threads.entry(event.thread).or_default();
        match event.kind {
            TxnKind::Read => {
                if let Some(&own) = thread.own.get(&event.var) {
                    found.pending = thread.buffer.binary_search_by_key(&own, |w| w.at).ok();
                    if thread.drained.is_none_or(|drained| drained < own) {
                        let is_there = found.pending.is_some()
                            || self.memory.get(&event.var) == Some(&event.thread);
                        found.own = match is_there {
                            true => OwnWrite::Found,
                            false => OwnWrite::Overwritten,
                        };
                    }
                }
            }
            TxnKind::Write => {
                let (before, read) = (Place::NONE, Place::NONE);
                thread.buffer.push_back(Buffered { at: now, event, before, read });
                thread.own.insert(event.var, now);
            }
            TxnKind::Commit => match thread.buffer.pop_front() {
                Some(write) if (write.event.var, write.event.txn) == (event.var, event.txn) => {
                    found.write = Some(write);
                    self.memory.insert(event.var, event.thread);
                }
                _ => return wrong("a commit that is not of the oldest store in the buffer"),
            },
            TxnKind::Update | TxnKind::Fence if !thread.buffer.is_empty() => {
                return wrong("a fence or update while stores are in the buffer");
            }
            TxnKind::Update | TxnKind::Fence => {
                thread.drained = Some(now);
                if event.kind == TxnKind::Update {
                    thread.own.insert(event.var, now);
                    self.memory.insert(event.var, event.thread);
                }
            }
        }
        Ok(found)
    }
}

/// Says that the events of an execution have gone through a check, and what that shows. Only the
/// checks make it, for [`Certified::passed`](crate::Certified::passed).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    shows: Verdict,
}

impl Passed {
    /// The verdict: a cycle violates what was asked, an order shows that it holds.
    pub(crate) fn shows(&self) -> &Verdict {
        &self.shows
    }
}

/// Whether a cycle is one of an execution: each pair of events conflicts, the earlier one first,
/// they belong to different transactions, and the second of each pair and the first of the next to
/// the same one.
pub struct CycleCheck<'a> {
    relation: Conflicts,
    cycle: &'a TxnCycle,
    wanted: HashSet<u64>,
    met: CycleLog,
}

/// What the definition asks about the events of an execution, noted while it goes on, for cycles
/// that are found later. What no cycle will be about may be [forgotten](CycleLog::retain).
pub struct CycleLog {
    has_commits: bool,
    past: Past,
    /// By their numbers, which rise.
    met: Vec<(u64, Met)>,
    /// The writes that some events saw, or that are some of them, until they are committed: per
    /// write the events that ask for its commit.
    asked: HashMap<u64, Vec<u64>>,
}

struct Met {
    event: TxnEvent,
    own: OwnWrite,
    /// For a read of a pending write: when that was issued. For a write: itself.
    issued: Option<u64>,
    /// When that write was committed; later than everything that was met if it was not.
    committed: u64,
}

impl<'a> CycleCheck<'a> {
    /// Before the first event.
    #[must_use]
    pub fn new(relation: Conflicts, cycle: &'a TxnCycle) -> CycleCheck<'a> {
        let wanted = cycle.0.iter().flat_map(|&(a, b)| [a, b]).collect();
        CycleCheck { relation, cycle, wanted, met: CycleLog::new(relation != Conflicts::Sc) }
    }

    /// The next event.
    ///
    /// # Errors
    /// When TSO does not allow it here.
    pub fn event(&mut self, event: TxnEvent) -> Result<(), Rejected> {
        let notes = self.wanted.contains(&self.met.past.now);
        self.met.take(event, notes)
    }

    /// After all events, or after those of the cycle.
    ///
    /// # Errors
    /// If the claimed cycle is not a cycle.
    pub fn end(&self) -> Result<Passed, Rejected> {
        self.met.check(self.relation, self.cycle)
    }
}

impl CycleLog {
    /// Before the first event of an execution, of SC if it has no commits.
    #[must_use]
    pub fn new(has_commits: bool) -> CycleLog {
        CycleLog { has_commits, past: Past::default(), met: Vec::new(), asked: HashMap::new() }
    }

    /// The next event.
    ///
    /// # Errors
    /// When TSO does not allow it here.
    pub fn event(&mut self, event: TxnEvent) -> Result<(), Rejected> {
        self.take(event, true)
    }

    /// From now on cycles are about these events and later ones only.
    pub fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        self.met.retain(|&(event, _)| keep(event));
        for asking in self.asked.values_mut() {
            asking.retain(|&event| keep(event));
        }
        self.asked.retain(|_, asking| !asking.is_empty());
    }

    /// Number of recorded events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.met.len()
    }

    /// Whether no event is recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.met.is_empty()
    }

    fn take(&mut self, event: TxnEvent, notes: bool) -> Result<(), Rejected> {
        let now = self.past.now;
        let found = self.past.take(self.has_commits, event)?;
        if let Some(write) = &found.write {
            for asking in self.asked.remove(&write.at).into_iter().flatten() {
                if let Ok(at) = self.met.binary_search_by_key(&asking, |&(event, _)| event) {
                    self.met[at].1.committed = now;
                }
            }
        }
        if !notes {
            return Ok(());
        }
        let thread = self.past.threads.get(&event.thread);
        let issued = match event.kind {
            TxnKind::Write => Some(now).filter(|_| self.has_commits),
            _ => found.pending.and_then(|at| Some(thread?.buffer.get(at)?.at)),
        };
        if let Some(write) = issued {
            self.asked.entry(write).or_default().push(now);
        }
        let own = found.own;
        self.met.push((now, Met { event, own, issued, committed: u64::MAX }));
        Ok(())
    }

    /// Whether a cycle is one, as far as the execution has come.
    ///
    /// # Errors
    /// When it is none, or is about events that are not noted.
    pub fn check(&self, relation: Conflicts, cycle: &TxnCycle) -> Result<Passed, Rejected> {
        let met = |event: u64| match self.met.binary_search_by_key(&event, |&(event, _)| event) {
            Ok(at) => Ok(&self.met[at].1),
            Err(_) => Err(Rejected::Transactions(event, "the execution ends before")),
        };
        let Some(&(_, last)) = cycle.0.last() else {
            return Err(Rejected::Transactions(0, "there is no cycle"));
        };
        let mut before = last;
        for &(first, second) in &cycle.0 {
            let (e, f) = (met(first)?, met(second)?);
            let wrong = |why| Err(Rejected::Transactions(second, why));
            if met(before)?.event.txn != e.event.txn {
                return Err(Rejected::Transactions(first, "the cycle does not hold together"));
            }
            if e.event.txn == f.event.txn {
                return wrong("an edge of the cycle stays in one transaction");
            }
            if first >= second || !conflict(relation, (first, e), (second, f)) {
                return wrong("it does not conflict with the event before it on the cycle");
            }
            before = second;
        }
        Ok(Passed { shows: Verdict::Violated })
    }
}

/// The definition of [`conflict`](super::conflict()), on what was met.
fn conflict(relation: Conflicts, (first, e): (u64, &Met), (second, f): (u64, &Met)) -> bool {
    let (a, b) = (&e.event, &f.event);
    let both_read = a.kind == TxnKind::Read && b.kind == TxnKind::Read;
    let accesses = a.kind.is_access() && b.kind.is_access() && a.var == b.var && !both_read;
    if relation == Conflicts::Sc {
        return a.thread == b.thread || accesses;
    }
    if a.thread != b.thread {
        let issue = a.kind == TxnKind::Write || b.kind == TxnKind::Write;
        // A read does not notice commits while the write that it saw is pending.
        let hidden = |read: &Met, at: u64| {
            read.event.kind == TxnKind::Read
                && read.issued.is_some_and(|issued| issued < at && at < read.committed)
        };
        return accesses && !issue && !hidden(e, second) && !hidden(f, first);
    }
    let is_issue = |kind: TxnKind| matches!(kind, TxnKind::Read | TxnKind::Write);
    match (a.kind, b.kind) {
        (TxnKind::Commit, kind) if is_issue(kind) => false,
        (kind, TxnKind::Commit) if is_issue(kind) => {
            kind == TxnKind::Write && e.committed == second
        }
        (kind, TxnKind::Read) if a.var != b.var => match relation {
            Conflicts::Tso(reads) => {
                !(kind == TxnKind::Write || kind == TxnKind::Read && e.own.is_buffered(reads))
            }
            Conflicts::Sc | Conflicts::TsoPo => true,
        },
        _ => true,
    }
}

/// A place in an order of transactions, plus one; 0 is before all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place(u64);

impl Place {
    const NONE: Place = Place(0);
}

/// The last place of what some thread did, and the last one of what another thread did.
#[derive(Clone, Copy)]
struct Latest {
    of: u32,
    place: Place,
    other: Place,
}

impl Latest {
    const NONE: Latest = Latest { of: u32::MAX, place: Place::NONE, other: Place::NONE };

    fn add(&mut self, thread: u32, place: Place) {
        if thread == self.of {
            self.place = self.place.max(place);
        } else if place > self.place {
            *self = Latest { of: thread, place, other: self.place };
        } else {
            self.other = self.other.max(place);
        }
    }

    /// The last place of what others than this thread did.
    fn of_others(&self, thread: u32) -> Place {
        if thread == self.of { self.other } else { self.place }
    }
}

/// Whether an order of the transactions respects all conflicts of an execution.
pub struct OrderCheck {
    relation: Conflicts,
    /// Where each transaction is, and whether it has had an event.
    places: HashMap<u32, (Place, bool)>,
    past: Past,
    threads: HashMap<u32, Places>,
    /// Per variable commits and updates, and reads, in memory.
    vars: HashMap<u32, (Latest, Latest)>,
}

/// The last places of what one thread did.
struct Places {
    drain: Place,
    /// Reads that others of the thread do not overtake.
    read: Place,
    /// All reads and writes.
    issue: Place,
    commit: Place,
    /// Per variable all reads and writes.
    own: HashMap<u32, Place>,
}

impl OrderCheck {
    /// Before the first event.
    ///
    /// # Errors
    /// When the order names a transaction twice.
    pub fn new(relation: Conflicts, order: &[u32]) -> Result<OrderCheck, Rejected> {
        let mut places = HashMap::with_capacity(order.len());
        for (at, &txn) in order.iter().enumerate() {
            if places.insert(txn, (Place(at as u64 + 1), false)).is_some() {
                return Err(Rejected::Transactions(0, "the order names a transaction twice"));
            }
        }
        let (threads, vars) = (HashMap::new(), HashMap::new());
        Ok(OrderCheck { relation, places, past: Past::default(), threads, vars })
    }

    /// The next event.
    ///
    /// # Errors
    /// When TSO does not allow it here, or its transaction is not in the order, or comes there before
    /// that of an earlier event that conflicts with it.
    pub fn event(&mut self, event: TxnEvent) -> Result<(), Rejected> {
        let now = self.past.now;
        let wrong = |why| Err(Rejected::Transactions(now, why));
        let Some((here, is_there)) = self.places.get_mut(&event.txn) else {
            return wrong("its transaction is not in the order");
        };
        *is_there = true;
        let here = *here;
        let mut found = self.past.take(self.relation != Conflicts::Sc, event)?;
        let (thread, var) = (event.thread, event.var);
        let none = Places {
            drain: Place::NONE,
            read: Place::NONE,
            issue: Place::NONE,
            commit: Place::NONE,
            own: HashMap::new(),
        };
        let mine = self.threads.entry(thread).or_insert(none);
        // What the thread itself did.
        let overtakes = matches!(self.relation, Conflicts::Tso(_));
        let earlier = match event.kind {
            TxnKind::Read if overtakes => {
                mine.read.max(mine.own.get(&var).copied().unwrap_or(Place::NONE))
            }
            TxnKind::Read | TxnKind::Write => mine.issue,
            TxnKind::Commit => mine.commit,
            TxnKind::Update | TxnKind::Fence => mine.issue.max(mine.commit),
        };
        let mut after = earlier.max(mine.drain);
        match event.kind {
            TxnKind::Commit => mine.commit = mine.commit.max(here),
            TxnKind::Update | TxnKind::Fence => mine.drain = mine.drain.max(here),
            TxnKind::Read | TxnKind::Write => {
                mine.issue = mine.issue.max(here);
                if overtakes {
                    let own = mine.own.entry(var).or_insert(Place::NONE);
                    *own = here.max(*own);
                }
                let is_buffered = match self.relation {
                    Conflicts::Tso(reads) => found.own.is_buffered(reads),
                    Conflicts::Sc | Conflicts::TsoPo => false,
                };
                if event.kind == TxnKind::Read && !is_buffered {
                    mine.read = mine.read.max(here);
                }
            }
        }
        // What others did in memory.
        let (written, read) = match event.kind {
            TxnKind::Fence => return if after > here { wrong(LATE) } else { Ok(()) },
            _ => self.vars.entry(var).or_insert((Latest::NONE, Latest::NONE)),
        };
        let writes = match event.kind {
            TxnKind::Write if self.relation == Conflicts::Sc => true,
            TxnKind::Commit | TxnKind::Update => true,
            _ => false,
        };
        let buffer = self.past.threads.get_mut(&thread).map(|thread| &mut thread.buffer);
        if writes {
            after = after.max(written.of_others(thread)).max(read.of_others(thread));
            written.add(thread, here);
            if let Some(write) = found.write.take() {
                read.add(thread, write.read);
            }
        } else if event.kind == TxnKind::Write {
            if let Some(write) = buffer.and_then(VecDeque::back_mut) {
                write.before = written.of_others(thread);
            }
        } else if let Some(at) = found.pending
            && let Some(write) = buffer.and_then(|buffer| buffer.get_mut(at))
        {
            after = after.max(write.before);
            write.read = write.read.max(here);
        } else {
            after = after.max(written.of_others(thread));
            read.add(thread, here);
        }
        if after > here { wrong(LATE) } else { Ok(()) }
    }

    /// After all events.
    ///
    /// # Errors
    /// When a store was not committed, or the order names a transaction without an event.
    pub fn end(&self) -> Result<Passed, Rejected> {
        if self.places.values().any(|&(_, is_there)| !is_there) {
            let why = "the order names a transaction that the execution does not have";
            return Err(Rejected::Transactions(0, why));
        }
        let pending = self.past.threads.values().filter_map(|thread| thread.buffer.front());
        match pending.map(|write| write.at).min() {
            Some(at) => Err(Rejected::Transactions(at, "the store is never committed")),
            None => Ok(Passed { shows: Verdict::Holds }),
        }
    }
}

const LATE: &str = "in the order it comes before an event that it conflicts with";
