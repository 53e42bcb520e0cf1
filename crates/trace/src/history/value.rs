//! JSON values in what has arrived.

use std::borrow::Cow;

use super::scan::{Cursor, Scan, fault};

/// Values may be nested this deep.
const DEEPEST: usize = 64;

/// The next key of an object, with its quotes, and behind its colon; `None` at the end of the
/// object. `first` says whether no comma is needed.
#[inline]
pub(crate) fn key<'a>(cursor: &mut Cursor<'a>, first: bool) -> Scan<Option<&'a [u8]>> {
    match cursor.solid()? {
        Some(b'}') => {
            cursor.at += 1;
            return Ok(None);
        }
        Some(b',') if !first => cursor.at += 1,
        _ if !first => return cursor.unexpected("`,` or `}`"),
        _ => {}
    }
    if cursor.solid()? != Some(b'"') {
        return cursor.unexpected("a key in quotes");
    }
    let key = cursor.string()?;
    cursor.expect(":")?;
    cursor.solid()?;
    Ok(Some(key))
}

/// Whether another element of an array follows; what ends the array is passed.
#[inline]
pub(crate) fn element(cursor: &mut Cursor<'_>, first: bool) -> Scan<bool> {
    match cursor.solid()? {
        Some(b']') => {
            cursor.at += 1;
            return Ok(false);
        }
        Some(b',') if !first => cursor.at += 1,
        _ if !first => return cursor.unexpected("`,` or `]`"),
        _ => {}
    }
    cursor.solid()?;
    Ok(true)
}

/// Passes a value of any kind.
pub(crate) fn skip(cursor: &mut Cursor<'_>) -> Scan<()> {
    nested(cursor, 0)
}

fn nested(cursor: &mut Cursor<'_>, depth: usize) -> Scan<()> {
    let next = cursor.solid()?;
    if depth == DEEPEST && matches!(next, Some(b'{' | b'[')) {
        return fault(cursor.at, format!("values nested deeper than {DEEPEST}"));
    }
    match next {
        Some(b'"') => cursor.string().map(|_| ()),
        Some(b'-' | b'0'..=b'9') => number(cursor).map(|_| ()),
        Some(b'{') => {
            cursor.at += 1;
            let mut first = true;
            while key(cursor, first)?.is_some() {
                nested(cursor, depth + 1)?;
                first = false;
            }
            Ok(())
        }
        Some(b'[') => {
            cursor.at += 1;
            let mut first = true;
            while element(cursor, first)? {
                nested(cursor, depth + 1)?;
                first = false;
            }
            Ok(())
        }
        _ => {
            for word in ["null", "true", "false"] {
                if cursor.eat(word)? {
                    return Ok(());
                }
            }
            cursor.unexpected("a value")
        }
    }
}

fn number<'a>(cursor: &mut Cursor<'a>) -> Scan<&'a [u8]> {
    let start = cursor.at;
    let raw = cursor.word(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.'))?;
    if serde_json::from_slice::<f64>(raw).is_err() {
        return fault(start, format!("no number: `{}`", String::from_utf8_lossy(raw)));
    }
    Ok(raw)
}

/// A string or a number, as a name.
#[inline]
pub(crate) fn name<'a>(cursor: &mut Cursor<'a>, what: &str) -> Scan<Cow<'a, [u8]>> {
    match cursor.next()? {
        Some(b'"') => Ok(crate::json::unquoted(cursor.string()?)),
        Some(b'-' | b'0'..=b'9') => Ok(Cow::Borrowed(number(cursor)?)),
        _ => cursor.unexpected(what),
    }
}
