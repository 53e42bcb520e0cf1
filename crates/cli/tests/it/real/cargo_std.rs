//! What threads of Rust use to talk to each other, each in a small test that races: it is decided.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;
use weakspot_core::testing::{Rng, scaled};

use crate::real::cargo::{cargo, ends_of, library};

const LIBRARY: &str = r#"
use std::sync::atomic::{AtomicUsize, Ordering::{Relaxed, SeqCst}};
use std::sync::{Arc, Condvar, Mutex, RwLock};
use std::sync::mpsc::{TryRecvError, channel, sync_channel};
use std::{thread, time::Duration};

#[test]
fn unbounded() {
    let (sender, receiver) = channel();
    let t = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(receiver.recv(), Ok(1));
    t.join().unwrap();
}

#[test]
fn hands_over() {
    let (sender, receiver) = sync_channel(0);
    let t = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(receiver.recv(), Ok(1));
    t.join().unwrap();
}

#[test]
fn asks_once() {
    let (sender, receiver) = channel();
    let t = thread::spawn(move || sender.send(1).unwrap());
    assert!([Ok(1), Err(TryRecvError::Empty)].contains(&receiver.try_recv()));
    t.join().unwrap();
}

/// The message comes behind the last try.
#[test]
fn asks_wrong() {
    let (sender, receiver) = channel();
    let t = thread::spawn(move || sender.send(1).unwrap());
    let tries = (0..40).take_while(|_| receiver.try_recv().is_err()).count();
    t.join().unwrap();
    assert!(tries < 40);
}

/// Nobody sends.
#[test]
fn waits_wrong() {
    let (sender, receiver) = sync_channel::<i32>(1);
    let t = thread::spawn(move || receiver.recv());
    t.join().unwrap().unwrap_err();
    drop(sender);
}

static PAIR: (AtomicUsize, AtomicUsize) = (AtomicUsize::new(0), AtomicUsize::new(0));

#[test]
fn pair_wrong() {
    let t = thread::spawn(|| PAIR.0.store(1, Relaxed));
    PAIR.1.store(1, Relaxed);
    assert_eq!(PAIR.0.load(Relaxed), 1);
    t.join().unwrap();
}

/// Six orders of three threads, and nothing else.
#[test]
fn mutexes() {
    let sum = Arc::new(Mutex::new(0));
    let add = |by: i32| {
        let sum = Arc::clone(&sum);
        thread::spawn(move || *sum.lock().unwrap() += by)
    };
    let threads = [add(1), add(2), add(3)];
    threads.map(|t| t.join().unwrap());
    assert_eq!(*sum.lock().unwrap(), 6);
}

#[test]
fn mutexes_wrong() {
    let locks = Arc::new((Mutex::new(()), Mutex::new(())));
    let other = Arc::clone(&locks);
    let t = thread::spawn(move || {
        let _one = other.0.lock().unwrap();
        let _two = other.1.lock().unwrap();
    });
    let two = locks.1.lock().unwrap();
    let one = locks.0.lock().unwrap();
    drop((one, two));
    t.join().unwrap();
}

#[test]
fn condition() {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let other = Arc::clone(&pair);
    let t = thread::spawn(move || {
        *other.0.lock().unwrap() = true;
        other.1.notify_one();
    });
    let mut done = pair.0.lock().unwrap();
    while !*done {
        done = pair.1.wait(done).unwrap();
    }
    drop(done);
    t.join().unwrap();
}

/// The flag is not changed under the mutex: the wake-up may come before the sleep.
#[test]
fn flag_wrong() {
    static FLAG: AtomicUsize = AtomicUsize::new(0);
    static LOCK: Mutex<()> = Mutex::new(());
    static CHANGED: Condvar = Condvar::new();
    let t = thread::spawn(|| {
        FLAG.store(1, SeqCst);
        CHANGED.notify_one();
    });
    let mut held = LOCK.lock().unwrap();
    while FLAG.load(SeqCst) == 0 {
        held = CHANGED.wait(held).unwrap();
    }
    drop(held);
    t.join().unwrap();
}

