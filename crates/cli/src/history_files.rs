//! From the paths that were typed to histories.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Result;
use weakspot_report::InputHash;
use weakspot_trace::{HistoryFormat, HistoryReader, LogError, Recorded};

use crate::log;

/// The endings of the files that hold histories.
const ENDINGS: [&str; 8] = ["jsonl", "json", "wshist", "axe", "hist", "plume", "awdit", "edn"];

/// The files that `paths` stand for: a folder stands for the histories below it.
pub(crate) fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    log::expand_to(paths, &ENDINGS)
}

/// Opens a file of histories: in the given format, or in the one that its ending or its beginning
/// tells.
pub(crate) fn open(path: &Path, format: Option<HistoryFormat>) -> Result<HistoryReader, LogError> {
    let source = log::source(path, None)?;
    match format.or_else(|| HistoryFormat::from_path(path)) {
        Some(format) => Ok(HistoryReader::new(source, format)),
        None => HistoryReader::sniff(source),
    }
}

/// The history with this number, from 1, of a file; `None` if there are not so many.
pub(crate) fn read_history(
    path: &Path,
    format: Option<HistoryFormat>,
    number: usize,
) -> Result<Option<Recorded>, LogError> {
    let mut reader = open(path, format)?;
    for _ in 1..number {
        // Wrong ones count as well.
        if let (Err(error), true) = (reader.next().map(drop), reader.has_ended()) {
            return Err(error);
        }
    }
    reader.next()
}

/// The hash of a file's bytes.
pub(crate) fn hash_file(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let mut hash = InputHash::new();
    let mut block = vec![0; 1 << 16];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(hash.end()),
            n => hash.add(&block[..n]),
        }
    }
}
