//! The words and brackets of a source.

use super::SourceLanguage;

/// A word, a number, a string or a character; comments and directives of the preprocessor are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: TokenKind,
    /// The bracket that it is in: the place of its token.
    pub(super) inside: Option<usize>,
    /// Of a bracket: the place of the other one, if there is one.
    pub(super) other: Option<usize>,
    /// A directive stands between the token before and this one.
    pub(super) directive: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Word,
    /// A number, a string, a character or a lifetime.
    Other,
    /// A character of its own.
    Mark(u8),
}

pub(super) fn tokens(text: &str, language: SourceLanguage) -> Vec<Token> {
    let mut tokens = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut directive = false;
    while at < bytes.len() {
        let start = at;
        let kind = match bytes[at] {
            b if b.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'#' if language != SourceLanguage::Rust && begins_line(bytes, at) => {
                at = end_of_directive(bytes, at);
                directive = true;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at = find(bytes, at, b"\n").unwrap_or(bytes.len());
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = end_of_comment(bytes, at, language);
                continue;
            }
            b if b.is_ascii_alphabetic() || b == b'_' || b >= 0x80 => {
                while at < bytes.len() && is_word(bytes[at]) {
                    at += 1;
                }
                match raw_string(bytes, start, at, language) {
                    Some(end) => {
                        at = end;
                        TokenKind::Other
                    }
                    None => TokenKind::Word,
                }
            }
            b if b.is_ascii_digit() => {
                while at < bytes.len() && (is_word(bytes[at]) || bytes[at] == b'\'') {
                    at += 1;
                }
                TokenKind::Other
            }
            b'"' => {
                at = end_of_string(bytes, at, b'"');
                TokenKind::Other
            }
            b'\'' if language == SourceLanguage::Rust => {
                at = end_of_lifetime(text, at);
                TokenKind::Other
            }
            b'\'' => {
                at = end_of_string(bytes, at, b'\'');
                TokenKind::Other
            }
            mark => {
                at += 1;
                TokenKind::Mark(mark)
            }
        };
        let end = at.min(bytes.len());
        tokens.push(Token { start, end, kind, inside: None, other: None, directive });
        directive = false;
    }
    pair(&mut tokens);
    tokens
}

/// Finds for each bracket the other one, and for each token what it is in.
fn pair(tokens: &mut [Token]) {
    let mut open: Vec<usize> = Vec::new();
    for i in 0..tokens.len() {
        if let TokenKind::Mark(b')' | b']' | b'}') = tokens[i].kind
            && let Some(other) = open.pop()
        {
            tokens[i].other = Some(other);
            tokens[other].other = Some(i);
        }
        tokens[i].inside = open.last().copied();
        if let TokenKind::Mark(b'(' | b'[' | b'{') = tokens[i].kind {
            open.push(i);
        }
    }
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80
}

fn begins_line(bytes: &[u8], at: usize) -> bool {
    let line = bytes[..at].iter().rev().take_while(|&&b| b != b'\n');
    line.into_iter().all(u8::is_ascii_whitespace)
}

fn find(bytes: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.windows(what.len()).position(|w| w == what).map(|at| from + at)
}

fn end_of_directive(bytes: &[u8], mut at: usize) -> usize {
    loop {
        let Some(end) = find(bytes, at, b"\n") else { return bytes.len() };
        let line = bytes[at..end].strip_suffix(b"\r").unwrap_or(&bytes[at..end]);
        if !line.ends_with(b"\\") {
            return end;
        }
        at = end + 1;
    }
}

fn end_of_comment(bytes: &[u8], at: usize, language: SourceLanguage) -> usize {
    let mut depth = 0_usize;
    let mut at = at;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else if bytes[at..].starts_with(b"/*") {
            // Comments of Rust are nested.
            depth = if language == SourceLanguage::Rust { depth + 1 } else { 1 };
            at += 2;
        } else {
            at += 1;
        }
    }
    bytes.len()
}

fn end_of_string(bytes: &[u8], at: usize, quote: u8) -> usize {
    let mut at = at + 1;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// A string like `r#"..."#` of Rust or `R"x(...)x"` of C++ that begins with the word before `at`.
fn raw_string(bytes: &[u8], start: usize, at: usize, language: SourceLanguage) -> Option<usize> {
    let prefix = &bytes[start..at];
    let end = |close: Vec<u8>, from: usize| {
        Some(find(bytes, from, &close).map_or(bytes.len(), |found| found + close.len()))
    };
    match language {
        SourceLanguage::Rust if matches!(prefix, b"r" | b"br" | b"cr") => {
            let hashes = bytes[at..].iter().take_while(|&&b| b == b'#').count();
            let quote = at + hashes;
            let close = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
            if bytes.get(quote) == Some(&b'"') { end(close, quote + 1) } else { None }
        }
        SourceLanguage::Cxx if prefix.ends_with(b"R") && bytes.get(at) == Some(&b'"') => {
            let open = find(bytes, at, b"(")?;
            let close = [b")", &bytes[at + 1..open], b"\""].concat();
            end(close, open)
        }
        _ => None,
    }
}

/// A character, or a lifetime.
fn end_of_lifetime(text: &str, at: usize) -> usize {
    let mut rest = text[at + 1..].chars();
    let first = rest.next();
    let second = rest.next();
    match (first, second) {
        (Some('\\'), _) => end_of_string(text.as_bytes(), at, b'\''),
        (Some(c), Some('\'')) => at + 1 + c.len_utf8() + 1,
        _ => {
            let name = text.as_bytes()[at + 1..].iter().take_while(|&&b| is_word(b)).count();
            at + 1 + name
        }
    }
}
