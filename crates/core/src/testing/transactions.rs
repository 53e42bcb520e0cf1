//! Long logs of transactions that are serializable, however many events are asked for.

use std::collections::VecDeque;

use super::Rng;
use crate::{LogEvent, LogKind};

/// What a log of transactions looks like.
#[derive(Clone, Copy, Debug)]
pub struct TxnLogSize {
    /// How many threads, at least one.
    pub threads: u16,
    /// How many variables, at least one. One per thread comes on top of them.
    pub vars: u32,
    /// How many accesses and fences a transaction has, at least one.
    pub length: u32,
    /// Of 100 accesses how many may go to any of the variables; the others go to a part of them that
    /// belongs to the thread.
    pub shared: usize,
    /// Whether stores reach memory by commits of their own.
    pub commits: bool,
    /// Whether transactions are marked by brackets; otherwise they have numbers.
    pub brackets: bool,
}

/// A log of transactions that overlap, and that are serializable in the order in which they began,
/// under SC and TSO. It does not end.
///
/// A thread looks for another variable where what it is about to do would have to come before
/// something that a later transaction has done, as databases do that order by timestamps.
pub struct TxnLog {
    size: TxnLogSize,
    rng: Rng,
    threads: Vec<Running>,
    vars: Vec<Stamps>,
    /// The last transaction that began.
    last: u64,
}

#[derive(Clone, Default)]
struct Running {
    /// The transaction, if it is in one, and how much of it there is still to do.
    stamp: u64,
    left: u32,
    open: bool,
    /// Stores that were not committed, each with the transaction that it belongs to.
    buffer: VecDeque<(u32, u64)>,
}

/// The last transactions that read and wrote a variable, and whose stores to it are pending.
#[derive(Clone, Default)]
struct Stamps {
    read: u64,
    write: u64,
    pending: (u16, u32),
}

impl TxnLog {
    /// The log of this seed.
    #[must_use]
    pub fn new(seed: u64, size: TxnLogSize) -> TxnLog {
        TxnLog {
            size,
            rng: Rng::new(seed),
            threads: vec![Running::default(); usize::from(size.threads)],
            vars: vec![Stamps::default(); size.vars as usize + usize::from(size.threads)],
            last: 0,
        }
    }

    /// The next events of the log and, with commits, the ones that are missing at its end if no
    /// others come.
    #[must_use]
    pub fn take_all(mut self, events: usize) -> Vec<LogEvent> {
        let mut log: Vec<LogEvent> = self.by_ref().take(events).collect();
        for thread in 0..self.size.threads {
            let buffer = std::mem::take(&mut self.threads[usize::from(thread)].buffer);
            log.extend(buffer.iter().map(|&(var, _)| LogEvent::new(thread, LogKind::Commit, var)));
        }
        log
    }

    /// A variable that a thread may read, or also write.
    fn var(&mut self, thread: u16, writes: bool) -> u32 {
        let stamp = self.threads[usize::from(thread)].stamp;
        for _ in 0..4 {
            let part = self.size.vars / u32::from(self.size.threads);
            let shares = part == 0 || self.rng.below(100) < self.size.shared;
            let var = match shares {
                true => self.rng.below(self.size.vars as usize) as u32,
                false => part * u32::from(thread) + self.rng.below(part as usize) as u32,
            };
            let stamps = &self.vars[var as usize];
            let others = stamps.pending.1 > 0 && stamps.pending.0 != thread;
            if !others && stamp >= stamps.write && (!writes || stamp >= stamps.read) {
                return var;
            }
        }
        self.size.vars + u32::from(thread)
    }
}

impl Iterator for TxnLog {
    type Item = LogEvent;

    fn next(&mut self) -> Option<LogEvent> {
        let thread = self.rng.below(usize::from(self.size.threads)) as u16;
        let state = &mut self.threads[usize::from(thread)];
        if self.rng.one_in(3)
            && let Some((var, stamp)) = state.buffer.pop_front()
        {
            let stamps = &mut self.vars[var as usize];
            stamps.write = stamps.write.max(stamp);
            stamps.pending.1 -= 1;
            return Some(LogEvent::new(thread, LogKind::Commit, var));
        }
        if state.left == 0 {
            if std::mem::take(&mut state.open) && self.size.brackets {
                return Some(LogEvent::new(thread, LogKind::End, 0));
            }
            self.last += 1;
            state.stamp = self.last;
            (state.left, state.open) = (self.size.length, true);
            if self.size.brackets {
                return Some(LogEvent::new(thread, LogKind::Begin, 0));
            }
        }
        state.left -= 1;
        let (stamp, is_empty) = (state.stamp, state.buffer.is_empty());
        let kind = match self.rng.below(100) {
            0..70 => LogKind::Read,
            97..99 if is_empty => LogKind::Update,
            99 if is_empty => LogKind::Fence,
            _ => LogKind::Write,
        };
        let mut loc = 0;
        if kind != LogKind::Fence {
            loc = self.var(thread, kind != LogKind::Read);
            let stamps = &mut self.vars[loc as usize];
            match kind {
                LogKind::Read => stamps.read = stamps.read.max(stamp),
                LogKind::Write if self.size.commits => {
                    stamps.pending = (thread, stamps.pending.1 + 1);
                    self.threads[usize::from(thread)].buffer.push_back((loc, stamp));
                }
                _ => stamps.write = stamp,
            }
        }
        let txn = if self.size.brackets { 0 } else { stamp as u32 };
        Some(LogEvent { txn, ..LogEvent::new(thread, kind, loc) })
    }
}
