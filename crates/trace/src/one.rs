//! One of the traces of a log, and one of the histories of a file.

use weakspot_core::{LogBatch, LogEvent, LogTables, LogValues};

use crate::error::LogError;
use crate::history::{HistoryReader, Recorded};
use crate::reader::{LogReader, Next};

/// Goes through the trace with this number, or that of a log that has only one, as long as `look`
/// wants more; whether it is there.
///
/// # Errors
///
/// The log cannot be read, or `look` says so.
pub fn each_batch(
    reader: &mut LogReader,
    number: Option<usize>,
    look: &mut dyn FnMut(&LogReader, &LogBatch) -> Result<bool, LogError>,
) -> Result<bool, LogError> {
    let mut batch = LogBatch::default();
    let mut at = None;
    let mut any = false;
    loop {
        match reader.next(&mut batch)? {
            Next::Events if at == number => {
                any = true;
                if !look(reader, &batch)? {
                    return Ok(true);
                }
            }
            Next::Events => {}
            // What stands before the first trace is one without a number.
            Next::Trace(_) if at == number && (at.is_some() || any) => return Ok(true),
            Next::Trace(_) => at = Some(at.map_or(0, |at| at + 1)),
            Next::End => return Ok(at == number),
        }
    }
}

/// The first `most` events of a trace: of the one with this number, or of a log that has only one. `None` if the log
/// has no such trace; one that SC cannot have is an error.
///
/// # Errors
///
/// It cannot be read, or SC cannot have it.
pub fn sc_events(
    reader: &mut LogReader,
    number: Option<usize>,
    most: usize,
) -> Result<Option<(Vec<LogEvent>, LogTables)>, LogError> {
    let mut events: Vec<LogEvent> = Vec::new();
    let mut tables = LogTables::default();
    let mut values = LogValues::default();
    let is_there = each_batch(reader, number, &mut |reader, batch| {
        if let Some((wrong, why)) = values.follow(batch, reader.tables()) {
            return Err(LogError { message: why.to_string(), place: reader.place(wrong) });
        }
        let room = most - events.len();
        events.extend_from_slice(&batch.events[..batch.events.len().min(room)]);
        if tables != *reader.tables() {
            tables = reader.tables().clone();
        }
        Ok(true)
    })?;
    Ok(is_there.then_some((events, tables)))
}

/// The history with this number, from 1; `None` if there are not so many.
///
/// # Errors
///
/// It cannot be read.
pub fn nth_history(
    reader: &mut HistoryReader,
    number: usize,
) -> Result<Option<Recorded>, LogError> {
    if number == 0 {
        return Ok(None);
    }
    for _ in 1..number {
        // Wrong ones count as well.
        if let (Err(error), true) = (reader.next().map(drop), reader.has_ended()) {
            return Err(error);
        }
    }
    reader.next()
}
