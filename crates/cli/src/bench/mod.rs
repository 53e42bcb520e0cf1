//! `weakspot bench`.

pub(crate) mod cell;
pub(crate) mod history;
pub(crate) mod litmus;
pub(crate) mod monitor;
mod process;
pub(crate) mod programs;
pub(crate) mod real;
pub(crate) mod serial;
mod subjects;
