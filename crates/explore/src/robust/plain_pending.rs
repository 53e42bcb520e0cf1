//! Robustness by one search over SC runs and one guessed store, in the plainest form: states of
//! the machine in a hash map. The fast form is compared with it.
//!
//! This form is also exact for atomic blocks that depend on what they read: see
//! [`holds`](crate::robust::holds). `docs/how/robustness.md` has the proof.

use std::collections::{BTreeSet, HashMap, VecDeque};

use weakspot_core::certify::Rejected;
use weakspot_core::machine::{Machine, Schedule, State, Step};
use weakspot_core::{
    Drain, Fence, Instr, Limit, Limits, Model, PlaceEdge, Program, Progress, ThreadId, Value,
};

use crate::answer::NoAnswer;
use crate::meter::Meter;
use crate::robust::delay::{Pairs, delay};
use crate::robust::hear::{Hear, all_pairs, first_violation};
use crate::robust::holds::{Holds, blocks_depend_on_values};
use crate::robust::{Robust, state_after};

/// What is known about the guessed store while it is pending.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Pending {
    thread: ThreadId,
    addr: Value,
    /// If all violations are collected, the edge of the store.
    site: Option<PlaceEdge>,
    /// Threads with an event that happens after the store.
    after: BTreeSet<ThreadId>,
    /// Addresses whose last write happens after the store.
    written: BTreeSet<Value>,
    /// Addresses with a read since their last write that happens after the store.
    read: BTreeSet<Value>,
    /// Addresses whose pending stores cannot reach memory before the store does.
    delayed: BTreeSet<Value>,
    /// Under PSO: a store-store fence followed the store.
    fenced: bool,
    /// The open atomic block, if there is one.
    block: Option<Block>,
}

/// An atomic block of another thread, while it runs. Its accesses count as one event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Block {
    /// It runs on the memory without the stores held back: it is the last event of a violation.
    last: bool,
    /// What it accessed, and whether it wrote.
    accesses: Vec<(Value, bool)>,
    /// If all violations are collected, its first access to where the pending store goes.
    hit: Option<PlaceEdge>,
}

/// What a step does to a pending store.
enum Seen {
    Goes(Pending),
    /// The store is in memory by now.
    Committed,
    /// The step closes a cycle.
    Violation,
}

/// A state of the search.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node {
    state: State,
    pending: Option<Pending>,
    /// In programs with atomic blocks: the pending store and those held back with it.
    holds: Holds,
}

/// How a node was reached: from which one, by which step, and whether that is a store held back.
type Origin = (usize, Option<Step>, bool);

