//! Robustness by one search over SC runs and one guessed store, in the plainest form: states of
//! the machine in a hash map. The fast form is compared with it.

use std::collections::{BTreeSet, HashMap, VecDeque};

use weakspot_core::certify::Rejected;
use weakspot_core::machine::{Entry, FailureKind, Machine, Outcome, Schedule, State, Step};
use weakspot_core::{
    Drain, Evidence, Fence, Instr, Limits, Model, Program, Progress, ThreadId, Value, Verdict,
};

use crate::meter::Meter;
use crate::reach::NoAnswer;
use crate::robust::{Reordered, Robust};

/// What is known about the guessed store while it is pending.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Pending {
    thread: ThreadId,
    addr: Value,
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
    /// What the address held before the store; 0 in programs without atomic blocks.
    old: Value,
    /// The open atomic block, if there is one.
    block: Option<Block>,
}

/// An atomic block of another thread, while it runs. Its accesses count as one event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Block {
    /// It runs on the memory without the pending store: it is the last event of a violation.
    last: bool,
    /// What it accessed, and whether it wrote.
    accesses: Vec<(Value, bool)>,
}

/// What a step does to a pending store.
enum Seen {
    Goes(Pending),
    /// The store is in memory by now.
    Committed,
    /// The step closes a cycle.
    Violation,
}

type Node = (State, Option<Pending>);

