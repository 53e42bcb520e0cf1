//! What a run did: events and their orders, the axioms over them, and cycles.

pub mod axioms;
mod cells;
pub mod cycle;
pub(crate) mod delayed;
pub(crate) mod delayed_source;
pub(crate) mod event;
mod link;
pub(crate) mod log_cells;
pub(crate) mod overlapping;
pub(crate) mod overtaking;
pub(crate) mod record;
pub(crate) mod relation;
pub(crate) mod triangular;
