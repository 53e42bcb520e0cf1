//! Columns and rows: the heads of the threads, cells, labels and instructions.

use std::collections::HashSet;

use weakspot_core::Span;

use super::ast::{Cell, Instruction, ThreadHead};
use super::lex::TokenKind;
use super::mnemonics::{self, Op};
use super::parse::{Parser, Parsing, SECTIONS, thread_id};
use crate::suggest::did_you_mean;
use crate::{At, Diagnostic, Name};

/// More threads than this are refused.
const MOST_THREADS: usize = 256;

impl Parser<'_> {
    /// `P0 | P1 ;`
    pub(super) fn thread_heads(&mut self) -> Parsing<Vec<ThreadHead>> {
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
    pub(super) fn rows(&mut self, threads: &[ThreadHead]) -> Parsing<Vec<Vec<Cell>>> {
        let mut rows = Vec::new();
        let mut labels = vec![HashSet::new(); threads.len()];
        while !self.at_section() {
            if self.eat(";") {
                continue;
            }
            let mut row: Vec<Cell> = Vec::new();
            loop {
                let Some(seen) = labels.get_mut(row.len()) else {
                    return Err(wrong_count(self.here(), row.len() + 1, threads.len()));
                };
                row.push(self.cell(seen)?);
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
    fn at_section(&self) -> bool {
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

    fn cell(&mut self, seen: &mut HashSet<String>) -> Parsing<Cell> {
        let mut cell = Cell::default();
        while let (Some(name), true) = (self.ident(0), self.is_at(1, ":")) {
            let at = At(self.here());
            if is_lock(name) || SECTIONS.contains(&name) {
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
        cell.instr = Some(self.instruction()?);
        Ok(cell)
    }

    fn instruction(&mut self) -> Parsing<Instruction> {
        let start = self.start();
        let lock = self.lock_prefix()?;
        let mnemonic_place = At(self.here());
        let Some(word) = self.ident(0) else {
            return Err(self.unexpected(match lock {
                Some(_) => "an instruction after `lock`",
                None => "an instruction, `|`, `;` or a condition",
            }));
        };
        let mnemonic = word.to_ascii_lowercase();
        let Some(decoded) = mnemonics::decode(&mnemonic) else {
            return Err(unknown_instruction(word, mnemonic_place.0));
        };
        self.bump();
        let mut operands = Vec::new();
        let (least, most) = decoded.op.arity();
        let jump = matches!(decoded.op, Op::Jump | Op::Branch(_));
        // Operands that may be missing are not looked for on the next line.
        let more = least > 0 || (most > 0 && !self.on_new_line());
        if more && !self.is("|") && !self.is(";") {
            loop {
                if self.on_new_line() && self.at_section() {
                    break;
                }
                operands.push(if jump { self.label_operand()? } else { self.operand()? });
                if !self.eat(",") {
                    break;
                }
            }
        }
        let place = self.since(start);
        if !(least..=most).contains(&operands.len()) {
            let found = operands.len();
            let wanted = match least {
                _ if least == most => most.to_string(),
                0 => format!("at most {most}"),
                _ => format!("{least} to {most}"),
            };
            let s = if most == 1 { "" } else { "s" };
            // A line that runs on is more likely a missing `|` than a missing operand.
            if found < least && !self.is("|") && !self.is(";") && !self.on_new_line() {
                return Err(self.unexpected("`,` and another operand"));
            }
            return Err(Diagnostic::new(
                place.0,
                format!("`{word}` takes {wanted} operand{s}, but {found} were given"),
                format!("expected {wanted} operand{s}"),
            ));
        }
        Ok(Instruction { lock, mnemonic, mnemonic_place, operands, place })
    }

    /// `lock`, if it stands here.
    fn lock_prefix(&mut self) -> Parsing<Option<At>> {
        if !self.ident(0).is_some_and(is_lock) {
            return Ok(None);
        }
        let lock = At(self.here());
        self.bump();
        // Printers of litmus tests write `lock;` before the instruction.
        self.eat(";");
        let second = self.ident(0).is_some_and(is_lock);
        if second || self.is("|") || self.is(";") || self.at_section() {
            let (place, message) = match second {
                true => (self.here(), "a second `lock` before one instruction"),
                false => (lock.0, "`lock` without an instruction"),
            };
            return Err(Diagnostic::new(place, message, "expected an instruction after `lock`"));
        }
        Ok(Some(lock))
    }
}

pub(super) fn is_lock(word: &str) -> bool {
    word.eq_ignore_ascii_case("lock")
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

fn unknown_instruction(word: &str, span: Span) -> Diagnostic {
    let diagnostic = Diagnostic::new(
        span,
        format!("unknown instruction `{word}`"),
        "expected an instruction of x86",
    );
    did_you_mean(diagnostic, word, mnemonics::known().chain(SECTIONS))
}
