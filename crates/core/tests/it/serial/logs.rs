//! What a log says about transactions, and reads whose own write may be overwritten: by small cases. The tests of
//! `serial` have the random ones.

use weakspot_core::serial::{
    BadEvent, BufferedReads, END, Overwritten, START, Trace, TraceMode, TxnEvent, TxnKind,
    TxnReader, each_overwritten, overwritten,
};
use weakspot_core::testing::trace_of;
use weakspot_core::{Bytes, LogEvent, LogKind, LogLoc, LogTables};

use LogKind::{Begin, End, Join, Read, Spawn, Write};

fn tables(locs: &[Option<(u64, u32)>]) -> LogTables {
    let bytes = |&(start, len): &(u64, u32)| Bytes { start, len };
    let loc =
        |of: &Option<(u64, u32)>| LogLoc { name: String::new(), bytes: of.as_ref().map(bytes) };
    LogTables { locs: locs.iter().map(loc).collect(), ..LogTables::default() }
}

/// An event with the number of a transaction, from 1; 0 has none.
fn event(thread: u16, kind: LogKind, loc: u32, txn: u32) -> LogEvent {
    LogEvent { txn, ..LogEvent::new(thread, kind, loc) }
}

/// Each event that is handed out: its thread, variable and transaction, and its number.
fn read(reader: &mut TxnReader, e: LogEvent) -> Result<Vec<(u32, u32, u32, u32)>, BadEvent> {
    let mut found = Vec::new();
    let read = reader.event(&e, |e, unit| found.push((e.thread, e.var, e.txn, unit)));
    read.map(|()| found).map_err(|bad| bad.why)
}

#[test]
fn transactions_by_numbers_and_brackets() {
    let mut reader = TxnReader::new(false, &tables(&[None, None]));
    let mut next = |e| read(&mut reader, e);
    // The same number is the same transaction, none is one of its own, and a thread has its own numbers.
    assert_eq!(next(event(0, Read, 0, 5)), Ok(vec![(0, 0, 0, 0)]));
    assert_eq!(next(event(0, Write, 1, 5)), Ok(vec![(0, 1, 0, 1)]));
    assert_eq!(next(event(1, Read, 0, 5)), Ok(vec![(1, 0, 1, 2)]));
    assert_eq!(next(event(0, Read, 0, 0)), Ok(vec![(0, 0, 2, 3)]));
    assert_eq!(next(event(0, Read, 0, 0)), Ok(vec![(0, 0, 3, 4)]));
    assert_eq!(next(event(0, Read, 0, 5)), Err(BadEvent::Resumed));
    // In brackets numbers do not count, and inner brackets neither.
    for e in [event(2, Begin, 0, 0), event(2, Begin, 0, 0), event(2, End, 0, 0)] {
        assert_eq!(next(e), Ok(vec![]));
    }
    let inside = event(2, Read, 0, 9);
    assert_eq!(next(inside), Ok(vec![(2, 0, 4, 9)]));
    assert_eq!(next(event(2, Write, 0, 8)), Ok(vec![(2, 0, 4, 10)]));
    assert_eq!(reader.labelled(&inside), event(2, Read, 0, 0));
    assert_eq!(reader.labelled(&event(1, Read, 0, 9)), event(1, Read, 0, 9));
    assert_eq!(reader.labelled(&event(7, Read, 0, 9)), event(7, Read, 0, 9));
    assert_eq!(reader.unended(), [(2, 6)]);
    assert_eq!(reader.open_transactions().collect::<Vec<_>>(), [3, 1, 4]);
    assert_eq!((reader.transactions(), reader.is_marked(), reader.events()), (5, true, 11));
    assert_eq!(read(&mut reader, event(2, End, 0, 0)), Ok(vec![]));
    assert_eq!(reader.over(), [2]);
    assert_eq!(reader.labelled(&inside), inside);
    assert!(reader.unended().is_empty());
    assert_eq!(read(&mut reader, event(2, End, 0, 0)), Err(BadEvent::NoBegin));
}

