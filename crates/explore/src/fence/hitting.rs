//! Minimum weight hitting sets: the cheapest set that has an element of each clause.
//!
//! Exact, by branch and bound. The clauses fall apart into components without common elements
//! (fences for one thread rarely forbid what another one does), which are solved one by one. In a
//! component, clauses that contain others and elements that others can stand in for are dropped,
//! a clause with one element is settled, and then the search branches over the elements of a
//! shortest clause; the sum of the cheapest elements of disjoint clauses bounds what is to come.
//! Exponential in the worst case, but the instances are small: a clause is the stretch of code
//! between a store and what overtakes it.
//!
//! Among the sets of least cost the answer is the one that comes first in the order of elements,
//! compared from its first element on.

use std::collections::BTreeSet;

/// A set of elements, by rising number.
pub type Clause = BTreeSet<usize>;

/// A hitting set of least cost; `None` if a clause is empty, or if `go_on` says to stop.
pub fn solve(
    clauses: &[Clause],
    costs: &[u64],
    go_on: &mut dyn FnMut() -> bool,
) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for component in components(clauses) {
        let most = costs.iter().copied().fold(1, u64::saturating_add);
        let least = Search { costs, go_on }.least(component.clone(), most)??;
        all.extend(first_of_cost(component, costs, least, go_on)?);
    }
    all.sort_unstable();
    Some(all)
}

/// Of the hitting sets with this least cost, the one that comes first.
fn first_of_cost(
    mut clauses: Vec<Clause>,
    costs: &[u64],
    mut cost: u64,
    go_on: &mut dyn FnMut() -> bool,
) -> Option<Vec<usize>> {
    let mut chosen = Vec::new();
    let elements: BTreeSet<usize> = clauses.iter().flatten().copied().collect();
    for e in elements {
        if clauses.is_empty() {
            break;
        }
        if costs[e] > cost || !clauses.iter().any(|c| c.contains(&e)) {
            continue;
        }
        let rest: Vec<Clause> = clauses.iter().filter(|c| !c.contains(&e)).cloned().collect();
        let left = cost - costs[e];
        let least = Search { costs, go_on }.least(rest.clone(), left + 1)?;
        if least == Some(left) {
            chosen.push(e);
            clauses = rest;
            cost = left;
        }
    }
    Some(chosen)
}

/// Groups of clauses that are linked by common elements.
fn components(clauses: &[Clause]) -> Vec<Vec<Clause>> {
    let mut groups: Vec<(BTreeSet<usize>, Vec<Clause>)> = Vec::new();
    for clause in clauses {
        let (linked, mut rest): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|(elements, _)| !elements.is_disjoint(clause));
        let mut merged = (clause.clone(), vec![clause.clone()]);
        for (elements, group) in linked {
            merged.0.extend(elements);
            merged.1.extend(group);
        }
        rest.push(merged);
        groups = rest;
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

struct Search<'a> {
    costs: &'a [u64],
    go_on: &'a mut dyn FnMut() -> bool,
}

impl Search<'_> {
    /// The least cost below `most` of a set that hits all of `clauses`: `None` if there was no
    /// time, `Some(None)` if there is no such set.
    fn least(&mut self, mut clauses: Vec<Clause>, mut most: u64) -> Option<Option<u64>> {
        if !(self.go_on)() {
            return None;
        }
        let mut spent = 0;
        loop {
            drop_larger(&mut clauses);
            drop_replaceable(&mut clauses, self.costs);
            if clauses.iter().any(BTreeSet::is_empty) {
                return Some(None);
            }
            let Some(single) = clauses.iter().find(|c| c.len() == 1) else { break };
            let e = single.iter().copied().next().unwrap_or_default();
            spent += self.costs[e];
            if spent >= most {
                return Some(None);
            }
            clauses.retain(|c| !c.contains(&e));
        }
        if spent + self.bound(&clauses) >= most {
            return Some(None);
        }
        let Some(shortest) = clauses.iter().min_by_key(|c| c.len()).cloned() else {
            return Some(Some(spent));
        };
        let mut found = None;
        let mut tried: Vec<usize> = Vec::new();
        for e in shortest {
            // Sets with an element that was tried before have been looked at.
            let rest: Vec<Clause> = clauses
                .iter()
                .filter(|c| !c.contains(&e))
                .map(|c| c.iter().copied().filter(|x| !tried.contains(x)).collect())
                .collect();
            let cost = spent + self.costs[e];
            if cost < most
                && let Some(more) = self.least(rest, most - cost)?
            {
                most = cost + more;
                found = Some(most);
            }
            tried.push(e);
        }
        Some(found)
    }

    /// What disjoint clauses cost at least.
    fn bound(&self, clauses: &[Clause]) -> u64 {
        let mut order: Vec<&Clause> = clauses.iter().collect();
        order.sort_by_key(|c| c.len());
        let mut used = BTreeSet::new();
        let mut sum = 0;
        for clause in order {
            if clause.is_disjoint(&used) {
                sum += clause.iter().map(|&e| self.costs[e]).min().unwrap_or(0);
                used.extend(clause.iter().copied());
            }
        }
        sum
    }
}

