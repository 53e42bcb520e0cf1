//! All cycles of a group that cannot be made simpler, for few threads.
//!
//! Section 6.2 of the paper (Figs. 3 and 4): a cycle can be simplified where it gets from a
//! transaction, over an undirected tie, to one to which directed ties lead, too. One that cannot
//! visits each chain of directed ties at most once, for any partition into chains, so the number of
//! undirected ties is bounded by that of chains: per thread two and one for each variable that the
//! thread reads from its buffer.
//!
//! Deviations: profiles are pairs of events, because pairs of operations and variables lose cycles;
//! what is searched are sequences of undirected ties, of which the end of one and the start of the
//! next are such a pair. Instead of a partition into chains, the transactions that the ties lead to,
//! and those from which they leave, have to be unordered, which is stronger. And a beginning of a
//! cycle is given up as soon as it is not possible, by the validity of `part.rs`.
//!
//! Cost: the number of ties to the power of the number of chains; the search stops when it has
//! looked at a given number of beginnings.

use weakspot_core::Limit;
use weakspot_sat::Meter;

use crate::acyclic::Acyclic;
use crate::part::{Part, Use};

/// What a search found.
pub(crate) enum Searched {
    /// Ties that make a cycle, and what else that demands.
    Cycle(Vec<(usize, usize)>, Vec<(usize, usize)>),
    /// There is none, after so many beginnings.
    Nothing(u64),
    /// There were more beginnings than that.
    TooMany,
}

/// Something that a cycle may use to get from a transaction to another.
#[derive(Clone, Copy)]
struct Hop {
    from: u32,
    to: u32,
    by: By,
}

#[derive(Clone, Copy)]
enum By {
    /// An undirected tie.
    Tie(usize, usize),
    /// A write overwrites what a read would have found of its own thread.
    Overwrites(usize, usize),
}

/// What is searched with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Steps {
    /// Undirected ties only.
    Ties,
    /// All that there is.
    All,
}

impl Steps {
    pub(crate) const ALL: [Steps; 2] = [Steps::Ties, Steps::All];
}

/// All of them.
fn steps(part: &Part<'_>, with: Steps) -> Vec<Hop> {
    let of_tie =
        |tie: &Use| Hop { from: tie.from, to: tie.to, by: By::Tie(tie.events.0, tie.events.1) };
    let mut steps: Vec<Hop> = part.ties.iter().map(of_tie).collect();
    for found in part.overwritten.iter().filter(|_| with == Steps::All) {
        for &to in &found.to {
            let step = |&write| Hop { from: found.from, to, by: By::Overwrites(write, found.read) };
            steps.extend(found.by.iter().map(step));
        }
    }
    steps
}

/// The most steps besides ties that are tried.
const MOST_STEPS: usize = 1 << 20;

/// The most transactions of which all orders are kept.
const MOST_TXNS: usize = 4096;

/// Looks for a cycle. `graph` is the graph of the part's order.
pub(crate) fn search(
    part: &Part<'_>,
    graph: &mut Acyclic,
    with: Steps,
    most: Option<u64>,
    meter: &mut Meter<'_>,
) -> Result<Searched, Limit> {
    if most.is_some() && part.txns.len() > MOST_TXNS {
        return Ok(Searched::TooMany);
    }
    let overwritten: usize =
        part.overwritten.iter().map(|found| found.to.len() * found.by.len()).sum();
    if with == Steps::All {
        if most.is_some() && overwritten > MOST_STEPS {
            return Ok(Searched::TooMany);
        }
        meter.room((overwritten * (size_of::<Hop>() + 8)) as u64)?;
    }
    let steps = steps(part, with);
    let mut leaving = vec![Vec::new(); part.txns.len()];
    for (number, step) in steps.iter().enumerate() {
        leaving[step.from as usize].push(number);
    }
    let bytes = (part.txns.len().pow(2) / 8) as u64;
    meter.room(bytes)?;
    let after = closure(part);
    let count = steps.len();
    let mut search = Search { part, graph, after, all: steps, leaving, used: Vec::new(), steps: 0 };
    for first in 0..count {
        let found = search.first(first, most.unwrap_or(u64::MAX), meter)?;
        if !matches!(found, Searched::Nothing(_)) {
            return Ok(found);
        }
    }
    Ok(Searched::Nothing(search.steps))
}

