//! Text to tokens.

use std::iter::{Peekable, Skip};
use std::str::CharIndices;

use weakspot_core::Span;

use crate::Diagnostic;

/// A piece of the text.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// Where it stands; for what a macro stands for, where the macro is used.
    pub(super) span: Span,
    /// It is the first of its line.
    pub(super) first: bool,
    /// It comes from the text of a macro.
    pub(super) expanded: bool,
}

/// The kinds of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Name(String),
    /// A number, and whether it says that it is unsigned, or long.
    Number {
        value: u64,
        unsigned: bool,
        long: bool,
        decimal: bool,
    },
    /// A text, with a character for each byte.
    Text(String),
    Sign(&'static str),
    End,
}

/// Signs, the longest first.
const SIGNS: [&str; 48] = [
    "<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=",
    "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##", "#", "(", ")", "[", "]", "{", "}", ";", ",",
    ".", "+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "<", ">", "=", "?", ":",
];

/// The tokens of a text, with an end behind them.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, Diagnostic> {
    let mut lexer = Lexer { text, at: crate::tree::first_byte(text), first: true };
    let mut all = Vec::new();
    loop {
        let token = lexer.next()?;
        let end = token.kind == Kind::End;
        all.push(token);
        if end {
            return Ok(all);
        }
    }
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    first: bool,
}

impl Lexer<'_> {
    fn next(&mut self) -> Result<Token, Diagnostic> {
        self.skip()?;
        let (start, first) = (self.at, std::mem::take(&mut self.first));
        let rest = &self.text[start..];
        let kind = match rest.chars().next() {
            None => {
                let span = crate::tree::end_of_text(self.text);
                return Ok(Token { kind: Kind::End, span, first: true, expanded: false });
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let len = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
                self.at += len;
                Kind::Name(rest[..len].to_owned())
            }
            Some(c) if c.is_ascii_digit() => self.number(rest)?,
            Some(quote @ ('"' | '\'')) => self.quoted(rest, quote)?,
            Some(c) => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(sign) => {
                    self.at += sign.len();
                    Kind::Sign(sign)
                }
                None => {
                    let span = Span::new(start, start + c.len_utf8());
                    return Err(Diagnostic::new(span, format!("unexpected character `{c}`"), ""));
                }
            },
        };
        Ok(Token { kind, span: Span::new(start, self.at), first, expanded: false })
    }

    /// Skips white space, comments and lines that go on.
    fn skip(&mut self) -> Result<(), Diagnostic> {
        loop {
            let rest = &self.text[self.at..];
            let Some(c) = rest.chars().next() else { return Ok(()) };
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(inside) = rest.strip_prefix("/*") {
                let Some(len) = inside.find("*/") else {
                    let span = Span::new(self.at, self.at + 2);
                    return Err(Diagnostic::new(span, "comment is not closed", "expected `*/`"));
                };
                self.at += len + 4;
            } else if rest.starts_with("\\\n") {
                self.at += 2;
            } else if rest.starts_with("\\\r\n") {
                self.at += 3;
            } else if c == '\n' {
                self.first = true;
                self.at += 1;
            } else if c.is_whitespace() {
                self.at += c.len_utf8();
            } else {
                return Ok(());
            }
        }
    }

    fn number(&mut self, rest: &str) -> Result<Kind, Diagnostic> {
        let len = rest.find(|c: char| !is_word(c) && c != '.').unwrap_or(rest.len());
        let span = Span::new(self.at, self.at + len);
        self.at += len;
        let text = rest[..len].to_ascii_lowercase();
        let hex = text.starts_with("0x");
        if text.contains('.') || (!hex && text.contains('e')) {
            let help = "`weakspot run` explores programs with them";
            return Err(
                Diagnostic::new(span, "floating-point numbers are not supported", "").help(help)
            );
        }
        let digits = text.trim_end_matches(['u', 'l']);
        let suffix = &text[digits.len()..];
        let (radix, body) = match digits {
            _ if hex => (16, &digits[2..]),
            _ if digits.starts_with("0b") => (2, &digits[2..]),
            _ if digits.len() > 1 && digits.starts_with('0') => (8, &digits[1..]),
            _ => (10, digits),
        };
        let Ok(value) = u64::from_str_radix(body, radix) else {
            let message = format!("`{}` is no number of at most 64 bits", &rest[..len]);
            return Err(Diagnostic::new(span, message, ""));
        };
        let (unsigned, long) = (suffix.contains('u'), suffix.contains('l'));
        Ok(Kind::Number { value, unsigned, long, decimal: radix == 10 })
    }

    fn quoted(&mut self, rest: &str, quote: char) -> Result<Kind, Diagnostic> {
        let start = self.at;
        let mut text = String::new();
        let mut chars = rest.char_indices().skip(1).peekable();
        loop {
            match chars.next() {
                Some((i, c)) if c == quote => {
                    self.at += i + 1;
                    break;
                }
                Some((_, '\\')) => text.extend(escaped(&mut chars)),
                // A character for each byte.
                Some((_, c)) if c != '\n' => {
                    text.extend(c.encode_utf8(&mut [0; 4]).bytes().map(char::from));
                }
                _ => {
                    let span = Span::new(start, start + 1);
                    let message = format!("this `{quote}` is never closed");
                    return Err(Diagnostic::new(span, message, ""));
                }
            }
        }
        if quote == '"' {
            return Ok(Kind::Text(text));
        }
        let mut chars = text.chars();
        let (Some(c @ '\0'..='\x7f'), None) = (chars.next(), chars.next()) else {
            let span = Span::new(start, self.at);
            let expected = "expected one character of ASCII";
            return Err(Diagnostic::new(span, "this is no single character", expected));
        };
        let value = u64::from(u32::from(c));
        Ok(Kind::Number { value, unsigned: false, long: false, decimal: true })
    }
}

/// The bytes of a text.
pub(super) fn bytes(text: &str) -> Vec<u8> {
    text.chars().map(|c| u32::from(c) as u8).collect()
}

/// The character that a backslash and what is behind it stand for.
fn escaped(chars: &mut Peekable<Skip<CharIndices<'_>>>) -> Option<char> {
    let (_, c) = chars.next()?;
    let mut number = |radix: u32, most: usize, mut value: u32| {
        for _ in 0..most {
            let Some(digit) = chars.peek().and_then(|(_, c)| c.to_digit(radix)) else { break };
            value = value * radix + digit;
            chars.next();
        }
        char::from_u32(value)
    };
    match c {
        'x' => number(16, 4, 0),
        '0'..='7' => number(8, 2, c.to_digit(8)?),
        'a' => Some('\x07'),
        'b' => Some('\x08'),
        'e' => Some('\x1b'),
        'f' => Some('\x0c'),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'v' => Some('\x0b'),
        c => Some(c),
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
