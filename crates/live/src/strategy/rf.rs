//! One execution of each *reads-from class*: two executions are the same if all threads do the same and
//! every read reads from the same write. In which order writes came that nobody reads does not matter.
//!
//! The idea is that of Abdulla, Atig, Jonsson, Lång, Ngo and Sagonas, "Optimal stateless model checking
//! for reads-from equivalence under sequential consistency" (OOPSLA 2019). The search here is another one,
//! over what executions have in common:
//!
//! A *part* of an execution is a set of its events with the past of each (`execution.rs`). To explore
//! a part is to find all classes that have it. One execution that has it is run to its end. Any other
//! differs from it first, in its own order, at a read `r` whose past is the same: it reads from a
//! write `w` that is in the execution, too. So for each such pair, `r` reading from `w`, together with
//! the past of both, is a larger part to be explored, if there is an order of its events (`linear.rs`);
//! that order is how the next execution begins. It goes on with as much of the execution
//! before as agrees with it. A part is left out if it has all of another one that came before, at the same execution
//! or at one that led to it: what has both was explored there.
//!
//! - *Updates* are reads and writes. So are steps on locks and other objects: of these all orders
//!   are explored. What somebody was waiting for at the end is a read that reads from nothing yet.
//! - *Compare-and-swap* may be a write or not, depending on what it reads: it is taken as one if there is an
//!   order in that case, else not. If that proves wrong no execution has the part. A load that may be an update waits for its buffer
//!   in that case.
//! - *The end of the program by one thread* cuts the others short. Then another execution is run in which
//!   this thread comes last, and pairs are those of the last such execution.
//! - *Buffers*: a load from its own thread's store does not depend on the commit.
//! - *Freeing*: whether a store comes before or after its bytes are freed matters though nobody reads. Where
//!   that is open the exploration is not complete.
//!
//! What the classes keep: what every thread reads and does, so failures, deadlocks and what happens
//! before what by the rules of the language. What they do not keep: the order of writes that nobody
//! reads, which monitors look at. So they are explored by `dpor`.
//!
//! Complete when nothing is left, unless an execution was cut, got too long to be looked at, did not
//! repeat what it had done, or the search for an order gave up.
//!
//! Cost: per execution O(steps^2), and per pair of a read and a write a search for an order. Memory: the
//! executions that led to the one at hand.

use rustc_hash::FxHashMap;

use crate::strategy::undecided;
use crate::{Agent, Choice, Diverged, Ended, Next, Op, Strategy};

mod execution;
mod level;
mod linear;

use execution::{Execution, Id, Record};
use level::{Level, Planned, Wanted};

/// Executions with more steps are not looked at.
const MOST_STEPS: usize = 5000;

/// The strategy `rf`.
#[derive(Clone, Debug)]
pub struct Rf {
    buffered: bool,
    /// The executions that led to the one at hand.
    levels: Vec<Level>,
    /// The steps that the execution begins with.
    plan: Vec<(Agent, Op)>,
    /// The part that it has to have.
    part: Vec<Wanted>,
    /// The read of it that reads something else than in the execution before.
    read: Option<Id>,
    /// That read, if it turned out that its thread waits instead.
    waits: Option<Id>,
    /// Whether it may turn out that nothing has this part.
    doubt: bool,
    /// Agents that are scheduled last.
    barred: Vec<Agent>,
    /// Whether compare-and-swaps write, by what decides that.
    known: FxHashMap<u64, bool>,
    /// What it did so far, and what was next before the last step.
    record: Record,
    seen: Vec<Next>,
    /// The plan could not be followed.
    impossible: bool,
    begun: bool,
    finished: bool,
    cut: bool,
    diverged: Option<Diverged>,
}

impl Rf {
    /// Explores all classes. `buffered`: stores take effect by commits.
    #[must_use]
    pub fn new(buffered: bool) -> Rf {
        Rf {
            buffered,
            levels: Vec::new(),
            plan: Vec::new(),
            part: Vec::new(),
            read: None,
            waits: None,
            doubt: false,
            barred: Vec::new(),
            known: FxHashMap::default(),
            record: Record::default(),
            seen: Vec::new(),
            impossible: false,
            begun: false,
            finished: false,
            cut: false,
            diverged: None,
        }
    }

