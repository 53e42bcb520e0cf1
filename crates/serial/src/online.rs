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
//! committed, which is why both stand in the buffer, beside the write. One that finds another thread's
//! value where its own thread wrote has seen memory, unless the question is about the static reading.
//!
//! Each write and its commit, or each transaction, or each event by itself, is a node of the graph
//! (`graph.rs`); a cycle is a violation. Cost per event: the threads that read the variable since
//! it was last committed, and what the graph costs per edge.

mod own;
mod sc;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use weakspot_core::serial::{BufferedReads, Question, TxnCycle};
use weakspot_core::{TxnEvent, TxnKind};

use crate::graph::{Graph, NodeRef};
use own::Owns;

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

/// How much was remembered at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// Transactions.
    pub nodes: usize,
    /// Edges between them.
    pub edges: usize,
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
    /// Reads of the buffer since the last write, with their variables. Of each variable the last
    /// one counts.
    loose: Vec<(u32, Touch)>,
    /// It is time to look for those that do not count when there are so many.
    loose_room: usize,
    /// Per variable what the thread did to it; if program order counts, only while stores are in the
    /// buffer.
    own: Owns,
}

/// So many reads of the buffer are no reason to tidy up.
const LOOSE: usize = 64;

impl Thread {
    /// Of the reads of the buffer, keeps the last one of each variable: the others come before
    /// it.
    #[cold]
    fn tidy(&mut self, graph: &Graph) {
        self.loose.retain(|(_, read)| graph.is_there(read.node));
        self.loose.sort_by_key(|&(var, read)| (var, std::cmp::Reverse(read.event)));
        self.loose.dedup_by_key(|(var, _)| *var);
        self.loose_room = LOOSE.max(2 * self.loose.len());
    }
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
    #[inline]
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

    /// How much is remembered for the order: its transactions, and those that are not collected yet,
    /// which need about 16 times as much memory.
    #[must_use]
    pub fn ordered(&self) -> usize {
        self.graph.order.as_ref().map_or(0, |order| order.len() + 16 * self.graph.len())
    }

    /// From now on transactions are not remembered.
    pub(crate) fn forget_order(&mut self) {
        self.graph.order = None;
    }

