//! All executions by rising number of preemptions: those with none, then those with exactly one,
//! then two, and so on. So the first execution that shows something shows it with as few as can be.
//!
//! After Musuvathi and Qadeer, "Iterative context bounding for systematic testing of multithreaded
//! programs" (PLDI 2007). A preemption is to let another thread run while the one that ran last could
//! go on, has a reason to (it does not wait in a loop), and is not about to yield or to end.
//!
//! An execution is where it departs from the plain one, in which the last thread runs for as long
//! as it can and then the first that can. What departs from an execution at a later place than it
//! does itself is its child; so each execution has one parent, none comes twice, and all that has to
//! be kept of one is its parent, the place, and who. Children that cost nothing more are run next,
//! depth first; children with one more preemption wait for the next round. These are kept as ranges
//! of places ("thread 2 could have preempted from step 4 to step 17"), of which there are few
//! because threads seldom become ready or not.
//!
//! With simulated buffers a store that leaves its buffer at once costs nothing, and the plain execution
//! is one without buffers. To let anything else happen first costs as much as a preemption; from
//! then until the queue is empty its stores may leave at any time at no cost. So findings
//! have as few preemptions and delays, together, as can be.
//!
//! Deviation: the paper adds to its work list whole states or prefixes; here prefixes are implied by
//! parents. Cost: O(agents) time per step; memory grows with the number of executions, about 12 bytes
//! for each and 16 for each range, except in the last round of a bounded search, where nothing is kept
//! for later.

use std::collections::VecDeque;

mod whole;

pub use whole::BoundedWhole;

use whole::{Part, Rest, Stretch};

use crate::strategy::{preempts, undecided};
use crate::{Agent, Choice, Diverged, Ended, Next, Strategy};

/// The strategy `bounded`.
#[derive(Clone, Debug)]
pub struct Bounded {
    /// No more preemptions than this.
    most: Option<u32>,
    /// How many preemptions the executions of this round have.
    round: u32,
    /// What departs from what, for all executions that others depart from.
    executions: Vec<Departure>,
    /// Executions of this round that cost no more than their parent.
    free: Vec<Departure>,
    /// Executions of this round, the next one, and the one after.
    rounds: [VecDeque<Range>; 3],
    /// Ranges that are still growing, at most one per agent and cost.
    open: Vec<(u32, Range)>,
    /// The departures of this execution by rising step, and how many of them have been.
    plan: Vec<(u32, Agent)>,
    planned: usize,
    /// Number of this execution in `executions`, once it is there.
    own: Option<u32>,
    parent: u32,
    steps: u32,
    /// The thread that ran last, whatever buffers did since.
    thread: Option<Agent>,
    /// Queues whose stores were held back.
    held: Vec<Agent>,
    begun: bool,
    /// Something was left out: by the bound, or because an execution got too long.
    cut: bool,
    finished: bool,
    diverged: Option<Diverged>,
    /// How many executions there may still be, if this is a part of a whole.
    part: Option<u64>,
}

/// An execution: another one up to a step, then this agent, then plain.
#[derive(Clone, Copy, Debug)]
struct Departure {
    parent: u32,
    step: u32,
    agent: Agent,
}

/// Executions that depart at any of these steps.
#[derive(Clone, Copy, Debug)]
struct Range {
    parent: u32,
    from: u32,
    to: u32,
    agent: Agent,
}

/// The parent of the first execution.
const NOBODY: u32 = u32::MAX;

impl Bounded {
    /// All executions with at most so many preemptions, or all executions.
    #[must_use]
    pub fn new(most: Option<u32>) -> Bounded {
        Bounded {
            most,
            round: 0,
            executions: Vec::new(),
            free: Vec::new(),
            rounds: [VecDeque::new(), VecDeque::new(), VecDeque::new()],
            open: Vec::new(),
            plan: Vec::new(),
            planned: 0,
            own: None,
            parent: NOBODY,
            steps: 0,
            thread: None,
            held: Vec::new(),
            begun: false,
            cut: false,
            finished: false,
            diverged: None,
            part: None,
        }
    }

    /// How many preemptions the execution has that was begun last.
    #[must_use]
    pub fn preemptions(&self) -> u32 {
        self.round
    }

    /// Takes the next execution from what is to be done.
    fn take(&mut self) -> Option<Departure> {
        if let Some(left) = &mut self.part {
            *left -= 1;
            return if *left > 0 { self.free.pop() } else { None };
        }
        loop {
            if let Some(departure) = self.free.pop() {
                return Some(departure);
            }
            if let Some(range) = self.rounds[0].front_mut() {
                let Range { parent, from: step, agent, .. } = *range;
                range.from += 1;
                if range.from >= range.to {
                    self.rounds[0].pop_front();
                }
                return Some(Departure { parent, step, agent });
            }
            if self.rounds.iter().all(VecDeque::is_empty) {
                return None;
            }
            self.rounds.rotate_left(1);
            self.round += 1;
        }
    }

    /// Where an execution departs from the plain one.
    fn way(&self, mut execution: u32) -> Vec<(u32, Agent)> {
        let mut way = Vec::new();
        while let Some(&Departure { parent, step, agent }) = self.executions.get(execution as usize)
        {
            if parent != NOBODY {
                way.push((step, agent));
            }
            execution = parent;
        }
        way.reverse();
        way
    }

    /// Who runs if nobody departs: a store leaves its buffer at once if it is not held back, then
    /// the last thread goes on, then whoever can.
    fn plain(&self, next: &[Next]) -> Option<Agent> {
        if let Some(queue) = self.eager(next) {
            return Some(queue);
        }
        undecided(next, self.thread)
    }

