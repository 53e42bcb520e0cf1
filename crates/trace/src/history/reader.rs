//! Reading histories, whatever their format.

use std::io::Read;

use weakspot_core::{OpNames, Ops};

use super::build::Builder;
use super::scan::{Cursor, Place, Scan, Stop};
use super::{HistoryFormat, axe, dbcop, dbcop_json, edn, json, plume, text};
use crate::error::LogError;
use crate::source::{LONGEST, MARK, Source};

/// A history that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// What it is called.
    pub id: Option<String>,
    /// What was done.
    pub ops: Ops,
    /// By whom and to what, and which values.
    pub names: OpNames,
    /// Where the file says more than the history does, one sentence each.
    pub notes: Vec<String>,
}

/// Reads histories, one after the other.
pub struct HistoryReader {
    source: Source,
    format: HistoryFormat,
    decoder: Box<dyn Decoder + Send>,
    builder: Builder,
    /// Where `source` goes on.
    place: Place,
    /// Whether the beginning of the text was looked at.
    begun: bool,
    /// The lines of the operations of the last history, if somebody wants them.
    lines: Option<Vec<u32>>,
    ended: Option<Result<(), LogError>>,
}

/// Reads the items of a format.
pub(crate) trait Decoder {
    /// Reads one item. What it did before it stopped is undone by starting again, so it has to
    /// change nothing until it has read all of the item.
    fn step(&mut self, cursor: &mut Cursor<'_>, builder: &mut Builder) -> Scan<Step>;
}

/// What a decoder did.
pub(crate) enum Step {
    /// It read an item.
    Item,
    /// It came to the end of a history.
    History,
    /// It came to the end of the text, where a history may end as well.
    End,
}

impl HistoryReader {
    /// A reader of histories in this format.
    #[must_use]
    pub fn new(source: Box<dyn Read + Send>, format: HistoryFormat) -> HistoryReader {
        HistoryReader::over(Source::new(source), format)
    }

    /// A reader of histories whose format is told by how they begin.
    ///
    /// # Errors
    /// When the beginning cannot be read.
    pub fn sniff(source: Box<dyn Read + Send>) -> Result<HistoryReader, LogError> {
        let mut source = Source::new(source);
        while !source.ended && source.data().len() < LONGEST {
            if HistoryFormat::told(source.data()).is_some() {
                break;
            }
            source.fill().map_err(|e| unread(Place::FIRST, &e))?;
        }
        let format = HistoryFormat::sniff(source.data());
        Ok(HistoryReader::over(source, format))
    }

    fn over(source: Source, format: HistoryFormat) -> HistoryReader {
        let decoder: Box<dyn Decoder + Send> = match format {
            HistoryFormat::Jsonl => Box::new(json::Json::new()),
            HistoryFormat::Text => Box::new(text::Text::default()),
            HistoryFormat::Axe => Box::new(axe::Axe::default()),
            HistoryFormat::Dbcop => Box::new(dbcop::Dbcop::default()),
            HistoryFormat::DbcopJson => Box::new(dbcop_json::DbcopJson::default()),
            HistoryFormat::Plume => Box::new(plume::Plume::default()),
            HistoryFormat::Awdit => Box::new(plume::Awdit::default()),
            HistoryFormat::Edn => Box::new(edn::Edn::default()),
        };
        let builder = Builder::default();
        let place = Place::FIRST;
        HistoryReader {
            source,
            format,
            decoder,
            builder,
            place,
            begun: false,
            lines: None,
            ended: None,
        }
    }

    /// The format that is read.
    #[must_use]
    pub fn format(&self) -> HistoryFormat {
        self.format
    }

    /// Remembers from now on which line each operation stands on, four bytes each, in formats
    /// that have lines.
    pub fn keep_lines(&mut self) {
        let has_lines = !matches!(self.format, HistoryFormat::Jsonl | HistoryFormat::DbcopJson);
        self.lines = has_lines.then(Vec::new);
    }

    /// The lines, from 1, on which the operations of the last history stand; none if nobody wanted
    /// them to be kept.
    #[must_use]
    pub fn lines(&self) -> &[u32] {
        self.lines.as_deref().unwrap_or_default()
    }

    /// Whether there is nothing to read any more: the text has ended, or is such that what follows
    /// cannot be read. After an error in what a history says there may be.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// The next history; `None` when there are no more.
    ///
    /// # Errors
    /// When a history is wrong: the next call goes on behind it. When the text cannot be read any
    /// further: further calls give the same error.
    #[expect(clippy::should_implement_trait, reason = "an iterator would go on after an error")]
    pub fn next(&mut self) -> Result<Option<Recorded>, LogError> {
        if let Some(ended) = &self.ended {
            return ended.clone().map(|()| None);
        }
        match self.read() {
            Ok(true) => {}
            Ok(false) => {
                self.ended = Some(Ok(()));
                return Ok(None);
            }
            Err(error) => {
                self.ended = Some(Err(error.clone()));
                return Err(error);
            }
        }
        std::mem::take(&mut self.builder).finish(self.lines.as_mut()).map(Some)
    }

    /// Reads all of a history; false if there is none.
    fn read(&mut self) -> Result<bool, LogError> {
        if !self.begun {
            while !self.source.ended && MARK.starts_with(self.source.data()) {
                self.source.fill().map_err(|e| unread(self.place, &e))?;
            }
            if self.source.data().starts_with(MARK) {
                self.source.consume(MARK.len());
            }
            self.begun = true;
        }
        loop {
            let mut cursor = Cursor::new(self.source.data(), self.source.ended, self.place);
            let (used, step) = loop {
                let start = cursor.at;
                cursor.begin();
                match self.decoder.step(&mut cursor, &mut self.builder) {
                    Ok(Step::Item) => {}
                    Ok(step) => break (cursor.at, Some(step)),
                    Err(Stop::Fault(fault)) => return Err(cursor.error(*fault)),
                    Err(Stop::More) if cursor.data.len() - start > LONGEST => {
                        let place = cursor.place(start);
                        let message = "an item that goes on for more than 1 MiB";
                        return Err(LogError::new(place.into(), message));
                    }
                    Err(Stop::More) => break (start, None),
                }
            };
            self.place = cursor.place(used);
            self.source.consume(used);
            match step {
                None => self.source.fill().map_err(|e| unread(self.place, &e))?,
                Some(Step::End) if self.builder.is_empty() => return Ok(false),
                Some(_) => return Ok(true),
            }
        }
    }
}

fn unread(place: Place, error: &std::io::Error) -> LogError {
    LogError::new(place.into(), format!("failed to read: {error}"))
}