/// Nobody remembers that there was a wake-up.
#[test]
fn notify_wrong() {
    let pair = Arc::new((Mutex::new(()), Condvar::new()));
    let other = Arc::clone(&pair);
    let t = thread::spawn(move || other.1.notify_one());
    let held = pair.0.lock().unwrap();
    drop(pair.1.wait(held).unwrap());
    t.join().unwrap();
}

/// Beside a thread that sits in an assumption.
#[test]
fn hidden_wrong() {
    static DONE: AtomicUsize = AtomicUsize::new(0);
    #[inline(never)]
    fn assume(holds: bool) {
        while !holds {
            thread::yield_now();
        }
    }
    let locks = Arc::new((Mutex::new(()), Mutex::new(())));
    let other = Arc::clone(&locks);
    let t = thread::spawn(move || {
        let _one = other.0.lock().unwrap();
        let _two = other.1.lock().unwrap();
        DONE.store(1, Relaxed);
    });
    let assumes = thread::spawn(|| assume(DONE.load(Relaxed) == 1));
    let two = locks.1.lock().unwrap();
    let one = locks.0.lock().unwrap();
    drop((one, two));
    t.join().unwrap();
    assumes.join().unwrap();
}

#[test]
fn gives_way() {
    let t = thread::spawn(|| loop {
        thread::yield_now();
    });
    t.join().unwrap();
}

/// The time is over when a wait for it ends.
#[test]
fn times_out() {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let other = Arc::clone(&pair);
    let t = thread::spawn(move || {
        *other.0.lock().unwrap() = true;
        other.1.notify_one();
    });
    let half = Duration::from_millis(500);
    let set = pair.0.lock().unwrap();
    drop(pair.1.wait_timeout_while(set, half, |set| !*set).unwrap());
    t.join().unwrap();
}

#[test]
fn receives_in_time() {
    let (sender, receiver) = channel();
    let t = thread::spawn(move || sender.send(1).unwrap());
    let _ = receiver.recv_timeout(Duration::from_millis(10));
    t.join().unwrap();
}

#[test]
fn polls() {
    let value = Arc::new(Mutex::new(0));
    let other = Arc::clone(&value);
    let t = thread::spawn(move || *other.lock().unwrap() = 1);
    while *value.lock().unwrap() == 0 {
        thread::yield_now();
    }
    t.join().unwrap();
}

/// Two readers that wait for each other, and a writer that may come between them.
fn meet(writes: bool) {
    let lock = Arc::new((RwLock::new(0), AtomicUsize::new(0)));
    let readers = [(); 2].map(|()| {
        let lock = Arc::clone(&lock);
        thread::spawn(move || {
            let _read = lock.0.read().unwrap();
            lock.1.fetch_add(1, SeqCst);
            while lock.1.load(SeqCst) < 2 {
                thread::yield_now();
            }
        })
    });
    if writes {
        *lock.0.write().unwrap() += 1;
    }
    readers.into_iter().for_each(|t| t.join().unwrap());
}

#[test]
fn meets() {
    meet(false);
}

#[test]
fn meets_wrong() {
    meet(true);
}

#[test]
fn scoped() {
    let mut values = [0; 2];
    thread::scope(|s| {
        for value in &mut values {
            s.spawn(|| *value = 1);
        }
    });
    assert_eq!(values, [1, 1]);
}

/// Who tries does not get a lock that a writer waits for, which its word does not say.
#[test]
fn tries_to_read() {
    let lock = Arc::new(RwLock::new(0));
    let other = Arc::clone(&lock);
    let t = thread::spawn(move || *other.write().unwrap() = 1);
    while lock.try_read().is_err() {
        thread::yield_now();
    }
    t.join().unwrap();
}
"#;

