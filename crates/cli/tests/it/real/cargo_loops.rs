//! `weakspot cargo test` on loops that store something in each round and undo it: who counts itself among readers and leaves again,
//! parks for some time, or takes a lock by trying.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use weakspot_core::testing::{Rng, scaled};

use crate::real::cargo::{cargo, ends_of, library};

/// Those that are called `wrong` fail, and others hold.
const TESTS: &str = r#"
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::*};
use std::sync::{Arc, Condvar, Mutex, RwLock};
use std::thread::{self, yield_now};
use std::time::Duration;

const SPAN: Duration = Duration::from_millis(5);

fn two(f: impl FnOnce() + Send, g: impl FnOnce()) {
    thread::scope(|s| {
        s.spawn(f);
        g();
    });
}

#[test]
fn parks_for_some_time() {
    let (ready, me) = (AtomicBool::new(false), thread::current());
    let set = || {
        ready.store(true, Release);
        me.unpark();
    };
    two(set, || while !ready.load(Acquire) { thread::park_timeout(SPAN) });
}

#[test]
fn parks_for_ever_wrong() {
    let ready = AtomicBool::new(false);
    two(|| ready.store(false, Release), || while !ready.load(Acquire) { thread::park_timeout(SPAN) });
}

#[test]
fn waits_for_some_time() {
    let (ready, changed) = (Mutex::new(false), Condvar::new());
    let set = || {
        *ready.lock().unwrap() = true;
        changed.notify_one();
    };
    two(set, || {
        let mut now = ready.lock().unwrap();
        while !*now {
            now = changed.wait_timeout(now, SPAN).unwrap().0;
        }
    });
}

#[test]
fn asks_for_the_last_reference() {
    let mut mine = Arc::new(1);
    let other = Arc::clone(&mine);
    two(move || drop(other), || while Arc::get_mut(&mut mine).is_none() { yield_now() });
}

#[test]
fn counts_readers() {
    static WORD: AtomicUsize = AtomicUsize::new(0);
    static mut DATA: u32 = 0;
    let write = || {
        while WORD.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            yield_now();
        }
        unsafe { DATA += 1 };
        WORD.fetch_and(!1, Release);
    };
    two(write, || {
        while WORD.fetch_add(2, Acquire) & 1 == 1 {
            WORD.fetch_sub(2, Release);
            yield_now();
        }
        assert!(unsafe { DATA } < 2);
        WORD.fetch_sub(2, Release);
    });
}

#[test]
fn counts_readers_of_nobody_wrong() {
    let word = AtomicUsize::new(1);
    two(|| (), || {
        while word.fetch_add(2, Acquire) & 1 == 1 {
            word.fetch_sub(2, Release);
            yield_now();
        }
    });
}

#[test]
fn tries_to_lock() {
    let value = Mutex::new(0);
    two(|| *value.lock().unwrap() += 1, || while !value.try_lock().is_ok_and(|v| *v == 1) { yield_now() });
}

#[test]
fn tries_to_lock_wrong() {
    let value = Mutex::new(0);
    two(|| *value.lock().unwrap() += 1, || while !value.try_lock().is_ok_and(|v| *v == 2) { yield_now() });
}

/// Who tries does not get a lock that a writer waits for, which its word does not say.
#[test]
fn tries_to_read() {
    let value = RwLock::new(0);
    two(|| *value.write().unwrap() += 1, || while !value.try_read().is_ok_and(|v| *v == 1) { yield_now() });
}

#[test]
fn tries_to_read_wrong() {
    let value = RwLock::new(0);
    two(|| *value.write().unwrap() += 1, || while !value.try_read().is_ok_and(|v| *v == 2) { yield_now() });
}

