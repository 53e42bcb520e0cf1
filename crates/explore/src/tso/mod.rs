//! Everything that a program asks under TSO, without a search of all contents of the buffers.

pub(crate) mod dual;
pub(crate) mod late;
pub(crate) mod lazy;
pub(crate) mod portfolio;
