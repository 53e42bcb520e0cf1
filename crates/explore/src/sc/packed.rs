//! Explicit search over packed states, by one or several workers.

mod entries;
mod form;
mod halves;
mod index;
mod links;
mod outbox;
mod search;
mod shard;
mod shared;
mod store;
mod system;

pub(crate) use links::ROOT;
pub(crate) use outbox::{Outbox, among};
pub(crate) use search::{Found, Onlooker, Plan, Standing, Worker, go_on, search};
#[cfg(test)]
pub(crate) use shard::Order;
pub(crate) use shard::Shard;
pub(crate) use shared::{Ended, Shared};
pub(crate) use system::{Expanded, Sleep, Successors, System};
