//! A place in a text of which a part has arrived. Whoever needs more than that stops, and starts
//! again at the last item when more is there, so a text of any length is read in little memory.

use crate::error::{LogError, LogPlace};
use crate::lines::Fault;

/// Why reading stopped.
pub(crate) enum Stop {
    /// The item goes on behind what has arrived.
    More,
    /// The text is wrong.
    Fault(Box<Fault>),
}

pub(crate) type Scan<T> = Result<T, Stop>;

/// Where reading goes on in what has arrived.
pub(crate) struct Cursor<'a> {
    pub(crate) data: &'a [u8],
    pub(crate) at: usize,
    /// Whether nothing comes behind `data`.
    pub(crate) ended: bool,
    /// The last byte whose place was asked for.
    mark: Mark,
    /// The same before the current item.
    item: Mark,
}

/// A byte whose line and column are known.
#[derive(Clone, Copy)]
struct Mark {
    at: usize,
    place: Place,
}

/// A line and a column, both from 1. Places behind 2^32 lines or columns are said to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    line: u32,
    column: u32,
}

impl Place {
    pub(crate) const FIRST: Place = Place { line: 1, column: 1 };

    pub(crate) fn line(self) -> u32 {
        self.line
    }

    pub(crate) fn column(self) -> u32 {
        self.column
    }
}

impl From<Place> for LogPlace {
    fn from(place: Place) -> LogPlace {
        LogPlace::Line { line: place.line.into(), column: place.column.into() }
    }
}

/// The number that `0x` and up to 16 hexadecimal digits are; zeros in front do not count.
pub(crate) fn hex(word: &[u8]) -> Option<u64> {
    let (b"0x" | b"0X", digits) = word.split_at_checked(2)? else { return None };
    let zeros = digits.iter().take_while(|&&b| b == b'0').count();
    let is_hex = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    if !is_hex || digits.len() - zeros > 16 {
        return None;
    }
    let digit = |b: &u8| u64::from(char::from(*b).to_digit(16).unwrap_or(0));
    Some(digits.iter().fold(0, |n, b| n << 4 | digit(b)))
}

