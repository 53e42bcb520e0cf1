//! The reader of tokens, with names, numbers and registers. The head, the initial state, tables,
//! conditions and the code have files of their own.

use weakspot_core::Span;

use super::arch::Arch;
use super::ast::{Number, RegRef, Symbol};
use super::lex::{Token, TokenKind, tokens};
use super::riscv::registers as riscv;
use super::types::is_type;
use super::x86::registers::Register;
use crate::suggest::did_you_mean;
use crate::{At, Diagnostic};

/// Words that end the rows of instructions.
pub(super) const SECTIONS: [&str; 6] =
    ["exists", "forall", "final", "locations", "filter", "observed"];

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
    /// A reader of `text` from byte `start` on.
    pub(super) fn new(arch: Arch, text: &'a str, start: usize) -> Parser<'a> {
        Parser::of_tokens(arch, text, tokens(text, start))
    }

    /// A reader of these tokens of `text`.
    pub(super) fn of_tokens(arch: Arch, text: &'a str, tokens: Vec<Token<'a>>) -> Parser<'a> {
        Parser { arch, tokens, at: 0, depth: 0, text }
    }

    /// The whole text.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// The token `ahead` places on; the last one repeats for ever.
    pub(super) fn peek(&self, ahead: usize) -> &TokenKind<'a> {
        &self.token(ahead).kind
    }

    fn token(&self, ahead: usize) -> &Token<'a> {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    pub(super) fn is(&self, punct: &str) -> bool {
        self.is_at(0, punct)
    }

    pub(super) fn is_at(&self, ahead: usize, punct: &str) -> bool {
        matches!(self.peek(ahead), TokenKind::Punct(p) if *p == punct)
    }

    /// The name at the token `ahead` places on.
    pub(super) fn ident(&self, ahead: usize) -> Option<&'a str> {
        match self.peek(ahead) {
            TokenKind::Ident(s) => Some(s),
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

    /// The place right behind the last token taken, where something is missing.
    pub(super) fn behind(&self) -> Span {
        let end = self.since(0).0.end as usize;
        Span::new(end, end)
    }

    /// Whether the current token does not stand on the line of the last one taken.
    pub(super) fn on_new_line(&self) -> bool {
        let between = self.text.get(self.behind().start as usize..self.start());
        between.is_none_or(|blanks| blanks.contains('\n')) || *self.peek(0) == TokenKind::End
    }

    /// The error that the current token is not what was `expected`.
    pub(super) fn unexpected(&self, expected: &str) -> Diagnostic {
        let expected = format!("expected {expected}");
        let span = self.here();
        match self.peek(0) {
            TokenKind::Bad(d) => (**d).clone(),
            TokenKind::End => {
                Diagnostic::new(self.behind(), "unexpected end of the file", expected)
            }
            TokenKind::Rest => Diagnostic::new(span, "unexpected `<<`", expected),
            TokenKind::Ident(s) => Diagnostic::new(span, format!("unexpected `{s}`"), expected),
            TokenKind::Punct(p) => Diagnostic::new(span, format!("unexpected `{p}`"), expected),
            TokenKind::Number(_) => {
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
        let TokenKind::Number(n) = *self.peek(0) else {
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
        // One that is too large is a bad token; what is wrong with it is said when it is read.
        matches!(self.peek(signed), TokenKind::Number(_))
            || signed == 1 && matches!(self.peek(1), TokenKind::Bad(_))
    }

    /// A number that counts or indexes something.
    pub(super) fn count(&mut self, expected: &str) -> Parsing<u32> {
        let span = self.here();
        let TokenKind::Number(n) = *self.peek(0) else {
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
        if let Some(what) = self.no_location(name) {
            let message = format!("`{name}` is {what}, not a location");
            let refused = Diagnostic::new(self.here(), message, "expected the name of a location");
            return Err(match what {
                "a register" => refused.help("a register is written with its thread: `0:EAX`"),
                _ => refused,
            });
        }
        self.bump();
        let mut index = None;
        if self.is("[") && matches!(self.peek(1), TokenKind::Number(_)) && self.is_at(2, "]") {
            self.bump();
            index = Some(self.count("an index")?);
            self.bump();
        }
        Ok(Symbol { name: name.to_owned(), index, place: self.since(start) })
    }

    /// What a name stands for if it cannot be a location. Registers that are too narrow for an
    /// address can.
    fn no_location(&self, name: &str) -> Option<&'static str> {
        if name.split('.').next().and_then(thread_id).is_some() {
            return Some("a thread");
        }
        let register = match self.arch {
            Arch::X86 | Arch::X86_64 => {
                Register::parse(Arch::X86_64, name).is_some_and(|r| r.is_address(Arch::X86_64))
            }
            Arch::Riscv => riscv::parse(name).is_some_and(|_| !name.starts_with('x')),
            Arch::C => false,
        };
        if register {
            return Some("a register");
        }
        match name {
            "true" | "false" => Some("a truth value"),
            "not" | "exists" | "forall" | "final" | "locations" => Some("a word of conditions"),
            _ => is_type(name).then_some("a type"),
        }
    }

    /// Whether a register with its thread begins here: `0:EAX` or `P0:EAX`.
    pub(super) fn at_reg_ref(&self) -> bool {
        let thread = match self.peek(0) {
            TokenKind::Number(_) => true,
            TokenKind::Ident(s) => thread_id(s).is_some(),
            _ => false,
        };
        thread && self.is_at(1, ":")
    }

    /// A register with its thread.
    pub(super) fn reg_ref(&mut self) -> Parsing<RegRef> {
        let start = self.start();
        let thread = match self.peek(0) {
            TokenKind::Ident(s) => {
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
        let known = match self.arch {
            Arch::X86 | Arch::X86_64 => Register::parse(self.arch, name).map(|r| r.name(self.arch)),
            Arch::Riscv => riscv::parse(name).map(riscv::name),
            Arch::C => Some(name.to_owned()),
        };
        let Some(reg) = known else {
            return Err(self.unknown_register(name, self.here()));
        };
        self.bump();
        Ok(RegRef { thread, reg, place: self.since(start) })
    }

    pub(super) fn unknown_register(&self, name: &str, span: Span) -> Diagnostic {
        let expected = format!("expected a register of {}", self.arch.name());
        let diagnostic = Diagnostic::new(span, format!("unknown register `{name}`"), expected);
        let names = match self.arch {
            Arch::X86
                if Register::needs_64(name) && name.to_ascii_lowercase().starts_with("xmm") =>
            {
                return diagnostic
                    .help("`xmm0` and its like need a test that begins with `X86_64`");
            }
            Arch::X86 if Register::needs_64(name) => {
                return diagnostic.help("64-bit registers need a test that begins with `X86_64`");
            }
            Arch::X86 | Arch::X86_64 => Register::all_names(self.arch),
            Arch::Riscv => riscv::all_names(),
            Arch::C => Vec::new(),
        };
        did_you_mean(diagnostic, name, names.iter().map(String::as_str))
    }

    /// `]` after the name of a location, in the initial state or a condition.
    pub(super) fn close_location(&mut self, symbol: &Symbol) -> Parsing<()> {
        match self.is("+") || self.is("-") {
            false => self.expect("]", "`]`"),
            true => Err(self.unexpected("`]`").help(format!(
                "memory around `{0}` has no name here: declare an array, such as `int {0}[2];`, and \
                 write `{0}[1]`",
                symbol.name
            ))),
        }
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
