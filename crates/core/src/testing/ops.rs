//! Random histories for tests, and a shrinker that drops operations.

use std::collections::VecDeque;

use super::{Rng, scaled};
use crate::{History, INITIAL, OpKind, Times};

/// How large random histories are, and what is in them.
#[derive(Clone, Copy, Debug)]
pub struct OpsSize {
    /// So many threads.
    pub threads: usize,
    /// So many variables.
    pub vars: usize,
    /// So many operations in all.
    pub ops: usize,
    /// Of so many operations about one is a fence; 0 for no fences.
    pub fences: usize,
    /// Of so many writes about one is an update; 0 for no updates.
    pub updates: usize,
}

/// What a random history is recorded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpsSource {
    /// A memory without buffers.
    Sc,
    /// One store buffer per thread.
    Tso,
    /// One store buffer per thread and variable.
    Pso,
    /// A copy of memory per thread; writes reach the others later, after what they depend on.
    Causal,
    /// The same; of two writes to a variable every copy keeps the one with the later time stamp.
    Convergent,
}

impl OpsSource {
    /// All of them.
    pub const ALL: [OpsSource; 5] =
        [OpsSource::Sc, OpsSource::Tso, OpsSource::Pso, OpsSource::Causal, OpsSource::Convergent];
}

/// A random history of the source. Half of the operations are reads.
pub fn random_ops(rng: &mut Rng, size: OpsSize, source: OpsSource) -> History {
    run(rng, size, source).ops()
}

/// The same with times: each operation was done between its beginning and its end. Up to `overlap`
/// others are done in the meantime, before it and after it.
pub fn timed_ops(rng: &mut Rng, size: OpsSize, source: OpsSource, overlap: usize) -> History {
    let system = run(rng, size, source);
    let mut ops = system.ops();
    let mut times = Vec::with_capacity(ops.len());
    for done in &system.done_at {
        let mut last = i64::MIN / 2;
        for (i, &at) in done.iter().enumerate() {
            let at = 4 * at as i64;
            let next = done.get(i + 1).map_or(i64::MAX / 2, |&next| 4 * next as i64);
            let start = (at - rng.below(4 * overlap + 1) as i64).max(last + 1);
            let end = (at + rng.below(4 * overlap + 1) as i64).min(next - 1);
            times.push(Times { start, end });
            last = end;
        }
    }
    ops.set_times(times);
    ops
}

/// Gives a history any times that are possible, some of them the same, and some not known.
pub fn any_times(rng: &mut Rng, ops: &mut History) {
    let range = 2 + rng.below(3 * ops.len() + 1);
    let unknown = [0, 0, 3, 8][rng.below(4)];
    let mut times = Vec::with_capacity(ops.len());
    for thread in 0..ops.threads() {
        let count = ops.of_thread(thread).len();
        let mut sorted: Vec<i64> = (0..2 * count).map(|_| rng.below(range) as i64).collect();
        sorted.sort_unstable();
        for pair in sorted.chunks(2) {
            let known = |rng: &mut Rng| unknown == 0 || !rng.one_in(unknown);
            let start = if known(rng) { pair[0] } else { i64::MIN };
            let end = if known(rng) { pair[1] } else { i64::MAX };
            times.push(Times { start, end });
        }
    }
    ops.set_times(times);
}

fn run(rng: &mut Rng, size: OpsSize, source: OpsSource) -> System {
    let mut system = System::new(size, source);
    for _ in 0..size.ops {
        let thread = rng.below(size.threads);
        let var = rng.below(size.vars) as u32;
        let one_in = |rng: &mut Rng, n| n > 0 && rng.one_in(n);
        let kind = match rng.below(2) {
            _ if one_in(rng, size.fences) => OpKind::Fence,
            0 => OpKind::Read,
            _ if one_in(rng, size.updates) => OpKind::Update,
            _ => OpKind::Write,
        };
        system.step(thread, kind, var);
        while rng.below(5) < 2 {
            system.move_on(rng);
        }
    }
    system
}

/// Lets some reads read from elsewhere.
pub fn mutate_ops(rng: &mut Rng, ops: &mut History, changes: usize) {
    let reads: Vec<u32> = (0..ops.len() as u32).filter(|&r| ops.reads(r)).collect();
    for _ in 0..if reads.is_empty() { 0 } else { changes } {
        let r = reads[rng.below(reads.len())];
        let mut sources: Vec<u32> = (0..ops.len() as u32)
            .filter(|&w| ops.writes(w) && ops.var(w) == ops.var(r) && w != r)
            .collect();
        sources.push(INITIAL);
        ops.set_from(r, sources[rng.below(sources.len())]);
    }
}

