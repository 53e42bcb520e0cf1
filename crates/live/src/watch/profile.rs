//! How an exploration goes, for the page of `--report`: how often threads were preempted in each execution, and
//! which places of the program were interleaved.
//!
//! A place is *interleaved* if one of its accesses was seen on both sides of what another thread does: in some
//! execution a conflicting access of that thread comes before it, and in some execution, the same or another
//! one, one comes after it. This depends on the order of conflicting accesses only, so it does not matter which
//! execution of a class a strategy chooses. Accesses of a thread while it is the only one are not looked at.
//!
//! Cost: O(places that access the same 8 bytes) for each access. Only who asks for it pays.

use rustc_hash::FxHashMap;
use weakspot_core::Met;

use crate::strategy::preempts;
use crate::{Agent, Next, Op, OpKind, Step};

/// What was counted.
#[derive(Debug, Default)]
pub struct Profile {
    /// Whether stores go through buffers.
    buffered: bool,
    /// How many executions had no preemption, one, two, ...
    by_preemptions: Vec<u64>,
    /// The preemptions of the current execution.
    preemptions: usize,
    /// The thread that ran last, whatever buffers did since.
    thread: Option<Agent>,
    /// Who has accessed which bytes in the current execution, by their 8-byte words.
    words: FxHashMap<u64, Vec<Access>>,
    met: FxHashMap<Contact, Met>,
}

/// An access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Access {
    at: u64,
    thread: u16,
    op: Op,
}

/// A place of the program where a thread accesses memory, and another thread, if one met it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Contact {
    /// The program address.
    pub at: u64,
    /// The thread that accessed it.
    pub thread: u16,
    /// The thread with a conflicting access.
    pub other: Option<u16>,
}

impl Profile {
    /// Nothing yet. `buffered`: stores go through buffers, and are seen by others when they leave them.
    #[must_use]
    pub fn new(buffered: bool) -> Profile {
        Profile { buffered, ..Profile::default() }
    }

    /// An execution begins.
    pub fn begin(&mut self) {
        self.preemptions = 0;
        self.thread = None;
        self.words.clear();
    }

    /// Of those who could go on, an agent was chosen.
    pub fn chosen(&mut self, next: &[Next], agent: Agent) {
        if !agent.is_buffer() {
            self.preemptions += usize::from(preempts(next, self.thread, agent));
            self.thread = Some(agent);
        }
    }

    /// A step was taken when there were several threads.
    pub fn step(&mut self, step: &Step) {
        let Step { thread, op, at, .. } = *step;
        let hidden = self.buffered && op.kind == OpKind::Write;
        if !op.touches() || op.len == 0 || hidden || at == 0 {
            return;
        }
        let alone = Contact { at, thread, other: None };
        self.met.entry(alone).or_default();
        let access = Access { at, thread, op };
        for word in op.words() {
            let before = self.words.entry(word).or_default();
            for other in before.iter().filter(|other| other.conflicts(access)) {
                let here = Contact { at, thread, other: Some(other.thread) };
                self.met.entry(here).or_default().before = true;
                let there = Contact { at: other.at, thread: other.thread, other: Some(thread) };
                self.met.entry(there).or_default().after = true;
            }
            if !before.contains(&access) {
                before.push(access);
            }
        }
    }

    /// An execution is over that counts.
    pub fn end(&mut self) {
        let counts = &mut self.by_preemptions;
        counts.resize(counts.len().max(self.preemptions + 1), 0);
        counts[self.preemptions] += 1;
    }

    /// How many executions had no preemption, one, two, ...
    #[must_use]
    pub fn by_preemptions(&self) -> &[u64] {
        &self.by_preemptions
    }

    /// All places of accesses with who met whom there, in their order.
    #[must_use]
    pub fn contacts(&self) -> Vec<(Contact, Met)> {
        let mut all: Vec<(Contact, Met)> = self.met.iter().map(|(&c, &m)| (c, m)).collect();
        all.sort_unstable_by_key(|(contact, _)| *contact);
        all
    }
}

