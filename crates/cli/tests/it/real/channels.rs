//! Channels of Rust's standard library, whose operations come one after the other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;

use serde_json::Value;
use weakspot_core::testing::{Rng, scaled};

use crate::real::cargo::{cargo, ends_of, library};

/// What is expected of each is in its name: `wrong` fails under SC, `weak` under TSO only, others hold and are robust.
const TESTS: &str = r#"
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::{Acquire, Release, SeqCst}};
use std::sync::{Arc, mpsc};
use std::thread;

#[test]
fn three_messages() {
    let (tx, rx) = mpsc::channel();
    let t = thread::spawn(move || (0..3).for_each(|i| tx.send(i).unwrap()));
    assert_eq!(rx.iter().sum::<i32>(), 3);
    t.join().unwrap();
}

#[test]
fn two_senders() {
    let (tx, rx) = mpsc::channel();
    let other = tx.clone();
    let a = thread::spawn(move || tx.send(1).unwrap());
    let b = thread::spawn(move || other.send(2).unwrap());
    assert_eq!(rx.iter().sum::<i32>(), 3);
    a.join().unwrap();
    b.join().unwrap();
}

#[test]
fn room_for_one() {
    let (tx, rx) = mpsc::sync_channel(1);
    let t = thread::spawn(move || (0..3).for_each(|i| tx.send(i).unwrap()));
    assert_eq!(rx.iter().collect::<Vec<_>>(), [0, 1, 2]);
    t.join().unwrap();
}

#[test]
fn back_and_forth() {
    let (a, b) = mpsc::channel();
    let (c, d) = mpsc::channel();
    let t = thread::spawn(move || (0..3).for_each(|_| c.send(b.recv().unwrap() + 1).unwrap()));
    (0..3).for_each(|i| {
        a.send(i).unwrap();
        assert_eq!(d.recv(), Ok(i + 1));
    });
    t.join().unwrap();
}

#[test]
fn polls() {
    let (tx, rx) = mpsc::channel();
    let t = thread::spawn(move || tx.send(1).unwrap());
    while rx.try_recv().is_err() {
        std::hint::spin_loop();
    }
    t.join().unwrap();
}

#[test]
fn first_wrong() {
    let (tx, rx) = mpsc::channel();
    let other = tx.clone();
    let a = thread::spawn(move || tx.send(1).unwrap());
    let b = thread::spawn(move || other.send(2).unwrap());
    assert_eq!(rx.recv(), Ok(1));
    a.join().unwrap();
    b.join().unwrap();
}

/// What sends goes on after the message was taken.
#[test]
fn behind_wrong() {
    let (tx, rx) = mpsc::sync_channel(0);
    let flag = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&flag);
    let t = thread::spawn(move || {
        tx.send(1).unwrap();
        other.store(true, SeqCst);
    });
    rx.recv().unwrap();
    assert!(!flag.load(SeqCst));
    t.join().unwrap();
}

