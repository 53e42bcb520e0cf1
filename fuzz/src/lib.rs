//! What every parser has to do with every text, and every reader of logs with all bytes.

use std::fmt::Debug;
use std::io::Cursor;

use weakspot_core::LogBatch;
use weakspot_lang::{Diagnostic, Parsed};
use weakspot_trace::{LogFormat, LogReader, LogWriter, Next};

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
