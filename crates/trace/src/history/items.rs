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

    /// Reads items until a history ends, or until all that has arrived is used, or until the
    /// builder has this many operations.
    pub(crate) fn advance(&mut self, most: usize) -> Result<Decoded, LogError> {
        if !self.begun {
            if !self.source.ended && MARK.starts_with(self.source.data()) {
                return Ok(Decoded::Item);
            }
            if self.source.data().starts_with(MARK) {
                self.source.consume(MARK.len());
            }
            self.begun = true;
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

/// Whether an error of a source only says that it has nothing for now.
pub(crate) fn is_idle(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

pub(crate) fn unread(place: Place, error: &std::io::Error) -> LogError {
    LogError::new(place.into(), format!("failed to read: {error}"))
}
