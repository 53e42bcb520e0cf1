//! From JSON to events. An object is read when it is there as a whole, so that its members may
//! come in any order. Only a trace longer than a mebibyte is read event by event; then what is
//! said about the trace has to come before its events.

use weakspot_core::LogBatch;

use super::event;
use super::scan::{Cursor, Frame, Token};
use crate::decoded::{Decoded, Places};
use crate::error::{LogError, LogPlace};
use crate::lines::Fault;
use crate::names::Names;
use crate::source::{LONGEST, MARK, Source};

/// Reads object by object.
pub(crate) struct Json {
    state: State,
    frame: Frame,
    line: u64,
    column: u64,
    /// Whether a trace was read; then events outside of traces belong nowhere.
    traced: bool,
}

/// Where in the text reading goes on.
#[derive(Clone, Copy)]
enum State {
    /// Between objects.
    Top,
    /// In the array of a trace, before its first event.
    First(Trace),
    /// Behind a comma in the array.
    Event(Trace),
    /// Behind an event in the array.
    Behind(Trace),
    /// Behind the array, where the trace's object may have more members.
    Tail(Trace),
}

/// A trace that is being read.
#[derive(Clone, Copy)]
struct Trace {
    /// Whether all of it was looked through for its name already.
    whole: bool,
}

/// How much of an object is there.
enum Framed {
    /// All of it, so many bytes.
    Whole(usize),
    /// It is longer than anything but a trace may be.
    Long,
    /// A part of it, and there is no more.
    Cut,
    /// A part of it.
    More,
}

impl Json {
    pub(crate) fn new() -> Json {
        Json { state: State::Top, frame: Frame::default(), line: 1, column: 1, traced: false }
    }

    /// Where reading goes on.
    pub(crate) fn place(&self) -> LogPlace {
        LogPlace::Line { line: self.line, column: self.column }
    }

    /// Reads one object, or one sign between objects.
    pub(crate) fn step(
        &mut self,
        source: &mut Source,
        names: &mut Names,
        batch: &mut LogBatch,
        places: &mut Places,
    ) -> Result<Decoded, LogError> {
        let data = source.data();
        if source.offset() == 0 && MARK.starts_with(data) && !source.ended {
            return Ok(Decoded::More);
        }
        self.skip_blanks(source);
        let Some(&next) = source.data().first() else {
            return match (source.ended, self.state) {
                (false, _) => Ok(Decoded::More),
                (true, State::Top) => Ok(Decoded::End),
                (true, _) => Err(LogError::new(self.place(), "the text ends inside of a trace")),
            };
        };
        match (self.state, next) {
            (State::Top, b'{') => self.top(source, names, batch, places),
            (State::Top, _) => Err(self.refused(source, "`{`")),
            (State::First(trace) | State::Event(trace), b'{') => {
                self.element(trace, source, names, batch, places)
            }
            (State::First(trace) | State::Behind(trace), b']') => {
                self.advance(source, 1);
                self.frame = Frame::inside();
                self.state = State::Tail(trace);
                Ok(Decoded::Done)
            }
            (State::Behind(trace), b',') => {
                self.advance(source, 1);
                self.state = State::Event(trace);
                Ok(Decoded::Done)
            }
            (State::First(_), _) => Err(self.refused(source, "an event or `]`")),
            (State::Event(_), _) => Err(self.refused(source, "an event")),
            (State::Behind(_), _) => Err(self.refused(source, "`,` or `]`")),
            (State::Tail(trace), _) => self.tail(trace, source),
        }
    }

    /// An object that is in no other: an event, or the beginning of a trace.
    fn top(
        &mut self,
        source: &mut Source,
        names: &mut Names,
        batch: &mut LogBatch,
        places: &mut Places,
    ) -> Result<Decoded, LogError> {
        let data = source.data();
        let (text, whole) = match self.framed(source) {
            Framed::More => return Ok(Decoded::More),
            Framed::Whole(length) => (&data[..length], true),
            Framed::Cut => (data, true),
            Framed::Long => (&data[..LONGEST], false),
        };
        let object = event::object(text, whole).map_err(|fault| {
            // Near the end of the part that was looked at, the fault is that there is an end.
            let is_cut = !whole && fault.at + 8 > text.len();
            let message = "an object longer than 1 MiB without `events` in its first MiB";
            self.fault(text, if is_cut { Fault::new(0, message) } else { fault })
        })?;
        if let Some(trace) = object.trace {
            self.traced = true;
            places.trace = Some(self.place());
            self.state = State::First(Trace { whole });
            self.advance(source, trace.events);
            return Ok(Decoded::Trace(trace.id));
        }
        if self.traced {
            let message = "an event behind a trace, and not in it";
            return Err(LogError::new(self.place(), message));
        }
        object.fields.read(names, batch).map_err(|fault| self.fault(text, fault))?;
        places.each.push(self.place());
        let length = text.len();
        self.advance(source, length);
        Ok(Decoded::Done)
    }

