//! One execution of each class: two executions are equivalent if they differ only in the order of
//! steps that have nothing to do with each other, so that one of them is enough.
//!
//! Optimal dynamic partial order reduction, after Abdulla, Aronis, Jonsson and Sagonas, "Source sets:
//! a foundation for optimal dynamic partial order reduction" (JACM 64, 2017), Algorithm 2. An
//! execution is run to its end. Each pair of steps that are next to each other in its order of what
//! happens before what (`order.rs`) is a *race* if they could have come the other way round; then,
//! from where the first was taken, the sequence of everything that does not come after the first,
//! followed by the second, leads to another class. It is inserted into the *wakeup tree* of that
//! state (`wakeup.rs`), unless the steps that were explored from there, the *sleep set*, or the tree
//! cover it. A step stays asleep until one that it conflicts with is taken. Trees are explored
//! depth first; after the end of a sequence everybody may go first who is not asleep.
//!
//! **Deviations and additions.**
//! - Of a sequence only those steps are kept that make it differ from what is covered, and those that
//!   they need, else the trees of long executions would be as large as their length squared.
//! - *Waiting* (`OpKind::Acquire`, `OpKind::Share`; the paper does this for locks). Whoever waited for an object
//!   races with all who were given it, or changed it, since the waiting thread has last seen it,
//!   not only with the last. A `Release` is no race: nothing could have been taken before it. So
//!   for locks the second is always possible first. Where it may not be (readers and writers) the sequence is
//!   tried, and what turns out to be impossible in the end is left out. When an
//!   execution is over, what the threads that are left were waiting for races in the same way.
//! - *Waiting in loops.* A thread that reads the same value again is taken as unable to go on until
//!   somebody writes there ([`Next::idle`]); a turn would change nothing. What lets it go on happens
//!   before what it does then, and is no race with it, since the thread has read what was there
//!   before already. Equivalence is meant accordingly: executions that differ in how often a loop goes
//!   round in vain count as one. Only if nobody else can go on, those that wait get turns.
//!   If it is certain that the thread is where it was before a round that nobody could notice
//!   ([`Next::again`]), it never goes on: as after an assumption that does not hold, that is decided by
//!   what the thread itself has seen, so that this is a program like others, and has all executions
//!   without such rounds. When all others have done what they can the execution is stopped.
//! - *The end of the program by one thread* (a crash, `exit`) ends the others early, so races with
//!   what they would have done are not seen. Then somebody else gets a turn instead, while the step
//!   that ended the program is barred until one that it conflicts with is taken. Unlike one that sleeps
//!   it covers nothing, because what follows it was not explored. This may take an execution that is
//!   stopped in the end, because only the barred step is left.
//! - *Buffers.* A store into a buffer concerns its thread only; its commit concerns everybody else: a
//!   thread reads the same right before and right after one of its own stores leaves the buffer.
//! - *Additions* whose results nobody uses do not conflict with each other ([`OpKind::Add`]). Of counts of references only the
//!   last one to go is noticed: whoever goes is an addition, and the last one an update. So a step may become another one by
//!   steps that it does not conflict with; then it does not sleep any more.
//! - *Compare-and-swap.* One that fails is a read. If it comes earlier it may succeed, so in trees it
//!   counts as an update. So does a load that would have been an update ([`Next::varies`]); with buffers that waits for those of
//!   its thread, so what leaves them is wanted before it.
//!
//! Where the bytes of one that fails are also accessed in parts, whoever announces steps says that it is an update, whatever comes of it
//! ([`Strategy::mixes`]).
//!
//! Complete when nothing is left, unless an execution was cut short, did not repeat what it had
//! done, or a waited-for object was touched by other bytes than its own (then several independent
//! steps together may make it available, and reversing single ones is not enough).
//!
//! All races of an execution are looked at when it ends, also those of the part that it has in common
//! with the one before: what does not come after the first step may be more than it was then.
//!
//! Cost: per step O(agents) and a walk over the accesses to the same word since the last write; per
//! race O(steps) at the end of each execution. As many executions as classes if nobody waits for anything but locks and joins.
//! Memory: one execution, its clocks, and its trees, which the number of races bounds, not the
//! number of executions.

use rustc_hash::FxHashSet;

use crate::{Agent, Choice, Diverged, Ended, Next, Op, OpKind, Strategy};

mod order;
mod part;
mod wakeup;
mod whole;

pub use whole::DporWhole;

