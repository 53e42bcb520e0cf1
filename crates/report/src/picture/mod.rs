//! Pictures of runs, for papers and pages: one layout ([`layout`]), and a file for each format that
//! it is written in. They are made from the objects of `--format json`, so that every command that
//! explains something by a run draws it.

pub(crate) mod dot;
mod fold;
mod graph;
mod labels;
pub(crate) mod layout;
pub(crate) mod svg;
pub(crate) mod tex;

use crate::writer::Drawing;
use graph::pictures;
use layout::{Layout, lay_out};

/// So many pixels are seen without scrolling.
const SCREEN: f64 = 1_400.0;

/// The runs in some objects as pictures; nothing if there are none.
pub(crate) fn drawn(drawing: &Drawing, objects: &str) -> String {
    let pictures = pictures(objects);
    let layouts: Vec<Layout> =
        pictures.iter().map(|picture| lay_out(picture, drawing.room)).collect();
    if layouts.is_empty() { String::new() } else { (drawing.draw)(&layouts) }
}

/// Why there is no picture.
pub const NOTHING_TO_DRAW: &str =
    "nothing to draw: no answer has a run or a cycle, which a violation would have";

#[cfg(test)]
pub(crate) mod tests;