    /// Prepares an execution for the next pair of the last level; whether there may be one.
    fn prepare(&mut self) -> bool {
        let Some(pair) = self.levels.last_mut().and_then(Level::next) else { return false };
        let Some(level) = self.levels.last() else { return false };
        let larger = level.larger(pair);
        self.read = Some(level.id(&larger));
        let part = level.named(&larger);
        let by_id: FxHashMap<Id, &Wanted> = part.iter().map(|w| (w.id, w)).collect();
        if self.levels.iter().any(|level| level.explored(&by_id)) {
            return false;
        }
        let (plan, doubt) = match level.plan(larger, &self.known) {
            Planned::Order(order, doubt) => (order, doubt),
            Planned::Impossible => return false,
            Planned::Unknown => {
                self.cut = true;
                return false;
            }
        };
        self.plan = plan;
        self.part = part;
        self.doubt = doubt;
        self.barred.clear();
        true
    }

    /// A read that reads the same again in a loop is none: its thread waits, and the execution shows
    /// what becomes of that.
    fn skip_waiting(&mut self, next: &[Next]) {
        let at = self.record.steps.len();
        let (Some(&(agent, op)), Some(read)) = (self.plan.get(at), self.read) else { return };
        if !next.iter().any(|n| n.agent == agent && n.idle) {
            return;
        }
        let mine = || self.record.steps.iter().filter(|s| s.0 == agent);
        if read != (agent, mine().count() as u32 + 1) {
            return;
        }
        // What a loop with several loads waits for may be something that comes later here.
        self.cut |= mine().next_back().is_none_or(|last| last.1 != op);
        self.plan.remove(at);
        self.part.retain(|w| w.id != read);
        self.read = None;
        self.waits = Some(read);
    }

    /// What is only kept of another execution, and does not belong to the part, may be left out.
    fn skip_impossible(&mut self, next: &[Next]) {
        let at = self.record.steps.len();
        while let Some(&(agent, op)) = self.plan.get(at) {
            let index = self.record.steps.iter().filter(|s| s.0 == agent).count() as u32 + 1;
            let possible = |n: &Next| {
                n.agent == agent && n.ready() && (n.op.addr, n.op.len) == (op.addr, op.len)
            };
            if next.iter().any(possible) || self.part.iter().any(|w| w.id == (agent, index)) {
                return;
            }
            self.plan.remove(at);
        }
    }

    /// Who goes on when nothing is planned any more: those who ended the program come last.
    fn free(&self, next: &[Next], last: Option<Agent>) -> Option<Agent> {
        let others: Vec<Next> =
            next.iter().filter(|n| !self.barred.contains(&n.agent)).copied().collect();
        if others.iter().any(Next::ready) {
            return undecided(&others, last);
        }
        undecided(next, last)
    }

    /// What was about to be done, as far as it is known: of those that another thread has cut short,
    /// what they were about to do before.
    fn left(&self, left: &[Next], early: bool) -> Vec<Next> {
        if !(early && left.is_empty()) {
            return left.to_vec();
        }
        let ender = self.record.steps.last().map(|s| s.0);
        self.seen.iter().filter(|n| Some(n.agent) != ender).copied().collect()
    }

    /// Whether the step that ended the program belongs to the part: then all that have it end so.
    fn part_ends_it(&mut self) -> bool {
        let Some(&(ender, _)) = self.record.steps.last() else { return false };
        let index = self.record.steps.iter().filter(|s| s.0 == ender).count() as u32;
        let ends = self.part.iter().any(|w| w.id == (ender, index));
        if ends {
            self.barred.clear();
        }
        ends
    }

    /// Plans the same execution with the thread that ended it last. Whether there is any need to.
    fn postpone(&mut self, left: &[Next]) -> bool {
        let Some(&(ender, _)) = self.record.steps.last() else { return false };
        let others = |n: &Next| n.agent != ender && !self.barred.contains(&n.agent);
        if self.barred.contains(&ender) || !left.iter().any(|n| others(n) && n.ready()) {
            return false;
        }
        self.barred.push(ender);
        let mut plan = std::mem::take(&mut self.record.steps);
        let rest = self.plan.iter().skip(plan.len()).filter(|s| s.0 != ender);
        plan.pop();
        plan.extend(rest);
        self.plan = plan;
        true
    }
}