#[test]
fn channels_and_loops_that_give_way_are_decided() {
    let folder = library("std", LIBRARY);
    // Whoever tries forty times does so.
    let ours = ["--format", "json", "--strategy", "dpor", "--spins", "100", "--timeout", "5m"];
    let ran = cargo("test", &folder, &ours, &[]);
    let mut verdicts = BTreeMap::new();
    let mut executions = BTreeMap::new();
    let mut kinds = BTreeMap::new();
    for line in ran.out.lines() {
        let answer: Value = serde_json::from_str(line).expect("JSON");
        if answer["model"] == "sc" {
            let name = answer["file"].as_str().and_then(|file| file.rsplit("::").next());
            let name = name.expect("a name").to_owned();
            executions.insert(name.clone(), answer["executions"].as_u64().unwrap_or(0));
            verdicts.insert(name.clone(), answer["verdict"].clone());
            kinds.insert(name, answer["failures"][0].clone());
        }
    }
    for name in
        ["unbounded", "hands_over", "asks_once", "mutexes", "condition", "times_out", "polls"]
    {
        assert_eq!(verdicts[name], "holds", "{}", ran.out);
    }
    for name in ["receives_in_time", "meets", "scoped", "tries_to_read"] {
        assert_eq!(verdicts[name], "holds", "{}", ran.out);
    }
    for (name, kind) in [
        ("asks_wrong", "panic"),
        ("pair_wrong", "panic"),
        ("waits_wrong", "deadlock"),
        ("mutexes_wrong", "deadlock"),
        ("flag_wrong", "deadlock"),
        ("notify_wrong", "deadlock"),
        ("hidden_wrong", "deadlock"),
        ("meets_wrong", "livelock"),
    ] {
        assert_eq!(kinds[name]["kind"], kind, "{}", ran.out);
    }
    // Code that is not instrumented might end it.
    assert_eq!(verdicts["gives_way"], "unknown", "{}", ran.out);
    let given_up = "given up at src/lib.rs:160 in ";
    assert!(ran.out.contains(given_up), "{}", ran.out);
    let run = kinds["pair_wrong"]["run"].to_string();
    assert!(run.contains(r#""PAIR.0""#) && run.contains(r#""PAIR.1""#), "{run}");
    // Whoever waits for a mutex takes it when it is free, and does nothing else.
    assert!(executions["mutexes"] <= 100, "{executions:?}");
    let waits = kinds["mutexes_wrong"]["message"].to_string();
    assert_eq!(waits.matches("waits in Mutex::lock for ").count(), 2, "{waits}");
}

/// What a thread does with two mutexes, one after the other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Lock(usize),
    /// If it is free, otherwise the next two are left out.
    TryLock(usize),
    /// Changes what a mutex protects, so that the order of changes can be told.
    Change(usize, u32),
    Unlock(usize),
}

fn changed(value: u32, by: u32) -> u32 {
    value * 3 + by
}

/// A thread that takes and frees mutexes, some within each other.
fn random_thread(rng: &mut Rng) -> Vec<Act> {
    let mut acts = Vec::new();
    for _ in 0..1 + rng.below(2) {
        let (m, by) = (rng.below(2), 1 + rng.below(2) as u32);
        let change = Act::Change(m, by);
        match rng.below(3) {
            0 => acts.extend([Act::Lock(m), change, Act::Unlock(m)]),
            1 => acts.extend([Act::TryLock(m), change, Act::Unlock(m)]),
            _ => {
                let inner = [Act::Lock(1 - m), Act::Change(1 - m, by), Act::Unlock(1 - m)];
                acts.push(Act::Lock(m));
                acts.extend(inner);
                acts.extend([change, Act::Unlock(m)]);
            }
        }
    }
    acts
}

/// The same in Rust.
fn source(acts: &[Act]) -> String {
    let mut out = String::new();
    for act in acts {
        let _ = match act {
            Act::Lock(m) => writeln!(out, "{{ let mut g{m} = MUTEXES[{m}].lock().unwrap();"),
            Act::TryLock(m) => writeln!(out, "if let Ok(mut g{m}) = MUTEXES[{m}].try_lock() {{"),
            Act::Change(m, by) => writeln!(out, "*g{m} = *g{m} * 3 + {by};"),
            Act::Unlock(m) => writeln!(out, "drop(g{m}); }}"),
        };
    }
    out
}

/// What comes of all orders: both values in the end, or nothing if nobody can go on.
fn all_ends(threads: &[Vec<Act>]) -> BTreeSet<Option<[u32; 2]>> {
    let mut found = BTreeSet::new();
    let mut open = vec![(vec![0; threads.len()], [0, 0], [false, false])];
    while let Some((at, values, held)) = open.pop() {
        if at.iter().zip(threads).all(|(&at, acts)| at == acts.len()) {
            found.insert(Some(values));
            continue;
        }
        let before = open.len();
        for (t, acts) in threads.iter().enumerate() {
            let Some(act) = acts.get(at[t]) else { continue };
            let (mut at, mut values, mut held) = (at.clone(), values, held);
            at[t] += 1;
            match *act {
                Act::Lock(m) if held[m] => continue,
                Act::TryLock(m) if held[m] => at[t] += 2,
                Act::Lock(m) | Act::TryLock(m) => held[m] = true,
                Act::Change(m, by) => values[m] = changed(values[m], by),
                Act::Unlock(m) => held[m] = false,
            }
            open.push((at, values, held));
        }
        if open.len() == before {
            found.insert(None);
        }
    }
    found
}

/// Random programs with mutexes end in every way in which all orders of their steps end, and in no other.
#[test]
fn mutexes_end_as_by_all_orders() {
    let mut rng = Rng::new(16);
    let mut text = "use std::sync::Mutex;\nuse std::thread;\nstatic MUTEXES: [Mutex<u32>; 2] = [const { Mutex::new(0) }; 2];\n".to_owned();
    let mut expected = Vec::new();
    for test in 0..scaled(32).max(4) {
        let threads: Vec<Vec<Act>> = (0..2).map(|_| random_thread(&mut rng)).collect();
        let _ = writeln!(text, "#[test] fn random_{test}() {{");
        for (t, acts) in threads.iter().enumerate() {
            let _ = writeln!(text, "let t{t} = thread::spawn(|| {{ {} }});", source(acts));
        }
        let _ = writeln!(text, "t0.join().unwrap(); t1.join().unwrap();");
        let _ = writeln!(text, "let value = |m: usize| *MUTEXES[m].lock().unwrap();");
        let _ = writeln!(text, "panic!(\"ended {{}} {{}}\", value(0), value(1)); }}");
        expected.push(all_ends(&threads));
    }
    assert!(expected.iter().any(|ends| ends.contains(&None) && ends.len() > 2));
    assert_eq!(ends_of("mutexes", &text, expected.len()), expected);
}

const COMMON: &str = r#"
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Barrier, Weak};
use std::thread;

