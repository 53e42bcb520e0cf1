//! A walk at random: at each step, one of the agents that can go on, each as likely as the others.
//!
//! Cheap and without memory, but a schedule of n steps that needs one certain answer at each of k
//! places has probability about 2^-k per execution with two threads, so rare orders stay rare:
//! `pct.rs` has a guarantee. Each execution draws from a generator of its own, made from the seed
//! and the number of the execution.

use weakspot_core::testing::Rng;

use crate::{Agent, Choice, Ended, Next, Strategy, Whole};

/// The strategy `random`. It never ends: the caller counts executions.
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
    execution: u64,
    /// Where a part ends.
    end: u64,
    rng: Rng,
}

impl Random {
    /// The same seed, the same executions.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random { seed, execution: 0, end: u64::MAX, rng: Rng::new(seed) }
    }
}

impl Strategy for Random {
    fn begin(&mut self) -> bool {
        if self.execution >= self.end {
            return false;
        }
        self.rng = generator(self.seed, self.execution);
        self.execution += 1;
        true
    }

    fn choose(&mut self, next: &[Next], _last: Option<Agent>) -> Choice {
        // Those that wait in a loop get a turn only if there are no others: their turns would change
        // nothing.
        let ready = next.iter().filter(|n| n.ready()).count();
        let can = |n: &&Next| if ready > 0 { n.ready() } else { n.enabled };
        let count = if ready > 0 { ready } else { next.iter().filter(can).count() };
        if count == 0 {
            return Choice::Stop;
        }
        match next.iter().filter(can).nth(self.rng.below(count)) {
            Some(n) => Choice::Run(n.agent),
            None => Choice::Stop,
        }
    }

    fn end(&mut self, _ended: Ended, _left: &[Next]) {}

    fn complete(&self) -> bool {
        false
    }

    fn start(&mut self, part: &str) -> bool {
        let Some((from, end, _)) = stretch(part) else { return false };
        (self.execution, self.end) = (from, end);
        true
    }
}

/// Executions by their numbers, for several workers: a part is a stretch of them. With it goes how long
/// the longest was, as far as that is known.
#[derive(Debug, Default)]
pub(crate) struct Numbered {
    next: u64,
    longest: u64,
}

impl Whole for Numbered {
    fn next(&mut self, most: u64) -> Option<String> {
        let from = self.next;
        self.next = from.saturating_add(most);
        Some(format!("{from},{},{}", self.next, self.longest))
    }

    fn merge(&mut self, rest: &str) -> bool {
        let longest = if rest.is_empty() { Some(0) } else { rest.parse().ok() };
        self.longest = self.longest.max(longest.unwrap_or(0));
        longest.is_some()
    }

    fn complete(&self) -> bool {
        false
    }
}

/// The first execution of a part, the first after it, and the longest before.
pub(crate) fn stretch(part: &str) -> Option<(u64, u64, u64)> {
    let mut numbers = part.split(',').map(|word| word.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

/// Numbers for one execution, unrelated to those of the others.
pub(crate) fn generator(seed: u64, execution: u64) -> Rng {
    let first = Rng::new(seed).next_u64();
    Rng::new(Rng::new(first.wrapping_add(execution)).next_u64())
}
