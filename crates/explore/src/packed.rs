//! Explicit search over packed states, by one or several workers.

mod search;
mod store;

pub(crate) use search::{Ended, Expanded, Order, Plan, Sleep, Successors, System, search};
