//! Is an execution serializable, or SC-equivalent? One call per event, while it is going on.
//!
//! The conflicts are those of `core/src/serial/conflict.rs`. Of all earlier events that conflict
//! with a new one, those suffice that are not before another of them already:
//!
//! - in memory, per variable: the last commit, and the last read of each thread since then;
//! - within a thread: what reads come after (the last read from memory, or fence), what writes come
//!   after (the last write, and all reads since then), what commits come after (the last commit or
//!   fence), and the last access to the same variable, which a read comes after even if it was a
//!   write, or a read of the buffer.
//!
//! A read of a pending write of its own thread sees nothing of what others commit while that write
//! is pending, and they do not see it (`hidden` in the definition). So it comes after the commit
//! that was the last one when the write was issued, and counts for others only once that write is
//! committed, which is why both stand in the buffer, beside the write.
//!
//! Each write and its commit, or each transaction, or each event by itself, is a node of the graph
//! (`graph.rs`); a cycle is a violation. Cost per event: the threads that read the variable since
//! it was last committed, and what the graph costs per edge.

use std::collections::VecDeque;

use weakspot_core::serial::{Question, TxnCycle};
use weakspot_core::{TxnEvent, TxnKind};

use crate::graph::{Graph, GraphEdge, NodeRef};

/// Why an event does not belong into an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A commit that is not of the oldest store in the buffer of its thread.
    Commit,
    /// A fence or update while stores are in the buffer of its thread.
    NotEmpty,
}

/// An execution that is going on.
pub struct Online {
    question: Question,
    graph: Graph,
    threads: Vec<Thread>,
    vars: Vec<Var>,
    /// The number of the next event.
    now: u64,
}

/// An event of a node.
#[derive(Clone, Copy)]
struct Touch {
    node: NodeRef,
    event: u64,
}

const NOBODY: Touch = Touch { node: NodeRef::NONE, event: 0 };

struct Thread {
    /// The transaction of the last event, and its node.
    txn: Option<(u32, NodeRef)>,
    buffer: VecDeque<Pending>,
    /// How many stores have left the buffer.
    left: u64,
    /// What reads come after: the last read of memory, or fence; if program order counts, the last
    /// event that is no commit.
    read: Touch,
    /// What writes come after, besides `read` and the reads of the buffer since then.
    write: Touch,
    /// What commits come after.
    commit: Touch,
    /// Reads of the buffer since the last write.
    loose: Vec<Touch>,
    /// Per variable what the thread did to it.
    own: Vec<Own>,
    fences: u32,
}

/// What a thread did to a variable.
#[derive(Clone, Copy)]
struct Own {
    /// The last access.
    last: Touch,
    /// The last write, by its number in the thread.
    write: u64,
    /// How many fences the thread had then, plus one; 0 if it did nothing.
    fences: u32,
}

/// A store in a buffer.
struct Pending {
    var: u32,
    node: NodeRef,
    txn: u32,
    /// The last commit to the variable by another thread when the store was issued.
    before: Touch,
    /// The last read of it.
    read: Touch,
    /// Whether it is the last one of its node, to which nothing else will lead.
    closes: bool,
}

/// What happened to a variable in memory.
struct Var {
    /// The last commit and its thread, and the last one of another thread.
    commit: (Touch, u32),
    other: Touch,
    /// The last read of each thread since the last commit of another.
    reads: Vec<(u32, Touch)>,
}

impl Var {
    /// The last commit by another thread than this one.
    fn commit_by_others(&self, thread: u32) -> Touch {
        if self.commit.1 == thread { self.other } else { self.commit.0 }
    }
}

impl Online {
    /// Before the first event. Executions of SC have no commits: then every write is in memory at
    /// once.
    #[must_use]
    pub fn new(question: Question) -> Online {
        Online { question, graph: Graph::new(), threads: Vec::new(), vars: Vec::new(), now: 0 }
    }

    /// The same, and remembers all transactions for [`into_order`](Online::into_order).
    #[must_use]
    pub fn with_order(question: Question) -> Online {
        let mut online = Online::new(question);
        online.graph.order = Some(Vec::new());
        online
    }

    /// The transactions in an order that respects all conflicts, if there was no cycle, all stores
    /// are in memory, and transactions are remembered.
    #[must_use]
    pub fn into_order(mut self) -> Option<Vec<u32>> {
        for thread in 0..self.threads.len() as u32 {
            self.end(thread);
        }
        self.graph.order
    }

    /// How many transactions were collected, if they are remembered.
    #[must_use]
    pub fn ordered(&self) -> usize {
        self.graph.order.as_ref().map_or(0, Vec::len)
    }

    /// From now on transactions are not remembered.
    pub fn forget_order(&mut self) {
        self.graph.order = None;
    }