/// Runs `fails` on [`scaled`]`(all)` random small histories of all sources, half of them with reads changed;
/// on the first failure panics with the seed and the shrunk history.
///
/// # Panics
/// When a history fails: this is a test helper.
pub fn check_ops(seed: u64, all: usize, size: OpsSize, fails: &(dyn Fn(&History) -> bool + Sync)) {
    std::thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || {
                for i in (half..scaled(all)).step_by(2) {
                    let ops = small_ops(&mut Rng::new(seed + i as u64), size);
                    if fails(&ops) {
                        let small = shrink_ops(&ops, fails);
                        panic!("seed {} fails:\n{}", seed + i as u64, show_ops(&small));
                    }
                }
            });
        }
    });
}

/// A random history of at most this size from any source, perhaps with some reads changed.
pub fn small_ops(rng: &mut Rng, size: OpsSize) -> History {
    let size = OpsSize {
        threads: 1 + rng.below(size.threads),
        vars: 1 + rng.below(size.vars),
        ops: 1 + rng.below(size.ops),
        fences: if rng.one_in(2) { 0 } else { size.fences },
        updates: if rng.one_in(2) { 0 } else { size.updates },
    };
    let source = OpsSource::ALL[rng.below(OpsSource::ALL.len())];
    let mut ops = random_ops(rng, size, source);
    let changes = [0, 0, 0, 1, 2, size.ops][rng.below(6)];
    mutate_ops(rng, &mut ops, changes);
    ops
}

/// The smallest history that still `fails`, by dropping operations and what reads them.
pub fn shrink_ops(ops: &History, fails: &dyn Fn(&History) -> bool) -> History {
    let mut smallest = ops.clone();
    'again: loop {
        for op in 0..smallest.len() as u32 {
            let candidate = without(&smallest, op);
            if fails(&candidate) {
                smallest = candidate;
                continue 'again;
            }
        }
        return smallest;
    }
}

fn without(ops: &History, gone: u32) -> History {
    let mut dropped = vec![false; ops.len()];
    dropped[gone as usize] = true;
    // What reads a dropped update is dropped, too, and so on.
    while let Some(r) = (0..ops.len() as u32)
        .find(|&r| !dropped[r as usize] && ops.from(r).is_some_and(|w| dropped[w as usize]))
    {
        dropped[r as usize] = true;
    }
    let renumbered = |op: u32| dropped[..op as usize].iter().filter(|&&d| !d).count() as u32;
    let mut kept = History::new();
    for thread in 0..ops.threads() {
        kept.thread();
        for op in ops.of_thread(thread).filter(|&op| !dropped[op as usize]) {
            kept.push(ops.kind(op), ops.var(op), ops.from(op).map_or(INITIAL, renumbered));
        }
    }
    let left = (0..ops.len() as u32).filter(|&op| !dropped[op as usize]);
    kept.set_times(left.map(|op| ops.times(op)).collect());
    kept
}

/// A short text of a history for failure messages: `3: r x1 <- 0` is operation 3, a read of
/// variable 1 that reads operation 0.
#[must_use]
pub fn show_ops(ops: &History) -> String {
    let mut text = String::new();
    for thread in 0..ops.threads() {
        text += &format!("thread {thread}:");
        for op in ops.of_thread(thread) {
            let var = ops.var(op);
            let from = ops.from(op).map_or("initial".into(), |w| w.to_string());
            text += &match ops.kind(op) {
                OpKind::Read => format!("  {op}: r x{var} <- {from}"),
                OpKind::Write => format!("  {op}: w x{var}"),
                OpKind::Update => format!("  {op}: u x{var} <- {from}"),
                OpKind::Fence => format!("  {op}: fence"),
            };
            if ops.has_times() {
                let Times { start, end } = ops.times(op);
                text += &format!(" @ {start}:{end}");
            }
        }
        text += "\n";
    }
    text
}

/// An operation by thread and index in it, packed; `INITIAL` for none.
type Place = u64;
const NONE: Place = u64::MAX;

/// A write on its way.
#[derive(Clone)]
struct Message {
    var: u32,
    write: Place,
    /// When the thread wrote, with ties broken by thread.
    stamp: u64,
    /// How many writes of each thread come before it.
    after: Vec<u32>,
}

