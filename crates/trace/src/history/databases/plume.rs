//! Two texts of checkers of databases. That of Plume, PolySI and AWDIT has one event per line with
//! its session and its transaction: `w(key,value,session,transaction)`, and transaction -1 was
//! aborted. AWDIT's form for tests has lines of `-` and `=` between transactions and sessions.

use weakspot_core::OpKind;

use super::txns::Txns;
use crate::history::build::Builder;
use crate::history::decoder::{Decoded, Decoder};
use crate::history::scan::{Cursor, Scan, fault};

/// Reads lines such as `w(1,2,0,7)`.
#[derive(Default)]
pub(crate) struct Plume {
    /// The transactions of the events.
    txns: Vec<i64>,
    /// Per session its last transaction.
    last: Vec<Option<i64>>,
    /// Whether there is a transaction of several events, or one that might have been there before.
    gather: bool,
    aborted: usize,
    /// Whether events are handed out before all are there.
    follows: bool,
}

impl Decoder for Plume {
    fn step(&mut self, cursor: &mut Cursor<'_>, builder: &mut Builder) -> Scan<Decoded> {
        let at = match cursor.solid()? {
            None => {
                std::mem::take(self).end(builder);
                return Ok(Decoded::End);
            }
            Some(_) => cursor.at,
        };
        let kind = match (cursor.eat("w")?, cursor.eat("r")?) {
            (true, false) => OpKind::Write,
            (false, true) => OpKind::Read,
            _ => return cursor.unexpected("an event such as `w(1,2,0,7)` or `r(1,2,0,7)`"),
        };
        cursor.expect("(")?;
        let name_at = cursor.at;
        let name = cursor.word(|b| !matches!(b, b',' | b')' | b'\n'))?.trim_ascii();
        if name.is_empty() {
            return cursor.unexpected("a key");
        }
        let value = number(cursor, "a value, a whole number")?;
        cursor.expect(",")?;
        cursor.in_line()?;
        let session_at = cursor.at;
        let session = cursor.word(|b| b.is_ascii_digit())?;
        if session.is_empty() {
            return cursor.unexpected("the number of a session");
        }
        let txn = number(cursor, "the number of a transaction")?;
        cursor.expect(")")?;
        if !matches!(cursor.in_line()?, None | Some(b'\n')) {
            return cursor.unexpected("the end of the line");
        }
        let var = builder.var(name).or_else(|m| fault(name_at, m))?;
        if builder.marks.is_some() {
            let thread = builder.numbered_thread(session).or_else(|m| fault(session_at, m))?;
            let place = cursor.place(at);
            builder.push(place, thread, kind, var, value).or_else(|m| fault(at, m))?;
            if let Some(marks) = &mut builder.marks {
                match txn {
                    -1 => marks.aborted(thread),
                    txn => marks.numbered(thread, txn),
                }
            }
            return Ok(Decoded::Item);
        }
        if txn == -1 {
            self.aborted += 1;
            if kind == OpKind::Write {
                builder.drop_write(var, value);
            }
            return Ok(Decoded::Item);
        }
        let thread = builder.numbered_thread(session).or_else(|m| fault(session_at, m))?;
        let place = cursor.place(at);
        let last = self.last.get(thread as usize).copied().flatten();
        if self.follows && last.is_some_and(|last| last > txn) {
            let message = "transactions of a session out of order, which cannot be followed: they \
                           may go on later";
            return fault(at, message);
        }
        builder.push(place, thread, kind, var, value).or_else(|m| fault(at, m))?;
        if self.last.len() <= thread as usize {
            self.last.resize(thread as usize + 1, None);
        }
        let last = &mut self.last[thread as usize];
        self.gather |= last.is_some_and(|last| last >= txn);
        *last = Some(txn);
        if !self.follows {
            self.txns.push(txn);
        }
        Ok(Decoded::Item)
    }
}

impl Plume {
    /// For events that are handed out before all are there: those of a transaction are read one
    /// after the other, which is less than the file says.
    pub(crate) fn followed() -> Plume {
        Plume { follows: true, ..Plume::default() }
    }

    fn end(self, builder: &mut Builder) {
        let several = if self.gather && !self.follows { builder.gather(&self.txns) } else { 0 };
        Txns { several, dropped: 0 }.note(builder);
        if self.gather && self.follows {
            builder.unchecked.push("atomicity of transactions".into());
        }
        if self.aborted > 0 {
            let (n, it) = (self.aborted, if self.aborted == 1 { "event is" } else { "events are" });
            builder.notes.push(format!("of aborted transactions {n} {it} left out"));
        }
    }
}

/// A number behind a comma.
fn number(cursor: &mut Cursor<'_>, what: &str) -> Scan<i64> {
    cursor.expect(",")?;
    cursor.in_line()?;
    let number = cursor.integer(what)?;
    cursor.in_line()?;
    Ok(number)
}

/// Reads lines such as `w 1 2`.
#[derive(Default)]
pub(crate) struct Awdit {
    session: Option<u32>,
    /// Where the current transaction begins.
    start: usize,
    txns: Txns,
}

impl Decoder for Awdit {
    fn step(&mut self, cursor: &mut Cursor<'_>, builder: &mut Builder) -> Scan<Decoded> {
        builder.writes_first = true;
        let at = match cursor.solid()? {
            None => {
                self.end_txn(builder);
                self.txns.note(builder);
                *self = Awdit::default();
                return Ok(Decoded::End);
            }
            Some(line @ (b'-' | b'=')) => {
                cursor.word(|b| b == line)?;
                if !matches!(cursor.in_line()?, None | Some(b'\n')) {
                    return cursor.unexpected("the end of the line");
                }
                self.end_txn(builder);
                if line == b'=' {
                    self.session = None;
                }
                return Ok(Decoded::Item);
            }
            Some(_) => cursor.at,
        };
        let kind = match cursor.word(|b| b.is_ascii_alphanumeric())? {
            b"w" => OpKind::Write,
            b"r" => OpKind::Read,
            _ => {
                return fault(
                    at,
                    "expected an event such as `w 1 2` or `r 1 2`, `-----` or `=====`",
                );
            }
        };
        cursor.in_line()?;
        let name_at = cursor.at;
        let name = cursor.word(|b| !matches!(b, b' ' | b'\t' | b'\r' | b'\n' | b'-' | b'='))?;
        if name.is_empty() {
            return cursor.unexpected("a key");
        }
        cursor.in_line()?;
        let value = match cursor.next()? {
            Some(b'0'..=b'9') => cursor.integer("a value, a number from 0 on")?,
            _ => return cursor.unexpected("a value, a number from 0 on"),
        };
        if !matches!(cursor.in_line()?, None | Some(b'\n')) {
            return cursor.unexpected("the end of the line");
        }
        let place = cursor.place(at);
        let var = builder.var(name).or_else(|m| fault(name_at, m))?;
        let thread = match self.session {
            Some(thread) => thread,
            None => builder.next_thread().or_else(|m| fault(at, m))?,
        };
        self.session = Some(thread);
        builder.push(place, thread, kind, var, value).or_else(|m| fault(at, m))?;
        Ok(Decoded::Item)
    }
}

impl Awdit {
    fn end_txn(&mut self, builder: &mut Builder) {
        self.txns.end(self.start, true, builder);
        self.start = builder.len();
    }
}