    /// The next event of an execution of TSO. The first cycle that it closes, if it does.
    pub fn event(&mut self, event: TxnEvent) -> Result<Option<TxnCycle>, Refused> {
        if self.threads.len() <= event.thread as usize || self.vars.len() <= event.var as usize {
            self.make_room(event);
        }
        let cycle = match (event.kind, !matches!(self.question, Question::TsoSerializable(_))) {
            (TxnKind::Read, true) => self.read::<true>(event),
            (TxnKind::Read, false) => self.read::<false>(event),
            (TxnKind::Write, po) => self.write(event, po),
            (TxnKind::Commit, _) => self.commit(event)?,
            (TxnKind::Update | TxnKind::Fence, _) => self.drain(event)?,
        };
        self.now += 1;
        Ok(cycle)
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

    /// How much was remembered at most.
    #[must_use]
    pub fn peak(&self) -> Peak {
        let (nodes, edges) = self.graph.most();
        Peak { nodes, edges }
    }

    /// The memory in use, about.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let of_thread = |state: &Thread| {
            state.own.bytes()
                + state.loose.capacity() * size_of::<(u32, Touch)>()
                + state.buffer.capacity() * size_of::<Pending>()
        };
        let threads: usize = self.threads.iter().map(of_thread).sum();
        let reads: usize = self.vars.iter().map(|var| var.reads.capacity()).sum();
        let vars = self.vars.capacity() * size_of::<Var>() + reads * size_of::<(u32, Touch)>();
        self.graph.bytes() + (threads + vars + self.threads.capacity() * size_of::<Thread>()) as u64
    }

    /// The events that a cycle may come to lead through, those to come aside.
    #[must_use]
    pub(crate) fn live_events(&self) -> Vec<u64> {
        let touches = touches(&self.threads, &self.vars);
        let live = touches.filter(|touch| self.graph.is_there(touch.node));
        let mut events: Vec<u64> = live.map(|touch| touch.event).collect();
        self.graph.each_event(|event| events.push(event));
        events
    }

    #[cold]
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
                loose_room: LOOSE,
                own: Owns::default(),
            });
        }
        while self.vars.len() <= event.var as usize {
            self.vars.push(Var { commit: (NOBODY, u32::MAX), other: NOBODY, reads: Vec::new() });
        }
    }

    /// Takes nodes out of the graph if there are too many.
    #[inline]
    fn make_graph_small(&mut self) {
        if self.graph.is_full() {
            let Online { graph, threads, vars, .. } = self;
            graph.compact(touches(threads, vars).map(|touch| touch.node));
        }
    }

    /// The node of an event that is no commit.
    #[inline]
    fn node(&mut self, event: TxnEvent) -> NodeRef {
        match self.threads[event.thread as usize].txn {
            Some((txn, node)) if txn == event.txn && self.question != Question::ScEquivalent => {
                node
            }
            _ => self.begin(event),
        }
    }

    /// A new node.
    fn begin(&mut self, event: TxnEvent) -> NodeRef {
        self.end(event.thread);
        self.make_graph_small();
        let node = self.graph.open(event.txn, event.thread);
        if !matches!(self.question, Question::TsoSerializable(_)) {
            self.graph.mark_issue(node, self.now);
        }
        if self.question != Question::ScEquivalent {
            self.threads[event.thread as usize].txn = Some((event.txn, node));
        }
        node
    }

    /// A read; whether all of program order counts.
    fn read<const PO: bool>(&mut self, event: TxnEvent) -> Option<TxnCycle> {
        let node = self.node(event);
        let touch = Touch { node, event: self.now };
        let mut cycle = None;
        let graph = &mut self.graph;
        let state = &mut self.threads[event.thread as usize];
        let var = &mut self.vars[event.var as usize];
        // The last access since the last fence; a write among them may be in the buffer.
        let mut after = NOBODY;
        let mut write = 0;
        if !PO {
            let own = state.own.entry(event.var);
            after = std::mem::replace(&mut own.last, touch);
            write = own.write;
        } else if !state.buffer.is_empty() {
            write = state.own.get(event.var).map_or(0, |own| own.write);
        }
        let at = write.checked_sub(state.left + 1);
        let mut is_buffered = write != 0;
        let before = match at.and_then(|at| state.buffer.get_mut(at as usize)) {
            Some(pending) => {
                pending.read = touch;
                pending.before
            }
            None => {
                note_read(&mut var.reads, event.thread, touch);
                // The last own write is in memory: it was overwritten if the last commit is of another.
                is_buffered &= var.commit.1 == event.thread
                    || self.question == Question::TsoSerializable(BufferedReads::Static);
                var.commit_by_others(event.thread)
            }
        };
        link(graph, state.read, touch, &mut cycle);
        if !PO {
            link(graph, after, touch, &mut cycle);
        }
        link(graph, before, touch, &mut cycle);
        if PO {
            state.read = touch;
        } else if !is_buffered {
            state.read = touch;
            graph.mark_issue(node, self.now);
        } else {
            graph.mark_buffered(node, event.var, self.now);
            state.loose.push((event.var, touch));
            if state.loose.len() > state.loose_room {
                state.tidy(graph);
            }
        }
        self.finish(node);
        cycle
    }

    fn write(&mut self, event: TxnEvent, po: bool) -> Option<TxnCycle> {
        let node = self.node(event);
        let touch = Touch { node, event: self.now };
        let mut cycle = None;
        let graph = &mut self.graph;
        let state = &mut self.threads[event.thread as usize];
        state.buffer.push_back(Pending {
            var: event.var,
            node,
            txn: event.txn,
            before: self.vars[event.var as usize].commit_by_others(event.thread),
            read: NOBODY,
            closes: self.question == Question::ScEquivalent,
        });
        let own = state.own.entry(event.var);
        (own.last, own.write) = (touch, state.left + state.buffer.len() as u64);
        link(graph, state.read, touch, &mut cycle);
        if po {
            state.read = touch;
            return cycle;
        }
        let write = std::mem::replace(&mut state.write, touch);
        link(graph, write, touch, &mut cycle);
        for (_, read) in state.loose.drain(..) {
            link(graph, read, touch, &mut cycle);
        }
        cycle
    }

    fn commit(&mut self, event: TxnEvent) -> Result<Option<TxnCycle>, Refused> {
        let state = &mut self.threads[event.thread as usize];
        let Some(&Pending { var, node, txn, read, closes, .. }) = state.buffer.front() else {
            return Err(Refused::Commit);
        };
        if (var, txn) != (event.var, event.txn) {
            return Err(Refused::Commit);
        }
        state.buffer.pop_front();
        state.left += 1;
        let touch = Touch { node, event: self.now };
        let last = std::mem::replace(&mut state.commit, touch);
        let mut cycle = None;
        link(&mut self.graph, last, touch, &mut cycle);
        self.graph.mark_commit(node, self.now);
        self.store(event, touch, &mut cycle);
        if self.graph.is_there(read.node) {
            note_read(&mut self.vars[event.var as usize].reads, event.thread, read);
        }
        if closes {
            self.graph.close(node);
        }
        Ok(cycle)
    }

    /// A store reaches memory.
    fn store(&mut self, event: TxnEvent, touch: Touch, cycle: &mut Option<TxnCycle>) {
        let graph = &mut self.graph;
        let var = &mut self.vars[event.var as usize];
        let before = var.commit_by_others(event.thread);
        if var.commit.1 != event.thread {
            var.other = var.commit.0;
        }
        var.commit = (touch, event.thread);
        link(graph, before, touch, cycle);
        var.reads.retain(|&(thread, read)| {
            if thread != event.thread {
                link(graph, read, touch, cycle);
            }
            thread == event.thread
        });
    }

    /// A fence or an update.
    fn drain(&mut self, event: TxnEvent) -> Result<Option<TxnCycle>, Refused> {
        if self.pending(event.thread) > 0 {
            return Err(Refused::NotEmpty);
        }
        let node = self.node(event);
        let touch = Touch { node, event: self.now };
        let mut cycle = None;
        let graph = &mut self.graph;
        let state = &mut self.threads[event.thread as usize];
        let loose = state.loose.drain(..).map(|(_, read)| read);
        for before in [state.read, state.write, state.commit].into_iter().chain(loose) {
            link(graph, before, touch, &mut cycle);
        }
        (state.read, state.write, state.commit) = (touch, touch, touch);
        state.own.fence();
        graph.mark_issue(node, self.now);
        graph.mark_commit(node, self.now);
        if event.kind == TxnKind::Update {
            self.store(event, touch, &mut cycle);
        }
        self.finish(node);
        Ok(cycle)
    }

    /// If every event is a node: nothing will lead to this one any more.
    #[inline]
    fn finish(&mut self, node: NodeRef) {
        if self.question == Question::ScEquivalent {
            self.graph.close(node);
        }
    }
}

