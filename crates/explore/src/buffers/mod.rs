//! Searches of the machine with its store buffers: all final states under SC, TSO and PSO.

pub(crate) mod alike;
pub(crate) mod block;
pub(crate) mod explicit;
pub(crate) mod local;
pub(crate) mod outcomes;
pub(crate) mod reach;
pub(crate) mod roles;
pub(crate) mod schedule;
pub(crate) mod search;
pub(crate) mod shown;
pub(crate) mod space;
pub(crate) mod turn;
pub(crate) mod write_order;
