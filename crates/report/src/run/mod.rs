//! One run: the object that all formats show, how it is made, and drawn for a terminal.

pub(crate) mod communication;
pub(crate) mod drawing;
pub(crate) mod object;
pub(crate) mod of_log;
pub(crate) mod of_schedule;
pub(crate) mod of_steps;
pub(crate) mod replay;
#[cfg(test)]
pub(crate) mod sample;
pub(crate) mod telling;
