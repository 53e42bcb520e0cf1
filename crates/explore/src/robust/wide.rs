//! Robustness of programs whose accesses overlap: a search over SC runs with a guessed set of
//! stores that are held back, and one of them that an access is to overtake.
//!
//! One pending store is not enough here. A store over two cells can stand on a cycle between an
//! access to the one and a store to the other, which is late as well. So at each store it is guessed
//! whether it is held back until after the last access; `docs/how/robustness.md` has the definition and
//! the proof. States of the machine in a hash map: such programs are small.

use std::collections::{BTreeSet, HashMap, VecDeque};

use weakspot_core::certify::Rejected;
use weakspot_core::machine::{Machine, Schedule, State, Step};
use weakspot_core::{
    Instr, Limit, Limits, LocId, Model, PlaceEdge, Program, Progress, ThreadId, Value,
};

use crate::answer::NoAnswer;
use crate::meter::Meter;
use crate::robust::delay::{Pairs, delay};
use crate::robust::hear::{Hear, all_pairs, first_violation};
use crate::robust::holds::Holds;
use crate::robust::{Robust, state_after};

/// The store that is to be overtaken, and what happens after it. Cells are named by addresses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Pending {
    thread: ThreadId,
    cells: Vec<Value>,
    /// Who has stored to which of these cells since.
    covered: BTreeSet<(ThreadId, Value)>,
    /// If all violations are collected, the edge of the store.
    site: Option<PlaceEdge>,
    /// Threads with an event that happens after the store.
    after: BTreeSet<ThreadId>,
    /// Cells whose last write happens after the store.
    written: BTreeSet<Value>,
    /// Cells with a read since their last write that happens after the store.
    read: BTreeSet<Value>,
}

/// A state of the search.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node {
    state: State,
    /// All stores that are held back, the pending one among them.
    holds: Holds,
    pending: Option<Pending>,
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
    let mut edges = program.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
    if edges.any(|e| e.instr == Instr::Lock) {
        let why = "atomic blocks together with accesses of different widths are not decided";
        return Err(NoAnswer::NotApplicable(why));
    }
    let machine = Machine { program, model: Model::Sc };
    let mut search = Search { program, model, all, nodes: Vec::new(), known: HashMap::new() };
    let mut todo: VecDeque<usize> = VecDeque::new();
    // Each node is kept twice: a state, what is pending, and the tables around them.
    let regs = program.threads.iter().map(|t| 120 + 8 * t.regs.len()).sum::<usize>();
    let node_bytes = 2 * (600 + regs + 48 * program.locs.len()) as u64;
    for init in machine.initial_values() {
        let state = machine.initial_state(&init);
        if let Err(limit) = meter.long_work(|| (0, search.nodes.len() as u64 * node_bytes)) {
            return Ok(Some(limit));
        }
        let id = search.nodes.len();
        let node = Node { state, holds: Holds::default(), pending: None };
        todo.extend(search.add(node, (id, None, false)));
    }
    while let Some(id) = todo.pop_front() {
        meter.states += 1;
        let (frontier, bytes) = (todo.len() as u64, search.nodes.len() as u64 * node_bytes);
        if let Err(limit) = meter.long_work(|| (frontier, bytes)) {
            return Ok(Some(limit));
        }
        let node = search.nodes[id].0.clone();
        for step in machine.steps(&node.state) {
            let Some(next) = state_after(&machine, &node.state, step)? else { continue };
            let Step::Execute { thread, edge, .. } = step else { continue };
            let point = node.state.threads[thread.index()].point;
            let at = PlaceEdge { thread, point, edge: edge as usize };
            let access = search.access(&node.state, at);
            if let Some(pending) = &node.pending
                && search.closes(&node, pending, &access)
            {
                let store = pending.site.unwrap_or(at);
                let run = || {
                    let (sc, store, held) = search.path(id, step);
                    delay(program, model, &sc, store, &held)
                };
                let more = hear((store, at), &run);
                if !more.ok_or(NoAnswer::Rejected(Rejected::WrongState))? {
                    return Ok(None);
                }
            }
            for (next, held) in search.successors(&node, next, at, &access) {
                todo.extend(search.add(next, (id, Some(step), held)));
            }
        }
    }
    Ok(None)
}

struct Search<'p> {
    program: &'p Program,
    model: Model,
    all: bool,
    nodes: Vec<(Node, Origin)>,
    known: HashMap<Node, usize>,
}

/// An instruction that is about to be executed, with the cells that it accesses.
struct Access<'p> {
    thread: ThreadId,
    instr: &'p Instr,
    cells: Vec<Value>,
}

impl Access<'_> {
    fn writes(&self) -> bool {
        matches!(self.instr, Instr::Store { .. } | Instr::Update { .. })
    }
}

impl<'p> Search<'p> {
    /// The number of `node`, if it is new.
    fn add(&mut self, node: Node, origin: Origin) -> Option<usize> {
        let id = self.nodes.len();
        if *self.known.entry(node.clone()).or_insert(id) != id {
            return None;
        }
        self.nodes.push((node, origin));
        Some(id)
    }

