//! Columns and rows: the heads of the threads, cells, labels and instructions.

use std::collections::HashSet;

use weakspot_core::Span;

use super::ast::{Cell, Table, ThreadHead};
use super::lex::TokenKind;
use super::parse::{Parser, Parsing, SECTIONS, thread_id};
use crate::{At, Diagnostic, Name};

/// More threads than this are refused.
const MOST_THREADS: usize = 256;

impl<'a> Parser<'a> {
    /// The heads of the columns, then the rows of instructions, each read by `instruction`.
    pub(super) fn table<I>(
        &mut self,
        instruction: impl Fn(&mut Parser<'a>) -> Parsing<I>,
    ) -> Parsing<Table<I>> {
        let threads = self.thread_heads()?;
        let rows = self.rows(&threads, instruction)?;
        Ok(Table { threads, rows })
    }

    /// `P0 | P1 ;`
    fn thread_heads(&mut self) -> Parsing<Vec<ThreadHead>> {
        self.eat(";");
        let mut heads: Vec<ThreadHead> = Vec::new();
        loop {
            let span = self.here();
            let Some(id) = self.ident(0).and_then(thread_id) else {
                let what =
                    if heads.is_empty() { "the threads, such as `P0 | P1 ;`" } else { "a thread" };
                return Err(self.unexpected(what));
            };
            if heads.iter().any(|h| h.id == id) {
                return Err(Diagnostic::new(
                    span,
                    format!("a second column for thread `P{id}`"),
                    "",
                ));
            }
            if heads.len() == MOST_THREADS {
                return Err(Diagnostic::new(span, format!("more than {MOST_THREADS} threads"), ""));
            }
            self.bump();
            heads.push(ThreadHead { id, place: At(span) });
            if self.eat(";") {
                return Ok(heads);
            }
            if !self.is("|") {
                return Err(self.no_separator("`|` or `;` after the head of a column"));
            }
            self.bump();
        }
    }

    /// The rows of instructions, one cell for each thread.
    fn rows<I>(
        &mut self,
        threads: &[ThreadHead],
        instruction: impl Fn(&mut Parser<'a>) -> Parsing<I>,
    ) -> Parsing<Vec<Vec<Cell<I>>>> {
        let mut rows = Vec::new();
        let mut labels = vec![HashSet::new(); threads.len()];
        while !self.at_section() {
            if self.eat(";") {
                continue;
            }
            let mut row: Vec<Cell<I>> = Vec::new();
            loop {
                let Some(seen) = labels.get_mut(row.len()) else {
                    return Err(wrong_count(self.here(), row.len() + 1, threads.len()));
                };
                row.push(self.cell(seen, &instruction)?);
                if row.len() == threads.len() && self.is("|") {
                    return Err(match self.on_new_line() {
                        true => self.no_separator(""),
                        false => wrong_count(self.here(), row.len() + 1, threads.len()),
                    });
                }
                if !self.eat("|") {
                    break;
                }
            }
            let end = self.here();
            if !self.eat(";") {
                return Err(self.no_separator("`|` or `;` after an instruction"));
            }
            if row.len() != threads.len() {
                return Err(wrong_count(end, row.len(), threads.len()));
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// The error that a cell is not followed by `|` or `;`.
    fn no_separator(&self, expected: &str) -> Diagnostic {
        let bad = matches!(self.peek(0), TokenKind::Bad(_));
        if bad || !self.on_new_line() {
            return self.unexpected(expected);
        }
        Diagnostic::new(self.behind(), "missing `;` at the end of the row", "expected `;`")
    }

    /// Whether the rows of instructions are over.
    pub(super) fn at_section(&self) -> bool {
        match self.peek(0) {
            TokenKind::End | TokenKind::Rest => true,
            TokenKind::Punct("~") => true,
            TokenKind::Ident(s) => {
                (SECTIONS.contains(s) && !self.is_at(1, ":"))
                    || (*s == "not" && self.is_word(1, "exists"))
            }
            _ => false,
        }
    }

    fn cell<I>(
        &mut self,
        seen: &mut HashSet<String>,
        instruction: impl Fn(&mut Parser<'a>) -> Parsing<I>,
    ) -> Parsing<Cell<I>> {
        let mut cell = Cell { labels: Vec::new(), instr: None };
        while let (Some(name), true) = (self.ident(0), self.is_at(1, ":")) {
            let at = At(self.here());
            if name.eq_ignore_ascii_case("lock") || SECTIONS.contains(&name) {
                return Err(Diagnostic::new(
                    at.0,
                    format!("`{name}` cannot be a label"),
                    "expected another name",
                ));
            }
            if !seen.insert(name.to_owned()) {
                return Err(Diagnostic::new(
                    at.0,
                    format!("a second label `{name}` in this column"),
                    "",
                ));
            }
            cell.labels.push(Name { text: name.to_owned(), at });
            self.bump();
            self.bump();
        }
        if self.is("|") || self.is(";") {
            return Ok(cell);
        }
        if self.at_section() {
            return Err(self.no_separator("`|` or `;` after the last cell of the row"));
        }
        cell.instr = Some(instruction(self)?);
        Ok(cell)
    }
}

fn wrong_count(span: Span, cells: usize, threads: usize) -> Diagnostic {
    let s = |n| if n == 1 { "" } else { "s" };
    let (expected, verb) =
        if cells < threads { ("expected `|`", "has") } else { ("expected `;`", "has at least") };
    Diagnostic::new(
        span,
        format!(
            "this row {verb} {cells} cell{}, but there are {threads} thread{}",
            s(cells),
            s(threads)
        ),
        expected,
    )
    .help("cells may be empty, but each row needs a `|` between any two columns")
}
