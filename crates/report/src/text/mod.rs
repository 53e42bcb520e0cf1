//! How things are written for people: names and instructions, places in a text and what is wrong
//! there, limits in words, columns of a terminal.

pub(crate) mod ascii;
pub(crate) mod columns;
pub(crate) mod diagnostic;
pub(crate) mod diff;
pub(crate) mod fit;
pub(crate) mod folding;
pub(crate) mod limit;
pub(crate) mod shell;
pub(crate) mod show;
pub(crate) mod table;
