//! Fences and orders that the program does not have but is looked at as if it had them.
//!
//! A fence in a source is executed between two steps of a thread, whatever the compiler made of the
//! lines in between. So it is told by pairs of program addresses, and stands right before the second of
//! the two steps: no other place in the execution keeps more stores pending.

use rustc_hash::FxHashMap;

use weakspot_core::LogKind;

use crate::OpKind;
use crate::step::{Order, Step};

/// A fence or a stronger order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Extra {
    /// A full fence between a step of the first program address and one of the second, when a
    /// thread takes the second right after the first.
    Full(u64, u64),
    /// A store-store fence there.
    Stores(u64, u64),
    /// The atomic operations of this program address have at least this order.
    Order(u64, Order),
}

/// Puts them into executions.
#[derive(Debug)]
pub(crate) struct Added {
    known: FxHashMap<(u64, u64), LogKind>,
    orders: FxHashMap<u64, Order>,
    /// Per thread the program address of its last step.
    last: Vec<Option<u64>>,
}

impl Added {
    /// Nothing if there are none.
    pub(crate) fn new(extra: &[Extra]) -> Option<Added> {
        let mut added =
            Added { known: FxHashMap::default(), orders: FxHashMap::default(), last: Vec::new() };
        for &extra in extra {
            match extra {
                Extra::Full(after, before) => {
                    added.known.insert((after, before), LogKind::Fence);
                }
                Extra::Stores(after, before) => {
                    added.known.entry((after, before)).or_insert(LogKind::StoreFence);
                }
                Extra::Order(at, order) => {
                    let known = added.orders.entry(at).or_insert(order);
                    *known = stronger(*known, order);
                }
            }
        }
        (!extra.is_empty()).then_some(added)
    }

    /// An execution begins.
    pub(crate) fn begin(&mut self) {
        self.last.clear();
    }

    /// A thread takes a step; the fence before it.
    pub(crate) fn step(&mut self, step: &mut Step) -> Option<LogKind> {
        let thread = usize::from(step.thread);
        if self.last.len() <= thread {
            self.last.resize(thread + 1, None);
        }
        let last = self.last[thread].replace(step.at);
        let fence = last.and_then(|last| self.known.get(&(last, step.at)).copied());
        if let Some(&order) = self.orders.get(&step.at).filter(|_| is_atomic_store(step)) {
            step.order = stronger(step.order, order);
        }
        fence
    }
}

/// Whether a step is an atomic operation that stores.
pub(crate) fn is_atomic_store(step: &Step) -> bool {
    step.order != Order::Plain && (step.op.kind == OpKind::Write || step.op.kind.updates())
}

/// The order that has what both demand.
fn stronger(a: Order, b: Order) -> Order {
    match (a.min(b), a.max(b)) {
        (Order::Acquire, Order::Release) => Order::AcqRel,
        (_, stronger) => stronger,
    }
}
