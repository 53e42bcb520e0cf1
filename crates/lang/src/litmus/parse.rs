//! Text to syntax tree: the frame of a test and its rows of instructions. The initial state,
//! operands and conditions have files of their own.

use std::collections::HashSet;

use weakspot_core::Span;

use super::ast::{Arch, Cell, Instruction, Number, RegRef, Symbol, Test, ThreadHead};
use super::header;
use super::lex::{Kind, Token, tokens};
use super::mnemonics::{self, Op};
use super::registers::Register;
use crate::suggest::did_you_mean;
use crate::{At, Diagnostic, Name};

/// Texts longer than this are refused: spans are 32 bits wide, and no litmus test is this long.
const LONGEST: usize = 64 << 20;

/// More threads than this are refused.
const MOST_THREADS: usize = 256;

/// Words that end the rows of instructions.
pub(super) const SECTIONS: [&str; 6] =
    ["exists", "forall", "final", "locations", "filter", "observed"];

/// Reads a litmus test.
pub fn parse(text: &str) -> Result<Test, Diagnostic> {
    if text.len() > LONGEST {
        return Err(Diagnostic::new(
            Span::default(),
            format!("the text is {} bytes long", text.len()),
            format!("expected at most {LONGEST} bytes"),
        ));
    }
    let head = header::parse(text)?;
    let mut p = Parser { arch: head.arch, tokens: tokens(text, head.init), at: 0, depth: 0, text };
    let init = p.init()?;
    let threads = p.thread_heads()?;
    let rows = p.rows(&threads)?;
    let (locations, condition) = p.sections()?;
    Ok(Test {
        arch: head.arch,
        name: head.name,
        label: head.label,
        doc: head.doc,
        header: head.lines,
        init,
        threads,
        rows,
        locations,
        condition,
    })
}

/// A reader of tokens.
pub(super) struct Parser<'a> {
    pub(super) arch: Arch,
    tokens: Vec<Token<'a>>,
    at: usize,
    /// How many propositions we are inside of.
    pub(super) depth: usize,
    text: &'a str,
}

pub(super) type Parsing<T> = Result<T, Diagnostic>;