/// Adds an edge to the node of the current event. Only the first cycle counts.
#[inline(always)]
fn link(graph: &mut Graph, from: Touch, to: Touch, cycle: &mut Option<TxnCycle>) {
    if from.node != to.node && graph.is_there(from.node) {
        link_there(graph, from, to, cycle);
    }
}

#[inline(never)]
fn link_there(graph: &mut Graph, from: Touch, to: Touch, cycle: &mut Option<TxnCycle>) {
    let found = graph.add(from.node, to.node, (from.event, to.event));
    if let Some(path) = found.filter(|_| cycle.is_none()) {
        *cycle = Some(TxnCycle(path));
    }
}

/// All events that what comes next may have to come after.
fn touches<'a>(threads: &'a [Thread], vars: &'a [Var]) -> impl Iterator<Item = Touch> + 'a {
    let of_threads = threads.iter().flat_map(|state| {
        let pending = state.buffer.iter().flat_map(|pending| [pending.before, pending.read]);
        let last = [state.read, state.write, state.commit].into_iter();
        last.chain(state.loose.iter().map(|(_, read)| *read))
            .chain(pending)
            .chain(state.own.touches())
    });
    let of_vars = vars.iter().flat_map(|var| {
        [var.commit.0, var.other].into_iter().chain(var.reads.iter().map(|(_, read)| *read))
    });
    of_threads.chain(of_vars)
}

#[inline]
fn note_read(reads: &mut Vec<(u32, Touch)>, thread: u32, touch: Touch) {
    match reads.iter_mut().find(|(other, _)| *other == thread) {
        Some((_, read)) => *read = touch,
        None => reads.push((thread, touch)),
    }
}

/// The event of an execution that closes the first cycle, and the cycle.
pub(crate) fn first_violation(
    events: &[TxnEvent],
    reads: BufferedReads,
) -> Option<(usize, TxnCycle)> {
    let mut online = Online::new(Question::TsoSerializable(reads));
    let mut cycle = |&event: &TxnEvent| online.event(event).unwrap_or(None);
    events.iter().enumerate().find_map(|(at, event)| Some((at, cycle(event)?)))
}
