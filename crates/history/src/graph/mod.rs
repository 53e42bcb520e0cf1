//! The orders of a history, as graphs and clocks: what comes before what, and why.

pub(crate) mod clocks;
pub(crate) mod explain;
pub(crate) mod extra;
pub(crate) mod store;
pub(crate) mod walk;
pub(crate) mod writes;