impl<'a> Parser<'a> {
    /// The token `ahead` places on; the last one repeats for ever.
    pub(super) fn peek(&self, ahead: usize) -> &Kind<'a> {
        &self.token(ahead).kind
    }

    fn token(&self, ahead: usize) -> &Token<'a> {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    pub(super) fn is(&self, punct: &str) -> bool {
        self.is_at(0, punct)
    }

    pub(super) fn is_at(&self, ahead: usize, punct: &str) -> bool {
        matches!(self.peek(ahead), Kind::Punct(p) if *p == punct)
    }

    /// The name at the token `ahead` places on.
    pub(super) fn ident(&self, ahead: usize) -> Option<&'a str> {
        match self.peek(ahead) {
            Kind::Ident(s) => Some(s),
            _ => None,
        }
    }

    pub(super) fn is_word(&self, ahead: usize, word: &str) -> bool {
        self.ident(ahead) == Some(word)
    }

    /// Goes on to the next token.
    pub(super) fn bump(&mut self) {
        self.at += 1;
    }

    pub(super) fn eat(&mut self, punct: &str) -> bool {
        let found = self.is(punct);
        self.at += usize::from(found);
        found
    }

    /// Where the current token begins, to hand to [`Parser::since`].
    pub(super) fn start(&self) -> usize {
        self.token(0).start
    }

    pub(super) fn here(&self) -> Span {
        self.token(0).span()
    }

    /// From `start` to the end of the last token taken.
    pub(super) fn since(&self, start: usize) -> At {
        let end = match self.at.checked_sub(1).and_then(|i| self.tokens.get(i)) {
            Some(t) => t.end.max(start),
            None => start,
        };
        At(Span::new(start, end))
    }

    /// The error that the current token is not what was `expected`.
    pub(super) fn unexpected(&self, expected: &str) -> Diagnostic {
        let expected = format!("expected {expected}");
        let span = self.here();
        match self.peek(0) {
            Kind::Bad(d) => (**d).clone(),
            Kind::End => Diagnostic::new(span, "unexpected end of the file", expected),
            Kind::Rest => Diagnostic::new(span, "unexpected `<<`", expected),
            Kind::Ident(s) => Diagnostic::new(span, format!("unexpected `{s}`"), expected),
            Kind::Punct(p) => Diagnostic::new(span, format!("unexpected `{p}`"), expected),
            Kind::Number(_) => {
                let word = self.text.get(span.start as usize..span.end as usize).unwrap_or("");
                Diagnostic::new(span, format!("unexpected `{word}`"), expected)
            }
        }
    }

    pub(super) fn expect(&mut self, punct: &'static str, expected: &str) -> Parsing<()> {
        if self.eat(punct) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// A number, with or without a sign.
    pub(super) fn number(&mut self) -> Parsing<(Number, At)> {
        let start = self.start();
        let negative = self.eat("-");
        if !negative {
            self.eat("+");
        }
        let Kind::Number(n) = *self.peek(0) else {
            return Err(self.unexpected("a number"));
        };
        self.bump();
        let place = self.since(start);
        let value = if negative { -Number::from(n) } else { Number::from(n) };
        if value < Number::from(i64::MIN) {
            return Err(Diagnostic::new(
                place.0,
                format!("the number `{value}` is too large"),
                "expected at most 64 bits",
            ));
        }
        Ok((value, place))
    }

    /// Whether a number begins here.
    pub(super) fn at_number(&self) -> bool {
        let signed = usize::from(self.is("-") || self.is("+"));
        matches!(self.peek(signed), Kind::Number(_))
    }

    /// A number that counts or indexes something.
    pub(super) fn count(&mut self, expected: &str) -> Parsing<u32> {
        let span = self.here();
        let Kind::Number(n) = *self.peek(0) else {
            return Err(self.unexpected(expected));
        };
        self.bump();
        u32::try_from(n).map_err(|_| {
            Diagnostic::new(
                span,
                format!("the number `{n}` is too large"),
                format!("expected {expected}"),
            )
        })
    }

    /// The name of a location, with an index if one follows.
    pub(super) fn symbol(&mut self) -> Parsing<Symbol> {
        let start = self.start();
        let Some(name) = self.ident(0) else {
            return Err(self.unexpected("the name of a location"));
        };
        if thread_id(name).is_some() {
            return Err(Diagnostic::new(
                self.here(),
                format!("`{name}` is a thread, not a location"),
                "expected the name of a location",
            ));
        }
        self.bump();
        let mut index = None;
        if self.is("[") && matches!(self.peek(1), Kind::Number(_)) && self.is_at(2, "]") {
            self.bump();
            index = Some(self.count("an index")?);
            self.bump();
        }
        Ok(Symbol { name: name.to_owned(), index, place: self.since(start) })
    }

    /// Whether a register with its thread begins here: `0:EAX` or `P0:EAX`.
    pub(super) fn at_reg_ref(&self) -> bool {
        let thread = match self.peek(0) {
            Kind::Number(_) => true,
            Kind::Ident(s) => thread_id(s).is_some(),
            _ => false,
        };
        thread && self.is_at(1, ":")
    }

    /// A register with its thread.
    pub(super) fn reg_ref(&mut self) -> Parsing<RegRef> {
        let start = self.start();
        let thread = match self.peek(0) {
            Kind::Ident(s) => {
                let id = thread_id(s);
                self.bump();
                id.unwrap_or(u32::MAX)
            }
            _ => self.count("the number of a thread")?,
        };
        self.expect(":", "`:` and a register")?;
        self.eat("%");
        let Some(name) = self.ident(0) else {
            return Err(self.unexpected("a register"));
        };
        let Some(reg) = Register::parse(self.arch, name) else {
            return Err(self.unknown_register(name, self.here()));
        };
        self.bump();
        Ok(RegRef { thread, reg, place: self.since(start) })
    }

    pub(super) fn unknown_register(&self, name: &str, span: Span) -> Diagnostic {
        let expected = format!("expected a register of {}", self.arch.name());
        let diagnostic = Diagnostic::new(span, format!("unknown register `{name}`"), expected);
        if Register::needs_64(name) {
            return diagnostic.help("64-bit registers need a test that begins with `X86_64`");
        }
        let names = Register::all_names(self.arch);
        did_you_mean(diagnostic, name, names.iter().map(String::as_str))
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
            self.expect("|", "`|` or `;` after the head of a column")?;
        }
    }

    fn rows(&mut self, threads: &[ThreadHead]) -> Parsing<Vec<Vec<Cell>>> {
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
                    return Err(wrong_count(self.here(), row.len() + 1, threads.len()));
                }
                if !self.eat("|") {
                    break;
                }
            }
            let end = self.here();
            self.expect(";", "`|` or `;` after an instruction")?;
            if row.len() != threads.len() {
                return Err(wrong_count(end, row.len(), threads.len()));
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// Whether the rows of instructions are over.
    fn at_section(&self) -> bool {
        match self.peek(0) {
            Kind::End | Kind::Rest => true,
            Kind::Punct("~") => true,
            Kind::Ident(s) => {
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
            return Err(self.unexpected("`|` or `;` after the last cell of the row"));
        }
        cell.instr = Some(self.instruction()?);
        Ok(cell)
    }

    fn instruction(&mut self) -> Parsing<Instruction> {
        let start = self.start();
        let mut lock = None;
        if self.ident(0).is_some_and(|w| w.eq_ignore_ascii_case("lock")) {
            lock = Some(At(self.here()));
            self.bump();
            // Printers of litmus tests write `lock;` before the instruction.
            self.eat(";");
        }
        let mnemonic_place = At(self.here());
        let Some(word) = self.ident(0) else {
            return Err(self.unexpected("an instruction, `|` or `;`"));
        };
        let mnemonic = word.to_ascii_lowercase();
        let Some(decoded) = mnemonics::decode(&mnemonic) else {
            return Err(unknown_instruction(word, mnemonic_place.0));
        };
        self.bump();
        let mut operands = Vec::new();
        let (least, most) = decoded.op.arity();
        let jump = matches!(decoded.op, Op::Jump | Op::Branch(_));
        if most > 0 && !self.is("|") && !self.is(";") {
            loop {
                operands.push(if jump { self.label_operand()? } else { self.operand()? });
                if !self.eat(",") {
                    break;
                }
            }
        }
        let place = self.since(start);
        if !(least..=most).contains(&operands.len()) {
            let found = operands.len();
            let wanted =
                if least == most { least.to_string() } else { format!("{least} to {most}") };
            let s = if most == 1 { "" } else { "s" };
            // A line that runs on is more likely a missing `|` than a missing operand.
            if found < least && !self.is("|") && !self.is(";") {
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
}

/// The number of a thread in `P0`.
pub(super) fn thread_id(word: &str) -> Option<u32> {
    let digits = word.strip_prefix('P')?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
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