use order::{Order, Race, Step, woken_between};
use part::{Found, Given, Left, Part, Rest};
use wakeup::{Branch, Relation, Wanted, begins, insert, may_begin, take};

/// The strategy `dpor`.
#[derive(Clone, Debug)]
pub struct Dpor {
    order: Order,
    /// The states before the steps, and one more while an execution is run.
    nodes: Vec<Node>,
    /// What was next in each of them.
    seen: Vec<Next>,
    /// What is next, when somebody is left where he is.
    left: Vec<Next>,
    /// What is to follow the last step.
    then: Vec<Branch>,
    /// The last step was the end of a sequence and not sure to be worth it.
    doubt: bool,
    /// The last step has ended the program while others were still there.
    early: bool,
    /// Steps that were taken in this execution.
    depth: usize,
    begun: bool,
    finished: bool,
    cut: bool,
    diverged: Option<Diverged>,
    /// How many executions there may still be.
    most: u64,
    /// The part of a whole that is explored.
    shared: Shared,
}

/// What is known of a part of a whole that others explore, too.
#[derive(Clone, Debug, Default)]
struct Shared {
    /// The states on the way to it, for its first execution, and the branch that it is.
    way: Vec<Given>,
    branch: Option<Branch>,
    /// How many there are: they belong to all.
    states: usize,
    /// What is to be explored from these.
    found: Vec<Found>,
    known: FxHashSet<u64>,
    /// The first step of the part has ended the program.
    early: bool,
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// Where its part of `seen` begins.
    seen: usize,
    /// Who need not go first: that was explored.
    sleep: Vec<Agent>,
    /// Who must not go first, because it would end the program.
    barred: Vec<Agent>,
    /// Who need not go first, because others explore that meanwhile.
    taken: Vec<Agent>,
    /// What is still to be explored.
    tree: Vec<Branch>,
}

impl Dpor {
    /// Explores all classes. `buffered`: stores take effect by commits.
    #[must_use]
    pub fn new(buffered: bool) -> Dpor {
        Dpor {
            order: Order::new(buffered),
            nodes: Vec::new(),
            seen: Vec::new(),
            left: Vec::new(),
            then: Vec::new(),
            doubt: false,
            early: false,
            depth: 0,
            begun: false,
            finished: false,
            cut: false,
            diverged: None,
            most: u64::MAX,
            shared: Shared::default(),
        }
    }

    /// What was next before a step.
    fn seen(&self, node: usize) -> &[Next] {
        let end = self.nodes.get(node + 1).map_or(self.seen.len(), |n| n.seen);
        &self.seen[self.nodes[node].seen..end]
    }

    fn op(&self, node: usize, agent: Agent) -> Option<Op> {
        self.seen(node).iter().find(|n| n.agent == agent).map(|n| n.op)
    }

    /// Forgets everything from a state on.
    fn forget(&mut self, node: usize) {
        if let Some(first) = self.nodes.get(node) {
            self.seen.truncate(first.seen);
            self.nodes.truncate(node);
        }
        self.order.truncate(node);
    }

    /// A state that was not seen before.
    fn enter(&mut self, next: &[Next]) {
        let (mut sleep, mut barred, mut others) = (Vec::new(), Vec::new(), Vec::new());
        if let Some(above) = self.nodes.len().checked_sub(1) {
            let Step { agent, op, .. } = self.order.steps[above];
            let taken = (agent, op);
            let stays = |agent: &&Agent| {
                let op = self.op(above, **agent);
                // It may have become the last one to go.
                let same = next.iter().any(|n| n.agent == **agent && Some(n.op) == op);
                same && op.is_some_and(|op| !self.order.conflict((**agent, op), taken))
            };
            sleep.extend(self.nodes[above].sleep.iter().filter(stays));
            barred.extend(self.nodes[above].barred.iter().filter(stays));
            others.extend(self.nodes[above].taken.iter().filter(stays));
            let before = self.nodes[above].seen..self.seen.len();
            for n in next {
                if woken_between(&self.seen[before.clone()], n) {
                    self.order.woken(n.agent);
                }
            }
        }
        let tree = std::mem::take(&mut self.then);
        self.nodes.push(Node { seen: self.seen.len(), sleep, barred, taken: others, tree });
        self.seen.extend_from_slice(next);
    }

