//! Our own JSON: an object per history, with an array of operations per thread in `threads`. An
//! object may be of any length, so it is read operation by operation.

use std::borrow::Cow;

use weakspot_core::{OpKind, SaidFrom, Times};

use super::build::Builder;
use super::decoder::{Decoded, Decoder};
use super::scan::{Cursor, Scan, Stop, fault};
use super::value;

/// Reads member by member, and in `threads` operation by operation.
pub(crate) struct Json {
    state: State,
    /// Which members were read.
    id: bool,
    init: bool,
    threads: bool,
    /// Whether a history in one object was there.
    whole: bool,
}

/// Where in the text reading goes on. `first` says whether no comma is needed.
#[derive(Clone, Copy)]
enum State {
    Top,
    Members {
        first: bool,
    },
    Init {
        first: bool,
    },
    Threads {
        first: bool,
    },
    History {
        thread: u32,
        first: bool,
    },
    /// Operations that are objects of their own, all of one history.
    Single,
}

impl Json {
    pub(crate) fn new() -> Json {
        Json { state: State::Top, id: false, init: false, threads: false, whole: false }
    }

    /// The same behind histories in one object each.
    pub(crate) fn behind_others() -> Json {
        Json { whole: true, ..Json::new() }
    }
}

impl Decoder for Json {
    fn step(&mut self, cursor: &mut Cursor<'_>, builder: &mut Builder) -> Scan<Decoded> {
        match self.state {
            State::History { thread, first } => {
                if value::element(cursor, first)? {
                    operation(Some(thread), cursor, builder)?;
                    self.state = State::History { thread, first: false };
                } else {
                    self.state = State::Threads { first: false };
                }
            }
            State::Threads { first } => {
                if value::element(cursor, first)? {
                    let at = cursor.at;
                    if cursor.next()? != Some(b'[') {
                        return cursor.unexpected("`[`, the operations of a thread");
                    }
                    cursor.at += 1;
                    let thread = builder.next_thread().or_else(|m| fault(at, m))?;
                    self.state = State::History { thread, first: true };
                } else {
                    self.state = State::Members { first: false };
                }
            }
            State::Init { first } => match value::key(cursor, first)? {
                Some(key) => {
                    let at = cursor.at;
                    let value = integer(cursor)?;
                    let name = text(key, at)?;
                    builder.say_initial(&name, value).or_else(|m| fault(at, m))?;
                    self.state = State::Init { first: false };
                }
                None => self.state = State::Members { first: false },
            },
            State::Members { first } => return self.member(first, cursor, builder),
            State::Single => return JsonOps.step(cursor, builder),
            State::Top => match cursor.solid()? {
                None => return Ok(Decoded::End),
                Some(b'{') => {
                    let start = cursor.at;
                    cursor.at += 1;
                    // An object that begins with a thread is an operation of a log.
                    let first = value::key(cursor, true)?;
                    if first == Some(b"\"t\"") && !self.whole {
                        cursor.at = start;
                        self.state = State::Single;
                        return Ok(Decoded::Item);
                    }
                    cursor.at = start + 1;
                    *self = Json { state: State::Members { first: true }, ..Json::behind_others() };
                }
                Some(_) => return cursor.unexpected("`{`, a history"),
            },
        }
        Ok(Decoded::Item)
    }
}

