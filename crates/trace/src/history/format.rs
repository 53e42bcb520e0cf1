//! The formats of histories and how to tell which one a file is in.

use std::path::Path;

use super::csv::Columns;
use crate::source::MARK;

/// The formats of histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryFormat {
    /// Our JSON, one history per line.
    Jsonl,
    /// One operation per line, for people.
    Text,
    /// The traces of Axe.
    Axe,
    /// The text of dbcop.
    Dbcop,
    /// The JSON of dbcop.
    DbcopJson,
    /// The text of Plume, PolySI and AWDIT.
    Plume,
    /// The text of AWDIT's tests.
    Awdit,
    /// Jepsen's EDN, of registers.
    Edn,
    /// Columns between commas, tabs, semicolons or blanks.
    Csv,
}

impl HistoryFormat {
    /// All formats.
    pub const ALL: [HistoryFormat; 9] = [
        HistoryFormat::Jsonl,
        HistoryFormat::Text,
        HistoryFormat::Axe,
        HistoryFormat::Dbcop,
        HistoryFormat::DbcopJson,
        HistoryFormat::Plume,
        HistoryFormat::Awdit,
        HistoryFormat::Edn,
        HistoryFormat::Csv,
    ];

    /// What the format is called in options.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            HistoryFormat::Jsonl => "jsonl",
            HistoryFormat::Text => "text",
            HistoryFormat::Axe => "axe",
            HistoryFormat::Dbcop => "dbcop",
            HistoryFormat::DbcopJson => "dbcop-json",
            HistoryFormat::Plume => "plume",
            HistoryFormat::Awdit => "awdit",
            HistoryFormat::Edn => "edn",
            HistoryFormat::Csv => "csv",
        }
    }

    /// The format with this [`key`](HistoryFormat::key).
    #[must_use]
    pub fn from_key(key: &str) -> Option<HistoryFormat> {
        HistoryFormat::ALL.into_iter().find(|f| f.key() == key)
    }

    /// The format that the ending of a file stands for. Files that end in `.json` or `.txt` are of
    /// several formats, so their beginning has to tell.
    #[must_use]
    pub fn from_path(path: &Path) -> Option<HistoryFormat> {
        match path.extension()?.to_str()? {
            "jsonl" => Some(HistoryFormat::Jsonl),
            "wshist" => Some(HistoryFormat::Text),
            "axe" => Some(HistoryFormat::Axe),
            "hist" => Some(HistoryFormat::Dbcop),
            "plume" => Some(HistoryFormat::Plume),
            "awdit" => Some(HistoryFormat::Awdit),
            "edn" => Some(HistoryFormat::Edn),
            "csv" | "tsv" => Some(HistoryFormat::Csv),
            _ => None,
        }
    }

    /// The format of a file that begins with these bytes. Nothing at all is a text without
    /// histories.
    #[must_use]
    pub fn sniff(first: &[u8]) -> HistoryFormat {
        // At the end of the file every line is a whole one.
        let ended = [first, b"\n"].concat();
        HistoryFormat::detect(&ended).unwrap_or(HistoryFormat::Text)
    }

    /// Whether several histories can stand in one file.
    #[must_use]
    pub fn holds_many(self) -> bool {
        matches!(self, HistoryFormat::Jsonl | HistoryFormat::Text | HistoryFormat::Axe)
    }

    /// Whether it is a format of transactions.
    #[must_use]
    pub fn has_transactions(self) -> bool {
        match self {
            HistoryFormat::Jsonl
            | HistoryFormat::Text
            | HistoryFormat::Axe
            | HistoryFormat::Csv => false,
            HistoryFormat::Dbcop
            | HistoryFormat::DbcopJson
            | HistoryFormat::Plume
            | HistoryFormat::Awdit
            | HistoryFormat::Edn => true,
        }
    }

    /// The format, if this much of the beginning tells it.
    pub(crate) fn detect(first: &[u8]) -> Option<HistoryFormat> {
        let mut text = first.strip_prefix(MARK).unwrap_or(first).trim_ascii_start();
        loop {
            let line = text.split(|&b| b == b'\n').next().unwrap_or_default();
            match text {
                [b'/', b'/', ..] => {}
                [b';', ..] => return Some(HistoryFormat::Edn),
                // A tag in EDN has its form behind it; else it is a comment of Axe.
                [b'#', next, ..] if next.is_ascii_alphabetic() && line.contains(&b'{') => {
                    return Some(HistoryFormat::Edn);
                }
                // The first line of a table may be a comment.
                [b'#', ..] if line.len() < text.len() && Columns::is_header(line) => {
                    return Some(HistoryFormat::Csv);
                }
                [b'#', ..] => {}
                [] => return None,
                _ => break,
            }
            if line.len() == text.len() {
                return None;
            }
            text = text[line.len()..].trim_ascii_start();
        }
        let line_end = text.iter().position(|&b| b == b'\n');
        let line = &text[..line_end.unwrap_or(text.len())];
        let inner = text[1..].trim_ascii_start();
        match (text[0], inner.first()) {
            (b'{' | b'[' | b'(', None) => None,
            (b'(', _) | (b'{', Some(b':')) | (b'[', Some(b'{' | b'#' | b';')) => {
                Some(HistoryFormat::Edn)
            }
            (b'[', Some(b'[')) => Some(HistoryFormat::DbcopJson),
            (b'[', _) => Some(HistoryFormat::Dbcop),
            (b'{', _) => json(inner),
            _ => line_end.map(|_| of_line(line.trim_ascii_end())),
        }
    }
}

/// Ours has `threads`, and dbcop's has `data`.
fn json(text: &[u8]) -> Option<HistoryFormat> {
    let ends = |text: &[u8]| text.ends_with(b"\n") && text.trim_ascii_end().ends_with(b"}");
    let find = |key: &[u8]| text.windows(key.len()).position(|w| w == key);
    match (find(b"\"threads\""), find(b"\"data\"")) {
        (Some(ours), Some(data)) if data < ours => Some(HistoryFormat::DbcopJson),
        (Some(_), _) => Some(HistoryFormat::Jsonl),
        (None, Some(_)) => Some(HistoryFormat::DbcopJson),
        // A log of single operations begins with a thread.
        (None, None) if text.starts_with(b"\"t\"") => Some(HistoryFormat::Jsonl),
        (None, None) if text.len() > 1 << 16 || ends(text) => Some(HistoryFormat::Jsonl),
        (None, None) => None,
    }
}

/// The format whose lines look like this one.
fn of_line(line: &[u8]) -> HistoryFormat {
    let is_rule = |byte: u8| !line.is_empty() && line.iter().all(|&b| b == byte);
    let behind_number = line.trim_ascii_start().iter().position(|b| !b.is_ascii_digit());
    let axe = behind_number.filter(|&n| n > 0).and_then(|n| {
        let rest = line[n..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        Some(
            matches!(rest, [b'{', ..] | [b'M', b'[', ..] | [b'v', b'0'..=b'9', ..])
                || rest.starts_with(b"sync"),
        )
    });
    match line {
        _ if axe == Some(true) || line == b"check" || line.starts_with(b"final ") => {
            HistoryFormat::Axe
        }
        [b'w' | b'r', b'(', ..] => HistoryFormat::Plume,
        [b'w' | b'r', b' ' | b'\t', ..] => HistoryFormat::Awdit,
        _ if is_rule(b'=') => HistoryFormat::Awdit,
        _ if is_rule(b'-') => HistoryFormat::Dbcop,
        _ if Columns::is_header(line) => HistoryFormat::Csv,
        _ => HistoryFormat::Text,
    }
}
