//! Tables in Markdown, for pages and issues.

use crate::writer::{Description, Table, Writer};

pub(crate) const FORMAT: Description = Description {
    name: "markdown",
    about: "The same as a table of Markdown",
    writer: Writer::Table(Table { head, line, end: "" }),
};

/// The names of columns, and the line that divides them from the cells.
fn head(columns: &[&str]) -> String {
    format!("{}{}|\n", line(columns), "|---".repeat(columns.len()))
}

fn line(cells: &[&str]) -> String {
    cells.iter().map(|cell| format!("| {} ", escaped(cell))).collect::<String>() + "|\n"
}

/// A cell that is shown as it is written. An underscore within a word means nothing.
fn escaped(cell: &str) -> String {
    let mut out = String::with_capacity(cell.len());
    let mut before = ' ';
    let mut rest = cell.chars().peekable();
    while let Some(c) = rest.next() {
        let within =
            before.is_alphanumeric() && rest.peek().is_some_and(|next| next.is_alphanumeric());
        match c {
            '\n' | '\r' => out.push(' '),
            '_' if within => out.push('_'),
            '\\' | '|' | '*' | '_' | '`' | '<' | '[' | ']' | '~' | '&' | '$' => {
                out.extend(['\\', c]);
            }
            c => out.push(c),
        }
        before = c;
    }
    out
}
