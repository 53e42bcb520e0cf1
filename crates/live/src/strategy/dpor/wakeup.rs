//! Wakeup trees: what is to be explored from a state, as sequences of steps with common beginnings.

use crate::{Agent, Op, OpKind};

/// What is known about the steps of a sequence.
pub(super) trait Relation {
    /// Whether two steps of different agents may not be exchanged.
    fn conflict(&self, a: (Agent, Op), b: (Agent, Op)) -> bool;

    /// Whether the first step, by its number, happens before the second, or is it.
    fn before(&self, first: usize, second: usize) -> bool;
}

/// A step that is to be taken, and what is to follow; nothing in particular if empty.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) agent: Agent,
    pub(super) op: Op,
    /// Whether the step is known to be possible, and to do this.
    pub(super) sure: bool,
    pub(super) then: Vec<Branch>,
}

/// A step of a sequence. The last one of a sequence is turned: it comes earlier than it did, so that
/// it may do something else, or be impossible.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) agent: Agent,
    pub(super) op: Op,
    /// Which step of the execution it was.
    pub(super) step: usize,
    pub(super) turned: bool,
    /// Whether it is known to be possible, and to do this.
    pub(super) sure: bool,
    /// Whether the turned step comes after it all the same.
    pub(super) needed: bool,
    /// Whether the sequence would be another one without it.
    pub(super) kept: bool,
}

/// Whether some execution that begins with the sequence is equivalent to one that begins with this
/// step: the step is in the sequence with nothing before that it depends on, or it has nothing to
/// do with all of it. If not, tells a step of the sequence that is the reason.
pub(super) fn may_begin(
    order: &impl Relation,
    agent: Agent,
    op: Op,
    sequence: &[Wanted],
) -> Result<(), usize> {
    let reason = match sequence.iter().position(|w| w.agent == agent) {
        Some(at) => (0..at).any(|i| comes_after(order, sequence, at, i)).then_some(at),
        None => sequence.iter().position(|w| order.conflict((agent, op), (w.agent, w.op))),
    };
    reason.map_or(Ok(()), Err)
}

/// Whether the sequence has a step of this agent that nothing before it has to come before.
pub(super) fn begins(order: &impl Relation, agent: Agent, sequence: &[Wanted]) -> bool {
    let at = sequence.iter().position(|w| w.agent == agent);
    at.is_some_and(|at| !(0..at).any(|i| comes_after(order, sequence, at, i)))
}

/// Whether a step of a sequence has to come after an earlier one.
fn comes_after(order: &impl Relation, sequence: &[Wanted], at: usize, earlier: usize) -> bool {
    match sequence[at].turned {
        true => sequence[earlier].needed,
        false => order.before(sequence[earlier].step, sequence[at].step),
    }
}

/// Leaves out of a sequence all but the steps that are to be kept and what they come after.
fn trim(order: &impl Relation, sequence: &mut Vec<Wanted>) {
    let mut kept: Vec<usize> = Vec::new();
    for i in (0..sequence.len()).rev() {
        if sequence[i].kept || kept.iter().any(|&at| comes_after(order, sequence, at, i)) {
            sequence[i].kept = true;
            kept.push(i);
        }
    }
    sequence.retain(|w| w.kept);
}

/// Adds a sequence to a tree, unless a leaf of it covers the sequence already; whether it was added. What is in the tree
/// comes first. `label` tells what an agent does in the state at the root. Only those steps are added
/// that make the difference to what comes first, and those that they need: the others may come in
/// any order, and a long execution would fill the memory with them.
///
/// A leaf covers what it may be the beginning of, because everything that follows it will be
/// explored. That holds if nobody sleeps at its end, for which it has to be known what its steps
/// do, and those that come first. A leaf that is not sure covers nothing: what it may be the
/// beginning of is put after it.
pub(super) fn insert(
    order: &impl Relation,
    tree: &mut Vec<Branch>,
    sequence: &mut Vec<Wanted>,
    label: &dyn Fn(Agent) -> Option<Op>,
) -> bool {
    let mut tree = tree;
    let mut root = true;
    let mut sure = true;
    loop {
        let found = tree.iter().position(|branch| {
            let known = if root { label(branch.agent) } else { None };
            let op = known.unwrap_or(branch.op);
            let Err(reason) = may_begin(order, branch.agent, op, sequence) else { return true };
            sequence[reason].kept = true;
            if known.is_none() && !branch.sure {
                // An update that may be none might let it begin after all.
                let read = Op { kind: OpKind::Compare, ..branch.op };
                sure &= may_begin(order, branch.agent, read, sequence).is_err();
            }
            false
        });
        let Some(found) = found else { break };
        let branch = &mut tree[found];
        if let Some(at) = sequence.iter().position(|w| w.agent == branch.agent) {
            sequence.remove(at);
        }
        if sequence.is_empty() || (branch.then.is_empty() && branch.sure) {
            return false;
        }
        tree = &mut tree[found].then;
        root = false;
    }
    trim(order, sequence);
    let mut chain = Vec::new();
    for w in sequence.iter().rev() {
        let sure = w.sure && (sure || !chain.is_empty());
        chain = vec![Branch { agent: w.agent, op: w.op, sure, then: chain }];
    }
    tree.append(&mut chain);
    true
}

/// The first branch whose agent can run and is let run. One that turns out to be impossible gives
/// way to what is after it, which does not need it.
pub(super) fn take(
    tree: &mut Vec<Branch>,
    sleep: &[Agent],
    taken: &[Agent],
    can: impl Fn(Agent) -> bool,
) -> Option<Branch> {
    while !tree.is_empty() {
        let branch = tree.remove(0);
        if sleep.contains(&branch.agent) || taken.contains(&branch.agent) {
            continue;
        }
        if can(branch.agent) {
            return Some(branch);
        }
        tree.splice(0..0, branch.then);
    }
    None
}