impl Json {
    fn member(
        &mut self,
        first: bool,
        cursor: &mut Cursor<'_>,
        builder: &mut Builder,
    ) -> Scan<Decoded> {
        let before = cursor.at;
        let Some(key) = value::key(cursor, first)? else {
            if !self.threads {
                let message = "a history without `threads`; a line with a single operation \
                               begins with its thread, as in {\"t\":0,\"kind\":\"w\",…}";
                return fault(before, message);
            }
            self.state = State::Top;
            return Ok(Decoded::History);
        };
        let at = cursor.at;
        let twice = match key {
            b"\"threads\"" => Some(&mut self.threads),
            b"\"init\"" => Some(&mut self.init),
            b"\"id\"" => Some(&mut self.id),
            _ => None,
        };
        if let Some(true) = twice {
            return fault(at, format!("{} is given twice", String::from_utf8_lossy(key)));
        }
        let mut next = State::Members { first: false };
        match key {
            b"\"threads\"" => {
                if cursor.next()? != Some(b'[') {
                    return cursor.unexpected("`[`, the threads of a history");
                }
                cursor.at += 1;
                next = State::Threads { first: true };
            }
            b"\"init\"" if !cursor.eat("null")? => {
                if cursor.next()? != Some(b'{') {
                    return cursor.unexpected("`{`, initial values of variables");
                }
                cursor.at += 1;
                next = State::Init { first: true };
            }
            b"\"id\"" if !cursor.eat("null")? => {
                let id = value::name(cursor, "a string or a number")?;
                match String::from_utf8(id.into_owned()) {
                    Ok(id) => builder.id = Some(id),
                    Err(_) => return fault(at, "bytes that are not UTF-8 text in the `id`"),
                }
            }
            b"\"init\"" | b"\"id\"" => {}
            _ => value::skip(cursor)?,
        }
        if let Some(twice) = twice {
            *twice = true;
        }
        self.state = next;
        Ok(Decoded::Item)
    }
}

/// Whether an object is an operation of a log, which begins with its thread.
pub(crate) fn is_operation(object: &[u8]) -> bool {
    let members = object.strip_prefix(b"{").unwrap_or(object);
    members.trim_ascii_start().starts_with(b"\"t\"")
}

/// A number, or a hexadecimal one in quotes.
#[inline]
fn integer(cursor: &mut Cursor<'_>) -> Scan<i64> {
    const NUMBER: &str = "a whole number of 64 bits";
    if cursor.next()? != Some(b'"') {
        return cursor.integer(NUMBER);
    }
    let start = cursor.at;
    let text = cursor.string()?;
    let end = cursor.at;
    if !matches!(text, [b'"', b'0', b'x' | b'X', ..] | [b'"', b'-', b'0', b'x' | b'X', ..]) {
        cursor.at = start;
        return cursor.unexpected(NUMBER);
    }
    cursor.at = start + 1;
    let value = cursor.integer(NUMBER)?;
    if cursor.at + 1 != end {
        return cursor.unexpected("the end of the number");
    }
    cursor.at = end;
    Ok(value)
}

/// The characters of a key.
fn text(raw: &[u8], at: usize) -> Scan<String> {
    let bytes = crate::json::unquoted(raw).into_owned();
    String::from_utf8(bytes).or_else(|_| fault(at, "bytes that are not UTF-8 text in a key"))
}

/// Reads operations that are objects of their own, each with its thread in `t`.
pub(crate) struct JsonOps;

impl Decoder for JsonOps {
    fn step(&mut self, cursor: &mut Cursor<'_>, builder: &mut Builder) -> Scan<Decoded> {
        if cursor.solid()?.is_none() {
            return Ok(Decoded::End);
        }
        operation(None, cursor, builder)?;
        Ok(Decoded::Item)
    }
}

