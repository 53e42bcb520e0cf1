//! Whether transactions are serializable: those of a log, and those of a program.

pub(crate) mod delays;
pub(crate) mod log;
pub(crate) mod program;
