//! Real programs: what is compiled and executed.

mod assumed;
mod c_programs;
pub(crate) mod cargo;
mod cargo_foreign;
mod cargo_loops;
mod cargo_panics;
mod cargo_rwlocks;
mod cargo_sites;
mod cargo_std;
mod channels;
mod containers;
mod corpus_c;
mod debugger;
mod drawn;
pub(crate) mod failures;
mod fences;
mod freed;
mod loops;
mod peers;
mod races;
mod racing;
pub(crate) mod run;
mod run_witness;
mod shown;
mod streams;
mod verifier;