#[test]
fn threads_that_start_and_end() {
    let mut reader = TxnReader::new(false, &tables(&[None]));
    let mut next = |e| read(&mut reader, e);
    assert_eq!(next(event(0, Spawn, 3, 0)), Ok(vec![(0, 1, 0, 0)]));
    // A bracket notices nothing of the start.
    assert_eq!(next(event(3, Begin, 0, 0)), Ok(vec![]));
    assert_eq!(next(event(3, Write, 0, 0)), Ok(vec![(3, 1, 2, 2 ^ START), (3, 0, 1, 2)]));
    assert_eq!(next(event(3, Write, 0, 0)), Ok(vec![(3, 0, 1, 3)]));
    assert_eq!(next(event(0, Join, 3, 0)), Ok(vec![(3, 2, 4, 4 ^ END), (0, 2, 3, 4)]));
    assert_eq!(next(event(3, Read, 0, 0)), Err(BadEvent::Ended));
    assert_eq!(next(event(3, Begin, 0, 0)), Err(BadEvent::Ended));
    assert_eq!(next(event(0, Join, 0, 0)), Err(BadEvent::Ended));
    assert_eq!(reader.unended(), [(3, 1)], "it did not end its transaction");
    // But for the start and the end, there were those of the spawn, the bracket and the joins.
    assert_eq!(reader.transactions(), 4);
    let mut reader = TxnReader::new(true, &tables(&[None]));
    assert_eq!(read(&mut reader, event(1, Write, 0, 0)), Ok(vec![(1, 0, 0, 0)]));
    assert_eq!(reader.open_stores().collect::<Vec<_>>(), [(0, 0)]);
    assert_eq!(read(&mut reader, event(0, Join, 1, 0)), Err(BadEvent::Waits(Join, 0)));
    assert_eq!(
        reader.end().map_err(|bad| (bad.event, bad.why)),
        Err((0, BadEvent::NeverCommitted))
    );
}

/// Locations have variables in common where they overlap, and those that come later cut no variable.
#[test]
fn variables_of_bytes() {
    let first = [Some((10, 4)), Some((12, 4)), None, Some((20, 2))];
    let vars = |reader: &mut TxnReader, loc: u32| -> Vec<u32> {
        let found = read(reader, event(0, Read, loc, 0)).expect("fits");
        found.into_iter().map(|(_, var, ..)| var).collect()
    };
    let mut reader = TxnReader::new(false, &tables(&first));
    assert_eq!(vars(&mut reader, 0), [0, 1]);
    assert_eq!(vars(&mut reader, 1), [1, 2]);
    assert_eq!(vars(&mut reader, 2), [4]);
    assert_eq!(vars(&mut reader, 3), [3]);
    for cuts in [(11, 1), (9, 2), (15, 1), (13, 10), (21, 1), (20, 1)] {
        let all = [&first[..], &[Some(cuts)]].concat();
        assert!(reader.learn(&tables(&all)).is_err(), "{cuts:?}");
    }
    for (fits, expected) in [((10, 2), vec![0]), ((12, 2), vec![1]), ((20, 2), vec![3])] {
        let mut reader = TxnReader::new(false, &tables(&first));
        let all = [&first[..], &[Some(fits)]].concat();
        assert!(reader.learn(&tables(&all)).is_ok(), "{fits:?}");
        assert_eq!(vars(&mut reader, 4), expected, "{fits:?}");
    }
    // What lies around and between others has a variable for each gap.
    let all = [&first[..], &[Some((8, 16)), Some((16, 1))]].concat();
    assert!(reader.learn(&tables(&all)).is_ok());
    let whole = vars(&mut reader, 4);
    assert_eq!(whole.len(), 8, "{whole:?}");
    assert!([0, 1, 2, 3].iter().all(|var| whole.contains(var)) && !whole.contains(&4));
    let between = vars(&mut reader, 5);
    assert!(between.len() == 1 && whole.contains(&between[0]) && between[0] > 4);
}

fn access(thread: u32, kind: TxnKind, var: u32, txn: u32) -> TxnEvent {
    TxnEvent { thread, kind, var, txn }
}

const MODE: TraceMode = TraceMode::Exact(BufferedReads::Exact);

fn found(events: &[TxnEvent]) -> Vec<(usize, Vec<usize>)> {
    let trace = Trace::new(events, MODE).expect("a trace");
    let all: Vec<usize> = (0..events.len()).collect();
    let found = overwritten(&trace, &all);
    found.into_iter().map(|Overwritten { read, before }| (read, before)).collect()
}

