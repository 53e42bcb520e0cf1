//! Programs in which no access can overtake a store, whatever the values: robust at a glance, also where states are
//! infinitely many.
//!
//! While a store waits in its buffer, its thread does nothing that others could notice but accesses to the same location,
//! under TSO also stores, which wait behind it. So each run does what the run of SC does in which these accesses happen
//! when the store reaches memory: a load among them reads its thread's own last store in both. `docs/how/robustness.md`
//! has the proof.

use crate::{Drain, Edge, Expr, Fence, Instr, Model, Program, Thread};

/// Whether that is so, by the text alone. A program of which it is not said may be robust as well. The time is linear
/// in the size of the program.
#[must_use]
pub fn keeps_order(program: &Program, model: Model) -> bool {
    let in_order = |thread: &Thread| !has_overtaking(thread, model);
    model == Model::Sc || program.wides.is_empty() && program.threads.iter().all(in_order)
}

/// Stores that may still wait in the buffer at some point of a thread, by their addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting<'p> {
    None,
    /// All of them are to this address, which is a constant: registers change.
    To(&'p Expr),
    /// To several addresses, or to one that is computed.
    Others,
}

impl<'p> Waiting<'p> {
    fn store(addr: &'p Expr) -> Self {
        if matches!(addr, Expr::Const(_)) { Waiting::To(addr) } else { Waiting::Others }
    }

    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Waiting::None, one) | (one, Waiting::None) => one,
            (one, other) if one == other => one,
            _ => Waiting::Others,
        }
    }

    /// Whether an access to this address overtakes none of them.
    fn are_only_to(self, addr: &Expr) -> bool {
        match self {
            Waiting::None => true,
            Waiting::To(own) => own == addr,
            Waiting::Others => false,
        }
    }
}

/// What may wait: stores with no store-store fence behind them, and stores with one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Buffer<'p> {
    plain: Waiting<'p>,
    fenced: Waiting<'p>,
}

const EMPTY: Buffer<'_> = Buffer { plain: Waiting::None, fenced: Waiting::None };

impl<'p> Buffer<'p> {
    fn join(self, other: Self) -> Self {
        Buffer { plain: self.plain.join(other.plain), fenced: self.fenced.join(other.fenced) }
    }

    /// What waits behind an instruction, if that overtakes nothing.
    fn after(self, instr: &'p Instr, model: Model) -> Option<Self> {
        let Buffer { plain, fenced } = self;
        let are_only_to = |addr| plain.are_only_to(addr) && fenced.are_only_to(addr);
        match instr {
            Instr::Fence(Fence::Full) => Some(EMPTY),
            Instr::Fence(Fence::StoreStore) => {
                Some(Buffer { plain: Waiting::None, fenced: fenced.join(plain) })
            }
            // It waits for all stores of its thread, or for those to its location.
            Instr::Update { addr, .. } => {
                (model != Model::Pso(Drain::Own) || are_only_to(addr)).then_some(EMPTY)
            }
            Instr::Load { addr, .. } => are_only_to(addr).then_some(self),
            Instr::Store { addr, .. } => {
                let in_order = model == Model::Tso || plain.are_only_to(addr);
                in_order.then(|| Buffer { plain: plain.join(Waiting::store(addr)), fenced })
            }
            Instr::Lock => None,
            _ => Some(self),
        }
    }
}

/// Whether some access of a thread can overtake a store of it, or blocks are atomic there: what may wait at each point
/// grows until nothing changes any more, four times at most.
fn has_overtaking(thread: &Thread, model: Model) -> bool {
    let mut waiting = vec![EMPTY; thread.points.len()];
    let mut open: Vec<usize> = (0..waiting.len()).collect();
    while let Some(at) = open.pop() {
        for Edge { instr, to, .. } in &thread.points[at].edges {
            let Some(after) = waiting[at].after(instr, model) else { return true };
            let next = &mut waiting[to.index()];
            let joined = next.join(after);
            if joined != *next {
                *next = joined;
                open.push(to.index());
            }
        }
    }
    false
}
