//! The integration tests, one binary of them:
//! - `caught`: which bug of a protocol is caught by which model: measures the tables of
//!   `docs/how/protocol-bugs.md`, and rewrites them with `UPDATE_EXPECT=1`;
//! - `cycles`: litmus tests from cycles: their names, and which models allow them;
//! - `hardware`: histories of this CPU: what can be said of them whatever the CPU does, and that an
//!   x86 is TSO;
//! - `machines`: clients, and what the machines make of them;
//! - `protocols`: protocols without bugs: no deadlock, no surprise, one writer or many readers with
//!   the last values after every step, and the order of steps explains what was read;
//! - `transactions`: histories of databases keep what these promise.

mod caught;
mod cycles;
mod hardware;
mod machines;
mod protocols;
mod transactions;
