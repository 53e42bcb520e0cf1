//! What every parser has to do with every text, and every reader of logs and
//! histories with all bytes.

mod serial;
mod serve;
mod wire;
mod witness;

use std::fmt::Debug;
use std::io::Cursor;

use weakspot_core::LogBatch;
use weakspot_lang::{Diagnostic, Parsed};
use weakspot_trace::{
    HistoryFormat, HistoryReader, LogFormat, LogReader, LogWriter, Next, write_history,
};

pub use serial::check_serial;
pub use serve::check_serve;
pub use wire::{check_token, check_wire};
pub use witness::check_witness;

/// Reads `bytes`, if they are text, in the language of these three functions. None of them may
/// panic, a printed tree has to be read as the same tree, and what is said about the text has to
/// have a place in it.
///
/// # Panics
/// When something is wrong: that is how the fuzzer hears of it.
pub fn check<T: Debug + PartialEq>(
    bytes: &[u8],
    parse: impl Fn(&str) -> Result<T, Diagnostic>,
    print: impl Fn(&T) -> String,
    compile: impl Fn(&T) -> Result<Parsed, Diagnostic>,
) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let said = match parse(text) {
        Err(refused) => vec![refused],
        Ok(tree) => {
            let printed = print(&tree);
            match parse(&printed) {
                Ok(again) => assert_eq!(again, tree, "{text}\nis printed as\n{printed}"),
                Err(d) => panic!("{text}\nis printed as\n{printed}\nwhich is refused: {d:?}"),
            }
            match compile(&tree) {
                Err(refused) => vec![refused],
                Ok(parsed) => parsed.warnings,
            }
        }
    };
    for d in said {
        let place = text.get(d.span.start as usize..d.span.end as usize);
        assert!(place.is_some() && !d.message.is_empty(), "{d:?}\nin\n{text}");
    }
}

/// Reads `bytes` as a log in this format. That must not panic; what was read can be written as
/// text, and what is read from that text is written as the same text again.
///
/// # Panics
/// When something is wrong: that is how the fuzzer hears of it.
pub fn check_log(bytes: &[u8], format: LogFormat) {
    let text = as_text(bytes, format);
    assert_eq!(as_text(&text, LogFormat::Text), text, "{}", String::from_utf8_lossy(&text));
}

/// All that can be read, as text.
fn as_text(bytes: &[u8], format: LogFormat) -> Vec<u8> {
    let mut reader = LogReader::new(Box::new(Cursor::new(bytes.to_vec())), format);
    let mut writer = LogWriter::new(Vec::new(), LogFormat::Text);
    let mut batch = LogBatch::default();
    loop {
        match reader.next(&mut batch) {
            Ok(Next::Events) => writer.write(&batch, reader.tables()),
            Ok(Next::Trace(id)) => writer.trace(id.as_deref()),
            Ok(Next::End) => break,
            Err(error) => {
                assert!(!error.message.is_empty(), "an error without a message");
                break;
            }
        }
        .expect("text can say all");
    }
    writer.finish().expect("a vector takes all")
}

/// Reads `bytes` as histories in this format. That must not panic; what was read is well formed,
/// can be written as text, and what is read from that text is written as the same text again.
///
/// # Panics
/// When something is wrong: that is how the fuzzer hears of it.
pub fn check_history(bytes: &[u8], format: HistoryFormat) {
    let _ = HistoryFormat::sniff(bytes);
    let text = histories_as_text(bytes, format);
    let again = histories_as_text(&text, HistoryFormat::Text);
    assert_eq!(again, text, "{}", String::from_utf8_lossy(&text));
}

/// All histories that can be read and said, as text.
fn histories_as_text(bytes: &[u8], format: HistoryFormat) -> Vec<u8> {
    let mut reader = HistoryReader::new(Box::new(Cursor::new(bytes.to_vec())), format);
    let mut text = Vec::new();
    loop {
        match reader.next() {
            Ok(Some(history)) => {
                assert!(history.ops.is_well_formed(), "a read of nothing");
                // It cannot say that a value is written twice if nothing reads a write.
                let _ = write_history(&mut text, HistoryFormat::Text, &history);
            }
            Ok(None) => return text,
            Err(error) => {
                assert!(!error.message.is_empty(), "an error without a message");
                return text;
            }
        }
    }
}
