//! Parts of an exploration as text: a branch that is to be explored, with the way to it; what is left of
//! it after some executions; and what was found out about states on the way, which belong to others.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::order::Order;
use super::wakeup::{Branch, Relation, Wanted};
use crate::op::conflict;
use crate::strategy::share::{Read, Written};
use crate::{Agent, Next, Op, OpKind};

/// A state on the way to a branch.
#[derive(Clone, Debug)]
pub(super) struct Given {
    /// Who goes on from here; nobody from the last one, where the branch is.
    pub(super) agent: Agent,
    pub(super) sleep: Vec<Agent>,
    pub(super) barred: Vec<Agent>,
    pub(super) taken: Vec<Agent>,
    /// What others will explore from here.
    pub(super) tree: Vec<Branch>,
}

/// A branch of the last state of a way; everything if there is none.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// How many executions there may be.
    pub(super) most: u64,
    pub(super) way: Vec<Given>,
    pub(super) branch: Option<Branch>,
}

/// A state with something left to explore, or on the way to one.
#[derive(Clone, Debug)]
pub(super) struct Left {
    /// Who goes on to the next one; nobody from the last.
    pub(super) agent: Agent,
    pub(super) seen: Vec<Next>,
    pub(super) sleep: Vec<Agent>,
    pub(super) barred: Vec<Agent>,
    pub(super) taken: Vec<Agent>,
    pub(super) tree: Vec<Branch>,
}

/// What a part has led to.
#[derive(Clone, Debug)]
pub(super) struct Rest {
    /// Not everything was explored.
    pub(super) cut: bool,
    /// The first step of the branch has ended the program while others were there.
    pub(super) early: bool,
    /// The states after the first step of the branch.
    pub(super) left: Vec<Left>,
    /// What is to be explored from states on the way.
    pub(super) found: Vec<Found>,
}

/// A sequence that leads to another class, from a state on the way to the part.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The number of that state.
    pub(super) state: u32,
    /// Its steps have their places here as numbers.
    pub(super) sequence: Vec<Wanted>,
    pub(super) past: Past,
}

/// What comes before what in a sequence.
#[derive(Clone, Debug)]
pub(super) struct Past {
    buffered: bool,
    /// Of each step: whose, by rank among the agents of the sequence, and how many of that one it comes after.
    of: Vec<(u32, u32)>,
    /// Of each step: how many of each agent come before it.
    counts: Vec<u32>,
    agents: usize,
}

impl Found {
    pub(super) fn new(state: usize, mut sequence: Vec<Wanted>, order: &Order) -> Found {
        let mut agents: Vec<(Agent, Vec<usize>)> = Vec::new();
        let mut of = Vec::new();
        for w in &sequence {
            let known = agents.iter().position(|a| a.0 == w.agent);
            let rank = known.unwrap_or(agents.len());
            if known.is_none() {
                agents.push((w.agent, Vec::new()));
            }
            of.push((rank as u32, agents[rank].1.len() as u32));
            agents[rank].1.push(w.step);
        }
        let mut counts = Vec::with_capacity(sequence.len() * agents.len());
        for w in &sequence {
            let before = |steps: &Vec<usize>| {
                steps.partition_point(|&step| step <= w.step && order.before(step, w.step)) as u32
            };
            counts.extend(agents.iter().map(|(_, steps)| before(steps)));
        }
        let past = Past { buffered: order.buffered(), of, counts, agents: agents.len() };
        for (at, w) in sequence.iter_mut().enumerate() {
            w.step = at;
            w.kept = w.turned;
        }
        Found { state: state as u32, sequence, past }
    }

    /// A hash: equal findings have equal hashes.
    pub(super) fn hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.state.hash(&mut hasher);
        for w in &self.sequence {
            (w.agent, w.op, w.sure, w.needed).hash(&mut hasher);
        }
        hasher.finish()
    }
}

impl Relation for Past {
    fn conflict(&self, a: (Agent, Op), b: (Agent, Op)) -> bool {
        conflict(a, b, self.buffered)
    }

    fn before(&self, first: usize, second: usize) -> bool {
        let (rank, index) = self.of[first];
        self.counts[second * self.agents + rank as usize] > index
    }
}

fn put_agents(w: &mut Written, agents: &[Agent]) {
    w.all(agents, |w, agent| w.put(agent.0));
}

fn read_agent(r: &mut Read<'_>) -> Option<Agent> {
    r.short().map(Agent)
}

fn read_agents(r: &mut Read<'_>) -> Option<Vec<Agent>> {
    r.all(read_agent)
}

fn put_op(w: &mut Written, op: Op) {
    w.put(op.kind as u64);
    w.put(op.len);
    w.put(op.addr);
}

fn read_op(r: &mut Read<'_>) -> Option<Op> {
    Some(Op { kind: OpKind::numbered(r.long()?)?, len: r.short()?, addr: r.long()? })
}

