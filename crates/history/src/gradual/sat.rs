//! Completes the store order by SAT: a variable for the order of two writes, clauses for the
//! cycles that choices close.
//!
//! Deviation from the paper (section 5), which encodes all of the store order and the axioms: the
//! solver knows what an order is (`order.rs`), so that there are no clauses but those that it
//! runs into. And there is a variable only for pairs whose order made a difference: operations are
//! always in some order that respects all choices, and while a read does not see the last write
//! before it in this order, the writes concerned are to be decided. So memory does not grow with
//! the number of open pairs.

use weakspot_core::Limit;
use weakspot_sat::{Lit, Meter, Solver, Theory};

use crate::gradual::chains::Chains;
use crate::gradual::estimate::estimate;
use crate::gradual::found::Found;
use crate::gradual::order::Order;
use crate::gradual::refuted::refuted;
use crate::gradual::saturate::Orders;
use crate::graph::extra::Extra;

mod plain;
#[cfg(test)]
mod tests;

pub(crate) use plain::plain;

/// An order of memory that completes these orders, or the proof that there is none.
pub(crate) fn complete(orders: &Orders<'_>, meter: &mut Meter<'_>) -> Result<Found, Limit> {
    let mut theory = match Order::new(orders, meter)? {
        Ok(order) => OrderTheory { order, first: Vec::new() },
        Err(evidence) => return Ok(Found::Contradiction(evidence)),
    };
    let mut solver = Solver::new(true);
    if solver.solve(&mut theory, meter)? {
        return Ok(Found::Run(theory.order.into_run()));
    }
    let evidence = refuted(&mut theory.order, &solver.proof(), meter)?;
    Ok(Found::Contradiction(evidence))
}

/// The same from an order that guesses give, without saturation: what is needed of it turns up as
/// conflicts. `None` if that is too much work.
pub(crate) fn guessed(
    chains: &Chains<'_>,
    extra: &Extra,
    most_work: u64,
    meter: &mut Meter<'_>,
) -> Result<Option<Found>, Limit> {
    let guesses = estimate(chains, meter)?;
    let order = match Order::guessed(chains, extra, &guesses, meter)? {
        Ok(order) => order,
        Err(evidence) => return Ok(Some(Found::Contradiction(evidence))),
    };
    drop(guesses);
    let mut theory = OrderTheory { order, first: Vec::new() };
    let mut solver = Solver::new(true);
    Ok(match solver.solve_within(most_work, &mut theory, meter)? {
        None => None,
        Some(true) => Some(Found::Run(theory.order.into_run())),
        Some(false) => {
            let evidence = refuted(&mut theory.order, &solver.proof(), meter)?;
            Some(Found::Contradiction(evidence))
        }
    })
}

/// Choices between writes.
struct OrderTheory<'a> {
    order: Order<'a>,
    /// Per pair the value to try first.
    first: Vec<bool>,
}

/// Of so many writes between a write and a read of it the order is decided at once. No more than
/// these: pairs that are near each other are to be decided one after the other, so that little is
/// undone when they conflict.
const AT_ONCE: usize = 4;

impl Theory for OrderTheory<'_> {
    fn assign(&mut self, lit: Lit, implied: &mut Vec<Lit>) -> Result<(), Vec<Lit>> {
        self.order.choose(lit, Some(implied))
    }

    fn retract(&mut self, count: usize) {
        self.order.retract(count);
    }

    fn explain(&mut self, lit: Lit, count: usize) -> Vec<Lit> {
        self.order.explain(lit, count)
    }

    fn complete(&mut self) -> usize {
        let found = self.order.violations(AT_ONCE, AT_ONCE);
        for &(read, other, nearer) in &found {
            self.order.add_pair(read, other);
            // The other write has to go where it is nearer.
            self.first.push(!nearer);
        }
        found.len()
    }

    fn first_value(&mut self, var: usize, saved: Option<bool>) -> bool {
        // The other one, if this would only be undone again.
        let first = saved.unwrap_or(self.first[var]);
        first == self.order.is_possible(Lit::new(var as u32, first))
    }

    fn take_work(&mut self) -> u64 {
        self.order.take_work()
    }

    fn bytes(&self) -> u64 {
        self.order.bytes()
    }
}
