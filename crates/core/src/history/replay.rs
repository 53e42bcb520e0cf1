//! Replays a run that claims to do what was recorded: on memory for SC, with one queue of writes
//! per thread for TSO, with one per thread and variable for PSO; with a clock if the model is about
//! real time; for coherence on the memory of one
//! variable at a time. Linear in time and memory.

use super::real_time::RealTime;
use crate::evidence::rejected::Rejected;
use crate::{History, HistoryModel, HistoryStep, INITIAL, OpKind};

/// Checks that the steps are a run of the machine of SC, TSO or PSO, that it does all operations,
/// and that writes reach memory in this order.
pub(super) fn replay(
    ops: &History,
    model: HistoryModel,
    store_order: &[Vec<u32>],
    steps: &[HistoryStep],
) -> Result<(), Rejected> {
    if store_order.len() != ops.vars() {
        return Err(Rejected::NotFinal);
    }
    let time = model.has_real_time().then(|| RealTime::of(ops));
    let model = model.without_time();
    let buffered = model.is_relaxed();
    let older = if buffered { own_writes_before(ops) } else { Vec::new() };
    let mut run = Run {
        ops,
        store_order,
        next: (0..ops.threads()).map(|t| ops.of_thread(t).start).collect(),
        next_commit: (0..ops.threads()).map(|t| ops.of_thread(t).start).collect(),
        pending: vec![0; ops.threads()],
        committed: vec![false; if buffered { ops.len() } else { 0 }],
        memory: vec![INITIAL; ops.vars()],
        done: vec![0; ops.vars()],
        time,
        now: i64::MIN,
    };
    for (at, &step) in steps.iter().enumerate() {
        let op = step.op();
        let taken = match step.is_commit() {
            false => run.issue(op, model, buffered.then_some(older.as_slice())),
            true if buffered => run.commit(op, model, &older),
            true => Err("SC has no buffers"),
        };
        taken.map_err(|why| Rejected::HistoryStep(at, why))?;
    }
    let all_done = (0..ops.threads()).all(|t| run.next[t] == ops.of_thread(t).end)
        && run.pending.iter().all(|&n| n == 0)
        && run.done.iter().zip(store_order).all(|(&n, order)| n == order.len());
    all_done.then_some(()).ok_or(Rejected::NotFinal)
}

/// Checks that the steps are, for each variable by itself, a run of all operations on it in memory
/// without buffers, in which writes have this order. Fences may be left out.
pub(super) fn replay_each_variable(
    ops: &History,
    store_order: &[Vec<u32>],
    steps: &[HistoryStep],
) -> Result<(), Rejected> {
    if store_order.len() != ops.vars() {
        return Err(Rejected::NotFinal);
    }
    let before = own_accesses_before(ops);
    let mut is_done = vec![false; ops.len()];
    let mut memory = vec![INITIAL; ops.vars()];
    let mut written = vec![0; ops.vars()];
    let mut take = |step: HistoryStep| {
        if step.is_commit() {
            return Err("memory has no buffers");
        }
        let op = step.op();
        if op as usize >= ops.len() {
            return Err("there is no such operation");
        }
        if ops.kind(op) == OpKind::Fence {
            return Ok(());
        }
        let (own, var) = (before[op as usize], ops.var(op) as usize);
        if std::mem::replace(&mut is_done[op as usize], true) {
            return Err("the operation was done before");
        }
        if own != INITIAL && !is_done[own as usize] {
            return Err("the thread's next operation on the variable is another one");
        }
        if ops.reads(op) && memory[var] != ops.from(op).unwrap_or(INITIAL) {
            return Err("the read sees another write");
        }
        if ops.writes(op) {
            if store_order[var].get(written[var]) != Some(&op) {
                return Err("the store order has another write here");
            }
            written[var] += 1;
            memory[var] = op;
        }
        Ok(())
    };
    for (at, &step) in steps.iter().enumerate() {
        take(step).map_err(|why| Rejected::HistoryStep(at, why))?;
    }
    let all_done = (0..ops.len()).all(|op| is_done[op] || ops.kind(op as u32) == OpKind::Fence)
        && written.iter().zip(store_order).all(|(&n, order)| n == order.len());
    all_done.then_some(()).ok_or(Rejected::NotFinal)
}