/// Messages are dropped after senders hear that nobody is there.
#[test]
fn dropped_wrong() {
    struct Counts(Arc<AtomicUsize>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let (tx, rx) = mpsc::channel();
    tx.send(Counts(Arc::clone(&dropped))).unwrap();
    let t = thread::spawn(move || drop(rx));
    if let Err(unsent) = tx.send(Counts(Arc::clone(&dropped))) {
        std::mem::forget(unsent);
        assert_eq!(dropped.load(SeqCst), 1);
    }
    t.join().unwrap();
}

static mut SAFE: usize = 0;
static mut RACY: usize = 0;

#[test]
fn hands_over() {
    let (tx, rx) = mpsc::channel();
    let t = thread::spawn(move || {
        unsafe { SAFE = 1 };
        tx.send(()).unwrap();
    });
    rx.recv().unwrap();
    assert_eq!(unsafe { SAFE }, 1);
    t.join().unwrap();
}

#[test]
fn race_wrong() {
    let (tx, rx) = mpsc::channel();
    let t = thread::spawn(move || {
        tx.send(()).unwrap();
        unsafe { RACY = 1 };
    });
    rx.recv().unwrap();
    assert!(unsafe { RACY } < 2);
    t.join().unwrap();
}

fn crosswise(between: bool) -> usize {
    let (tx, rx) = mpsc::channel();
    let x = Arc::new([const { AtomicUsize::new(0) }; 2]);
    let threads = [0, 1].map(|me| {
        let (x, tx) = (Arc::clone(&x), tx.clone());
        thread::spawn(move || {
            x[me].store(1, Release);
            if between {
                tx.send(()).unwrap();
            }
            x[1 - me].load(Acquire)
        })
    });
    let seen = threads.map(|t| t.join().unwrap());
    drop(rx);
    seen[0] + seen[1]
}

#[test]
fn beside_weak() {
    assert!(crosswise(false) > 0);
}

/// To send is an atomic update, which is a fence.
#[test]
fn between() {
    assert!(crosswise(true) > 0);
}
"#;

#[test]
fn tests_with_channels_are_decided() {
    let ours = ["--format", "json", "--strategy", "dpor", "--model", "tso", "--timeout", "5m"];
    let ran = cargo("test", &library("mpsc", TESTS), &ours, &[]);
    let mut found: BTreeMap<String, [String; 2]> = BTreeMap::new();
    let mut executions = BTreeMap::new();
    for line in ran.out.lines() {
        let answer: Value = serde_json::from_str(line).expect("JSON");
        if answer["question"] != "failures" {
            continue;
        }
        let name = answer["file"].as_str().and_then(|file| file.rsplit("::").next());
        let name = name.expect("a name").to_owned();
        let model = usize::from(answer["model"] == "tso");
        let failures = answer["failures"].as_array().map_or(0, Vec::len);
        let verdict = answer["verdict"].as_str().expect("a verdict");
        let verdict = if failures > 0 { "fails" } else { verdict };
        found.entry(name.clone()).or_default()[model] = verdict.to_owned();
        if model == 0 {
            executions.insert(name, answer["executions"].as_u64().unwrap_or(u64::MAX));
        }
    }
    assert_eq!(found.len(), 12, "{}", ran.out);
    for (name, verdicts) in &found {
        let expected = match name {
            name if name.ends_with("wrong") => ["fails", "fails"],
            name if name.ends_with("weak") => ["holds", "fails"],
            _ => ["holds", "holds"],
        };
        assert_eq!(*verdicts, expected, "{name}: {}", ran.out);
    }
    // The numbers of docs/how/strategies/dpor.md, among others.
    for (name, most) in [
        ("three_messages", 70),
        ("two_senders", 80),
        ("room_for_one", 96),
        ("back_and_forth", 128),
        ("polls", 14),
    ] {
        assert!(executions[name] <= most, "{executions:?}");
    }
}

/// What a thread does with channels. Each of two channels has one thread that receives, and all others send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    Send(usize, u32),
    Receive(usize),
    TryReceive(usize),
    /// Changes a number that all see, so that the order of changes can be told.
    Change(u32),
    DropSender(usize),
    DropReceiver(usize),
}

/// What receives nothing has received: from a channel that is empty, and one that nobody sends to any more.
const EMPTY: u32 = 8;
const ALONE: u32 = 9;

/// The thread that receives from a channel.
fn receiver(channel: usize) -> usize {
    channel
}

fn random_thread(rng: &mut Rng, me: usize, acts: usize) -> Vec<Act> {
    let mut acts: Vec<Act> = (0..acts)
        .map(|_| {
            let (channel, value) = (rng.below(2), 1 + rng.below(2) as u32);
            match rng.below(4) {
                0 => Act::Change(value),
                n if receiver(channel) != me => Act::Send(channel, value + n as u32),
                1 | 2 => Act::TryReceive(channel),
                _ => Act::Receive(channel),
            }
        })
        .collect();
    for channel in 0..2 {
        let drops = if receiver(channel) == me { Act::DropReceiver } else { Act::DropSender };
        acts.push(drops(channel));
    }
    acts
}

fn source(acts: &[Act]) -> String {
    let mut out = String::new();
    for act in acts {
        let _ = match act {
            Act::Send(c, value) => writeln!(out, "let _ = tx{c}.send({value});"),
            Act::Receive(c) => writeln!(out, "seen = seen * 10 + rx{c}.recv().unwrap_or({ALONE});"),
            Act::TryReceive(c) => writeln!(
                out,
                "seen = seen * 10 + match rx{c}.try_recv() {{ Ok(v) => v, Err(mpsc::TryRecvError::Empty) => {EMPTY}, Err(_) => {ALONE} }};"
            ),
            Act::Change(by) => {
                writeln!(out, "{{ let mut v = VALUE.lock().unwrap(); *v = *v * 3 + {by}; }}")
            }
            Act::DropSender(c) => writeln!(out, "drop(tx{c});"),
            Act::DropReceiver(c) => writeln!(out, "drop(rx{c});"),
        };
    }
    out
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    at: Vec<usize>,
    value: u32,
    seen: [u32; 2],
    /// By channel, messages and who has sent them.
    queues: [VecDeque<(u32, usize)>; 2],
    senders: [usize; 2],
    received: [bool; 2],
    /// Who waits until a message is taken: there is no room for any.
    hands_over: Vec<Option<usize>>,
}