pub(crate) fn search(
    program: &Program,
    model: Model,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Robust, NoAnswer> {
    let mut meter = Meter::new(*limits, progress);
    let machine = Machine { program, model: Model::Sc };
    let edges = program.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
    let locks = edges.filter(|e| e.instr == Instr::Lock).count() > 0;
    let mut nodes: Vec<(Node, usize, Option<Step>)> = Vec::new();
    let mut known: HashMap<Node, usize> = HashMap::new();
    let mut todo: VecDeque<usize> = VecDeque::new();
    let mut add = |nodes: &mut Vec<(Node, usize, Option<Step>)>,
                   todo: &mut VecDeque<usize>,
                   node: Node,
                   from: usize,
                   step| {
        let id = nodes.len();
        if *known.entry(node.clone()).or_insert(id) == id {
            nodes.push((node, from, step));
            todo.push_back(id);
        }
    };
    for state in machine.initial_states() {
        let id = nodes.len();
        add(&mut nodes, &mut todo, (state, None), id, None);
    }
    while let Some(id) = todo.pop_front() {
        meter.states += 1;
        let bytes = nodes.len() as u64 * 400;
        let frontier = todo.len() as u64;
        if let Err(limit) = meter.work(|| (frontier, bytes)) {
            let verdict = Verdict::Unknown(limit);
            return Ok(Robust {
                verdict,
                evidence: None,
                reordered: None,
                states: meter.states,
                queries: 1,
            });
        }
        let (state, pending) = nodes[id].0.clone();
        for step in machine.steps(&state) {
            let next = match machine.take(&state, step) {
                Outcome::Next(next) => next,
                Outcome::Blocked => continue,
                Outcome::Failed(failure) if failure.kind == FailureKind::Assertion => continue,
                Outcome::Failed(failure) => return Err(NoAnswer::Fault(failure)),
            };
            let Step::Execute { thread, edge, .. } = step else { continue };
            let local = &state.threads[thread.index()];
            let instr = &program.edge(thread, local.point, edge as usize).instr;
            match &pending {
                None => {
                    if let Instr::Store { addr, .. } = instr
                        && state.lock.is_none()
                    {
                        let addr = addr.eval(&local.regs).unwrap_or_default();
                        let guess = Pending {
                            thread,
                            addr,
                            after: BTreeSet::from([thread]),
                            written: BTreeSet::from([addr]),
                            read: BTreeSet::new(),
                            delayed: BTreeSet::from([addr]),
                            fenced: false,
                            old: if locks {
                                state.memory.get(&addr).copied().unwrap_or(0)
                            } else {
                                0
                            },
                            block: None,
                        };
                        add(&mut nodes, &mut todo, (next.clone(), Some(guess)), id, Some(step));
                    }
                    add(&mut nodes, &mut todo, (next, None), id, Some(step));
                }
                Some(pending) => {
                    if *instr == Instr::Lock && thread != pending.thread {
                        let mut last = (next.clone(), Some(pending.clone()));
                        last.0.memory.insert(pending.addr, pending.old);
                        if let Some(p) = &mut last.1 {
                            p.block = Some(Block { last: true, accesses: Vec::new() });
                        }
                        add(&mut nodes, &mut todo, last, id, Some(step));
                    }
                    match pending.clone().sees(model, thread, instr, &local.regs) {
                        Seen::Goes(pending) => {
                            add(&mut nodes, &mut todo, (next, Some(pending)), id, Some(step));
                        }
                        Seen::Committed => {}
                        Seen::Violation => {
                            let mut steps = vec![step];
                            let mut at = id;
                            let mut store = 0;
                            let mut behind = 1;
                            while let (_, from, Some(step)) = &nodes[at] {
                                behind += 1;
                                steps.push(*step);
                                if nodes[at].0.1.is_some() && nodes[*from].0.1.is_none() {
                                    store = behind;
                                }
                                at = *from;
                            }
                            steps.reverse();
                            let store = steps.len() - store;
                            let init = program
                                .locs
                                .iter()
                                .map(|l| nodes[at].0.0.memory[&l.addr])
                                .collect();
                            let sc = Schedule { init, steps };
                            let (run, reordered) = delay(program, model, &sc, store)
                                .ok_or(NoAnswer::Rejected(Rejected::WrongState))?;
                            return Ok(Robust {
                                verdict: Verdict::Violated,
                                evidence: Some(Evidence::Run(run)),
                                reordered: Some(reordered),
                                states: meter.states,
                                queries: 1,
                            });
                        }
                    }
                }
            }
        }
    }
    Ok(Robust {
        verdict: Verdict::Holds,
        evidence: Some(Evidence::Exhausted { states: meter.states }),
        reordered: None,
        states: meter.states,
        queries: 1,
    })
}

impl Pending {
    fn sees(mut self, model: Model, thread: ThreadId, instr: &Instr, regs: &[Value]) -> Seen {
        let pso = matches!(model, Model::Pso(_));
        let own = thread == self.thread;
        let at = |addr: &weakspot_core::Expr| addr.eval(regs).unwrap_or_default();
        let (addr, writes) = match instr {
            Instr::Load { addr, .. } => (at(addr), false),
            Instr::Store { addr, .. } => {
                let addr = at(addr);
                if own && (!pso || self.fenced) {
                    self.delayed.insert(addr);
                }
                (addr, true)
            }
            Instr::Update { addr, .. } => {
                let addr = at(addr);
                let waits = model != Model::Pso(Drain::Own) || self.fenced || addr == self.addr;
                if own && waits {
                    return Seen::Committed;
                }
                (addr, true)
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
        if !own && self.delayed.contains(&addr) && !(last && hits) {
            return Seen::Committed;
        }
        if !hits && (self.written.contains(&addr) || writes && self.read.contains(&addr)) {
            self.after.insert(thread);
        }
        if let Some(block) = &mut self.block {
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

/// The run under `model` in which the store of step `store` of the SC run `sc` is held back until
/// the end, and with it what cannot overtake it.
pub(crate) fn delay(
    program: &Program,
    model: Model,
    sc: &Schedule,
    store: usize,
) -> Option<(Schedule, Reordered)> {
    let machine = Machine { program, model };
    let mut state = machine.initial_state(&sc.init);
    let mut steps = Vec::new();
    let mut reordered = Reordered { store: 0, access: 0 };
    let Step::Execute { thread: delayer, .. } = sc.steps[store] else { return None };
    let mut held: BTreeSet<Value> = BTreeSet::new();
    let mut fenced = false;
    let mut take = |state: &mut State, step| match machine.take(state, step) {
        Outcome::Next(next) => {
            *state = next;
            steps.push(step);
            Some(steps.len() - 1)
        }
        Outcome::Blocked | Outcome::Failed(_) => None,
    };
    for (i, &step) in sc.steps.iter().enumerate() {
        let Step::Execute { thread, edge, .. } = step else { return None };
        let local = &state.threads[thread.index()];
        let instr = program.edge(thread, local.point, edge as usize).instr.clone();
        let regs = local.regs.clone();
        let at = take(&mut state, step)?;
        let later = thread == delayer && i > store;
        match instr {
            Instr::Store { addr, .. } => {
                let addr = addr.eval(&regs).ok()?;
                let holds =
                    i == store || later && (model == Model::Tso || fenced || held.contains(&addr));
                if i == store {
                    reordered.store = at;
                }
                if holds {
                    held.insert(addr);
                } else {
                    reordered.access = if later { at } else { reordered.access };
                    take(&mut state, Step::Commit { thread, addr })?;
                }
            }
            Instr::Load { .. } | Instr::Update { .. } if later => reordered.access = at,
            Instr::Fence(Fence::StoreStore) if later => fenced = matches!(model, Model::Pso(_)),
            _ => {}
        }
    }
    while let Some(addr) = state.threads[delayer.index()].buffer.iter().find_map(|e| match e {
        Entry::Store { addr, .. } => Some(*addr),
        Entry::Barrier => None,
    }) {
        take(&mut state, Step::Commit { thread: delayer, addr })?;
    }
    Some((Schedule { init: sc.init.clone(), steps }, reordered))
}
