//! The formats and how to tell which one a log is in.

use std::path::Path;

use crate::rapid;
use crate::source::MARK;
use crate::wslog::MAGIC;

/// The formats of logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// One event per line, for people.
    Text,
    /// JSON Lines: one event per line, or one trace per line.
    Jsonl,
    /// The STD format of RAPID.
    Std,
    /// Our binary format.
    Wslog,
}

impl LogFormat {
    /// All formats.
    pub const ALL: [LogFormat; 4] =
        [LogFormat::Text, LogFormat::Jsonl, LogFormat::Std, LogFormat::Wslog];

    /// What the format is called in options.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            LogFormat::Text => "text",
            LogFormat::Jsonl => "jsonl",
            LogFormat::Std => "std",
            LogFormat::Wslog => "wslog",
        }
    }

    /// The format with this [`key`](LogFormat::key).
    #[must_use]
    pub fn from_key(key: &str) -> Option<LogFormat> {
        LogFormat::ALL.into_iter().find(|f| f.key() == key)
    }

    /// The format that the ending of a file stands for.
    #[must_use]
    pub fn from_path(path: &Path) -> Option<LogFormat> {
        match path.extension()?.to_str()? {
            "wstrace" => Some(LogFormat::Text),
            "jsonl" | "json" => Some(LogFormat::Jsonl),
            "std" => Some(LogFormat::Std),
            "wslog" => Some(LogFormat::Wslog),
            _ => None,
        }
    }

    /// The format of a log that begins with these bytes, for logs without an ending. Nothing at
    /// all is a text without events.
    #[must_use]
    pub fn sniff(first: &[u8]) -> LogFormat {
        if first.starts_with(&MAGIC) {
            return LogFormat::Wslog;
        }
        let text = first.strip_prefix(MARK).unwrap_or(first).trim_ascii_start();
        let line = text.split(|&b| b == b'\n').next().unwrap_or_default();
        match text.first() {
            Some(b'{') => LogFormat::Jsonl,
            _ if rapid::is_event(line) => LogFormat::Std,
            _ => LogFormat::Text,
        }
    }

    /// Whether more bytes could change what [`sniff`](LogFormat::sniff) says.
    pub(crate) fn is_undecided(first: &[u8]) -> bool {
        let text = first.strip_prefix(MARK).unwrap_or(first).trim_ascii_start();
        first.len() < MAGIC.len() && MAGIC.starts_with(first)
            || text.is_empty()
            || text[0] != b'{' && !text.contains(&b'\n') && !first.starts_with(&MAGIC)
    }
}
