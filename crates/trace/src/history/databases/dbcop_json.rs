//! The JSON of dbcop: `data` is a list of sessions, a session a list of transactions, and each has
//! `events` and says whether it was `committed`. An event is `{"Write":{"variable":0,"version":1}}`,
//! or shorter `["w",0,1]`; a read without version reads the initial value.

use std::borrow::Cow;

use weakspot_core::{OpKind, SaidFrom};

use super::txns::Txns;
use crate::history::build::Builder;
use crate::history::decoder::{Decoded, Decoder};
use crate::history::scan::{Cursor, Place, Scan, fault};
use crate::history::value;

/// Reads member by member and event by event.
#[derive(Default)]
pub(crate) struct DbcopJson {
    state: State,
    /// Whether the sessions are all there is, without an object around them.
    bare: bool,
    /// Whether the sessions were read.
    data: bool,
    txn: Txn,
    txns: Txns,
}

/// Where in the text reading goes on. `first` says whether no comma is needed.
#[derive(Clone, Copy, Default)]
enum State {
    #[default]
    Top,
    Members {
        first: bool,
    },
    Sessions {
        first: bool,
    },
    Txns {
        thread: u32,
        first: bool,
    },
    Txn {
        thread: u32,
        first: bool,
    },
    Events {
        thread: u32,
        first: bool,
    },
}

/// The transaction that is being read.
#[derive(Clone, Copy, Default)]
struct Txn {
    start: usize,
    events: bool,
    committed: Option<bool>,
}

impl Decoder for DbcopJson {
    fn step(&mut self, cursor: &mut Cursor<'_>, builder: &mut Builder) -> Scan<Decoded> {
        builder.writes_first = true;
        match self.state {
            State::Events { thread, first } => {
                if value::element(cursor, first)? {
                    event(thread, cursor, builder)?;
                    self.state = State::Events { thread, first: false };
                } else {
                    self.state = State::Txn { thread, first: false };
                }
            }
            State::Txn { thread, first } => self.txn_member(thread, first, cursor, builder)?,
            State::Txns { thread, first } => {
                if value::element(cursor, first)? {
                    open(cursor, b'{', "`{`, a transaction")?;
                    self.txn = Txn { start: builder.len(), ..Txn::default() };
                    self.state = State::Txn { thread, first: true };
                } else {
                    self.state = State::Sessions { first: false };
                }
            }
            State::Sessions { first } => {
                if value::element(cursor, first)? {
                    let at = cursor.at;
                    open(cursor, b'[', "`[`, the transactions of a session")?;
                    let thread = builder.next_thread().or_else(|m| fault(at, m))?;
                    self.state = State::Txns { thread, first: true };
                } else if self.bare {
                    return Ok(self.end(builder));
                } else {
                    self.state = State::Members { first: false };
                }
            }
            State::Members { first } => {
                let before = cursor.at;
                match value::key(cursor, first)? {
                    None if !self.data => return fault(before, "a history without `data`"),
                    None => return Ok(self.end(builder)),
                    Some(b"\"data\"") if self.data => {
                        return fault(cursor.at, "`data` is given twice");
                    }
                    Some(b"\"data\"") => {
                        open(cursor, b'[', "`[`, the sessions of a history")?;
                        self.data = true;
                        self.state = State::Sessions { first: true };
                    }
                    Some(_) => {
                        value::skip(cursor)?;
                        self.state = State::Members { first: false };
                    }
                }
            }
            State::Top => {
                let next = cursor.solid()?;
                match next {
                    None => return Ok(Decoded::End),
                    Some(b'{') => self.state = State::Members { first: true },
                    Some(b'[') => self.state = State::Sessions { first: true },
                    Some(_) => return cursor.unexpected("`{`, a history"),
                }
                self.bare = next == Some(b'[');
                self.data = false;
                cursor.at += 1;
            }
        }
        Ok(Decoded::Item)
    }
}

impl DbcopJson {
    fn end(&mut self, builder: &mut Builder) -> Decoded {
        self.state = State::Top;
        self.txns.note(builder);
        Decoded::History
    }

