//! From logs to events of transactions: transactions, locations that overlap, threads, fences.

use std::collections::BTreeSet;
use std::fmt::Write;

use expect_test::{Expect, expect};
use weakspot_core::testing::Rng;
use weakspot_core::{Bytes, LogEvent, LogKind, LogLoc, LogTables};
use weakspot_serial::{BadEvent, TxnReader, fence_transactions};

/// Reads lines such as `0 wr 1 #3`.
fn log(text: &str) -> Vec<LogEvent> {
    text.lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let kind = LogKind::ALL.into_iter().find(|k| k.word() == words[1]).expect("a word");
            let number = |at: usize| words.get(at).filter(|w| !w.starts_with('#'));
            let loc = number(2).map_or(0, |w| w.parse().expect("a number"));
            let txn = words.last().and_then(|w| w.strip_prefix('#'));
            let txn = txn.map_or(0, |w| w.parse::<u32>().expect("a number") + 1);
            LogEvent { txn, ..LogEvent::new(words[0].parse().expect("a thread"), kind, loc) }
        })
        .collect()
}

fn tables(locs: &[Option<(u64, u32)>]) -> LogTables {
    let loc = |bytes: &Option<(u64, u32)>| LogLoc {
        name: String::new(),
        bytes: bytes.map(|(start, len)| Bytes { start, len }),
    };
    LogTables { locs: locs.iter().map(loc).collect(), ..LogTables::default() }
}

fn check(has_commits: bool, locs: &[Option<(u64, u32)>], text: &str, expected: Expect) {
    let mut reader = TxnReader::new(has_commits, &tables(locs));
    let mut out = String::new();
    for event in log(text) {
        let read = reader.event(&event, |e, _| {
            let _ = writeln!(out, "t{}: {:?} x{} of {}", e.thread, e.kind, e.var, e.txn);
        });
        if let Err(bad) = read {
            let _ = writeln!(out, "{bad:?}");
        }
    }
    if let Err(bad) = reader.end() {
        let _ = writeln!(out, "{bad:?}");
    }
    expected.assert_eq(&out);
}