struct System {
    source: OpsSource,
    /// Per thread what it did.
    done: Vec<Vec<(OpKind, u32, Place)>>,
    /// And when, by the number of the step.
    done_at: Vec<Vec<usize>>,
    /// Per copy of memory and variable the write it holds, and its time stamp. There is one copy,
    /// or one per thread.
    memory: Vec<Vec<(Place, u64)>>,
    /// Per thread its store buffer.
    buffers: Vec<VecDeque<(u32, Place)>>,
    /// Per thread what others wrote and it has not seen.
    inbox: Vec<VecDeque<Message>>,
    /// Per thread how many writes of each thread it has seen.
    seen: Vec<Vec<u32>>,
    clock: Vec<u64>,
}

impl System {
    fn new(size: OpsSize, source: OpsSource) -> System {
        let copies = match source {
            OpsSource::Causal | OpsSource::Convergent => size.threads,
            _ => 1,
        };
        System {
            source,
            done: vec![Vec::new(); size.threads],
            done_at: vec![Vec::new(); size.threads],
            memory: vec![vec![(NONE, 0); size.vars]; copies],
            buffers: vec![VecDeque::new(); size.threads],
            inbox: vec![VecDeque::new(); size.threads],
            seen: vec![vec![0; size.threads]; if copies > 1 { size.threads } else { 0 }],
            clock: vec![0; size.threads],
        }
    }

    fn step(&mut self, thread: usize, kind: OpKind, var: u32) {
        if matches!(kind, OpKind::Fence | OpKind::Update) {
            while let Some((x, w)) = self.buffers[thread].pop_front() {
                self.memory[0][x as usize].0 = w;
            }
        }
        let op = (thread as u64) << 32 | self.done[thread].len() as u64;
        let copy = if self.memory.len() > 1 { thread } else { 0 };
        let own = self.buffers[thread].iter().rfind(|(x, _)| *x == var).map(|&(_, w)| w);
        let seen = own.unwrap_or(self.memory[copy][var as usize].0);
        let step = self.done.iter().map(Vec::len).sum();
        self.done[thread].push((kind, var, seen));
        self.done_at[thread].push(step);
        match (kind, self.source) {
            (OpKind::Read | OpKind::Fence, _) => {}
            (OpKind::Write, OpsSource::Tso | OpsSource::Pso) => {
                self.buffers[thread].push_back((var, op));
            }
            _ => self.write(thread, copy, var, op),
        }
    }

    fn write(&mut self, thread: usize, copy: usize, var: u32, op: Place) {
        self.clock[thread] += 1;
        let stamp = self.clock[thread] << 16 | thread as u64;
        self.memory[copy][var as usize] = (op, stamp);
        if self.memory.len() > 1 {
            let after = self.seen[thread].clone();
            self.seen[thread][thread] += 1;
            for other in (0..self.inbox.len()).filter(|&t| t != thread) {
                let message = Message { var, write: op, stamp, after: after.clone() };
                self.inbox[other].push_back(message);
            }
        }
    }

    /// A buffered write reaches memory, or a message arrives.
    fn move_on(&mut self, rng: &mut Rng) {
        let thread = rng.below(self.buffers.len());
        let buffer = &mut self.buffers[thread];
        if !buffer.is_empty() {
            let at = match self.source {
                OpsSource::Pso => {
                    let var = buffer[rng.below(buffer.len())].0;
                    buffer.iter().position(|&(x, _)| x == var).unwrap_or(0)
                }
                _ => 0,
            };
            if let Some((x, w)) = buffer.remove(at) {
                self.memory[0][x as usize].0 = w;
            }
        }
        let seen = self.seen.get(thread);
        let ready: Vec<usize> = (0..self.inbox[thread].len())
            .filter(|&i| {
                let after = &self.inbox[thread][i].after;
                seen.is_some_and(|seen| after.iter().zip(seen).all(|(a, s)| a <= s))
            })
            .take(4)
            .collect();
        if ready.is_empty() {
            return;
        }
        if let Some(message) = self.inbox[thread].remove(ready[rng.below(ready.len())]) {
            self.seen[thread][(message.write >> 32) as usize] += 1;
            self.clock[thread] = self.clock[thread].max(message.stamp >> 16);
            let cell = &mut self.memory[thread][message.var as usize];
            if self.source == OpsSource::Causal || message.stamp > cell.1 {
                *cell = (message.write, message.stamp);
            }
        }
    }

    fn ops(&self) -> History {
        let mut starts = vec![0];
        for done in &self.done {
            starts.push(starts[starts.len() - 1] + done.len() as u32);
        }
        let mut ops = History::new();
        for done in &self.done {
            ops.thread();
            for &(kind, var, from) in done {
                let from = match from {
                    NONE => INITIAL,
                    _ => starts[(from >> 32) as usize] + from as u32,
                };
                ops.push(kind, if kind == OpKind::Fence { 0 } else { var }, from);
            }
        }
        ops
    }
}
