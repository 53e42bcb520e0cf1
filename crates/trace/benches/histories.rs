//! How fast histories are read: operations per second in each format, from memory. Checkers take
//! about a second for a million operations, so reading them has to be well below that.

use std::io::Cursor;
use std::sync::Arc;

use weakspot_core::testing::{HistorySize, Rng, random_history};
use weakspot_trace::{HistoryFormat, HistoryReader, Recorded, write_history};

fn main() {
    divan::main();
}

const WRITTEN: [HistoryFormat; 6] = [
    HistoryFormat::Jsonl,
    HistoryFormat::Text,
    HistoryFormat::Axe,
    HistoryFormat::Dbcop,
    HistoryFormat::DbcopJson,
    HistoryFormat::Plume,
];

fn count(bytes: &Arc<[u8]>, format: HistoryFormat) -> usize {
    let mut reader = HistoryReader::new(Box::new(Cursor::new(Arc::clone(bytes))), format);
    let history = reader.next().expect("the history is good").expect("there is one");
    divan::black_box(history).ops.len()
}

#[divan::bench(args = WRITTEN, sample_count = 10)]
fn read(bencher: divan::Bencher<'_, '_>, format: HistoryFormat) {
    let size = HistorySize {
        threads: 8,
        vars: 100,
        ops: 1_000_000,
        updates: false,
        fences: false,
        changes: 0,
    };
    let (ops, names) = random_history(&mut Rng::new(1), size);
    let history = Recorded { id: None, ops, names, notes: Vec::new(), unchecked: Vec::new() };
    let mut bytes = Vec::new();
    write_history(&mut bytes, format, &history).expect("it can be said");
    let bytes: Arc<[u8]> = bytes.into();
    bencher
        .counter(divan::counter::ItemsCount::new(history.ops.len()))
        .bench(|| count(divan::black_box(&bytes), format));
}
