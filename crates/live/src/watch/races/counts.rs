//! Counts of references: is it certain, whatever the order, that a reference which is dropped is not the last?
//!
//! Whoever drops a reference is told whether it was the last one, and nothing else. So the order in which references are taken
//! and dropped is not explored, but for who is the last ([`OpKind::Add`](crate::OpKind)). That is right if
//! every order that happens-before allows says the same. It does where a reference is taken only by who has one,
//! and is dropped once. Where it is not so, which is an error of the program, some order tells that a
//! reference is the last although another thread uses it, and that has to be explored: the count is *doubtful*.
//!
//! Before a drop, the count is lowest if all drops have come that may, and of those who take references only
//! those that these drops happen after. Each drop needs what it happens after, and each taking counts once, so that is a matching
//! between drops and takings: it pays to let a drop come first only if no taking has to come along.
//! What happens-before leaves open may be ordered by conflicts all the same: then a count is doubted without a reason, and
//! explored as other updates are.
//!
//! Cost: for each drop a matching, at the end of an execution; counts that change more than [`MOST`] times are doubtful.

use rustc_hash::FxHashMap;

use super::clock::Clock;

/// Changes of a count in an execution that are looked at.
const MOST: usize = 80;

/// All counts of an execution.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Changes since the last that all later ones come after, by address.
    changes: FxHashMap<u64, Vec<Change>>,
    doubtful: bool,
}

/// A reference is taken or dropped.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) thread: u16,
    /// The time of its thread.
    pub(super) time: u32,
    /// What happens before it.
    pub(super) clock: Clock,
    /// What the count was before.
    pub(super) before: u64,
    /// Whether a reference is taken, not dropped.
    pub(super) taken: bool,
}

impl Counts {
    /// An execution begins.
    pub(super) fn clear(&mut self) {
        self.changes.clear();
        self.doubtful = false;
    }

    /// A count changes, and it is not the last one that is dropped.
    pub(super) fn change(&mut self, addr: u64, change: Change) {
        let changes = self.changes.entry(addr).or_default();
        let expected = changes.last().map(|last| match last.taken {
            true => last.before.wrapping_add(1),
            false => last.before.wrapping_sub(1),
        });
        // Somebody has changed it in another way.
        if expected.is_some_and(|expected| expected != change.before) {
            self.doubtful |= is_doubtful(changes);
            changes.clear();
        }
        changes.push(change);
    }

    /// Something else is done to a count, with which changes cannot be exchanged.
    pub(super) fn set_order(&mut self, addr: u64) {
        if let Some(changes) = self.changes.remove(&addr) {
            self.doubtful |= is_doubtful(&changes);
        }
    }

    /// Whether there are any.
    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Whether some count of the execution is doubtful.
    pub(super) fn are_doubtful(&self) -> bool {
        self.doubtful || self.changes.values().any(|changes| is_doubtful(changes))
    }
}

fn is_doubtful(changes: &[Change]) -> bool {
    let drops = changes.iter().any(|change| !change.taken);
    drops && changes.len() > MOST
        || (0..changes.len()).any(|x| !changes[x].taken && lowest(changes, x) < 2)
}

/// The lowest count that there may be right before a change.
fn lowest(changes: &[Change], x: usize) -> i64 {
    let before = |a: usize, b: usize| {
        let (a, b) = (&changes[a], &changes[b]);
        a.time <= b.clock.of(a.thread.into())
    };
    let precedes =
        |a: usize, b: usize| a < b && (changes[a].thread == changes[b].thread || before(a, b));
    let mut count = changes[0].before as i64;
    let (mut taken, mut dropped) = (Vec::new(), Vec::new());
    for other in (0..changes.len()).filter(|&other| other != x && !precedes(x, other)) {
        match (precedes(other, x), changes[other].taken) {
            (true, taken) => count += if taken { 1 } else { -1 },
            (false, true) => taken.push(other),
            (false, false) => dropped.push(other),
        }
    }
    let mut of = vec![None; taken.len()];
    let needs = |drop: usize, taking: usize| precedes(taken[taking], dropped[drop]);
    let matched = (0..dropped.len())
        .filter(|&drop| find(drop, &needs, &mut of, &mut vec![false; taken.len()]))
        .count();
    count - (dropped.len() - matched) as i64
}

/// Finds a taking for a drop, for which others may have to take another one.
fn find(
    drop: usize,
    needs: &dyn Fn(usize, usize) -> bool,
    of: &mut Vec<Option<usize>>,
    seen: &mut Vec<bool>,
) -> bool {
    for taking in 0..of.len() {
        if needs(drop, taking)
            && !std::mem::replace(&mut seen[taking], true)
            && of[taking].is_none_or(|other| find(other, needs, of, seen))
        {
            of[taking] = Some(drop);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use weakspot_core::testing::{Rng, scaled};

    use super::*;

    /// The same by trying all sets of changes that have with each what happens before it.
    fn by_definition(changes: &[Change], before: &[Vec<bool>], x: usize) -> i64 {
        let sets = (0..1_u32 << changes.len()).filter(|set| {
            let has = |i: usize| set >> i & 1 == 1;
            let closed = (0..changes.len()).all(|b| {
                !(has(b) || b == x) || (0..changes.len()).all(|a| !before[a][b] || has(a))
            });
            closed && !has(x)
        });
        let count = |set: u32| {
            let changed = (0..changes.len()).filter(|i| set >> i & 1 == 1);
            changed.map(|i| if changes[i].taken { 1 } else { -1 }).sum::<i64>()
        };
        changes[0].before as i64 + sets.map(count).min().unwrap_or(0)
    }

    #[test]
    fn the_lowest_count_is_that_of_all_orders() {
        let mut rng = Rng::new(5);
        for n in 0..scaled(4000) {
            let threads = 1 + rng.below(4);
            let mut clocks = vec![Clock::default(); threads];
            let mut count = 1 + rng.below(3) as u64;
            let mut changes: Vec<Change> = Vec::new();
            for _ in 0..1 + rng.below(7) {
                let t = rng.below(threads);
                if rng.one_in(2) {
                    let other = clocks[rng.below(threads)].clone();
                    clocks[t].join(&other);
                }
                clocks[t].tick(t);
                let taken = rng.one_in(2);
                let clock = clocks[t].clone();
                changes.push(Change {
                    thread: t as u16,
                    time: clock.of(t),
                    clock,
                    before: count,
                    taken,
                });
                count = if taken { count.wrapping_add(1) } else { count.wrapping_sub(1) };
            }
            let before: Vec<Vec<bool>> = (0..changes.len())
                .map(|a| {
                    let is = |b: usize| {
                        a < b && changes[a].time <= changes[b].clock.of(changes[a].thread.into())
                    };
                    (0..changes.len()).map(is).collect()
                })
                .collect();
            for x in 0..changes.len() {
                let want = by_definition(&changes, &before, x);
                assert_eq!(lowest(&changes, x), want, "{n}: {x} of {changes:#?}");
            }
        }
    }
}