impl Access {
    fn conflicts(self, other: Access) -> bool {
        self.thread != other.thread && self.op.conflicts(other.op)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use weakspot_core::testing::{Rng, scaled};

    use super::*;
    use crate::Order;
    use crate::watch::test_steps::steps;

    /// On which sides each step was met, as in `0wx:both 1rx:never`: steps that read alike are one place.
    fn met(executions: &[&str]) -> String {
        let mut words: Vec<&str> = executions.iter().flat_map(|e| e.split(' ')).collect();
        words.sort_unstable();
        words.dedup();
        let mut profile = Profile::new(false);
        for execution in executions {
            profile.begin();
            for (word, step) in execution.split(' ').zip(steps(execution)) {
                let at = words.iter().position(|w| *w == word).map_or(0, |at| at as u64 + 1);
                profile.step(&Step { at, ..step });
            }
            profile.end();
        }
        let seen = |at: u64| {
            let all = profile.contacts().into_iter().filter(|(contact, _)| contact.at == at);
            let sides: Vec<Met> = all.map(|(_, met)| met).collect();
            match () {
                () if sides.iter().any(|met| met.before && met.after) => "both",
                () if sides.iter().any(|met| met.before) => "before",
                () if sides.iter().any(|met| met.after) => "after",
                () => "never",
            }
        };
        let shown = |(i, word)| format!("{word}:{}", seen(i as u64 + 1));
        words.iter().enumerate().map(shown).collect::<Vec<String>>().join(" ")
    }

    #[test]
    fn sides() {
        assert_eq!(met(&["0wx 1rx"]), "0wx:after 1rx:before");
        assert_eq!(met(&["0wx 1rx", "1rx 0wx"]), "0wx:both 1rx:both");
        assert_eq!(met(&["0wx 1wx 0rx"]), "0rx:before 0wx:after 1wx:both");
        // Loads do not conflict, and a thread does not meet itself.
        assert_eq!(met(&["0rx 1rx", "1rx 0rx"]), "0rx:never 1rx:never");
        assert_eq!(met(&["0wx 0rx"]), "0rx:never 0wx:never");
        // One before and one after, but of different threads.
        assert_eq!(met(&["0wx 1wx 2wx"]), "0wx:after 1wx:before 2wx:before");
        // Locks are met, too.
        assert_eq!(met(&["0lx 0mx 1lx 1mx"]), "0lx:after 0mx:after 1lx:before 1mx:before");
    }

    /// By definition: all pairs of steps of each execution.
    #[test]
    fn as_defined() {
        for seed in 0..scaled(500) as u64 {
            let mut rng = Rng::new(seed);
            let mut profile = Profile::new(false);
            let mut defined: BTreeMap<Contact, Met> = BTreeMap::new();
            for _ in 0..3 {
                let execution: Vec<Step> = (0..rng.below(12))
                    .map(|_| {
                        use OpKind::{Add, Fence, Read, Update, Write};
                        let kind = [Read, Write, Update, Fence, Add][rng.below(5)];
                        let (addr, len) = (100 + rng.below(12) as u64, 1 + rng.below(10) as u32);
                        let op = match kind {
                            OpKind::Fence => Op::plain(kind),
                            kind => Op { kind, addr, len },
                        };
                        let thread = rng.below(3) as u16;
                        Step { thread, op, order: Order::Plain, at: 1 + rng.below(6) as u64 }
                    })
                    .collect();
                profile.begin();
                execution.iter().for_each(|step| profile.step(step));
                profile.end();
                for (i, a) in execution.iter().enumerate().filter(|(_, a)| a.op.touches()) {
                    let of = |s: &Step, other| Contact { at: s.at, thread: s.thread, other };
                    defined.entry(of(a, None)).or_default();
                    for b in execution[..i].iter().filter(|b| b.thread != a.thread) {
                        if a.op.conflicts(b.op) {
                            defined.entry(of(a, Some(b.thread))).or_default().before = true;
                            defined.entry(of(b, Some(a.thread))).or_default().after = true;
                        }
                    }
                }
            }
            let defined: Vec<(Contact, Met)> = defined.into_iter().collect();
            assert_eq!(profile.contacts(), defined, "seed {seed}");
        }
    }
}