    /// An event in the array of a trace.
    fn element(
        &mut self,
        trace: Trace,
        source: &mut Source,
        names: &mut Names,
        batch: &mut LogBatch,
        places: &mut Places,
    ) -> Result<Decoded, LogError> {
        let data = source.data();
        let text = match self.framed(source) {
            Framed::More => return Ok(Decoded::More),
            Framed::Whole(length) => &data[..length],
            Framed::Cut => data,
            Framed::Long => {
                return Err(LogError::new(self.place(), "an event longer than 1 MiB"));
            }
        };
        let read = event::element(text).and_then(|fields| fields.read(names, batch));
        read.map_err(|fault| self.fault(text, fault))?;
        places.each.push(self.place());
        let length = text.len();
        self.advance(source, length);
        self.state = State::Behind(trace);
        Ok(Decoded::Done)
    }

    /// What follows the events of a trace, up to the end of its object.
    fn tail(&mut self, trace: Trace, source: &mut Source) -> Result<Decoded, LogError> {
        let data = source.data();
        let text = match self.framed(source) {
            Framed::More => return Ok(Decoded::More),
            Framed::Whole(length) => &data[..length],
            Framed::Cut => data,
            Framed::Long => {
                let message = "more than 1 MiB behind the events of a trace";
                return Err(LogError::new(self.place(), message));
            }
        };
        check_tail(text, trace).map_err(|fault| self.fault(text, fault))?;
        let length = text.len();
        self.advance(source, length);
        self.state = State::Top;
        Ok(Decoded::Done)
    }

    fn framed(&mut self, source: &Source) -> Framed {
        let data = source.data();
        match self.frame.end(data) {
            Some(length) if length <= LONGEST => Framed::Whole(length),
            Some(_) => Framed::Long,
            None if data.len() > LONGEST => Framed::Long,
            None if source.ended => Framed::Cut,
            None => Framed::More,
        }
    }

    fn skip_blanks(&mut self, source: &mut Source) {
        let data = source.data();
        let mark = if source.offset() == 0 && data.starts_with(MARK) { MARK.len() } else { 0 };
        let is_blank = |b: &u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r');
        let blanks = data[mark..].iter().position(|b| !is_blank(b)).unwrap_or(data.len() - mark);
        if mark + blanks > 0 && !matches!(self.state, State::Tail(_)) {
            self.advance(source, mark + blanks);
        }
    }

    /// Goes on behind the next `n` bytes, where a new object may begin.
    fn advance(&mut self, source: &mut Source, n: usize) {
        let place = self.place_in(&source.data()[..n], n);
        if let LogPlace::Line { line, column } = place {
            (self.line, self.column) = (line, column);
        }
        self.frame = Frame::default();
        source.consume(n);
    }

    /// The place `at` bytes into what comes next.
    fn place_in(&self, text: &[u8], at: usize) -> LogPlace {
        let before = &text[..at.min(text.len())];
        let lines = before.iter().filter(|&&b| b == b'\n').count() as u64;
        let last = before.iter().rposition(|&b| b == b'\n').map_or(before, |n| &before[n + 1..]);
        // Bytes that do not begin a character do not count.
        let characters = last.iter().filter(|&&b| b & 0xc0 != 0x80).count() as u64;
        let column = if lines == 0 { self.column + characters } else { 1 + characters };
        LogPlace::Line { line: self.line + lines, column }
    }

    fn fault(&self, text: &[u8], fault: Fault) -> LogError {
        LogError::new(self.place_in(text, fault.at), fault.message)
    }

    fn refused(&self, source: &Source, expected: &str) -> LogError {
        let fault = Cursor { text: source.data(), at: 0 }.unexpected(expected);
        self.fault(source.data(), fault)
    }
}

fn check_tail(text: &[u8], trace: Trace) -> Result<(), Fault> {
    let mut cursor = Cursor { text, at: 0 };
    while let Some(key) = cursor.key(false)? {
        if key == Token::Text(b"\"events\"") {
            return Err(Fault::new(cursor.at, "`events` is given twice"));
        }
        if key == Token::Text(b"\"id\"") && !trace.whole {
            let message = "in a trace longer than 1 MiB, `id` has to come before `events`";
            return Err(Fault::new(cursor.at, message));
        }
        cursor.value()?;
    }
    Ok(())
}