    fn access(&self, state: &State, at: PlaceEdge) -> Access<'p> {
        let program = self.program;
        let instr = &program.edge(at.thread, at.point, at.edge).instr;
        let regs = &state.threads[at.thread.index()].regs;
        let place = match instr {
            Instr::Load { addr, .. } | Instr::Store { addr, .. } | Instr::Update { addr, .. } => {
                addr.eval(regs).ok().and_then(|addr| program.loc_at(addr))
            }
            _ => None,
        };
        let addr = |cell: LocId| program.locs[cell.index()].addr;
        let cells = place.into_iter().flat_map(|loc| program.cells(loc)).map(addr).collect();
        Access { thread: at.thread, instr, cells }
    }

    /// Whether an access takes effect before the pending store although it happens after it.
    fn closes(&self, node: &Node, pending: &Pending, access: &Access<'_>) -> bool {
        let Access { thread, instr, cells } = access;
        let passes = |&cell: &Value| node.holds.lets_pass(self.model, *thread, instr, cell);
        *thread != pending.thread
            // A load does not miss the store where it reads a later one of its own thread.
            && cells.iter().any(|cell| {
                pending.cells.contains(cell) && !pending.covered.contains(&(*thread, *cell))
            })
            && cells.iter().all(passes)
            && (pending.after.contains(thread)
                || cells.iter().any(|cell| {
                    // The access does not see the stores that are held back, nor comes after them.
                    !node.holds.contains(*cell) && pending.precedes(*cell, access.writes())
                }))
    }

    /// What a step of the SC machine leads to, each with whether it is a store that is held back.
    fn successors(
        &self,
        node: &Node,
        next: State,
        at: PlaceEdge,
        access: &Access<'_>,
    ) -> Vec<(Node, bool)> {
        let Access { thread, instr, cells } = access;
        let mut found = Vec::new();
        let mut holds = node.holds.clone();
        let allowed = match cells.is_empty() {
            // No location is at this address.
            true => holds.allow(self.model, *thread, instr, Value::MIN),
            false => cells.iter().all(|&cell| holds.allow(self.model, *thread, instr, cell)),
        };
        let mut pending = node.pending.clone();
        if let Some(pending) = &mut pending {
            pending.sees(access);
        }
        if matches!(instr, Instr::Store { .. }) {
            let mut holds = node.holds.clone();
            cells.iter().for_each(|&cell| holds.hold(*thread, cell, 0));
            if pending.is_none() {
                let guess = Pending {
                    thread: *thread,
                    cells: cells.clone(),
                    covered: BTreeSet::new(),
                    site: self.all.then_some(at),
                    after: BTreeSet::from([*thread]),
                    written: cells.iter().copied().collect(),
                    read: BTreeSet::new(),
                };
                let (state, holds) = (next.clone(), holds.clone());
                found.push((Node { state, holds, pending: Some(guess) }, true));
            }
            let (state, pending) = (next.clone(), pending.clone());
            found.push((Node { state, holds, pending }, true));
        }
        if allowed {
            found.push((Node { state: next, holds, pending }, false));
        }
        found
    }

    /// The SC run into a node and on by `last`, the step of its pending store, and the steps of the
    /// stores that are held back.
    fn path(&self, mut at: usize, last: Step) -> (Schedule, usize, Vec<usize>) {
        let mut steps = vec![last];
        let (mut store, mut held) = (0, Vec::new());
        while let (node, (from, Some(step), is_held)) = &self.nodes[at] {
            if *is_held {
                held.push(steps.len());
            }
            if node.pending.is_some() && self.nodes[*from].0.pending.is_none() {
                store = steps.len();
            }
            steps.push(*step);
            at = *from;
        }
        steps.reverse();
        let from_start = |i: usize| steps.len() - 1 - i;
        let (store, held) = (from_start(store), held.into_iter().map(from_start).collect());
        let memory = &self.nodes[at].0.state.memory;
        let init = self.program.locs.iter().map(|l| memory[&l.addr]).collect();
        (Schedule { init, steps }, store, held)
    }
}

impl Pending {
    /// Whether an access to `cell` happens after the store because of what was done there.
    fn precedes(&self, cell: Value, writes: bool) -> bool {
        self.written.contains(&cell) || writes && self.read.contains(&cell)
    }

    /// An access of the SC run.
    fn sees(&mut self, access: &Access<'_>) {
        let writes = access.writes();
        if writes {
            let own = access.cells.iter().filter(|cell| self.cells.contains(cell));
            self.covered.extend(own.map(|&cell| (access.thread, cell)));
        }
        if access.cells.iter().any(|&cell| self.precedes(cell, writes)) {
            self.after.insert(access.thread);
        }
        if !self.after.contains(&access.thread) {
            return;
        }
        for &cell in &access.cells {
            if writes {
                self.written.insert(cell);
                self.read.remove(&cell);
            } else {
                self.read.insert(cell);
            }
        }
    }
}
