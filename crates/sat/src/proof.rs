//! Literals, and the record of what a solver derives from which clauses: at the end the part of it
//! that leads to the empty clause is an LRAT proof.

use weakspot_core::LratStep;

/// A variable or its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lit(u32);

impl Lit {
    /// The literal that says that the variable has this value.
    #[must_use]
    pub fn new(var: u32, value: bool) -> Lit {
        Lit(var << 1 | u32::from(!value))
    }

    /// Its variable.
    #[must_use]
    pub fn var(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// Whether it is a variable, not the negation of one.
    #[must_use]
    pub fn is_positive(self) -> bool {
        self.0 & 1 == 0
    }

    /// A number from 0 to twice the number of variables.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The literal with this number.
    #[must_use]
    pub fn at(index: u32) -> Lit {
        Lit(index)
    }

    /// The literal as proofs write it.
    #[must_use]
    pub fn number(self) -> i32 {
        let number = self.var() as i32 + 1;
        if self.is_positive() { number } else { -number }
    }
}

impl std::ops::Not for Lit {
    type Output = Lit;

    fn not(self) -> Lit {
        Lit(self.0 ^ 1)
    }
}

/// Clauses by number: given ones, and those derived from others.
#[derive(Default)]
pub struct Proof {
    entries: Vec<Entry>,
    /// The literals and then the hints of all entries.
    data: Vec<u32>,
}

struct Entry {
    start: usize,
    lits: u32,
    /// None for given clauses.
    hints: u32,
}

/// Clauses that contradict each other, and the proof of that.
pub struct Refutation {
    /// The given clauses that the proof uses; they have the numbers 1, 2, ...
    pub clauses: Vec<Vec<Lit>>,
    /// The proof.
    pub steps: Vec<LratStep>,
}

impl Proof {
    /// Records a given clause.
    pub fn given(&mut self, clause: &[Lit]) -> u32 {
        self.derived(clause, &[])
    }

    /// Records a clause that follows from the hints, in the order in which they become unit.
    pub fn derived(&mut self, clause: &[Lit], hints: &[u32]) -> u32 {
        let (start, id) = (self.data.len(), self.entries.len() as u32);
        self.data.extend(clause.iter().map(|lit| lit.0));
        self.data.extend_from_slice(hints);
        self.entries.push(Entry { start, lits: clause.len() as u32, hints: hints.len() as u32 });
        id
    }

    fn lits(&self, id: u32) -> impl Iterator<Item = Lit> + '_ {
        let Entry { start, lits, .. } = self.entries[id as usize];
        self.data[start..start + lits as usize].iter().copied().map(Lit)
    }

    fn hints(&self, id: u32) -> &[u32] {
        let Entry { start, lits, hints } = self.entries[id as usize];
        &self.data[start + lits as usize..][..hints as usize]
    }

    /// The refutation, if the last clause is empty: only what it needs, each clause deleted after
    /// its last use.
    #[must_use]
    pub fn refutation(&self) -> Refutation {
        let last = (self.entries.len() as u32).saturating_sub(1);
        // Per clause who uses it last; itself if nobody does.
        let mut last_use = vec![u32::MAX; self.entries.len()];
        last_use[last as usize..].fill(last);
        for id in (0..=last).rev().filter(|&id| (id as usize) < self.entries.len()) {
            if last_use[id as usize] == u32::MAX {
                continue;
            }
            for &hint in self.hints(id) {
                let by = &mut last_use[hint as usize];
                *by = if *by == u32::MAX { id } else { *by };
            }
        }
        let used = |&id: &u32| last_use[id as usize] != u32::MAX;
        let ids = || (0..self.entries.len() as u32).filter(used);
        let is_given = |id: &u32| self.entries[*id as usize].hints == 0;
        let mut names = vec![0u64; self.entries.len()];
        let order = ids().filter(is_given).chain(ids().filter(|id| !is_given(id)));
        for (name, id) in order.enumerate() {
            names[id as usize] = name as u64 + 1;
        }
        let mut steps = Vec::new();
        for id in ids().filter(|id| !is_given(id)) {
            let hints = self.hints(id);
            steps.push(LratStep::Add {
                id: names[id as usize],
                clause: self.lits(id).map(Lit::number).collect(),
                hints: hints.iter().map(|&hint| names[hint as usize]).collect(),
            });
            let mut done: Vec<u64> = hints
                .iter()
                .filter(|&&hint| last_use[hint as usize] == id)
                .map(|&hint| names[hint as usize])
                .collect();
            done.sort_unstable();
            done.dedup();
            if id != last && !done.is_empty() {
                steps.push(LratStep::Delete { ids: done });
            }
        }
        let clauses = ids().filter(is_given).map(|id| self.lits(id).collect()).collect();
        Refutation { clauses, steps }
    }

    /// The bytes in use, about.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.data.capacity() * 4 + self.entries.capacity() * size_of::<Entry>()) as u64
    }
}
