//! The objects that stand for events and traces.

use std::borrow::Cow;

use weakspot_core::{Bytes, LogBatch, LogEvent, LogKind, LogValue};

use super::scan::{Cursor, Token, text};
use crate::event::{self, Operand};
use crate::lines::Fault;
use crate::names::Names;

/// An object: a trace, or else an event.
pub(crate) struct Object<'a> {
    pub(crate) fields: Fields<'a>,
    pub(crate) trace: Option<Trace>,
}

/// What is known of a trace before its events are read.
pub(crate) struct Trace {
    pub(crate) id: Option<String>,
    /// Where in the object its first event may begin.
    pub(crate) events: usize,
}

/// The members of an event.
#[derive(Default)]
pub(crate) struct Fields<'a> {
    thread: Field<'a>,
    kind: Field<'a>,
    operand: Field<'a>,
    addr: Field<'a>,
    size: Field<'a>,
    value: Field<'a>,
    old: Field<'a>,
    site: Field<'a>,
    txn: Field<'a>,
    /// Where the object ends.
    end: usize,
}

/// A value and where it begins.
type Field<'a> = Option<(Token<'a>, usize)>;

/// Reads an object that is an event or a trace. If it is not there as a `whole`, reading stops
/// where the events of the trace begin.
pub(crate) fn object(text: &[u8], whole: bool) -> Result<Object<'_>, Fault> {
    let mut cursor = Cursor { text, at: 0 };
    let mut fields = Fields::default();
    let (mut id, mut events) = (None, None);
    cursor.expect(b'{')?;
    let mut first = true;
    while let Some(key) = cursor.key(first)? {
        first = false;
        match key {
            Token::Text(b"\"events\"") => {
                if events.is_some() {
                    return Err(Fault::new(cursor.at, "`events` is given twice"));
                }
                if cursor.peek() != Some(b'[') {
                    return Err(cursor.unexpected("`[`, the events of a trace"));
                }
                events = Some(cursor.at + 1);
                if !whole {
                    break;
                }
                cursor.value()?;
            }
            Token::Text(b"\"id\"") => id = Some(cursor.field()?),
            key => fields.take(key, &mut cursor)?,
        }
    }
    fields.end = cursor.at;
    let Some(events) = events else { return Ok(Object { fields, trace: None }) };
    let id = match id {
        None | Some((Token::Null, _)) => None,
        Some((token, at)) => {
            let id = name(token);
            Some(id.ok_or_else(|| Fault::new(at, "`id` has to be a string or a number"))?)
        }
    };
    let id = id.map(Cow::into_owned);
    Ok(Object { fields, trace: Some(Trace { id, events }) })
}

/// Reads an event in the array of a trace.
pub(crate) fn element(text: &[u8]) -> Result<Fields<'_>, Fault> {
    let mut cursor = Cursor { text, at: 0 };
    let mut fields = Fields::default();
    cursor.expect(b'{')?;
    let mut first = true;
    while let Some(key) = cursor.key(first)? {
        first = false;
        fields.take(key, &mut cursor)?;
    }
    fields.end = cursor.at;
    Ok(fields)
}

impl<'a> Cursor<'a> {
    fn field(&mut self) -> Result<(Token<'a>, usize), Fault> {
        self.peek();
        let at = self.at;
        Ok((self.value()?, at))
    }
}

impl<'a> Fields<'a> {
    /// Keeps the value that follows, if its key is known. `null` is the same as nothing.
    fn take(&mut self, key: Token<'a>, cursor: &mut Cursor<'a>) -> Result<(), Fault> {
        let Token::Text(raw) = key else { return Ok(()) };
        let field = match raw {
            b"\"t\"" => &mut self.thread,
            b"\"k\"" => &mut self.kind,
            b"\"x\"" => &mut self.operand,
            b"\"addr\"" => &mut self.addr,
            b"\"size\"" => &mut self.size,
            b"\"v\"" => &mut self.value,
            b"\"old\"" => &mut self.old,
            b"\"at\"" => &mut self.site,
            b"\"tr\"" => &mut self.txn,
            _ => {
                cursor.value()?;
                return Ok(());
            }
        };
        let (token, at) = cursor.field()?;
        if field.is_some() {
            let key = String::from_utf8_lossy(&raw[1..raw.len() - 1]);
            return Err(Fault::new(at, format!("`{key}` is given twice")));
        }
        *field = (token != Token::Null).then_some((token, at));
        Ok(())
    }

