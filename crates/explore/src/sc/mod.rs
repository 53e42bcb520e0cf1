//! Searches of the runs under SC: threads as tables, states as packed rows, and what need not be
//! searched.

mod cells;
pub(crate) mod frame;
pub(crate) mod independence;
pub(crate) mod kept;
mod kinds;
pub(crate) mod moves;
pub(crate) mod normal;
pub(crate) mod packed;
pub(crate) mod product;
pub(crate) mod recent;
pub(crate) mod safety;
pub(crate) mod spread;
#[cfg(test)]
mod storage_tests;
pub(crate) mod symmetry;
pub(crate) mod threads;
pub(crate) mod walk;
pub(crate) mod wire;
pub(crate) mod word;
