//! Explicit search over packed states, by one or several workers.

mod search;
mod store;

#[cfg(test)]
pub(crate) use search::Order;
pub(crate) use search::{Ended, Expanded, Plan, Sleep, Successors, System, search};
