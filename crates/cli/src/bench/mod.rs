//! `weakspot bench`.

pub(crate) mod cell;
pub(crate) mod litmus;
pub(crate) mod monitor;
pub(crate) mod programs;
mod subjects;