    /// Adds the event to the batch.
    pub(crate) fn read(&self, names: &mut Names, batch: &mut LogBatch) -> Result<(), Fault> {
        let missing = |key: &str| Fault::new(self.end - 1, format!("an event without `{key}`"));
        let thread = thread(self.thread.ok_or_else(|| missing("t"))?, names)?;
        let (token, at) = self.kind.ok_or_else(|| missing("k"))?;
        let Token::Text(raw) = token else {
            return Err(Fault::new(at, "`k` has to be a string"));
        };
        let kind = event::kind_of(&text(raw)).map_err(|m| Fault::new(at, m))?;
        let mut event = LogEvent::new(thread, kind, 0);
        let operand = || {
            let message = format!("`{}` without `x`", kind.word());
            self.operand.ok_or_else(|| Fault::new(self.end - 1, message))
        };
        match event::operand(kind) {
            Operand::None => {
                if let Some((_, at)) = self.operand {
                    return Err(Fault::new(at, format!("`{}` has no `x`", kind.word())));
                }
            }
            Operand::Thread => event.loc = self::thread(operand()?, names)?.into(),
            Operand::Loc => event.loc = self.loc(operand()?, names)?,
        }
        let value = self.values(kind)?;
        event.valued = value.is_some();
        event.site = match self.site {
            None => 0,
            Some((token, at)) => {
                let name = name(token)
                    .ok_or_else(|| Fault::new(at, "`at` has to be a string or a number"))?;
                names.site(&name).map_err(|m| Fault::new(at, m))?
            }
        };
        event.txn = match self.txn {
            None => 0,
            Some((token, at)) => {
                let number = integer(token).and_then(|n: u32| n.checked_add(1));
                let most = u32::MAX - 1;
                number.ok_or_else(|| {
                    Fault::new(at, format!("`tr` has to be a number from 0 to {most}"))
                })?
            }
        };
        batch.events.push(event);
        batch.values.extend(value);
        Ok(())
    }

    /// A name; or an address, if there is a size; or a name with `addr` and `size`.
    fn loc(&self, operand: (Token<'_>, usize), names: &mut Names) -> Result<u32, Fault> {
        let (token, at) = operand;
        let fault = |m: String| Fault::new(at, m);
        let size = match self.size {
            None => None,
            Some((token, at)) => {
                let size = integer(token).filter(|&n: &u32| n > 0);
                let message = "`size` has to be a number of bytes from 1 on, below 2^32";
                Some(size.ok_or_else(|| Fault::new(at, message))?)
            }
        };
        let name = || name(token).ok_or_else(|| fault("`x` has to be a string or a number".into()));
        match (self.addr, size) {
            (None, None) => names.loc(&name()?, None).map_err(fault),
            (Some((_, at)), None) => Err(Fault::new(at, "`addr` without `size`")),
            (None, Some(len)) => {
                let start = address(token).ok_or_else(|| {
                    let message = "`x` has to be an address if there is a `size`: a number of 64 bits, \
                                   or a string such as \"0x1000\"";
                    fault(message.into())
                })?;
                names.nameless(Bytes { start, len }).map_err(fault)
            }
            (Some((addr, at)), Some(len)) => {
                let start = address(addr).ok_or_else(|| {
                    let message =
                        "`addr` has to be a number of 64 bits or a string such as \"0x1000\"";
                    Fault::new(at, message)
                })?;
                names.loc(&name()?, Some(Bytes { start, len })).map_err(fault)
            }
        }
    }

    fn values(&self, kind: LogKind) -> Result<Option<LogValue>, Fault> {
        let number = |key: &str, (token, at): (Token<'_>, usize)| {
            integer(token)
                .ok_or_else(|| Fault::new(at, format!("`{key}` has to be a number of 64 bits")))
        };
        if let Some((_, at)) = self.value.or(self.old).filter(|_| !event::has_value(kind)) {
            return Err(Fault::new(at, format!("`{}` has no value", kind.word())));
        }
        if let Some((_, at)) = self.old.filter(|_| kind != LogKind::Update) {
            return Err(Fault::new(at, format!("`{}` has no old value", kind.word())));
        }
        match (self.value, self.old) {
            (None, None) => Ok(None),
            (None, Some((_, at))) => Err(Fault::new(at, "`old` without `v`")),
            (Some(value), old) => {
                let old = old.map(|old| number("old", old)).transpose()?;
                Ok(Some(LogValue { value: number("v", value)?, old }))
            }
        }
    }
}

/// A thread by its name, or by a number, which stands for `t0`, `t1` and so on.
fn thread((token, at): (Token<'_>, usize), names: &mut Names) -> Result<u16, Fault> {
    let number = match token {
        Token::Text(raw) => names.thread(&text(raw)),
        _ => match integer::<u32>(token) {
            // Most numbers are small, and need no memory.
            Some(number @ 0..10) => {
                let name = [b't', b'0' + number as u8];
                names.thread(std::str::from_utf8(&name).unwrap_or_default())
            }
            Some(number) => names.thread(&format!("t{number}")),
            None => Err("a thread has to be a string or a number from 0 on".into()),
        },
    };
    number.map_err(|m| Fault::new(at, m))
}

fn name(token: Token<'_>) -> Option<Cow<'_, str>> {
    match token {
        Token::Text(raw) => Some(text(raw)),
        Token::Number(raw) => Some(String::from_utf8_lossy(raw)),
        Token::Null | Token::Other => None,
    }
}

fn integer<T: std::str::FromStr>(token: Token<'_>) -> Option<T> {
    let Token::Number(raw) = token else { return None };
    std::str::from_utf8(raw).ok()?.parse().ok()
}

fn address(token: Token<'_>) -> Option<u64> {
    let Token::Text(raw) = token else { return integer(token) };
    let text = text(raw);
    let digits = text.strip_prefix("0x").filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u64::from_str_radix(digits, 16).ok()
}
