//! Questions about transactions: is an execution, or a trace of one, serializable under SC and TSO?

mod graph;
mod online;

pub use online::{Online, Refused};
