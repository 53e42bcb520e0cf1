//! Which events of a trace conflict in its executions, and in which order: the first of a
//! *directed* pair comes first in all of them, for an *undirected* pair it is open.
//!
//! Section 5 of Enea and Farzan, "On atomicity in presence of non-atomic writes" (TACAS 2016). A
//! write of a trace stands for its commit, too, which happens before the next fence of its thread,
//! and a read of a buffered write for the time at which others may notice it: when it happens, or
//! when that write is committed if that is later.

mod directed;

use super::two::Two;
use super::{BufferedReads, TraceMode, TxnEvent, TxnKind};

/// What holds for two events, the first of which comes first in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tie {
    /// They conflict, in this order in all executions.
    Directed,
    /// They conflict, in this order in some executions and in the other one in some.
    Undirected,
    /// They conflict in this order in some executions and not at all in the others: the first is a
    /// read whose own write may be overwritten.
    Sometimes,
}

/// A trace, and what its ties depend on.
#[derive(Clone, Debug)]
pub struct Trace<'a> {
    /// The events; none is a commit.
    pub events: &'a [TxnEvent],
    /// What it stands for.
    pub mode: TraceMode,
    /// Per event the first fence or update of its thread that is not before it; the number of events
    /// if there is none.
    drains: Vec<usize>,
    /// Per read the write of its own thread that may be in the buffer then.
    own: Vec<Option<usize>>,
    /// Per read whether another thread's write may come between that write and the read; empty if that
    /// is not asked.
    may_be_overwritten: Vec<bool>,
    /// Per variable the writes and updates; empty if no read is like that.
    written: Vec<Vec<usize>>,
    /// The number of threads, if they are numbered without gaps.
    pub(super) threads: usize,
    /// The number of variables, if they are numbered without gaps.
    pub(super) vars: usize,
}

/// Why events are no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadTrace {
    /// This event is a commit.
    Commit(usize),
    /// This event is in a transaction that has events of another thread.
    Shared(usize),
    /// This event is in a transaction after which its thread began another one.
    Resumed(usize),
}

impl<'a> Trace<'a> {
    /// Looks at the events once.
    pub fn new(events: &'a [TxnEvent], mode: TraceMode) -> Result<Trace<'a>, BadTrace> {
        let mut trace = Trace {
            events,
            mode,
            drains: vec![events.len(); events.len()],
            own: vec![None; events.len()],
            may_be_overwritten: Vec::new(),
            written: Vec::new(),
            threads: 0,
            vars: 0,
        };
        let mut owner = std::collections::HashMap::new();
        let mut current = std::collections::HashMap::new();
        // Per thread and variable the last write since the last fence of the thread.
        let mut last = std::collections::HashMap::new();
        let mut fences = std::collections::HashMap::new();
        for (at, e) in events.iter().enumerate() {
            if e.kind == TxnKind::Commit {
                return Err(BadTrace::Commit(at));
            }
            let is_new = !owner.contains_key(&e.txn);
            if *owner.entry(e.txn).or_insert(e.thread) != e.thread {
                return Err(BadTrace::Shared(at));
            }
            if current.insert(e.thread, e.txn) != Some(e.txn) && !is_new {
                return Err(BadTrace::Resumed(at));
            }
            trace.threads = trace.threads.max(e.thread as usize + 1);
            trace.vars = trace.vars.max(e.var as usize + 1);
            let fences = fences.entry(e.thread).or_insert(0);
            *fences += usize::from(e.kind.drains());
            if e.kind == TxnKind::Write {
                last.insert((e.thread, e.var), (at, *fences));
            } else if e.kind == TxnKind::Read {
                let own = last.get(&(e.thread, e.var)).filter(|(_, then)| then == fences);
                trace.own[at] = own.map(|&(own, _)| own);
            }
        }
        let mut next = std::collections::HashMap::new();
        for (at, e) in events.iter().enumerate().rev() {
            if e.kind.drains() {
                next.insert(e.thread, at);
            }
            trace.drains[at] = next.get(&e.thread).copied().unwrap_or(events.len());
        }
        if mode.buffered_reads() == BufferedReads::Exact {
            trace.find_overwritten();
        }
        Ok(trace)
    }

    /// Looks for reads between which and their own writes another thread's write may come: one that is
    /// not settled before the own one.
    fn find_overwritten(&mut self) {
        // Per variable the latest times before which writes are settled.
        let mut ends = vec![Two::default(); self.vars];
        let put = |ends: &mut [Two], at: usize| {
            if self.writes(at) {
                let e = &self.events[at];
                ends[e.var as usize].put(e.thread, self.drains[at]);
            }
        };
        if !self.mode.is_exact() {
            (0..self.events.len()).for_each(|at| put(&mut ends, at));
        }
        let mut found = vec![false; self.events.len()];
        for (at, e) in self.events.iter().enumerate() {
            put(&mut ends, at);
            found[at] = self.own[at].is_some_and(|own| {
                ends[e.var as usize].of_others(e.thread).is_some_and(|end| end > own)
            });
        }
        if !found.contains(&true) {
            return;
        }
        self.may_be_overwritten = found;
        self.written = vec![Vec::new(); self.vars];
        for (at, e) in self.events.iter().enumerate() {
            if self.writes(at) {
                self.written[e.var as usize].push(at);
            }
        }
    }

    /// Whether a read may find another thread's value where its own thread wrote, and that is asked.
    #[must_use]
    pub fn may_be_overwritten(&self, read: usize) -> bool {
        self.may_be_overwritten.get(read).is_some_and(|&may| may)
    }

    /// The writes and updates of other threads that may come between a read and the write of its own
    /// thread that may be in the buffer then.
    pub fn overwriting(&self, read: usize) -> impl Iterator<Item = usize> + '_ {
        let e = &self.events[read];
        let own = self.own[read].filter(|_| self.may_be_overwritten(read));
        let written = own.and_then(|_| self.written.get(e.var as usize)).map_or(&[][..], |w| w);
        let end = match self.mode.is_exact() {
            true => read,
            // What comes after the next fence of the thread comes after the read.
            false => self.drains[read],
        };
        let in_time = &written[..written.partition_point(|&write| write < end)];
        in_time.iter().copied().filter(move |&write| {
            self.events[write].thread != e.thread && Some(self.drains[write]) > own
        })
    }

