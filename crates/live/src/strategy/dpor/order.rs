//! What happens before what in an execution that grows at its end and is cut back to a prefix.
//!
//! A step has a clock: how many steps of each agent happen before it, itself included. Clocks are
//! rows of one vector. A step comes after the one before it of its agent, after what it conflicts
//! with, and after what had to be done before it was possible: the creation of its thread, the end
//! of the thread that it joins, the store that it commits, the commits that a fence waits for, and
//! whatever made it possible to go on when it was not.
//!
//! Accesses to a word of 8 bytes are linked from the latest to the earliest, with a short cut from
//! each to the last one that writes. To find what a step conflicts with, one goes back until a write
//! covers its bytes: everything before is covered by that. Additions cover nothing, because they do not come after each
//! other. Behind them one goes back until the agent itself has done the same: what that conflicted with comes before it.
//! So each access is looked at about once per thread, and links can be taken back one by one when the execution is cut.

use rustc_hash::FxHashMap;

use super::wakeup::Relation;
use crate::op::conflict;
use crate::{Agent, Next, Op, OpKind};

/// No step, no link.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) agent: Agent,
    pub(super) slot: u16,
    /// Which of the steps of its agent it is, from 1.
    pub(super) index: u32,
    pub(super) op: Op,
    /// The step before of the same agent.
    previous: u32,
    /// How many links there were before.
    links: u32,
}

/// Two steps that could come in the other order, the later first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Race {
    pub(super) first: u32,
    pub(super) second: u32,
    /// Which row of `needs` is the clock of what the second step needs even if it comes first; `NONE` if
    /// that is all that comes before it, but for what comes after the first.
    needs: u32,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    word: u64,
    step: u32,
    /// The access to the word before, and the last one that writes.
    previous: u32,
    write: u32,
    /// What was in `same` before, if the access is there.
    same: u32,
}

/// Something that is true from a step on.
#[derive(Clone, Copy, Debug)]
struct Mark<T> {
    step: u32,
    what: T,
}

/// A store in a buffer.
#[derive(Clone, Copy, Debug)]
struct Store {
    step: u32,
    /// How many fences between stores came before.
    epoch: u32,
    committed: u32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    buffered: bool,
    pub(super) steps: Vec<Step>,
    clocks: Vec<u32>,
    stride: usize,
    /// The agents by slot; the last step of each.
    slots: Vec<Agent>,
    last: Vec<u32>,
    links: Vec<Link>,
    words: FxHashMap<u64, u32>,
    /// The last step with which an agent, by its slot, has done this to a word, if it is an addition or comes after one.
    same: FxHashMap<(u16, u64, Op), u32>,
    spawns: Vec<Mark<u64>>,
    /// Who could go on after this step and not before.
    wakes: Vec<Mark<Agent>>,
    stores: Vec<Store>,
    /// Fences between stores.
    fences: Vec<Mark<Agent>>,
    /// Something that depends on its bytes was seen together with accesses to some of them only.
    pub(super) blurred: bool,
    /// A compare-and-swap was seen together with accesses to some of its bytes only.
    pub(super) mixed: bool,
    /// Races by their second steps.
    pub(super) races: Vec<Race>,
    /// Clocks that races refer to.
    needs: Vec<u32>,
    // Scratch.
    clock: Vec<u32>,
    found: Vec<u32>,
    /// Links that were looked at.
    #[cfg(test)]
    looks: u64,
}

impl Relation for Order {
    fn before(&self, first: usize, second: usize) -> bool {
        let Step { slot, index, .. } = self.steps[first];
        self.clocks[second * self.stride + usize::from(slot)] >= index
    }

    fn conflict(&self, a: (Agent, Op), b: (Agent, Op)) -> bool {
        conflict(a, b, self.buffered)
    }
}