/// The members of an operation, with where their values are.
#[derive(Default)]
struct Members<'a> {
    thread: Option<(Thread<'a>, usize)>,
    kind: Option<OpKind>,
    var: Option<(Cow<'a, [u8]>, usize)>,
    val: Option<(i64, usize)>,
    old: Option<(i64, usize)>,
    new: Option<(i64, usize)>,
    from: Option<(SaidFrom, usize)>,
    start: Option<(i64, usize)>,
    end: Option<(i64, usize)>,
}

/// The thread of an operation that stands alone.
enum Thread<'a> {
    Named(Cow<'a, [u8]>),
    Numbered(&'a [u8]),
}

/// Reads an operation of this thread, or one that names its thread itself.
fn operation(thread: Option<u32>, cursor: &mut Cursor<'_>, builder: &mut Builder) -> Scan<()> {
    let start = cursor.at;
    if cursor.next()? != Some(b'{') {
        return cursor.unexpected("an operation such as {\"kind\":\"w\",\"var\":\"x\",\"val\":1}");
    }
    cursor.at += 1;
    let mut members = Members::default();
    let mut first = true;
    while let Some(key) = value::key(cursor, first)? {
        first = false;
        match key {
            b"\"t\"" if thread.is_none() => members.take_thread(cursor)?,
            b"\"threads\"" if thread.is_none() => {
                let message = "a whole history in one object, which cannot be followed: expected \
                               one operation, {\"t\":0,\"kind\":\"w\",\"var\":\"x\",\"val\":1}";
                return fault(start, message);
            }
            _ => members.take(key, cursor)?,
        }
    }
    let end = cursor.at - 1;
    let times = members.times();
    let Members { thread: said, kind, var, val, old, new, mut from, .. } = members;
    let Some(kind) = kind else { return fault(end, "an operation without `kind`") };
    let missing = |key: &str| -> Stop {
        match fault::<()>(end, format!("an operation without `{key}`")) {
            Err(stop) => stop,
            Ok(()) => Stop::More,
        }
    };
    let refuse = |what: Option<usize>, key: &str| match what {
        Some(at) => {
            let kind = ["a read", "a write", "an update", "a fence"][kind as usize];
            fault(at, format!("{kind} has no `{key}`"))
        }
        None => Ok(()),
    };
    let place = cursor.place(start);
    let thread = match (thread, said) {
        (Some(thread), _) => thread,
        (None, None) => return Err(missing("t")),
        (None, Some((said, at))) => {
            if let Some((SaidFrom::Op(thread, _), at)) = &mut from {
                let digits = thread.to_string();
                *thread = builder.numbered_thread(digits.as_bytes()).or_else(|m| fault(*at, m))?;
            }
            let thread = match said {
                Thread::Named(name) => builder.thread(&name),
                Thread::Numbered(digits) => builder.numbered_thread(digits),
            };
            thread.or_else(|m| fault(at, m))?
        }
    };
    if kind == OpKind::Fence {
        refuse(var.map(|v| v.1), "var")?;
        refuse(val.map(|v| v.1), "val")?;
        refuse(old.map(|v| v.1), "old")?;
        refuse(new.map(|v| v.1), "new")?;
        refuse(from.map(|v| v.1), "from")?;
        builder.push(place, thread, kind, 0, 0).or_else(|m| fault(start, m))?;
        return say_times(times, thread, builder);
    }
    let (var, at) = var.ok_or_else(|| missing("var"))?;
    let var = builder.var(&var).or_else(|m| fault(at, m))?;
    let pushed = if kind == OpKind::Update {
        refuse(val.map(|v| v.1), "val")?;
        let (old, _) = old.ok_or_else(|| missing("old"))?;
        let (new, _) = new.ok_or_else(|| missing("new"))?;
        builder.push_update(place, thread, var, old, new)
    } else {
        refuse(old.map(|v| v.1), "old")?;
        refuse(new.map(|v| v.1), "new")?;
        let (val, _) = val.ok_or_else(|| missing("val"))?;
        if kind == OpKind::Write {
            refuse(from.map(|v| v.1), "from")?;
        }
        builder.push(place, thread, kind, var, val)
    };
    pushed.or_else(|m| fault(start, m))?;
    if let Some((source, at)) = from {
        let place = cursor.place(at);
        builder.say_from(place, source);
    }
    say_times(times, thread, builder)
}

/// Keeps the times of the last operation.
fn say_times(times: Option<(Times, usize)>, thread: u32, builder: &mut Builder) -> Scan<()> {
    match times {
        Some((times, at)) => builder.say_times(thread, times).or_else(|m| fault(at, m)),
        None => Ok(()),
    }
}

impl<'a> Members<'a> {
    /// When the operation began and ended, and where that is said.
    fn times(&self) -> Option<(Times, usize)> {
        let at = self.start.or(self.end)?.1;
        let start = self.start.map_or(i64::MIN, |start| start.0);
        let end = self.end.map_or(i64::MAX, |end| end.0);
        Some((Times { start, end }, at))
    }

    /// Keeps the thread that follows.
    fn take_thread(&mut self, cursor: &mut Cursor<'a>) -> Scan<()> {
        let at = cursor.at;
        let thread = match cursor.next()? {
            Some(b'0'..=b'9') => Thread::Numbered(cursor.word(|b| b.is_ascii_digit())?),
            _ => Thread::Named(value::name(cursor, "a thread, a string or a number")?),
        };
        if self.thread.replace((thread, at)).is_some() {
            return fault(at, "\"t\" is given twice");
        }
        Ok(())
    }

    /// Keeps the value that follows, if its key is known. `null` is the same as nothing.
    #[inline]
    fn take(&mut self, key: &[u8], cursor: &mut Cursor<'a>) -> Scan<()> {
        let at = cursor.at;
        let is_known = matches!(
            key,
            b"\"kind\""
                | b"\"var\""
                | b"\"val\""
                | b"\"old\""
                | b"\"new\""
                | b"\"from\""
                | b"\"start\""
                | b"\"end\""
        );
        if !is_known {
            return value::skip(cursor);
        }
        if cursor.next()? == Some(b'n') && cursor.eat("null")? {
            return Ok(());
        }
        let mut integer = || Ok(Some((integer(cursor)?, at)));
        let is_first = match key {
            b"\"kind\"" => self.kind.replace(kind(cursor)?).is_none(),
            b"\"var\"" => {
                let name = value::name(cursor, "a variable, a string or a number")?;
                self.var.replace((name, at)).is_none()
            }
            b"\"from\"" => self.from.replace((from(cursor)?, at)).is_none(),
            b"\"val\"" => std::mem::replace(&mut self.val, integer()?).is_none(),
            b"\"start\"" => std::mem::replace(&mut self.start, integer()?).is_none(),
            b"\"end\"" => std::mem::replace(&mut self.end, integer()?).is_none(),
            b"\"old\"" => std::mem::replace(&mut self.old, integer()?).is_none(),
            _ => std::mem::replace(&mut self.new, integer()?).is_none(),
        };
        if !is_first {
            return fault(at, format!("{} is given twice", String::from_utf8_lossy(key)));
        }
        Ok(())
    }
}

#[inline]
fn kind(cursor: &mut Cursor<'_>) -> Scan<OpKind> {
    let at = cursor.at;
    if cursor.next()? != Some(b'"') {
        return cursor.unexpected("a string, \"r\", \"w\", \"u\" or \"f\"");
    }
    match cursor.string()? {
        b"\"r\"" | b"\"rd\"" => Ok(OpKind::Read),
        b"\"w\"" | b"\"wr\"" => Ok(OpKind::Write),
        b"\"u\"" | b"\"upd\"" => Ok(OpKind::Update),
        b"\"f\"" | b"\"fence\"" => Ok(OpKind::Fence),
        other => {
            let other = String::from_utf8_lossy(other);
            fault(at, format!("expected \"r\", \"w\", \"u\" or \"f\", found {other}"))
        }
    }
}

/// `[thread, index]`, or `"init"`.
fn from(cursor: &mut Cursor<'_>) -> Scan<SaidFrom> {
    let expected = "[thread, index], two numbers from 0 on, or \"init\"";
    let at = cursor.at;
    if cursor.eat("\"init\"")? {
        return Ok(SaidFrom::Initial);
    }
    if cursor.next()? != Some(b'[') {
        return cursor.unexpected(expected);
    }
    cursor.at += 1;
    cursor.solid()?;
    let thread = cursor.integer("the number of a thread")?;
    cursor.expect(",")?;
    cursor.solid()?;
    let index = cursor.integer("the number of an operation of that thread")?;
    cursor.expect("]")?;
    match (u32::try_from(thread), u32::try_from(index)) {
        (Ok(thread), Ok(index)) => Ok(SaidFrom::Op(thread, index)),
        _ => fault(at, format!("expected {expected}")),
    }
}
