//! A Memorax text as tokens.

use weakspot_core::Span;

use crate::Diagnostic;
use crate::tree::{end_of_text, first_byte};

/// A piece of a Memorax text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'t> {
    /// What it is.
    pub(super) kind: TokenKind,
    /// Its characters.
    pub(super) text: &'t str,
    /// Where they stand.
    pub(super) span: Span,
    /// 0 for the text itself, else the number of the macro whose body it was written in.
    pub(super) origin: u32,
}

/// The kinds of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A word that is not reserved.
    Name,
    /// A reserved word.
    Keyword,
    /// `$` and a word.
    Register,
    /// Digits.
    Number,
    /// Anything else.
    Symbol,
    /// The end of the text.
    End,
}

/// Words that cannot be names.
pub(super) const KEYWORDS: [&str; 32] = [
    "if",
    "then",
    "else",
    "while",
    "do",
    "read",
    "write",
    "syncwr",
    "syncrd",
    "fence",
    "ssfence",
    "llfence",
    "locked",
    "slocked",
    "cas",
    "goto",
    "true",
    "false",
    "my",
    "me",
    "other",
    "process",
    "not",
    "nop",
    "text",
    "data",
    "either",
    "or",
    "forbidden",
    "assume",
    "predicates",
    "registers",
];

const SYMBOLS: [&str; 22] = [
    ":=", "||", "&&", "!=", "<=", ">=", "=", "(", ")", ",", "-", "*", ";", ":", "{", "}", "<", ">",
    "+", "[", "]", "@",
];

/// The tokens of `text` with an `End` after the last.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, Diagnostic> {
    let mut tokens = Vec::new();
    let mut at = first_byte(text);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let len = if c.is_ascii_whitespace() || c == '\u{b}' {
            at += 1;
            continue;
        } else if let Some(comment) = rest.strip_prefix("/*") {
            let Some(end) = comment.find("*/") else {
                return Err(Diagnostic::new(
                    Span::new(at, at + 2),
                    "a comment that does not end",
                    "expected `*/` somewhere after this",
                ));
            };
            at += end + 4;
            continue;
        } else if is_word(c) {
            word_len(rest)
        } else if c == '$' {
            1 + word_len(&rest[1..])
        } else {
            SYMBOLS.iter().find(|s| rest.starts_with(**s)).map_or(c.len_utf8(), |s| s.len())
        };
        let span = Span::new(at, at + len);
        let kind = kind(&rest[..len], rest, span)?;
        tokens.push(Token { kind, text: &rest[..len], span, origin: 0 });
        at += len;
    }
    tokens.push(Token { kind: TokenKind::End, text: "", span: end_of_text(text), origin: 0 });
    Ok(tokens)
}

/// What the token `text` at the start of `rest` is.
fn kind(text: &str, rest: &str, span: Span) -> Result<TokenKind, Diagnostic> {
    let refuse = |message: String, help: &str| {
        Err(Diagnostic::new(span, message, "expected a name, a number or a symbol").help(help))
    };
    match text.chars().next() {
        Some(c) if c.is_ascii_digit() => {
            if text.contains(|c: char| !c.is_ascii_digit()) {
                let message = format!("`{text}` is neither a number nor a name");
                return refuse(message, "names do not start with a digit");
            }
            Ok(TokenKind::Number)
        }
        Some(c) if is_word(c) => {
            Ok(if KEYWORDS.contains(&text) { TokenKind::Keyword } else { TokenKind::Name })
        }
        Some('$') if text.len() > 1 => Ok(TokenKind::Register),
        Some('$') => refuse("`$` without a name".to_owned(), "registers are named like `$r0`"),
        Some('=') if rest.starts_with("==") => {
            refuse("unknown symbol `==`".to_owned(), "equality is written `=`")
        }
        Some('!') if text == "!" => {
            refuse("unknown symbol `!`".to_owned(), "negation is written `not`")
        }
        Some('/') if rest.starts_with("//") => {
            refuse("unknown symbol `/`".to_owned(), "comments are written `/* like this */`")
        }
        _ if SYMBOLS.contains(&text) => Ok(TokenKind::Symbol),
        _ => Err(Diagnostic::new(
            span,
            format!("unknown symbol `{text}`"),
            "expected a name, a number or a symbol",
        )),
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn word_len(text: &str) -> usize {
    text.find(|c| !is_word(c)).unwrap_or(text.len())
}
