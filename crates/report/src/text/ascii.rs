//! Text for terminals that show nothing but ASCII.

use std::borrow::Cow;

use super::table::width;

/// The text with lines and arrows drawn in ASCII, each in the columns that it takes. What else is not
/// ASCII, such as a name of the input, becomes question marks.
#[must_use]
pub fn ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_ascii() => out.push(c),
            '─' => out.push('-'),
            '│' => out.push('|'),
            '┼' | '┌' | '┐' | '└' | '┘' => out.push('+'),
            '╱' => out.push('/'),
            '╲' => out.push('\\'),
            '↓' => out.push('v'),
            // Where a text is cut.
            '…' => out.push('~'),
            // A model that a history satisfies, and one that it violates.
            '✓' => out.push('+'),
            '✗' => out.push('-'),
            other => out.extend(std::iter::repeat_n('?', width(other.encode_utf8(&mut [0; 4])))),
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_wide_as_before() {
        assert_eq!(ascii("x │ ─┼─ ✓ SC ✗ TSO …queue.c:14"), "x | -+- + SC - TSO ~queue.c:14");
        assert_eq!(ascii("変é e\u{301}"), "??? e");
        assert_eq!(ascii("plain"), "plain");
    }
}
