//! One execution again: the choices of a schedule, one by one.
//!
//! A program that was changed, or that depends on something which is not under control, may not
//! follow: the agent whose turn it is is not enabled, or not there. Then the execution is stopped
//! and [`Strategy::diverged`] says where, because to go on anyhow would show another execution in
//! the name of the one asked for. When the schedule is over and the program is not, the last
//! thread goes on as long as it can, then the first one that can.

use crate::strategy::undecided;
use crate::{Agent, Choice, Choices, Diverged, Ended, Next, Strategy};

/// The strategy `replay`.
#[derive(Clone, Debug)]
pub struct Replay {
    schedule: Choices,
    begun: bool,
    /// How many steps were taken; of the current run of the schedule; which run.
    steps: usize,
    taken: u32,
    run: usize,
    diverged: Option<Diverged>,
}

impl Replay {
    /// One execution, with these choices.
    #[must_use]
    pub fn new(schedule: Choices) -> Replay {
        Replay { schedule, begun: false, steps: 0, taken: 0, run: 0, diverged: None }
    }

    fn turn(&self) -> Option<Agent> {
        self.schedule.runs().get(self.run).map(|run| run.0)
    }
}

impl Strategy for Replay {
    fn begin(&mut self) -> bool {
        !std::mem::replace(&mut self.begun, true)
    }

    fn choose(&mut self, next: &[Next], last: Option<Agent>) -> Choice {
        let Some(agent) = self.turn() else {
            return undecided(next, last).map_or(Choice::Stop, Choice::Run);
        };
        if !next.iter().any(|n| n.agent == agent && n.enabled) {
            self.diverged = Some(Diverged { step: self.steps, agent });
            return Choice::Stop;
        }
        self.steps += 1;
        self.taken += 1;
        if self.schedule.runs().get(self.run).is_some_and(|run| self.taken == run.1) {
            self.run += 1;
            self.taken = 0;
        }
        Choice::Run(agent)
    }

    fn end(&mut self, _ended: Ended, _left: &[Next]) {
        // A program that ends before its schedule does has not followed it either.
        if let (Some(agent), None) = (self.turn(), self.diverged) {
            self.diverged = Some(Diverged { step: self.steps, agent });
        }
    }

    fn complete(&self) -> bool {
        false
    }

    fn diverged(&self) -> Option<Diverged> {
        self.diverged
    }
}
