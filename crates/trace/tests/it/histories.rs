use std::io::Cursor;

use weakspot_core::testing::{HistorySize, Rng, random_history};
use weakspot_core::{OpKind, OpNames, Ops};
use weakspot_trace::{HistoryFormat, HistoryReader, LogError, Recorded, write_history};

use crate::Dribble;

/// All histories, up to an error.
fn read_all(mut reader: HistoryReader) -> (Vec<Recorded>, Option<LogError>) {
    let mut all = Vec::new();
    loop {
        match reader.next() {
            Ok(Some(history)) => {
                assert!(history.ops.is_well_formed());
                assert_eq!(history.names.values.len(), history.ops.len());
                assert_eq!(history.names.threads.len(), history.ops.threads());
                assert!(history.names.vars.len() >= history.ops.vars());
                all.push(history);
            }
            Ok(None) => {
                assert_eq!(reader.next(), Ok(None), "the end stays");
                return (all, None);
            }
            Err(error) => {
                assert!(!error.message.is_empty(), "{error}");
                assert_eq!(reader.next(), Err(error.clone()), "the error stays");
                return (all, Some(error));
            }
        }
    }
}

fn read(bytes: &[u8], format: HistoryFormat) -> (Vec<Recorded>, Option<LogError>) {
    read_all(HistoryReader::new(Box::new(Cursor::new(bytes.to_vec())), format))
}

pub(crate) fn good(bytes: &[u8], format: HistoryFormat) -> Vec<Recorded> {
    let (all, error) = read(bytes, format);
    assert_eq!(error, None, "{}", String::from_utf8_lossy(bytes));
    all
}

fn written(format: HistoryFormat, history: &Recorded) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_history(&mut bytes, format, history).unwrap_or_else(|e| panic!("{}: {e}", format.key()));
    bytes
}

fn recorded((ops, names): (Ops, OpNames), id: Option<&str>) -> Recorded {
    Recorded { id: id.map(str::to_owned), ops, names, notes: Vec::new() }
}

/// The formats that can say a history, as it is.
const WRITTEN: [HistoryFormat; 7] = [
    HistoryFormat::Jsonl,
    HistoryFormat::Text,
    HistoryFormat::Axe,
    HistoryFormat::Dbcop,
    HistoryFormat::DbcopJson,
    HistoryFormat::Plume,
    HistoryFormat::Awdit,
];

/// What is said about a history, with threads and variables by their positions, because not every
/// format has names. Threads that do nothing are not said by all formats.
fn plain(history: &Recorded) -> (Vec<Vec<String>>, Vec<i64>) {
    let Recorded { ops, names, .. } = history;
    let of = |op: u32| {
        let thread = ops.thread_of(op);
        let busy = (0..thread).filter(|&t| !ops.of_thread(t).is_empty()).count();
        (busy, op - ops.of_thread(thread).start)
    };
    let thread = |t: usize| {
        let op = |op: u32| {
            let (kind, var) = (ops.kind(op), ops.var(op));
            format!("{kind:?} {var} {} {:?}", names.values[op as usize], ops.from(op).map(of))
        };
        ops.of_thread(t).map(op).collect::<Vec<_>>()
    };
    let threads = (0..ops.threads()).map(thread).filter(|t| !t.is_empty()).collect();
    (threads, names.initial.clone())
}

