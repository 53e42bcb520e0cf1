//! What is printed, whatever the question: text, pictures, pages, JSON, what fits a terminal.

mod ascii;
mod browser;
mod formats;
mod pages;
mod pictures;
pub(crate) mod schema;
mod show;
mod terminal;
pub(crate) mod told;
pub(crate) mod transcripts;
mod wide_lines;
mod widths;
