//! Going through a trace of a file again.

use std::path::Path;

use weakspot_core::{LogBatch, LogEvent, LogKind, LogTables};
use weakspot_trace::{LogError, LogFormat, LogPlace, Next};

use crate::log::open;
use crate::pool;

/// What has to be known before a trace is followed from its beginning.
pub(super) struct Known {
    pub(super) tables: LogTables,
    pub(super) has_commits: bool,
    /// Whether the file has such a trace: a log of several has none without a number.
    pub(super) is_there: bool,
}

/// A trace of a file: the one with this number, or that of a log that has only one.
#[derive(Clone, Copy)]
pub(super) struct TraceOf<'a> {
    pub(super) path: &'a Path,
    pub(super) format: Option<LogFormat>,
    pub(super) number: Option<usize>,
}

impl TraceOf<'_> {
    /// Reads it, as long as `look` wants more; whether it is there.
    pub(super) fn read(
        self,
        look: &mut dyn FnMut(&[LogEvent], &LogTables) -> bool,
    ) -> Result<bool, LogError> {
        let mut reader = open(self.path, self.format, None)?;
        let mut batch = LogBatch::default();
        let mut at = None;
        let mut any = false;
        loop {
            match reader.next(&mut batch)? {
                Next::Events if at == self.number => {
                    any = true;
                    if !look(&batch.events, reader.tables()) || pool::interrupted() {
                        return Ok(true);
                    }
                }
                Next::Events => {}
                // What stands before the first trace is one without a number.
                Next::Trace(_) if at == self.number && (at.is_some() || any) => return Ok(true),
                Next::Trace(_) => at = Some(at.map_or(0, |at| at + 1)),
                Next::End => return Ok(at == self.number),
            }
        }
    }

    /// Looks through it for what has to be known.
    pub(super) fn scan(self) -> Result<Known, LogError> {
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
    pub(super) fn place(self, event: u64) -> Option<LogPlace> {
        let mut reader = open(self.path, self.format, None).ok()?;
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