    /// Who goes first from the last state.
    fn pick(&mut self, next: &[Next], last: Option<Agent>) -> Option<Agent> {
        let doubt = std::mem::take(&mut self.doubt);
        let node = self.nodes.last_mut()?;
        if !node.tree.is_empty() {
            let can = |agent| next.iter().any(|n| n.agent == agent && n.enabled);
            let branch = take(&mut node.tree, &node.sleep, &node.taken, can)?;
            return Some(self.follow(branch));
        }
        // Whoever is still asleep at the end of a sequence makes it one that was explored.
        if doubt && !node.sleep.is_empty() {
            return None;
        }
        let awake = |n: &&Next| n.ready() && node.lets(n.agent);
        let found = next.iter().filter(awake).find(|n| Some(n.agent) == last);
        let found = found.or_else(|| next.iter().find(awake));
        if let Some(n) = found {
            return Some(n.agent);
        }
        if next.iter().any(Next::ready) {
            return None;
        }
        // All that can go on wait in loops: in turn, so that none is left out.
        let waits = next.iter().filter(|n| n.enabled);
        let after = waits.clone().find(|n| Some(n.agent) > last).or_else(|| waits.clone().next());
        after.map(|n| n.agent)
    }

    /// Who goes first on the way to a part, from a state that was just entered; nothing if that is
    /// not on the way.
    fn given(&mut self, at: usize, next: &[Next]) -> Option<Option<Agent>> {
        let given = self.shared.way.get_mut(at)?;
        let node = self.nodes.last_mut()?;
        let agent = given.agent;
        let Given { sleep, barred, taken, tree, .. } = given;
        let own = [&mut node.sleep, &mut node.barred, &mut node.taken];
        for (own, given) in own.into_iter().zip([sleep, barred, taken]) {
            *own = std::mem::take(given);
        }
        node.tree = std::mem::take(tree);
        if !next.iter().any(|n| n.agent == agent && n.enabled) {
            return Some(None);
        }
        if at + 1 == self.shared.states
            && let Some(branch) = self.shared.branch.take()
        {
            self.follow(branch);
        }
        Some(Some(agent))
    }

    /// Takes the first step of a branch, and remembers the rest.
    fn follow(&mut self, branch: Branch) -> Agent {
        self.doubt = branch.then.is_empty() && !branch.sure;
        self.then = branch.then;
        branch.agent
    }

    /// Wants the second step of each race to come first, for all races from this one on. `left` are about to follow the last
    /// step.
    fn reverse(&mut self, from: usize, steps: usize, left: &[Next]) {
        for race in from..self.order.races.len() {
            let race = &self.order.races[race];
            let first = race.first as usize;
            let Some(mut sequence) = self.sequence(race, steps, left) else { continue };
            let woken = self.nodes[first].sleep.iter().all(|&agent| {
                let Some(op) = self.op(first, agent) else { return true };
                let reason = may_begin(&self.order, agent, op, &sequence);
                reason.is_err_and(|at| {
                    sequence[at].kept = true;
                    true
                })
            });
            let taken = &self.nodes[first].taken;
            if !woken || taken.iter().any(|&agent| begins(&self.order, agent, &sequence)) {
                continue;
            }
            if first < self.shared.states {
                let found = Found::new(first, sequence, &self.order);
                if self.shared.known.insert(found.hash()) {
                    self.shared.found.push(found);
                }
                continue;
            }
            let mut tree = std::mem::take(&mut self.nodes[first].tree);
            insert(&self.order, &mut tree, &mut sequence, &|agent| self.op(first, agent));
            self.nodes[first].tree = tree;
        }
    }

