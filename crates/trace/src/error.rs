//! What can go wrong with a log, and where.

use std::fmt;
use std::io;

use weakspot_core::Value;

/// Why a log cannot be read any further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogError {
    /// What is wrong, as a fragment that fits behind a place.
    pub message: String,
    /// Where.
    pub place: LogPlace,
}

/// A read of a value that nobody wrote. If all writes were recorded, no memory does that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnwrittenRead {
    /// What the history is called, if it has a name.
    pub id: Option<String>,
    /// Who read it.
    pub thread: String,
    /// From which variable.
    pub var: String,
    /// The value.
    pub value: Value,
    /// What the variable was at first.
    pub initial: Value,
    /// The last writes to the variable that stand before the read, the very last one first.
    pub last_writes: Vec<LastWrite>,
    /// How many writes to the variable there are in all.
    pub writes: usize,
}

/// A write before a read of a value that nobody wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastWrite {
    /// Who wrote.
    pub thread: String,
    /// The value.
    pub value: Value,
    /// On which line, from 1.
    pub line: u32,
}

/// A place in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogPlace {
    /// In a text, both counted from 1; columns count characters.
    Line {
        /// The line.
        line: u64,
        /// The column.
        column: u64,
    },
    /// In a binary log: how many bytes come before.
    Offset(u64),
}

/// The end of a log that was not written to its end, such as when the program that wrote it, or
/// the machine below it, died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn {
    /// Where what is lost begins.
    pub offset: u64,
    /// How many bytes are lost: all that follow.
    pub lost: u64,
}

/// Why a log cannot be written.
#[derive(Debug)]
pub enum WriteError {
    /// The bytes cannot be written.
    Io(io::Error),
    /// The format has no way to say it.
    Unsayable {
        /// Which event of the batch, from 0, if it is about one.
        event: Option<usize>,
        /// What cannot be said.
        message: String,
    },
}

impl LogError {
    pub(crate) fn new(place: LogPlace, message: impl Into<String>) -> LogError {
        LogError { message: message.into(), place }
    }

    /// The message behind the place in the log of this name: `name:line:column: message`.
    #[must_use]
    pub fn of(&self, name: &str) -> String {
        format!("{}: {}", self.place.of(name), self.message)
    }
}

impl LogPlace {
    /// The place in the log of this name: `name:line:column`, or `name: offset 17`.
    #[must_use]
    pub fn of(&self, name: &str) -> String {
        match self {
            LogPlace::Line { line, column } => format!("{name}:{line}:{column}"),
            LogPlace::Offset(offset) => format!("{name}: offset {offset}"),
        }
    }
}

impl fmt::Display for LogPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogPlace::Line { line, column } => write!(f, "line {line}, column {column}"),
            LogPlace::Offset(offset) => write!(f, "offset {offset}"),
        }
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for LogError {}

impl fmt::Display for Torn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Torn { offset, lost } = self;
        let bytes = if *lost == 1 { "byte is" } else { "bytes are" };
        write!(f, "the log is torn at offset {offset}: the last {lost} {bytes} lost")
    }
}

impl WriteError {
    pub(crate) fn event(index: usize, message: impl Into<String>) -> WriteError {
        WriteError::Unsayable { event: Some(index), message: message.into() }
    }

    pub(crate) fn other(message: impl Into<String>) -> WriteError {
        WriteError::Unsayable { event: None, message: message.into() }
    }
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> WriteError {
        WriteError::Io(error)
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Io(error) => write!(f, "failed to write: {error}"),
            WriteError::Unsayable { message, .. } => f.write_str(message),
        }
    }
}

impl std::error::Error for WriteError {}
