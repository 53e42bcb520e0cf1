//! Which moves of different threads can be told apart by their order: the basis of partial-order
//! reduction. Two accesses are dependent if they touch one location and one of them writes.

use weakspot_core::{Instr, Program};

use crate::flow::postorder;
use crate::memory::loc_bit;
use crate::sc::threads::{Act, ActKind, Threads};

/// Locations read and written, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
}

impl Access {
    pub(crate) const ALL: Access = Access { reads: u64::MAX, writes: u64::MAX };

    pub(crate) fn of(act: &Act) -> Access {
        let bit = loc_bit(act.loc);
        match act.kind {
            ActKind::Read => Access { reads: bit, writes: 0 },
            ActKind::Write => Access { reads: 0, writes: bit },
            ActKind::Update => Access { reads: bit, writes: bit },
            ActKind::Fence(_) | ActKind::Silent => Access::default(),
            ActKind::Lock | ActKind::Unlock | ActKind::Assertion => Access::ALL,
        }
    }

    pub(crate) fn with(self, other: Access) -> Access {
        Access { reads: self.reads | other.reads, writes: self.writes | other.writes }
    }

    pub(crate) fn conflicts(self, other: Access) -> bool {
        self.writes & (other.reads | other.writes) != 0 || self.reads & other.writes != 0
    }
}

/// Per point of thread `t` what the thread may access from there on.
pub(crate) fn future(program: &Program, threads: &Threads<'_>, t: usize) -> Vec<Access> {
    let points = &program.threads[t].points;
    let order = postorder(&program.threads[t]);
    let mut future = vec![Access::default(); points.len()];
    loop {
        let mut changed = false;
        for &p in &order {
            for edge in &points[p].edges {
                let locs = threads.may_access(&edge.instr);
                let own = match edge.instr {
                    Instr::Load { .. } => Access { reads: locs, writes: 0 },
                    Instr::Store { .. } => Access { reads: 0, writes: locs },
                    _ => Access { reads: locs, writes: locs },
                };
                let all = future[p].with(own).with(future[edge.to.index()]);
                changed |= all != future[p];
                future[p] = all;
            }
        }
        if !changed {
            return future;
        }
    }
}