#[test]
fn reads_whose_own_write_is_overwritten() {
    use TxnKind::{Fence, Read, Write};
    let other = access(1, Write, 0, 90);
    let start = [other, access(0, Write, 0, 0), access(0, Write, 1, 0), access(0, Read, 0, 0)];
    let with = |more: &[TxnEvent]| found(&[&start[..], &[other], more].concat());
    // A later read in another transaction, and none behind that if it reads memory.
    let memory = access(0, Read, 2, 1);
    assert_eq!(with(&[memory, access(0, Read, 3, 2)]), [(3, vec![5])]);
    // Not in the same transaction, nor of the same variable.
    assert_eq!(with(&[access(0, Read, 2, 0)]), []);
    // A read of another own write may be out of date, too: others come behind it.
    let own = access(0, Read, 1, 1);
    assert_eq!(with(&[own, access(0, Read, 1, 1), memory]), [(3, vec![5])]);
    assert_eq!(with(&[own, access(0, Read, 2, 2), access(0, Read, 3, 3)]), [(3, vec![5, 6])]);
    // A later read of the same own write stands for the first.
    assert_eq!(with(&[access(0, Read, 0, 1), other, access(0, Read, 2, 2)]), [(5, vec![7])]);
    // A store in between orders nothing, and what reads the same variable is in order anyway.
    let store = |var, txn| access(0, Write, var, txn);
    assert_eq!(with(&[store(2, 1), access(0, Read, 3, 2)]), [(3, vec![6])]);
    assert_eq!(with(&[store(0, 1), access(0, Read, 0, 2)]), []);
    // A fence orders all.
    assert_eq!(with(&[access(0, Fence, 0, 1), memory]), []);
    // Other threads do not matter, and without another one's write nothing is overwritten.
    assert_eq!(with(&[access(2, Read, 2, 7)]), []);
    assert_eq!(found(&[&start[1..], &[memory]].concat()), []);
    // Only what is wanted is looked at, and only until it is enough.
    let events = [&start[..], &[other, own, access(0, Read, 2, 2)]].concat();
    let trace = Trace::new(&events, MODE).expect("a trace");
    let all: Vec<usize> = (0..events.len()).collect();
    let mut pairs = Vec::new();
    each_overwritten(&trace, &all, &|read| read != 3, &mut |read, later| {
        pairs.push((read, later));
        true
    });
    assert_eq!(pairs, []);
    each_overwritten(&trace, &all, &|_| true, &mut |read, later| {
        pairs.push((read, later));
        false
    });
    assert_eq!(pairs, [(3, 5)]);
    // Two reads, and it is enough after the first.
    let two = [other, access(1, Write, 1, 91), access(0, Read, 1, 0), access(0, Read, 2, 5)];
    let events = [&start[..], &two].concat();
    let trace = Trace::new(&events, MODE).expect("a trace");
    let all: Vec<usize> = (0..events.len()).collect();
    assert_eq!(found(&events), [(3, vec![7]), (6, vec![7])]);
    pairs.clear();
    each_overwritten(&trace, &all, &|_| true, &mut |read, later| {
        pairs.push((read, later));
        false
    });
    assert_eq!(pairs, [(3, 7)]);
}

/// When events are noticed, whatever the execution.
#[test]
fn what_is_noticed_first() {
    use weakspot_core::serial::is_noticed_before;
    let events = trace_of("rd0(x)^0 wr0(y)^0 rd0(y)^0 fn0^0 up0(x)^0 wr1(x)^1 wr1(z)^1 rd1(x)^1");
    let trace = Trace::new(&events, MODE).expect("a trace");
    let before = |a, b| is_noticed_before(&trace, a, b);
    assert!((0..events.len()).all(|event| before(event, event)));
    // The store is noticed at the fence, and so is the read of it; stores of a thread are in order.
    let first = [(0, 1), (1, 2), (1, 3), (2, 3), (1, 5), (5, 6), (5, 7), (4, 5)];
    assert!(first.iter().all(|&(a, b)| before(a, b)));
    let none = [(1, 0), (6, 5), (6, 7), (7, 6), (5, 4), (3, 1)];
    assert!(none.iter().all(|&(a, b)| !before(a, b)));
}

