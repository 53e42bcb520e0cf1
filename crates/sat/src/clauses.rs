//! The clauses of the solver in one array, and who watches which literal. The watched literals of
//! a clause are its first two.

use crate::proof::Lit;

/// Clauses, by the place where they start.
#[derive(Default)]
pub(crate) struct Clauses {
    /// Per clause its number in the proof, its length, its rank, and its literals.
    data: Vec<u32>,
    /// Per literal the clauses that watch it.
    watches: Vec<Vec<Watch>>,
    /// Where learned clauses begin, and how many there are.
    fixed: usize,
    learned: usize,
}

/// A clause that watches a literal; and another of its literals: if that is true, the clause needs
/// no look.
#[derive(Clone, Copy)]
pub(crate) struct Watch {
    pub(crate) clause: u32,
    pub(crate) other: Lit,
}

const ID: usize = 0;
const LENGTH: usize = 1;
const RANK: usize = 2;
const HEADER: usize = 3;

/// Clauses of this rank or below are never forgotten.
const KEPT: u32 = 2;

impl Clauses {
    /// Makes room for a new variable.
    pub(crate) fn grow(&mut self) {
        self.watches.extend([Vec::new(), Vec::new()]);
    }

    /// Adds a clause. One with a single literal is not watched.
    pub(crate) fn add(&mut self, lits: &[Lit], id: u32) -> u32 {
        self.push(lits, id, 0)
    }

    /// Adds a clause that may be forgotten, the sooner the higher its rank.
    pub(crate) fn learn(&mut self, lits: &[Lit], id: u32, rank: u32) -> u32 {
        self.learned += 1;
        self.push(lits, id, rank)
    }

    fn push(&mut self, lits: &[Lit], id: u32, rank: u32) -> u32 {
        let clause = self.data.len() as u32;
        self.data.extend([id, lits.len() as u32, rank]);
        self.data.extend(lits.iter().map(|lit| lit.index() as u32));
        if let [a, b, ..] = *lits {
            self.watches[a.index()].push(Watch { clause, other: b });
            self.watches[b.index()].push(Watch { clause, other: a });
        }
        clause
    }

    /// All clauses from here on are learned.
    pub(crate) fn fix(&mut self) {
        self.fixed = self.data.len();
    }

    pub(crate) fn learned(&self) -> usize {
        self.learned
    }

    /// The number of a clause in the proof.
    pub(crate) fn id(&self, clause: u32) -> u32 {
        self.data[clause as usize + ID]
    }

    pub(crate) fn lits(&self, clause: u32) -> impl Iterator<Item = Lit> + '_ {
        let start = clause as usize + HEADER;
        let length = self.data[clause as usize + LENGTH] as usize;
        self.data[start..start + length].iter().map(|&index| Lit::at(index))
    }

    pub(crate) fn take_watches(&mut self, lit: Lit) -> Vec<Watch> {
        std::mem::take(&mut self.watches[lit.index()])
    }

    pub(crate) fn put_watches(&mut self, lit: Lit, watches: Vec<Watch>) {
        self.watches[lit.index()] = watches;
    }

    /// Lets a clause watch another literal instead of one that became false. If all others but the
    /// first are false, too, gives the first.
    pub(crate) fn watch_other(
        &mut self,
        clause: u32,
        falsified: Lit,
        value: impl Fn(Lit) -> Option<bool>,
    ) -> Option<Lit> {
        let start = clause as usize + HEADER;
        let length = self.data[clause as usize + LENGTH] as usize;
        let lits = &mut self.data[start..start + length];
        if Lit::at(lits[0]) == falsified {
            lits.swap(0, 1);
        }
        let first = Lit::at(lits[0]);
        if value(first) == Some(true) {
            return Some(first);
        }
        let Some(at) = (2..length).find(|&at| value(Lit::at(lits[at])) != Some(false)) else {
            return Some(first);
        };
        lits.swap(1, at);
        self.watches[lits[1] as usize].push(Watch { clause, other: first });
        None
    }

    /// Forgets the worse half of the learned clauses. Clauses get new places.
    pub(crate) fn forget(&mut self) {
        let starts = self.starts();
        let mut ranks: Vec<(u32, u32)> = starts
            .iter()
            .map(|&clause| (self.data[clause + RANK], u32::MAX - clause as u32))
            .filter(|&(rank, _)| rank > KEPT)
            .collect();
        ranks.sort_unstable();
        let worse = ranks.get(ranks.len() / 2).copied().unwrap_or((u32::MAX, u32::MAX));
        for watches in &mut self.watches {
            watches.retain(|watch| (watch.clause as usize) < self.fixed);
        }
        let old = self.data.split_off(self.fixed);
        self.learned = 0;
        for clause in starts {
            let at = clause - self.fixed;
            let rank = old[at + RANK];
            if rank > KEPT && (rank, u32::MAX - clause as u32) >= worse {
                continue;
            }
            let lits = &old[at + HEADER..][..old[at + LENGTH] as usize];
            let lits: Vec<Lit> = lits.iter().map(|&index| Lit::at(index)).collect();
            if lits.len() > 1 {
                self.learn(&lits, old[at + ID], rank);
            }
        }
    }

    /// Where the learned clauses start.
    fn starts(&self) -> Vec<usize> {
        let mut starts = Vec::with_capacity(self.learned);
        let mut at = self.fixed;
        while at < self.data.len() {
            starts.push(at);
            at += HEADER + self.data[at + LENGTH] as usize;
        }
        starts
    }

    pub(crate) fn bytes(&self) -> u64 {
        // The lists of watches double when they grow.
        let watches: usize = self.watches.len() * 24 + self.data.len() / 5 * 2 * 12;
        (self.data.capacity() * 4 + watches) as u64
    }
}