/// What is there half-way through a round is seen by others.
#[test]
fn half_way_wrong() {
    let (word, end) = (AtomicU32::new(0), AtomicBool::new(false));
    let look = || {
        let seen = [(); 3].map(|()| word.load(SeqCst));
        end.store(true, SeqCst);
        assert_ne!(seen, [1, 0, 1]);
    };
    two(look, || while !end.load(SeqCst) {
        word.store(1, SeqCst);
        word.store(0, SeqCst);
    });
}

#[test]
fn polls_for_ever_wrong() {
    let value = Mutex::new(0);
    two(|| *value.lock().unwrap() = 1, || while *value.lock().unwrap() != 2 { yield_now() });
}
"#;

#[test]
fn rounds_that_are_undone() {
    let ran = cargo("test", &library("undone", TESTS), &["--strategy", "dpor"], &[]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    for test in TESTS.split("#[test]\nfn ").skip(1).map(|text| text.split_once('(').unwrap().0) {
        let verdict = if test.ends_with("wrong") { "fails" } else { "holds" };
        let line = format!("small {test}: SC {verdict}");
        assert!(ran.out.contains(&line), "{line}\n{}{}", ran.out, ran.err);
    }
    assert!(ran.out.contains("livelock"), "{}", ran.out);
}

/// What a thread does.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Adds to a word.
    Add(usize),
    /// Looks at a word.
    Read(usize),
    /// Sets its flag.
    Set,
    /// Adds 16 to a word, and takes that back, until the flag of a thread is set.
    Count(usize, usize),
    /// Takes a lock by trying, and frees it, until the flag of a thread is set.
    Lock(usize),
    /// Tries to take the lock.
    Try,
}

/// A random thread; what it waits for is done by those before it.
fn random_thread(rng: &mut Rng, t: usize, waits: bool) -> Vec<Act> {
    // Mostly the same.
    let word = |rng: &mut Rng| usize::from(rng.one_in(4));
    let mut acts: Vec<Act> = (0..2 + rng.below(2))
        .map(|_| match rng.below(4) {
            0 => Act::Add(word(rng)),
            1 => Act::Try,
            _ => Act::Read(word(rng)),
        })
        .collect();
    if waits {
        let of = rng.below(t);
        let waits = if rng.one_in(2) { Act::Lock(of) } else { Act::Count(of, word(rng)) };
        acts.insert(rng.below(acts.len() + 1), waits);
    }
    acts.insert(rng.below(acts.len() + 1), Act::Set);
    acts
}

/// The same in Rust.
fn source(acts: &[Act], t: usize) -> String {
    let act = |act: &Act| match *act {
        Act::Add(w) => format!("WORDS[{w}].fetch_add(1, SeqCst);"),
        Act::Read(w) => format!("seen = seen * 32 + WORDS[{w}].load(SeqCst);"),
        Act::Set => format!("FLAGS[{t}].store(1, SeqCst);"),
        Act::Count(of, w) => format!(
            "loop {{ WORDS[{w}].fetch_add(16, SeqCst); let end = FLAGS[{of}].load(SeqCst) == 1; \
             WORDS[{w}].fetch_sub(16, SeqCst); if end {{ break }} }}"
        ),
        Act::Lock(of) => format!(
            "loop {{ if LOCK.try_lock().is_ok_and(|_| FLAGS[{of}].load(SeqCst) == 1) {{ break }} }}"
        ),
        Act::Try => "seen = seen * 32 + u32::from(LOCK.try_lock().is_ok());".to_owned(),
    };
    acts.iter().map(act).collect::<Vec<_>>().join(" ")
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    /// Which act a thread is at, and how far it is with it.
    at: Vec<(usize, usize)>,
    seen: Vec<u32>,
    words: [u32; 2],
    flags: [bool; 3],
    locked: bool,
}