    fn txn_member(
        &mut self,
        thread: u32,
        first: bool,
        cursor: &mut Cursor<'_>,
        builder: &mut Builder,
    ) -> Scan<()> {
        let before = cursor.at;
        let Some(key) = value::key(cursor, first)? else {
            let Txn { start, events, committed } = self.txn;
            let Some(committed) = committed.filter(|_| events) else {
                return fault(before, "a transaction without `events` or `committed`");
            };
            self.txns.end(start, committed, builder);
            self.state = State::Txns { thread, first: false };
            return Ok(());
        };
        self.state = match key {
            b"\"events\"" if self.txn.events => {
                return fault(cursor.at, "`events` is given twice");
            }
            b"\"events\"" => {
                open(cursor, b'[', "`[`, the events of a transaction")?;
                self.txn.events = true;
                State::Events { thread, first: true }
            }
            b"\"committed\"" => {
                let committed = cursor.eat("true")?;
                if !committed && !cursor.eat("false")? {
                    return cursor.unexpected("true or false");
                }
                self.txn.committed = Some(committed);
                State::Txn { thread, first: false }
            }
            _ => {
                value::skip(cursor)?;
                State::Txn { thread, first: false }
            }
        };
        Ok(())
    }
}

fn open(cursor: &mut Cursor<'_>, bracket: u8, expected: &str) -> Scan<()> {
    if cursor.next()? != Some(bracket) {
        return cursor.unexpected(expected);
    }
    cursor.at += 1;
    Ok(())
}

fn event(thread: u32, cursor: &mut Cursor<'_>, builder: &mut Builder) -> Scan<()> {
    let at = cursor.at;
    let (kind, name, version) = match cursor.next()? {
        Some(b'{') => tagged(cursor)?,
        Some(b'[') => tuple(cursor)?,
        _ => return cursor.unexpected("an event, {\"Read\":…}, {\"Write\":…} or [\"r\",…]"),
    };
    let place = cursor.place(at);
    push(place, thread, kind, &name, version, builder).or_else(|m| fault(at, m))
}

fn push(
    place: Place,
    thread: u32,
    kind: OpKind,
    name: &[u8],
    version: Option<i64>,
    builder: &mut Builder,
) -> Result<(), String> {
    if kind == OpKind::Write && version.is_none() {
        return Err("a write without version".into());
    }
    let var = builder.var(name)?;
    builder.push(place, thread, kind, var, version.unwrap_or(0))?;
    if version.is_none() {
        builder.say_from(place, SaidFrom::Initial);
    }
    Ok(())
}

type Event<'a> = (OpKind, Cow<'a, [u8]>, Option<i64>);

fn tagged<'a>(cursor: &mut Cursor<'a>) -> Scan<Event<'a>> {
    cursor.at += 1;
    let at = cursor.at;
    let kind = match value::key(cursor, true)? {
        Some(b"\"Read\"") => OpKind::Read,
        Some(b"\"Write\"") => OpKind::Write,
        _ => return fault(at, "expected \"Read\" or \"Write\""),
    };
    open(cursor, b'{', "`{`, a variable and a version")?;
    let (mut variable, mut version, mut first) = (None, None, true);
    while let Some(key) = value::key(cursor, first)? {
        first = false;
        match key {
            b"\"variable\"" => variable = Some(value::name(cursor, "a variable")?),
            b"\"version\"" => version = self::version(cursor)?,
            _ => value::skip(cursor)?,
        }
    }
    let Some(variable) = variable else {
        return fault(cursor.at - 1, "an event without `variable`");
    };
    cursor.expect("}")?;
    Ok((kind, variable, version))
}

fn tuple<'a>(cursor: &mut Cursor<'a>) -> Scan<Event<'a>> {
    cursor.at += 1;
    cursor.solid()?;
    let kind = if cursor.eat("\"r\"")? {
        OpKind::Read
    } else if cursor.eat("\"w\"")? {
        OpKind::Write
    } else {
        return cursor.unexpected("\"r\" or \"w\"");
    };
    cursor.expect(",")?;
    cursor.solid()?;
    let variable = value::name(cursor, "a variable")?;
    cursor.expect(",")?;
    cursor.solid()?;
    let version = version(cursor)?;
    cursor.expect("]")?;
    Ok((kind, variable, version))
}

fn version(cursor: &mut Cursor<'_>) -> Scan<Option<i64>> {
    if cursor.eat("null")? {
        return Ok(None);
    }
    cursor.integer("a version, a whole number of 64 bits, or null").map(Some)
}
