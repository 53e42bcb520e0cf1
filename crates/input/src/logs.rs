//! Logs.

use std::path::{Path, PathBuf};

use weakspot_core::{LogEvent, LogTables};
use weakspot_trace::{LogError, LogFormat, LogPlace, LogReader, sc_events};

use crate::folders::{self, NoFiles, has_ending, is_stdin};
use crate::patient::{Stop, source};

/// The endings of the files that hold logs.
pub const ENDINGS: [&str; 5] = ["wstrace", "jsonl", "json", "std", "wslog"];

/// The logs that `paths` stand for: a folder stands for the logs below it.
///
/// # Errors
///
/// A folder has none, or standard input is named twice.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>, NoFiles> {
    once(folders::expand(paths, &ENDINGS)?)
}

/// Refuses to read standard input twice.
pub(crate) fn once(paths: Vec<PathBuf>) -> Result<Vec<PathBuf>, NoFiles> {
    match paths.iter().filter(|path| is_stdin(path)).count() {
        0 | 1 => Ok(paths),
        _ => Err(NoFiles("standard input can be read only once".to_owned())),
    }
}

/// The endings of programs that are compiled.
const SOURCES: [&str; 5] = ["c", "cc", "cpp", "cxx", "rs"];

/// What is said about one.
const SOURCE: &str = "this is a program, not a log: `weakspot robust`, `reach` and `fence` take one in C; `weakspot cc` \
                      compiles one in C or C++ for `weakspot run`, which watches its transactions with `--transaction \
                      FUNCTION` and writes a log with `--log`; `weakspot cargo test` runs one in Rust";

/// Whether the ending says that a file is a log.
#[must_use]
pub fn is_log(path: &Path) -> bool {
    has_ending(path, &ENDINGS)
}

/// Opens a log: in the given format, or in the one that its ending or its beginning tells. What
/// is no file ends when `stop` says so.
///
/// # Errors
///
/// It cannot be opened, or its beginning is that of no format.
pub fn open(path: &Path, format: Option<LogFormat>, stop: Stop) -> Result<LogReader, LogError> {
    if format.is_none() && has_ending(path, &SOURCES) && path.is_file() {
        let place = LogPlace::Line { line: 1, column: 1 };
        return Err(LogError { message: SOURCE.to_owned(), place });
    }
    let source = source(path, stop)?;
    match format.or_else(|| LogFormat::from_path(path)) {
        Some(format) => Ok(LogReader::new(source, format)),
        None => LogReader::sniff(source),
    }
}

/// The first `most` events of a trace: of the one with this number, or of a log that has only one. `None` if the log
/// has no such trace; one that SC cannot have is an error.
///
/// # Errors
///
/// It cannot be read, or SC cannot have it.
pub fn read_trace(
    path: &Path,
    format: Option<LogFormat>,
    number: Option<usize>,
    most: usize,
    stop: Stop,
) -> Result<Option<(Vec<LogEvent>, LogTables)>, LogError> {
    sc_events(&mut open(path, format, stop)?, number, most)
}