/// A clause that contains another one is hit whenever that is.
fn drop_larger(clauses: &mut Vec<Clause>) {
    clauses.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    let mut kept: Vec<Clause> = Vec::new();
    for clause in clauses.drain(..) {
        if !kept.iter().any(|k| k.is_subset(&clause)) {
            kept.push(clause);
        }
    }
    *clauses = kept;
}

/// An element is not needed if one that is no dearer hits all that it hits.
fn drop_replaceable(clauses: &mut [Clause], costs: &[u64]) {
    let elements: BTreeSet<usize> = clauses.iter().flatten().copied().collect();
    let hits = |clauses: &[Clause], e: usize| -> Vec<bool> {
        clauses.iter().map(|c| c.contains(&e)).collect()
    };
    let columns: Vec<(usize, Vec<bool>)> =
        elements.iter().map(|&e| (e, hits(clauses, e))).collect();
    let mut dropped = BTreeSet::new();
    for (e, column) in &columns {
        let replaced = columns.iter().any(|(other, more)| {
            other != e
                && !dropped.contains(other)
                && costs[*other] <= costs[*e]
                && column.iter().zip(more).all(|(a, b)| !a || *b)
        });
        if replaced {
            dropped.insert(*e);
            clauses.iter_mut().for_each(|c| {
                c.remove(e);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weakspot_core::testing::Rng;

    fn check(clauses: &[&[usize]], costs: &[u64], expected: Option<&[usize]>) {
        let clauses: Vec<Clause> = clauses.iter().map(|c| c.iter().copied().collect()).collect();
        let found = solve(&clauses, costs, &mut || true);
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn small_sets() {
        check(&[], &[1, 1], Some(&[]));
        check(&[&[0, 1], &[1, 2]], &[1, 1, 1], Some(&[1]));
        check(&[&[0, 1], &[1, 2]], &[1, 3, 1], Some(&[0, 2]));
        check(&[&[0, 1], &[2, 3]], &[1, 1, 1, 1], Some(&[0, 2]));
        check(&[&[0], &[]], &[1], None);
    }

    /// The answer is the first of the cheapest of all subsets.
    #[test]
    fn random_sets_agree_with_all_subsets() {
        for seed in 0..3_000 {
            let mut rng = Rng::new(seed);
            let n = 1 + rng.below(8);
            let costs: Vec<u64> = (0..n).map(|_| 1 + rng.below(3) as u64).collect();
            let clauses: Vec<Clause> = (0..rng.below(8))
                .map(|_| (0..1 + rng.below(4)).map(|_| rng.below(n)).collect())
                .collect();
            let all = (0..1_usize << n)
                .map(|bits| -> Vec<usize> { (0..n).filter(|e| bits >> e & 1 == 1).collect() });
            let expected = all
                .filter(|set| clauses.iter().all(|c| set.iter().any(|e| c.contains(e))))
                .min_by_key(|set| (set.iter().map(|&e| costs[e]).sum::<u64>(), set.clone()));
            let found = solve(&clauses, &costs, &mut || true);
            assert_eq!(found, expected, "seed {seed}: {clauses:?} {costs:?}");
        }
    }

    #[test]
    fn stops_when_told_to() {
        let clauses = [Clause::from([0, 1])];
        assert_eq!(solve(&clauses, &[1, 1], &mut || false), None);
    }
}
