//! JSON text, token by token. A tree of it would have to be built for each event, so it is read
//! where it lies; what nobody asked for is checked and skipped.

use std::borrow::Cow;

use crate::lines::Fault;

/// Values may be nested this deep.
const DEEPEST: usize = 64;

/// Finds the end of an object while it arrives. It only counts brackets: whether they match is
/// seen by whoever reads what is between them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frame {
    at: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Frame {
    /// A frame for the rest of an object that has begun already.
    pub(crate) fn inside() -> Frame {
        Frame { depth: 1, ..Frame::default() }
    }

    /// How long the object at the start of `data` is, if its end is there. `data` is the same as
    /// in the last call, and more.
    pub(crate) fn end(&mut self, data: &[u8]) -> Option<usize> {
        while let Some(&byte) = data.get(self.at) {
            self.at += 1;
            if self.escaped {
                self.escaped = false;
            } else if self.in_string {
                self.in_string = byte != b'"';
                self.escaped = byte == b'\\';
            } else {
                match byte {
                    b'"' => self.in_string = true,
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => {
                        self.depth -= 1;
                        if self.depth == 0 {
                            return Some(self.at);
                        }
                    }
                    _ => {}
                }
            }
        }
        None
    }
}

/// A value, as far as anybody wants to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// A string with its quotes.
    Text(&'a [u8]),
    /// A number.
    Number(&'a [u8]),
    /// `null`.
    Null,
    /// Anything else.
    Other,
}

/// A place in a text.
pub(crate) struct Cursor<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Cursor<'a> {
    /// The next byte that is no blank.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.text.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    pub(crate) fn expect(&mut self, byte: u8) -> Result<(), Fault> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(self.unexpected(&format!("`{}`", byte as char)))
    }

    pub(crate) fn unexpected(&mut self, expected: &str) -> Fault {
        let message = match self.peek() {
            None => format!("expected {expected}, found the end of the text"),
            Some(byte) if byte.is_ascii_graphic() => {
                format!("expected {expected}, found `{}`", byte as char)
            }
            Some(byte) => format!("expected {expected}, found a byte {byte:#04x}"),
        };
        Fault::new(self.at, message)
    }

    /// The next member of an object, after its key: `None` at the end of the object. `first` says
    /// whether no comma is needed.
    pub(crate) fn key(&mut self, first: bool) -> Result<Option<Token<'a>>, Fault> {
        match self.peek() {
            Some(b'}') => {
                self.at += 1;
                return Ok(None);
            }
            Some(b',') if !first => self.at += 1,
            _ if !first => return Err(self.unexpected("`,` or `}`")),
            _ => {}
        }
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a key in quotes"));
        }
        let key = self.string()?;
        self.expect(b':')?;
        Ok(Some(key))
    }

    /// Reads a value of any kind.
    pub(crate) fn value(&mut self) -> Result<Token<'a>, Fault> {
        self.nested(0)
    }

    fn nested(&mut self, depth: usize) -> Result<Token<'a>, Fault> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'{' | b'[') if depth == DEEPEST => {
                Err(Fault::new(self.at, format!("values nested deeper than {DEEPEST}")))
            }
            Some(b'{') => {
                self.at += 1;
                let mut first = true;
                while self.key(first)?.is_some() {
                    self.nested(depth + 1)?;
                    first = false;
                }
                Ok(Token::Other)
            }
            Some(b'[') => {
                self.at += 1;
                if self.peek() == Some(b']') {
                    self.at += 1;
                    return Ok(Token::Other);
                }
                loop {
                    self.nested(depth + 1)?;
                    match self.peek() {
                        Some(b',') => self.at += 1,
                        Some(b']') => {
                            self.at += 1;
                            return Ok(Token::Other);
                        }
                        _ => return Err(self.unexpected("`,` or `]`")),
                    }
                }
            }
            _ => {
                for (word, token) in
                    [("null", Token::Null), ("true", Token::Other), ("false", Token::Other)]
                {
                    if self.text[self.at..].starts_with(word.as_bytes()) {
                        self.at += word.len();
                        return Ok(token);
                    }
                }
                Err(self.unexpected("a value"))
            }
        }
    }

    fn string(&mut self) -> Result<Token<'a>, Fault> {
        let start = self.at;
        self.at += 1;
        let mut escapes = false;
        loop {
            match self.text.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escapes = true;
                    self.at += 2;
                }
                Some(0..0x20) => {
                    return Err(Fault::new(self.at, "a control character in a string"));
                }
                Some(_) => self.at += 1,
                None => {
                    return Err(Fault::new(
                        self.text.len(),
                        "expected `\"`, found the end of the text",
                    ));
                }
            }
        }
        self.at += 1;
        let raw = &self.text[start..self.at];
        if let Err(e) = std::str::from_utf8(raw) {
            let bad = start + e.valid_up_to();
            let message = format!("not UTF-8 text: a stray byte {:#04x}", self.text[bad]);
            return Err(Fault::new(bad, message));
        }
        if escapes && serde_json::from_slice::<String>(raw).is_err() {
            return Err(Fault::new(start, "a string with an escape that JSON does not know"));
        }
        Ok(Token::Text(raw))
    }

    fn number(&mut self) -> Result<Token<'a>, Fault> {
        let start = self.at;
        let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.');
        let length = self.text[start..].iter().position(|b| !is_part(b));
        self.at = length.map_or(self.text.len(), |n| start + n);
        let raw = &self.text[start..self.at];
        let plain = raw.strip_prefix(b"-").unwrap_or(raw);
        let is_plain =
            plain.iter().all(u8::is_ascii_digit) && (plain.len() == 1 || !plain.starts_with(b"0"));
        if !plain.is_empty() && is_plain || serde_json::from_slice::<f64>(raw).is_ok() {
            return Ok(Token::Number(raw));
        }
        Err(Fault::new(start, format!("no number: `{}`", String::from_utf8_lossy(raw))))
    }
}

/// The characters of a string.
pub(crate) fn text(raw: &[u8]) -> Cow<'_, str> {
    let inner = &raw[1..raw.len() - 1];
    match std::str::from_utf8(inner) {
        Ok(plain) if !plain.contains('\\') => Cow::Borrowed(plain),
        _ => Cow::Owned(serde_json::from_slice(raw).unwrap_or_default()),
    }
}
