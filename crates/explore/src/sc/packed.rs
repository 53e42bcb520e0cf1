//! Explicit search over packed states, by one or several workers.

mod compact;
mod disk;
mod entries;
mod form;
mod halves;
mod hashes;
mod index;
mod keys;
mod links;
mod outbox;
mod queue;
mod search;
mod shard;
mod shared;
mod store;
mod system;

pub(crate) use compact::{Next, Retraced, search_compact};
pub(crate) use disk::search_on_disk;
pub(crate) use links::ROOT;
pub(crate) use outbox::{Outbox, among, owner};
pub(crate) use search::{Found, Onlooker, Plan, Standing, Worker, go_on, search};
pub(crate) use shard::{Order, PARTS, Remark, Shard, States};
pub(crate) use shared::{Ended, Shared};
pub(crate) use system::{Expanded, Sleep, Successors, System};
