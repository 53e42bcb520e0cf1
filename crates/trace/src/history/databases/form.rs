//! EDN, the data notation of Clojure, as far as histories need it.

use std::borrow::Cow;

use crate::history::scan::{Cursor, Scan, fault};

/// Forms may be nested this deep.
const DEEPEST: usize = 64;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form<'a> {
    /// `nil`.
    Nil,
    /// A whole number of 64 bits.
    Int(i64),
    /// A keyword without its colon, or a symbol.
    Name(&'a [u8]),
    /// A string with its quotes.
    Text(&'a [u8]),
    /// A vector or a list.
    List(Vec<Form<'a>>),
    /// A map.
    Map(Vec<(Form<'a>, Form<'a>)>),
    /// Anything else.
    Other,
}

impl Form<'_> {
    /// What a register with this key is called.
    pub(crate) fn name(&self) -> Result<Cow<'_, [u8]>, String> {
        match self {
            Form::Int(number) => Ok(Cow::Owned(number.to_string().into_bytes())),
            Form::Name(name) => Ok(Cow::Borrowed(name)),
            Form::Text(raw) => Ok(crate::json::unquoted(raw)),
            _ => Err("expected a key that is a number, a keyword or a string".into()),
        }
    }
}

/// The next byte behind blanks, commas and comments.
pub(crate) fn blank(cursor: &mut Cursor<'_>) -> Scan<Option<u8>> {
    loop {
        match cursor.solid()? {
            Some(b',') => cursor.at += 1,
            Some(b';') => cursor.skip_line()?,
            next => return Ok(next),
        }
    }
}

/// Reads a form.
pub(crate) fn form<'a>(cursor: &mut Cursor<'a>) -> Scan<Form<'a>> {
    nested(cursor, 0)
}

fn nested<'a>(cursor: &mut Cursor<'a>, depth: usize) -> Scan<Form<'a>> {
    if depth > DEEPEST {
        return fault(cursor.at, format!("forms nested deeper than {DEEPEST}"));
    }
    match blank(cursor)? {
        None => cursor.unexpected("a form"),
        Some(b'"') => Ok(Form::Text(cursor.string()?)),
        Some(open @ (b'[' | b'(' | b'{')) => {
            cursor.at += 1;
            let close = match open {
                b'[' => b']',
                b'(' => b')',
                _ => b'}',
            };
            let forms = forms(cursor, close, depth)?;
            if open != b'{' {
                return Ok(Form::List(forms));
            }
            if !forms.len().is_multiple_of(2) {
                return fault(cursor.at - 1, "a map with a key that has no value");
            }
            let mut pairs = Vec::with_capacity(forms.len() / 2);
            let mut forms = forms.into_iter();
            while let (Some(key), Some(value)) = (forms.next(), forms.next()) {
                pairs.push((key, value));
            }
            Ok(Form::Map(pairs))
        }
        Some(b'#') => {
            cursor.at += 1;
            match cursor.next()? {
                Some(b'{') => {
                    cursor.at += 1;
                    forms(cursor, b'}', depth)?;
                    Ok(Form::Other)
                }
                Some(b'#') => {
                    cursor.at += 1;
                    word(cursor)?;
                    Ok(Form::Other)
                }
                Some(b'_') => {
                    cursor.at += 1;
                    nested(cursor, depth + 1)?;
                    nested(cursor, depth + 1)
                }
                // What a tag says about the form behind it does not matter here.
                _ => {
                    word(cursor)?;
                    nested(cursor, depth + 1)
                }
            }
        }
        Some(b'\\') => {
            cursor.at += 1;
            // A bracket may be meant as the character that it is.
            if cursor.next()?.is_some() {
                cursor.at += 1;
            }
            cursor.word(is_part)?;
            Ok(Form::Other)
        }
        Some(_) => atom(cursor),
    }
}

/// The forms up to a bracket, which is passed.
fn forms<'a>(cursor: &mut Cursor<'a>, close: u8, depth: usize) -> Scan<Vec<Form<'a>>> {
    let mut forms = Vec::new();
    loop {
        match blank(cursor)? {
            Some(byte) if byte == close => {
                cursor.at += 1;
                return Ok(forms);
            }
            None => return cursor.unexpected(&format!("`{}`", close as char)),
            // A form that is discarded may be the last one.
            Some(b'#') if cursor.eat("#_")? => {
                nested(cursor, depth + 1)?;
            }
            Some(_) => forms.push(nested(cursor, depth + 1)?),
        }
    }
}

fn is_part(byte: u8) -> bool {
    !matches!(
        byte,
        b' ' | b'\t'
            | b'\r'
            | b'\n'
            | 0x0b
            | 0x0c
            | b','
            | b';'
            | b'"'
            | b'('
            | b')'
            | b'['
            | b']'
            | b'{'
            | b'}'
    )
}

fn word<'a>(cursor: &mut Cursor<'a>) -> Scan<&'a [u8]> {
    let word = cursor.word(is_part)?;
    if word.is_empty() {
        return cursor.unexpected("a form");
    }
    Ok(word)
}

fn atom<'a>(cursor: &mut Cursor<'a>) -> Scan<Form<'a>> {
    let word = word(cursor)?;
    let number = word.strip_suffix(b"N").unwrap_or(word);
    match word {
        b"nil" => Ok(Form::Nil),
        b"true" | b"false" => Ok(Form::Other),
        [b':', name @ ..] => Ok(Form::Name(name)),
        [b'0'..=b'9', ..] | [b'-' | b'+', b'0'..=b'9', ..] => {
            let number = std::str::from_utf8(number).ok().and_then(|n| n.parse().ok());
            Ok(number.map_or(Form::Other, Form::Int))
        }
        name => Ok(Form::Name(name)),
    }
}
