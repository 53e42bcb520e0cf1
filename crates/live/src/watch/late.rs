//! Which stores of an execution with buffers were late, and for what.

use std::collections::HashMap;

use crate::OpKind;
use crate::op::waits;
use crate::wire::TracedStep;

/// When a store reaches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaches {
    /// At once: no buffer holds it back, or its thread was alone.
    AtOnce,
    /// With this step.
    With(usize),
    /// After the last step, if at all.
    Never,
}

/// When the stores of an execution with buffers reach memory, by where they stand in it: those to the same bytes in their
/// order.
#[must_use]
pub fn reaches(steps: &[TracedStep]) -> HashMap<usize, Reaches> {
    let mut buffers: HashMap<u16, Vec<usize>> = HashMap::new();
    let mut found = HashMap::new();
    for (at, step) in steps.iter().enumerate() {
        let buffer = buffers.entry(step.thread).or_default();
        // What is there still was not in the buffer.
        if step.is_at_once() || waits(step.kind) {
            found.extend(buffer.drain(..).map(|store| (store, Reaches::AtOnce)));
        }
        let same = |&store: &usize| (steps[store].addr, steps[store].len) == (step.addr, step.len);
        match step.kind {
            OpKind::Write if step.is_at_once() => {
                found.insert(at, Reaches::AtOnce);
            }
            OpKind::Write => buffer.push(at),
            OpKind::Commit => {
                let first = buffer.iter().position(same).map(|first| buffer.remove(first));
                found.extend(first.map(|store| (store, Reaches::With(at))));
            }
            _ => {}
        }
    }
    found.extend(buffers.into_values().flatten().map(|store| (store, Reaches::Never)));
    found
}

/// The stores that reached memory after something that their thread did later: the places of each and
/// of the first that overtook it, a load, or under PSO the commit of a later store. A load of what
/// another thread writes comes before others, and others do not count where there is one: nobody notices
/// them. By where they stand in the execution. Stores without a commit were never in a buffer: their thread was alone.
///
/// Cost: each step looks at what is in the buffer of its thread.
#[must_use]
pub fn late(steps: &[TracedStep]) -> Vec<(usize, usize)> {
    let written = Written::of(steps);
    let idle = |at: usize| steps[at].kind == OpKind::Read && !written.by_others(&steps[at]);
    let mut buffers: Vec<Vec<Waiting>> = Vec::new();
    let mut found = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let thread = usize::from(step.thread);
        if buffers.len() <= thread {
            buffers.resize_with(thread + 1, Vec::new);
        }
        let buffer = &mut buffers[thread];
        match step.kind {
            OpKind::Write if step.is_at_once() => buffer.clear(),
            OpKind::Write => buffer.push(Waiting { store: at, overtaken: None }),
            OpKind::Read => {
                for waiting in
                    buffer.iter_mut().filter(|w| !step.op().conflicts(steps[w.store].op()))
                {
                    if waiting.overtaken.is_none_or(|first| idle(first) && !idle(at)) {
                        waiting.overtaken = Some(at);
                    }
                }
            }
            OpKind::Commit => {
                let same = |w: &Waiting| {
                    let store = &steps[w.store];
                    (store.addr, store.len) == (step.addr, step.len)
                };
                let Some(first) = buffer.iter().position(same) else { continue };
                for waiting in &mut buffer[..first] {
                    waiting.overtaken.get_or_insert(at);
                }
                let Waiting { store, overtaken } = buffer.remove(first);
                found.extend(overtaken.map(|by| (store, by)));
            }
            // What is there still was not in the buffer.
            kind if waits(kind) => buffer.clear(),
            _ => {}
        }
    }
    if found.iter().any(|&(_, by)| !idle(by)) {
        found.retain(|&(_, by)| !idle(by));
    }
    found.sort_unstable();
    found
}

/// A store in a buffer, and what has overtaken it first.
struct Waiting {
    store: usize,
    overtaken: Option<usize>,
}