    /// The next event of an execution of TSO. The first cycle that it closes, if it does.
    pub fn event(&mut self, event: TxnEvent) -> Result<Option<TxnCycle>, Refused> {
        self.make_room(event);
        let now = self.now;
        let cycle = match event.kind {
            TxnKind::Read => self.read(event),
            TxnKind::Write => self.write(event),
            TxnKind::Commit => self.commit(event)?,
            TxnKind::Update | TxnKind::Fence => self.drain(event)?,
        };
        self.now = now + 1;
        Ok(cycle)
    }

    /// The next event of an execution of SC, which has no commits.
    pub fn sc_event(&mut self, event: TxnEvent) -> Option<TxnCycle> {
        self.make_room(event);
        let cycle = match event.kind {
            TxnKind::Read => self.read(event),
            TxnKind::Write => {
                let issued = self.write(event);
                let committed = self.commit(TxnEvent { kind: TxnKind::Commit, ..event });
                issued.or(committed.unwrap_or(None))
            }
            TxnKind::Update | TxnKind::Fence => self.drain(event).unwrap_or(None),
            TxnKind::Commit => None,
        };
        self.now += 1;
        cycle
    }

    /// The transaction of the thread has ended, if it is in one: what it does next belongs to
    /// another, even if that has the same number.
    pub fn end(&mut self, thread: u32) {
        if let Some(state) = self.threads.get_mut(thread as usize)
            && let Some((_, node)) = state.txn.take()
        {
            match state.buffer.back_mut().filter(|pending| pending.node == node) {
                Some(last) => last.closes = true,
                None => self.graph.close(node),
            }
        }
    }

    /// How many stores of a thread are in its buffer.
    #[must_use]
    pub fn pending(&self, thread: u32) -> usize {
        self.threads.get(thread as usize).map_or(0, |state| state.buffer.len())
    }

