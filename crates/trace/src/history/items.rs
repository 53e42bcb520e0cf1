//! A text, item by item: what readers of whole histories and of single operations share.

use std::io::ErrorKind;

use super::build::Builder;
use super::decoder::{Decoded, Decoder};
use super::scan::{Cursor, Place, Stop};
use crate::error::LogError;
use crate::source::{LONGEST, MARK, Source};

/// A text while it is read.
pub(crate) struct Items {
    source: Source,
    decoder: Box<dyn Decoder + Send>,
    pub(crate) builder: Builder,
    /// Where `source` goes on.
    place: Place,
    /// Whether the beginning of the text was looked at.
    begun: bool,
}

impl Items {
    pub(crate) fn new(source: Source, decoder: Box<dyn Decoder + Send>, builder: Builder) -> Items {
        Items { source, decoder, builder, place: Place::FIRST, begun: false }
    }

    /// A text that stands at this place of another one.
    pub(crate) fn within(self, place: Place) -> Items {
        Items { place, begun: true, ..self }
    }

    /// Lets another decoder read; nothing has been read yet.
    pub(crate) fn decode_with(&mut self, decoder: Box<dyn Decoder + Send>) {
        self.decoder = decoder;
    }

    /// Reads once, and waits if nothing is there.
    pub(crate) fn fill(&mut self) -> Result<(), LogError> {
        self.source.fill().map_err(|e| unread(self.place, &e))
    }

    /// Reads once; false if the source says that it has nothing for now.
    pub(crate) fn fill_if_there(&mut self) -> Result<bool, LogError> {
        match self.source.fill() {
            Ok(()) => Ok(true),
            Err(e) if is_idle(&e) => Ok(false),
            Err(e) => Err(unread(self.place, &e)),
        }
    }

    /// Passes what some editors put before the text; whether enough has arrived to know whether that is there.
    fn begin(&mut self) -> bool {
        if !self.begun {
            if !self.source.ended && MARK.starts_with(self.source.data()) {
                return false;
            }
            if self.source.data().starts_with(MARK) {
                self.source.consume(MARK.len());
            }
            self.begun = true;
        }
        true
    }

    /// Takes the next object of JSON out of the text without a look at what it says, with its place. `None`, and
    /// nothing is taken, if something else comes next, if it has more than `most` bytes, or if `wants` does not want what it
    /// begins with.
    pub(crate) fn cut(
        &mut self,
        most: usize,
        wants: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<(Vec<u8>, Place)>, LogError> {
        while !self.begin() {
            self.fill()?;
        }
        let mut object = Object::default();
        loop {
            let data = self.source.data();
            if let Some(end) = object.end(data) {
                let text = data[object.start..end].to_vec();
                let mut cursor = Cursor::new(data, self.source.ended, self.place);
                let (start, place) = (cursor.place(object.start), cursor.place(end));
                if !wants(&text) {
                    return Ok(None);
                }
                self.place = place;
                self.source.consume(end);
                return Ok(Some((text, start)));
            }
            if object.is_none || self.source.ended || data.len() > most {
                return Ok(None);
            }
            self.fill()?;
        }
    }

    /// Reads items until a history ends, or until all that has arrived is used, or until the
    /// builder has this many operations.
    pub(crate) fn advance(&mut self, most: usize) -> Result<Decoded, LogError> {
        if !self.begin() {
            return Ok(Decoded::Item);
        }
        let mut cursor = Cursor::new(self.source.data(), self.source.ended, self.place);
        let (used, step) = loop {
            let start = cursor.at;
            cursor.begin();
            match self.decoder.step(&mut cursor, &mut self.builder) {
                Ok(Decoded::Item) if self.builder.len() < most => {}
                Ok(step) => break (cursor.at, step),
                Err(Stop::Fault(fault)) => return Err(cursor.error(*fault)),
                Err(Stop::More) if cursor.data.len() - start > LONGEST => {
                    let place = cursor.place(start);
                    let message = "an item that goes on for more than 1 MiB";
                    return Err(LogError::new(place.into(), message));
                }
                Err(Stop::More) => break (start, Decoded::Item),
            }
        };
        self.place = cursor.place(used);
        self.source.consume(used);
        Ok(step)
    }
}

/// An object of JSON while its end is looked for, by its brackets.
#[derive(Default)]
struct Object {
    start: usize,
    /// So far it was looked.
    at: usize,
    depth: usize,
    in_string: bool,
    /// Something else was there.
    is_none: bool,
}

impl Object {
    /// Where it ends, if it does so in a text of which the beginning was seen before.
    fn end(&mut self, data: &[u8]) -> Option<usize> {
        while let Some(&byte) = data.get(self.at) {
            self.at += 1;
            match byte {
                _ if self.in_string => match byte {
                    b'\\' => self.at += 1,
                    b'"' => self.in_string = false,
                    _ => {}
                },
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth > 1 => self.depth -= 1,
                b'}' if self.depth == 1 => return Some(self.at),
                b'"' if self.depth > 0 => self.in_string = true,
                b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c if self.depth == 0 => {
                    self.start = self.at
                }
                _ if self.depth > 0 => {}
                _ => {
                    self.is_none = true;
                    return None;
                }
            }
        }
        None
    }
}

/// Whether an error of a source only says that it has nothing for now.
pub(crate) fn is_idle(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

pub(crate) fn unread(place: Place, error: &std::io::Error) -> LogError {
    LogError::new(place.into(), format!("failed to read: {error}"))
}
