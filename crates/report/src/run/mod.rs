//! One run: taken apart, drawn for a terminal, and as a graph.

pub(crate) mod communication;
pub(crate) mod dot;
pub(crate) mod drawing;
pub(crate) mod replay;
#[cfg(test)]
pub(crate) mod sample;