    /// How many transactions are remembered.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.graph.len()
    }

    /// The memory in use, about.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let own: usize = self.threads.iter().map(|state| state.own.capacity()).sum();
        self.graph.bytes()
            + (own * size_of::<Own>() + self.vars.capacity() * size_of::<Var>()) as u64
    }

    fn make_room(&mut self, event: TxnEvent) {
        while self.threads.len() <= event.thread as usize {
            self.threads.push(Thread {
                txn: None,
                buffer: VecDeque::new(),
                left: 0,
                read: NOBODY,
                write: NOBODY,
                commit: NOBODY,
                loose: Vec::new(),
                own: Vec::new(),
                fences: 1,
            });
        }
        if event.kind == TxnKind::Fence {
            return;
        }
        let var = event.var as usize;
        while self.vars.len() <= var {
            self.vars.push(Var { commit: (NOBODY, u32::MAX), other: NOBODY, reads: Vec::new() });
        }
        let own = &mut self.threads[event.thread as usize].own;
        if own.len() <= var {
            own.resize(var + 1, Own { last: NOBODY, write: 0, fences: 0 });
        }
    }

    /// Whether all of program order counts.
    fn has_po(&self) -> bool {
        self.question != Question::TsoSerializable
    }

    /// The node of an event that is no commit.
    fn node(&mut self, event: TxnEvent) -> NodeRef {
        if self.question == Question::ScEquivalent {
            return self.graph.open(event.txn);
        }
        match self.threads[event.thread as usize].txn {
            Some((txn, node)) if txn == event.txn => node,
            _ => {
                self.end(event.thread);
                let node = self.graph.open(event.txn);
                self.threads[event.thread as usize].txn = Some((event.txn, node));
                node
            }
        }
    }

    /// Adds an edge to the node of the current event. Only the first cycle counts.
    fn link(&mut self, from: Touch, to: NodeRef, cycle: &mut Option<TxnCycle>) {
        let events = (from.event, self.now);
        if let Some(path) = self.graph.add(from.node, to, events)
            && cycle.is_none()
        {
            let path = path.iter().map(|edge: &GraphEdge| edge.events);
            *cycle = Some(TxnCycle(path.chain([events]).collect()));
        }
    }

    fn read(&mut self, event: TxnEvent) -> Option<TxnCycle> {
        let (node, po) = (self.node(event), self.has_po());
        let touch = Touch { node, event: self.now };
        let mut cycle = None;
        let state = &mut self.threads[event.thread as usize];
        let own = &mut state.own[event.var as usize];
        // An access since the last fence; a write among them may be in the buffer.
        let near = own.fences == state.fences;
        let buffered = near && own.write > 0;
        let after = if near { own.last } else { NOBODY };
        if !near {
            *own = Own { last: touch, write: 0, fences: state.fences };
        }
        own.last = touch;
        let pending = match own.write.checked_sub(state.left + 1) {
            Some(at) if buffered => state.buffer.get_mut(at as usize),
            _ => None,
        };
        let var = &mut self.vars[event.var as usize];
        let before = match pending {
            Some(pending) => {
                pending.read = touch;
                pending.before
            }
            None => {
                note_read(&mut var.reads, event.thread, touch);
                var.commit_by_others(event.thread)
            }
        };
        let last_read = state.read;
        if po || !buffered {
            state.read = touch;
        } else {
            match state.loose.last_mut() {
                Some(last) if last.node == node => *last = touch,
                _ => state.loose.push(touch),
            }
            if state.loose.len() > 64 {
                let graph = &self.graph;
                state.loose.retain(|touch| graph.is_there(touch.node));
            }
        }
        self.link(last_read, node, &mut cycle);
        if !po {
            self.link(after, node, &mut cycle);
        }
        self.link(before, node, &mut cycle);
        self.finish(node);
        cycle
    }

    fn write(&mut self, event: TxnEvent) -> Option<TxnCycle> {
        let (node, po) = (self.node(event), self.has_po());
        let touch = Touch { node, event: self.now };
        let mut cycle = None;
        let state = &mut self.threads[event.thread as usize];
        state.buffer.push_back(Pending {
            var: event.var,
            node,
            txn: event.txn,
            before: self.vars[event.var as usize].commit_by_others(event.thread),
            read: NOBODY,
            closes: self.question == Question::ScEquivalent,
        });
        let number = state.left + state.buffer.len() as u64;
        state.own[event.var as usize] = Own { last: touch, write: number, fences: state.fences };
        let read = state.read;
        let write = std::mem::replace(&mut state.write, touch);
        let mut loose = std::mem::take(&mut state.loose);
        if po {
            state.read = touch;
        }
        self.link(read, node, &mut cycle);
        self.link(write, node, &mut cycle);
        for touch in loose.drain(..) {
            self.link(touch, node, &mut cycle);
        }
        self.threads[event.thread as usize].loose = loose;
        cycle
    }

    fn commit(&mut self, event: TxnEvent) -> Result<Option<TxnCycle>, Refused> {
        let state = &mut self.threads[event.thread as usize];
        let fits = |pending: &&Pending| (pending.var, pending.txn) == (event.var, event.txn);
        if state.buffer.front().filter(fits).is_none() {
            return Err(Refused::Commit);
        }
        let Some(pending) = state.buffer.pop_front() else { return Err(Refused::Commit) };
        state.left += 1;
        let touch = Touch { node: pending.node, event: self.now };
        let last = std::mem::replace(&mut state.commit, touch);
        let mut cycle = None;
        self.link(last, pending.node, &mut cycle);
        self.store(event, touch, &mut cycle);
        if self.graph.is_there(pending.read.node) {
            let reads = &mut self.vars[event.var as usize].reads;
            note_read(reads, event.thread, pending.read);
        }
        if pending.closes {
            self.graph.close(pending.node);
        }
        Ok(cycle)
    }

    /// A store reaches memory.
    fn store(&mut self, event: TxnEvent, touch: Touch, cycle: &mut Option<TxnCycle>) {
        let var = &mut self.vars[event.var as usize];
        let before = var.commit_by_others(event.thread);
        if var.commit.1 != event.thread {
            var.other = var.commit.0;
        }
        var.commit = (touch, event.thread);
        let mut reads = std::mem::take(&mut var.reads);
        self.link(before, touch.node, cycle);
        reads.retain(|&(thread, read)| {
            if thread != event.thread {
                self.link(read, touch.node, cycle);
            }
            thread == event.thread
        });
        self.vars[event.var as usize].reads = reads;
    }

    /// A fence or an update.
    fn drain(&mut self, event: TxnEvent) -> Result<Option<TxnCycle>, Refused> {
        if self.pending(event.thread) > 0 {
            return Err(Refused::NotEmpty);
        }
        let node = self.node(event);
        let touch = Touch { node, event: self.now };
        let mut cycle = None;
        let state = &mut self.threads[event.thread as usize];
        let before = [state.read, state.write, state.commit];
        (state.read, state.write, state.commit) = (touch, touch, touch);
        state.fences += 1;
        let mut loose = std::mem::take(&mut state.loose);
        for touch in before.into_iter().chain(loose.drain(..)) {
            self.link(touch, node, &mut cycle);
        }
        self.threads[event.thread as usize].loose = loose;
        if event.kind == TxnKind::Update {
            self.store(event, touch, &mut cycle);
        }
        self.finish(node);
        Ok(cycle)
    }

    /// If every event is a node: nothing will lead to this one any more.
    fn finish(&mut self, node: NodeRef) {
        if self.question == Question::ScEquivalent {
            self.graph.close(node);
        }
    }
}

fn note_read(reads: &mut Vec<(u32, Touch)>, thread: u32, touch: Touch) {
    match reads.iter_mut().find(|(other, _)| *other == thread) {
        Some((_, read)) => *read = touch,
        None => reads.push((thread, touch)),
    }
}
