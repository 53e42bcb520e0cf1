//! Text to tokens. Line breaks are no tokens: each token knows whether one stands before it.

use crate::Diagnostic;
use crate::tree::{end_of_text, first_byte};
use weakspot_core::Span;

/// A token where it is written.
#[derive(Clone, Debug)]
pub(super) struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it is.
    pub span: Span,
    /// A line break stands between the token before and this one.
    pub new_line: bool,
}

/// The kinds of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name that is not reserved.
    Name(String),
    /// A reserved word.
    Word(&'static str),
    /// A number.
    Int(i64),
    /// An operator, bracket or separator.
    Sign(&'static str),
    /// The end of the text.
    End,
}

/// A comment where it is written.
#[derive(Clone, Debug)]
pub(super) struct RawComment {
    /// The text with its marks, without trailing white space.
    pub text: String,
    /// Where it is.
    pub span: Span,
}

/// The reserved words.
pub(super) const WORDS: [&str; 34] = [
    "const",
    "shared",
    "thread",
    "exists",
    "forall",
    "never",
    "at",
    "two",
    "observe",
    "in",
    "var",
    "if",
    "else",
    "while",
    "loop",
    "break",
    "continue",
    "stop",
    "skip",
    "goto",
    "choose",
    "or",
    "atomic",
    "transaction",
    "fence",
    "assume",
    "assert",
    "await",
    "cas",
    "swap",
    "fetch_add",
    "true",
    "false",
    "me",
];

/// The signs, longer ones first. The last line is not part of the language: these are read so
/// that the parser can refuse them in one piece.
const SIGNS: [&str; 44] = [
    "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "..", "(", ")", "[", "]", "{", "}", ",", ";",
    ":", ".", "=", "<", ">", "+", "-", "*", "/", "%", "&", "|", "^", "!", "~", //
    "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", ":=", "++", "->", "=>",
];

impl TokenKind {
    /// The token as it is quoted in a message.
    pub(super) fn quoted(&self) -> String {
        match self {
            TokenKind::Name(name) => format!("`{name}`"),
            TokenKind::Word(word) | TokenKind::Sign(word) => format!("`{word}`"),
            TokenKind::Int(value) => format!("`{value}`"),
            TokenKind::End => "the end of the file".to_owned(),
        }
    }
}

/// The tokens of a text, closed by `End`, and its comments.
pub(super) fn tokens(text: &str) -> Result<(Vec<Token>, Vec<RawComment>), Diagnostic> {
    let mut tokens = Vec::new();
    let mut comments = Vec::new();
    let mut at = first_byte(text);
    let mut new_line = false;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() {
            new_line |= first == '\n';
            at += first.len_utf8();
        } else if rest.starts_with("//") || rest.starts_with("/*") {
            let length = comment_length(rest, at)?;
            let written = &rest[..length];
            new_line |= written.contains('\n');
            let span = Span::new(at, at + length);
            comments.push(RawComment { text: written.trim_end().to_owned(), span });
            at += length;
        } else {
            let (kind, length) = token(rest, first, at)?;
            tokens.push(Token { kind, span: Span::new(at, at + length), new_line });
            new_line = false;
            at += length;
        }
    }
    tokens.push(Token { kind: TokenKind::End, span: end_of_text(text), new_line: true });
    Ok((tokens, comments))
}

fn comment_length(rest: &str, at: usize) -> Result<usize, Diagnostic> {
    if rest.starts_with("//") {
        return Ok(rest.find('\n').unwrap_or(rest.len()));
    }
    match rest[2..].find("*/") {
        Some(length) => Ok(length + 4),
        None => Err(Diagnostic::new(
            Span::new(at, at + 2),
            "comment is not closed",
            "expected `*/` somewhere behind",
        )),
    }
}

/// The token at the start of `rest`, which starts with `first`, and its length.
fn token(rest: &str, first: char, at: usize) -> Result<(TokenKind, usize), Diagnostic> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if first.is_ascii_digit() {
        let length = rest.find(|c| !word(c)).unwrap_or(rest.len());
        return number(&rest[..length], at).map(|value| (TokenKind::Int(value), length));
    }
    if word(first) {
        let length = rest.find(|c| !word(c)).unwrap_or(rest.len());
        let name = &rest[..length];
        let kind = match WORDS.iter().find(|w| **w == name) {
            Some(word) => TokenKind::Word(word),
            None => TokenKind::Name(name.to_owned()),
        };
        return Ok((kind, length));
    }
    let sign = SIGNS.iter().filter(|sign| rest.starts_with(**sign)).max_by_key(|sign| sign.len());
    match sign {
        Some(sign) => Ok((TokenKind::Sign(sign), sign.len())),
        None => {
            let shown = match first {
                '\\' | '"' | '\'' => first.to_string(),
                _ => first.escape_debug().to_string(),
            };
            Err(Diagnostic::new(
                Span::new(at, at + first.len_utf8()),
                format!("unexpected character `{shown}`"),
                "expected a name, a number or an operator",
            ))
        }
    }
}

fn number(written: &str, at: usize) -> Result<i64, Diagnostic> {
    let span = Span::new(at, at + written.len());
    let digits: String = written.chars().filter(|c| *c != '_').collect();
    let (digits, radix) = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (digits.as_str(), 10),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        let message = format!("`{written}` is neither a number nor a name");
        return Err(Diagnostic::new(span, message, "expected digits")
            .help("a name starts with a letter or `_`"));
    }
    i64::from_str_radix(digits, radix).map_err(|_| {
        let message = format!("number `{written}` does not fit in 64 bits");
        Diagnostic::new(span, message, "expected at most 9223372036854775807")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let (tokens, comments) = tokens(text).unwrap();
        let mut shown: Vec<String> = tokens
            .iter()
            .map(|t| format!("{}{}", if t.new_line { "/ " } else { "" }, t.kind.quoted()))
            .collect();
        shown.extend(comments.iter().map(|c| c.text.clone()));
        assert_eq!(shown.join(" "), expected);
    }

    #[test]
    fn tokens_know_their_lines() {
        check("x = 1\n*p=2", "`x` `=` `1` / `*` `p` `=` `2` / the end of the file");
        check("a/* \n */b//c ", "`a` / `b` / the end of the file /* \n */ //c");
        check("0x1F 1_000 0..2", "`31` `1000` `0` `..` `2` / the end of the file");
        check("a<=b<<c:d", "`a` `<=` `b` `<<` `c` `:` `d` / the end of the file");
    }
}