fn put_tree(w: &mut Written, tree: &[Branch]) {
    w.all(tree, put_branch);
}

fn put_branch(w: &mut Written, branch: &Branch) {
    w.put(branch.agent.0);
    put_op(w, branch.op);
    w.put(branch.sure);
    put_tree(w, &branch.then);
}

fn read_tree(r: &mut Read<'_>) -> Option<Vec<Branch>> {
    r.all(read_branch)
}

fn read_branch(r: &mut Read<'_>) -> Option<Branch> {
    Some(Branch { agent: read_agent(r)?, op: read_op(r)?, sure: r.flag()?, then: read_tree(r)? })
}

impl Part {
    pub(super) fn text(&self) -> String {
        let mut w = Written::default();
        w.put(self.most);
        w.all(&self.way, |w, given| {
            w.put(given.agent.0);
            put_agents(w, &given.sleep);
            put_agents(w, &given.barred);
            put_agents(w, &given.taken);
            put_tree(w, &given.tree);
        });
        w.put(self.branch.is_some());
        self.branch.iter().for_each(|branch| put_branch(&mut w, branch));
        w.0
    }

    pub(super) fn parse(text: &str) -> Option<Part> {
        let r = &mut Read::new(text);
        let most = r.long()?;
        let way = r.all(|r| {
            let (agent, sleep) = (read_agent(r)?, read_agents(r)?);
            let (barred, taken) = (read_agents(r)?, read_agents(r)?);
            Some(Given { agent, sleep, barred, taken, tree: read_tree(r)? })
        })?;
        let branch = if r.flag()? { Some(read_branch(r)?) } else { None };
        Some(Part { most, way, branch })
    }
}

impl Rest {
    pub(super) fn text(&self) -> String {
        let mut w = Written::default();
        w.put(self.cut);
        w.put(self.early);
        w.all(&self.left, |w, left| {
            w.put(left.agent.0);
            w.all(&left.seen, |w, n| {
                w.put(n.agent.0);
                put_op(w, n.op);
                let flags = [n.enabled, n.idle, n.varies, n.again].map(u64::from);
                w.put(flags[0] | flags[1] << 1 | flags[2] << 2 | flags[3] << 3);
            });
            put_agents(w, &left.sleep);
            put_agents(w, &left.barred);
            put_agents(w, &left.taken);
            put_tree(w, &left.tree);
        });
        w.all(&self.found, |w, found| {
            w.put(found.state);
            w.all(&found.sequence, |w, wanted| {
                w.put(wanted.agent.0);
                put_op(w, wanted.op);
                let flags = [wanted.turned, wanted.sure, wanted.needed].map(u64::from);
                w.put(flags[0] | flags[1] << 1 | flags[2] << 2);
            });
            let past = &found.past;
            w.put(past.buffered);
            w.put(past.agents as u64);
            w.all(&past.of, |w, of| {
                w.put(of.0);
                w.put(of.1);
            });
            w.all(&past.counts, |w, &count| w.put(count));
        });
        w.0
    }

    pub(super) fn parse(text: &str) -> Option<Rest> {
        let r = &mut Read::new(text);
        let (cut, early) = (r.flag()?, r.flag()?);
        let left = r.all(|r| {
            let agent = read_agent(r)?;
            let seen = r.all(|r| {
                let (agent, op, flags) = (read_agent(r)?, read_op(r)?, r.long()?);
                let flag = |bit: u64| flags >> bit & 1 != 0;
                let (enabled, idle, varies) = (flag(0), flag(1), flag(2));
                Some(Next { agent, op, enabled, idle, varies, again: flag(3), undone: 0 })
            })?;
            let (sleep, barred, taken) = (read_agents(r)?, read_agents(r)?, read_agents(r)?);
            Some(Left { agent, seen, sleep, barred, taken, tree: read_tree(r)? })
        })?;
        let found = r.all(read_found)?;
        Some(Rest { cut, early, left, found })
    }
}

fn read_found(r: &mut Read<'_>) -> Option<Found> {
    let state = r.short()?;
    let mut step = 0..;
    let sequence = r.all(|r| {
        let (agent, op, flags) = (read_agent(r)?, read_op(r)?, r.long()?);
        let flag = |bit: u64| flags >> bit & 1 != 0;
        let (turned, sure, needed) = (flag(0), flag(1), flag(2));
        Some(Wanted { agent, op, step: step.next()?, turned, sure, needed, kept: turned })
    })?;
    let (buffered, agents) = (r.flag()?, r.short()? as usize);
    let of = r.all(|r| Some((r.short()?, r.short()?)))?;
    let counts = r.all(Read::short)?;
    let right = of.len() == sequence.len()
        && counts.len() == of.len() * agents
        && of.iter().all(|of| (of.0 as usize) < agents);
    right.then_some(Found { state, sequence, past: Past { buffered, of, counts, agents } })
}
