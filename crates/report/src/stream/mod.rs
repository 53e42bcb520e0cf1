//! What monitors say: about one log, and about the executions of programs.

pub(crate) mod log;
pub(crate) mod programs;
