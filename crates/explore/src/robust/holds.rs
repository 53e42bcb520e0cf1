//! Stores that are held back beside the pending one, for the sake of atomic blocks.
//!
//! The last event of a violation runs on a memory in which some stores have not arrived. For a
//! single access it does not matter what that memory holds. An atomic block may read one thing and
//! go on to another depending on it, so that it has to see what it would see: the memory without
//! every store that is still in a buffer. Which ones these are is guessed along the way; here is
//! what a thread may do while they are held back such that it notices nothing.
//!
//! Programs whose blocks do the same accesses whatever they read need none of this; see
//! [`blocks_depend_on_values`].

use std::collections::{BTreeMap, BTreeSet};

use weakspot_core::{Drain, Expr, Fence, Instr, Model, PointId, Program, Thread, ThreadId, Value};

/// The stores that are held back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Holds {
    cells: BTreeMap<Value, Cell>,
    /// Whose they are, and whether a store-store fence has followed one (under PSO).
    threads: BTreeMap<ThreadId, bool>,
}

/// An address to which stores are held back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Cell {
    /// The value in memory, without the stores held back.
    old: Value,
    /// The threads whose stores are held back here.
    owners: BTreeSet<ThreadId>,
    /// The thread of the last store held back here.
    last: ThreadId,
}

impl Holds {
    /// Holds back a store over the value `old`.
    pub(crate) fn hold(&mut self, thread: ThreadId, addr: Value, old: Value) {
        let new = || Cell { old, owners: BTreeSet::new(), last: thread };
        let cell = self.cells.entry(addr).or_insert_with(new);
        cell.owners.insert(thread);
        cell.last = thread;
        self.threads.entry(thread).or_insert(false);
    }

    /// Whether an instruction of `thread` can take effect while the thread's own stores are held
    /// back. `addr` is the address of an access; a store is not held back itself.
    pub(crate) fn lets_pass(
        &self,
        model: Model,
        thread: ThreadId,
        instr: &Instr,
        addr: Value,
    ) -> bool {
        let Some(&fenced) = self.threads.get(&thread) else { return true };
        let waits_here = self.cells.get(&addr).is_some_and(|cell| cell.owners.contains(&thread));
        match instr {
            Instr::Store { .. } => model != Model::Tso && !fenced && !waits_here,
            Instr::Update { .. } => model == Model::Pso(Drain::Own) && !fenced && !waits_here,
            Instr::Fence(Fence::Full) | Instr::Lock => false,
            _ => true,
        }
    }

    /// The same, and the thread notices nothing of the stores of others.
    pub(crate) fn allow(
        &mut self,
        model: Model,
        thread: ThreadId,
        instr: &Instr,
        addr: Value,
    ) -> bool {
        let owner = self.cells.get(&addr).map(|cell| cell.last);
        let unnoticed = match instr {
            Instr::Load { .. } => owner.is_none_or(|owner| owner == thread),
            Instr::Store { .. } | Instr::Update { .. } => owner.is_none(),
            _ => true,
        };
        if *instr == Instr::Fence(Fence::StoreStore)
            && let Some(fenced) = self.threads.get_mut(&thread)
        {
            *fenced = matches!(model, Model::Pso(_));
        }
        unnoticed && self.lets_pass(model, thread, instr, addr)
    }

    /// Whether a store to `addr` is held back.
    pub(crate) fn contains(&self, addr: Value) -> bool {
        self.cells.contains_key(&addr)
    }

    /// The addresses with what memory holds there without the stores.
    pub(crate) fn old(&self) -> impl Iterator<Item = (Value, Value)> + '_ {
        self.cells.iter().map(|(&addr, cell)| (addr, cell.old))
    }
}

/// Whether some atomic block may do other accesses, or not get to its end, depending on what it
/// reads.
pub(crate) fn blocks_depend_on_values(program: &Program) -> bool {
    program.threads.iter().any(|thread| {
        let edges = thread.points.iter().flat_map(|p| &p.edges);
        edges.filter(|e| e.instr == Instr::Lock).any(|lock| depends(thread, lock.to))
    })
}

/// The same for the block that begins at a point.
fn depends(thread: &Thread, mut at: PointId) -> bool {
    // A block without branches that does not end in as many steps goes round in circles.
    for _ in 0..=thread.points.len() {
        let [edge] = &thread.points[at.index()].edges[..] else { return true };
        match &edge.instr {
            Instr::Unlock => return false,
            Instr::Assume(_) | Instr::Assert(_) | Instr::Lock => return true,
            Instr::Load { addr, .. } | Instr::Store { addr, .. } | Instr::Update { addr, .. } => {
                if !matches!(addr, Expr::Const(_)) {
                    return true;
                }
            }
            Instr::Nop | Instr::Assign { .. } | Instr::Choose { .. } | Instr::Fence(_) => {}
        }
        at = edge.to;
    }
    true
}
