//! Executions of programs that are only data: those of a strategy, all of them, classes of them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Buffers, State, System};
use crate::{Agent, Choice, Ended, Next, Op, OpKind, Strategy};

/// Steps of an execution.
pub type Steps = Vec<(Agent, Op)>;

/// Is told an execution: its steps, the state at its end, and how it ended.
pub type Visit<'a> = &'a mut dyn FnMut(&[(Agent, Op)], &State, Ended);

type Until<'a> = dyn FnMut(&[(Agent, Op)], &State, Ended) -> bool + 'a;

/// Lets a strategy run a program, at most so many times. `visit` is told each execution. Returns
/// whether the strategy had nothing left to explore.
pub fn run(system: &System, strategy: &mut dyn Strategy, most: usize, visit: Visit<'_>) -> bool {
    let mut steps = Steps::new();
    for _ in 0..most {
        if !strategy.begin() {
            return true;
        }
        steps.clear();
        let mut state = State::new(system);
        let ended = loop {
            if let Some(ended) = state.ended(system) {
                break ended;
            }
            let next = state.next(system);
            match strategy.choose(&next, steps.last().map(|s| s.0)) {
                Choice::Stop => break Ended::Stopped,
                Choice::Run(agent) => {
                    assert!(
                        next.iter().any(|n| n.agent == agent && n.enabled),
                        "{agent:?} {next:?}"
                    );
                    steps.push((agent, state.step(system, agent)));
                }
            }
        };
        strategy.end(ended, &state.next(system));
        visit(&steps, &state, ended);
    }
    false
}

/// Every execution of a program, by trying everybody who is ready at each step; `false` if there are
/// more than so many. Who waits in a loop in vain does not count as ready.
pub fn all_executions(system: &System, most: usize, visit: Visit<'_>) -> bool {
    let mut left = most;
    let mut visit = |steps: &[(Agent, Op)], state: &State, ended| {
        visit(steps, state, ended);
        left = left.saturating_sub(1);
        left > 0
    };
    visit_all(system, &State::new(system), &mut Steps::new(), &Next::ready, &mut visit)
}

fn visit_all(
    system: &System,
    state: &State,
    steps: &mut Steps,
    goes_on: &dyn Fn(&Next) -> bool,
    visit: &mut Until<'_>,
) -> bool {
    if let Some(ended) = state.ended(system) {
        return visit(steps, state, ended);
    }
    state.next(system).iter().filter(|n| goes_on(n)).all(|n| {
        let mut after = state.clone();
        steps.push((n.agent, after.step(system, n.agent)));
        let go_on = visit_all(system, &after, steps, goes_on, visit);
        steps.pop();
        go_on
    })
}

/// The one of all orders of these steps that keep the order of those which conflict in which the
/// lowest agent goes first at each step: two executions are equivalent exactly if theirs are equal.
#[must_use]
pub fn canonical(system: &System, steps: &[(Agent, Op)]) -> Steps {
    let buffered = |op: Op| op.kind == OpKind::Write && system.buffers != Buffers::None;
    // A thread reads the same before and after its own store leaves the buffer.
    let own = |a: (Agent, Op), b: (Agent, Op)| {
        a.0.of() == b.0.of() && a.1.kind == OpKind::Read && b.1.kind == OpKind::Commit
    };
    let depends = |a: (Agent, Op), b: (Agent, Op)| {
        let apart = buffered(a.1) || buffered(b.1) || own(a, b) || own(b, a);
        a.0 == b.0 || (a.1.conflicts(b.1) && !apart)
    };
    let mut left: Vec<usize> = (0..steps.len()).collect();
    let mut order = Steps::new();
    while !left.is_empty() {
        let free = |&at: &usize| {
            let before = left.iter().take_while(|&&j| j < left[at]);
            !before.clone().any(|&j| depends(steps[j], steps[left[at]]))
        };
        let Some(at) = (0..left.len()).filter(free).min_by_key(|&at| steps[left[at]].0) else {
            break;
        };
        order.push(steps[left.remove(at)]);
    }
    order
}

/// The classes of equivalent executions of a program in which nobody goes on after having read in vain, and
/// the states in which all executions end. `None` if it has more than so many executions.
#[must_use]
pub fn traces(system: &System, most: usize) -> Option<(BTreeSet<Steps>, BTreeSet<State>)> {
    let (mut traces, mut states) = (BTreeSet::new(), BTreeSet::new());
    let all = all_executions(system, most, &mut |_, state, _| {
        states.insert(state.clone());
    });
    if !all {
        return None;
    }
    let goes_on = |n: &Next| n.ready() && !n.again;
    let mut visit = |steps: &[(Agent, Op)], _: &State, _| {
        traces.insert(canonical(system, steps));
        true
    };
    visit_all(system, &State::new(system), &mut Steps::new(), &goes_on, &mut visit);
    Some((traces, states))
}

/// Of each thread what it did, and from which store each byte was read: the thread that made it and
/// which of its stores it was; nothing for what was there at the beginning.
pub type ReadsFrom = Vec<Vec<(Op, Vec<Option<(u16, u32)>>)>>;

/// What was read from where, by definition.
#[must_use]
pub fn reads_from(system: &System, steps: &[(Agent, Op)]) -> ReadsFrom {
    let buffered = system.buffers != Buffers::None;
    let bytes = |op: Op| op.addr..op.addr + u64::from(op.len);
    let mut memory: BTreeMap<u64, (u16, u32)> = BTreeMap::new();
    let mut pending: Vec<Vec<(Op, u32)>> = vec![Vec::new(); system.threads.len()];
    let mut stores = vec![0; system.threads.len()];
    let mut done: ReadsFrom = vec![Vec::new(); system.threads.len()];
    for &(agent, op) in steps {
        let (t, thread) = (usize::from(agent.of()), agent.of());
        if agent.is_buffer() {
            let same = |p: &(Op, u32)| (p.0.addr, p.0.len) == (op.addr, op.len);
            let at = pending[t].iter().position(same).expect("a commit has a store");
            let (_, number) = pending[t].remove(at);
            memory.extend(bytes(op).map(|b| (b, (thread, number))));
            continue;
        }
        let mut from = Vec::new();
        if op.touches() && op.kind != OpKind::Write {
            let seen = |b: u64| {
                let own = pending[t].iter().rev().find(|p| bytes(p.0).contains(&b));
                own.map(|p| (thread, p.1)).or(memory.get(&b).copied())
            };
            from.extend(bytes(op).map(seen));
        }
        if op.writes() {
            stores[t] += 1;
            if buffered && op.kind == OpKind::Write {
                pending[t].push((op, stores[t]));
            } else {
                memory.extend(bytes(op).map(|b| (b, (thread, stores[t]))));
            }
        }
        done[t].push((op, from));
    }
    done
}
