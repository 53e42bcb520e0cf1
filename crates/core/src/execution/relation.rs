//! Small binary relations over `0..n` as bit matrices.

/// A binary relation over `0..n`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relation {
    n: usize,
    words: usize,
    rows: Vec<u64>,
}

impl Relation {
    pub(crate) fn empty(n: usize) -> Relation {
        let words = n.div_ceil(64);
        Relation { n, words, rows: vec![0; n * words] }
    }

    pub(crate) fn insert(&mut self, from: usize, to: usize) {
        self.rows[from * self.words + to / 64] |= 1 << (to % 64);
    }

    pub(crate) fn contains(&self, from: usize, to: usize) -> bool {
        self.rows[from * self.words + to / 64] & (1 << (to % 64)) != 0
    }

    pub(crate) fn len(&self) -> usize {
        self.n
    }

    /// What is in either relation.
    pub(crate) fn union(mut self, other: &Relation) -> Relation {
        for (word, more) in self.rows.iter_mut().zip(&other.rows) {
            *word |= more;
        }
        self
    }

    /// The smallest transitive relation with all pairs of this one.
    pub(crate) fn closure(mut self) -> Relation {
        for middle in 0..self.n {
            let through = self.row(middle).to_vec();
            for from in 0..self.n {
                if self.contains(from, middle) {
                    let row = &mut self.rows[from * self.words..(from + 1) * self.words];
                    for (word, more) in row.iter_mut().zip(&through) {
                        *word |= more;
                    }
                }
            }
        }
        self
    }

    /// The pairs with this property.
    pub(crate) fn filter(&self, keep: impl Fn(usize, usize) -> bool) -> Relation {
        let mut kept = Relation::empty(self.n);
        for (from, to) in self.pairs() {
            if keep(from, to) {
                kept.insert(from, to);
            }
        }
        kept
    }

    pub(crate) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.n).flat_map(|from| ones(self.row(from)).map(move |to| (from, to)))
    }

    /// A shortest cycle, as the elements on it in order, or `None` if there is no cycle.
    pub(crate) fn shortest_cycle(&self) -> Option<Vec<usize>> {
        if self.is_acyclic() {
            return None;
        }
        (0..self.n).filter_map(|start| self.cycle_through(start)).min_by_key(Vec::len)
    }

    /// Whether repeated removal of elements without a predecessor empties the relation.
    pub(crate) fn is_acyclic(&self) -> bool {
        let mut before = vec![0_usize; self.n];
        for (_, to) in self.pairs() {
            before[to] += 1;
        }
        let mut free: Vec<usize> = (0..self.n).filter(|&i| before[i] == 0).collect();
        let mut removed = 0;
        while let Some(i) = free.pop() {
            removed += 1;
            for to in ones(self.row(i)) {
                before[to] -= 1;
                if before[to] == 0 {
                    free.push(to);
                }
            }
        }
        removed == self.n
    }

    fn cycle_through(&self, start: usize) -> Option<Vec<usize>> {
        let mut parent = vec![usize::MAX; self.n];
        // What was not come to yet, so that each element is looked at once and not from each predecessor.
        let mut unseen = vec![u64::MAX; self.words];
        unseen[start / 64] &= !(1 << (start % 64));
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some(i) = queue.pop_front() {
            if self.contains(i, start) {
                let mut path = vec![i];
                while path[path.len() - 1] != start {
                    path.push(parent[path[path.len() - 1]]);
                }
                path.reverse();
                return Some(path);
            }
            let new = self.row(i).iter().zip(&unseen).map(|(to, unseen)| to & unseen);
            let new: Vec<u64> = new.collect();
            for j in ones(&new) {
                unseen[j / 64] &= !(1 << (j % 64));
                parent[j] = i;
                queue.push_back(j);
            }
        }
        None
    }

    fn row(&self, i: usize) -> &[u64] {
        &self.rows[i * self.words..(i + 1) * self.words]
    }
}

fn ones(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(w, &bits)| {
        let mut rest = bits;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let bit = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            Some(w * 64 + bit)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(edges: &[(usize, usize)], expect: Option<usize>) {
        let mut r = Relation::empty(70);
        for &(a, b) in edges {
            r.insert(a, b);
        }
        assert_eq!(r.is_acyclic(), expect.is_none());
        let cycle = r.shortest_cycle();
        assert_eq!(cycle.as_ref().map(Vec::len), expect);
        if let Some(c) = cycle {
            for i in 0..c.len() {
                assert!(r.contains(c[i], c[(i + 1) % c.len()]));
            }
        }
    }

    #[test]
    fn unions_and_closures() {
        let mut a = Relation::empty(70);
        let mut b = Relation::empty(70);
        a.insert(0, 69);
        b.insert(69, 1);
        b.insert(1, 2);
        let all = a.clone().union(&b).closure();
        let pairs: Vec<_> = all.pairs().collect();
        assert_eq!(pairs, [(0, 1), (0, 2), (0, 69), (1, 2), (69, 1), (69, 2)]);
        assert_eq!(all.filter(|from, to| from == 0 && to == 69), a);
        assert_eq!(all.len(), 70);
    }

    #[test]
    fn cycles() {
        check(&[], None);
        check(&[(0, 1), (1, 2), (0, 69)], None);
        check(&[(0, 1), (1, 0)], Some(2));
        check(&[(3, 3)], Some(1));
        check(&[(0, 1), (1, 69), (69, 2), (2, 0), (69, 1)], Some(2));
    }
}