/// Stops because of what stands before this byte.
pub(crate) fn fault<T>(at: usize, message: impl Into<String>) -> Scan<T> {
    Err(Stop::Fault(Box::new(Fault::new(at, message))))
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(data: &'a [u8], ended: bool, place: Place) -> Cursor<'a> {
        let mark = Mark { at: 0, place };
        Cursor { data, at: 0, ended, mark, item: mark }
    }

    /// Here an item begins. Places before it are not asked for any more.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.item = self.mark;
    }

    /// The place of a byte. Bytes that do not begin a character do not count.
    #[inline]
    pub(crate) fn place(&mut self, at: usize) -> Place {
        let Mark { at: from, mut place } = if at < self.mark.at { self.item } else { self.mark };
        let mut bytes = &self.data[from.min(at)..at];
        let lines = bytes.iter().filter(|&&b| b == b'\n').count();
        if lines > 0 {
            place.line = place.line.saturating_add(lines as u32);
            place.column = 1;
            let last = bytes.iter().rposition(|&b| b == b'\n').unwrap_or(0);
            bytes = &bytes[last + 1..];
        }
        let columns = bytes.iter().filter(|&&b| b as i8 >= -0x40).count();
        place.column = place.column.saturating_add(columns as u32);
        self.mark = Mark { at, place };
        place
    }

    /// The error that a fault is.
    pub(crate) fn error(&mut self, fault: Fault) -> LogError {
        let at = fault.at.min(self.data.len());
        LogError::new(self.place(at).into(), fault.message)
    }

    /// The next byte, if there is one.
    #[inline]
    pub(crate) fn next(&self) -> Scan<Option<u8>> {
        match self.data.get(self.at) {
            Some(&byte) => Ok(Some(byte)),
            None if self.ended => Ok(None),
            None => Err(Stop::More),
        }
    }

    /// The next byte behind spaces and tabs.
    #[inline]
    pub(crate) fn in_line(&mut self) -> Scan<Option<u8>> {
        while let Some(b' ' | b'\t' | b'\r') = self.data.get(self.at) {
            self.at += 1;
        }
        self.next()
    }

    /// The next byte that is no blank.
    #[inline]
    pub(crate) fn solid(&mut self) -> Scan<Option<u8>> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c) = self.data.get(self.at) {
            self.at += 1;
        }
        self.next()
    }

    /// Goes to the end of the line.
    pub(crate) fn skip_line(&mut self) -> Scan<()> {
        match self.data[self.at..].iter().position(|&b| b == b'\n') {
            Some(n) => self.at += n,
            None if self.ended => self.at = self.data.len(),
            None => return Err(Stop::More),
        }
        Ok(())
    }

    /// Whether this text comes next; then it is passed.
    #[inline]
    pub(crate) fn eat(&mut self, text: &str) -> Scan<bool> {
        let rest = &self.data[self.at..];
        if rest.starts_with(text.as_bytes()) {
            self.at += text.len();
            return Ok(true);
        }
        if !self.ended && rest.len() < text.len() && text.as_bytes().starts_with(rest) {
            return Err(Stop::More);
        }
        Ok(false)
    }

    /// Passes this text, which has to come next; blanks and line breaks before it do not matter.
    #[inline]
    pub(crate) fn expect(&mut self, text: &str) -> Scan<()> {
        self.solid()?;
        if self.eat(text)? { Ok(()) } else { self.unexpected(&format!("`{text}`")) }
    }

    pub(crate) fn unexpected<T>(&self, expected: &str) -> Scan<T> {
        let found = match self.next()? {
            None => "the end of the text".into(),
            Some(b'\n') => "the end of the line".into(),
            Some(byte) if byte.is_ascii_graphic() => format!("`{}`", byte as char),
            Some(byte) => format!("a byte {byte:#04x}"),
        };
        fault(self.at, format!("expected {expected}, found {found}"))
    }

    /// The bytes from here on that fulfil a condition, up to one that does not.
    #[inline]
    pub(crate) fn word(&mut self, is_part: impl Fn(u8) -> bool) -> Scan<&'a [u8]> {
        let start = self.at;
        while let Some(&byte) = self.data.get(self.at) {
            if !is_part(byte) {
                return Ok(&self.data[start..self.at]);
            }
            self.at += 1;
        }
        if self.ended { Ok(&self.data[start..]) } else { Err(Stop::More) }
    }

    /// A whole number of 64 bits: decimal, perhaps with a sign, or `0x` and up to 16 hexadecimal
    /// digits, which are the bits of the number.
    #[inline]
    pub(crate) fn integer(&mut self, what: &str) -> Scan<i64> {
        let start = self.at;
        let negative = self.data.get(self.at) == Some(&b'-');
        self.at += usize::from(negative);
        let first = self.at;
        if let [b'0', b'x' | b'X', ..] = self.data[first..] {
            return self.hexadecimal(start, negative, what);
        }
        let mut value: i64 = 0;
        let mut fits = true;
        while let Some(&byte @ b'0'..=b'9') = self.data.get(self.at) {
            let digit = i64::from(byte - b'0');
            // Below zero there is one number more than above.
            let next = value.checked_mul(10).and_then(|v| v.checked_sub(digit));
            value = next.unwrap_or_else(|| {
                fits = false;
                0
            });
            self.at += 1;
        }
        let follows = self.next()?;
        let is_odd = matches!(follows, Some(b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'.' | 0x80..));
        if self.at == first {
            self.at = start;
            return self.unexpected(what);
        }
        if is_odd {
            self.word(|b| b.is_ascii_alphanumeric() || b"_.+-".contains(&b) || b >= 0x80)?;
            let found = String::from_utf8_lossy(&self.data[start..self.at]);
            return fault(start, format!("expected {what}, found `{found}`"));
        }
        let value = if negative { Some(value) } else { value.checked_neg() };
        match value.filter(|_| fits) {
            Some(value) => Ok(value),
            None => fault(
                start,
                format!(
                    "expected {what}, found a number that does not fit into 64 bits with a sign"
                ),
            ),
        }
    }

    /// The rest of a number that begins with `0x` behind its sign.
    fn hexadecimal(&mut self, start: usize, negative: bool, what: &str) -> Scan<i64> {
        let word = self.word(|b| b.is_ascii_alphanumeric() || b == b'-')?;
        let value = hex(word).and_then(|bits| match negative {
            true => i64::try_from(bits).ok().map(|value| -value),
            false => Some(bits as i64),
        });
        value.map_or_else(
            || {
                let found = String::from_utf8_lossy(&self.data[start..self.at]);
                fault(start, format!("expected {what}, found `{found}`"))
            },
            Ok,
        )
    }

    /// A string in quotes, with its quotes, as JSON writes them.
    #[inline]
    pub(crate) fn string(&mut self) -> Scan<&'a [u8]> {
        let start = self.at;
        let mut at = start + 1;
        let mut escapes = false;
        loop {
            match self.data.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escapes = true;
                    at += 2;
                }
                Some(0..0x20) => return fault(at, "a control character in a string"),
                Some(_) => at += 1,
                None if self.ended => {
                    let end = self.data.len();
                    return fault(end, "expected `\"`, found the end of the text");
                }
                None => return Err(Stop::More),
            }
        }
        self.at = at + 1;
        let raw = &self.data[start..self.at];
        if escapes && serde_json::from_slice::<String>(raw).is_err() {
            return fault(start, "a string with an escape that JSON does not know");
        }
        Ok(raw)
    }
}
