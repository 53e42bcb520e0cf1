//! The traces of Axe: `0: M[1] := 2`, `1: M[1] == 2`, `0: { M[1] == 2; M[1] := 3 }`, `1: sync`.
//! Line breaks mean nothing there, and `check` ends a trace.

use weakspot_core::{OpKind, Times};

use super::build::Builder;
use super::decoder::{Decoded, Decoder};
use super::scan::{Cursor, Place, Scan, fault, hex};

/// Reads instruction by instruction.
#[derive(Default)]
pub(crate) struct Axe {
    begun: bool,
    /// Whether a thread began an operation before the one before it had ended, as hardware may.
    overlap: bool,
    /// What memory held at the end: variables, values, and where that is said.
    finals: Vec<(Vec<u8>, i64, Place)>,
}

impl Decoder for Axe {
    fn step(&mut self, cursor: &mut Cursor<'_>, builder: &mut Builder) -> Scan<Decoded> {
        match blank(cursor)? {
            None if self.begun => {
                self.end(builder).or_else(|m| fault(cursor.at, m))?;
                return Ok(Decoded::History);
            }
            None => return Ok(Decoded::End),
            Some(b'c') => {
                let at = cursor.at;
                cursor.expect("check")?;
                self.end(builder).or_else(|m| fault(at, m))?;
                return Ok(Decoded::History);
            }
            Some(b'f') => {
                let at = cursor.at;
                cursor.expect("final")?;
                blank(cursor)?;
                let var = address(cursor)?.to_vec();
                blank(cursor)?;
                cursor.expect("==")?;
                let value = natural(cursor)?;
                let place = cursor.place(at);
                self.finals.push((var, value, place));
                self.begun = true;
                return Ok(Decoded::Item);
            }
            Some(_) => {}
        }
        let start = cursor.at;
        let digits = cursor.word(|b| b.is_ascii_digit())?;
        if digits.is_empty() {
            return cursor.unexpected("the number of a thread, `final` or `check`");
        }
        let digits = without_zeros(digits);
        blank(cursor)?;
        cursor.expect(":")?;
        let at = match blank(cursor)? {
            Some(b'{') => return self.update(digits, start, cursor, builder),
            _ => cursor.at,
        };
        if cursor.next()? == Some(b's') {
            cursor.expect("sync")?;
            let times = times(cursor)?;
            let place = cursor.place(at);
            let thread = builder.numbered_thread(digits).or_else(|m| fault(start, m))?;
            builder.push(place, thread, OpKind::Fence, 0, 0).or_else(|m| fault(at, m))?;
            return self.read(times, thread, builder);
        }
        let var = address(cursor)?;
        blank(cursor)?;
        let kind = if cursor.eat("==")? {
            OpKind::Read
        } else if cursor.eat(":=")? {
            OpKind::Write
        } else {
            return cursor.unexpected("`==` or `:=`");
        };
        let value = match kind {
            OpKind::Write => written(cursor)?,
            _ => natural(cursor)?,
        };
        let times = times(cursor)?;
        let place = cursor.place(at);
        let thread = builder.numbered_thread(digits).or_else(|m| fault(start, m))?;
        let var = builder.var(var).or_else(|m| fault(at, m))?;
        builder.push(place, thread, kind, var, value).or_else(|m| fault(at, m))?;
        self.read(times, thread, builder)
    }
}

impl Axe {
    fn update(
        &mut self,
        digits: &[u8],
        start: usize,
        cursor: &mut Cursor<'_>,
        builder: &mut Builder,
    ) -> Scan<Decoded> {
        let at = cursor.at;
        cursor.expect("{")?;
        blank(cursor)?;
        let var = address(cursor)?;
        blank(cursor)?;
        cursor.expect("==")?;
        let old = natural(cursor)?;
        blank(cursor)?;
        cursor.expect(";")?;
        blank(cursor)?;
        let second = cursor.at;
        if address(cursor)? != var {
            return fault(second, "an atomic update of two variables");
        }
        blank(cursor)?;
        cursor.expect(":=")?;
        let new = written(cursor)?;
        blank(cursor)?;
        cursor.expect("}")?;
        let times = times(cursor)?;
        let place = cursor.place(at);
        let thread = builder.numbered_thread(digits).or_else(|m| fault(start, m))?;
        let var = builder.var(var).or_else(|m| fault(at, m))?;
        builder.push_update(place, thread, var, old, new).or_else(|m| fault(at, m))?;
        self.read(times, thread, builder)
    }

