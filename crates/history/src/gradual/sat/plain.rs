//! The plain SAT encoding of the models that the paper compares itself with (section 5): a variable
//! for every two operations whose order is not known, a clause for every three of them that their
//! order must be transitive, and clauses that reads see the last write before them. All of it is
//! there from the beginning, so there are cubically many clauses.
//!
//! Program order and reads-from, with what follows from them by transitivity, are put in as
//! constants, which a solver would find by propagation. When there is no solution, the evidence is
//! made by the solver that knows what an order is: the encoding has variables that evidence has no
//! words for.

use weakspot_core::Limit;
use weakspot_sat::{Lit, Meter, NoTheory, Solver};

use super::complete;
use crate::gradual::found::Found;
use crate::gradual::saturate::Orders;

/// The most bytes that the encoding may take, whatever the limits.
const MOST_BYTES: u64 = 8 << 30;

/// An order of memory that completes these orders, or the proof that there is none.
pub(crate) fn plain(orders: &Orders<'_>, meter: &mut Meter<'_>) -> Result<Found, Limit> {
    let mut encoding = Encoding::new(orders, meter)?;
    if !encoding.reads(orders) {
        return complete(orders, meter);
    }
    encoding.transitivity(meter)?;
    let mut others = NoTheory(encoding.others());
    match encoding.solver.solve(&mut others, meter)? {
        true => Ok(Found::Run(encoding.run())),
        false => complete(orders, meter),
    }
}

struct Encoding {
    /// How many operations there are.
    n: usize,
    /// Per two operations whether the first comes before the second: known, or a literal.
    before: Vec<Cell>,
    /// Per operation those that have no order with it.
    open: Vec<Vec<u32>>,
    solver: Solver,
    /// The bytes of what this is built on.
    below: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cell {
    Known(bool),
    Open(Lit),
}

impl Encoding {
    fn new(orders: &Orders<'_>, meter: &mut Meter<'_>) -> Result<Encoding, Limit> {
        let n = orders.chains.ops.len();
        let below = orders.bytes();
        room((n as u64).saturating_mul(n as u64).saturating_mul(8).saturating_add(below), meter)?;
        let mut before = vec![Cell::Known(false); n * n];
        let mut open = vec![Vec::new(); n];
        let mut solver = Solver::new(false);
        for a in 0..n {
            // The lists of the solver double when they grow.
            meter.work(a as u64, || below + 8 * (n * n) as u64 + 2 * solver.bytes())?;
            for b in 0..a {
                let (first, second) =
                    (orders.has_before(a as u32, b as u32), orders.has_before(b as u32, a as u32));
                let (mut ab, mut ba) = (Cell::Known(first), Cell::Known(second));
                if !first && !second {
                    let lit = Lit::new(solver.vars() as u32, true);
                    solver.grow(1);
                    (ab, ba) = (Cell::Open(lit), Cell::Open(!lit));
                    open[a].push(b as u32);
                    open[b].push(a as u32);
                }
                before[a * n + b] = ab;
                before[b * n + a] = ba;
            }
        }
        Ok(Encoding { n, before, open, solver, below })
    }

    /// The bytes of all but the solver.
    fn others(&self) -> u64 {
        self.below + 8 * self.before.len() as u64
    }

    fn before(&self, a: u32, b: u32) -> Cell {
        self.before[a as usize * self.n + b as usize]
    }

    /// A write that is not the one that a read sees comes before that one, or after the read;
    /// false if that is known to be wrong.
    fn reads(&mut self, orders: &Orders<'_>) -> bool {
        let ops = orders.chains.ops;
        for r in (0..self.n as u32).filter(|&r| ops.reads(r)) {
            let Some(w) = ops.from(r) else { continue };
            for other in orders
                .writes_to(ops.var(r))
                .iter()
                .copied()
                .filter(|&other| other != w && other != r)
            {
                let mut clause = Vec::new();
                let cells = [self.before(other, w), self.before(r, other)];
                for cell in cells {
                    match cell {
                        Cell::Known(_) => {}
                        Cell::Open(lit) => clause.push(lit),
                    }
                }
                if cells.contains(&Cell::Known(true)) {
                    continue;
                }
                if clause.is_empty() {
                    return false;
                }
                self.solver.add(&clause);
            }
        }
        true
    }

    /// No three operations are in a circle. What is known is transitive, so it takes two open
    /// orders for a clause to say anything; they share an operation.
    fn transitivity(&mut self, meter: &mut Meter<'_>) -> Result<(), Limit> {
        for a in 0..self.n as u32 {
            let open = std::mem::take(&mut self.open[a as usize]);
            for (at, &b) in open.iter().enumerate() {
                let bytes = self.others() + self.solver.bytes();
                meter.work(open.len() as u64, || bytes)?;
                room(bytes, meter)?;
                for &c in &open[..at] {
                    let (Cell::Open(ab), Cell::Open(ac)) = (self.before(a, b), self.before(a, c))
                    else {
                        continue;
                    };
                    match self.before(b, c) {
                        Cell::Known(true) => self.solver.add(&[!ab, ac]),
                        Cell::Known(false) => self.solver.add(&[!ac, ab]),
                        Cell::Open(bc) if a < b && a < c => {
                            self.solver.add(&[!ab, !bc, ac]);
                            self.solver.add(&[ab, bc, !ac]);
                        }
                        Cell::Open(_) => {}
                    }
                }
            }
        }
        Ok(())
    }

    /// The operations in the order of the solution.
    fn run(&self) -> Vec<u32> {
        let is_before = |cell: &Cell| match *cell {
            Cell::Known(known) => known,
            Cell::Open(lit) => self.solver.value(lit) == Some(true),
        };
        let after = |op: u32| {
            let row = &self.before[op as usize * self.n..][..self.n];
            row.iter().filter(|cell| is_before(cell)).count()
        };
        let mut run: Vec<u32> = (0..self.n as u32).collect();
        run.sort_by_cached_key(|&op| std::cmp::Reverse(after(op)));
        run
    }
}

/// Whether so many bytes may be taken.
fn room(bytes: u64, meter: &Meter<'_>) -> Result<(), Limit> {
    meter.room(bytes)?;
    if bytes > MOST_BYTES { Err(Limit::Memory(MOST_BYTES)) } else { Ok(()) }
}
