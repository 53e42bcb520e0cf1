//! Measurements: tables and curves.

pub(crate) mod plot;
pub(crate) mod programs;