impl State {
    /// After the next step of a thread.
    fn step(&self, t: usize, act: Act) -> State {
        let mut next = self.clone();
        let (at, part) = self.at[t];
        let (mut to, mut seen) = ((at + 1, 0), None);
        match (act, part) {
            (Act::Add(w), _) => next.words[w] += 1,
            (Act::Read(w), _) => seen = Some(self.words[w]),
            (Act::Set, _) => next.flags[t] = true,
            (Act::Count(_, w), 0) => (next.words[w], to) = (self.words[w] + 16, (at, 1)),
            (Act::Count(of, _), 1) => to = (at, if self.flags[of] { 3 } else { 2 }),
            (Act::Count(_, w), part) => {
                next.words[w] -= 16;
                to = if part == 3 { to } else { (at, 0) };
            }
            (Act::Lock(_), 0) => (next.locked, to) = (true, (at, usize::from(!self.locked))),
            (Act::Lock(of), 1) => to = (at, if self.flags[of] { 3 } else { 2 }),
            (Act::Lock(_), part) => {
                next.locked = false;
                to = if part == 3 { to } else { (at, 0) };
            }
            (Act::Try, 0) => {
                seen = Some(u32::from(!self.locked));
                to = if self.locked { to } else { (at, 1) };
                next.locked = true;
            }
            (Act::Try, _) => next.locked = false,
        }
        next.at[t] = to;
        if let Some(seen) = seen {
            next.seen[t] = self.seen[t] * 32 + seen;
        }
        next
    }
}

/// How all executions end.
fn all_ends(threads: &[Vec<Act>]) -> BTreeSet<Option<[u32; 3]>> {
    let n = threads.len();
    let first = State {
        at: vec![(0, 0); n],
        seen: vec![0; n],
        words: [0; 2],
        flags: [false; 3],
        locked: false,
    };
    let (mut open, mut known, mut found) = (vec![first], BTreeSet::new(), BTreeSet::new());
    while let Some(state) = open.pop() {
        if !known.insert(state.clone()) {
            continue;
        }
        let acts = (0..n).filter_map(|t| Some((t, *threads[t].get(state.at[t].0)?)));
        let next: Vec<State> = acts.map(|(t, act)| state.step(t, act)).collect();
        if next.is_empty() {
            let seen = |t: usize| state.seen.get(t).copied().unwrap_or(0);
            found.insert(Some([seen(0), seen(1), seen(2)]));
        }
        open.extend(next);
    }
    found
}

/// Random programs with such loops end in every way in which all orders of their steps end, and in no other.
#[test]
fn loops_that_undo_end_as_by_all_orders() {
    let mut rng = Rng::new(43);
    let mut text =
        "use std::sync::{Mutex, atomic::{AtomicU32, Ordering::SeqCst}};\nuse std::thread;\n\
                    static WORDS: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];\n\
                    static FLAGS: [AtomicU32; 3] = [const { AtomicU32::new(0) }; 3];\n\
                    static LOCK: Mutex<()> = Mutex::new(());\n"
            .to_owned();
    let mut expected = Vec::new();
    for test in 0..scaled(100).max(20) {
        let n = if test % 8 == 7 { 3 } else { 2 };
        let threads: Vec<Vec<Act>> =
            (0..n).map(|t| random_thread(&mut rng, t, t + 1 == n)).collect();
        let _ = writeln!(text, "#[test] fn random_{test}() {{");
        for (t, acts) in threads.iter().enumerate() {
            let _ = writeln!(text, "let t{t} = thread::spawn(|| {{ let mut seen = 0_u32;");
            let _ = writeln!(text, "{} seen += 0; seen }});", source(acts, t));
        }
        let _ = writeln!(text, "let mut seen = [0_u32; 3];");
        for t in 0..n {
            let _ = writeln!(text, "seen[{t}] = t{t}.join().unwrap();");
        }
        let _ = writeln!(text, "panic!(\"ended {{}} {{}} {{}}\", seen[0], seen[1], seen[2]); }}");
        expected.push(all_ends(&threads));
    }
    assert!(expected.iter().any(|ends| ends.len() > 4), "{expected:?}");
    assert_eq!(ends_of("undone_orders", &text, expected.len()), expected);
}
