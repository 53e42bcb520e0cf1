//! Histories.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weakspot_trace::{Columns, HistoryFormat, HistoryReader, LogError};
use weakspot_witness::InputHash;

use crate::folders::{self, NoFiles, is_stdin};
use crate::logs::once;
use crate::patient::{Patience, Stop, patient_source, source};

/// The endings of the files that hold histories.
const ENDINGS: [&str; 10] =
    ["jsonl", "json", "wshist", "axe", "hist", "plume", "awdit", "edn", "csv", "tsv"];

/// The files that `paths` stand for: a folder stands for the histories below it.
///
/// # Errors
///
/// A folder has none, or standard input is named twice.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>, NoFiles> {
    once(folders::expand(paths, &ENDINGS)?)
}

/// Opens a file of histories: in the given format, with these columns, or in the format that its
/// ending or its beginning tells. Where there is patience, it ends with it.
///
/// # Errors
///
/// It cannot be opened, or its beginning is that of no format.
pub fn open(
    path: &Path,
    format: Option<HistoryFormat>,
    columns: Option<Columns>,
    stop: Stop,
    patience: Option<Arc<Patience>>,
) -> Result<HistoryReader, LogError> {
    let source = match patience {
        Some(patience) => patient_source(path, stop, patience)?,
        None => source(path, stop)?,
    };
    if let Some(columns) = columns {
        return Ok(HistoryReader::columns(source, columns));
    }
    match format.or_else(|| HistoryFormat::from_path(path)) {
        Some(format) => Ok(HistoryReader::new(source, format)),
        None => HistoryReader::sniff(source),
    }
}

/// What a file that cannot be read may be instead, as a line that helps; nothing if it looks like
/// nothing else.
#[must_use]
pub fn hint(path: &Path, format: HistoryFormat) -> String {
    let mut first = Vec::new();
    if !is_stdin(path) {
        let file = std::fs::File::open(path);
        let _ = file.and_then(|file| file.take(1 << 16).read_to_end(&mut first));
    }
    let text = first.trim_ascii_start();
    let begins = |words: &[&str]| words.iter().any(|word| text.starts_with(word.as_bytes()));
    let has = |key: &[u8]| text.windows(key.len()).any(|part| part == key);
    let like = HistoryFormat::sniff(text);
    // The last character may be cut.
    let is_text = std::str::from_utf8(text).map_or_else(|e| e.error_len().is_none(), |_| true);
    let help = if begins(&["#include"]) || path.extension().is_some_and(|ending| ending == "c") {
        "it looks like a program in C, which `weakspot robust` reads and `weakspot cc` compiles for `weakspot run`".to_owned()
    } else if begins(&["X86"]) {
        "it looks like a litmus test, which `weakspot litmus` reads".to_owned()
    } else if begins(&["shared ", "thread ", "const "]) {
        "it looks like a program, which `weakspot reach` and `weakspot robust` read".to_owned()
    } else if like == HistoryFormat::DbcopJson || like == HistoryFormat::Jsonl && is_cut_off(text) {
        // Of another mistake the message says enough.
        if !is_cut_off(text) {
            return String::new();
        }
        format!("it looks like {} that was cut off: the end of the file is missing", like.key())
    } else if begins(&["{", "["]) && is_cut_off(text) && (has(b"\"data\"") || !has(b"\"events\"")) {
        "it looks like JSON that was cut off: the end of the file is missing".to_owned()
    } else if begins(&["WSLOG", "trace"]) || has(b"\"events\"") || has(b"|w(") || has(b"|r(") {
        "it looks like a log of one execution, which `weakspot monitor` reads".to_owned()
    } else if !is_text {
        "it is no text in UTF-8".to_owned()
    } else if like != format && like != HistoryFormat::Text && !text.is_empty() {
        format!("it looks like {0}: try --input-format {0}", like.key())
    } else {
        return String::new();
    };
    format!("hint: {help}\n")
}

/// Whether JSON ends inside of a string, a list or an object.
fn is_cut_off(text: &[u8]) -> bool {
    let (mut depth, mut quoted, mut escaped) = (0_i64, false, false);
    for &b in text {
        match (quoted, b) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => quoted = !quoted,
            (false, b'{' | b'[') => depth += 1,
            (false, b'}' | b']') => depth -= 1,
            _ => {}
        }
    }
    quoted || depth > 0
}

/// The hash of a file's bytes.
///
/// # Errors
///
/// It cannot be read.
pub fn hash_file(path: &Path) -> std::io::Result<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_off_is_told_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.json");
        let hint_of = |text: &str| {
            std::fs::write(&path, text).expect("written");
            hint(&path, HistoryFormat::DbcopJson)
        };
        std::fs::write(&path, b"\0\xff{]").expect("written");
        assert_eq!(hint(&path, HistoryFormat::Text), "hint: it is no text in UTF-8\n");
        let cut = hint_of(r#"{"data":[[{"events":[["w",0,"#);
        assert!(cut.starts_with("hint: it looks like dbcop-json that was cut off"), "{cut}");
        let cut = hint_of(r#"[{"data":[[{"events":[["w",0,"#);
        assert!(cut.starts_with("hint: it looks like JSON that was cut off"), "{cut}");
        let cut = hint_of(r#"{"params":"#);
        assert!(cut.starts_with("hint: it looks like JSON that was cut off"), "{cut}");
        assert_eq!(hint_of(r#"{"data":[[{"events":[["w",0,"]"]]}]]}"#), "");
    }
}
