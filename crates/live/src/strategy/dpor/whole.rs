//! All that is to be explored, for several workers. A part is a branch of a state; after so many
//! executions a worker hands in the states that have branches left, which become parts in turn.
//!
//! Why this explores all classes, and none twice. In `dpor` a step sleeps once everything behind it was explored,
//! and what was found out there about the states before has been added to their trees, so that it may cover
//! sequences with which it has nothing to do. Here a step may be *taken* whose part is still out. Like one
//! that sleeps it does not go first until something that it conflicts with is done, so that nothing is
//! explored twice; but it covers only sequences that it is the beginning of. That may take executions that
//! are stopped in the end, because only steps that were taken are left.
//!
//! A branch that is handed out while something else behind the same state is unfinished does not know what will be
//! found out there, which `dpor` would have added to it before. So it must come to all classes that nobody who was taken begins
//! by itself: it is explored as if those that are done were only taken, and nobody sleeps. As a program in which these threads do
//! not go on until a conflict wakes them that is complete, whatever others find. For the same reason nobody who is done sleeps before all
//! that was handed out from that state is done.
//!
//! What a worker finds out about a state on its way, which it does not own, it hands in as a whole
//! sequence ([`Found`]), which is looked at again here: something else may have been taken from there
//! since.
//!
//! Of one state one branch is out at a time: should it end the program at once it covers nothing, and
//! what was taken from there next would have relied on it.

use std::collections::BTreeSet;

use super::part::{Found, Given, Left, Part, Rest};
use super::wakeup::{Branch, begins, insert, may_begin, take};
use crate::strategy::share::Whole;
use crate::{Agent, Next, Op};

/// With more states than this, those that are the furthest on come first, so that they do not become
/// ever more.
const MANY: usize = 20_000;

/// Nothing.
const NONE: u32 = u32::MAX;

/// The whole of what `dpor` explores.
#[derive(Debug, Default)]
pub struct DporWhole {
    begun: bool,
    nodes: Vec<Node>,
    free: Vec<u32>,
    /// States with something to be handed out: how many steps they are from the beginning, and which.
    ready: BTreeSet<(u32, u32)>,
    /// The states of the parts that are out, the oldest first, and who is let go on from there.
    out: std::collections::VecDeque<(u32, Agent)>,
    cut: bool,
}

#[derive(Clone, Debug)]
struct Node {
    parent: u32,
    depth: u32,
    /// Who went on from the parent to here.
    agent: Agent,
    seen: Vec<Next>,
    sleep: Vec<Agent>,
    barred: Vec<Agent>,
    taken: Vec<Agent>,
    /// Those of whom everything was handed in.
    done: Vec<Agent>,
    tree: Vec<Branch>,
    /// Whether a branch of it is out, and what was found meanwhile.
    out: bool,
    found: Vec<Found>,
    /// How many states there are below.
    children: u32,
}

impl DporWhole {
    /// Everything.
    #[must_use]
    pub fn new() -> DporWhole {
        DporWhole::default()
    }

    fn node(&mut self, at: u32) -> &mut Node {
        &mut self.nodes[at as usize]
    }