/// Per transaction itself and what directed ties lead to.
fn closure(part: &Part<'_>) -> Vec<Vec<u64>> {
    let count = part.txns.len();
    let mut after = vec![vec![0u64; count.div_ceil(64)]; count];
    // Directed ties have no cycle here, so a depth-first search finishes nodes after what they lead
    // to.
    let mut is_done = vec![false; count];
    for start in 0..count {
        let mut stack = vec![(start, 0)];
        while let Some((node, at)) = stack.pop() {
            if is_done[node] {
                continue;
            }
            if let Some(&(to, _)) = part.next[node].get(at) {
                stack.push((node, at + 1));
                stack.push((to as usize, 0));
                continue;
            }
            is_done[node] = true;
            let mut row = std::mem::take(&mut after[node]);
            row[node / 64] |= 1 << (node % 64);
            for &(to, _) in &part.next[node] {
                row.iter_mut().zip(&after[to as usize]).for_each(|(all, more)| *all |= more);
            }
            after[node] = row;
        }
    }
    after
}

struct Search<'a> {
    part: &'a Part<'a>,
    graph: &'a mut Acyclic,
    after: Vec<Vec<u64>>,
    /// The ties, and what else leads on.
    all: Vec<Hop>,
    /// Per transaction those that leave it.
    leaving: Vec<Vec<usize>>,
    /// The ties of the beginning, each with the length of the graph before it.
    used: Vec<(usize, usize)>,
    steps: u64,
}

impl Search<'_> {
    fn leads(&self, from: u32, to: u32) -> bool {
        self.after[from as usize][to as usize / 64] >> (to % 64) & 1 == 1
    }

    /// All cycles whose first tie is this one and the others have larger numbers.
    fn first(&mut self, first: usize, most: u64, meter: &mut Meter<'_>) -> Result<Searched, Limit> {
        // Per tie of the beginning what can be tried after it.
        let mut stack = vec![vec![first]];
        while let Some(choices) = stack.last_mut() {
            let Some(tie) = choices.pop() else {
                stack.pop();
                if let Some((_, length)) = self.used.pop() {
                    self.graph.truncate(length);
                }
                continue;
            };
            self.steps += 1;
            if self.steps > most {
                self.graph.truncate(0);
                self.used.clear();
                return Ok(Searched::TooMany);
            }
            let units = self.graph.take_work() + 8 + self.part.txns.len() as u64 / 8;
            let bytes = (self.after.len().pow(2) / 8) as u64 + self.graph.bytes();
            meter.work(units, || bytes)?;
            if !self.take(tie) {
                continue;
            }
            let to = self.all[tie].to;
            if self.leads(to, self.all[first].from) {
                return Ok(self.found());
            }
            stack.push(self.following(first, to));
        }
        Ok(Searched::Nothing(self.steps))
    }

    /// The cycle that was found.
    fn found(&self) -> Searched {
        let (mut ties, mut more) = (Vec::new(), Vec::new());
        for &(used, _) in &self.used {
            match self.all[used].by {
                By::Tie(from, to) => ties.push((from, to)),
                By::Overwrites(write, read) => {
                    more.extend(self.part.order.overwrites(write, read));
                }
            }
        }
        Searched::Cycle(ties, more)
    }

    /// Adds a tie to the beginning, if that is possible.
    fn take(&mut self, tie: usize) -> bool {
        let length = self.graph.len();
        let order = self.part.order;
        let (ties, overwrites) = match self.all[tie].by {
            By::Tie(from, to) => (Some(order.demands(from, to)), None),
            By::Overwrites(write, read) => (None, Some(order.overwrites(write, read))),
        };
        let demands = ties.into_iter().flatten().chain(overwrites.into_iter().flatten());
        for (before, after) in demands {
            if self.graph.add(before, after, tie as u32).is_err() {
                self.graph.truncate(length);
                return false;
            }
        }
        self.used.push((tie, length));
        true
    }

    /// The ties that may follow when the last one leads to this transaction.
    fn following(&self, first: usize, to: u32) -> Vec<usize> {
        let mut found = Vec::new();
        for from in (0..self.part.txns.len() as u32).filter(|&from| self.leads(to, from)) {
            for &tie in self.leaving[from as usize].iter().filter(|&&tie| tie > first) {
                let new = &self.all[tie];
                let unordered = |a: u32, b: u32| !self.leads(a, b) && !self.leads(b, a);
                let is_simple = self.used.iter().all(|&(used, _)| {
                    let used = &self.all[used];
                    unordered(used.to, new.to) && unordered(used.from, new.from)
                });
                found.extend(is_simple.then_some(tie));
            }
        }
        found
    }
}
