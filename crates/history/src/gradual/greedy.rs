//! A run of the machine that does what was recorded, found without trying everything: reads happen
//! as early as possible, a write reaches memory only when nobody still has to read the value that
//! it replaces. So a run that comes to its end is a witness.
//!
//! Which of several writes comes first is a choice. A chain that has to wait for an operation of
//! another chain, which waits for a third, and so on, back to the first, shows a bad choice: some
//! write w stands in memory although another write w' of the circle, to the same variable, cannot
//! come before w is read, and w cannot be read before w' has come. Then w' has to be first. The run
//! goes back to where w was chosen, the latest one if the circle has several, and w waits for w'
//! from then on; if the circle has several, only as long as the other choices stand.
//!
//! This is the conflict-driven search of SAT solvers, with the machine to propose decisions, but
//! without their clauses. It may give up on a history that has a witness: it proves nothing but
//! what it finds. Cost: linear in operations if choices are rarely bad; each bad one costs the
//! operations since it was made.

use std::collections::{BinaryHeap, HashMap};

use weakspot_core::{INITIAL, Limit, OpKind};
use weakspot_sat::Meter;

use crate::gradual::chains::{Chains, END};
use crate::graph::extra::Extra;
use crate::graph::store::Readers;

/// How a run ends.
pub(crate) enum Greedy {
    /// With everything done, in this order.
    Run(Vec<u32>),
    /// Stuck: no other choice helps, as far as is known.
    Stuck(Place),
    /// Tired of going back.
    Tired(Place),
}

/// Where a run was stuck.
pub(crate) struct Place {
    /// What was done.
    trail: Vec<u32>,
    /// Per chain what was next.
    heads: Vec<u32>,
}

/// Tries to run a history so that the given edges are respected. About `patience` steps may be undone
/// per operation.
pub(crate) fn greedy(
    chains: &Chains<'_>,
    extra: &Extra,
    patience: u64,
    meter: &mut Meter<'_>,
) -> Result<Greedy, Limit> {
    let mut run = Run::new(chains, extra);
    let mut patience = PATIENCE + patience * chains.ops.len() as u64;
    let mut tired = false;
    loop {
        if let Some(chain) = run.ready.pop() {
            if let Some(circle) = run.advance(chain as usize) {
                let back = run.learn(&circle);
                let Some(undone) = back.map(|back| run.rewind(back)) else { break };
                let Some(rest) = patience.checked_sub(undone + 16) else {
                    tired = true;
                    break;
                };
                patience = rest;
            }
        } else if let Some(chain) = run.choose() {
            run.write(chain);
        } else {
            break;
        }
        meter.work(1, || run.bytes())?;
    }
    let all = run.trail.len() == chains.ops.len();
    let (trail, heads) = (run.trail, run.heads);
    Ok(match (all, tired) {
        (true, _) => Greedy::Run(trail),
        (false, true) => Greedy::Tired(Place { trail, heads }),
        (false, false) => Greedy::Stuck(Place { trail, heads }),
    })
}

impl Place {
    /// The last so many operations that were done, and about as many that come next.
    pub(crate) fn around(&self, chains: &Chains<'_>, count: usize) -> Vec<u32> {
        let mut some = self.trail[self.trail.len().saturating_sub(count)..].to_vec();
        for thread in 0..chains.ops.threads() {
            let range = chains.ops.of_thread(thread);
            let of_writes = self.heads[chains.all_of_writes(thread)].iter();
            let next = of_writes.chain([&self.heads[thread]]).min().copied().unwrap_or(END);
            let more = (count / chains.ops.threads()) as u32 + 1;
            some.extend(next.min(range.end)..next.saturating_add(more).min(range.end));
        }
        some
    }
}

/// So many operations may be undone in all, besides some for each operation of the history.
const PATIENCE: u64 = 1 << 16;

/// What a chain waits for.
#[derive(Clone, Copy)]
struct Wait {
    on: u32,
    why: Why,
}

#[derive(Clone, Copy)]
enum Why {
    /// It must.
    Order,
    /// This learnt edge says so.
    Learnt(u32),
    /// The operation has to read this write, which is in memory.
    Value(u32),
}

#[derive(Clone, Copy)]
enum State {
    /// It is on the list of those that may go on.
    Ready,
    /// Its next operation is a write that may reach memory.
    Candidate,
    Waiting(Wait),
    Ended,
}

/// The first write reached memory before the second: not because it had to.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Choice {
    first: u32,
    second: u32,
}

