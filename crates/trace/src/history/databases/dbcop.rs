//! The text of dbcop: `[x:=1 y==2 z==?]`, where `==?` reads the initial value and a `!` behind the
//! bracket says that the transaction was not committed. Lines of `-` are between sessions.

use weakspot_core::{OpKind, SaidFrom};

use super::txns::Txns;
use crate::history::build::Builder;
use crate::history::decoder::{Decoded, Decoder};
use crate::history::scan::{Cursor, Scan, fault};

/// Reads event by event.
#[derive(Default)]
pub(crate) struct Dbcop {
    session: Option<u32>,
    /// Where the transaction begins that is being read.
    txn: Option<usize>,
    txns: Txns,
}

impl Decoder for Dbcop {
    fn step(&mut self, cursor: &mut Cursor<'_>, builder: &mut Builder) -> Scan<Decoded> {
        builder.writes_first = true;
        let next = cursor.solid()?;
        if let Some(start) = self.txn {
            return self.event(start, next, cursor, builder);
        }
        let at = cursor.at;
        match next {
            None => {
                self.session = None;
                self.txns.note(builder);
                return Ok(Decoded::End);
            }
            Some(b'/') if cursor.eat("//")? => cursor.skip_line()?,
            Some(b'-') => {
                cursor.word(|b| b == b'-')?;
                if !matches!(cursor.in_line()?, None | Some(b'\n')) {
                    return cursor.unexpected("the end of the line");
                }
                // An empty session counts as well.
                if self.session.is_none() {
                    builder.next_thread().or_else(|m| fault(at, m))?;
                }
                self.session = Some(builder.next_thread().or_else(|m| fault(at, m))?);
            }
            Some(b'[') => {
                cursor.at += 1;
                if self.session.is_none() {
                    self.session = Some(builder.next_thread().or_else(|m| fault(at, m))?);
                }
                self.txn = Some(builder.len());
            }
            Some(_) => return cursor.unexpected("a transaction such as `[x:=1 y==2]`, or `---`"),
        }
        Ok(Decoded::Item)
    }
}

impl Dbcop {
    fn event(
        &mut self,
        start: usize,
        next: Option<u8>,
        cursor: &mut Cursor<'_>,
        builder: &mut Builder,
    ) -> Scan<Decoded> {
        let at = cursor.at;
        if next == Some(b']') {
            cursor.at += 1;
            let committed = cursor.next()? != Some(b'!');
            cursor.at += usize::from(!committed);
            self.txns.end(start, committed, builder);
            self.txn = None;
            return Ok(Decoded::Item);
        }
        let name = cursor.word(|b| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80)?;
        if name.is_empty() {
            return cursor.unexpected("an event such as `x:=1`, or `]`");
        }
        let kind = if cursor.eat(":=")? {
            OpKind::Write
        } else if cursor.eat("==")? {
            OpKind::Read
        } else {
            return cursor.unexpected("`:=` or `==`");
        };
        let is_initial = kind == OpKind::Read && cursor.next()? == Some(b'?');
        let value = if is_initial {
            cursor.at += 1;
            0
        } else if cursor.next()? == Some(b'-') {
            return cursor.unexpected("a version, a number from 0 on");
        } else {
            cursor.integer("a version, a number from 0 on")?
        };
        if !matches!(cursor.next()?, None | Some(b' ' | b'\t' | b'\r' | b'\n' | b']')) {
            return cursor.unexpected("a blank or `]`");
        }
        let place = cursor.place(at);
        let var = builder.var(name).or_else(|m| fault(at, m))?;
        let thread = self.session.unwrap_or(0);
        builder.push(place, thread, kind, var, value).or_else(|m| fault(at, m))?;
        if is_initial {
            builder.say_from(place, SaidFrom::Initial);
        }
        Ok(Decoded::Item)
    }
}
