//! One run: the object that all formats show, how it is made, drawn for a terminal, and as a graph.

pub(crate) mod communication;
pub(crate) mod dot;
pub(crate) mod drawing;
pub(crate) mod object;
pub(crate) mod of_log;
pub(crate) mod of_schedule;
pub(crate) mod of_steps;
pub(crate) mod replay;
#[cfg(test)]
pub(crate) mod sample;
