use weakspot_core::testing::{LogSize, Rng, random_log, scaled};
use weakspot_core::{Bytes, LogBatch, LogEvent, LogKind, LogLoc, LogTables};
use weakspot_trace::{LogFormat, LogReader, Next};

use crate::{Dribble, Got, Item, Log, read, read_all, with_values};

const RICH: [LogFormat; 3] = [LogFormat::Text, LogFormat::Jsonl, LogFormat::Wslog];

/// Names that formats may stumble over.
const STRANGE: [&str; 22] = [
    "", " ", "a b", "x@y", "0x10/4", "0x/", "\"q\"", "\\", "ü", "a=b", "#1", "//c", "t0:", "trace",
    "x\ny", "a::b", "-1", "t01", "7", "null", "a|b", "→",
];

fn random(rng: &mut Rng) -> Log {
    let size = LogSize {
        threads: 2 + rng.below(4),
        locs: 1 + rng.below(8),
        sites: rng.below(4),
        events: rng.below(60),
        bytes: rng.one_in(2),
        txns: rng.one_in(2),
    };
    let count = 1 + rng.below(3);
    let mut log = Log { traces: Vec::new() };
    for i in 0..count {
        let (mut tables, mut events) = random_log(rng, size);
        if rng.one_in(3) {
            let mut names = STRANGE.to_vec();
            let mut strange = |name: &mut String| {
                if rng.one_in(2) && !names.is_empty() {
                    *name = names.swap_remove(rng.below(names.len())).to_owned();
                }
            };
            tables.threads.iter_mut().for_each(&mut strange);
            tables.sites.iter_mut().for_each(&mut strange);
            tables.locs.iter_mut().for_each(|l| strange(&mut l.name));
        }
        for event in &mut events {
            if event.kind.is_access() && rng.one_in(9) {
                event.kind = LogKind::Commit;
            }
        }
        let batch = with_values(rng, events);
        let id = match rng.below(3) {
            0 => None,
            _ => Some(STRANGE[rng.below(STRANGE.len())].to_owned()),
        };
        let trace = (i > 0 || rng.one_in(2)).then_some(id);
        log.traces.push((trace, tables, batch));
    }
    log
}

fn check(items: &[Item], bytes: &[u8], format: LogFormat, seed: u64) {
    let expected = Got { items: items.to_vec(), error: None, torn: None };
    let text = String::from_utf8_lossy(bytes);
    assert_eq!(read(bytes, format), expected, "seed {seed}, {format:?}:\n{text}");
}

#[test]
fn what_is_written_is_read() {
    for seed in 0..scaled(6000) as u64 {
        let log = random(&mut Rng::new(seed));
        let items = log.items();
        for format in RICH {
            let bytes = log.write(format).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            check(&items, &bytes, format, seed);
            // Through a second format, and back to the very same bytes.
            for other in RICH {
                let there = convert(&bytes, format, other);
                check(&items, &there, other, seed);
                let back = convert(&there, other, format);
                let again = convert(&convert(&back, format, other), other, format);
                assert_eq!(back, again, "seed {seed}, {format:?} by {other:?}");
            }
        }
    }
}

/// The bytes of a log in another format.
fn convert(bytes: &[u8], from: LogFormat, to: LogFormat) -> Vec<u8> {
    let source = std::io::Cursor::new(bytes.to_vec());
    let mut reader = LogReader::new(Box::new(source), from);
    let mut writer = weakspot_trace::LogWriter::new(Vec::new(), to);
    let mut batch = LogBatch::default();
    loop {
        match reader.next(&mut batch).expect("what was written can be read") {
            weakspot_trace::Next::Events => writer.write(&batch, reader.tables()),
            weakspot_trace::Next::Trace(id) => writer.trace(id.as_deref()),
            weakspot_trace::Next::End => return writer.finish().expect("a vector takes all"),
        }
        .expect("these formats can say all");
    }
}

