//! Witness files, which carry an answer's evidence from one day to another: a file per kind of
//! input, and what all of them have in common.

pub(crate) mod file;
pub(crate) mod history;
pub(crate) mod log;
pub(crate) mod program;
pub(crate) mod serial;
