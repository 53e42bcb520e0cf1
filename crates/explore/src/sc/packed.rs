//! Explicit search over packed states, by one or several workers.

mod outbox;
mod search;
mod shard;
mod shared;
mod store;
mod system;

pub(crate) use outbox::{Outbox, among};
pub(crate) use search::{Found, Plan, Worker, search};
#[cfg(test)]
pub(crate) use shard::Order;
pub(crate) use shard::{ROOT, Shard};
pub(crate) use shared::{Ended, Shared};
pub(crate) use system::{Expanded, Sleep, Successors, System};
