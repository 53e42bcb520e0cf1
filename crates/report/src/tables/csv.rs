//! Tables with commas, for spreadsheets.
//!
//! A cell with a comma, a quote or a line end stands in quotes, in which quotes are doubled
//! (RFC 4180); lines end as everywhere else.

use std::fmt::Write;

use crate::writer::{Description, Table, Writer};

pub(crate) const FORMAT: Description = Description {
    name: "csv",
    about: "Commas: the rows of `bench`, the summary of many files",
    writer: Writer::Table(Table { head: line, line, end: "" }),
};

fn line(cells: &[&str]) -> String {
    let mut out = String::new();
    for (i, cell) in cells.iter().enumerate() {
        out.push_str(if i == 0 { "" } else { "," });
        match cell.contains([',', '"', '\n', '\r']) {
            true => {
                let _ = write!(out, "\"{}\"", cell.replace('"', "\"\""));
            }
            false => out.push_str(cell),
        }
    }
    out.push('\n');
    out
}
