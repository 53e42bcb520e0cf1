//! Random histories for tests.

use super::Rng;
use crate::{History, INITIAL, OpKind, OpNames, Value};

/// How large random histories are, and what is in them.
#[derive(Clone, Copy, Debug)]
pub struct HistorySize {
    /// So many threads, at least 1.
    pub threads: usize,
    /// At most so many variables, at least 1.
    pub vars: usize,
    /// So many operations.
    pub ops: usize,
    /// Whether some of them are atomic updates.
    pub updates: bool,
    /// Whether some of them are fences.
    pub fences: bool,
    /// So many reads are changed to read any write of their variable.
    pub changes: usize,
}

/// A random history: threads in turn on an atomic memory, which is sequentially consistent, and
/// then some changes, which may make it anything. Each value is written once per variable, all
/// variables start at 0, and each variable has an operation.
pub fn random_history(rng: &mut Rng, size: HistorySize) -> (History, OpNames) {
    let mut threads: Vec<Vec<Done>> = vec![Vec::new(); size.threads];
    let mut memory: Vec<Option<Write>> = vec![None; size.vars];
    let mut writes: Vec<Vec<Write>> = vec![Vec::new(); size.vars];
    let mut reads = Vec::new();
    for _ in 0..size.ops {
        let thread = rng.below(size.threads);
        let var = rng.below(size.vars);
        let kind = match rng.below(20) {
            0..9 => OpKind::Read,
            9..17 => OpKind::Write,
            17 | 18 if size.updates => OpKind::Update,
            19 if size.fences => OpKind::Fence,
            _ => OpKind::Read,
        };
        let here = (thread, threads[thread].len());
        let mut done = Done { kind, var, value: 0, from: None };
        if matches!(kind, OpKind::Read | OpKind::Update) {
            done.from = memory[var];
            reads.push(here);
        }
        if matches!(kind, OpKind::Write | OpKind::Update) {
            done.value = writes[var].len() as Value + 1;
            writes[var].push(here);
            memory[var] = Some(here);
        }
        threads[thread].push(done);
    }
    for _ in 0..if reads.is_empty() { 0 } else { size.changes } {
        let (thread, index) = reads[rng.below(reads.len())];
        let done = &mut threads[thread][index];
        let choice = rng.below(writes[done.var].len() + 1);
        let from = writes[done.var].get(choice).copied();
        if from != Some((thread, index)) {
            done.from = from;
        }
    }
    build(&threads, size.vars)
}

/// A thread, and the number of an operation of it.
type Write = (usize, usize);

#[derive(Clone, Copy)]
struct Done {
    kind: OpKind,
    var: usize,
    value: Value,
    from: Option<Write>,
}

fn build(threads: &[Vec<Done>], vars: usize) -> (History, OpNames) {
    let mut starts = vec![0];
    for thread in threads {
        starts.push(starts[starts.len() - 1] + thread.len());
    }
    // Variables are numbered by their first operations.
    let mut numbers = vec![None; vars];
    let mut names = OpNames::default();
    let mut ops = History::new();
    for (t, thread) in threads.iter().enumerate() {
        ops.thread();
        names.threads.push(format!("t{t}"));
        for done in thread {
            if done.kind == OpKind::Fence {
                ops.push(OpKind::Fence, 0, INITIAL);
                names.values.push(0);
                continue;
            }
            let var = *numbers[done.var].get_or_insert_with(|| {
                names.vars.push(format!("x{}", done.var));
                names.initial.push(0);
                names.vars.len() as u32 - 1
            });
            let from = done.from.map_or(INITIAL, |(t, i)| (starts[t] + i) as u32);
            let read = done.from.map_or(0, |(t, i)| threads[t][i].value);
            let is_read = done.kind == OpKind::Read;
            ops.push(done.kind, var, from);
            names.values.push(if is_read { read } else { done.value });
        }
    }
    (ops, names)
}
