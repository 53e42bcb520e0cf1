//! Probabilistic concurrency testing: random priorities that change at few random places.
//!
//! After Burckhardt, Kothari, Musuvathi and Nagarakatte, "A randomized scheduler with probabilistic
//! guarantees of finding bugs" (ASPLOS 2010). Of the agents that can go on, the one with
//! the highest priority runs. There are `depth` - 1 places in the execution at which the agent that
//! is to run gets a priority below all those from the beginning, lower than at the places before. A
//! bug that needs `depth` orderings of pairs of steps is found in one execution with probability at
//! least 1/(n k^(depth - 1)) for n agents and k steps.
//!
//! Deviations. The paper asks for k: we take the most steps that an execution has had so far, for
//! the first one [`FIRST_LENGTH`]. Agents appear as the program creates them and draw their
//! priority then. Who waits in a loop is passed over until there is a reason to go on, and who yields
//! falls below everyone, else a spinning thread with the highest priority would run for ever. Store buffers are agents like the others, so that a store
//! may be delayed for long.
//!
//! Cost: one pass over the agents per step.

use weakspot_core::testing::Rng;

use crate::strategy::random::{generator, stretch};
use crate::{Agent, Choice, Ended, Next, OpKind, Strategy};

/// How long the first execution is taken to be.
const FIRST_LENGTH: usize = 32;

/// The lowest priority that an agent begins with.
const BEGIN: i64 = 1 << 32;

/// The strategy `pct`. It never ends: the caller counts executions.
#[derive(Clone, Debug)]
pub struct Pct {
    seed: u64,
    depth: usize,
    execution: u64,
    /// Where a part ends.
    end: u64,
    rng: Rng,
    /// Most steps of an execution so far.
    longest: usize,
    steps: usize,
    /// At which steps priorities change, by rising number.
    changes: Vec<usize>,
    /// How many of them have been.
    changed: usize,
    priorities: Vec<(Agent, i64)>,
    /// The next priority below all others.
    bottom: i64,
}

impl Pct {
    /// The same seed and depth, the same executions. A depth of 0 is one of 1: priorities never
    /// change.
    #[must_use]
    pub fn new(seed: u64, depth: usize) -> Pct {
        Pct {
            seed,
            depth: depth.max(1),
            execution: 0,
            end: u64::MAX,
            rng: Rng::new(seed),
            longest: 0,
            steps: 0,
            changes: Vec::new(),
            changed: 0,
            priorities: Vec::new(),
            bottom: 0,
        }
    }

    fn priority(&mut self, agent: Agent) -> &mut i64 {
        let at = match self.priorities.binary_search_by_key(&agent, |p| p.0) {
            Ok(at) => at,
            Err(at) => {
                let drawn = BEGIN + (self.rng.next_u64() >> 32) as i64;
                self.priorities.insert(at, (agent, drawn));
                at
            }
        };
        &mut self.priorities[at].1
    }

    fn fall(&mut self, agent: Agent) {
        self.bottom -= 1;
        *self.priority(agent) = self.bottom;
    }

    fn highest(&mut self, next: &[Next], can: impl Fn(&Next) -> bool) -> Option<Agent> {
        let mut best: Option<(i64, Agent)> = None;
        for n in next.iter().filter(|n| can(n)) {
            let priority = *self.priority(n.agent);
            if best.is_none_or(|b| priority > b.0) {
                best = Some((priority, n.agent));
            }
        }
        best.map(|b| b.1)
    }
}

impl Strategy for Pct {
    fn begin(&mut self) -> bool {
        if self.execution >= self.end {
            return false;
        }
        self.rng = generator(self.seed, self.execution);
        self.execution += 1;
        self.steps = 0;
        self.changed = 0;
        self.bottom = 0;
        self.priorities.clear();
        let length = if self.longest == 0 { FIRST_LENGTH } else { self.longest };
        self.changes.clear();
        for _ in 1..self.depth {
            self.changes.push(self.rng.below(length));
        }
        self.changes.sort_unstable();
        true
    }

    fn choose(&mut self, next: &[Next], _last: Option<Agent>) -> Choice {
        let step = self.steps;
        self.steps += 1;
        while self.changes.get(self.changed).is_some_and(|&at| at <= step) {
            self.changed += 1;
            if let Some(agent) = self.highest(next, Next::ready) {
                *self.priority(agent) = (self.depth - self.changed) as i64;
            }
        }
        for n in next.iter().filter(|n| n.enabled && n.op.kind == OpKind::Yield) {
            self.fall(n.agent);
        }
        if let Some(agent) = self.highest(next, Next::ready) {
            return Choice::Run(agent);
        }
        match self.highest(next, |n| n.enabled) {
            Some(agent) => {
                self.fall(agent);
                Choice::Run(agent)
            }
            None => Choice::Stop,
        }
    }

    fn end(&mut self, _ended: Ended, _left: &[Next]) {
        self.longest = self.longest.max(self.steps);
    }

    fn complete(&self) -> bool {
        false
    }

    fn start(&mut self, part: &str) -> bool {
        let Some((from, end, longest)) = stretch(part) else { return false };
        (self.execution, self.end) = (from, end);
        self.longest = usize::try_from(longest).unwrap_or(usize::MAX);
        true
    }

    fn rest(&mut self) -> String {
        self.longest.to_string()
    }
}