/// STD says less: no values, updates, fences, transactions by number, bytes; and a location is
/// a lock or a variable.
#[test]
fn std_says_what_it_can() {
    let size = LogSize { threads: 4, locs: 6, sites: 5, events: 80, bytes: false, txns: false };
    for seed in 0..scaled(4000) as u64 {
        let mut rng = Rng::new(seed);
        let (tables, mut events) = random_log(&mut rng, size);
        events.retain(|e| {
            let said = match e.kind {
                LogKind::Fence | LogKind::StoreFence | LogKind::Update => false,
                LogKind::Acquire | LogKind::Release => e.loc < 3,
                LogKind::Read | LogKind::Write => e.loc >= 3,
                _ => true,
            };
            said && !rng.one_in(10)
        });
        let batch = LogBatch { events, values: Vec::new() };
        let log = Log { traces: vec![(None, tables, batch)] };
        let bytes = log.write(LogFormat::Std).expect("STD can say it");
        check(&log.items(), &bytes, LogFormat::Std, seed);
        for other in RICH {
            let there = convert(&bytes, LogFormat::Std, other);
            assert_eq!(convert(&there, other, LogFormat::Std), bytes, "seed {seed}, {other:?}");
        }
    }
}

/// However the bytes arrive, the same is read, and the format is found out.
#[test]
fn pieces_change_nothing() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let log = random(&mut rng);
        for format in RICH {
            let mut bytes = log.write(format).expect("these formats can say all");
            // Damaged ones have to be refused alike, too.
            if rng.one_in(3) && !bytes.is_empty() {
                let at = rng.below(bytes.len());
                bytes[at] ^= 1 << rng.below(8);
            }
            let whole = read(&bytes, format);
            for pieces in [&[1][..], &[7, 1, 3], &[33], &[1000, 1]] {
                let reader = LogReader::new(Dribble::new(&bytes, pieces), format);
                assert_eq!(read_all(reader), whole, "seed {seed}, {format:?}, {pieces:?}");
            }
        }
    }
}

#[test]
fn formats_are_recognised() {
    let check = |bytes: &[u8], expected: LogFormat| {
        assert_eq!(LogFormat::sniff(bytes), expected);
        let sniffed = LogReader::sniff(Dribble::new(bytes, &[1])).expect("it can be read");
        assert_eq!(read_all(sniffed), read(bytes, expected));
    };
    check(b"t0: wr x\n", LogFormat::Text);
    check(b"// t0|w(x)|1\nt0: rd x", LogFormat::Text);
    check(b"t0: wr a|b|c\n", LogFormat::Text);
    check(b"", LogFormat::Text);
    check(b"\n {\"t\":0,\"k\":\"fence\"}", LogFormat::Jsonl);
    check(b"\xef\xbb\xbf{\"t\":0,\"k\":\"fence\"}", LogFormat::Jsonl);
    check(b"\xef\xbb\xbft0: wr x", LogFormat::Text);
    check(b"T0|begin|3\n", LogFormat::Std);
    check(b"\nT0|acq(l)|3", LogFormat::Std);
    let log = random(&mut Rng::new(7)).write(LogFormat::Wslog).expect("it can be said");
    check(&log, LogFormat::Wslog);
    for format in LogFormat::ALL {
        assert_eq!(LogFormat::from_key(format.key()), Some(format));
    }
    let of = |path: &str| LogFormat::from_path(path.as_ref());
    assert_eq!(of("a/b.wstrace"), Some(LogFormat::Text));
    assert_eq!(of("b.json"), Some(LogFormat::Jsonl));
    assert_eq!(of("b.c"), None);
}

