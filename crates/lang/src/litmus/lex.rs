//! Tokens of everything from the `{` of the initial state on. The header before it is made of
//! lines, not tokens, and is read by [`header`](super::header).

use weakspot_core::Span;

use crate::Diagnostic;

/// A token and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind<'a>,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind<'a> {
    /// A name: letters, digits, `_` and `.`, not beginning with a digit.
    Ident(&'a str),
    /// A number without a sign.
    Number(u64),
    /// Punctuation.
    Punct(&'static str),
    /// `<<`: what follows is not part of the test.
    Rest,
    /// The end of the text.
    End,
    /// A text that is no token. It is reported when the parser gets there, so that the first
    /// error in the text is the one that is told.
    Bad(Box<Diagnostic>),
}

const PUNCTUATION: [&str; 28] = [
    "/\\", "\\/", "=>", "==", "!=", "<>", "&&", "{", "}", "[", "]", "(", ")", "|", ";", ":", ",",
    "=", "$", "%", "&", "*", "+", "-", "~", "<", ">", "!",
];

impl Token<'_> {
    pub(super) fn span(&self) -> Span {
        Span::new(self.start, self.end)
    }
}

/// The tokens of `text` from byte `start` on. The last one is `Rest`, `End` or `Bad`.
pub(super) fn tokens(text: &str, start: usize) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = start;
    loop {
        at = match skip_blanks(text, at) {
            Ok(at) => at,
            Err(bad) => {
                let (start, end) = (bad.span.start as usize, bad.span.end as usize);
                tokens.push(Token { kind: TokenKind::Bad(Box::new(bad)), start, end });
                return tokens;
            }
        };
        let (kind, len) = token(text, at);
        let last = matches!(kind, TokenKind::Rest | TokenKind::End | TokenKind::Bad(_));
        tokens.push(Token { kind, start: at, end: at + len });
        at += len;
        if last {
            return tokens;
        }
    }
}

/// The end of the comment that begins at `start`; comments nest.
pub(super) fn comment_end(text: &str, start: usize) -> Result<usize, Diagnostic> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = start;
    while at < bytes.len() {
        match &bytes[at..(at + 2).min(bytes.len())] {
            b"(*" => {
                depth += 1;
                at += 2;
            }
            b"*)" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Ok(at);
                }
            }
            _ => at += 1,
        }
    }
    let refused = Diagnostic::new(
        Span::new(start, start + 2),
        "the comment that begins here never ends",
        "expected a closing `*)`",
    );
    // `(*x=1)` is meant to be something else.
    Err(match bytes.get(start + 2) {
        Some(b) if b.is_ascii_alphanumeric() => refused.help("`( *` would not begin a comment"),
        _ => refused,
    })
}

/// The first byte after blanks, comments and `#` to the end of the line.
fn skip_blanks(text: &str, mut at: usize) -> Result<usize, Diagnostic> {
    let bytes = text.as_bytes();
    loop {
        match bytes.get(at) {
            Some(b' ' | b'\t' | b'\r' | b'\n' | 0x0c) => at += 1,
            Some(b'#') => at += bytes[at..].iter().take_while(|b| **b != b'\n').count(),
            Some(b'(') if bytes.get(at + 1) == Some(&b'*') => at = comment_end(text, at)?,
            _ => return Ok(at),
        }
    }
}

