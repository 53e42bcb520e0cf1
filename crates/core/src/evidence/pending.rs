//! One store that is late, watched along a run of the SC machine: when that shows that a program
//! is not robust.
//!
//! A program is robust against TSO or PSO unless some SC run has a store that can be guessed such that an access
//! *closes a cycle* (Theorems 1 and 2 of `docs/how/robustness.md`). From the guess on the following is known of the
//! run, and nothing else matters: whose store it is and where it goes, which threads and locations have events
//! that happen after it, and which later stores of its thread wait behind it.
//!
//! Atomic blocks count as one event. Here each has to be *straight*: it makes the same accesses whatever it
//! reads. Then what memory holds while the last block of a violation runs does not matter.

use std::collections::BTreeSet;

use crate::{Drain, Expr, Fence, Instr, Model, PointId, Program, Thread, ThreadId, Value};

/// What is known of the guessed store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    /// Whose store it is.
    pub(crate) thread: ThreadId,
    /// Where it goes.
    pub(crate) addr: Value,
    /// Threads with an event that happens after it.
    pub(crate) after: BTreeSet<u32>,
    /// Addresses whose last write happens after it.
    pub(crate) written: BTreeSet<Value>,
    /// Addresses with a read since their last write that happens after it.
    pub(crate) read: BTreeSet<Value>,
    /// Addresses of stores that cannot reach memory before it does, and its own.
    pub(crate) delayed: BTreeSet<Value>,
    /// Under PSO: its thread has passed a store-store fence since.
    pub(crate) fenced: bool,
    /// The atomic block of another thread that is open.
    pub(crate) block: Option<Block>,
}

/// An atomic block, while it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// It takes effect before the guessed store does, as the last event of a violation.
    pub(crate) last: bool,
    /// The addresses that it has read from, and those that it has written to.
    pub(crate) accesses: BTreeSet<(Value, bool)>,
}

/// What a step of the SC machine makes of a guess.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The store may still be pending, in one of these ways.
    Pending(Vec<Pending>),
    /// It closes a cycle: the program is not robust.
    Cycle,
}

impl Pending {
    /// The store that an instruction makes, as a guess; `None` if it is no plain store outside of
    /// blocks. `lock` says whether a block is open.
    pub(crate) fn guess(
        thread: ThreadId,
        instr: &Instr,
        addr: Option<Value>,
        lock: bool,
    ) -> Option<Pending> {
        let (Instr::Store { .. }, Some(addr), false) = (instr, addr, lock) else { return None };
        Some(Pending {
            thread,
            addr,
            after: BTreeSet::from([thread.0]),
            written: BTreeSet::from([addr]),
            read: BTreeSet::new(),
            delayed: BTreeSet::from([addr]),
            fenced: false,
            block: None,
        })
    }

    /// What a step of `thread` makes of the guess; `addr` is where its instruction accesses memory.
    pub(crate) fn after(
        &self,
        model: Model,
        thread: ThreadId,
        instr: &Instr,
        addr: Option<Value>,
    ) -> Seen {
        let own = thread == self.thread;
        let mut next = self.clone();
        match (instr, addr) {
            (Instr::Lock, _) if own => Seen::Pending(vec![]),
            (Instr::Lock, _) => {
                next.block = Some(Block::default());
                let mut last = self.clone();
                last.block = Some(Block { last: true, ..Block::default() });
                Seen::Pending(vec![next, last])
            }
            (Instr::Unlock, _) => next.ends_block(thread),
            (Instr::Fence(Fence::Full), _) if own => Seen::Pending(vec![]),
            (Instr::Fence(Fence::StoreStore), _) if own => {
                next.fenced = matches!(model, Model::Pso(_));
                Seen::Pending(vec![next])
            }
            (Instr::Update { .. }, Some(addr)) if own && self.update_waits(model, addr) => {
                Seen::Pending(vec![])
            }
            (Instr::Load { .. } | Instr::Store { .. } | Instr::Update { .. }, Some(addr)) => {
                let is_store = matches!(instr, Instr::Store { .. });
                if own && is_store && (model == Model::Tso || self.fenced) {
                    next.delayed.insert(addr);
                }
                next.access(thread, addr, !matches!(instr, Instr::Load { .. }))
            }
            _ => Seen::Pending(vec![next]),
        }
    }

    /// Whether an update of the store's thread has to wait until the store is in memory.
    fn update_waits(&self, model: Model, addr: Value) -> bool {
        model != Model::Pso(Drain::Own) || self.fenced || addr == self.addr
    }

    fn access(mut self, thread: ThreadId, addr: Value, writes: bool) -> Seen {
        let other = thread != self.thread;
        let is_after = self.after.contains(&thread.0);
        let is_late = other && self.delayed.contains(&addr);
        match &mut self.block {
            None if is_late && is_after && addr == self.addr => return Seen::Cycle,
            None if is_late => return Seen::Pending(vec![]),
            None => {}
            Some(block) if is_late && !block.last => return Seen::Pending(vec![]),
            Some(block) => {
                block.accesses.insert((addr, writes));
            }
        }
        // What is late does not happen before the last block, which accesses it all the same.
        let conflicts = self.written.contains(&addr) || writes && self.read.contains(&addr);
        if conflicts && !is_late {
            self.after.insert(thread.0);
        }
        if self.after.contains(&thread.0) {
            self.mark(addr, writes);
        } else if writes {
            self.written.remove(&addr);
            self.read.remove(&addr);
        }
        Seen::Pending(vec![self])
    }

    /// The end of a block of another thread. If one of its accesses happens after the store, all do.
    fn ends_block(mut self, thread: ThreadId) -> Seen {
        let Some(block) = self.block.take() else { return Seen::Pending(vec![self]) };
        let is_after = self.after.contains(&thread.0);
        if block.last {
            let hits = block.accesses.iter().any(|&(addr, _)| addr == self.addr);
            return if is_after && hits { Seen::Cycle } else { Seen::Pending(vec![]) };
        }
        if is_after {
            for (addr, writes) in block.accesses {
                self.mark(addr, writes);
            }
        }
        Seen::Pending(vec![self])
    }

    fn mark(&mut self, addr: Value, writes: bool) {
        if writes {
            self.written.insert(addr);
            self.read.remove(&addr);
        } else {
            self.read.insert(addr);
        }
    }
}

/// Whether this definition is for `program`: accesses of one width, and straight blocks.
pub(crate) fn is_for(program: &Program) -> bool {
    let blocks = |thread: &Thread| {
        let edges = thread.points.iter().flat_map(|p| &p.edges);
        edges.filter(|e| e.instr == Instr::Lock).all(|lock| is_straight(thread, lock.to))
    };
    program.wides.is_empty() && program.threads.iter().all(blocks)
}

/// Whether the block that begins at a point has one way to its end.
fn is_straight(thread: &Thread, mut at: PointId) -> bool {
    // With more steps than points it goes round in circles.
    for _ in 0..=thread.points.len() {
        let [edge] = &thread.points[at.index()].edges[..] else { return false };
        match &edge.instr {
            Instr::Unlock => return true,
            Instr::Assume(_) | Instr::Assert(_) | Instr::Lock => return false,
            Instr::Load { addr, .. } | Instr::Store { addr, .. } | Instr::Update { addr, .. } => {
                if !matches!(addr, Expr::Const(_)) {
                    return false;
                }
            }
            Instr::Nop | Instr::Assign { .. } | Instr::Choose { .. } | Instr::Fence(_) => {}
        }
        at = edge.to;
    }
    false
}