    fn read(
        &mut self,
        times: Option<(Times, usize)>,
        thread: u32,
        builder: &mut Builder,
    ) -> Scan<Decoded> {
        self.begun = true;
        if let Some((times, at)) = times {
            self.overlap |= builder.overlaps(thread, times);
            if self.overlap {
                return Ok(Decoded::Item);
            }
            builder.say_times(thread, times).or_else(|m| fault(at, m))?;
        }
        Ok(Decoded::Item)
    }

    fn end(&mut self, builder: &mut Builder) -> Result<(), String> {
        let Axe { finals, overlap, .. } = std::mem::take(self);
        if overlap {
            builder.forget_times();
            builder.notes.push(
                "the times behind `@` are not used: a thread begins operations before others of it \
                 have ended"
                    .into(),
            );
        }
        if let Some(&(_, _, place)) = finals.first() {
            // All threads say behind a fence that they are done; one more waits for that and reads.
            let threads = builder.threads();
            let done: Vec<u32> = (0..threads)
                .map(|thread| {
                    let name = format!("done({})", builder.thread_name(thread));
                    builder.var(name.as_bytes())
                })
                .collect::<Result<_, _>>()?;
            for (thread, &done) in done.iter().enumerate() {
                builder.push(place, thread as u32, OpKind::Fence, 0, 0)?;
                builder.push(place, thread as u32, OpKind::Write, done, 1)?;
            }
            let last = builder.thread(b"final")?;
            for &done in &done {
                builder.push(place, last, OpKind::Read, done, 1)?;
            }
            for (var, value, place) in finals {
                let var = builder.var(&var)?;
                builder.push(place, last, OpKind::Read, var, value)?;
            }
            builder.notes.push(
                "the lines `final` are reads of a thread `final`, behind all that the others did; \
                 coherence, which orders no locations among each other, does not check them"
                    .into(),
            );
        }
        Ok(())
    }
}

/// The next byte behind blanks, line breaks and comments.
#[inline]
fn blank(cursor: &mut Cursor<'_>) -> Scan<Option<u8>> {
    loop {
        match cursor.solid()? {
            Some(b'#') => cursor.skip_line()?,
            next => return Ok(next),
        }
    }
}

/// `M[3]` or `v3`, of which the name is 3; or `M[0x1000]`.
#[inline]
fn address<'a>(cursor: &mut Cursor<'a>) -> Scan<&'a [u8]> {
    let bracket = match cursor.next()? {
        Some(b'M') => {
            cursor.at += 1;
            cursor.expect("[")?;
            blank(cursor)?;
            true
        }
        Some(b'v') => {
            cursor.at += 1;
            false
        }
        _ => return cursor.unexpected("a variable such as `M[0]` or `v0`, or `sync`"),
    };
    let at = cursor.at;
    let digits = cursor.word(|b| b.is_ascii_alphanumeric())?;
    let is_number = digits.iter().all(u8::is_ascii_digit) || hex(digits).is_some();
    if digits.is_empty() || !is_number {
        cursor.at = at;
        return cursor.unexpected("the number of a variable");
    }
    if bracket {
        blank(cursor)?;
        cursor.expect("]")?;
    }
    Ok(without_zeros(digits))
}

/// 01 is the same as 1.
#[inline]
fn without_zeros(digits: &[u8]) -> &[u8] {
    match digits {
        [b'0', b'0'..=b'9', ..] => {
            let zeros = digits.iter().take_while(|&&b| b == b'0').count();
            &digits[zeros.min(digits.len() - 1)..]
        }
        _ => digits,
    }
}

#[inline]
fn natural(cursor: &mut Cursor<'_>) -> Scan<i64> {
    match blank(cursor)? {
        Some(b'0'..=b'9') => cursor.integer("a value, a natural number"),
        _ => cursor.unexpected("a value, a natural number"),
    }
}

#[inline]
fn written(cursor: &mut Cursor<'_>) -> Scan<i64> {
    blank(cursor)?;
    let at = cursor.at;
    match natural(cursor)? {
        0 => fault(at, "0 is the initial value of all variables and cannot be written"),
        value => Ok(value),
    }
}

/// When an operation began and ended: `@ 10:20`, of which either may be missing.
#[inline]
fn times(cursor: &mut Cursor<'_>) -> Scan<Option<(Times, usize)>> {
    if blank(cursor)? != Some(b'@') {
        return Ok(None);
    }
    let at = cursor.at;
    cursor.at += 1;
    let mut times = Times::UNKNOWN;
    if blank(cursor)?.is_some_and(|b| b.is_ascii_digit()) {
        times.start = cursor.integer("when it starts, a natural number")?;
    }
    if !cursor.eat(":")? {
        return cursor.unexpected("`:` between the times");
    }
    if cursor.next()?.is_some_and(|b| b.is_ascii_digit()) {
        times.end = cursor.integer("when it ends, a natural number")?;
    }
    Ok(Some((times, at)))
}