/// The token at `at` and its length in bytes.
fn token(text: &str, at: usize) -> (TokenKind<'_>, usize) {
    let rest = &text[at..];
    let Some(first) = rest.chars().next() else {
        return (TokenKind::End, 0);
    };
    if rest.starts_with("<<") {
        return (TokenKind::Rest, 2);
    }
    if first.is_ascii_digit() {
        return number(rest, at);
    }
    if first.is_ascii_alphabetic() || first == '_' || first == '.' {
        let len = word_len(rest);
        return (TokenKind::Ident(&rest[..len]), len);
    }
    for p in PUNCTUATION {
        if rest.starts_with(p) {
            return (TokenKind::Punct(p), p.len());
        }
    }
    let span = Span::new(at, at + first.len_utf8());
    let bad = match first {
        '/' if rest.starts_with("//") || rest.starts_with("/*") => {
            let span = Span::new(at, at + 2);
            Diagnostic::new(span, format!("unexpected `{}`", &rest[..2]), "")
                .help("comments are written `(* like this *)`, or after `#` to the end of the line")
        }
        '/' | '\\' => {
            Diagnostic::new(span, format!("unexpected `{first}`"), "expected `/\\` or `\\/`")
        }
        '"' => Diagnostic::new(span, "unexpected string", "")
            .help("strings belong between the name of the test and the `{`"),
        c if c.is_control() => Diagnostic::new(
            span,
            format!("unexpected control character `{}`", c.escape_default()),
            "",
        ),
        c => Diagnostic::new(span, format!("unexpected character `{c}`"), ""),
    };
    (TokenKind::Bad(Box::new(bad)), first.len_utf8())
}

/// Letters, digits, `_` and `.` at the start of `rest`, in bytes.
pub(super) fn word_len(rest: &str) -> usize {
    rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.')).count()
}

pub(super) fn number(rest: &str, at: usize) -> (TokenKind<'_>, usize) {
    let len = word_len(rest);
    let word = &rest[..len];
    let (digits, radix) = match word.get(..2) {
        Some("0x" | "0X") => (&word[2..], 16),
        Some("0b" | "0B") => (&word[2..], 2),
        Some("0o" | "0O") => (&word[2..], 8),
        _ => (word, 10),
    };
    let span = Span::new(at, at + len);
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        let bad = Diagnostic::new(span, format!("malformed number `{word}`"), "");
        return (TokenKind::Bad(Box::new(bad)), len);
    }
    match u64::from_str_radix(digits, radix) {
        Ok(n) => (TokenKind::Number(n), len),
        Err(_) => {
            let bad = Diagnostic::new(
                span,
                format!("the number `{word}` is too large"),
                "expected at most 64 bits",
            );
            (TokenKind::Bad(Box::new(bad)), len)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let shown: Vec<String> = tokens(text, 0)
            .iter()
            .map(|t| match &t.kind {
                TokenKind::Ident(s) => (*s).to_owned(),
                TokenKind::Number(n) => n.to_string(),
                TokenKind::Punct(p) => format!("'{p}'"),
                TokenKind::Rest => "<rest>".to_owned(),
                TokenKind::End => "<end>".to_owned(),
                TokenKind::Bad(d) => format!("<{} at {}..{}>", d.message, d.span.start, d.span.end),
            })
            .collect();
        assert_eq!(shown.join(" "), expected, "{text}");
    }

    #[test]
    fn splits() {
        check("0:EAX=-1/\\x=0x10", "0 ':' EAX '=' '-' 1 '/\\' x '=' 16 <end>");
        check("a (* b (* c *) d *) e", "a e <end>");
        check("a # b ; c\nd", "a d <end>");
        check("a||b", "a '|' '|' b <end>");
        check("a == b => c <> d != e && f", "a '==' b '=>' c '<>' d '!=' e '&&' f <end>");
        check("a << b é \0", "a <rest>");
        check(".L1: P0", ".L1 ':' P0 <end>");
        check("", "<end>");
    }

    #[test]
    fn refuses() {
        check("a (* b", "a <the comment that begins here never ends at 2..4>");
        check("é", "<unexpected character `é` at 0..2>");
        check("x\0", "x <unexpected control character `\\u{0}` at 1..2>");
        check("12x", "<malformed number `12x` at 0..3>");
        check("0x", "<malformed number `0x` at 0..2>");
        check("18446744073709551615", "18446744073709551615 <end>");
        check("18446744073709551616", "<the number `18446744073709551616` is too large at 0..20>");
        check("a / b", "a <unexpected `/` at 2..3>");
    }
}