    /// What leads to the other order of a race from before its first step: everything that does not
    /// come after that, then the second step. `None` if it is known to be impossible.
    fn sequence(&self, race: &Race, steps: usize, left: &[Next]) -> Option<Vec<Wanted>> {
        let (first, second) = (race.first as usize, race.second as usize);
        let Step { agent, op, index, .. } = self.order.steps[second];
        let kind = op.kind;
        let plain = |agent, op, step| Wanted {
            agent,
            op,
            step,
            turned: false,
            sure: true,
            needed: false,
            kept: false,
        };
        let mut last = Wanted { turned: true, kept: true, ..plain(agent, op, second) };
        match kind {
            OpKind::Compare | OpKind::Update | OpKind::Add => {
                last.op.kind = OpKind::Update;
                last.sure = false;
            }
            OpKind::Read if self.varies(second, agent, left) => {
                last.op.kind = OpKind::Update;
                last.sure = false;
            }
            OpKind::Acquire | OpKind::Share => last.sure = false,
            _ => {}
        }
        let mut sequence = Vec::new();
        for (step, s) in self.order.steps[..steps].iter().enumerate().skip(first + 1) {
            if !self.order.before(first, step) {
                let empties = last.op.waits() && s.agent.is_buffer() && s.agent.of() == agent.of();
                let needed = self.order.needs(race, step)
                    || empties
                    || self.order.conflict((s.agent, s.op), (last.agent, last.op));
                sequence.push(Wanted { needed, ..plain(s.agent, s.op, step) });
            }
        }
        // If the agent was at the second step before the first one, that state tells what it will be.
        if !sequence.iter().any(|w| w.needed)
            && let Some(n) = self.seen(first).iter().find(|n| n.agent == agent)
            && self.order.index_before(agent, first) + 1 == index
        {
            let Node { barred, taken, .. } = &self.nodes[first];
            if !n.ready() || barred.contains(&agent) || taken.contains(&agent) {
                return None;
            }
            (last.op, last.sure) = (n.op, true);
        }
        sequence.push(last);
        Some(sequence)
    }

    /// Whether it depends on what is in memory what an agent does in a step. `left` are about to follow the last one.
    fn varies(&self, step: usize, agent: Agent, left: &[Next]) -> bool {
        let next = if step < self.nodes.len() { self.seen(step) } else { left };
        next.iter().any(|n| n.agent == agent && n.varies)
    }

    /// Races of what those that are left were waiting for.
    fn reverse_left(&mut self, left: &[Next]) {
        let steps = self.order.len();
        for n in left.iter().filter(|n| !n.ready() && !n.again) {
            let from = self.order.races.len();
            self.order.push(n.agent, n.op);
            self.reverse(from, steps, left);
            self.order.truncate(steps);
        }
    }

    /// When the last step has ended the program early, lets somebody else go first. What the others
    /// were about to do is known from before that step, in case that nobody could tell afterwards.
    fn end_early(&mut self, unknown: bool) {
        let Some(at) = self.nodes.len().checked_sub(1) else { return };
        let ender = self.order.steps[at].agent;
        let others = self.seen(at).iter().filter(|n| n.agent != ender);
        let others: Vec<Next> = others.copied().collect();
        self.early = others.iter().any(|n| !n.agent.is_buffer());
        if !self.early {
            return;
        }
        if unknown {
            self.reverse_left(&others);
        }
        let node = &mut self.nodes[at];
        let other = others.iter().find(|n| n.ready() && node.lets(n.agent));
        if let (true, Some(&Next { agent, op, .. })) = (node.tree.is_empty(), other) {
            node.tree.push(Branch { agent, op, sure: true, then: Vec::new() });
        }
    }

    /// What is next, when nobody goes on who is back where a round began that changed nothing.
    fn without_rounds(&mut self, next: &[Next]) -> Vec<Next> {
        let mut left = std::mem::take(&mut self.left);
        left.clear();
        let at = self.depth;
        let known =
            |node: usize, n: &Next| self.seen(node).iter().any(|k| k.agent == n.agent && k.again);
        left.extend(next.iter().map(|n| {
            let again = match at.checked_sub(1) {
                _ if n.again || n.undone == 0 => n.again,
                // It is the same as when that was done before, or since the agent has taken its last step.
                _ if at < self.nodes.len() => known(at, n),
                Some(last) if self.order.steps[last].agent != n.agent => known(last, n),
                _ => self.order.apart(n.agent, n.undone),
            };
            Next { enabled: n.enabled && !again, again, undone: 0, ..*n }
        }));
        left
    }

    /// Who takes the next step.
    fn choose_of(&mut self, next: &[Next], last: Option<Agent>) -> Choice {
        let at = self.depth;
        if at < self.order.len() {
            // What was done before is done again.
            let agent = self.order.steps[at].agent;
            if self.seen(at) == next {
                self.depth += 1;
                return Choice::Run(agent);
            }
            // The program has done something else: it is explored from here, but not completely.
            self.diverged.get_or_insert(Diverged { step: at, agent });
            self.then.clear();
            self.doubt = false;
            self.forget(at);
        }
        self.enter(next);
        let found = match self.given(at, next) {
            Some(given) => given,
            None => self.pick(next, last),
        };
        let Some(agent) = found else { return Choice::Stop };
        let Some(op) = self.op(at, agent) else { return Choice::Stop };
        self.order.push(agent, op);
        self.depth += 1;
        Choice::Run(agent)
    }
}