struct Run<'a> {
    ops: &'a History,
    store_order: &'a [Vec<u32>],
    /// Per thread the next operation.
    next: Vec<u32>,
    /// Per thread no write before this one is in the buffer (TSO only).
    next_commit: Vec<u32>,
    /// Per thread how many writes are in its buffers.
    pending: Vec<u32>,
    committed: Vec<bool>,
    /// Per variable the write that memory holds.
    memory: Vec<u32>,
    /// Per variable how many writes have reached memory.
    done: Vec<usize>,
    /// When operations began and ended, if that counts.
    time: Option<RealTime>,
    /// The latest beginning of an operation that was done.
    now: i64,
}

impl Run<'_> {
    /// `older` is given when there are buffers.
    fn issue(
        &mut self,
        op: u32,
        model: HistoryModel,
        older: Option<&[u32]>,
    ) -> Result<(), &'static str> {
        if op as usize >= self.ops.len() {
            return Err("there is no such operation");
        }
        let thread = self.ops.thread_of(op);
        if self.next[thread] != op {
            return Err("the thread's next operation is another one");
        }
        self.next[thread] += 1;
        if let Some(times) = self.time.as_ref().map(|time| time.times(op)) {
            self.now = self.now.max(times.start);
            if self.now > times.end {
                return Err("the operation had ended before another one that was done began");
            }
        }
        let kind = self.ops.kind(op);
        let waits = match kind {
            OpKind::Update if model == HistoryModel::PsoOwn => {
                let own = older.map_or(INITIAL, |older| older[op as usize]);
                own != INITIAL && !self.committed[own as usize]
            }
            OpKind::Update | OpKind::Fence => self.pending[thread] > 0,
            OpKind::Read | OpKind::Write => false,
        };
        if waits {
            return Err("the thread's writes are not all in memory");
        }
        if self.ops.reads(op) {
            let own = older.map_or(INITIAL, |older| older[op as usize]);
            let seen = match own {
                INITIAL => self.memory[self.ops.var(op) as usize],
                _ if self.committed[own as usize] => self.memory[self.ops.var(op) as usize],
                _ => own,
            };
            if seen != self.ops.from(op).unwrap_or(INITIAL) {
                return Err("the read sees another write");
            }
        }
        match (kind, older) {
            (OpKind::Write, Some(_)) => {
                self.pending[thread] += 1;
                Ok(())
            }
            (OpKind::Write | OpKind::Update, _) => self.store(op),
            _ => Ok(()),
        }
    }

    fn commit(&mut self, op: u32, model: HistoryModel, older: &[u32]) -> Result<(), &'static str> {
        let ops = self.ops;
        if op as usize >= ops.len() || ops.kind(op) != OpKind::Write {
            return Err("there is no such write");
        }
        let thread = ops.thread_of(op);
        if self.next[thread] <= op || self.committed[op as usize] {
            return Err("the write is not in a buffer");
        }
        let own = older[op as usize];
        if own != INITIAL && !self.committed[own as usize] {
            return Err("an older write to the variable is in the buffer");
        }
        if model == HistoryModel::Tso {
            let next = &mut self.next_commit[thread];
            while *next < op && (ops.kind(*next) != OpKind::Write || self.committed[*next as usize])
            {
                *next += 1;
            }
            if *next != op {
                return Err("an older write is in the buffer");
            }
        }
        self.pending[thread] -= 1;
        self.store(op)
    }

    fn store(&mut self, op: u32) -> Result<(), &'static str> {
        let var = self.ops.var(op) as usize;
        if self.store_order[var].get(self.done[var]) != Some(&op) {
            return Err("the store order has another write here");
        }
        self.done[var] += 1;
        self.memory[var] = op;
        if let Some(committed) = self.committed.get_mut(op as usize) {
            *committed = true;
        }
        Ok(())
    }
}

/// Per operation the last write of its thread to its variable before it.
fn own_writes_before(ops: &History) -> Vec<u32> {
    own_before(ops, |op| ops.writes(op))
}

/// Per operation the last access of its thread to its variable before it.
fn own_accesses_before(ops: &History) -> Vec<u32> {
    own_before(ops, |_| true)
}

fn own_before(ops: &History, counts: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut last = vec![INITIAL; ops.vars()];
    let mut before = vec![INITIAL; ops.len()];
    for thread in 0..ops.threads() {
        let start = ops.of_thread(thread).start;
        for op in ops.of_thread(thread).filter(|&op| ops.kind(op) != OpKind::Fence) {
            let last = &mut last[ops.var(op) as usize];
            // What is left of the threads before is older than the start.
            if *last != INITIAL && *last >= start {
                before[op as usize] = *last;
            }
            if counts(op) {
                *last = op;
            }
        }
    }
    before
}