#[test]
fn hands_over_twice() {
    let (sender, receiver) = sync_channel(0);
    let t = thread::spawn(move || {
        sender.send(1).unwrap();
        sender.send(2).unwrap();
    });
    assert_eq!((receiver.recv(), receiver.recv()), (Ok(1), Ok(2)));
    t.join().unwrap();
}

#[test]
fn meets_once() {
    let barrier = Arc::new(Barrier::new(3));
    let threads = [(); 3].map(|()| {
        let barrier = Arc::clone(&barrier);
        thread::spawn(move || barrier.wait().is_leader())
    });
    let leaders = threads.map(|t| usize::from(t.join().unwrap()));
    assert_eq!(leaders.iter().sum::<usize>(), 1);
}

#[test]
fn scope_of_four() {
    let one = Arc::new(1);
    thread::scope(|s| {
        for _ in 0..4 {
            let one = Arc::clone(&one);
            s.spawn(move || assert_eq!(*one, 1));
        }
    });
    assert_eq!(Arc::strong_count(&one), 1);
}

#[test]
fn clones_by_four() {
    let one = Arc::new(1);
    let threads = [(); 4].map(|()| {
        let one = Arc::clone(&one);
        thread::spawn(move || {
            let two = Arc::clone(&one);
            drop(one);
            assert_eq!(*two, 1);
        })
    });
    drop(one);
    threads.into_iter().for_each(|t| t.join().unwrap());
}