/// An edge that a bad choice taught.
struct Learnt {
    from: u32,
    next: u32,
    /// It holds as long as these choices stand.
    reasons: Vec<Choice>,
    /// Unless one of these writes comes first.
    others: Vec<u32>,
    gone: bool,
}

struct Run<'r, 'a> {
    chains: &'r Chains<'a>,
    extra: &'r Extra,
    readers: Readers,
    heads: Vec<u32>,
    states: Vec<State>,
    /// Which operations chains wait for; per chain the first of those that wait for one of its
    /// operations, and the next one that waits for the same chain.
    awaited: Marks,
    waiter: Vec<u32>,
    next_waiter: Vec<u32>,
    ready: Vec<u32>,
    /// Chains that may be candidates; those that others wait for.
    candidates: Vec<u32>,
    demanded: Vec<u32>,
    /// All chains that wait for a value to be read, or by a learnt edge: they may not have to when
    /// something is undone.
    unsure: Vec<u32>,
    /// Per variable the write that is in memory.
    memory: Vec<u32>,
    /// What was done, and what the writes among it replaced in memory.
    trail: Vec<u32>,
    replaced: Vec<u32>,
    /// Per write when it reached memory.
    when: Vec<u32>,
    /// The operations to which learnt edges lead, and the last edge of each.
    has_learnt: Marks,
    learnt_to: HashMap<u32, u32>,
    learnt: Vec<Learnt>,
    /// The learnt edges that may go, and when: as soon as the trail is that short.
    fleeting: BinaryHeap<(u32, u32)>,
}

impl<'r, 'a> Run<'r, 'a> {
    fn new(chains: &'r Chains<'a>, extra: &'r Extra) -> Run<'r, 'a> {
        let ops = chains.ops;
        let heads = chains.first().to_vec();
        // A list that grew would be there twice while it grows.
        let writes = (0..ops.len() as u32).filter(|&op| ops.writes(op)).count();
        let ready: Vec<u32> =
            (0..chains.len() as u32).rev().filter(|&c| heads[c as usize] != END).collect();
        Run {
            chains,
            extra,
            readers: Readers::new(ops),
            states: heads
                .iter()
                .map(|&head| if head == END { State::Ended } else { State::Ready })
                .collect(),
            heads,
            awaited: Marks::new(ops.len()),
            waiter: vec![END; chains.len()],
            next_waiter: vec![END; chains.len()],
            ready,
            candidates: Vec::new(),
            demanded: Vec::new(),
            unsure: Vec::new(),
            memory: vec![INITIAL; ops.vars()],
            trail: Vec::with_capacity(ops.len()),
            replaced: Vec::with_capacity(writes),
            when: vec![END; ops.len()],
            has_learnt: Marks::new(ops.len()),
            learnt_to: HashMap::new(),
            learnt: Vec::new(),
            fleeting: BinaryHeap::new(),
        }
    }

    /// Does what the chain can do without a choice. Returns the chains of a circle, if the chain
    /// closes one: each waits for the next.
    fn advance(&mut self, chain: usize) -> Option<Vec<usize>> {
        loop {
            let op = self.heads[chain];
            if op == END {
                self.states[chain] = State::Ended;
                return None;
            }
            if let Some(wait) = self.blocker(op) {
                self.states[chain] = State::Waiting(wait);
                if !matches!(wait.why, Why::Order) {
                    self.unsure.push(chain as u32);
                }
                self.awaited.set(wait.on, true);
                let first = &mut self.waiter[self.chains.of(wait.on)];
                self.next_waiter[chain] = std::mem::replace(first, chain as u32);
                return self.follow(chain);
            }
            if self.chains.ops.writes(op) {
                self.states[chain] = State::Candidate;
                let list = match self.awaited.has(op) {
                    false => &mut self.candidates,
                    true => &mut self.demanded,
                };
                list.push(chain as u32);
                return None;
            }
            self.perform(chain, op);
        }
    }

