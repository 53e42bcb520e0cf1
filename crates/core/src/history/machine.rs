//! Which histories the machines with store buffers can produce: SC has no buffer, TSO one queue
//! per thread, PSO one per thread and variable. PSO-own differs in what updates wait for.
//! With real time there is a clock, and each operation is done when it is between its beginning and
//! its end; writes leave buffers at any time. All states are searched, each once.

use std::collections::HashSet;

use super::real_time::RealTime;
use crate::{History, HistoryModel, HistoryStep, INITIAL, OpKind};

/// Where a run is.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    /// Per thread the next operation.
    next: Vec<u32>,
    /// The writes that are in memory or were overwritten there.
    committed: u128,
    /// Per variable the write that memory holds.
    memory: Vec<u32>,
    /// The earliest that the clock can show; models without real time have none.
    now: i64,
}

/// Whether the machine of SC, TSO or PSO, perhaps with real time, can do what was recorded. `None` for the other models,
/// which have no machine, for more than 128 operations, and when there are more states than this.
#[must_use]
pub fn machine_allows(ops: &History, model: HistoryModel, max_states: usize) -> Option<bool> {
    machine_run(ops, model, max_states).map(|run| run.is_some())
}

/// A run of the machine of SC, TSO or PSO that does what was recorded, if there is one. `None` as
/// for [`machine_allows`].
#[must_use]
pub fn machine_run(
    ops: &History,
    model: HistoryModel,
    max_states: usize,
) -> Option<Option<Vec<HistoryStep>>> {
    let time = model.has_real_time().then(|| RealTime::of(ops));
    let model = model.without_time();
    let buffered = match model {
        HistoryModel::Sc => false,
        HistoryModel::Tso | HistoryModel::Pso | HistoryModel::PsoOwn => true,
        HistoryModel::Lin
        | HistoryModel::TsoRt
        | HistoryModel::Coherence
        | HistoryModel::Cc
        | HistoryModel::Ccv
        | HistoryModel::Cm
        | HistoryModel::Ccm
        | HistoryModel::Wccm => return None,
    };
    if ops.len() > 128 {
        return None;
    }
    let start = State {
        next: (0..ops.threads()).map(|t| ops.of_thread(t).start).collect(),
        committed: 0,
        memory: vec![INITIAL; ops.vars()],
        now: i64::MIN,
    };
    let mut seen = HashSet::from([start.clone()]);
    // Each step that was taken, after the step before it.
    let mut taken: Vec<(usize, HistoryStep)> = Vec::new();
    let mut todo = vec![(start, usize::MAX)];
    while let Some((state, last)) = todo.pop() {
        let mut is_final = true;
        for thread in 0..ops.threads() {
            let range = ops.of_thread(thread);
            let next = state.next[thread];
            let waiting = || {
                let done = range.start..if buffered { next } else { range.start };
                let committed = state.committed;
                done.filter(move |&w| ops.kind(w) == OpKind::Write && committed & (1 << w) == 0)
            };
            let mut steps = Vec::new();
            if next < range.end {
                is_final = false;
                let issued = issue(ops, &state, thread, waiting().collect(), model);
                let issued = issued.and_then(|to| at_its_time(to, next, time.as_ref()));
                steps.extend(issued.map(|to| (HistoryStep::issue(next), to)));
            }
            for w in waiting() {
                is_final = false;
                let is_oldest = match model {
                    HistoryModel::Tso => waiting().next() == Some(w),
                    _ => waiting().find(|&older| ops.var(older) == ops.var(w)) == Some(w),
                };
                if is_oldest {
                    steps.push((HistoryStep::commit(w), with_commit(ops, state.clone(), w)));
                }
            }
            for (step, to) in steps {
                if seen.insert(to.clone()) {
                    taken.push((last, step));
                    todo.push((to, taken.len() - 1));
                }
            }
        }
        if is_final {
            let mut run = Vec::new();
            let mut at = last;
            while let Some(&(before, step)) = taken.get(at) {
                run.push(step);
                at = before;
            }
            run.reverse();
            return Some(Some(run));
        }
        if seen.len() > max_states {
            return None;
        }
    }
    Some(None)
}

/// The state after the thread's next operation, if it can be done.
fn issue(
    ops: &History,
    state: &State,
    thread: usize,
    waiting: Vec<u32>,
    model: HistoryModel,
) -> Option<State> {
    let op = state.next[thread];
    let kind = ops.kind(op);
    let own = model == HistoryModel::PsoOwn && kind == OpKind::Update;
    let waits = waiting.iter().any(|&w| !own || ops.var(w) == ops.var(op));
    if matches!(kind, OpKind::Fence | OpKind::Update) && waits {
        return None;
    }
    if ops.reads(op) {
        let own = waiting.iter().rfind(|&&w| ops.var(w) == ops.var(op));
        let seen = own.copied().unwrap_or(state.memory[ops.var(op) as usize]);
        if seen != ops.from(op).unwrap_or(INITIAL) {
            return None;
        }
    }
    let mut state = state.clone();
    state.next[thread] += 1;
    Some(match kind {
        OpKind::Update => with_commit(ops, state, op),
        OpKind::Write if model == HistoryModel::Sc => with_commit(ops, state, op),
        _ => state,
    })
}

/// The state in which the clock shows at least when the operation began, unless it has ended then.
fn at_its_time(mut state: State, op: u32, time: Option<&RealTime>) -> Option<State> {
    let Some(time) = time else { return Some(state) };
    let times = time.times(op);
    state.now = state.now.max(times.start);
    (state.now <= times.end).then_some(state)
}

fn with_commit(ops: &History, mut state: State, w: u32) -> State {
    state.committed |= 1 << w;
    state.memory[ops.var(w) as usize] = w;
    state
}