impl State {
    /// After the next step of a thread, if it can take it.
    fn step(&self, t: usize, act: Act, room: [Option<usize>; 2]) -> Option<State> {
        let mut next = self.clone();
        if let Some(channel) = self.hands_over[t] {
            let waits = self.queues[channel].iter().any(|&(_, by)| by == t);
            next.hands_over[t] = None;
            next.at[t] += 1;
            return (!waits).then_some(next);
        }
        next.at[t] += 1;
        match act {
            Act::Change(by) => next.value = next.value * 3 + by,
            Act::Send(c, _) if !self.received[c] => {}
            Act::Send(c, value) => match room[c] {
                Some(0) => {
                    next.queues[c].push_back((value, t));
                    (next.hands_over[t], next.at[t]) = (Some(c), self.at[t]);
                }
                Some(n) if self.queues[c].len() == n => return None,
                _ => next.queues[c].push_back((value, t)),
            },
            Act::Receive(c) | Act::TryReceive(c) => {
                let value = match next.queues[c].pop_front() {
                    Some((value, _)) => value,
                    None if self.senders[c] == 0 => ALONE,
                    None if act == Act::TryReceive(c) => EMPTY,
                    None => return None,
                };
                next.seen[t] = next.seen[t] * 10 + value;
            }
            Act::DropSender(c) => next.senders[c] -= 1,
            Act::DropReceiver(c) => {
                next.received[c] = false;
                next.queues[c].clear();
            }
        }
        Some(next)
    }
}

/// What comes of all orders of operations that are done one after the other.
fn all_ends(threads: &[Vec<Act>], room: [Option<usize>; 2]) -> BTreeSet<Option<[u32; 3]>> {
    let mut found = BTreeSet::new();
    let n = threads.len();
    let first = State {
        at: vec![0; n],
        value: 0,
        seen: [0; 2],
        queues: [VecDeque::new(), VecDeque::new()],
        senders: [n - 1; 2],
        received: [true; 2],
        hands_over: vec![None; n],
    };
    let (mut open, mut known) = (vec![first], BTreeSet::new());
    while let Some(state) = open.pop() {
        if !known.insert(state.clone()) {
            continue;
        }
        if state.at.iter().zip(threads).all(|(&at, acts)| at == acts.len()) {
            found.insert(Some([state.value, state.seen[0], state.seen[1]]));
            continue;
        }
        let acts =
            threads.iter().enumerate().filter_map(|(t, acts)| Some((t, *acts.get(state.at[t])?)));
        let next: Vec<State> = acts.filter_map(|(t, act)| state.step(t, act, room)).collect();
        if next.is_empty() {
            found.insert(None);
        }
        open.extend(next);
    }
    found
}

/// Random programs with channels end in every way in which all orders of whole operations end, and in no other.
#[test]
fn channels_end_as_by_all_orders() {
    let mut rng = Rng::new(31);
    let mut text = "use std::sync::{Mutex, mpsc};\nuse std::thread;\nstatic VALUE: Mutex<u32> = Mutex::new(0);\n".to_owned();
    let mut expected = Vec::new();
    for test in 0..scaled(100).max(10) {
        let threads: Vec<Vec<Act>> =
            (0..2 + test % 2).map(|t| random_thread(&mut rng, t, [3, 1][test % 2])).collect();
        let room = [(); 2].map(|()| [None, Some(1), Some(0)][rng.below(3)]);
        let _ = writeln!(text, "#[test] fn random_{test}() {{");
        for (c, room) in room.iter().enumerate() {
            let _ = match room {
                None => writeln!(text, "let (tx{c}, rx{c}) = mpsc::channel::<u32>();"),
                Some(n) => writeln!(text, "let (tx{c}, rx{c}) = mpsc::sync_channel::<u32>({n});"),
            };
        }
        for t in (0..threads.len()).rev() {
            let own = |c: &usize| receiver(*c) != t;
            let last = |c: usize| (0..threads.len()).find(|&s| receiver(c) != s) == Some(t);
            for c in (0..2).filter(own) {
                let clone = if last(c) { "" } else { ".clone()" };
                let _ = writeln!(text, "let of{t}_{c} = tx{c}{clone};");
            }
        }
        for (t, acts) in threads.iter().enumerate() {
            let _ = writeln!(text, "let t{t} = thread::spawn(move || {{ let mut seen = 0_u32;");
            for c in (0..2).filter(|&c| receiver(c) != t) {
                let _ = writeln!(text, "let tx{c} = of{t}_{c};");
            }
            let _ = writeln!(text, "{} seen += 0; seen }});", source(acts));
        }
        let _ = writeln!(text, "let mut seen = [0_u32; 3];");
        for t in 0..threads.len() {
            let _ = writeln!(text, "seen[{t}] = t{t}.join().unwrap();");
        }
        let _ = writeln!(text, "let value = *VALUE.lock().unwrap();");
        let _ = writeln!(text, "panic!(\"ended {{}} {{}} {{}}\", value, seen[0], seen[1]); }}");
        expected.push(all_ends(&threads, room));
    }
    assert!(expected.iter().any(|ends| ends.len() > 4), "{expected:?}");
    assert_eq!(ends_of("channel_orders", &text, expected.len()), expected);
}
