use weakspot_trace::{HistoryFormat, LogFormat};

use crate::histories::good;
use crate::{Got, read, root};

fn docs(page: &str) -> String {
    std::fs::read_to_string(root().join("docs/reference").join(page)).expect("the page is there")
}

/// What stands between the lines of back quotes after a line.
fn block_after<'a>(page: &'a str, line: &str) -> &'a str {
    let rest = &page[page.find(line).expect("the line is there") + line.len()..];
    let rest = &rest[rest.find("```").expect("a block")..];
    let rest = &rest[rest.find('\n').expect("its first line")..];
    &rest[1..rest.find("\n```").expect("its end")]
}

/// The bytes that the documentation shows are those of the text that it shows.
#[test]
fn the_bytes_of_the_example() {
    let page = docs("wslog.md");
    let text = block_after(&page, "## An example");
    let dump = block_after(&page, "\nis\n");
    let bytes: Vec<u8> = dump
        .lines()
        .flat_map(|line| line.split_whitespace().skip(1))
        .map(|byte| u8::from_str_radix(byte, 16).expect("a byte"))
        .collect();
    let got = read(&bytes, LogFormat::Wslog);
    assert_eq!((&got.error, got.torn, got.items.len()), (&None, None, 2));
    assert_eq!(got, read(text.as_bytes(), LogFormat::Text));
}

#[test]
fn the_examples_are_logs() {
    let page = docs("logs.md");
    for (format, line, events) in [
        (LogFormat::Text, "\n## Text", 8),
        (LogFormat::Jsonl, "One event per line:", 4),
        (LogFormat::Jsonl, "or one trace per line:", 3),
        (LogFormat::Std, "## RAPID's STD", 5),
    ] {
        let got = read(block_after(&page, line).as_bytes(), format);
        assert_eq!((got.error, got.items.len()), (None, events), "{line}");
    }
}

#[test]
fn the_corpus_can_be_read() {
    let mut count = 0;
    for entry in std::fs::read_dir(root().join("corpus/traces")).expect("a folder") {
        let path = entry.expect("an entry").path();
        let Some(format) = LogFormat::from_path(&path) else { continue };
        let bytes = std::fs::read(&path).expect("a file");
        assert_eq!(LogFormat::sniff(&bytes), format, "{}", path.display());
        let Got { items, error, torn } = read(&bytes, format);
        assert!(error.is_none() && torn.is_none(), "{}: {error:?}", path.display());
        assert!(!items.is_empty(), "{}", path.display());
        count += 1;
    }
    assert!(count >= 11, "{count} logs");
    let file = |name: &str| std::fs::read(root().join("corpus/traces").join(name)).expect("a log");
    let text = read(&file("dekker.wstrace"), LogFormat::Text);
    assert_eq!(read(&file("dekker.wslog"), LogFormat::Wslog), text);
}

#[test]
fn the_examples_are_histories() {
    let page = docs("histories-files.md");
    for (format, line, histories, ops, notes) in [
        (HistoryFormat::Jsonl, "One history per line:", 2, 7, 0),
        (HistoryFormat::Jsonl, "Where values repeat,", 1, 4, 0),
        (HistoryFormat::Text, "\n## Text", 2, 10, 0),
        (HistoryFormat::Axe, "The traces of [Axe]", 1, 15, 1),
        (HistoryFormat::Dbcop, "The text of [dbcop]", 1, 4, 1),
        (HistoryFormat::DbcopJson, "And its JSON,", 1, 2, 0),
        (HistoryFormat::Plume, "The text that Plume,", 1, 2, 1),
        (HistoryFormat::Awdit, "AWDIT's tests are written", 1, 3, 0),
        (HistoryFormat::Edn, "Histories of registers", 1, 3, 1),
        (HistoryFormat::Csv, "A log of hardware is often", 1, 5, 1),
    ] {
        let text = block_after(&page, line);
        let all = good(text.as_bytes(), format);
        let count: usize = all.iter().map(|h| h.ops.len()).sum();
        let noted: usize = all.iter().map(|h| h.notes.len()).sum();
        assert_eq!((all.len(), count, noted), (histories, ops, notes), "{line}");
        assert_eq!(HistoryFormat::sniff(text.as_bytes()), format, "{line}");
    }
}

#[test]
fn the_corpus_of_histories_can_be_read() {
    let folder = root().join("corpus/histories");
    let file = |name: &str| std::fs::read(folder.join(name)).expect("a file");
    let mut seen = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "md" || e == "expected") {
            continue;
        }
        let bytes = std::fs::read(&path).expect("a file");
        let format = HistoryFormat::sniff(&bytes);
        if let Some(by_name) = HistoryFormat::from_path(&path) {
            assert_eq!(format, by_name, "{}", path.display());
        }
        let all = good(&bytes, format);
        assert!(all.iter().all(|h| !h.ops.is_empty()), "{}", path.display());
        assert!(!all.is_empty(), "{}", path.display());
        if !seen.contains(&format.key()) {
            seen.push(format.key());
        }
    }
    assert_eq!(seen.len(), HistoryFormat::ALL.len(), "{seen:?}");
    for name in ["gradual", "classic", "values-repeat"] {
        let text = good(&file(&format!("{name}.wshist")), HistoryFormat::Text);
        let json = good(&file(&format!("{name}.jsonl")), HistoryFormat::Jsonl);
        assert_eq!(text, json, "{name}");
    }
}
