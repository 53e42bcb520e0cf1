//! The house itself: pages that show what commands print, and files and crates that import each other one way.

mod book;
mod errata;
mod graph;
pub(crate) mod imports;
mod links;
mod readme;
mod trust;
