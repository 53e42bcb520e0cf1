//! Reading histories, whatever their format.

use std::io::Read;

use super::build::{Builder, OpenRead, Recorded};
use super::databases::transactions::RecordedTxns;
use super::databases::{dbcop, dbcop_json, edn, elle, plume};
use super::decoder::{Decoded, Decoder};
use super::items::{Items, unread};
use super::scan::Place;
use super::{Columns, HistoryFormat, axe, csv, json, text};
use crate::error::{LogError, UnwrittenRead};
use crate::source::{LONGEST, Source};

/// The text of a history, which [nobody has read](HistoryReader::cut).
pub struct Cut {
    text: Vec<u8>,
    place: Place,
}

impl Cut {
    /// So many bytes it has at most: longer ones are read as they come.
    const LONGEST: usize = LONGEST / 4;

    /// A reader of this history and no other.
    #[must_use]
    pub fn reader(self) -> HistoryReader {
        let mut reader = HistoryReader::over(Source::whole(self.text), HistoryFormat::Jsonl);
        reader.items = reader.items.within(self.place);
        reader.items.decode_with(Box::new(json::Json::behind_others()));
        reader
    }
}

/// Reads histories, one after the other.
pub struct HistoryReader {
    items: Items,
    format: HistoryFormat,
    /// The lines of the operations of the last history, if somebody wants them.
    lines: Option<Vec<u32>>,
    /// The reads of the last history of which it is open what they read, if somebody wants them.
    open: Option<Vec<OpenRead>>,
    ended: Option<Result<(), LogError>>,
    unwritten: Option<Box<UnwrittenRead>>,
}

impl HistoryReader {
    /// A reader of histories in this format.
    #[must_use]
    pub fn new(source: Box<dyn Read + Send>, format: HistoryFormat) -> HistoryReader {
        HistoryReader::over(Source::new(source), format)
    }

    /// A reader of histories whose format is detect by how they begin.
    ///
    /// # Errors
    /// When the beginning cannot be read.
    pub fn sniff(source: Box<dyn Read + Send>) -> Result<HistoryReader, LogError> {
        let mut source = Source::new(source);
        while !source.ended && source.data().len() < LONGEST {
            if HistoryFormat::detect(source.data()).is_some() {
                break;
            }
            source.fill().map_err(|e| unread(Place::FIRST, &e))?;
        }
        let format = HistoryFormat::sniff(source.data());
        Ok(HistoryReader::over(source, format))
    }

    fn over(source: Source, format: HistoryFormat) -> HistoryReader {
        let items = Items::new(source, decoder(format), Builder::default());
        HistoryReader { items, format, lines: None, open: None, ended: None, unwritten: None }
    }

