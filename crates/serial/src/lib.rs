//! Questions about transactions: is an execution, or a trace of one, serializable under SC and TSO?

mod fenced;
mod follow;
mod graph;
mod log;
mod online;

pub use fenced::{Fenced, fence_transactions};
pub use follow::{Explain, Extent, Extents, Follow, Ordered, Stop, Touched};
pub use log::{BadEvent, BadLog, Cut, TxnReader};
pub use online::{Online, Refused};
