//! Litmus tests: a row of the table with a fence in one of its columns, above the row of the
//! instruction that the fence comes before. Where that has a label, a second place is behind the
//! label, which then moves to the new row.

use std::collections::BTreeMap;

use weakspot_core::Span;

use super::edit::{Edit, Piece, line_end, line_start};
use super::{Change, Site};
use super::{Words, litmus_c};
use crate::litmus::{Code, Instruction, RiscvInstruction, Table, parse};
use crate::{Diagnostic, Format};

/// A fence in a new row.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// Where the row comes.
    at: usize,
    column: usize,
    columns: usize,
    /// The labels that move to the new row.
    labels: Option<Span>,
    /// The row below the new one, without its line end.
    below: Span,
}

pub(super) fn sites(text: &str) -> Result<Vec<Site>, Diagnostic> {
    match parse(text)?.code {
        Code::X86(table) => in_rows(text, &table),
        Code::Riscv(table) => in_rows(text, &table),
        Code::C(functions) => Ok(litmus_c::sites(text, &functions)),
    }
}

/// How fences are written in a test.
pub(super) fn words(text: &str) -> Words {
    let kernel = ["READ_ONCE", "WRITE_ONCE", "ACCESS_ONCE", "smp_", "spin_lock", "rcu_"];
    match parse(text).map(|test| test.code) {
        Ok(Code::Riscv(_)) => Words::Riscv,
        Ok(Code::C(_)) if kernel.iter().any(|word| text.contains(word)) => Words::Kernel,
        Ok(Code::C(_)) => Words::C11,
        _ => Words::Of(Format::Litmus),
    }
}

/// An instruction of any machine.
trait Placed {
    fn span(&self) -> Span;
}

impl Placed for Instruction {
    fn span(&self) -> Span {
        self.place.0
    }
}

impl Placed for RiscvInstruction {
    fn span(&self) -> Span {
        self.place.0
    }
}

fn in_rows<I: Placed>(text: &str, test: &Table<I>) -> Result<Vec<Site>, Diagnostic> {
    let columns = test.threads.len();
    let mut sites = Vec::new();
    // Per column what came last.
    let mut last: Vec<Option<Span>> = vec![None; columns];
    for (r, row) in test.rows.iter().enumerate() {
        let line = row_line(text, test, r);
        let first = row.iter().find_map(|c| c.instr.as_ref().map(Placed::span));
        if let (None, Some(span)) = (line, first) {
            let message = "there is no room for fences where rows of the table share a line";
            let help = "`weakspot print` writes each row on a line of its own";
            return Err(Diagnostic::new(span, message, "expected a line for each row").help(help));
        }
        for (column, cell) in row.iter().enumerate() {
            let labels = match (cell.labels.first(), cell.labels.last()) {
                (Some(first), Some(last)) => {
                    // Up to and with the `:`.
                    let end = last.at.0.end as usize;
                    let colon = text[end..].find(':').map_or(end, |n| end + n + 1);
                    Some(Span::new(first.at.0.start as usize, colon))
                }
                _ => None,
            };
            let instr = cell.instr.as_ref().map(Placed::span);
            if let (Some(below), Some(after)) =
                (line, last[column].filter(|_| instr.or(labels).is_some()))
            {
                let cell = Cell { at: below.start as usize, column, columns, labels: None, below };
                let before = instr.or(labels);
                sites.push(Site { after, before, change: Change::Cell(cell) });
            }
            if let (Some(below), Some(labels), Some(_)) = (line, labels, instr) {
                let at = below.start as usize;
                let cell = Cell { at, column, columns, labels: Some(labels), below };
                sites.push(Site { after: labels, before: instr, change: Change::Cell(cell) });
            }
            last[column] = instr.or(labels).or(last[column]);
        }
    }
    Ok(sites)
}

/// The line of a row, if it has one for itself.
fn row_line<I: Placed>(text: &str, test: &Table<I>, row: usize) -> Option<Span> {
    let content = |row: usize| -> Option<(usize, usize)> {
        let cells = test.rows.get(row)?.iter();
        let spans = cells.flat_map(|c| {
            c.labels.iter().map(|l| l.at.0).chain(c.instr.as_ref().map(Placed::span))
        });
        spans
            .map(|s| (s.start as usize, s.end as usize))
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    };
    let (first, end) = content(row)?;
    let heads = test.threads.iter().map(|t| t.place.0.end as usize).max()?;
    let above = (0..row).rev().find_map(content).map_or(heads, |(_, end)| end);
    let start = line_start(text, first);
    let semicolon = end + text.get(end..)?.find(';')?;
    let whole =
        text.get(above..start)?.contains(';') && !text.get(start..semicolon)?.contains('\n');
    whole.then(|| Span::new(start, semicolon))
}

/// The new rows: one above each row that has fences, more where a column has several. `words` are those of the fences.
pub(super) fn rows(text: &str, cells: &[(usize, &Cell)], words: &[&str]) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut groups: BTreeMap<usize, Vec<(usize, &Cell)>> = BTreeMap::new();
    for &(fence, cell) in cells {
        groups.entry(cell.at).or_default().push((fence, cell));
        if let Some(labels) = cell.labels {
            let (start, end) = (labels.start as usize, labels.end as usize);
            edits.push(Edit::replace(start, end, &" ".repeat(text[start..end].chars().count())));
        }
    }
    for (at, mut group) in groups {
        // A label stands below a fence that comes before it.
        group.sort_by_key(|(_, cell)| cell.labels.is_some());
        let mut rows: Vec<BTreeMap<usize, (usize, &Cell)>> = Vec::new();
        for (fence, cell) in group {
            match rows.iter_mut().find(|row| !row.contains_key(&cell.column)) {
                Some(row) => row.insert(cell.column, (fence, cell)),
                None => {
                    rows.push(BTreeMap::from([(cell.column, (fence, cell))]));
                    None
                }
            };
        }
        let pieces = rows.iter().flat_map(|row| new_row(text, row, words)).collect();
        edits.push(Edit { start: at, end: at, pieces, closes: None });
    }
    edits
}

/// A row with these fences, by column, as wide as the row below.
fn new_row(text: &str, fences: &BTreeMap<usize, (usize, &Cell)>, words: &[&str]) -> Vec<Piece> {
    let Some((_, cell)) = fences.values().next() else { return Vec::new() };
    let below = &text[cell.below.start as usize..cell.below.end as usize];
    let mut shapes: Vec<&str> = below.split('|').collect();
    if shapes.len() != cell.columns {
        shapes = vec!["         "; cell.columns];
    }
    let mut pieces = Vec::new();
    for (column, shape) in shapes.iter().enumerate() {
        let width = shape.chars().count();
        let margin = shape.len() - shape.trim_start().len();
        let mut used = 0;
        if let Some((fence, cell)) = fences.get(&column) {
            let labels = cell.labels.map_or("", |l| &text[l.start as usize..l.end as usize]);
            let space = if labels.is_empty() { "" } else { " " };
            pieces.push(Piece::Text(format!("{}{labels}{space}", &shape[..margin])));
            pieces.push(Piece::Mark(*fence));
            pieces.push(Piece::Word(*fence));
            used = margin + labels.chars().count() + space.len() + words[*fence].len();
        }
        let least = usize::from(used > 0);
        let mut rest = " ".repeat(width.saturating_sub(used).max(least));
        rest.push_str(if column + 1 < shapes.len() { "|" } else { ";" });
        pieces.push(Piece::Text(rest));
    }
    pieces.push(Piece::Text(line_end(text).to_owned()));
    pieces
}