/// Whoever is the last cannot be told beforehand.
#[test]
fn last_wrong() {
    static LAST: AtomicUsize = AtomicUsize::new(0);
    struct Tells;
    impl Drop for Tells {
        fn drop(&mut self) {
            let name = thread::current().name().map(str::to_owned);
            LAST.store(name.and_then(|name| name.parse().ok()).unwrap_or(0), SeqCst);
        }
    }
    let value = Arc::new(Tells);
    let threads = [1, 2, 3].map(|n| {
        let value = Arc::clone(&value);
        thread::Builder::new().name(n.to_string()).spawn(move || drop(value)).unwrap()
    });
    drop(value);
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_ne!(LAST.load(SeqCst), 2);
}

/// A reference that was never counted: it may be dropped before the other is cloned.
#[test]
fn uncounted_wrong() {
    let one = Arc::new(1);
    let copy = unsafe { std::ptr::read(&one) };
    let t = thread::spawn(move || drop(copy));
    let two = Arc::clone(&one);
    t.join().unwrap();
    drop(two);
    std::mem::forget(one);
}

/// A count that is looked at says how many there are.
#[test]
fn asks_wrong() {
    let one = Arc::new(1);
    let other = Arc::clone(&one);
    let t = thread::spawn(move || drop(other));
    assert_eq!(Arc::strong_count(&one), 2);
    t.join().unwrap();
}

#[test]
fn upgrade_wrong() {
    let one = Arc::new(1);
    let weak: Weak<i32> = Arc::downgrade(&one);
    let t = thread::spawn(move || drop(one));
    assert!(weak.upgrade().is_some());
    t.join().unwrap();
}

/// The thread may be unparked before it parks, which is remembered once.
#[test]
fn parks() {
    let main = thread::current();
    let t = thread::spawn(move || main.unpark());
    thread::park();
    t.join().unwrap();
}

