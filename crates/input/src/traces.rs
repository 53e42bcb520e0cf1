//! Going through a trace of a file again.

use std::path::Path;

use weakspot_core::{LogBatch, LogEvent, LogKind, LogTables};
use weakspot_trace::{LogError, LogFormat, LogPlace, Next, each_batch};

use crate::logs::open;
use crate::patient::Stop;

/// What has to be known before a trace is followed from its beginning.
#[derive(Debug)]
pub struct Known {
    /// The names of the whole trace.
    pub tables: LogTables,
    /// Whether the log says when stores reach memory.
    pub has_commits: bool,
    /// Whether the file has such a trace: a log of several has none without a number.
    pub is_there: bool,
}

/// A trace of a file: the one with this number, or that of a log that has only one.
#[derive(Clone, Copy, Debug)]
pub struct TraceOf<'a> {
    /// The file.
    pub path: &'a Path,
    /// Its format, if it is not the one that it ends in.
    pub format: Option<LogFormat>,
    /// Which one, from 0.
    pub number: Option<usize>,
    /// What ends reading early.
    pub stop: Stop,
}

impl TraceOf<'_> {
    /// Reads it, as long as `look` wants more; whether it is there.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn read(
        self,
        look: &mut dyn FnMut(&[LogEvent], &LogTables) -> bool,
    ) -> Result<bool, LogError> {
        let mut reader = open(self.path, self.format, self.stop)?;
        each_batch(&mut reader, self.number, &mut |reader, batch| {
            Ok(look(&batch.events, reader.tables()) && !(self.stop.asked)())
        })
    }

    /// Looks through it for what has to be known.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn scan(self) -> Result<Known, LogError> {
        let mut known = Known { tables: LogTables::default(), has_commits: false, is_there: false };
        known.is_there = self.read(&mut |events, tables| {
            known.has_commits |= events.iter().any(|event| event.kind == LogKind::Commit);
            if known.tables != *tables {
                known.tables = tables.clone();
            }
            true
        })?;
        Ok(known)
    }

    /// Where an event is.
    #[must_use]
    pub fn place(self, event: u64) -> Option<LogPlace> {
        let mut reader = open(self.path, self.format, self.stop).ok()?;
        let mut batch = LogBatch::default();
        let (mut at, mut before) = (None, 0);
        loop {
            match reader.next(&mut batch).ok()? {
                Next::Events if at == self.number => {
                    let events = batch.events.len() as u64;
                    if event < before + events {
                        return Some(reader.place((event - before) as usize));
                    }
                    before += events;
                }
                Next::Events => {}
                Next::Trace(_) => at = Some(at.map_or(0, |at| at + 1)),
                Next::End => return None,
            }
        }
    }
}
