//! Formats in which every line stands for itself.

use weakspot_core::LogBatch;

use crate::decoded::{Decoded, Places};
use crate::error::{LogError, LogPlace};
use crate::names::Names;
use crate::source::{LONGEST, MARK, Source};

/// Reads line by line.
pub(crate) struct Lines {
    parse: Parse,
    line: u64,
    /// How much of the line that has not arrived as a whole was searched for its end.
    searched: usize,
}

/// Adds the event of a line to the batch.
pub(crate) type Parse = fn(&str, &mut Names, &mut LogBatch) -> Result<Line, Fault>;

/// What a line was.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line without an event.
    Empty,
    /// An event.
    Event,
    /// The beginning of a trace.
    Trace(Option<String>),
}

/// What is wrong with a text, and before which of its bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(at: usize, message: impl Into<String>) -> Fault {
        Fault { at, message: message.into() }
    }
}

impl Lines {
    pub(crate) fn new(parse: Parse) -> Lines {
        Lines { parse, line: 1, searched: 0 }
    }

    /// Where reading goes on.
    pub(crate) fn place(&self) -> LogPlace {
        LogPlace::Line { line: self.line, column: 1 }
    }

    /// Reads one line.
    pub(crate) fn step(
        &mut self,
        source: &mut Source,
        names: &mut Names,
        batch: &mut LogBatch,
        places: &mut Places,
    ) -> Result<Decoded, LogError> {
        let data = source.data();
        let found = data[self.searched..].iter().position(|&b| b == b'\n');
        let length = found.map_or(data.len(), |n| self.searched + n);
        if length > LONGEST {
            return Err(self.error("", Fault::new(0, "a line longer than 1 MiB")));
        }
        if found.is_none() && !source.ended {
            self.searched = length;
            return Ok(Decoded::More);
        }
        if found.is_none() && length == 0 {
            return Ok(Decoded::End);
        }
        let bytes = data[..length].trim_ascii_end();
        let mark = if source.offset() == 0 && bytes.starts_with(MARK) { MARK.len() } else { 0 };
        let line = match std::str::from_utf8(&bytes[mark..]) {
            Ok(line) => line,
            Err(e) => {
                let good = &bytes[mark..mark + e.valid_up_to()];
                let message =
                    format!("not UTF-8 text: a stray byte {:#04x}", bytes[mark + good.len()]);
                let good = String::from_utf8_lossy(good);
                return Err(self.error(&good, Fault::new(good.len(), message)));
            }
        };
        let step = match (self.parse)(line, names, batch) {
            Err(fault) => return Err(self.error(line, fault)),
            Ok(Line::Empty) => Decoded::Done,
            Ok(Line::Trace(id)) => {
                places.trace = Some(self.place());
                Decoded::Trace(id)
            }
            Ok(Line::Event) => {
                places.each.push(self.place());
                Decoded::Done
            }
        };
        source.consume(length + usize::from(found.is_some()));
        self.searched = 0;
        self.line += 1;
        Ok(step)
    }

    fn error(&self, line: &str, fault: Fault) -> LogError {
        let before = line.as_bytes().get(..fault.at).unwrap_or(line.as_bytes());
        // Bytes that do not begin a character do not count.
        let column = 1 + before.iter().filter(|&&b| b & 0xc0 != 0x80).count() as u64;
        LogError::new(LogPlace::Line { line: self.line, column }, fault.message)
    }
}