impl Strategy for Rf {
    fn begin(&mut self) -> bool {
        self.record = Record::default();
        self.seen.clear();
        self.impossible = false;
        if !std::mem::replace(&mut self.begun, true) || !self.barred.is_empty() {
            return true;
        }
        self.waits = None;
        while let Some(level) = self.levels.last() {
            if level.is_done() {
                self.levels.pop();
            } else if self.prepare() {
                return true;
            }
        }
        self.finished = true;
        false
    }

    fn choose(&mut self, next: &[Next], last: Option<Agent>) -> Choice {
        let at = self.record.steps.len();
        for n in next.iter().filter(|n| n.ready()) {
            if self.seen.iter().any(|before| before.agent == n.agent && before.idle) {
                self.record.woken.push((at as u32, n.agent));
            }
        }
        self.seen.clear();
        self.seen.extend_from_slice(next);
        self.skip_waiting(next);
        self.skip_impossible(next);
        let agent = match self.plan.get(at) {
            Some(&(agent, op)) => {
                let found = next.iter().find(|n| n.agent == agent);
                // A step that reads something else may do something else; it is looked at in the end.
                let same = |n: &&Next| (n.op.addr, n.op.len) == (op.addr, op.len);
                if !found.filter(same).is_some_and(Next::ready) {
                    self.impossible = true;
                    self.cut |= found.is_some_and(|n| n.idle);
                    return Choice::Stop;
                }
                agent
            }
            None => match self.free(next, last) {
                Some(agent) => agent,
                None => return Choice::Stop,
            },
        };
        let Some(n) = next.iter().find(|n| n.agent == agent) else { return Choice::Stop };
        self.record.steps.push((agent, n.op));
        self.record.varies.push(n.varies);
        Choice::Run(agent)
    }

    fn end(&mut self, ended: Ended, left: &[Next]) {
        // A deadlock without what is waited for hides what would have been.
        self.cut |= ended == Ended::Cut || (ended == Ended::Deadlock && left.is_empty());
        if ended == Ended::Deadlock {
            self.skip_waiting(left);
        }
        let steps = self.record.steps.len();
        if steps > MOST_STEPS {
            self.cut = true;
            self.barred.clear();
            return;
        }
        let there = left.iter().any(|n| !n.agent.is_buffer());
        let cut_short = ended == Ended::Over && (there || self.seen.len() > 1);
        let left = self.left(left, cut_short);
        if self.impossible {
            self.barred.clear();
            return;
        }
        if cut_short && (self.part_ends_it() || self.postpone(&left)) {
            return;
        }
        self.barred.clear();
        let execution = Execution::new(&self.record, &left, self.buffered);
        if self.waits.is_some() {
            self.levels.last_mut().map(Level::waited);
        }
        // Somebody has let the thread go on: that is no new class.
        if self.waits.is_some_and(|id| execution.has_taken(id)) {
            return;
        }
        let part = std::mem::take(&mut self.part);
        match Level::new(execution, &part, ended != Ended::Deadlock, cut_short) {
            Some(mut level) => {
                if let (Some(id), Some(last)) = (self.waits, self.levels.last()) {
                    level.retain_waiting([&last.waiting[..], &[id]].concat());
                }
                level.learn(&mut self.known);
                self.cut |= level.cut;
                self.levels.push(level);
            }
            // No execution has the part, unless it does not depend on what it reads alone.
            None if self.doubt => {}
            None => {
                let agent = self.record.steps.last().map_or(Agent::thread(0), |s| s.0);
                self.diverged.get_or_insert(Diverged { step: steps, agent });
            }
        }
    }

    fn complete(&self) -> bool {
        self.finished && !self.cut && self.diverged.is_none()
    }

    fn diverged(&self) -> Option<Diverged> {
        self.diverged
    }
}