    /// A reader of a log whose lines have these columns.
    #[must_use]
    pub fn columns(source: Box<dyn Read + Send>, columns: Columns) -> HistoryReader {
        let decoder = Box::new(csv::Csv::with_columns(Some(columns)));
        let items = Items::new(Source::new(source), decoder, Builder::default());
        HistoryReader {
            items,
            format: HistoryFormat::Csv,
            lines: None,
            open: None,
            ended: None,
            unwritten: None,
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

    /// From now on, a read of a value that was written more than once is no error as long as there are few ways to
    /// choose which write it was: see [`open_reads`](HistoryReader::open_reads).
    pub fn leave_open(&mut self) {
        self.open = Some(Vec::new());
    }

    /// The reads of the last history of which it is open what they read. The history has the first choice for each.
    #[must_use]
    pub fn open_reads(&self) -> &[OpenRead] {
        self.open.as_deref().unwrap_or_default()
    }

    /// Whether there is nothing to read any more: the text has ended, or is such that what follows
    /// cannot be read. After an error in what a history says there may be.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// The read of a value that nobody wrote because of which the last history was wrong.
    #[must_use]
    pub fn unwritten(&self) -> Option<&UnwrittenRead> {
        self.unwritten.as_deref()
    }

    /// The text of the next history, for somebody else to read it; `None` if [`next`](HistoryReader::next) has to
    /// be asked, such as for histories that are long, or in formats other than our JSON.
    ///
    /// # Errors
    /// When the text cannot be read any further.
    pub fn cut(&mut self) -> Result<Option<Cut>, LogError> {
        if self.format != HistoryFormat::Jsonl || self.ended.is_some() {
            return Ok(None);
        }
        let cut = self.items.cut(Cut::LONGEST, |text| !json::is_operation(text));
        let cut = cut.inspect_err(|error| self.ended = Some(Err(error.clone())))?;
        Ok(cut.map(|(text, place)| {
            self.items.decode_with(Box::new(json::Json::behind_others()));
            Cut { text, place }
        }))
    }

    /// The next history; `None` when there are no more.
    ///
    /// # Errors
    /// When a history is wrong: the next call goes on behind it. When the text cannot be read any
    /// further: further calls give the same error.
    #[expect(clippy::should_implement_trait, reason = "an iterator would go on after an error")]
    pub fn next(&mut self) -> Result<Option<Recorded>, LogError> {
        self.unwritten = None;
        if !self.read_next()? {
            return Ok(None);
        }
        let builder = std::mem::take(&mut self.items.builder);
        let history = builder.finish(self.lines.as_mut(), self.open.as_mut());
        history.map(Some).map_err(|wrong| {
            self.unwritten = wrong.unwritten;
            wrong.error
        })
    }

    /// Reads all of the next history; false if there is none. Remembers how reading ended.
    fn read_next(&mut self) -> Result<bool, LogError> {
        if let Some(ended) = &self.ended {
            return ended.clone().map(|()| false);
        }
        let read = self.read();
        match &read {
            Ok(true) => {}
            Ok(false) => self.ended = Some(Ok(())),
            Err(error) => self.ended = Some(Err(error.clone())),
        }
        read
    }

    /// Reads histories of transactions from now on, of a format that
    /// [has them](HistoryFormat::has_transactions); nothing has been read yet.
    pub fn keep_transactions(&mut self) {
        self.items.builder = Builder::of_txns();
        if self.format == HistoryFormat::Edn {
            self.items.decode_with(Box::new(elle::Elle::default()));
        }
    }

    /// The next history of transactions; `None` when there are no more.
    ///
    /// # Errors
    /// As [`next`](HistoryReader::next).
    pub fn next_transactions(&mut self) -> Result<Option<RecordedTxns>, LogError> {
        match self.read_next()? {
            false => Ok(None),
            true => std::mem::replace(&mut self.items.builder, Builder::of_txns())
                .finish_txns()
                .map(Some),
        }
    }

    /// Reads all of a history; false if there is none.
    fn read(&mut self) -> Result<bool, LogError> {
        loop {
            match self.items.advance(usize::MAX)? {
                Decoded::Item => self.items.fill()?,
                Decoded::End if self.items.builder.is_empty() => return Ok(false),
                Decoded::End | Decoded::History => return Ok(true),
            }
        }
    }
}

/// What reads whole histories of this format.
fn decoder(format: HistoryFormat) -> Box<dyn Decoder + Send> {
    match format {
        HistoryFormat::Jsonl => Box::new(json::Json::new()),
        HistoryFormat::Text => Box::new(text::Text::default()),
        HistoryFormat::Axe => Box::new(axe::Axe::default()),
        HistoryFormat::Dbcop => Box::new(dbcop::Dbcop::default()),
        HistoryFormat::DbcopJson => Box::new(dbcop_json::DbcopJson::default()),
        HistoryFormat::Plume => Box::new(plume::Plume::default()),
        HistoryFormat::Awdit => Box::new(plume::Awdit::default()),
        HistoryFormat::Edn => Box::new(edn::Edn::default()),
        HistoryFormat::Csv => Box::new(csv::Csv::default()),
    }
}
