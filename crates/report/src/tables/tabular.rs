//! Tables for LaTeX: a `tabular` without packages.

use crate::writer::{Description, Table, Writer};

pub(crate) const FORMAT: Description = Description {
    name: "tabular",
    about: "The same as a table of LaTeX",
    writer: Writer::Table(Table { head, line, end: END }),
};

/// The beginning, and the names of the columns.
fn head(columns: &[&str]) -> String {
    let places = "l".repeat(columns.len());
    format!("\\begin{{tabular}}{{{places}}}\n\\hline\n{}\\hline\n", line(columns))
}

fn line(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
    format!("{} \\\\\n", cells.join(" & ").trim_end())
}

const END: &str = "\\hline\n\\end{tabular}\n";

/// A cell that is set as it is written.
fn escaped(cell: &str) -> String {
    let mut out = String::with_capacity(cell.len());
    for c in cell.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            '\\' => out += "\\textbackslash{}",
            '~' => out += "\\textasciitilde{}",
            '^' => out += "\\textasciicircum{}",
            '<' => out += "\\textless{}",
            '>' => out += "\\textgreater{}",
            '|' => out += "\\textbar{}",
            '"' => out += "\\char34{}",
            // Some letters with these would become one.
            '-' if out.ends_with('-') => out += "{}-",
            '`' if out.ends_with('`') => out += "{}`",
            '\'' if out.ends_with('\'') => out += "{}'",
            '\n' | '\r' => out.push(' '),
            // A line that begins with a bracket would be an argument of the line before.
            '[' if out.is_empty() => out += "{[}",
            '*' if out.is_empty() => out += "{*}",
            c => out.push(c),
        }
    }
    out
}
