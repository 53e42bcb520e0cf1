//! Wakeup trees: what is to be explored from a state, as sequences of steps with common beginnings.

use super::order::Order;
use crate::{Agent, Op};

/// A step that is to be taken, and what is to follow; nothing in particular if empty.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) agent: Agent,
    pub(super) op: Op,
    pub(super) then: Vec<Branch>,
}

/// A step of a sequence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) agent: Agent,
    pub(super) op: Op,
    /// Which step of the execution it was.
    pub(super) step: usize,
}

/// Whether some execution that begins with the sequence is equivalent to one that begins with this
/// step: the step is in the sequence with nothing before that it depends on, or it has nothing to
/// do with all of it.
pub(super) fn may_begin(order: &Order, agent: Agent, op: Op, sequence: &[Wanted]) -> bool {
    match sequence.iter().position(|w| w.agent == agent) {
        Some(at) => first_of_all(order, sequence, at),
        None => !sequence.iter().any(|w| order.conflict(op, w.op)),
    }
}

fn first_of_all(order: &Order, sequence: &[Wanted], at: usize) -> bool {
    !sequence[..at].iter().any(|w| order.before(w.step, sequence[at].step))
}

/// Adds a sequence to a tree, unless a leaf of it covers the sequence already. What is in the tree
/// comes first. `label` tells what an agent does in the state at the root.
pub(super) fn insert(
    order: &Order,
    tree: &mut Vec<Branch>,
    sequence: &mut Vec<Wanted>,
    label: &dyn Fn(Agent) -> Option<Op>,
) {
    let mut tree = tree;
    let mut root = true;
    loop {
        let found = tree.iter().position(|branch| {
            let op = if root { label(branch.agent).unwrap_or(branch.op) } else { branch.op };
            may_begin(order, branch.agent, op, sequence)
        });
        let Some(found) = found else { break };
        let branch = &mut tree[found];
        if let Some(at) = sequence.iter().position(|w| w.agent == branch.agent) {
            sequence.remove(at);
        }
        // Everything after a leaf will be explored, and a sequence that is used up is in the tree.
        if branch.then.is_empty() || sequence.is_empty() {
            return;
        }
        tree = &mut tree[found].then;
        root = false;
    }
    let mut chain = Vec::new();
    for w in sequence.iter().rev() {
        chain = vec![Branch { agent: w.agent, op: w.op, then: chain }];
    }
    tree.append(&mut chain);
}