/// Decides robustness.
pub(crate) fn search(
    program: &Program,
    model: Model,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Robust, NoAnswer> {
    first_violation(limits, progress, |meter, hear| explore(program, model, false, meter, hear))
}

/// Collects every pair of a store and an access that overtakes it.
pub(crate) fn overtakings(
    program: &Program,
    model: Model,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Pairs, NoAnswer> {
    all_pairs(limits, progress, |meter, hear| explore(program, model, true, meter, hear))
}

/// Explores until `hear` has enough, a limit is reached, or nothing is left. With `all` stores of
/// different edges are told apart.
fn explore(
    program: &Program,
    model: Model,
    all: bool,
    meter: &mut Meter<'_>,
    hear: &mut Hear<'_>,
) -> Result<Option<Limit>, NoAnswer> {
    let machine = Machine { program, model: Model::Sc };
    let rules = Rules::of(program, model, all);
    let mut nodes: Vec<(Node, Origin)> = Vec::new();
    let mut known: HashMap<Node, usize> = HashMap::new();
    let mut todo: VecDeque<usize> = VecDeque::new();
    let mut add = |nodes: &mut Vec<(Node, Origin)>,
                   todo: &mut VecDeque<usize>,
                   node: Node,
                   origin: Origin| {
        let id = nodes.len();
        if *known.entry(node.clone()).or_insert(id) == id {
            nodes.push((node, origin));
            todo.push_back(id);
        }
    };
    // Each node is kept twice: a state, what is pending, and the tables around them.
    let regs = program.threads.iter().map(|t| 120 + 8 * t.regs.len()).sum::<usize>();
    let node_bytes = 2 * (300 + regs + 48 * program.locs.len()) as u64;
    for init in machine.initial_values() {
        let state = machine.initial_state(&init);
        if let Err(limit) = meter.long_work(|| (0, nodes.len() as u64 * node_bytes)) {
            return Ok(Some(limit));
        }
        let node = Node { state, pending: None, holds: Holds::default() };
        let id = nodes.len();
        add(&mut nodes, &mut todo, node, (id, None, false));
    }
    while let Some(id) = todo.pop_front() {
        meter.states += 1;
        let bytes = nodes.len() as u64 * node_bytes;
        let frontier = todo.len() as u64;
        if let Err(limit) = meter.long_work(|| (frontier, bytes)) {
            return Ok(Some(limit));
        }
        let node = nodes[id].0.clone();
        for step in machine.steps(&node.state) {
            let Some(next) = state_after(&machine, &node.state, step)? else { continue };
            let Step::Execute { thread, edge, .. } = step else { continue };
            let point = node.state.threads[thread.index()].point;
            let at = PlaceEdge { thread, point, edge: edge as usize };
            let mut found = Vec::new();
            if let Some(access) = rules.successors(&node, next, at, &mut found) {
                let store = node.pending.as_ref().and_then(|p| p.site).unwrap_or(at);
                let run = || {
                    let (sc, store, held) = path(program, &nodes, id, step);
                    delay(program, model, &sc, store, &held)
                };
                let more = hear((store, access), &run);
                if !more.ok_or(NoAnswer::Rejected(Rejected::WrongState))? {
                    return Ok(None);
                }
            }
            for (next, held) in found {
                add(&mut nodes, &mut todo, next, (id, Some(step), held));
            }
        }
    }
    Ok(None)
}

/// The SC run into a node and on by `last`, the step of its guessed store, and the steps of the
/// stores that are held back.
fn path(
    program: &Program,
    nodes: &[(Node, Origin)],
    mut at: usize,
    last: Step,
) -> (Schedule, usize, Vec<usize>) {
    let mut steps = vec![last];
    let (mut store, mut held) = (0, Vec::new());
    while let (node, (from, Some(step), is_held)) = &nodes[at] {
        if *is_held {
            held.push(steps.len());
        }
        if node.pending.is_some() && nodes[*from].0.pending.is_none() {
            store = steps.len();
        }
        steps.push(*step);
        at = *from;
    }
    steps.reverse();
    let from_start = |i: usize| steps.len() - 1 - i;
    let (store, held) = (from_start(store), held.into_iter().map(from_start).collect());
    let init = program.locs.iter().map(|l| nodes[at].0.state.memory[&l.addr]).collect();
    (Schedule { init, steps }, store, held)
}

/// What depends on the program.
struct Rules<'p> {
    program: &'p Program,
    model: Model,
    /// Stores of different edges are told apart.
    all: bool,
    /// The program has atomic blocks.
    blocks: bool,
    /// Some atomic blocks depend on what they read.
    depend: bool,
}

impl<'p> Rules<'p> {
    fn of(program: &'p Program, model: Model, all: bool) -> Rules<'p> {
        let edges = program.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
        let blocks = edges.filter(|e| e.instr == Instr::Lock).count() > 0;
        let depend = blocks && blocks_depend_on_values(program);
        Rules { program, model, all, blocks, depend }
    }

    /// Collects what a step of the SC machine from `node` to `next` leads to, each with whether the
    /// step is a store that is held back. If it closes a cycle, the access that does.
    fn successors(
        &self,
        node: &Node,
        next: State,
        at: PlaceEdge,
        found: &mut Vec<(Node, bool)>,
    ) -> Option<PlaceEdge> {
        let thread = at.thread;
        let instr = &self.program.edge(thread, at.point, at.edge).instr;
        let regs = &node.state.threads[thread.index()].regs;
        let addr = match instr {
            Instr::Load { addr, .. } | Instr::Store { addr, .. } | Instr::Update { addr, .. } => {
                addr.eval(regs).unwrap_or_default()
            }
            _ => 0,
        };
        let old = node.state.memory.get(&addr).copied().unwrap_or(0);
        let last = node.pending.as_ref().and_then(|p| p.block.as_ref()).is_some_and(|b| b.last);
        let plain_store = matches!(instr, Instr::Store { .. }) && node.state.lock.is_none();
        let mut holds = node.holds.clone();
        let allowed = last || holds.allow(self.model, thread, instr, addr);
        let mut holding = node.holds.clone();
        if self.blocks && plain_store {
            holding.hold(thread, addr, old);
        }
        let Some(pending) = &node.pending else {
            if plain_store {
                let guess = Pending::new(thread, addr);
                let pending = Some(Pending { site: self.all.then_some(at), ..guess });
                found.push((Node { state: next.clone(), pending, holds: holding.clone() }, false));
                // Under TSO nobody else's stores need to wait.
                if self.depend && self.model != Model::Tso {
                    found.push((Node { state: next.clone(), pending: None, holds: holding }, true));
                }
            }
            if allowed {
                found.push((Node { state: next, pending: None, holds }, false));
            }
            return None;
        };
        if *instr == Instr::Lock && thread != pending.thread && allowed {
            let mut state = next.clone();
            state.memory.extend(holds.old());
            let block = Some(Block { last: true, ..Block::default() });
            let pending = Some(Pending { block, ..pending.clone() });
            found.push((Node { state, pending, holds: holds.clone() }, false));
        }
        // The first access of a block to where the store goes is the one that overtakes it.
        let mut pending = pending.clone();
        if let Some(block) = &mut pending.block
            && self.all
            && addr == pending.addr
            && is_access(instr)
        {
            block.hit.get_or_insert(at);
        }
        // What closes the cycle must not have to wait for stores of its own thread.
        let waits_itself = !last && !node.holds.lets_pass(self.model, thread, instr, addr);
        let waits = thread == pending.thread && plain_store && pending.holds_back(self.model, addr);
        let held = pending.clone().sees(self.model, thread, instr, addr, &node.holds, true);
        match pending.clone().sees(self.model, thread, instr, addr, &node.holds, false) {
            Seen::Violation => {
                let access = pending.block.as_ref().and_then(|b| b.hit).unwrap_or(at);
                return (!waits_itself).then_some(access);
            }
            Seen::Goes(pending) if waits && self.blocks => {
                found.push((Node { state: next, pending: Some(pending), holds: holding }, false));
                return None;
            }
            Seen::Goes(pending) if allowed || !self.blocks => {
                found.push((Node { state: next.clone(), pending: Some(pending), holds }, false));
            }
            Seen::Goes(_) | Seen::Committed => {}
        }
        if let Seen::Goes(pending) = held
            && plain_store
            && self.depend
            && self.model != Model::Tso
        {
            found.push((Node { state: next, pending: Some(pending), holds: holding }, true));
        }
        None
    }
}

impl Pending {
    /// A store that was just made.
    fn new(thread: ThreadId, addr: Value) -> Pending {
        Pending {
            thread,
            addr,
            site: None,
            after: BTreeSet::from([thread]),
            written: BTreeSet::from([addr]),
            read: BTreeSet::new(),
            delayed: BTreeSet::from([addr]),
            fenced: false,
            block: None,
        }
    }

    /// Whether a later store of the thread to `addr` cannot reach memory before this one.
    fn holds_back(&self, model: Model, addr: Value) -> bool {
        model == Model::Tso || self.fenced || self.delayed.contains(&addr)
    }

    /// What a step does. `held` says that it is a store that is held back as well.
    fn sees(
        mut self,
        model: Model,
        thread: ThreadId,
        instr: &Instr,
        addr: Value,
        holds: &Holds,
        held: bool,
    ) -> Seen {
        let pso = matches!(model, Model::Pso(_));
        let own = thread == self.thread;
        let writes = match instr {
            Instr::Load { .. } => false,
            Instr::Store { .. } => {
                if own && (!pso || self.fenced) {
                    self.delayed.insert(addr);
                }
                true
            }
            Instr::Update { .. } => {
                let waits = model != Model::Pso(Drain::Own) || self.fenced || addr == self.addr;
                if own && waits {
                    return Seen::Committed;
                }
                true
            }
            Instr::Fence(Fence::Full) | Instr::Lock if own => return Seen::Committed,
            Instr::Fence(Fence::StoreStore) if own => {
                self.fenced = pso;
                return Seen::Goes(self);
            }
            Instr::Lock => {
                self.block = Some(Block::default());
                return Seen::Goes(self);
            }
            Instr::Unlock => {
                let block = self.block.take().unwrap_or_default();
                if self.after.contains(&thread) {
                    if block.accesses.iter().any(|&(addr, _)| addr == self.addr) {
                        return Seen::Violation;
                    }
                    for (addr, writes) in block.accesses {
                        self.mark(addr, writes);
                    }
                }
                return if block.last { Seen::Committed } else { Seen::Goes(self) };
            }
            _ => return Seen::Goes(self),
        };
        let hits = !own && addr == self.addr;
        if hits && self.block.is_none() && self.after.contains(&thread) {
            return Seen::Violation;
        }
        let last = self.block.as_ref().is_some_and(|b| b.last);
        if !own && self.delayed.contains(&addr) && !last && (hits || !held) {
            return Seen::Committed;
        }
        // The last block does not see the stores that are held back, nor comes after them.
        let unseen = hits || last && holds.contains(addr);
        if !unseen && (self.written.contains(&addr) || writes && self.read.contains(&addr)) {
            self.after.insert(thread);
        }
        if let Some(block) = &mut self.block
            && !block.accesses.contains(&(addr, writes))
        {
            block.accesses.push((addr, writes));
        }
        if self.after.contains(&thread) {
            self.mark(addr, writes);
        } else if writes {
            self.written.remove(&addr);
            self.read.remove(&addr);
        }
        Seen::Goes(self)
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

fn is_access(instr: &Instr) -> bool {
    matches!(instr, Instr::Load { .. } | Instr::Store { .. } | Instr::Update { .. })
}
