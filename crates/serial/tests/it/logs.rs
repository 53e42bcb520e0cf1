//! From logs to events of transactions: transactions, locations that overlap, threads, fences.

use std::collections::BTreeSet;
use std::fmt::Write;

use expect_test::{Expect, expect};
use weakspot_core::serial::{BufferedReads, Question};
use weakspot_core::testing::{Rng, scaled};
use weakspot_core::{Bytes, LogEvent, LogKind, LogLoc, LogTables};
use weakspot_serial::{BadEvent, Explain, Follow, Ordered, TxnReader, fence_transactions};

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
            t1: Read x1 of 2
            t1: Write x0 of 1
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
    for seed in 0..scaled(80_000) as u64 {
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
    assert!(cut > scaled(4000) && kept > scaled(4000), "{cut} {kept}");
}

/// A number that comes back is refused, however long ago it was used, and one that may be such.
#[test]
fn numbers_that_come_back() {
    fn read(mut numbers: impl Iterator<Item = u32>) -> Option<(u64, BadEvent)> {
        let mut reader = TxnReader::new(false, &tables(&[None]));
        let event = |txn: u32| LogEvent { txn: txn + 1, ..LogEvent::new(0, LogKind::Read, 0) };
        let refused = numbers.find_map(|txn| reader.event(&event(txn), |_, _| {}).err());
        refused.map(|bad| (bad.event, bad.why))
    }
    let many = 1_200_000;
    assert_eq!(read((0..many).chain([7])), Some((many.into(), BadEvent::Resumed)));
    assert_eq!(read((0..many).rev()), Some(((1 << 20) + 1, BadEvent::PerhapsResumed)));
    assert_eq!(read((0..many).map(|number| 3 * number)), None);
    let rises = (0..many).map(|number| 3 * number);
    let last = Some((many.into(), BadEvent::PerhapsResumed));
    assert_eq!(read(rises.chain([3 * many - 6])), last);
    // One by one up and down again.
    let zigzag = |n: u32| if n.is_multiple_of(2) { n + 1 } else { n - 1 };
    assert_eq!(read((0..900_000).map(zigzag)), None);
    let last = Some((300_000, BadEvent::Resumed));
    assert_eq!(read((0..300_000).map(zigzag).chain([5])), last);
}

/// So many locations that overlap so many others are refused, not expanded.
#[test]
fn too_many_locations() {
    let locs: Vec<_> = (0..6_000).map(|i| Some((i, 6_000))).collect();
    let mut reader = TxnReader::new(false, &tables(&locs));
    let event = LogEvent::new(0, LogKind::Read, 5_999);
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

/// Events of all kinds in any order: no panic, and what is found is accepted by the checks.
#[test]
fn any_log() {
    let (mut cycles, mut orders, mut bad) = (0, 0, 0);
    let questions = [
        Question::TsoSerializable(BufferedReads::Exact),
        Question::TsoSerializable(BufferedReads::Static),
        Question::ScSerializable,
        Question::ScEquivalent,
    ];
    for seed in 0..scaled(120_000) as u64 {
        let mut rng = Rng::new(seed);
        let has_commits = rng.one_in(2);
        let tables = tables(&[None, Some((0, 4)), Some((2, 4)), Some((0, 8))]);
        let mut stores: Vec<Vec<u32>> = vec![Vec::new(); 3];
        let mut events = Vec::new();
        for _ in 0..3 + rng.below(20) {
            let thread = rng.below(3) as u16;
            let mut kind = LogKind::ALL[rng.below(11)];
            if matches!(kind, LogKind::Join | LogKind::Spawn | LogKind::End) && !rng.one_in(8) {
                kind = if rng.one_in(2) { LogKind::Write } else { LogKind::Begin };
            }
            let pending = &mut stores[usize::from(thread)];
            // Mostly logs that make sense.
            let drains = kind.is_update() || matches!(kind, LogKind::Fence | LogKind::Spawn);
            if has_commits && !pending.is_empty() && (drains || rng.one_in(3)) {
                kind = LogKind::Commit;
            }
            let loc = match kind {
                LogKind::Spawn | LogKind::Join => rng.below(3) as u32,
                LogKind::Commit => pending.remove(0),
                kind if kind.is_access() => rng.below(4) as u32,
                _ => 0,
            };
            if kind == LogKind::Write && has_commits {
                pending.push(loc);
            }
            let txn = if rng.one_in(3) { events.len() as u32 / 2 + 1 } else { 0 };
            let txn = if kind == LogKind::Commit { 0 } else { txn };
            events.push(LogEvent { txn, ..LogEvent::new(thread, kind, loc) });
        }
        for (thread, pending) in stores.iter().enumerate() {
            let commit = |&loc: &u32| LogEvent::new(thread as u16, LogKind::Commit, loc);
            events.extend(pending.iter().map(commit));
        }
        let questions = if has_commits { &questions[..] } else { &questions[2..3] };
        let mut follow = Follow::new(questions, has_commits, &tables, true);
        if follow.events(&events).is_err() || follow.end().is_err() {
            bad += 1;
            continue;
        }
        for &question in questions {
            if let Some(cycle) = follow.cycle(question) {
                cycles += 1;
                let mut explain = Explain::new(question, has_commits, &tables, cycle);
                assert_eq!(explain.events(&events), Ok(true), "seed {seed} {question:?}");
                assert!(explain.end().is_ok(), "seed {seed} {question:?}");
            } else {
                orders += 1;
                let order = follow.take_order(question).expect("it was asked for");
                let check = Ordered::new(question, has_commits, &tables, &order);
                let mut check =
                    check.unwrap_or_else(|why| panic!("seed {seed} {question:?}: {why}"));
                assert_eq!(check.events(&events), Ok(()), "seed {seed} {question:?}");
                assert!(check.end().is_ok(), "seed {seed}");
            }
        }
    }
    assert!(
        cycles > scaled(20_000) && orders > scaled(20_000) && bad > scaled(4000),
        "{cycles} {orders} {bad}"
    );
}