#[test]
fn transactions() {
    let text = "0 begin\n0 rd 0\n0 begin\n0 wr 1\n0 end\n0 rd 0 #7\n0 end\n0 rd 0\n0 rd 0\n\
                0 rd 0 #1\n1 rd 0 #1\n0 fence #1\n0 rd 0 #2\n0 rd 0 #1\n0 end";
    check(
        false,
        &[None, None],
        text,
        expect![[r#"
            t0: Read x0 of 0
            t0: Write x1 of 0
            t0: Read x0 of 0
            t0: Read x0 of 1
            t0: Read x0 of 2
            t0: Read x0 of 3
            t1: Read x0 of 4
            t0: Fence x0 of 3
            t0: Read x0 of 5
            BadLog { event: 13, why: Resumed }
            BadLog { event: 14, why: NoBegin }
        "#]],
    );
}

#[test]
fn commits() {
    let locs = [Some((0, 4)), Some((2, 2)), None];
    let text =
        "0 wr 0 #1\n0 wr 1 #2\n1 rd 2\n0 com 0\n0 rd 2\n0 com 1 #2\n0 com 1\n0 wr 2\n0 fence";
    check(
        true,
        &locs,
        text,
        expect![[r#"
            t0: Write x0 of 0
            t0: Write x1 of 0
            t0: Write x1 of 1
            t1: Read x2 of 2
            t0: Commit x0 of 0
            t0: Commit x1 of 0
            t0: Read x2 of 3
            t0: Commit x1 of 1
            BadLog { event: 6, why: NothingPending }
            t0: Write x2 of 4
            BadLog { event: 8, why: Waits(Fence, 7) }
            BadLog { event: 7, why: NeverCommitted }
        "#]],
    );
}

#[test]
fn threads() {
    let text = "0 begin\n0 spawn 1\n0 end\n1 begin\n1 wr 0\n1 end\n0 join 1\n0 acq 0";
    check(
        false,
        &[None],
        text,
        expect![[r#"
        t0: Update x1 of 0
        t1: Read x1 of 1
        t1: Write x0 of 2
        t1: Update x2 of 4
        t0: Read x2 of 3
        t0: Update x0 of 5
    "#]],
    );
}

/// Locations have a variable in common if and only if they overlap, whether they are known from the
/// start or come later; those that cut others are noticed.
#[test]
fn locations() {
    let (mut cut, mut kept) = (0, 0);
    for seed in 0..20_000 {
        let mut rng = Rng::new(seed);
        let any = |rng: &mut Rng| {
            let start = if rng.one_in(4) { u64::MAX - 12 } else { 0x1000 };
            (!rng.one_in(8)).then(|| (start + rng.below(8) as u64, 1 + rng.below(5) as u32))
        };
        let locs: Vec<_> = (0..1 + rng.below(6)).map(|_| any(&mut rng)).collect();
        let tables = tables(&locs);
        let first = rng.below(locs.len() + 1);
        let known = LogTables { locs: tables.locs[..first].to_vec(), ..LogTables::default() };
        let mut reader = TxnReader::new(false, &known);
        let vars_of = |reader: &mut TxnReader, loc: usize| {
            let mut vars = BTreeSet::new();
            let event = LogEvent::new(0, LogKind::Read, loc as u32);
            reader.event(&event, |e, _| assert!(vars.insert(e.var), "seed {seed}")).expect("fits");
            vars
        };
        let before: Vec<_> = (0..first).map(|loc| vars_of(&mut reader, loc)).collect();
        if reader.learn(&tables).is_err() {
            cut += 1;
            reader = TxnReader::new(false, &tables);
        } else {
            kept += 1;
            for (loc, vars) in before.iter().enumerate() {
                assert_eq!(vars_of(&mut reader, loc), *vars, "seed {seed}");
            }
        }
        let vars: Vec<_> = (0..locs.len()).map(|loc| vars_of(&mut reader, loc)).collect();
        for a in 0..locs.len() {
            for b in 0..locs.len() {
                let common = !vars[a].is_disjoint(&vars[b]);
                assert_eq!(common, tables.overlap(a as u32, b as u32), "seed {seed} {a} {b}");
            }
        }
    }
    assert!(cut > 1_000 && kept > 1_000, "{cut} {kept}");
}

/// So many locations that overlap so many others are refused, not expanded.
#[test]
fn too_many_locations() {
    let locs: Vec<_> = (0..20_000).map(|i| Some((i, 20_000))).collect();
    let mut reader = TxnReader::new(false, &tables(&locs));
    let event = LogEvent::new(0, LogKind::Read, 19_999);
    let bad = reader.event(&event, |_, _| {}).expect_err("too many");
    assert_eq!(bad.why, BadEvent::TooMany);
}

#[test]
fn fences() {
    let check = |text: &str, expected: &[u64]| {
        assert_eq!(fence_transactions(&log(text)).after, expected, "{text}");
    };
    check("0 wr 0 #1\n1 rd 0\n0 rd 1 #1\n0 rd 1", &[2]);
    check("0 wr 0 #1\n0 fence #1\n0 rd 1 #1", &[]);
    check("0 fence\n0 wr 0\n0 wr 0\n0 rd 1", &[1, 2]);
    check("0 begin\n0 wr 0\n0 begin\n0 end\n0 rd 1\n0 end\n0 rd 0", &[4]);
    check("0 wr 0 #1\n0 upd 1 #1\n1 wr 0", &[2]);
    let fenced = fence_transactions(&log("0 begin\n0 wr 0\n0 end\n1 rd 0"));
    let kinds: Vec<&str> = fenced.events.iter().map(|event| event.kind.word()).collect();
    assert_eq!(kinds, ["begin", "wr", "fence", "end", "rd"]);
    assert_eq!(fenced.numbers, [0, 1, 1, 2, 3]);
}
