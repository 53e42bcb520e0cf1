//! Threads that will never go on, whatever others do.

/// Those of some threads, each of which waits for what only one other can do, that never go on: because they wait for
/// each other, or for some who will never do anything again. They are in the order in which they were given.
#[must_use]
pub fn closed(waits: &[(usize, usize)], never: &[usize]) -> Vec<usize> {
    let mut waits = waits.to_vec();
    loop {
        let before = waits.len();
        let threads: Vec<usize> = waits.iter().map(|&(t, _)| t).collect();
        waits.retain(|(_, other)| threads.contains(other) || never.contains(other));
        if waits.len() == before {
            return threads;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use weakspot_core::testing::{Rng, scaled};

    use super::closed;

    /// Whether thread `t` can still go on, after those of `went` have. Every order of threads is tried. A thread can go
    /// on if it waits for nobody, or if the thread that it waits for has gone on.
    fn goes_on(
        waits: &[(usize, usize)],
        never: &[usize],
        went: &BTreeSet<usize>,
        t: usize,
    ) -> bool {
        if went.contains(&t) {
            return true;
        }
        let all: BTreeSet<usize> = (0..6).collect();
        all.iter().filter(|u| !went.contains(u) && !never.contains(u)).any(|&u| {
            let waits_for = waits.iter().find(|(waiter, _)| *waiter == u).map(|w| w.1);
            let can = waits_for.is_none_or(|other| went.contains(&other));
            let after = went.iter().copied().chain([u]).collect();
            can && goes_on(waits, never, &after, t)
        })
    }

    #[test]
    fn as_by_all_orders() {
        let mut rng = Rng::new(17);
        let (mut some, mut none) = (0, 0);
        for _ in 0..scaled(2000) {
            let never: Vec<usize> = (0..6).filter(|_| rng.one_in(8)).collect();
            let mut waits = Vec::new();
            for t in (0..6).filter(|t| !never.contains(t)) {
                if !rng.one_in(3) {
                    waits.push((t, rng.below(6)));
                }
            }
            let found = closed(&waits, &never);
            for &(t, _) in &waits {
                let stuck = !goes_on(&waits, &never, &BTreeSet::new(), t);
                assert_eq!(found.contains(&t), stuck, "{t} of {waits:?}, never {never:?}");
            }
            some += usize::from(!found.is_empty());
            none += usize::from(found.is_empty());
        }
        assert!(some > scaled(2000) / 10 && none > scaled(2000) / 10, "{some} {none}");
    }
}
