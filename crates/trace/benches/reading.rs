//! How fast logs are read: events per second in each format, from memory. Monitors digest about a
//! hundred million events per second, so a `.wslog` has to be read well above that.

use std::io::Cursor;
use std::sync::Arc;

use weakspot_core::LogBatch;
use weakspot_core::testing::{LogSize, Rng, random_log};
use weakspot_trace::{LogFormat, LogReader, LogWriter, Next};

fn main() {
    divan::main();
}

fn log(format: LogFormat, events: usize) -> Arc<[u8]> {
    let size = LogSize { threads: 8, locs: 1000, sites: 200, events, bytes: false, txns: false };
    let (tables, events) = random_log(&mut Rng::new(1), size);
    // STD has no updates and fences, and no location that is a lock and a variable.
    let events = events.into_iter().filter(|e| e.kind <= weakspot_core::LogKind::Write).collect();
    let mut writer = LogWriter::new(Vec::new(), format);
    writer.write(&LogBatch { events, values: Vec::new() }, &tables).expect("it can be said");
    writer.finish().expect("a vector takes all").into()
}

fn count(bytes: &Arc<[u8]>, format: LogFormat) -> usize {
    let mut reader = LogReader::new(Box::new(Cursor::new(Arc::clone(bytes))), format);
    let (mut batch, mut events) = (LogBatch::default(), 0);
    while reader.next(&mut batch).expect("the log is good") != Next::End {
        events += divan::black_box(&batch).events.len();
    }
    events
}

#[divan::bench(args = LogFormat::ALL)]
fn read(bencher: divan::Bencher<'_, '_>, format: LogFormat) {
    let events = if format == LogFormat::Wslog { 4_000_000 } else { 200_000 };
    let bytes = log(format, events);
    let events = count(&bytes, format);
    bencher
        .counter(divan::counter::ItemsCount::new(events))
        .bench(|| count(divan::black_box(&bytes), format));
}
