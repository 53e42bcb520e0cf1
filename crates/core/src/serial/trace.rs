//! Traces: executions without their commits.

use super::execution::{pair, serializable};
use super::{BufferedReads, Conflicts, TxnEvent, TxnKind};

/// All executions that a trace may come from: the commits are put in wherever TSO allows it.
pub struct Executions<'a> {
    trace: &'a [TxnEvent],
    /// The execution so far, and how many events of the trace it has.
    events: Vec<TxnEvent>,
    taken: usize,
    /// Whether there was one.
    started: bool,
}

/// What may come next, in the order in which it is tried: the next event of the trace, or the commit
/// of a thread's oldest store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Choice {
    Next,
    Commit(u32),
}

/// Whether all executions of a trace are TSO-serializable.
#[must_use]
pub fn trace_serializable(trace: &[TxnEvent], reads: BufferedReads) -> bool {
    Executions::new(trace).all(|execution| {
        pair(&execution).is_ok_and(|execution| serializable(&execution, Conflicts::Tso(reads)))
    })
}

impl<'a> Executions<'a> {
    /// All executions of a trace. There are exponentially many.
    #[must_use]
    pub fn new(trace: &'a [TxnEvent]) -> Executions<'a> {
        Executions { trace, events: Vec::new(), taken: 0, started: false }
    }

    /// What the oldest store of a thread would commit.
    fn commit(&self, thread: u32) -> Option<TxnEvent> {
        let of = |kind: TxnKind| {
            self.events.iter().filter(move |e| e.thread == thread && e.kind == kind)
        };
        let oldest = of(TxnKind::Write).nth(of(TxnKind::Commit).count())?;
        Some(TxnEvent { kind: TxnKind::Commit, ..*oldest })
    }

    fn event(&self, choice: Choice) -> Option<TxnEvent> {
        match choice {
            Choice::Commit(thread) => self.commit(thread),
            Choice::Next => {
                let next = *self.trace.get(self.taken)?;
                (!next.kind.drains() || self.commit(next.thread).is_none()).then_some(next)
            }
        }
    }

    /// The first possibility that is not before this one.
    fn first_from(&self, from: Choice) -> Option<(Choice, TxnEvent)> {
        let mut threads: Vec<u32> = self.trace.iter().map(|e| e.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        [Choice::Next]
            .into_iter()
            .chain(threads.into_iter().map(Choice::Commit))
            .filter(|&choice| choice >= from)
            .find_map(|choice| Some((choice, self.event(choice)?)))
    }

    fn push(&mut self, choice: Choice, event: TxnEvent) {
        self.taken += usize::from(choice == Choice::Next);
        self.events.push(event);
    }

    /// Goes on with the first possibility, again and again.
    fn complete(&mut self) {
        while let Some((choice, event)) = self.first_from(Choice::Next) {
            self.push(choice, event);
        }
    }

    /// Takes back the last events until one of them has another possibility, and takes that.
    fn advance(&mut self) -> bool {
        while let Some(last) = self.events.pop() {
            let choice = match last.kind {
                TxnKind::Commit => Choice::Commit(last.thread),
                _ => Choice::Next,
            };
            self.taken -= usize::from(choice == Choice::Next);
            let after = match choice {
                Choice::Next => Choice::Commit(0),
                Choice::Commit(thread) => Choice::Commit(thread + 1),
            };
            if let Some((choice, event)) = self.first_from(after) {
                self.push(choice, event);
                return true;
            }
        }
        false
    }
}

impl Iterator for Executions<'_> {
    type Item = Vec<TxnEvent>;

    fn next(&mut self) -> Option<Vec<TxnEvent>> {
        if std::mem::replace(&mut self.started, true) && !self.advance() {
            return None;
        }
        self.complete();
        Some(self.events.clone())
    }
}