#[test]
fn round_trips() {
    let mut said = [0; WRITTEN.len()];
    for seed in 0..600 {
        let mut rng = Rng::new(seed);
        let size = HistorySize {
            threads: 1 + rng.below(5),
            vars: 1 + rng.below(4),
            ops: rng.below(40),
            updates: rng.one_in(2),
            fences: rng.one_in(4),
            changes: rng.below(4),
        };
        let id = ["h 1", "x", "\"\\//"][rng.below(3)];
        let history = recorded(random_history(&mut rng, size), rng.one_in(2).then_some(id));
        for (i, format) in WRITTEN.into_iter().enumerate() {
            let mut bytes = Vec::new();
            if write_history(&mut bytes, format, &history).is_err() {
                let has = |kind| (0..history.ops.len() as u32).any(|o| history.ops.kind(o) == kind);
                let initial = (0..history.ops.len() as u32)
                    .any(|o| history.ops.reads(o) && history.ops.from(o).is_none());
                assert!(has(OpKind::Fence) || format == HistoryFormat::Awdit && initial);
                assert!(i > 2, "we and Axe can say all of it");
                continue;
            }
            said[i] += 1;
            let all = good(&bytes, format);
            let text = String::from_utf8_lossy(&bytes);
            if i < 2 {
                assert_eq!(all, [history.clone()], "seed {seed}, {format:?}: {text}");
            } else if history.ops.is_empty() && !format.holds_many() {
                assert!(all.iter().all(|h| h.ops.is_empty()));
            } else {
                assert_eq!(all.len(), 1, "seed {seed}, {format:?}: {text}");
                assert_eq!(plain(&all[0]), plain(&history), "seed {seed}, {format:?}: {text}");
                assert_eq!(all[0].notes, [""; 0]);
            }
            // However it arrives, and whether or not somebody says what it is.
            let pieces = [1 + rng.below(9), 1 + rng.below(3)];
            let dribble = HistoryReader::new(Dribble::new(&bytes, &pieces), format);
            assert_eq!(read_all(dribble), (all.clone(), None), "seed {seed}, {format:?}: {text}");
            if !history.ops.is_empty() {
                assert_eq!(HistoryFormat::sniff(&bytes), format, "{text}");
                let sniffed = HistoryReader::sniff(Dribble::new(&bytes, &pieces));
                assert_eq!(read_all(sniffed.expect("it can be read")), (all, None));
            }
        }
    }
    assert!(said.iter().all(|&n| n > 20), "{said:?}");
}

/// Values that are written twice, initial values, and names with blanks and quotes.
#[test]
fn round_trips_of_the_odd() {
    let mut count = 0;
    for seed in 0..400 {
        let mut rng = Rng::new(seed);
        let size = HistorySize {
            threads: 3,
            vars: 2,
            ops: 1 + rng.below(12),
            updates: true,
            fences: true,
            changes: 3,
        };
        let (ops, mut names) = random_history(&mut rng, size);
        for (var, initial) in names.initial.iter_mut().enumerate() {
            *initial = rng.below(4) as i64 - 1;
            names.vars[var] =
                ["a b", "\"q\"", "//", "ä:", "from", "0"][3 * var + rng.below(3)].into();
        }
        let all = 0..ops.len() as u32;
        for op in all.clone().filter(|&op| ops.writes(op)) {
            names.values[op as usize] = rng.below(3) as i64;
        }
        for op in all.clone().filter(|&op| ops.kind(op) == OpKind::Read) {
            let var = ops.var(op) as usize;
            let value = |from: u32| names.values[from as usize];
            names.values[op as usize] = ops.from(op).map_or(names.initial[var], value);
        }
        let reads = all.clone().any(|op| ops.from(op).is_some());
        let history = recorded((ops, names), None);
        for format in [HistoryFormat::Jsonl, HistoryFormat::Text] {
            let mut bytes = Vec::new();
            match write_history(&mut bytes, format, &history) {
                Ok(()) => {
                    count += 1;
                    let text = String::from_utf8_lossy(&bytes);
                    assert_eq!(good(&bytes, format), [history.clone()], "seed {seed}: {text}");
                }
                Err(e) => assert!(!reads, "{e}"),
            }
        }
    }
    assert!(count > 600, "{count}");
}

#[test]
fn several_in_one_file() {
    let mut rng = Rng::new(7);
    let size = HistorySize { threads: 2, vars: 2, ops: 6, updates: true, fences: true, changes: 1 };
    let all: Vec<Recorded> = (0..5)
        .map(|i| {
            let id = format!("h{i}");
            recorded(random_history(&mut rng, size), (i % 2 == 0).then_some(&id))
        })
        .collect();
    for format in HistoryFormat::ALL.into_iter().filter(|f| f.holds_many()) {
        let mut bytes = Vec::new();
        for history in &all {
            bytes.extend(written(format, history));
        }
        let again = good(&bytes, format);
        assert_eq!(again.len(), all.len());
        for (a, b) in all.iter().zip(&again) {
            assert_eq!(plain(a), plain(b), "{format:?}");
        }
    }
}
