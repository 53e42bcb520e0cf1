//! Our own text, one operation per line, for people to read and write: `t1: r x 5`.

use std::borrow::Cow;

use weakspot_core::{OpKind, SaidFrom, Times};

use super::build::Builder;
use super::decoder::{Decoded, Decoder};
use super::scan::{Cursor, Scan, fault};

/// Reads line by line.
#[derive(Default)]
pub(crate) struct Text {
    /// Whether the line that begins the current history was read already.
    begun: bool,
}

const OPERATION: &str = "an operation: `r x 1`, `w x 1`, `u x 0 -> 1` or `fence`";

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

impl Decoder for Text {
    fn step(&mut self, cursor: &mut Cursor<'_>, builder: &mut Builder) -> Scan<Decoded> {
        match cursor.solid()? {
            None => {
                let begun = std::mem::take(&mut self.begun);
                return Ok(if begun { Decoded::History } else { Decoded::End });
            }
            Some(b'/') if cursor.eat("//")? => {
                cursor.skip_line()?;
                return Ok(Decoded::Item);
            }
            Some(b'"') => {
                let start = cursor.at;
                let name = crate::json::unquoted(cursor.string()?);
                return match cursor.next()? {
                    Some(b':') => {
                        cursor.at += 1;
                        self.thread(&name, start, cursor, builder)
                    }
                    _ => cursor.unexpected("`:` behind the thread"),
                };
            }
            Some(_) => {}
        }
        let start = cursor.at;
        let word = cursor.word(|b| !is_blank(b))?;
        if matches!(word.first(), Some(b'{' | b'[')) {
            return fault(start, "expected a history, not JSON of a kind that is not known");
        }
        match word.strip_suffix(b":") {
            Some(name) if !name.is_empty() => self.thread(name, start, cursor, builder),
            _ if word == b"history" => self.history(start, cursor, builder),
            _ if word == b"init" => initial(cursor, builder),
            _ => {
                let end = word.iter().position(|&b| b == b':').map_or(start, |n| start + n + 1);
                let message = if end > start {
                    "expected a blank behind the colon"
                } else {
                    "expected a thread with a colon, such as `t0:`, or `history` or `init`"
                };
                fault(end, message)
            }
        }
    }
}

impl Text {
    fn history(
        &mut self,
        start: usize,
        cursor: &mut Cursor<'_>,
        builder: &mut Builder,
    ) -> Scan<Decoded> {
        // The line is read again when the history before it was handed out.
        if self.begun || !builder.is_empty() {
            self.begun = false;
            cursor.at = start;
            return Ok(Decoded::History);
        }
        let id = match at_end(cursor)? {
            true => None,
            false => Some(name(cursor)?.into_owned()),
        };
        let at = cursor.at;
        end(cursor, "the end of the line")?;
        let id = id.map(String::from_utf8);
        builder.id = match id.transpose() {
            Ok(id) => id,
            Err(_) => return fault(at, "bytes that are not UTF-8 text in the name of a history"),
        };
        self.begun = true;
        Ok(Decoded::Item)
    }

    fn thread(
        &self,
        name: &[u8],
        start: usize,
        cursor: &mut Cursor<'_>,
        builder: &mut Builder,
    ) -> Scan<Decoded> {
        let thread = builder.thread(name).or_else(|m| fault(start, m))?;
        // A thread that does nothing is one, too.
        if at_end(cursor)? {
            end(cursor, OPERATION)?;
            return Ok(Decoded::Item);
        }
        let at = cursor.at;
        let kind = match cursor.word(|b| !is_blank(b))? {
            b"w" | b"wr" => OpKind::Write,
            b"r" | b"rd" => OpKind::Read,
            b"u" | b"upd" => OpKind::Update,
            b"f" | b"fence" => OpKind::Fence,
            _ => return fault(at, format!("expected {OPERATION}")),
        };
        if kind == OpKind::Fence {
            let times = times(cursor)?;
            end(cursor, "`@` and times, or the end of the line")?;
            let place = cursor.place(at);
            builder.push(place, thread, kind, 0, 0).or_else(|m| fault(at, m))?;
            return said(times, thread, builder);
        }
        if at_end(cursor)? {
            return cursor.unexpected("a variable");
        }
        let var_at = cursor.at;
        let mut var = name_bytes(cursor)?;
        // In `r x=1` the word goes on with the value, unless a value follows.
        if kind != OpKind::Update
            && let Cow::Borrowed(word) = var
            && let Some(end) = word.iter().rposition(|&b| b == b'=').filter(|&end| end > 0)
            && cursor.data.get(var_at) != Some(&b'"')
            && !matches!(cursor.in_line()?, Some(b'0'..=b'9' | b'-' | b'='))
        {
            cursor.at = var_at + end;
            var = Cow::Borrowed(&word[..end]);
        }
        if cursor.in_line()? == Some(b'=') && kind != OpKind::Update {
            cursor.at += 1;
        }
        cursor.in_line()?;
        let value = cursor.integer("a value, a whole number")?;
        let mut new = value;
        if kind == OpKind::Update {
            cursor.in_line()?;
            if !cursor.eat("->")? {
                return cursor.unexpected("`->` and the new value");
            }
            cursor.in_line()?;
            new = cursor.integer("the new value, a whole number")?;
        }
        let source = match cursor.in_line()? {
            Some(b'f') if kind != OpKind::Write => Some(from(cursor, builder)?),
            _ => None,
        };
        let times = times(cursor)?;
        let expected = match kind {
            _ if times.is_some() => "the end of the line",
            OpKind::Write => "`@` and times, or the end of the line",
            _ if source.is_some() => "`@` and times, or the end of the line",
            _ => "`from`, `@` and times, or the end of the line",
        };
        end(cursor, expected)?;
        let place = cursor.place(at);
        let var = builder.var(&var).or_else(|m| fault(var_at, m))?;
        let pushed = match kind {
            OpKind::Update => builder.push_update(place, thread, var, value, new),
            _ => builder.push(place, thread, kind, var, value),
        };
        pushed.or_else(|m| fault(at, m))?;
        if let Some((source, at)) = source {
            let place = cursor.place(at);
            builder.say_from(place, source);
        }
        said(times, thread, builder)
    }
}