/// Who writes to each word of memory: one thread, or several.
struct Written(HashMap<u64, Option<u16>>);

impl Written {
    fn of(steps: &[TracedStep]) -> Written {
        let mut written = HashMap::new();
        for step in steps.iter().filter(|s| matches!(s.kind, OpKind::Write | OpKind::Update)) {
            for word in step.op().words() {
                let by = written.entry(word).or_insert(Some(step.thread));
                *by = by.filter(|&thread| thread == step.thread);
            }
        }
        Written(written)
    }

    /// Whether another thread writes to what a step touches.
    fn by_others(&self, step: &TracedStep) -> bool {
        step.op().words().any(|word| self.0.get(&word).is_some_and(|&by| by != Some(step.thread)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Order;

    /// Steps from words like `0wx`: thread, what, where.
    fn steps(text: &str) -> Vec<TracedStep> {
        let step = |word: &str| {
            let letters: Vec<char> = word.chars().collect();
            let kind = match letters[1] {
                'r' => OpKind::Read,
                'w' | 's' => OpKind::Write,
                'c' => OpKind::Commit,
                'f' => OpKind::Fence,
                other => panic!("{other}"),
            };
            let addr = letters.get(2).map_or(0, |&c| 16 * u64::from(c));
            let thread = letters[0].to_digit(10).expect("a thread") as u16;
            let order = if letters[1] == 's' { Order::SeqCst } else { Order::Plain };
            let (len, place) = (4, None);
            TracedStep { thread, kind, order, addr, len, old: None, value: None, place }
        };
        text.split_whitespace().map(step).collect()
    }

    fn check(text: &str, expected: &[(usize, usize)]) {
        assert_eq!(late(&steps(text)), expected, "{text}");
    }

    #[test]
    fn who_reaches_memory_when() {
        use Reaches::{AtOnce, Never, With};
        let check = |text: &str, expected: &[Reaches]| {
            let found = reaches(&steps(text));
            let mut found: Vec<(usize, Reaches)> = found.into_iter().collect();
            found.sort_unstable_by_key(|&(store, _)| store);
            let found: Vec<Reaches> = found.into_iter().map(|(_, when)| when).collect();
            assert_eq!(found, expected, "{text}");
        };
        check("0wx 0wx 0cx 0cx", &[With(2), With(3)]);
        check("0sx 0wx 1rx 0cx", &[AtOnce, With(3)]);
        // Nothing waits behind a fence.
        check("0wx 0f 0wx 1wy 0cx", &[AtOnce, With(4), Never]);
        check("0wx 0wy 0cy", &[Never, With(2)]);
    }

    #[test]
    fn what_overtakes_a_store() {
        check("0wx 0cx 0ry", &[]);
        check("0wx 0ry 0cx 0rz", &[(0, 1)]);
        // Its own bytes come from the buffer; others do not matter.
        check("0wx 0rx 1ry 0cx", &[]);
        check("0wx 1wy 0ry 1rx 1cy 0cx", &[(0, 2), (1, 3)]);
        check("0wx 0ry", &[]);
        check("0sx 0ry", &[]);
        check("0wx 0f 0wx 0cx 0ry", &[]);
        // Under PSO a later store comes first; under TSO they leave in order.
        check("0wx 0wy 0cy 0cx", &[(0, 2)]);
        check("0wx 0wy 0cx 0cy", &[]);
        check("0wx 0wx 0ry 0cx 0cx", &[(0, 2), (1, 2)]);
        check("0wx 0cx 0f 0ry", &[]);
        // Others write to z, nobody to y.
        check("0wx 0ry 0rz 0rz 1wz 1cz 0cx", &[(0, 2)]);
        check("0wx 0ry 0cx 0wv 0rz 1wz 1cz 0cv", &[(3, 4)]);
        check("0wx 0wv 0cv 0rz 1wz 1cz 0cx", &[(0, 2)]);
    }
}
