//! Who runs next: the one question that every way of exploring a program answers.

pub(crate) mod bounded;
pub(crate) mod closed;
pub(crate) mod dpor;
pub(crate) mod pct;
pub(crate) mod plan;
pub(crate) mod random;
pub(crate) mod replay;
pub(crate) mod rf;
pub(crate) mod share;

use crate::{Agent, Op, OpKind};

/// A way of exploring the executions of a program, one after the other. The program is
/// deterministic but for the choices that are made here: the same choices give the same steps.
pub trait Strategy {
    /// Before an execution. `false`: there is nothing left to explore.
    fn begin(&mut self) -> bool;

    /// Who takes the next step. `next` has all agents that are not over, by rising number; at least
    /// one of them is enabled. `last` took the step before, or nobody did.
    fn choose(&mut self, next: &[Next], last: Option<Agent>) -> Choice;

    /// After an execution. `left` is what the agents that are not over were about to do; nothing if
    /// that is not known any more.
    fn end(&mut self, ended: Ended, left: &[Next]);

    /// Whether everything was explored: never for a random walk, nor when a bound has cut
    /// something off.
    fn complete(&self) -> bool;

    /// Where an execution did not follow the choices that it was to repeat, if one did not.
    fn diverged(&self) -> Option<Diverged> {
        None
    }

    /// Whether the bytes of a compare-and-swap that fails are accessed in parts, too: then it has to be announced as an update to be
    /// explored completely, because several steps that have nothing to do with each other may together make it succeed.
    fn mixes(&self) -> bool {
        false
    }

    /// Explores this part of a [`Whole`](crate::Whole) next, and nothing else; whether it is understood.
    fn start(&mut self, _part: &str) -> bool {
        false
    }

    /// What the part has led to, for the whole. There is nothing left of it to be begun.
    fn rest(&mut self) -> String {
        String::new()
    }
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
    /// Whether the agent waits in a loop that nobody has given a reason to go on: nothing was written
    /// to what the loop has read. A turn is wasted on it, but it can be had: strategies give it one
    /// if nobody else is [ready](Next::ready).
    pub idle: bool,
    /// Whether it depends on what is read whether the step writes, as of a compare-and-swap.
    pub varies: bool,
    /// Whether the agent is back where a round of its loop began, in the same state, after steps that
    /// nobody could notice. So all that may follow also follows without that round: whoever explores
    /// every execution need not go on from here.
    pub again: bool,
    /// How many of its latest steps are a round of its loop in which all that it has stored is as it was before, so that it is
    /// back in the same state; 0 if they are not. If nobody else's step comes between them, all that may follow
    /// also follows without that round.
    pub undone: u32,
}

impl Next {
    /// Whether it can go on and has a reason to.
    #[must_use]
    pub fn ready(&self) -> bool {
        self.enabled && !self.idle
    }
}

/// An answer to who is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// This agent, which has to be enabled.
    Run(Agent),
    /// Nobody: what could follow has been seen in another execution, or cannot be followed.
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

/// Where an execution did something else than the one that it was to repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diverged {
    /// After how many steps.
    pub step: usize,
    /// Whose turn it was.
    pub agent: Agent,
}

/// Whether it is a preemption to let a thread run: the one that ran last could go on, has a reason to, and is not
/// about to yield or to end.
pub(crate) fn preempts(next: &[Next], last: Option<Agent>, agent: Agent) -> bool {
    let could = |n: &Next| {
        let leaves = matches!(n.op.kind, OpKind::Yield | OpKind::Exit);
        Some(n.agent) == last && n.ready() && !leaves
    };
    Some(agent) != last && next.iter().any(could)
}

/// Whom to let run when there is nothing to decide: the thread that ran last, as long as it can go
/// on and does not want to give way, else the first that can, else one that only waits: the one
/// after `last` in turn. `None` if nobody is enabled.
pub(crate) fn undecided(next: &[Next], last: Option<Agent>) -> Option<Agent> {
    if let Some(n) = next.iter().find(|n| Some(n.agent) == last)
        && n.ready()
        && n.op.kind != OpKind::Yield
    {
        return last;
    }
    let other = |n: &&Next| Some(n.agent) != last;
    let ready = next.iter().filter(|n| n.ready());
    let enabled = next.iter().filter(|n| n.enabled);
    let found = ready
        .clone()
        .find(other)
        .or_else(|| ready.clone().next())
        .or_else(|| enabled.clone().find(|n| Some(n.agent) > last))
        .or_else(|| enabled.clone().next());
    found.map(|n| n.agent)
}