impl Node {
    fn lets(&self, agent: Agent) -> bool {
        let without = [&self.sleep, &self.barred, &self.taken];
        !without.iter().any(|agents| agents.contains(&agent))
    }
}

impl Strategy for Dpor {
    fn begin(&mut self) -> bool {
        self.depth = 0;
        if !std::mem::replace(&mut self.begun, true) {
            return true;
        }
        self.most -= 1;
        while let Some(at) = self.nodes.len().checked_sub(1) {
            if at < self.shared.states {
                self.shared.early = std::mem::take(&mut self.early);
                break;
            }
            let done = self.order.steps[at].agent;
            self.order.truncate(at);
            let node = &mut self.nodes[at];
            let early = std::mem::take(&mut self.early);
            if early { &mut node.barred } else { &mut node.sleep }.push(done);
            let mut tree = std::mem::take(&mut self.nodes[at].tree);
            let can = |agent| self.seen(at).iter().any(|n| n.agent == agent && n.enabled);
            let branch = take(&mut tree, &self.nodes[at].sleep, &self.nodes[at].taken, can);
            let branch = branch.and_then(|branch| Some((self.op(at, branch.agent)?, branch)));
            if let (Some((_, branch)), 0) = (&branch, self.most) {
                tree.insert(0, branch.clone());
            }
            self.nodes[at].tree = tree;
            if let Some((op, branch)) = branch {
                if self.most == 0 {
                    return false;
                }
                let agent = self.follow(branch);
                self.order.push(agent, op);
                return true;
            }
            self.forget(at);
        }
        self.nodes.clear();
        self.finished = true;
        false
    }

    fn choose(&mut self, next: &[Next], last: Option<Agent>) -> Choice {
        if !next.iter().any(|n| n.again || n.undone > 0) {
            return self.choose_of(next, last);
        }
        let left = self.without_rounds(next);
        let choice = self.choose_of(&left, last);
        self.left = left;
        choice
    }

    fn end(&mut self, ended: Ended, left: &[Next]) {
        // A deadlock without what is waited for hides its races.
        self.cut |= ended == Ended::Cut || (ended == Ended::Deadlock && left.is_empty());
        if self.depth < self.order.len() {
            // Who was stopped could not repeat all of it; everybody else should have.
            if ended != Ended::Cut {
                let agent = self.order.steps[self.depth].agent;
                self.diverged.get_or_insert(Diverged { step: self.depth, agent });
            }
            self.order.truncate(self.depth);
        }
        if self.depth < self.shared.states {
            // The way to the part could not be followed.
            let agent = self.shared.way.get(self.depth).map_or(Agent::thread(0), |way| way.agent);
            self.diverged.get_or_insert(Diverged { step: self.depth, agent });
        }
        self.shared.way.clear();
        self.then.clear();
        self.doubt = false;
        self.forget(self.depth);
        let left = &self.without_rounds(left);
        self.reverse(0, self.depth, left);
        self.reverse_left(left);
        if ended == Ended::Over {
            self.end_early(left.is_empty());
        }
    }

    fn complete(&self) -> bool {
        let blurred = self.order.blurred || self.order.mixed;
        self.finished && !self.cut && !blurred && self.diverged.is_none()
    }

    fn mixes(&self) -> bool {
        self.order.mixed
    }

    fn diverged(&self) -> Option<Diverged> {
        self.diverged
    }

    fn start(&mut self, part: &str) -> bool {
        let Some(Part { most, way, branch }) = Part::parse(part) else { return false };
        let states = way.len();
        *self = Dpor::new(self.order.buffered());
        self.most = most;
        self.shared = Shared { way, branch, states, ..Shared::default() };
        most > 0
    }

    fn rest(&mut self) -> String {
        let from = self.shared.states;
        let left = (from..self.nodes.len()).map(|at| {
            let Node { sleep, barred, taken, tree, .. } = self.nodes[at].clone();
            // Nobody has gone on from the last one.
            let agent = self.order.steps.get(at).map_or(Agent::thread(0), |step| step.agent);
            Left { agent, seen: self.seen(at).to_vec(), sleep, barred, taken, tree }
        });
        let blurred = self.order.blurred || self.order.mixed;
        let cut = self.cut || blurred || self.diverged.is_some();
        let left = left.collect();
        let (early, found) = (self.shared.early, std::mem::take(&mut self.shared.found));
        Rest { cut, early, left, found }.text()
    }
}
