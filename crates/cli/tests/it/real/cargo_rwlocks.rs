//! Read-write locks of Rust: random programs end in every way in which all orders of their steps end, and in no other.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use weakspot_core::testing::{Rng, scaled};

use crate::real::cargo::ends_of;

/// What a thread does with two locks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Read(usize),
    /// If it may, otherwise the next two are left out.
    TryRead(usize),
    Write(usize),
    /// The same.
    TryWrite(usize),
    /// Remembers what the lock protects.
    See(usize),
    /// Changes that, so that the order of changes can be told.
    Change(usize, u32),
    /// Frees the lock that it has for reading, or for writing.
    Leave(usize),
    Unlock(usize),
}

const fn told(value: u32, by: u32) -> u32 {
    value * 3 + by
}

fn random_thread(rng: &mut Rng) -> Vec<Act> {
    let mut acts = Vec::new();
    for _ in 0..1 + rng.below(2) {
        let (m, by) = (rng.below(2), 1 + rng.below(2) as u32);
        match rng.below(6) {
            0 => acts.extend([Act::Read(m), Act::See(m), Act::Leave(m)]),
            1 => acts.extend([Act::TryRead(m), Act::See(m), Act::Leave(m)]),
            2 => acts.extend([Act::Write(m), Act::Change(m, by), Act::Unlock(m)]),
            3 => acts.extend([Act::TryWrite(m), Act::Change(m, by), Act::Unlock(m)]),
            // Twice for reading, which is a deadlock if a writer comes between.
            4 => {
                acts.extend([Act::Read(m), Act::Read(m), Act::See(m), Act::Leave(m), Act::Leave(m)])
            }
            _ => {
                acts.extend([Act::Read(1 - m), Act::Write(m), Act::Change(m, by), Act::Unlock(m)]);
                acts.push(Act::Leave(1 - m));
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
            Act::Read(m) => writeln!(out, "{{ let g = LOCKS[{m}].read().unwrap();"),
            Act::TryRead(m) => writeln!(out, "if let Ok(g) = LOCKS[{m}].try_read() {{"),
            Act::Write(m) => writeln!(out, "{{ let mut g = LOCKS[{m}].write().unwrap();"),
            Act::TryWrite(m) => writeln!(out, "if let Ok(mut g) = LOCKS[{m}].try_write() {{"),
            Act::See(_) => writeln!(out, "seen = seen * 3 + *g;"),
            Act::Change(_, by) => writeln!(out, "*g = *g * 3 + {by};"),
            Act::Leave(_) | Act::Unlock(_) => writeln!(out, "drop(g); }}"),
        };
    }
    out
}

/// How far all are.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    at: [usize; 2],
    seen: [u32; 2],
    /// Who waits in order to write: no reader comes in.
    wants: [bool; 2],
    values: [u32; 2],
    readers: [u32; 2],
    writer: [bool; 2],
}

impl State {
    /// After the next step of a thread, if it can take one.
    fn after(&self, t: usize, threads: &[Vec<Act>]) -> Option<State> {
        let act = *threads[t].get(self.at[t])?;
        let mut next = self.clone();
        next.at[t] += 1;
        let wanted =
            |m: usize| (0..2).any(|t| self.wants[t] && threads[t][self.at[t]] == Act::Write(m));
        let can_read = |m: usize| !self.writer[m] && !wanted(m);
        let can_write = |m: usize| !self.writer[m] && self.readers[m] == 0;
        match act {
            Act::Read(m) if !can_read(m) => return None,
            Act::TryRead(m) if !can_read(m) => next.at[t] += 2,
            Act::Read(m) | Act::TryRead(m) => next.readers[m] += 1,
            Act::Write(m) if !can_write(m) && self.wants[t] => return None,
            Act::Write(m) if !can_write(m) => {
                next.at[t] -= 1;
                next.wants[t] = true;
            }
            Act::TryWrite(m) if !can_write(m) => next.at[t] += 2,
            Act::Write(m) | Act::TryWrite(m) => {
                next.wants[t] = false;
                next.writer[m] = true;
            }
            Act::See(m) => next.seen[t] = told(self.seen[t], self.values[m]),
            Act::Change(m, by) => next.values[m] = told(self.values[m], by),
            Act::Leave(m) => next.readers[m] -= 1,
            Act::Unlock(m) => next.writer[m] = false,
        }
        Some(next)
    }
}

/// What comes of all orders: the values in the end and what was seen, or nothing if nobody can go on.
fn all_ends(threads: &[Vec<Act>]) -> BTreeSet<Option<[u32; 4]>> {
    let none = [0; 2];
    let first = State {
        at: [0; 2],
        seen: none,
        wants: [false; 2],
        values: none,
        readers: none,
        writer: [false; 2],
    };
    let mut found = BTreeSet::new();
    let mut known = BTreeSet::from([first.clone()]);
    let mut open = vec![first];
    while let Some(state) = open.pop() {
        let ([a, b], [c, d]) = (state.values, state.seen);
        if (0..2).all(|t| state.at[t] == threads[t].len()) {
            found.insert(Some([a, b, c, d]));
            continue;
        }
        let next: Vec<State> = (0..2).filter_map(|t| state.after(t, threads)).collect();
        if next.is_empty() {
            found.insert(None);
        }
        open.extend(next.into_iter().filter(|next| known.insert(next.clone())));
    }
    found
}

#[test]
fn end_as_by_all_orders() {
    let mut rng = Rng::new(17);
    let mut library = "use std::sync::RwLock;\nuse std::thread;\n\
                       static LOCKS: [RwLock<u32>; 2] = [const { RwLock::new(0) }; 2];\n"
        .to_owned();
    let mut expected = Vec::new();
    for test in 0..scaled(64).max(10) {
        let threads: Vec<Vec<Act>> = (0..2).map(|_| random_thread(&mut rng)).collect();
        let _ = writeln!(library, "#[test] fn random_{test}() {{");
        for (t, acts) in threads.iter().enumerate() {
            let body = source(acts);
            let _ = writeln!(
                library,
                "let t{t} = thread::spawn(|| {{ #[allow(unused_mut)] let mut seen = 0u32; {body} seen }});"
            );
        }
        let _ = writeln!(library, "let (c, d) = (t0.join().unwrap(), t1.join().unwrap());");
        let _ = writeln!(library, "let value = |m: usize| *LOCKS[m].read().unwrap();");
        let _ =
            writeln!(library, "panic!(\"ended {{}} {{}} {{c}} {{d}}\", value(0), value(1)); }}");
        expected.push(all_ends(&threads));
    }
    let deadlocks = expected.iter().filter(|ends| ends.contains(&None)).count();
    assert!((1..expected.len()).contains(&deadlocks), "{deadlocks}");
    let found = ends_of("rwlocks", &library, expected.len());
    for (test, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found, expected, "random_{test}");
    }
}
