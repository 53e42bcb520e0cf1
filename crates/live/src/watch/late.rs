//! Which stores of an execution with buffers were late, and for what.

use std::collections::HashMap;

use crate::op::waits;
use crate::wire::TracedStep;
use crate::{OpKind, Order};

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
            // It is in memory at once, after all that was in the buffer.
            OpKind::Write if step.order == Order::SeqCst => buffer.clear(),
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

    /// Steps from words like `0wx`: thread, what, where.
    fn check(text: &str, expected: &[(usize, usize)]) {
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
        let steps: Vec<TracedStep> = text.split_whitespace().map(step).collect();
        assert_eq!(late(&steps), expected, "{text}");
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