impl Order {
    pub(super) fn new(buffered: bool) -> Order {
        Order { buffered, stride: 8, ..Order::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether stores go through buffers.
    pub(super) fn buffered(&self) -> bool {
        self.buffered
    }

    /// Whether the second step of a race comes after a step even if it comes first.
    pub(super) fn needs(&self, race: &Race, step: usize) -> bool {
        if race.needs == NONE {
            return self.before(step, race.second as usize);
        }
        let Step { slot, index, .. } = self.steps[step];
        self.needs[race.needs as usize * self.stride + usize::from(slot)] >= index
    }

    /// How many steps of this agent there are before a step.
    pub(super) fn index_before(&self, agent: Agent, step: usize) -> u32 {
        let Some(slot) = self.slot_of(agent) else { return 0 };
        let mut at = self.last[slot];
        while at != NONE && at as usize >= step {
            at = self.steps[at as usize].previous;
        }
        if at == NONE { 0 } else { self.steps[at as usize].index }
    }

    /// Whether no step of anybody else comes between the last so many steps of an agent: after one of them and before another.
    pub(super) fn apart(&self, agent: Agent, steps: u32) -> bool {
        let Some(slot) = self.slot_of(agent) else { return false };
        let last = self.last[slot];
        let mut first = last;
        for _ in 1..steps {
            if first == NONE {
                return false;
            }
            first = self.steps[first as usize].previous;
        }
        if first == NONE {
            return false;
        }
        let (first, last) = (first as usize, last as usize);
        let mut others = (first + 1..last).filter(|&at| usize::from(self.steps[at].slot) != slot);
        !others.any(|at| self.before(first, at) && self.before(at, last))
    }

    /// Notes that these agents can go on because of the last step.
    pub(super) fn woken(&mut self, agent: Agent) {
        if let Some(step) = self.steps.len().checked_sub(1) {
            self.wakes.push(Mark { step: step as u32, what: agent });
        }
    }

    /// One more step, and the races that it is the second of.
    pub(super) fn push(&mut self, agent: Agent, op: Op) {
        let at = self.steps.len() as u32;
        let slot = self.slot(agent);
        let previous = self.last[slot];
        self.clock.clear();
        self.clock.resize(self.stride, 0);
        self.join(previous);
        let index = self.clock[slot] + 1;
        self.clock[slot] = index;
        self.enabled_by(agent, op, previous);
        if op.takes() {
            self.waited_for((agent, op), at);
        }
        self.conflicts_of((agent, op), at, slot);
        self.woken_by(agent, previous);
        self.clocks.extend_from_slice(&self.clock);
        let links = self.links.len() as u32;
        let slot = slot as u16;
        self.steps.push(Step { agent, slot, index, op, previous, links });
        self.last[usize::from(slot)] = at;
        self.publish(op, at);
    }

    /// Cuts the execution back to its first steps.
    pub(super) fn truncate(&mut self, len: usize) {
        while self.steps.len() > len {
            let Some(step) = self.steps.pop() else { break };
            self.last[usize::from(step.slot)] = step.previous;
            while self.links.len() > step.links as usize {
                let Some(link) = self.links.pop() else { break };
                match link.previous {
                    NONE => self.words.remove(&link.word),
                    previous => self.words.insert(link.word, previous),
                };
                let key = (step.slot, link.word, step.op);
                match link.same {
                    _ if !self.is_among_additions(step.op, link.write) => None,
                    NONE => self.same.remove(&key),
                    same => self.same.insert(key, same),
                };
            }
            let at = self.steps.len() as u32;
            if commits(step.agent, step.op) {
                for store in self.stores.iter_mut().filter(|s| s.committed == at) {
                    store.committed = NONE;
                }
            }
        }
        let within = |step: u32| (step as usize) < len;
        self.clocks.truncate(len * self.stride);
        cut(&mut self.races, |r| within(r.second));
        let rows = self.races.iter().rev().find(|r| r.needs != NONE).map_or(0, |r| r.needs + 1);
        self.needs.truncate(rows as usize * self.stride);
        cut(&mut self.spawns, |m| within(m.step));
        cut(&mut self.wakes, |m| within(m.step));
        cut(&mut self.stores, |s| within(s.step));
        cut(&mut self.fences, |m| within(m.step));
    }

    fn slot_of(&self, agent: Agent) -> Option<usize> {
        self.slots.iter().position(|&a| a == agent)
    }

    fn slot(&mut self, agent: Agent) -> usize {
        if let Some(slot) = self.slot_of(agent) {
            return slot;
        }
        self.slots.push(agent);
        self.last.push(NONE);
        if self.slots.len() > self.stride {
            let wider = self.stride * 2;
            widen(&mut self.clocks, self.stride, wider);
            widen(&mut self.needs, self.stride, wider);
            self.stride = wider;
        }
        self.slots.len() - 1
    }

    fn join(&mut self, step: u32) {
        if step != NONE {
            let row = step as usize * self.stride;
            for (mine, other) in self.clock.iter_mut().zip(&self.clocks[row..]) {
                *mine = (*mine).max(*other);
            }
        }
    }

    /// What was needed to make the step possible, without being in conflict with it.
    fn enabled_by(&mut self, agent: Agent, op: Op, previous: u32) {
        if previous == NONE && !agent.is_buffer() {
            let spawn = self.spawns.iter().rfind(|m| m.what == u64::from(agent.of()));
            let step = spawn.map_or(NONE, |m| m.step);
            self.join(step);
        }
        match op.kind {
            OpKind::Join if op.len > 0 => self.join_additions(op),
            OpKind::Join => self.join_agents(|a| u64::from(a.of()) == op.addr),
            _ if commits(agent, op) => self.join_stores(agent, op),
            _ => {}
        }
        if self.buffered && op.waits() {
            self.join_agents(|a| a.is_buffer() && a.of() == agent.of());
        }
    }

    /// What has let the agent go on since its last step, if it could not.
    fn woken_by(&mut self, agent: Agent, previous: u32) {
        for at in (0..self.wakes.len()).rev() {
            let Mark { step, what } = self.wakes[at];
            if previous != NONE && step <= previous {
                break;
            }
            if what == agent {
                self.join(step);
            }
        }
    }

    fn join_additions(&mut self, op: Op) {
        let added = Op { kind: OpKind::Add, ..op };
        let mut link = self.words.get(&(op.addr / 8)).copied().unwrap_or(NONE);
        while link != NONE {
            let Link { step, previous, .. } = self.links[link as usize];
            if self.steps[step as usize].op == added {
                self.join(step);
            }
            link = previous;
        }
    }

    fn join_agents(&mut self, of: impl Fn(Agent) -> bool) {
        for slot in 0..self.slots.len() {
            if of(self.slots[slot]) {
                self.join(self.last[slot]);
            }
        }
    }

    /// A commit comes after its store, and after the commits of the stores before a fence that the
    /// store came after.
    fn join_stores(&mut self, agent: Agent, op: Op) {
        let Some(at) = self.store_of(agent, op) else { return };
        let Store { step, epoch, .. } = self.stores[at];
        self.join(step);
        for before in 0..at {
            let Store { step, epoch: e, committed } = self.stores[before];
            if committed != NONE && e < epoch && self.steps[step as usize].agent.of() == agent.of()
            {
                self.join(committed);
            }
        }
    }

    /// The store that a commit is the commit of: the oldest to these bytes.
    fn store_of(&self, agent: Agent, op: Op) -> Option<usize> {
        self.stores.iter().position(|store| {
            let step = &self.steps[store.step as usize];
            let same = (step.op.addr, step.op.len) == (op.addr, op.len);
            store.committed == NONE && step.agent.of() == agent.of() && same
        })
    }

    /// Joins what the step conflicts with, the latest first: what is before that already is no race.
    fn conflicts_of(&mut self, taken: (Agent, Op), at: u32, slot: usize) {
        let op = taken.1;
        if !op.touches() || (self.buffered && op.kind == OpKind::Write) {
            return;
        }
        self.found.clear();
        for word in op.words() {
            self.find(word, taken, slot as u16);
        }
        let mut found = std::mem::take(&mut self.found);
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.dedup();
        for &earlier in &found {
            let step = self.steps[earlier as usize];
            if self.clock[usize::from(step.slot)] < step.index {
                self.blurred |= blurs(op, step.op, Op::takes);
                self.mixed |= blurs(op, step.op, |op| op.kind == OpKind::Compare);
                if usize::from(step.slot) != slot && !op.takes() {
                    self.races.push(Race { first: earlier, second: at, needs: NONE });
                }
                self.join(earlier);
            }
        }
        self.found = found;
    }

    /// Collects what a step conflicts with in a word, back to where a write covers the rest. Loads of
    /// the thread whose store left its buffer there need not come before that, so they are looked for
    /// until the write of another thread, which they do come before.
    fn find(&mut self, word: u64, taken: (Agent, Op), slot: u16) {
        let op = taken.1;
        let mut only = None;
        let Some(&latest) = self.words.get(&word) else { return };
        let mut link = latest;
        // A read conflicts with writes only.
        if !op.writes() && !self.steps[self.links[link as usize].step as usize].op.writes() {
            link = self.links[link as usize].write;
        }
        let same = self.same.get(&(slot, word, op)).copied();
        while link != NONE {
            let Link { step, previous, write, .. } = self.links[link as usize];
            #[cfg(test)]
            {
                self.looks += 1;
            }
            if same.is_some_and(|same| step <= same) {
                return;
            }
            let Step { agent, op: earlier, .. } = self.steps[step as usize];
            if self.conflict(taken, (agent, earlier)) {
                if only.is_none_or(|t| !earlier.writes() && agent.of() == t) {
                    self.found.push(step);
                }
                if earlier.writes() && !earlier.commutes() && covers(earlier, op, word) {
                    if !op.writes() || !agent.is_buffer() || only.is_some_and(|t| t != agent.of()) {
                        return;
                    }
                    only = Some(agent.of());
                }
            }
            link = if op.writes() { previous } else { write };
        }
    }

    /// Races of a step that had to wait. What it conflicts with last is what has made it possible;
    /// the race is with somebody who was given the object earlier. How far back the object was
    /// available is not known, so all that could be is a race, back to what this thread has seen.
    fn waited_for(&mut self, taken: (Agent, Op), at: u32) {
        let op = taken.1;
        let Some(&latest) = self.words.get(&(op.addr / 8)) else { return };
        let needs = (self.needs.len() / self.stride) as u32;
        self.needs.extend_from_slice(&self.clock);
        let mut link = latest;
        while link != NONE {
            let Link { step, previous, .. } = self.links[link as usize];
            link = previous;
            let Step { agent, op: earlier, slot, index, .. } = self.steps[step as usize];
            if !self.conflict(taken, (agent, earlier)) {
                continue;
            }
            if self.clock[usize::from(slot)] >= index {
                // What commutes does not come after what is like it.
                if earlier.writes() && !earlier.commutes() {
                    return;
                }
                continue;
            }
            if earlier.kind != OpKind::Release {
                self.races.push(Race { first: step, second: at, needs });
            }
        }
    }

    /// Makes the step known to those that come.
    fn publish(&mut self, op: Op, at: u32) {
        match op.kind {
            OpKind::Spawn => self.spawns.push(Mark { step: at, what: op.addr }),
            OpKind::Write if self.buffered => {
                let agent = self.steps[at as usize].agent;
                let epoch = self.fences.iter().filter(|m| m.what == agent).count() as u32;
                self.stores.push(Store { step: at, epoch, committed: NONE });
                return;
            }
            OpKind::StoreFence if self.buffered => {
                self.fences.push(Mark { step: at, what: self.steps[at as usize].agent });
            }
            _ if commits(self.steps[at as usize].agent, op) => {
                let agent = self.steps[at as usize].agent;
                if let Some(store) = self.store_of(agent, op) {
                    self.stores[store].committed = at;
                }
            }
            _ => {}
        }
        if !op.touches() {
            return;
        }
        for word in op.words() {
            let previous = self.words.get(&word).copied().unwrap_or(NONE);
            let mut write = NONE;
            if previous != NONE {
                let Link { step, write: earlier, .. } = self.links[previous as usize];
                let writes = self.steps[step as usize].op.writes();
                write = if writes { previous } else { earlier };
            }
            let mut same = NONE;
            if self.is_among_additions(op, write) {
                let slot = self.steps[at as usize].slot;
                same = self.same.insert((slot, word, op), at).unwrap_or(NONE);
            }
            self.words.insert(word, self.links.len() as u32);
            self.links.push(Link { word, step: at, previous, write, same });
        }
    }

    /// Whether an access is an addition or the like, or the last one that writes before it is.
    fn is_among_additions(&self, op: Op, write: u32) -> bool {
        let earlier = |link: u32| self.steps[self.links[link as usize].step as usize].op;
        op.commutes() || write != NONE && earlier(write).commutes()
    }
}

/// Whether the first of two accesses has all bytes of the second in a word.
fn covers(first: Op, second: Op, word: u64) -> bool {
    let end = |op: Op| op.addr.saturating_add(u64::from(op.len));
    let (low, high) = (second.addr.max(word * 8), end(second).min((word * 8).saturating_add(8)));
    first.addr <= low && end(first) >= high
}

/// Whether a step is what comes of a store into a buffer.
fn commits(agent: Agent, op: Op) -> bool {
    agent.is_buffer() && matches!(op.kind, OpKind::Commit | OpKind::Free)
}

/// Whether one of two conflicting steps may or may not be possible, or a write, depending on the
/// bytes of both and on others. Then steps that do not conflict may together make the difference.
fn blurs(a: Op, b: Op, depends: fn(Op) -> bool) -> bool {
    // What is freed can neither become available nor have another value.
    let free = |op: Op| op.kind == OpKind::Free;
    !free(a) && !free(b) && (depends(a) || depends(b)) && (a.addr, a.len) != (b.addr, b.len)
}

/// Makes the rows of a table wider.
fn widen(table: &mut Vec<u32>, from: usize, to: usize) {
    let mut wider = Vec::with_capacity(table.len() / from * to);
    for row in table.chunks(from) {
        wider.extend_from_slice(row);
        wider.resize(wider.len() + to - from, 0);
    }
    *table = wider;
}

fn cut<T>(list: &mut Vec<T>, within: impl Fn(&T) -> bool) {
    while list.last().is_some_and(|item| !within(item)) {
        list.pop();
    }
}

/// Whether an agent that could not go on in the one state can in the other.
pub(super) fn woken_between(before: &[Next], after: &Next) -> bool {
    after.ready() && before.iter().any(|n| n.agent == after.agent && !n.ready())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each access is looked at about once, however many additions there are.
    #[test]
    fn additions_are_not_looked_at_again_and_again() {
        const N: u32 = 2000;
        let op = |kind| Op { kind, len: 4, addr: 64 };
        let mut order = Order::new(false);
        for thread in 0..2 {
            for _ in 0..N {
                order.push(Agent::thread(thread), op(OpKind::Add));
                order.push(Agent::thread(thread), op(OpKind::Read));
            }
        }
        assert!(order.looks < u64::from(20 * N), "{}", order.looks);
        order.truncate(0);
        assert!(order.same.is_empty());
    }
}