/// When an operation began and ended: `@ 10:20`, of which either may be missing.
fn times(cursor: &mut Cursor<'_>) -> Scan<Option<(Times, usize)>> {
    if cursor.in_line()? != Some(b'@') {
        return Ok(None);
    }
    let at = cursor.at;
    cursor.at += 1;
    let mut times = Times::UNKNOWN;
    if cursor.in_line()? != Some(b':') {
        times.start = cursor.integer("when it starts, a whole number")?;
    }
    cursor.in_line()?;
    cursor.expect(":")?;
    if matches!(cursor.in_line()?, Some(b'0'..=b'9' | b'-')) {
        times.end = cursor.integer("when it ends, a whole number")?;
    }
    Ok(Some((times, at)))
}

/// Keeps the times of the last operation.
fn said(times: Option<(Times, usize)>, thread: u32, builder: &mut Builder) -> Scan<Decoded> {
    if let Some((times, at)) = times {
        builder.say_times(thread, times).or_else(|m| fault(at, m))?;
    }
    Ok(Decoded::Item)
}

/// What a read says it reads: `from t0 3`, or `from init`.
fn from(cursor: &mut Cursor<'_>, builder: &mut Builder) -> Scan<(SaidFrom, usize)> {
    let at = cursor.at;
    if !cursor.eat("from")? || !cursor.next()?.is_none_or(is_blank) {
        cursor.at = at;
        return cursor.unexpected("`from`, `@` and times, or the end of the line");
    }
    let expected = "a thread and the number of its operation, or `init`";
    if at_end(cursor)? {
        return cursor.unexpected(expected);
    }
    let start = cursor.at;
    let name = name(cursor)?;
    let is_end = at_end(cursor)? || cursor.in_line()? == Some(b'@');
    if is_end && &*name == b"init" {
        return Ok((SaidFrom::Initial, at));
    }
    let index = cursor.integer("the number of an operation of that thread, from 0 on")?;
    let thread = builder.thread(&name).or_else(|m| fault(start, m))?;
    match u32::try_from(index) {
        Ok(index) => Ok((SaidFrom::Op(thread, index), at)),
        Err(_) => fault(start, format!("expected {expected}")),
    }
}

/// The line `init x 7`.
fn initial(cursor: &mut Cursor<'_>, builder: &mut Builder) -> Scan<Decoded> {
    if at_end(cursor)? {
        return cursor.unexpected("a variable");
    }
    let start = cursor.at;
    let name = name(cursor)?;
    if cursor.in_line()? == Some(b'=') {
        cursor.at += 1;
        cursor.in_line()?;
    }
    let value = cursor.integer("a value, a whole number")?;
    end(cursor, "the end of the line")?;
    let Ok(name) = std::str::from_utf8(&name) else {
        return fault(start, "bytes that are not UTF-8 text in the name of a variable");
    };
    builder.say_initial(name, value).or_else(|m| fault(start, m))?;
    Ok(Decoded::Item)
}

/// Whether nothing but a comment follows in the line.
fn at_end(cursor: &mut Cursor<'_>) -> Scan<bool> {
    let next = cursor.in_line()?;
    let at = cursor.at;
    let is_end = matches!(next, None | Some(b'\n')) || next == Some(b'/') && cursor.eat("//")?;
    cursor.at = at;
    Ok(is_end)
}

/// Passes the end of the line, and a comment before it.
#[inline]
fn end(cursor: &mut Cursor<'_>, expected: &str) -> Scan<()> {
    match cursor.in_line()? {
        Some(b'\n') => cursor.at += 1,
        None => {}
        Some(b'/') if cursor.eat("//")? => cursor.skip_line()?,
        Some(_) => return cursor.unexpected(expected),
    }
    Ok(())
}

/// A name without blanks, or a string in quotes.
fn name<'a>(cursor: &mut Cursor<'a>) -> Scan<Cow<'a, [u8]>> {
    cursor.in_line()?;
    name_bytes(cursor)
}

#[inline]
fn name_bytes<'a>(cursor: &mut Cursor<'a>) -> Scan<Cow<'a, [u8]>> {
    if cursor.next()? == Some(b'"') {
        return Ok(crate::json::unquoted(cursor.string()?));
    }
    Ok(Cow::Borrowed(cursor.word(|b| !is_blank(b))?))
}