/// Stores that reach memory later, by `com`.
#[test]
fn commits() {
    use LogKind::{Acquire, Commit, Fence, StoreFence, Update};
    let start = |events: &[LogEvent]| {
        let mut reader = TxnReader::new(true, &tables(&[None, None]));
        for &e in events {
            read(&mut reader, e).expect("fits");
        }
        reader
    };
    // A commit has the transaction and the number of its store.
    let mut reader = start(&[event(0, Write, 0, 5), event(0, Read, 1, 6), event(0, Write, 1, 6)]);
    assert_eq!(reader.open_stores().collect::<Vec<_>>(), [(0, 0), (2, 1)]);
    assert_eq!(read(&mut reader, event(0, Commit, 0, 5)), Ok(vec![(0, 0, 0, 0)]));
    assert_eq!(read(&mut reader, event(0, Commit, 1, 0)), Ok(vec![(0, 1, 1, 2)]));
    assert_eq!(reader.end(), Ok(()));
    assert_eq!(read(&mut reader, event(0, Commit, 1, 0)), Err(BadEvent::NothingPending));
    let refused = |commit, expected| {
        let mut reader = start(&[event(0, Write, 0, 5), event(0, Write, 1, 5)]);
        assert_eq!(read(&mut reader, commit), expected);
    };
    refused(event(0, Commit, 1, 5), Err(BadEvent::OtherLocation(0)));
    refused(event(0, Commit, 0, 6), Err(BadEvent::OtherTransaction(0)));
    refused(event(0, Commit, 0, 1), Err(BadEvent::OtherTransaction(0)));
    refused(event(1, Commit, 0, 5), Err(BadEvent::NothingPending));
    refused(event(0, Commit, 0, 0), Ok(vec![(0, 0, 0, 0)]));
    // A store without a number has a commit with any, and 1 is a number as others are.
    let mut reader = start(&[event(0, Write, 0, 0)]);
    assert_eq!(read(&mut reader, event(0, Commit, 0, 7)), Ok(vec![(0, 0, 0, 0)]));
    let mut reader = start(&[event(0, Write, 0, 1)]);
    assert_eq!(read(&mut reader, event(0, Commit, 0, 2)), Err(BadEvent::OtherTransaction(0)));
    // What waits for the stores of its thread, and what does not.
    for kind in [Fence, Update, Acquire, Spawn] {
        let mut reader = start(&[event(0, Write, 0, 0)]);
        assert_eq!(read(&mut reader, event(0, kind, 1, 0)), Err(BadEvent::Waits(kind, 0)));
        let mut reader = start(&[event(0, Write, 0, 0), event(0, Commit, 0, 0)]);
        assert!(read(&mut reader, event(0, kind, 1, 0)).is_ok());
    }
    let mut reader = start(&[event(0, Write, 0, 0)]);
    assert_eq!(read(&mut reader, event(0, StoreFence, 0, 0)), Ok(vec![]));
    assert_eq!(read(&mut reader, event(0, Read, 1, 0)), Ok(vec![(0, 1, 1, 2)]));
    assert_eq!(read(&mut reader, event(0, Join, 2, 0)), Ok(vec![(2, 2, 3, 3 ^ END), (0, 2, 2, 3)]));
}

/// What each event of a log becomes.
#[test]
fn kinds_of_events() {
    use LogKind::{Acquire, Fence, Release, Update};
    let mut reader = TxnReader::new(false, &tables(&[None, None]));
    let mut kinds = |e: LogEvent| {
        let mut found = Vec::new();
        reader.event(&e, |e, _| found.push((e.kind, e.var))).expect("fits");
        found
    };
    assert_eq!(kinds(event(0, Read, 1, 0)), [(TxnKind::Read, 1)]);
    assert_eq!(kinds(event(0, Write, 1, 0)), [(TxnKind::Write, 1)]);
    for kind in [Update, Acquire, Release] {
        assert_eq!(kinds(event(0, kind, 1, 0)), [(TxnKind::Update, 1)]);
    }
    assert_eq!(kinds(event(0, Fence, 1, 0)), [(TxnKind::Fence, 0)]);
    assert_eq!(kinds(event(0, Spawn, 3, 0)), [(TxnKind::Update, 2)]);
    assert_eq!(kinds(event(3, Read, 0, 0)), [(TxnKind::Read, 2), (TxnKind::Read, 0)]);
    assert_eq!(kinds(event(0, Join, 3, 0)), [(TxnKind::Update, 3), (TxnKind::Read, 3)]);
}