    /// What an operation has to wait for.
    fn blocker(&self, op: u32) -> Option<Wait> {
        let chains = self.chains;
        let order = |on: u32| Wait { on, why: Why::Order };
        if let Some(on) = chains.waits_for(&self.heads, op) {
            return Some(order(on));
        }
        let is_done = |op: u32| chains.is_done(&self.heads, op);
        if let Some(w) = chains.reads_from(op)
            && !is_done(w)
        {
            return Some(order(w));
        }
        if self.extra.leads_to(op)
            && let Some((_, edge)) = self.extra.leading_to(op).find(|(_, edge)| !is_done(edge.from))
        {
            return Some(order(edge.from));
        }
        let mut at = self.last_learnt(op);
        while let Some(edge) = self.learnt.get(at as usize) {
            if !edge.gone && !is_done(edge.from) {
                return Some(Wait { on: edge.from, why: Why::Learnt(at) });
            }
            at = edge.next;
        }
        if !chains.ops.writes(op) {
            return None;
        }
        let var = chains.ops.var(op) as usize;
        let current = self.memory[var];
        let source = if current == INITIAL { chains.ops.len() + var } else { current as usize };
        let read = self.readers.of(source).find(|&read| read != op && !is_done(read))?;
        Some(Wait { on: read, why: Why::Value(current) })
    }

    /// Follows what a chain waits for: back to it, which is a circle, or to a chain that can go on,
    /// which is wanted then.
    fn follow(&mut self, start: usize) -> Option<Vec<usize>> {
        let next = |chain: usize| match self.states[chain] {
            State::Waiting(wait) => Some(self.chains.of(wait.on)),
            _ => None,
        };
        let mut last = start;
        for _ in 0..self.states.len() {
            let Some(chain) = next(last) else { break };
            if chain == start {
                let after = |&chain: &usize| next(chain).filter(|&chain| chain != start);
                return Some(std::iter::successors(Some(start), after).collect());
            }
            last = chain;
        }
        if let State::Candidate = self.states[last] {
            self.demanded.push(last as u32);
        }
        None
    }

    /// The chain whose write reaches memory next.
    fn choose(&mut self) -> Option<usize> {
        while let Some(chain) = self.demanded.pop().or_else(|| self.candidates.pop()) {
            let chain = chain as usize;
            if !matches!(self.states[chain], State::Candidate) {
                continue;
            }
            return Some(chain);
        }
        None
    }

    /// Lets the write of a candidate reach memory, if it still may.
    fn write(&mut self, chain: usize) {
        let op = self.heads[chain];
        self.states[chain] = State::Ready;
        self.ready.push(chain as u32);
        if self.blocker(op).is_none() {
            let var = self.chains.ops.var(op) as usize;
            let before = std::mem::replace(&mut self.memory[var], op);
            self.when[op as usize] = self.trail.len() as u32;
            self.replaced.push(before);
            self.perform(chain, op);
        }
    }

    fn perform(&mut self, chain: usize, op: u32) {
        self.trail.push(op);
        self.heads[chain] = self.chains.next(op);
        self.wake(op);
    }

    /// Those that wait for an operation look again.
    fn wake(&mut self, op: u32) {
        if !self.awaited.has(op) {
            return;
        }
        self.awaited.set(op, false);
        // Of those that wait for the chain, the ones that wait for something else go on waiting.
        let of = self.chains.of(op);
        let mut who = std::mem::replace(&mut self.waiter[of], END);
        while who != END {
            let chain = who as usize;
            let next = std::mem::replace(&mut self.next_waiter[chain], END);
            match self.states[chain] {
                State::Waiting(wait) if wait.on != op => {
                    self.next_waiter[chain] = std::mem::replace(&mut self.waiter[of], who);
                }
                _ => {
                    self.states[chain] = State::Ready;
                    self.ready.push(who);
                }
            }
            who = next;
        }
    }

    /// The last learnt edge that leads to an operation, or [`END`].
    fn last_learnt(&self, op: u32) -> u32 {
        match self.has_learnt.has(op) {
            true => self.learnt_to.get(&op).copied().unwrap_or(END),
            false => END,
        }
    }