/// Events arrive as soon as their bytes do.
#[test]
fn nothing_waits_for_more() {
    for format in [LogFormat::Text, LogFormat::Jsonl, LogFormat::Std, LogFormat::Wslog] {
        let tables = LogTables {
            threads: vec!["t0".into()],
            locs: vec![LogLoc { name: "x".into(), bytes: None }],
            sites: Vec::new(),
        };
        let event = LogEvent::new(0, LogKind::Write, 0);
        let batch = LogBatch { events: vec![event], values: Vec::new() };
        let (reading, writing) = std::io::pipe().expect("a pipe");
        let mut writer = weakspot_trace::LogWriter::new(writing, format);
        let mut reader = LogReader::new(Box::new(reading), format);
        let mut got = LogBatch::default();
        for _ in 0..3 {
            writer.write(&batch, &tables).expect("the pipe is open");
            writer.flush().expect("the pipe is open");
            // This would wait for ever if the reader wanted more than there is.
            assert_eq!(reader.next(&mut got), Ok(weakspot_trace::Next::Events));
            assert_eq!(got.events, [event]);
        }
        drop(writer);
        assert_eq!(reader.next(&mut got), Ok(weakspot_trace::Next::End));
    }
}

/// A trace of more than a mebibyte is read event by event.
#[test]
fn long_traces() {
    let size = LogSize { threads: 4, locs: 50, sites: 9, events: 40_000, bytes: true, txns: false };
    let (tables, events) = random_log(&mut Rng::new(1), size);
    let batch = LogBatch { events, values: Vec::new() };
    let log = Log { traces: vec![(Some(Some("long".into())), tables, batch)] };
    for format in RICH {
        let bytes = log.write(format).expect("these formats can say all");
        check(&log.items(), &bytes, format, 0);
        let reader = LogReader::new(Dribble::new(&bytes, &[1, 5000]), format);
        assert_eq!(read_all(reader).items, log.items());
    }
    // Its name has to come first then.
    let bytes = log.write(LogFormat::Jsonl).expect("it can be said");
    let text = String::from_utf8(bytes).expect("text");
    let late = text.replace("\"id\":\"long\",", "").replace("]}\n", "],\"id\":\"long\"}\n");
    let error = read(late.as_bytes(), LogFormat::Jsonl).error.expect("an error");
    assert_eq!(error.message, "in a trace longer than 1 MiB, `id` has to come before `events`");
}

/// Where an event of a batch stands.
#[test]
fn events_have_places() {
    let bytes = [Bytes { start: 8, len: 4 }];
    let tables = LogTables {
        threads: vec!["t0".into()],
        locs: vec![LogLoc { name: "x".into(), bytes: Some(bytes[0]) }],
        sites: Vec::new(),
    };
    let events = vec![LogEvent::new(0, LogKind::Write, 0); 5000];
    let log = Log { traces: vec![(None, tables, LogBatch { events, values: Vec::new() })] };
    let places = |format| {
        let bytes = log.write(format).expect("it can be said");
        let mut reader = LogReader::new(Box::new(std::io::Cursor::new(bytes)), format);
        let (mut batch, mut places) = (LogBatch::default(), Vec::new());
        while reader.next(&mut batch) == Ok(weakspot_trace::Next::Events) {
            places.extend((0..batch.events.len()).map(|i| reader.place(i).to_string()));
        }
        [places[0].clone(), places[2].clone(), places[4999].clone()]
    };
    let lines = ["line 1, column 1", "line 3, column 1", "line 5000, column 1"];
    assert_eq!(places(LogFormat::Text), lines);
    assert_eq!(places(LogFormat::Jsonl), lines);
    // Two tables of names, then a block of 4096 events and one of the others.
    let first = 32 + 6 + 32 + 17 + 32;
    let last = first + 4096 * 16 + 32 + 903 * 16;
    let offsets = [first, first + 32, last].map(|o| format!("offset {o}"));
    assert_eq!(places(LogFormat::Wslog), offsets);
}

/// Threads that have numbers are told apart, whatever these are.
#[test]
fn numbered_threads() {
    let text = [1, 10, 101, 1001].map(|t| format!("{{\"t\":{t},\"k\":\"fence\"}}\n")).concat();
    let mut reader = LogReader::new(Box::new(std::io::Cursor::new(text)), LogFormat::Jsonl);
    let mut batch = LogBatch::default();
    while reader.next(&mut batch).expect("a log") != Next::End {}
    assert_eq!(reader.tables().threads, ["t1", "t10", "t101", "t1001"]);
}
