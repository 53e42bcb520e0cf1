//! Reading a log, whatever its format.

use std::io::Read;

use weakspot_core::{LogBatch, LogTables};

use crate::decoded::{Decoded, Places};
use crate::error::{LogError, LogPlace, Torn};
use crate::json::Json;
use crate::lines::Lines;
use crate::names::Names;
use crate::source::Source;
use crate::wslog::Blocks;
use crate::{LogFormat, rapid, text};

/// A batch is handed out when it has this many events, or when nothing more has arrived.
const BATCH: usize = 4096;

/// Reads a log, batch by batch, in bounded memory.
///
/// ```
/// use weakspot_core::{LogBatch, LogKind};
/// use weakspot_trace::{LogFormat, LogReader, Next};
///
/// let text = "t0: wr data = 42\nt0: wr flag = 1\nt1: rd flag = 1\n";
/// let mut reader = LogReader::new(Box::new(text.as_bytes()), LogFormat::Text);
/// let mut batch = LogBatch::default();
/// assert_eq!(reader.next(&mut batch)?, Next::Events);
/// assert_eq!(batch.events.len(), 3);
/// assert_eq!(batch.events[2].kind, LogKind::Read);
/// assert_eq!(reader.tables().locs[1].name, "flag");
/// # Ok::<(), weakspot_trace::LogError>(())
/// ```
pub struct LogReader {
    source: Source,
    names: Names,
    decoder: Decoder,
    places: Places,
    /// What comes after the events that were handed out last.
    next: Option<Result<Next, LogError>>,
}

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Some events, at least one.
    Events,
    /// Here a trace begins that has nothing to do with the events before it: the tables start
    /// afresh. A log that holds one execution and does not name it has no such marks at all.
    Trace(Option<String>),
    /// The log has ended.
    End,
}

enum Decoder {
    Lines(Lines),
    Json(Json),
    Wslog(Blocks),
}

impl LogReader {
    /// A reader of a log in this format.
    #[must_use]
    pub fn new(source: Box<dyn Read + Send>, format: LogFormat) -> LogReader {
        LogReader::over(Source::new(source), format)
    }

    /// A reader of a log whose format is recognised by how it begins.
    ///
    /// # Errors
    /// When the beginning cannot be read.
    pub fn sniff(source: Box<dyn Read + Send>) -> Result<LogReader, LogError> {
        let mut source = Source::new(source);
        while !source.ended
            && source.data().len() < crate::source::LONGEST
            && LogFormat::is_undecided(source.data())
        {
            source.fill().map_err(|e| unread(LogPlace::Offset(source.position()), &e))?;
        }
        let format = LogFormat::sniff(source.data());
        Ok(LogReader::over(source, format))
    }

    fn over(source: Source, format: LogFormat) -> LogReader {
        let decoder = match format {
            LogFormat::Text => Decoder::Lines(Lines::new(text::parse)),
            LogFormat::Std => Decoder::Lines(Lines::new(rapid::parse)),
            LogFormat::Jsonl => Decoder::Json(Json::new()),
            LogFormat::Wslog => Decoder::Wslog(Blocks::new()),
        };
        LogReader {
            source,
            names: Names::default(),
            decoder,
            places: Places::default(),
            next: None,
        }
    }

    /// Clears the batch and fills it with what has arrived; waits if nothing has.
    ///
    /// # Errors
    /// When the log cannot be read any further. All events before the place of the error have
    /// been handed out then, and further calls give the same error.
    pub fn next(&mut self, batch: &mut LogBatch) -> Result<Next, LogError> {
        batch.events.clear();
        batch.values.clear();
        self.places.each.clear();
        self.places.runs.clear();
        let next = match self.next.take() {
            Some(next) => next,
            None => {
                let next = self.advance(batch);
                if !batch.events.is_empty() {
                    self.next = match next {
                        Ok(Next::Events) => None,
                        other => Some(other),
                    };
                    return Ok(Next::Events);
                }
                next
            }
        };
        match &next {
            Ok(Next::Trace(_)) => self.names.clear(),
            Ok(Next::End) | Err(_) => self.next = Some(next.clone()),
            Ok(Next::Events) => {}
        }
        next
    }

    fn advance(&mut self, batch: &mut LogBatch) -> Result<Next, LogError> {
        loop {
            let LogReader { source, names, places, .. } = self;
            let step = match &mut self.decoder {
                Decoder::Lines(lines) => lines.step(source, names, batch, places)?,
                Decoder::Json(json) => json.step(source, names, batch, places)?,
                Decoder::Wslog(blocks) => blocks.step(source, names, batch, places)?,
            };
            match step {
                Decoded::Done if batch.events.len() < BATCH => {}
                Decoded::Done => return Ok(Next::Events),
                Decoded::Trace(id) => return Ok(Next::Trace(id)),
                Decoded::End => return Ok(Next::End),
                Decoded::More if !batch.events.is_empty() => return Ok(Next::Events),
                Decoded::More => {
                    if let Err(error) = self.source.fill() {
                        let place = match &self.decoder {
                            Decoder::Lines(lines) => lines.place(),
                            Decoder::Json(json) => json.place(),
                            Decoder::Wslog(_) => LogPlace::Offset(self.source.position()),
                        };
                        return Err(unread(place, &error));
                    }
                }
            }
        }
    }

    /// The names of what the events that were read are about; they grow while the log is read.
    #[must_use]
    pub fn tables(&self) -> &LogTables {
        &self.names.tables
    }

    /// Whether the end of the log is torn; known when the log has ended.
    #[must_use]
    pub fn torn(&self) -> Option<Torn> {
        match &self.decoder {
            Decoder::Wslog(blocks) => blocks.torn(),
            Decoder::Lines(_) | Decoder::Json(_) => None,
        }
    }

    /// How many bytes were read so far.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.source.position()
    }

    /// Where the event of this number in the last batch stands; after a [`Next::Trace`], where
    /// that begins.
    #[must_use]
    pub fn place(&self, event: usize) -> LogPlace {
        if let Some(&place) = self.places.each.get(event) {
            return place;
        }
        let run = self.places.runs.iter().rev().find(|r| r.first <= event);
        match run {
            Some(run) => LogPlace::Offset(run.offset + (event - run.first) as u64 * run.size),
            None => self.places.trace.unwrap_or(LogPlace::Offset(self.source.offset())),
        }
    }

    /// How many blocks there are, and where the last good one ends.
    pub(crate) fn good_blocks(&self) -> Option<(u64, u64)> {
        match &self.decoder {
            Decoder::Wslog(blocks) => Some(blocks.good()),
            Decoder::Lines(_) | Decoder::Json(_) => None,
        }
    }
}

fn unread(place: LogPlace, error: &std::io::Error) -> LogError {
    LogError::new(place, format!("failed to read: {error}"))
}
