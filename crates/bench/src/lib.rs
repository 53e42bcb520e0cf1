//! The measurements of `weakspot bench`: what searches, monitors and checks cost.
//!
//! Each is a table, or some, that goes to a [`Tables`] row by row, as soon as a row is measured. Nothing
//! here prints: who asks says where rows go, and whether an end was asked for.

mod cell;
mod history;
mod litmus;
mod monitor;
mod process;
mod programs;
#[cfg(feature = "real")]
mod real;
mod serial;
mod spread;
mod subjects;
mod tables;

pub use cell::run as cell;
pub use history::{cell as history_cell, run as history};
pub use litmus::run as litmus;
pub use monitor::run as monitor;
pub use programs::run as programs;
#[cfg(feature = "real")]
pub use real::run as real;
pub use serial::run as serial;
pub use tables::{Interrupted, Measured, Tables};
