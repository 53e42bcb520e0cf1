//! Tokens of C, from the head of a thread to its last brace. Comments are those of C here: `(*` is
//! the beginning of `(*x)`.

use weakspot_core::Span;

use crate::Diagnostic;
use crate::litmus::lex::{Token, TokenKind, comment_end, number, word_len};

const PUNCTUATION: [&str; 48] = [
    "<<=", ">>=", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "+=", "-=", "*=", "|=", "&=",
    "^=", "%=", "/=", "++", "--", "->", "{", "}", "[", "]", "(", ")", ";", ":", ",", "=", "&", "|",
    "^", "~", "!", "*", "+", "-", "/", "%", "<", ">", "?", ".", "$", "#", "@",
];

/// Where a thread begins at or behind `at`, past blanks and comments of either kind; `None` if
/// something else stands there.
pub(super) fn next_thread(text: &str, at: usize) -> Result<(usize, bool), Diagnostic> {
    let at = skip(text, at, true)?;
    let rest = &text[at..];
    let mut words = rest;
    loop {
        let len = word_len(words);
        let word = &words[..len];
        let after = words[len..].trim_start();
        if matches!(word, "void" | "static") && len > 0 {
            words = after;
            continue;
        }
        let is_thread = crate::litmus::parse::thread_id(word).is_some();
        return Ok((at, is_thread && after.starts_with('(')));
    }
}

/// The tokens of the thread that begins at `at`. The last one is `End` or `Bad`.
pub(super) fn tokens(text: &str, mut at: usize) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut depth = 0_usize;
    loop {
        at = match skip(text, at, false) {
            Ok(at) => at,
            Err(bad) => {
                let (start, end) = (bad.span.start as usize, bad.span.end as usize);
                tokens.push(Token { kind: TokenKind::Bad(Box::new(bad)), start, end });
                return tokens;
            }
        };
        let (kind, len) = token(text, at);
        let last = matches!(kind, TokenKind::End | TokenKind::Bad(_));
        match kind {
            TokenKind::Punct("{") => depth += 1,
            TokenKind::Punct("}") => depth = depth.saturating_sub(1),
            _ => {}
        }
        let closes = matches!(kind, TokenKind::Punct("}")) && depth == 0;
        tokens.push(Token { kind, start: at, end: at + len });
        at += len;
        if closes {
            tokens.push(Token { kind: TokenKind::End, start: at, end: at });
        }
        if last || closes {
            return tokens;
        }
    }
}

/// The first byte after blanks and comments; those of litmus tests only if `outside` of threads.
fn skip(text: &str, mut at: usize, outside: bool) -> Result<usize, Diagnostic> {
    loop {
        let rest = &text[at..];
        let len = rest.len() - rest.trim_start().len();
        at += len;
        let rest = &text[at..];
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            let Some(len) = rest.find("*/") else {
                return Err(Diagnostic::new(
                    Span::new(at, at + 2),
                    "the comment that begins here never ends",
                    "expected a closing `*/`",
                ));
            };
            at += len + 2;
        } else if outside && rest.starts_with("(*") {
            at = comment_end(text, at)?;
        } else if len == 0 {
            return Ok(at);
        }
    }
}

/// `017`.
fn octal(digits: &str) -> Option<TokenKind<'static>> {
    let behind = digits.strip_prefix('0').filter(|behind| !behind.is_empty())?;
    u64::from_str_radix(behind, 8).ok().map(TokenKind::Number)
}

fn token(text: &str, at: usize) -> (TokenKind<'_>, usize) {
    let rest = &text[at..];
    let Some(first) = rest.chars().next() else {
        return (TokenKind::End, 0);
    };
    if first.is_ascii_digit() {
        let len = word_len(rest);
        let digits = rest[..len].trim_end_matches(['u', 'U', 'l', 'L']);
        return (octal(digits).unwrap_or_else(|| number(digits, at).0), len);
    }
    if first.is_ascii_alphabetic() || first == '_' {
        let len = word_len(rest);
        return (TokenKind::Ident(&rest[..len]), len);
    }
    for p in PUNCTUATION {
        if rest.starts_with(p) {
            return (TokenKind::Punct(p), p.len());
        }
    }
    let span = Span::new(at, at + first.len_utf8());
    let shown = first.escape_default();
    let bad = Diagnostic::new(span, format!("unexpected character `{shown}`"), "");
    (TokenKind::Bad(Box::new(bad)), first.len_utf8())
}
