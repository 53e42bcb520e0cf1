//! Executions of SC without commits: every store is in memory at once, and all of program order
//! counts. Then an event comes after the last one of its thread, the last store to its variable, and
//! if it is a store itself, the last read of each thread since then; the rest follows.

use weakspot_core::serial::{Question, TxnCycle};
use weakspot_core::{TxnEvent, TxnKind};

use super::{Online, Touch, link, note_read};
use crate::graph::NodeRef;

impl Online {
    /// The next event of an execution of SC, which has no commits.
    pub fn sc_event(&mut self, event: TxnEvent) -> Option<TxnCycle> {
        match self.question {
            Question::ScSerializable => self.sc(event),
            // It is one of SC.
            Question::ScEquivalent => None,
            Question::TsoSerializable(_) => {
                let issued = self.event(event).unwrap_or(None);
                if event.kind != TxnKind::Write {
                    return issued;
                }
                self.now -= 1;
                let committed = self.event(TxnEvent { kind: TxnKind::Commit, ..event });
                issued.or(committed.unwrap_or(None))
            }
        }
    }

    #[inline]
    fn sc(&mut self, event: TxnEvent) -> Option<TxnCycle> {
        let now = self.now;
        self.now += 1;
        if self.threads.len() <= event.thread as usize || self.vars.len() <= event.var as usize {
            self.make_room(event);
        }
        let mut cycle = None;
        let state = &mut self.threads[event.thread as usize];
        let node = match state.txn {
            Some((txn, node)) if txn == event.txn => node,
            _ => self.sc_begin(event, now, &mut cycle),
        };
        let touch = Touch { node, event: now };
        self.threads[event.thread as usize].read = touch;
        let var = &mut self.vars[event.var as usize];
        match event.kind {
            TxnKind::Read => {
                note_read(&mut var.reads, event.thread, touch);
                if var.commit.1 != event.thread {
                    link(&mut self.graph, var.commit.0, touch, &mut cycle);
                }
            }
            TxnKind::Write | TxnKind::Update => {
                let (before, by) = std::mem::replace(&mut var.commit, (touch, event.thread));
                if by != event.thread {
                    link(&mut self.graph, before, touch, &mut cycle);
                }
                for (reader, read) in var.reads.drain(..) {
                    if reader != event.thread {
                        link(&mut self.graph, read, touch, &mut cycle);
                    }
                }
            }
            TxnKind::Fence | TxnKind::Commit => {}
        }
        cycle
    }

    /// The next transaction of a thread.
    fn sc_begin(&mut self, event: TxnEvent, now: u64, cycle: &mut Option<TxnCycle>) -> NodeRef {
        self.end(event.thread);
        self.make_graph_small();
        let node = self.graph.open(event.txn, event.thread);
        self.graph.mark_issue(node, now);
        let state = &mut self.threads[event.thread as usize];
        state.txn = Some((event.txn, node));
        link(&mut self.graph, state.read, Touch { node, event: now }, cycle);
        node
    }
}
