//! The tests of the formats:
//! - `round_trips`: what was written is what is read, from format to format, however it arrives;
//! - `damage`: cut and flipped `.wslog` files;
//! - `refusals`: texts that are wrong, with the place and what is said about it;
//! - `resume`: writing on behind what is there;
//! - `documented`: what the documentation shows, and the corpus;
//! - `finals`: what memory held at the end, against all runs of the machines;
//! - `histories`: the same for histories: round trips, refusals, damage;
//! - `transactions`: the same for histories of transactions.

mod damage;
mod documented;
mod finals;
mod following;
mod histories;
mod refusals;
mod resume;
mod round_trips;
mod transactions;

use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use weakspot_core::testing::Rng;
use weakspot_core::{LogBatch, LogEvent, LogKind, LogTables, LogValue};
use weakspot_trace::{LogError, LogFormat, LogReader, LogWriter, Next, Torn, WriteError};

/// The root of the project.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a log says, with names instead of numbers, so that logs can be compared whose tables are
/// ordered differently.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Trace(Option<String>),
    Event(String),
}

/// All that a reader says.
#[derive(Debug, PartialEq, Eq)]
struct Got {
    items: Vec<Item>,
    error: Option<LogError>,
    torn: Option<Torn>,
}

fn got(tables: &LogTables, event: &LogEvent, value: Option<LogValue>) -> Item {
    let operand = match event.kind {
        LogKind::Spawn | LogKind::Join => tables.threads[event.loc as usize].clone(),
        LogKind::Fence | LogKind::StoreFence | LogKind::Begin | LogKind::End => String::new(),
        _ => format!("{:?}", tables.locs[event.loc as usize]),
    };
    let thread = &tables.threads[usize::from(event.thread)];
    let site = event.site.checked_sub(1).map(|s| &tables.sites[s as usize]);
    let (kind, txn) = (event.kind, event.txn);
    Item::Event(format!("{thread:?} {kind:?} {operand:?} {value:?} {site:?} {txn}"))
}

fn all_told(tables: &LogTables, batch: &LogBatch) -> Vec<Item> {
    let mut values = batch.values.iter().copied();
    let mut value = |e: &LogEvent| e.valued.then(|| values.next().expect("a value"));
    batch.events.iter().map(|e| got(tables, e, value(e))).collect()
}

fn read_all(mut reader: LogReader) -> Got {
    let mut items = Vec::new();
    let mut batch = LogBatch::default();
    let error = loop {
        match reader.next(&mut batch) {
            Ok(Next::Events) => {
                assert!(!batch.events.is_empty(), "a batch has events");
                items.extend(all_told(reader.tables(), &batch));
            }
            Ok(Next::Trace(id)) => items.push(Item::Trace(id)),
            Ok(Next::End) => break None,
            Err(error) => {
                assert_eq!(reader.next(&mut batch), Err(error.clone()), "the error stays");
                break Some(error);
            }
        }
    };
    Got { items, error, torn: reader.torn() }
}

fn read(bytes: &[u8], format: LogFormat) -> Got {
    read_all(LogReader::new(Box::new(Cursor::new(bytes.to_vec())), format))
}

/// Hands its bytes out in pieces, as a pipe may.
struct Dribble {
    bytes: Cursor<Vec<u8>>,
    pieces: Vec<usize>,
    next: usize,
}

impl Dribble {
    fn new(bytes: &[u8], pieces: &[usize]) -> Box<Dribble> {
        Box::new(Dribble { bytes: Cursor::new(bytes.to_vec()), pieces: pieces.to_vec(), next: 0 })
    }
}

impl Read for Dribble {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let piece = self.pieces[self.next % self.pieces.len()].min(buffer.len());
        self.next += 1;
        self.bytes.read(&mut buffer[..piece])
    }
}

/// A log of some traces, the way a writer takes it.
struct Log {
    traces: Vec<(Option<Option<String>>, LogTables, LogBatch)>,
}

impl Log {
    fn write(&self, format: LogFormat) -> Result<Vec<u8>, WriteError> {
        let mut writer = LogWriter::new(Vec::new(), format);
        for (trace, tables, batch) in &self.traces {
            if let Some(id) = trace {
                writer.trace(id.as_deref())?;
            }
            writer.write(batch, tables)?;
        }
        writer.finish()
    }

    fn items(&self) -> Vec<Item> {
        let mut items = Vec::new();
        for (trace, tables, batch) in &self.traces {
            items.extend(trace.clone().map(Item::Trace));
            items.extend(all_told(tables, batch));
        }
        items
    }
}

/// Values for some of the events.
fn with_values(rng: &mut Rng, mut events: Vec<LogEvent>) -> LogBatch {
    let mut values = Vec::new();
    for event in &mut events {
        let valued = matches!(event.kind, LogKind::Read | LogKind::Write | LogKind::Update);
        if valued && rng.one_in(2) {
            event.valued = true;
            let mut number = || match rng.below(4) {
                0 => rng.next_u64() as i64,
                n => n as i64 - 2,
            };
            let old = (event.kind == LogKind::Update).then(&mut number);
            values.push(LogValue { value: number(), old: old.filter(|o| o % 2 == 0) });
        }
    }
    LogBatch { events, values }
}
