//! Executions from the first to the last: the keeper, its worker, how executions end.

pub mod ends;
pub mod panics;
pub mod start;
pub mod watchdog;
