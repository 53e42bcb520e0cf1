//! The stages for SC, TSO and PSO, from what holds in every witness to complete search; see
//! `docs/how/gradual.md`.

pub(crate) mod chains;
pub(crate) mod enumerate;
pub(crate) mod estimate;
pub(crate) mod found;
pub(crate) mod greedy;
pub(crate) mod linear;
pub(crate) mod order;
pub(crate) mod part;
pub(crate) mod refuted;
pub(crate) mod sat;
pub(crate) mod saturate;
pub(crate) mod search;