/// Whose transactions are over, which are marked, and what was left open.
#[test]
fn what_is_over() {
    use LogKind::{Fence, Update};
    let mut reader = TxnReader::new(false, &tables(&[None, None]));
    let mut next = |e, over: &[u32], is_marked| {
        read(&mut reader, e).expect("fits");
        assert_eq!((reader.over(), reader.is_marked()), (over, is_marked), "{e:?}");
    };
    // An event without a number is over at once, one with a number perhaps not.
    next(event(0, Read, 0, 0), &[0], false);
    next(event(1, Update, 0, 0), &[1], false);
    next(event(2, Read, 0, 7), &[], true);
    next(event(1, Update, 0, 1), &[], true);
    next(event(1, Fence, 0, 1), &[], true);
    next(event(1, Read, 0, 2), &[], true);
    next(event(0, Join, 1, 0), &[0, 1], true);
    next(event(0, Begin, 0, 0), &[], true);
    next(event(0, Update, 0, 7), &[], true);
    next(event(0, End, 0, 0), &[0], true);
    next(event(0, Begin, 0, 0), &[], true);
    assert_eq!(reader.transactions(), 8);
    let mut reader = TxnReader::new(false, &tables(&[None]));
    let mut next = |e| read(&mut reader, e);
    assert_eq!(next(event(0, Begin, 0, 0)), Ok(vec![]));
    assert!(reader.is_marked());
    let mut next = |e| read(&mut reader, e);
    // In brackets all belongs together, and with the same number too, also what is more than an access.
    assert_eq!(next(event(0, Update, 0, 3)), Ok(vec![(0, 0, 0, 1)]));
    assert_eq!(next(event(0, Update, 0, 4)), Ok(vec![(0, 0, 0, 2)]));
    assert_eq!(next(event(0, End, 0, 0)), Ok(vec![]));
    assert_eq!(next(event(0, Update, 0, 3)), Ok(vec![(0, 0, 1, 4)]));
    assert_eq!(next(event(0, Update, 0, 3)), Ok(vec![(0, 0, 1, 5)]));
    assert_eq!(next(event(0, Update, 0, 4)), Ok(vec![(0, 0, 2, 6)]));
    assert_eq!(next(event(0, Update, 0, 3)), Err(BadEvent::Resumed));
    // A bracket ends what its number had begun: the number has gone on after something else.
    assert_eq!(next(event(2, Read, 0, 1)), Ok(vec![(2, 0, 3, 8)]));
    assert_eq!(next(event(2, Begin, 0, 0)), Ok(vec![]));
    assert_eq!(next(event(2, End, 0, 0)), Ok(vec![]));
    assert_eq!(next(event(2, Read, 0, 1)), Err(BadEvent::Resumed));
    // A thread that starts again has no bracket open, and no number.
    assert_eq!(next(event(3, Begin, 0, 0)), Ok(vec![]));
    assert_eq!(next(event(4, Read, 0, 6)), Ok(vec![(4, 0, 6, 13)]));
    for thread in [3, 4] {
        assert!(
            next(event(0, Join, thread, 0)).is_ok() && next(event(0, Spawn, thread, 0)).is_ok()
        );
        let again = next(event(thread as u16, Read, 0, 0)).expect("fits");
        let after = next(event(thread as u16, Read, 0, 0)).expect("fits");
        assert!(again.len() == 2 && after.len() == 1 && again[1].2 != after[0].2);
    }
    assert_eq!(next(event(4, Read, 0, 6)), Err(BadEvent::Resumed));
    assert_eq!(reader.unended(), [(3, 12)]);
    assert!(read(&mut reader, event(3, Begin, 0, 0)).is_ok());
    assert!(read(&mut reader, event(1, Begin, 0, 0)).is_ok());
    let unended: Vec<u16> = reader.unended().into_iter().map(|(thread, _)| thread).collect();
    assert_eq!(unended, [3, 3, 1], "in the order in which they began");
    assert!(reader.bytes() > 0);
    // A thread that is started is new, also if nobody has waited for it.
    let mut reader = TxnReader::new(false, &tables(&[None]));
    let mut next = |e| read(&mut reader, e);
    assert_eq!(next(event(3, Begin, 0, 0)), Ok(vec![]));
    assert_eq!(next(event(0, Spawn, 3, 0)), Ok(vec![(0, 1, 1, 1)]));
    assert_eq!(next(event(3, Read, 0, 1)), Ok(vec![(3, 1, 2, 2 ^ START), (3, 0, 3, 2)]));
    assert!(reader.unended().is_empty());
}