    /// The write that may be in the buffer when this read of its thread happens.
    #[must_use]
    pub fn own(&self, read: usize) -> Option<usize> {
        self.own[read]
    }

    /// The first fence or update of an event's thread that is not before it; the number of events if
    /// there is none.
    #[must_use]
    pub fn drain(&self, event: usize) -> usize {
        self.drains[event]
    }

    /// Whether an event is all over before a later one, whatever the execution: others cannot notice
    /// it any later.
    #[must_use]
    pub(crate) fn is_settled(&self, event: usize, later: usize) -> bool {
        match self.events[event].kind {
            TxnKind::Read if self.own[event].is_none() => true,
            _ => self.drains[event] < later,
        }
    }

    /// How two events are tied, the first of which comes first.
    ///
    /// # Panics
    /// When the events are not in this order.
    #[must_use]
    pub fn tie(&self, first: usize, second: usize) -> Option<Tie> {
        assert!(first < second, "ties have an order");
        let (e, f) = (&self.events[first], &self.events[second]);
        if e.thread == f.thread {
            let may_overtake = e.kind == TxnKind::Write || self.own[first].is_some();
            let overtakes = may_overtake && f.kind == TxnKind::Read && e.var != f.var;
            return match overtakes {
                false => Some(Tie::Directed),
                true => self.may_be_overwritten(first).then_some(Tie::Sometimes),
            };
        }
        let both_read = e.kind == TxnKind::Read && f.kind == TxnKind::Read;
        if both_read || !e.kind.is_access() || !f.kind.is_access() || e.var != f.var {
            return None;
        }
        match self.is_settled(first, second) {
            true => Some(Tie::Directed),
            false => Some(Tie::Undirected),
        }
    }

    /// All pairs that are tied like this. Quadratic.
    #[must_use]
    pub fn all(&self, tie: Tie) -> Vec<(usize, usize)> {
        let pairs = (0..self.events.len()).flat_map(|f| (0..f).map(move |e| (e, f)));
        pairs.filter(|&(e, f)| self.tie(e, f) == Some(tie)).collect()
    }

    /// Whether an event writes.
    #[must_use]
    pub fn writes(&self, event: usize) -> bool {
        matches!(self.events[event].kind, TxnKind::Write | TxnKind::Update)
    }

    /// Ties that are enough to tell which events lead to which by directed ones: linearly many, but
    /// for the number of threads.
    #[must_use]
    pub fn directed(&self) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        self.each_directed(&mut |from, to| all.push((from, to)));
        all
    }

    /// The same, one by one: they need more memory than the trace.
    pub fn each_directed(&self, each: &mut dyn FnMut(usize, usize)) {
        directed::each_directed(self, each);
    }
}
