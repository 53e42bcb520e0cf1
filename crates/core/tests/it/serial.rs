//! Traces and programs with transactions:
//! - `clauses`: clauses of refutations, against whether there is a cycle;
//! - `cycles`: cycles of traces that cannot be made simpler: Corollary 1 and Propositions 3 to 5 of the paper (Enea
//!   and Farzan, TACAS 2016), with the validity of executions, and points in time;
//! - `evidence`: the checker of evidence about traces: it accepts what is right, and nothing else;
//! - `logs`: what logs say about transactions, and reads whose own write may be overwritten, by small cases;
//! - `programs`: how serializability under SC and TSO and robustness belong together, on random programs without
//!   branches: all of their executions;
//! - `runs`: all executions of programs with transactions, against every schedule of the machine;
//! - `streams`: the checks of executions event by event, against the definition of conflicts;
//! - `traces`: the notions of serializable traces against each other: by executions and by directions of ties;
//! - `values`: serializability against what executions read and leave.

mod clauses;
mod cycles;
pub(crate) mod evidence;
mod logs;
mod programs;
mod runs;
mod streams;
mod traces;
mod values;
