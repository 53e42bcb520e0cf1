//! Executions as logs: for the user, and for the commands that explain them.

use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use tempfile::NamedTempFile;
use weakspot_core::{LogBatch, LogEvent, LogTables};
use weakspot_trace::{LogFormat, LogWriter, WriteError};

use crate::output::NewFile;

/// Writes an execution to a log whose format its ending says.
pub fn write(path: &Path, tables: &LogTables, events: &[LogEvent]) -> Result<()> {
    let failed = || format!("failed to write {}", path.display());
    let format = LogFormat::from_path(path).unwrap_or(LogFormat::Text);
    let file = write_to(NewFile::create(path)?, format, tables, events).with_context(failed)?;
    file.finish()
}

/// A log that goes away with its owner. Nobody else can read it, or put something else in its place
/// before it is there.
pub fn temporary(tables: &LogTables, events: &[LogEvent]) -> Result<NamedTempFile> {
    const FAILED: &str = "failed to write a log to the temporary folder";
    let file = tempfile::Builder::new().prefix("weakspot-").suffix(".wslog").tempfile();
    let file = file.context(FAILED)?;
    let out = BufWriter::new(file.as_file());
    write_to(out, LogFormat::Wslog, tables, events).context(FAILED)?.flush().context(FAILED)?;
    Ok(file)
}

fn write_to<W: Write>(
    out: W,
    format: LogFormat,
    known: &LogTables,
    events: &[LogEvent],
) -> Result<W, WriteError> {
    let mut writer = LogWriter::new(out, format);
    // Several places of a program may be on one line, which has one name in a log.
    let mut tables = LogTables { sites: Vec::new(), ..known.clone() };
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let mut site = |of: u32| {
        let text = of.checked_sub(1).and_then(|at| known.sites.get(at as usize));
        text.map_or(0, |text| {
            *numbers.entry(text).or_insert_with(|| {
                tables.sites.push(text.clone());
                tables.sites.len() as u32
            })
        })
    };
    let events: Vec<LogEvent> =
        events.iter().map(|event| LogEvent { site: site(event.site), ..*event }).collect();
    let batch = LogBatch { events, values: Vec::new() };
    writer.write(&batch, &tables)?;
    writer.finish()
}
