//! Pictures of runs, for papers and pages: one layout ([`layout`]), and a file for each format that
//! it is written in. They are made from the objects of `--format json`, so that every command that
//! explains something by a run draws it.

mod dot;
mod fold;
mod graph;
mod labels;
mod layout;
mod svg;
mod tex;

use crate::answer::Format;
use graph::pictures;
use layout::{Layout, lay_out};

/// So many pixels are seen without scrolling.
const SCREEN: f64 = 1_400.0;

/// The runs in some objects as pictures in a format; nothing if there are none, or if the format
/// has no pictures.
#[must_use]
pub fn draw_pictures(format: Format, objects: &str) -> String {
    let room = if format == Format::Tex { tex::ROOM } else { SCREEN };
    let pictures = pictures(objects);
    let layouts: Vec<Layout> = pictures.iter().map(|picture| lay_out(picture, room)).collect();
    match format {
        _ if layouts.is_empty() => String::new(),
        Format::Svg => svg::svg(&layouts),
        Format::Dot => layouts.iter().map(dot::dot).collect(),
        Format::Tex => layouts.iter().map(tex::tex).collect(),
        _ => String::new(),
    }
}

/// Why there is no picture.
pub const NOTHING_TO_DRAW: &str =
    "nothing to draw: no answer has a run or a cycle, which a violation would have";

/// A document of a format that says so, for a file that somebody opens all the same.
#[must_use]
pub fn empty_picture(format: Format) -> String {
    let why = NOTHING_TO_DRAW;
    match format {
        Format::Svg => format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"620\" height=\"40\" \
             font-family=\"monospace\" font-size=\"12\">\n<text x=\"16\" y=\"24\">{why}</text>\n</svg>\n"
        ),
        Format::Dot => format!("digraph execution {{\n  label=\"{why}\";\n}}\n"),
        Format::Tex => format!("% {why}\n\\texttt{{{why}}}\n"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
