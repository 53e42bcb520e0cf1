//! `weakspot convert` for histories.

use std::io::Read;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use weakspot_trace::{HistoryFormat, HistoryReader, WriteError, write_history, write_transactions};

use weakspot_jobs::interrupt;
use weakspot_jobs::output::Sink;

/// Converts all histories of a file. What was converted before an error stays.
pub(crate) fn convert(
    name: &str,
    source: Box<dyn Read + Send>,
    from: Option<HistoryFormat>,
    mut sink: Sink,
    to: HistoryFormat,
    quiet: bool,
) -> Result<()> {
    let mut reader = match from {
        Some(format) => HistoryReader::new(source, format),
        None => HistoryReader::sniff(source).map_err(|e| anyhow!(e.of(name)))?,
    };
    if reader.format().has_transactions() && to.has_transactions() {
        return convert_transactions(name, reader, sink, to, quiet);
    }
    let mut count = 0;
    let converted = loop {
        let history = match reader.next() {
            _ if interrupt::asked() => break Ok(()),
            Ok(Some(history)) => history,
            Ok(None) => break Ok(()),
            Err(error) => break Err(anyhow!(error.of(name))),
        };
        count += 1;
        if count > 1 && !to.holds_many() {
            let key = to.key();
            break Err(anyhow!("{name}: history {count}: {key} has room for one history"));
        }
        match write_history(&mut sink, to, &history) {
            Ok(()) => {}
            Err(WriteError::Io(error)) => return Err(error.into()),
            Err(WriteError::Unsayable { event, message }) => {
                let place = history.place(count, event);
                break Err(anyhow!("{name}: {place}: {message}"));
            }
        }
        for note in history.notes.iter().filter(|_| !quiet) {
            eprintln!("warning: {name}: {}: {note}", history.place(count, None));
        }
    };
    sink.finish()?;
    converted
}

/// Converts the history of a file, with its transactions.
fn convert_transactions(
    name: &str,
    mut reader: HistoryReader,
    mut sink: Sink,
    to: HistoryFormat,
    quiet: bool,
) -> Result<()> {
    reader.keep_transactions();
    let read = reader.next_transactions().map_err(|error| anyhow!(error.of(name)))?;
    let Some(history) = read else { return sink.finish() };
    match write_transactions(&mut sink, to, &history) {
        Ok(()) => {}
        Err(WriteError::Io(error)) => return Err(error.into()),
        Err(WriteError::Unsayable { event, message }) => {
            let line = event.and_then(|op| history.lines.get(op));
            let place = line.map_or(String::new(), |line| format!(":{line}"));
            bail!("{name}{place}: {message}");
        }
    }
    if reader.next_transactions().map_err(|error| anyhow!(error.of(name)))?.is_some() {
        bail!("{name}: history 2: transactions are converted for one history at a time");
    }
    for note in history.notes.iter().filter(|_| !quiet) {
        eprintln!("warning: {name}: {note}");
    }
    sink.finish()?;
    Ok(())
}

/// The format of a history that is written to a file of this name.
pub(crate) fn by_ending(output: &Path) -> Option<HistoryFormat> {
    match output.extension().and_then(|e| e.to_str()) {
        Some("json") => Some(HistoryFormat::Jsonl),
        _ => HistoryFormat::from_path(output),
    }
}

/// Whether a file of text that begins like this holds histories; if it might be a log as well, it
/// is one.
pub(crate) fn looks_like_one(first: &[u8]) -> bool {
    let has_key = |key: &[u8]| {
        first.windows(key.len()).enumerate().any(|(at, part)| {
            part == key && first[at + key.len()..].trim_ascii_start().starts_with(b":")
        })
    };
    match HistoryFormat::sniff(first) {
        HistoryFormat::Jsonl => has_key(b"\"threads\"") && !has_key(b"\"events\""),
        HistoryFormat::DbcopJson => has_key(b"\"committed\""),
        HistoryFormat::Text => {
            let line = first.trim_ascii_start();
            line.starts_with(b"history") || line.starts_with(b"init ")
        }
        _ => true,
    }
}

/// The first bytes of a source, up to the end of a line, and the source with them put back.
pub(crate) fn peek(mut source: Box<dyn Read + Send>) -> Result<(Vec<u8>, Box<dyn Read + Send>)> {
    const MOST: usize = 1 << 16;
    let mut first = vec![0; MOST];
    let mut length = 0;
    while length < MOST && !first[..length].contains(&b'\n') {
        match source.read(&mut first[length..]) {
            Ok(0) => break,
            Ok(n) => length += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => bail!("failed to read: {e}"),
        }
    }
    first.truncate(length);
    let again = std::io::Cursor::new(first.clone()).chain(source);
    Ok((first, Box::new(again)))
}
