//! Random runs of the memories that the models are named after: an atomic memory (SC), one FIFO
//! store buffer per CPU (TSO), one per CPU and variable (PSO). The steps are those of
//! `weakspot_core::machine`; here a run is one pass over millions of operations instead of a state
//! in a search. Cost: a few random numbers per operation.

use weakspot_core::testing::Rng;
use weakspot_core::{History, INITIAL, OpKind};

use crate::Recorded;

/// The most stores that a CPU holds back.
const BUFFER: usize = 8;

/// Which buffers the machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Buffers {
    /// No buffers: stores are atomic.
    Atomic,
    /// One per CPU.
    PerCpu,
    /// One per CPU and variable.
    PerVariable,
}

/// Runs a client to its end.
pub(crate) fn run(client: &History, buffers: Buffers, seed: u64) -> Recorded {
    let mut machine = Machine {
        ops: client.clone(),
        last: vec![INITIAL; client.vars()],
        order: Vec::with_capacity(client.len()),
        pending: vec![Vec::with_capacity(BUFFER); client.threads()],
    };
    let mut rng = Rng::new(seed);
    let mut next: Vec<u32> = (0..client.threads()).map(|t| client.of_thread(t).start).collect();
    let mut live: Vec<usize> =
        (0..client.threads()).filter(|&t| !client.of_thread(t).is_empty()).collect();
    while !live.is_empty() {
        let i = rng.below(live.len());
        let cpu = live[i];
        let ended = next[cpu] == client.of_thread(cpu).end;
        let waiting = machine.pending[cpu].len();
        if waiting > 0 && (ended || waiting == BUFFER || rng.one_in(4)) {
            machine.commit(cpu, buffers, &mut rng);
        } else if machine.step(cpu, next[cpu], buffers) {
            next[cpu] += 1;
        } else {
            machine.commit(cpu, buffers, &mut rng);
        }
        if next[cpu] == client.of_thread(cpu).end && machine.pending[cpu].is_empty() {
            live.swap_remove(i);
        }
    }
    Recorded::new(machine.ops, Some(machine.order))
}

struct Machine {
    ops: History,
    /// Per variable the write that memory holds.
    last: Vec<u32>,
    order: Vec<u32>,
    /// Per CPU its stores that are not committed yet, oldest first.
    pending: Vec<Vec<u32>>,
}

impl Machine {
    /// Does an operation; false if it has to wait for commits.
    fn step(&mut self, cpu: usize, op: u32, buffers: Buffers) -> bool {
        let (kind, var) = (self.ops.kind(op), self.ops.var(op));
        let pending = &mut self.pending[cpu];
        match kind {
            OpKind::Write if buffers != Buffers::Atomic => {
                pending.push(op);
                return true;
            }
            OpKind::Update | OpKind::Fence if !pending.is_empty() => return false,
            OpKind::Write | OpKind::Fence => {}
            OpKind::Read | OpKind::Update => {
                let own = pending.iter().rev().find(|&&w| self.ops.var(w) == var);
                self.ops.set_from(op, own.copied().unwrap_or(self.last[var as usize]));
            }
        }
        if matches!(kind, OpKind::Write | OpKind::Update) {
            self.last[var as usize] = op;
        }
        self.order.push(op);
        true
    }

    /// Commits the oldest store of a buffer of the CPU.
    fn commit(&mut self, cpu: usize, buffers: Buffers, rng: &mut Rng) {
        let pending = &mut self.pending[cpu];
        let mut oldest = 0;
        if buffers == Buffers::PerVariable {
            let var = self.ops.var(pending[rng.below(pending.len())]);
            oldest = pending.iter().position(|&w| self.ops.var(w) == var).unwrap_or(0);
        }
        let op = pending.remove(oldest);
        self.last[self.ops.var(op) as usize] = op;
        self.order.push(op);
    }
}