    /// Learns from a circle. Returns how much of the trail stays; nothing if no choice made it.
    fn learn(&mut self, circle: &[usize]) -> Option<u32> {
        let mut choices: Vec<Choice> = Vec::new();
        // An edge that was one of several possibilities, and where it leads.
        let mut possible = None;
        for &chain in circle {
            let State::Waiting(wait) = self.states[chain] else { continue };
            match wait.why {
                Why::Order => {}
                Why::Learnt(edge) => {
                    let learnt = &self.learnt[edge as usize];
                    choices.extend(&learnt.reasons);
                    if !learnt.others.is_empty() {
                        possible = Some((edge, self.heads[chain]));
                    }
                }
                Why::Value(first) => {
                    let second = self.heads[chain];
                    if first != INITIAL && !self.must_precede(first, second) {
                        choices.push(Choice { first, second });
                    }
                }
            }
        }
        let time = |choice: &Choice| self.when[choice.first as usize];
        choices.sort_unstable_by_key(|choice| {
            (std::cmp::Reverse(time(choice)), choice.first, choice.second)
        });
        choices.dedup();
        if let Some((edge, to)) = possible {
            self.learnt[edge as usize].gone = true;
            let mut others = std::mem::take(&mut self.learnt[edge as usize].others);
            let from = others.pop()?;
            self.push_learnt(from, to, choices, others);
            return Some(self.trail.len() as u32);
        }
        let &Choice { first, second } = choices.first()?;
        let same = choices.iter().take_while(|choice| choice.first == first).count();
        let reasons = choices.split_off(same);
        let others = choices[1..].iter().map(|choice| choice.second).collect();
        let back = self.when[first as usize];
        self.push_learnt(second, first, reasons, others);
        Some(back)
    }

    /// Adds an edge that goes when the latest of the reasons is undone.
    fn push_learnt(&mut self, from: u32, to: u32, reasons: Vec<Choice>, others: Vec<u32>) {
        let index = self.learnt.len() as u32;
        if let Some(latest) = reasons.first() {
            self.fleeting.push((self.when[latest.first as usize], index));
        }
        self.has_learnt.set(to, true);
        let next = self.learnt_to.insert(to, index).unwrap_or(END);
        self.learnt.push(Learnt { from, next, reasons, others, gone: false });
    }

    /// Whether every witness has these writes to one variable in this order, as far as is known.
    fn must_precede(&self, first: u32, second: u32) -> bool {
        let chains = self.chains;
        if chains.thread(first) == chains.thread(second) {
            return true;
        }
        if chains.ops.from(second) == Some(first) {
            return true;
        }
        if self.extra.leads_to(second)
            && self.extra.leading_to(second).any(|(_, edge)| edge.from == first)
        {
            return true;
        }
        let mut at = self.last_learnt(second);
        while let Some(edge) = self.learnt.get(at as usize) {
            if !edge.gone && edge.from == first && edge.reasons.is_empty() && edge.others.is_empty()
            {
                return true;
            }
            at = edge.next;
        }
        false
    }

    /// Undoes everything after the first so many steps; returns how much that was.
    fn rewind(&mut self, back: u32) -> u64 {
        let undone = self.trail.len() as u64 - u64::from(back);
        while self.trail.len() > back as usize {
            let Some(op) = self.trail.pop() else { break };
            let ops = self.chains.ops;
            let chain = self.chains.of(op);
            if ops.kind(op) != OpKind::Fence && ops.writes(op) {
                self.memory[ops.var(op) as usize] = self.replaced.pop().unwrap_or(INITIAL);
                self.when[op as usize] = END;
            }
            self.heads[chain] = op;
            match self.states[chain] {
                State::Waiting(wait) => self.wake(wait.on),
                State::Ended | State::Candidate => {
                    self.states[chain] = State::Ready;
                    self.ready.push(chain as u32);
                }
                State::Ready => {}
            }
        }
        while let Some(&(_, index)) = self.fleeting.peek().filter(|&&(until, _)| until >= back) {
            self.fleeting.pop();
            self.learnt[index as usize].gone = true;
        }
        while let Some(chain) = self.unsure.pop() {
            match self.states[chain as usize] {
                State::Waiting(Wait { why: Why::Order, .. }) => {}
                State::Waiting(wait) => self.wake(wait.on),
                _ => {}
            }
        }
        while let Some(chain) = self.candidates.pop().or_else(|| self.demanded.pop()) {
            if let State::Candidate = self.states[chain as usize] {
                self.states[chain as usize] = State::Ready;
                self.ready.push(chain);
            }
        }
        undone
    }

    fn bytes(&self) -> u64 {
        let ops = self.chains.ops.len() as u64;
        self.chains.bytes() + self.extra.bytes() + 20 * ops + 80 * self.learnt.len() as u64
    }
}

/// A set of operations.
struct Marks(Vec<u64>);

impl Marks {
    fn new(ops: usize) -> Marks {
        Marks(vec![0; ops / 64 + 1])
    }

    fn has(&self, op: u32) -> bool {
        self.0[op as usize / 64] >> (op % 64) & 1 == 1
    }

    fn set(&mut self, op: u32, on: bool) {
        let bit = 1 << (op % 64);
        let word = &mut self.0[op as usize / 64];
        *word = if on { *word | bit } else { *word & !bit };
    }
}
