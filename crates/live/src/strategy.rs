//! Who runs next: the one question that every way of exploring a program answers.

use crate::{Agent, Op};

/// A way of exploring the executions of a program, one after the other. The program is
/// deterministic but for the choices that are made here: the same choices give the same steps.
pub trait Strategy {
    /// Before an execution. `false`: there is nothing left to explore.
    fn begin(&mut self) -> bool;

    /// Who takes the next step. `next` has all agents that are not over, by rising number; at least
    /// one of them is enabled. `last` took the step before, or nobody did.
    fn choose(&mut self, next: &[Next], last: Option<Agent>) -> Choice;

    /// After an execution.
    fn end(&mut self, ended: Ended);

    /// Whether everything was explored: never for a random walk, nor when a bound has cut
    /// something off.
    fn complete(&self) -> bool;
}

/// What an agent is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// Who.
    pub agent: Agent,
    /// What.
    pub op: Op,
    /// Whether it can, now: a lock that is held by another cannot be taken.
    pub enabled: bool,
    /// Whether the agent waits in a loop that nobody has given a reason to go on. It is enabled as
    /// long as all others are not.
    pub idle: bool,
}

/// An answer to who is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// This agent, which has to be enabled.
    Run(Agent),
    /// Nobody: what could follow has been seen in another execution.
    Stop,
}

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All threads are over, or the program ended otherwise: by `exit`, a crash, a failed assertion.
    Over,
    /// Nobody can take a step although threads are left.
    Deadlock,
    /// The strategy stopped it.
    Stopped,
    /// It took more steps than an execution may.
    Cut,
}
