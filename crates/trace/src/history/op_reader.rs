//! Reading single operations from a history that is still being written. Formats that show one
//! thread after the other, or whose transactions may turn out to have failed, cannot be followed.

use std::io::Read;

use weakspot_core::{LoggedOp, OpNames};

use super::build::Builder;
use super::databases::plume;
use super::decoder::{Decoded, Decoder};
use super::items::{Items, is_idle, unread};
use super::scan::Place;
use super::{Columns, HistoryFormat, axe, csv, json, text};
use crate::error::LogError;
use crate::source::{LONGEST, Source};

/// Reads operations, in memory that does not grow with their number: only names are kept.
pub struct OpReader {
    /// The text before its format is known.
    source: Option<Source>,
    format: Option<HistoryFormat>,
    items: Option<Items>,
    names: OpNames,
    /// Whether the history has ended, which is still to be said.
    parting: bool,
    /// Whether that was said, so that everything about it is to be forgotten.
    parted: bool,
    failed: Option<LogError>,
    /// What is said about the columns of a log.
    columns: Option<Columns>,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextOps {
    /// Operations.
    Batch,
    /// Nothing for now: the source said that it would block, or that it timed out.
    Idle,
    /// The history is over, and what may follow is about another one: from the next call on, names
    /// start afresh.
    History,
    /// The text is over.
    End,
}

/// So many operations are handed out at a time, at most.
const MOST: usize = 1 << 13;

impl OpReader {
    /// A reader of operations in this format, or in the one that the beginning looks like.
    #[must_use]
    pub fn new(source: Box<dyn Read + Send>, format: Option<HistoryFormat>) -> OpReader {
        let (source, names) = (Some(Source::new(source)), OpNames::default());
        let (parting, parted, failed, columns) = (false, false, None, None);
        OpReader { source, format, items: None, names, parting, parted, failed, columns }
    }

    /// Says what the columns of a log are.
    pub fn set_columns(&mut self, columns: Columns) {
        self.format = Some(HistoryFormat::Csv);
        self.columns = Some(columns);
    }

    /// The threads and variables so far, and the initial values of these. There are no values of
    /// operations here.
    #[must_use]
    pub fn names(&self) -> &OpNames {
        &self.names
    }

    /// What the current history is called.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.items.as_ref().and_then(|items| items.builder.id.as_deref())
    }

    /// What a history that has just ended says and no model asks about, a few words each.
    #[must_use]
    pub fn unchecked(&self) -> &[String] {
        self.items.as_ref().map_or(&[], |items| &items.builder.unchecked)
    }

    /// Waits for operations, and puts those that are there behind the ones in `ops`.
    ///
    /// # Errors
    /// When the text cannot be read any further, or the format cannot be followed. Further calls
    /// give the same error.
    pub fn next(&mut self, ops: &mut Vec<LoggedOp>) -> Result<NextOps, LogError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let next = self.read(ops);
        if let Err(error) = &next {
            self.failed = Some(error.clone());
        }
        next
    }

    fn read(&mut self, ops: &mut Vec<LoggedOp>) -> Result<NextOps, LogError> {
        if self.items.is_none() && !self.begin()? {
            return Ok(NextOps::Idle);
        }
        let Some(items) = &mut self.items else { return Ok(NextOps::End) };
        if std::mem::take(&mut self.parted) {
            items.builder = Builder::following();
            self.names = OpNames::default();
        }
        loop {
            if std::mem::take(&mut self.parting) {
                self.parted = true;
                return Ok(NextOps::History);
            }
            let step = items.advance(MOST)?;
            self.parting = step == Decoded::History;
            items.builder.learn_names(&mut self.names);
            if items.builder.take_ops(ops) {
                return Ok(NextOps::Batch);
            }
            match step {
                Decoded::History => {}
                Decoded::End => return Ok(NextOps::End),
                Decoded::Item if items.fill_if_there()? => {}
                Decoded::Item => return Ok(NextOps::Idle),
            }
        }
    }

    /// Finds out the format; false if too little has arrived.
    fn begin(&mut self) -> Result<bool, LogError> {
        let Some(source) = &mut self.source else { return Ok(true) };
        let format = loop {
            if let Some(format) = self.format.or_else(|| detect(source)) {
                break format;
            }
            match source.fill() {
                Ok(()) => {}
                Err(e) if is_idle(&e) => return Ok(false),
                Err(e) => return Err(unread(Place::FIRST, &e)),
            }
        };
        let decoder = decoder(format, self.columns.take())?;
        let builder = Builder::following();
        self.items = self.source.take().map(|source| Items::new(source, decoder, builder));
        Ok(true)
    }
}

fn detect(source: &Source) -> Option<HistoryFormat> {
    match HistoryFormat::detect(source.data()) {
        None if source.ended || source.data().len() >= LONGEST => {
            Some(HistoryFormat::sniff(source.data()))
        }
        detect => detect,
    }
}

/// What reads the operations of this format one by one.
fn decoder(
    format: HistoryFormat,
    columns: Option<Columns>,
) -> Result<Box<dyn Decoder + Send>, LogError> {
    Ok(match format {
        HistoryFormat::Text => Box::new(text::Text::default()),
        HistoryFormat::Axe => Box::new(axe::Axe::default()),
        HistoryFormat::Plume => Box::new(plume::Plume::followed()),
        HistoryFormat::Jsonl => Box::new(json::JsonOps),
        HistoryFormat::Csv => Box::new(csv::Csv::with_columns(columns)),
        HistoryFormat::Dbcop
        | HistoryFormat::DbcopJson
        | HistoryFormat::Awdit
        | HistoryFormat::Edn => {
            let message = format!(
                "the format {} does not say operation by operation what happens, so it cannot be \
                 followed; expected text, axe, plume, csv or jsonl",
                format.key()
            );
            return Err(LogError::new(Place::FIRST.into(), message));
        }
    })
}