    /// The queue whose store should leave now.
    fn eager(&self, next: &[Next]) -> Option<Agent> {
        let queues = next.iter().filter(|n| n.agent.is_buffer() && n.ready());
        queues.map(|n| n.agent).find(|queue| !self.held.contains(queue))
    }

    /// What it costs to let this agent run.
    fn cost(&self, next: &[Next], agent: Agent) -> u32 {
        let delay = u32::from(self.eager(next).is_some_and(|queue| queue != agent));
        delay + u32::from(!agent.is_buffer() && preempts(next, self.thread, agent))
    }

    /// Notes who could have run instead of `chosen`.
    fn branch(&mut self, next: &[Next], chosen: Agent) {
        // Whoever waits in a loop would change nothing.
        for n in next.iter().filter(|n| n.ready() && n.agent != chosen) {
            match self.cost(next, n.agent) {
                0 => {
                    let parent = self.own();
                    self.free.push(Departure { parent, step: self.steps, agent: n.agent });
                }
                cost if self.most.is_some_and(|most| self.round + cost > most) => self.cut = true,
                cost => self.extend(cost, n.agent),
            }
        }
    }

    fn extend(&mut self, cost: u32, agent: Agent) {
        let step = self.steps;
        let same = |(c, range): &&mut (u32, Range)| *c == cost && range.agent == agent;
        match self.open.iter_mut().find(same) {
            Some((_, range)) if range.to == step => range.to += 1,
            Some((_, range)) => {
                let new = Range { from: step, to: step + 1, ..*range };
                let done = std::mem::replace(range, new);
                self.rounds[cost as usize].push_back(done);
            }
            None => {
                let parent = self.own();
                self.open.push((cost, Range { parent, from: step, to: step + 1, agent }));
            }
        }
    }

    /// The number of this execution, for its children.
    fn own(&mut self) -> u32 {
        if let Some(own) = self.own {
            return own;
        }
        let (step, agent) = self.plan.last().copied().unwrap_or((0, Agent::thread(0)));
        self.executions.push(Departure { parent: self.parent, step, agent });
        let own = self.executions.len() as u32 - 1;
        self.own = Some(own);
        own
    }

    fn taken(&mut self, next: &[Next], agent: Agent) {
        if let Some(queue) = self.eager(next).filter(|&queue| queue != agent) {
            self.held.push(queue);
        }
        if !agent.is_buffer() {
            self.thread = Some(agent);
        }
        self.steps += 1;
    }
}

impl Strategy for Bounded {
    fn begin(&mut self) -> bool {
        self.plan.clear();
        self.parent = NOBODY;
        if self.begun {
            let Some(departure) = self.take() else {
                self.finished = true;
                return false;
            };
            self.parent = departure.parent;
            self.plan = self.way(departure.parent);
            self.plan.push((departure.step, departure.agent));
        }
        self.begun = true;
        self.planned = 0;
        self.own = None;
        self.steps = 0;
        self.thread = None;
        self.held.clear();
        true
    }

    fn choose(&mut self, next: &[Next], _last: Option<Agent>) -> Choice {
        // A queue that is empty is not held back any more.
        self.held.retain(|queue| next.iter().any(|n| n.agent == *queue));
        let departs = self.plan.get(self.planned).filter(|d| d.0 == self.steps);
        let agent = match departs {
            Some(&(step, agent)) => {
                if !next.iter().any(|n| n.agent == agent && n.enabled) {
                    self.diverged.get_or_insert(Diverged { step: step as usize, agent });
                    return Choice::Stop;
                }
                self.planned += 1;
                agent
            }
            None => {
                let Some(agent) = self.plain(next) else { return Choice::Stop };
                if self.planned == self.plan.len() {
                    self.branch(next, agent);
                }
                agent
            }
        };
        self.taken(next, agent);
        Choice::Run(agent)
    }

    fn end(&mut self, ended: Ended, _left: &[Next]) {
        self.cut |= ended == Ended::Cut;
        for (cost, range) in self.open.drain(..) {
            self.rounds[cost as usize].push_back(range);
        }
        // Who was stopped could not follow the plan to its end.
        if ended != Ended::Cut
            && let (Some(&(step, agent)), None) = (self.plan.get(self.planned), self.diverged)
        {
            self.diverged = Some(Diverged { step: step as usize, agent });
        }
    }

    fn complete(&self) -> bool {
        self.finished && !self.cut && self.diverged.is_none()
    }

    fn diverged(&self) -> Option<Diverged> {
        self.diverged
    }

    fn start(&mut self, part: &str) -> bool {
        let Some(part) = Part::parse(part) else { return false };
        *self = Bounded::new(self.most);
        self.round = part.round;
        // The first one is not taken, it is begun.
        self.part = Some(part.most + u64::from(!part.ways.is_empty()));
        for way in part.ways.iter().rev() {
            self.begun = true;
            let mut above = NOBODY;
            let Some((&(step, agent), before)) = way.split_last() else { return false };
            for &(step, agent) in [(0, Agent::thread(0))].iter().chain(before) {
                self.executions.push(Departure { parent: above, step, agent });
                above = self.executions.len() as u32 - 1;
            }
            self.free.push(Departure { parent: above, step, agent });
        }
        part.most > 0
    }

    fn rest(&mut self) -> String {
        let way = |d: &Departure| [self.way(d.parent), vec![(d.step, d.agent)]].concat();
        let ways = self.free.iter().rev().map(way).collect();
        let later = |cost: usize| {
            let ranges = self.rounds[cost].iter();
            let stretch = |r: &Range| Stretch {
                way: self.way(r.parent).into(),
                from: r.from,
                to: r.to,
                agent: r.agent,
            };
            ranges.map(stretch).collect()
        };
        let cut = self.cut || self.diverged.is_some();
        Rest { cut, ways, later: [later(1), later(2)] }.text()
    }
}
