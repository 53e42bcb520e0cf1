//! Real programs: what is compiled and executed.

mod assumed;
mod c_programs;
pub(crate) mod cargo;
mod cargo_foreign;
mod cargo_rwlocks;
mod cargo_std;
mod containers;
mod corpus_c;
mod debugger;
mod drawn;
pub(crate) mod failures;
mod freed;
mod peers;
mod races;
pub(crate) mod run;
mod run_witness;
mod shown;