    fn add(&mut self, parent: u32, depth: u32, agent: Agent, left: Left) -> u32 {
        let Left { seen, sleep, barred, taken, tree, .. } = left;
        let node = Node {
            parent,
            depth,
            agent,
            seen,
            sleep,
            barred,
            taken,
            done: Vec::new(),
            tree,
            out: false,
            found: Vec::new(),
            children: 0,
        };
        if parent != NONE {
            self.node(parent).children += 1;
        }
        match self.free.pop() {
            Some(at) => {
                *self.node(at) = node;
                at
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        }
    }

    /// Looks whether a state has something to be handed out, or is not needed any more.
    fn settle(&mut self, mut at: u32) {
        while at != NONE {
            self.node(at).put_to_sleep();
            let node = &self.nodes[at as usize];
            let key = (node.depth, at);
            if !node.tree.is_empty() && !node.out {
                self.ready.insert(key);
                return;
            }
            self.ready.remove(&key);
            if node.out || node.children > 0 || !node.found.is_empty() {
                return;
            }
            let (parent, agent) = (node.parent, node.agent);
            let node = self.node(at);
            (node.seen, node.sleep) = (Vec::new(), Vec::new());
            self.free.push(at);
            if parent != NONE {
                let above = self.node(parent);
                above.children -= 1;
                above.done.push(agent);
            }
            at = parent;
        }
    }

    /// The states from the first one to this one.
    fn way(&self, mut at: u32) -> Vec<u32> {
        let mut way = Vec::new();
        while at != NONE {
            way.push(at);
            at = self.nodes[at as usize].parent;
        }
        way.reverse();
        way
    }

    fn part(&mut self, at: u32, branch: Branch, most: u64) -> Part {
        let way = self.way(at);
        let agents = way[1..].iter().map(|&next| self.nodes[next as usize].agent);
        let agents: Vec<Agent> = agents.chain([branch.agent]).collect();
        let given = way.iter().zip(agents).map(|(&at, agent)| {
            let Node { sleep, barred, taken, tree, .. } = self.nodes[at as usize].clone();
            Given { agent, sleep, barred, taken, tree }
        });
        let mut way: Vec<Given> = given.collect();
        // Others are still at work behind this state.
        if self.nodes[at as usize].children > 0
            && let Some(last) = way.last_mut()
        {
            last.taken.append(&mut last.sleep);
        }
        Part { most, way, branch: Some(branch) }
    }

    /// What is left of a part, below a state.
    fn extend(&mut self, parent: u32, first: Agent, left: Vec<Left>) {
        let depth = if parent == NONE { 0 } else { self.nodes[parent as usize].depth + 1 };
        let (mut above, mut agent) = (parent, first);
        let mut added = Vec::new();
        let last = left.len();
        for (i, mut left) in left.into_iter().enumerate() {
            let next = left.agent;
            if i + 1 < last {
                // All that follows is to be explored by itself.
                left.taken.push(next);
            }
            above = self.add(above, depth + i as u32, agent, left);
            added.push(above);
            agent = next;
        }
        for at in added.into_iter().rev() {
            self.settle(at);
        }
    }

    /// The branch that was out has ended the program at once: somebody else gets a turn.
    fn end_early(&mut self, at: u32, agent: Agent) {
        let node = self.node(at);
        node.barred.push(agent);
        let without = [&node.sleep, &node.barred, &node.taken];
        let lets = |a: Agent| !without.iter().any(|agents| agents.contains(&a));
        let other = node.seen.iter().find(|n| n.agent != agent && n.ready() && lets(n.agent));
        if let (true, Some(&Next { agent, op, .. })) = (node.tree.is_empty(), other) {
            node.tree.push(Branch { agent, op, sure: true, then: Vec::new() });
        }
    }

    /// Adds a sequence to the tree of its state, unless it is covered.
    fn found(&mut self, at: u32, mut found: Found) {
        let node = self.node(at);
        if node.out {
            node.found.push(found);
            return;
        }
        let Node { seen, sleep, taken, tree, .. } = node;
        let label = |agent: Agent| op(seen, agent);
        let sequence = &mut found.sequence;
        let woken = sleep.iter().all(|&agent| {
            let Some(op) = label(agent) else { return true };
            may_begin(&found.past, agent, op, sequence).is_err_and(|at| {
                sequence[at].kept = true;
                true
            })
        });
        if woken && !taken.iter().any(|&agent| begins(&found.past, agent, sequence)) {
            insert(&found.past, tree, sequence, &label);
        }
    }
}

impl Node {
    /// Who was taken and is done sleeps from now on. Not before everything that was to be explored from here is
    /// done: branches were added although they do not wake who was taken, and rely on nobody who sleeps.
    fn put_to_sleep(&mut self) {
        if self.tree.is_empty() && self.children == 0 && !self.out {
            self.taken.retain(|agent| !self.done.contains(agent));
            self.sleep.append(&mut self.done);
        }
    }
}

fn op(seen: &[Next], agent: Agent) -> Option<Op> {
    seen.iter().find(|n| n.agent == agent).map(|n| n.op)
}

impl Whole for DporWhole {
    fn next(&mut self, most: u64) -> Option<String> {
        if !std::mem::replace(&mut self.begun, true) {
            self.out.push_back((NONE, Agent::thread(0)));
            return Some(Part { most, way: Vec::new(), branch: None }.text());
        }
        loop {
            let many = self.nodes.len() - self.free.len() > MANY;
            let ready = if many { self.ready.last() } else { self.ready.first() };
            let &(_, at) = ready?;
            let Node { seen, sleep, taken, tree, .. } = self.node(at);
            let can = |agent| seen.iter().any(|n| n.agent == agent && n.enabled);
            let found = take(tree, sleep, taken, can);
            let Some(branch) = found.filter(|branch| op(seen, branch.agent).is_some()) else {
                self.settle(at);
                continue;
            };
            self.out.push_back((at, branch.agent));
            let part = self.part(at, branch, most);
            self.node(at).out = true;
            self.settle(at);
            return Some(part.text());
        }
    }

    fn merge(&mut self, rest: &str) -> bool {
        let (Some(rest), Some((at, agent))) = (Rest::parse(rest), self.out.pop_front()) else {
            return false;
        };
        self.cut |= rest.cut;
        if at == NONE {
            self.extend(NONE, agent, rest.left);
            return true;
        }
        let way = self.way(at);
        self.node(at).out = false;
        if rest.early {
            self.end_early(at, agent);
        } else if rest.left.is_empty() && self.node(at).children == 0 {
            self.node(at).sleep.push(agent);
        } else {
            let node = self.node(at);
            node.taken.push(agent);
            if rest.left.is_empty() {
                node.done.push(agent);
            }
        }
        self.extend(at, agent, rest.left);
        way.iter().for_each(|&at| self.node(at).put_to_sleep());
        for found in std::mem::take(&mut self.node(at).found) {
            self.found(at, found);
        }
        for found in rest.found {
            let Some(&state) = way.get(found.state as usize) else { return false };
            self.found(state, found);
        }
        for &at in &way {
            let Node { depth, tree, out, .. } = self.node(at);
            if !tree.is_empty() && !*out {
                let depth = *depth;
                self.ready.insert((depth, at));
            }
        }
        self.settle(at);
        true
    }

    fn complete(&self) -> bool {
        self.begun && !self.cut && self.out.is_empty() && self.ready.is_empty()
    }
}