/// Whose additions come first cannot be told, unless somebody uses what they return.
#[test]
fn adds_three() {
    static SUM: AtomicUsize = AtomicUsize::new(0);
    let threads = [1, 2, 3].map(|n| {
        thread::spawn(move || {
            SUM.fetch_add(n, SeqCst);
            SUM.fetch_sub(1, SeqCst);
        })
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(SUM.load(SeqCst), 3);
}

#[test]
fn adds_wrong() {
    static SUM: AtomicUsize = AtomicUsize::new(0);
    let threads = [1, 2].map(|n| thread::spawn(move || SUM.fetch_add(n, SeqCst)));
    let before = threads.map(|t| t.join().unwrap());
    assert_ne!(before, [2, 0]);
}

#[test]
fn adds_and_loads_wrong() {
    static SUM: AtomicUsize = AtomicUsize::new(0);
    let t = thread::spawn(|| {
        SUM.fetch_add(1, SeqCst);
    });
    SUM.fetch_add(2, SeqCst);
    assert_ne!(SUM.load(SeqCst), 2);
    t.join().unwrap();
}

#[test]
fn parks_wrong() {
    let main = thread::current();
    let t = thread::spawn(move || {
        main.unpark();
        main.unpark();
    });
    thread::park();
    thread::park();
    t.join().unwrap();
}
"#;

/// What differs only in the order of counts, of wake-ups and of leaving is explored once, and nothing else is left out.
#[test]
fn counts_and_wake_ups_are_explored_once() {
    let folder = library("common", COMMON);
    let ours = ["--format", "json", "--strategy", "dpor", "--timeout", "5m"];
    let ran = cargo("test", &folder, &ours, &[]);
    let mut found = BTreeMap::new();
    for line in ran.out.lines() {
        let answer: Value = serde_json::from_str(line).expect("JSON");
        if answer["model"] == "sc" {
            let name = answer["file"].as_str().and_then(|file| file.rsplit("::").next());
            let name = name.expect("a name").to_owned();
            let kind = answer["failures"][0]["kind"].as_str().unwrap_or("").to_owned();
            let executions = answer["executions"].as_u64().unwrap_or(u64::MAX);
            let verdict = answer["verdict"].as_str().unwrap_or("").to_owned();
            found.insert(name, (verdict, kind, executions));
        }
    }
    // The numbers of docs/how/strategies/dpor.md, among others.
    for (name, most) in [
        ("hands_over_twice", 540),
        ("meets_once", 108),
        ("scope_of_four", 34),
        ("clones_by_four", 5),
        ("parks", 10),
        ("adds_three", 1),
    ] {
        let (verdict, _, executions) = &found[name];
        assert!(verdict == "holds" && *executions <= most, "{name}: {found:#?}");
    }
    for (name, kind) in [
        ("last_wrong", "panic"),
        ("uncounted_wrong", "use-after-free"),
        ("asks_wrong", "panic"),
        ("upgrade_wrong", "panic"),
        ("parks_wrong", "deadlock"),
        ("adds_wrong", "panic"),
        ("adds_and_loads_wrong", "panic"),
    ] {
        assert_eq!(found[name].1, kind, "{name}: {found:#?}");
    }
}

/// What a thread does with references to something that says who has dropped it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Clone,
    Drop,
    /// Changes a number, so that the order of changes can be told.
    Change(u32),
}

/// A thread that has a reference, clones it perhaps, and drops all that it has.
fn random_holder(rng: &mut Rng) -> Vec<Held> {
    let (mut acts, mut held) = (Vec::new(), 1);
    for _ in 0..2 + rng.below(2) {
        match rng.below(3) {
            0 if held > 0 => {
                acts.push(Held::Clone);
                held += 1;
            }
            1 if held > 0 => {
                acts.push(Held::Drop);
                held -= 1;
            }
            _ => acts.push(Held::Change(1 + rng.below(2) as u32)),
        }
    }
    acts.extend(std::iter::repeat_n(Held::Drop, held));
    acts
}

/// What comes of all orders: the number in the end, with 7 times the thread that drops the last reference put in.
fn all_ends_of(threads: &[Vec<Held>]) -> BTreeSet<Option<[u32; 1]>> {
    let mut found = BTreeSet::new();
    let mut open = vec![(vec![0; threads.len()], 0_u32, threads.len())];
    while let Some((at, value, held)) = open.pop() {
        if at.iter().zip(threads).all(|(&at, acts)| at == acts.len()) {
            found.insert(Some([value]));
            continue;
        }
        for (t, acts) in threads.iter().enumerate() {
            let Some(act) = acts.get(at[t]) else { continue };
            let (mut at, mut value, mut held) = (at.clone(), value, held);
            at[t] += 1;
            match *act {
                Held::Clone => held += 1,
                Held::Drop => {
                    held -= 1;
                    if held == 0 {
                        value = value * 3 + 7 * (t as u32 + 1);
                    }
                }
                Held::Change(by) => value = changed(value, by),
            }
            open.push((at, value, held));
        }
    }
    found
}

/// Random programs that count references end in every way in which all orders of their steps end, and in no other.
#[test]
fn references_end_as_by_all_orders() {
    let mut rng = Rng::new(23);
    let mut text = "use std::sync::{Arc, Mutex};\nuse std::thread;\nstatic VALUE: Mutex<u32> = Mutex::new(0);\nthread_local!(static ME: std::cell::Cell<u32> = const { std::cell::Cell::new(0) });\nstruct Tells;\nimpl Drop for Tells { fn drop(&mut self) { let me = ME.get(); let mut v = VALUE.lock().unwrap(); *v = *v * 3 + 7 * me; } }\n".to_owned();
    let mut expected = Vec::new();
    for test in 0..scaled(32).max(4) {
        let threads: Vec<Vec<Held>> = (0..2 + test % 2).map(|_| random_holder(&mut rng)).collect();
        let _ = writeln!(text, "#[test] fn random_{test}() {{ let first = Arc::new(Tells);");
        for t in 0..threads.len() {
            let _ = writeln!(text, "let own{t} = Arc::clone(&first);");
        }
        let _ = writeln!(text, "drop(first);");
        for (t, acts) in threads.iter().enumerate() {
            let _ = writeln!(text, "let t{t} = thread::spawn(move || {{ ME.set({});", t + 1);
            let _ = writeln!(text, "let mut held = vec![own{t}];");
            for act in acts {
                let _ = match act {
                    Held::Clone => writeln!(text, "held.push(Arc::clone(&held[0]));"),
                    Held::Drop => writeln!(text, "drop(held.pop());"),
                    Held::Change(by) => {
                        writeln!(
                            text,
                            "{{ let mut v = VALUE.lock().unwrap(); *v = *v * 3 + {by}; }}"
                        )
                    }
                };
            }
            let _ = writeln!(text, "}});");
        }
        for t in 0..threads.len() {
            let _ = writeln!(text, "t{t}.join().unwrap();");
        }
        let _ =
            writeln!(text, "let value = *VALUE.lock().unwrap(); panic!(\"ended {{}}\", value); }}");
        expected.push(all_ends_of(&threads));
    }
    assert!(expected.iter().any(|ends| ends.len() > 4));
    assert_eq!(ends_of("references", &text, expected.len()), expected);
}

const CALM: &str = r#"
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
static X: AtomicUsize = AtomicUsize::new(0);

mod inner {
    #[test]
    #[should_panic]
    fn never_panics() {
        let t = std::thread::spawn(|| super::X.store(1, super::SeqCst));
        t.join().unwrap();
    }
}

#[test]
fn returns_err() -> Result<(), String> {
    let t = thread::spawn(|| X.store(1, SeqCst));
    let x = X.load(SeqCst);
    t.join().unwrap();
    if x == 0 { Err("it is zero".to_owned()) } else { Ok(()) }
}

#[test]
fn compares() {
    static mut TEXT: [u8; 5] = *b"hello";
    let t = thread::spawn(|| unsafe { TEXT[4] = b'a' });
    let text = unsafe { (&raw const TEXT).as_ref().unwrap() };
    std::hint::black_box(std::str::from_utf8(text) == Ok("hello"));
    t.join().unwrap();
}

#[test]
fn prints() {
    static mut COUNT: u32 = 0;
    let t = thread::spawn(|| unsafe { COUNT += 1 });
    println!("{}", unsafe { &*&raw const COUNT });
    t.join().unwrap();
}
"#;

/// What the harness says about a test is told at the test.
#[test]
fn failures_without_a_panic() {
    let folder = library("calm", CALM);
    let ran = cargo("test", &folder, &["--format", "json", "--strategy", "dpor"], &[]);
    // The line of the function, or of its first statement: that depends on what the compiler inlines.
    for (test, at, text) in [
        (
            "never_panics",
            ["src/lib.rs:9 in ", "src/lib.rs:10 in "],
            "test did not panic as expected",
        ),
        ("returns_err", ["src/lib.rs:16 in ", "src/lib.rs:17 in "], "returns an error"),
    ] {
        let answers =
            ran.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let mut answers = answers.filter(|answer| answer["model"] == "sc");
        let is_it = |answer: &Value| answer["file"].as_str().is_some_and(|f| f.ends_with(test));
        let answer = answers.find(is_it).expect("an answer");
        let failure = &answer["failures"][0];
        let frames = failure["at"].as_array().expect("frames");
        let is_at = |frame: &Value| {
            frame.as_str().is_some_and(|line| at.iter().any(|at| line.starts_with(at)))
        };
        assert!(frames.iter().any(is_at), "{failure}");
        assert_eq!(failure["text"], text, "{failure}");
    }
    // Bytes are compared by a function of libc, which the compiler calls by a name of its own; numbers are formatted by the library.
    for (test, line) in [("compares", "src/lib.rs:28"), ("prints", "src/lib.rs:36")] {
        let mut answers = ran.out.lines().filter(|answer| answer.contains(test));
        let is_race = |a: &str| a.contains("\"data-race\"") && a.contains(line);
        assert!(answers.any(is_race), "{}", ran.out);
    }
}
