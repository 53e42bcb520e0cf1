//! Completes the store order by trying all extensions, as the paper does (section 5): one open
//! pair of writes after the other gets an order, first the one and, when that fails, the other;
//! each time the orders so far must have no cycle.
//!
//! Deviation: a failure names the choices that it rests on, those on the cycle, and both failures
//! of a pair together the choices of earlier pairs that they rest on. So pairs in between need not
//! be tried again, and all failures together are a proof by resolution.
//!
//! Cost: exponential in the number of open pairs; memory linear in it, and in the proof.

use weakspot_core::Limit;
use weakspot_sat::Meter;

use crate::gradual::found::Found;
use crate::gradual::order::Order;
use crate::gradual::refuted::refuted;
use crate::gradual::saturate::Orders;
use weakspot_sat::{Lit, Proof};

/// A pair that has an order for now.
struct Tried {
    lit: Lit,
    /// Why the other order failed, if it was tried.
    failed: Option<Clause>,
}

/// Choices that cannot all be made, as the clause that says so.
struct Clause {
    lits: Vec<Lit>,
    /// Its number in the proof.
    id: u32,
}

/// The most bytes that open pairs may take, whatever the limits, and what each of them takes.
const MOST_BYTES: u64 = 8 << 30;
const BYTES_PER_PAIR: u64 = 120;

/// An order of memory that completes these orders, or the proof that there is none.
pub(crate) fn complete(orders: &Orders<'_>, meter: &mut Meter<'_>) -> Result<Found, Limit> {
    let mut order = match Order::new(orders, meter)? {
        Ok(order) => order,
        Err(evidence) => return Ok(Found::Contradiction(evidence)),
    };
    let bytes = orders.pairs().1.saturating_mul(BYTES_PER_PAIR);
    meter.room(order.bytes() + bytes)?;
    if bytes > MOST_BYTES {
        return Err(Limit::Memory(MOST_BYTES));
    }
    for (a, b) in open_pairs(orders, &order, meter)? {
        order.add_pair(a, b);
    }
    let mut proof = Proof::default();
    let mut tried: Vec<Tried> = Vec::new();
    while let Some(&(a, b)) = order.pairs().get(tried.len()) {
        let lit = Lit::new(tried.len() as u32, order.is_before(a, b));
        let work = order.take_work() + 1;
        meter.work(work, || order.bytes() + proof.bytes() + 40 * tried.len() as u64)?;
        let failed = order.choose(lit, None);
        tried.push(Tried { lit, failed: None });
        if let Err(lits) = failed {
            let id = proof.given(&lits);
            if !change(&mut order, &mut proof, &mut tried, Clause { lits, id }) {
                let evidence = refuted(&mut order, &proof, meter)?;
                return Ok(Found::Contradiction(evidence));
            }
        }
    }
    Ok(Found::Run(order.into_run()))
}

/// Goes back to the last pair whose other order was not tried and may be better, and tries it;
/// false if there is none.
fn change(
    order: &mut Order<'_>,
    proof: &mut Proof,
    tried: &mut Vec<Tried>,
    mut clause: Clause,
) -> bool {
    while let Some(last) = clause.lits.iter().map(|lit| lit.var()).max() {
        tried.truncate(last + 1);
        order.retract(last);
        let Some(Tried { lit, failed }) = tried.pop() else { return false };
        clause = match failed {
            Some(first) => resolved(proof, &first, &clause, lit),
            None => match order.choose(!lit, None) {
                Ok(()) => {
                    tried.push(Tried { lit: !lit, failed: Some(clause) });
                    return true;
                }
                Err(lits) => {
                    let second = Clause { id: proof.given(&lits), lits };
                    resolved(proof, &clause, &second, !lit)
                }
            },
        };
        order.retract(last);
    }
    false
}

/// What follows from two clauses, of which the first has the literal and the second its negation.
fn resolved(proof: &mut Proof, first: &Clause, second: &Clause, lit: Lit) -> Clause {
    let all = first.lits.iter().chain(&second.lits).copied();
    let mut lits: Vec<Lit> = all.filter(|other| other.var() != lit.var()).collect();
    lits.sort_unstable();
    lits.dedup();
    let id = proof.derived(&lits, &[first.id, second.id]);
    Clause { lits, id }
}

/// The pairs of writes that have no order, those first whose writes come first in some order.
fn open_pairs(
    orders: &Orders<'_>,
    order: &Order<'_>,
    meter: &mut Meter<'_>,
) -> Result<Vec<(u32, u32)>, Limit> {
    let mut pairs = Vec::new();
    for var in 0..orders.chains.ops.vars() as u32 {
        let writes = orders.writes_to(var);
        for (at, &a) in writes.iter().enumerate() {
            meter.work(at as u64 + 1, || order.bytes() + 8 * pairs.len() as u64)?;
            let is_open = |&b: &u32| !orders.has_before(a, b) && !orders.has_before(b, a);
            pairs.extend(writes[..at].iter().copied().filter(is_open).map(|b| (a, b)));
        }
    }
    pairs.sort_by_cached_key(|&(a, b)| order.later(a, b));
    Ok(pairs)
}
