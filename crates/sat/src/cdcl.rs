//! A SAT solver that learns clauses from conflicts (CDCL; Marques-Silva and Sakallah, 1999, with
//! the watched literals and activities of Chaff and the clause minimisation of MiniSat), and
//! records why each learned clause follows, so that a refutation is an LRAT proof.
//!
//! A [`Theory`] hears of every literal that becomes true. It may object with a clause, imply other
//! literals, which it explains only when a conflict needs to know, and ask for new variables when
//! all have values. Its clauses are given ones to the proof, but may be forgotten like learned
//! ones.
//!
//! Cost: exponential; bounded by the limits only.

use weakspot_core::Limit;

use crate::clauses::{Clauses, Watch};
use crate::heap::Heap;
use crate::meter::Meter;
use crate::proof::{Lit, Proof};

/// What literals mean.
pub trait Theory {
    /// A literal became true. Adds to `implied` what follows, or says which clause is now false.
    fn assign(&mut self, lit: Lit, implied: &mut Vec<Lit>) -> Result<(), Vec<Lit>>;

    /// Only the first `count` of the literals that became true are still true.
    fn retract(&mut self, count: usize);

    /// The clause that makes the literal, which comes first in it, follow from the first `count`.
    fn explain(&mut self, lit: Lit, count: usize) -> Vec<Lit>;

    /// All variables have values: whether that is a solution (0), or how many variables to add.
    fn complete(&mut self) -> usize;

    /// The value that a variable is to try; `saved` is the one that it had last.
    fn first_value(&mut self, var: usize, saved: Option<bool>) -> bool;

    /// The work that was done since the last time.
    fn take_work(&mut self) -> u64;

    /// The bytes in use.
    fn bytes(&self) -> u64;
}

/// Clauses without further meaning; and the bytes of whatever else is in memory.
pub struct NoTheory(pub u64);

impl Theory for NoTheory {
    fn assign(&mut self, _: Lit, _: &mut Vec<Lit>) -> Result<(), Vec<Lit>> {
        Ok(())
    }

    fn retract(&mut self, _: usize) {}

    fn explain(&mut self, lit: Lit, _: usize) -> Vec<Lit> {
        vec![lit]
    }

    fn complete(&mut self) -> usize {
        0
    }

    fn first_value(&mut self, _: usize, saved: Option<bool>) -> bool {
        saved.unwrap_or(false)
    }

    fn take_work(&mut self) -> u64 {
        0
    }

    fn bytes(&self) -> u64 {
        self.0
    }
}

/// A solver.
pub struct Solver {
    clauses: Clauses,
    /// Per literal.
    values: Vec<Option<bool>>,
    vars: Vec<Var>,
    heap: Heap,
    trail: Vec<Lit>,
    /// Per decision the length of the trail before it.
    levels: Vec<usize>,
    /// Literals that follow from nothing, but are not yet among those of level 0, and their
    /// clauses.
    units: Vec<(Lit, u32)>,
    /// How much of the trail was propagated, and how much the theory has heard of.
    propagated: usize,
    theory_head: usize,
    /// `None` when nobody wants a proof.
    proof: Option<Proof>,
    /// Whether the clauses are contradictory without a search.
    contradiction: bool,
    seen: Vec<bool>,
    work: u64,
}

#[derive(Clone, Copy)]
struct Var {
    level: u32,
    position: u32,
    reason: Reason,
    /// The value that it had last.
    saved: Option<bool>,
    /// At level 0 the clause that has only this literal.
    unit: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    Decision,
    Clause(u32),
    /// The theory, when it had heard of so many literals.
    Theory(u32),
}

/// Conflicts between two restarts, times Luby's sequence.
const RESTART: u64 = 100;
/// Learned clauses after which half of them are forgotten for the first time, and how many more
/// each time after.
const FORGET: usize = 2000;

/// The propagation met a clause that is false.
enum Conflict {
    Clause(u32),
    Theory(Vec<Lit>),
}

impl Solver {
    /// A solver without variables.
    #[must_use]
    pub fn new(with_proof: bool) -> Solver {
        Solver {
            clauses: Clauses::default(),
            values: Vec::new(),
            vars: Vec::new(),
            heap: Heap::new(),
            trail: Vec::new(),
            levels: Vec::new(),
            units: Vec::new(),
            propagated: 0,
            theory_head: 0,
            proof: with_proof.then(Proof::default),
            contradiction: false,
            seen: Vec::new(),
            work: 0,
        }
    }

    /// Adds variables.
    pub fn grow(&mut self, count: usize) {
        for _ in 0..count {
            self.values.extend([None, None]);
            let reason = Reason::Decision;
            self.vars.push(Var { level: 0, position: 0, reason, saved: None, unit: 0 });
            self.heap.grow();
            self.clauses.grow();
            self.seen.push(false);
        }
    }

    /// Adds a clause of different literals, before the search.
    pub fn add(&mut self, lits: &[Lit]) {
        if self.contradiction {
            return;
        }
        let id = self.proof.as_mut().map_or(0, |proof| proof.given(lits));
        let clause = self.clauses.add(lits, id);
        match *lits {
            [] => self.contradiction = true,
            [lit] => match self.value(lit) {
                None => self.enqueue(lit, Reason::Clause(clause)),
                Some(true) => {}
                Some(false) => {
                    self.learn(&[], clause);
                    self.contradiction = true;
                }
            },
            _ => {}
        }
    }

    /// How many variables there are.
    #[must_use]
    pub fn vars(&self) -> usize {
        self.vars.len()
    }

    /// Looks for values that make all clauses true and satisfy the theory; whether there are any.
    pub fn solve(&mut self, theory: &mut dyn Theory, meter: &mut Meter<'_>) -> Result<bool, Limit> {
        Ok(self.solve_within(u64::MAX, theory, meter)?.unwrap_or(false))
    }

    /// The same, but gives up after so many units of work, with `None`.
    pub fn solve_within(
        &mut self,
        most: u64,
        theory: &mut dyn Theory,
        meter: &mut Meter<'_>,
    ) -> Result<Option<bool>, Limit> {
        self.clauses.fix();
        let (mut restarts, mut conflicts, mut forget) = (1, 0, FORGET);
        let mut left = most;
        loop {
            if self.contradiction {
                return Ok(Some(false));
            }
            let work = std::mem::take(&mut self.work) + theory.take_work() + 1;
            meter.work(work, || self.bytes() + theory.bytes())?;
            let Some(rest) = left.checked_sub(work) else { return Ok(None) };
            left = rest;
            if let Err(conflict) = self.propagate(theory) {
                conflicts += 1;
                if !self.resolve(conflict, theory) {
                    return Ok(Some(false));
                }
                self.heap.decay();
                continue;
            }
            if conflicts >= RESTART * luby(restarts) {
                restarts += 1;
                conflicts = 0;
                self.backtrack(0, theory);
                self.enqueue_units();
                if self.clauses.learned() > forget {
                    forget += FORGET / 4;
                    self.forget();
                }
                continue;
            }
            if !self.decide(theory) {
                match theory.complete() {
                    0 => return Ok(Some(true)),
                    more => self.grow(more),
                }
            }
        }
    }

    /// The value of a variable in the solution.
    #[must_use]
    pub fn value(&self, lit: Lit) -> Option<bool> {
        self.values[lit.index()]
    }

    /// What was derived.
    #[must_use]
    pub fn proof(self) -> Proof {
        self.proof.unwrap_or_default()
    }

    /// The bytes in use, about.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let proof = self.proof.as_ref().map_or(0, Proof::bytes);
        self.clauses.bytes() + proof + (self.vars.capacity() * (size_of::<Var>() + 96)) as u64
    }

    fn decide(&mut self, theory: &mut dyn Theory) -> bool {
        while let Some(var) = self.heap.pop() {
            if self.value(Lit::new(var, true)).is_none() {
                let saved = self.vars[var as usize].saved;
                let lit = Lit::new(var, theory.first_value(var as usize, saved));
                self.levels.push(self.trail.len());
                self.enqueue(lit, Reason::Decision);
                return true;
            }
        }
        false
    }

    /// Makes a literal true that has no value.
    fn enqueue(&mut self, lit: Lit, reason: Reason) {
        let level = self.levels.len() as u32;
        self.values[lit.index()] = Some(true);
        self.values[(!lit).index()] = Some(false);
        let position = self.trail.len() as u32;
        let var = &mut self.vars[lit.var()];
        *var = Var { level, position, reason, ..*var };
        self.trail.push(lit);
        if let (0, Reason::Clause(clause)) = (level, reason) {
            self.vars[lit.var()].unit = self.unit(lit, clause);
        }
    }

    /// The clause of a literal alone, from one that has no other literals but false ones.
    fn unit(&mut self, lit: Lit, clause: u32) -> u32 {
        let id = self.clauses.id(clause);
        let Some(proof) = &mut self.proof else { return 0 };
        let others = self.clauses.lits(clause).filter(|&other| other != lit);
        let mut hints: Vec<u32> = others.map(|other| self.vars[other.var()].unit).collect();
        if hints.is_empty() {
            return id;
        }
        hints.push(id);
        proof.derived(&[lit], &hints)
    }

    fn propagate(&mut self, theory: &mut dyn Theory) -> Result<(), Conflict> {
        loop {
            while let Some(&lit) = self.trail.get(self.propagated) {
                self.propagated += 1;
                self.propagate_one(!lit)?;
            }
            let Some(&lit) = self.trail.get(self.theory_head) else { return Ok(()) };
            self.theory_head += 1;
            let mut implied = Vec::new();
            theory.assign(lit, &mut implied).map_err(Conflict::Theory)?;
            for lit in implied {
                if self.value(lit).is_none() {
                    self.enqueue(lit, Reason::Theory(self.theory_head as u32));
                    if self.levels.is_empty() {
                        let clause = self.reason(lit, theory);
                        self.vars[lit.var()].unit = self.unit(lit, clause);
                    }
                }
            }
        }
    }

    /// Looks at the clauses that watch a literal which became false.
    fn propagate_one(&mut self, falsified: Lit) -> Result<(), Conflict> {
        let mut watches = self.clauses.take_watches(falsified);
        self.work += 1 + watches.len() as u64;
        let (mut kept, mut conflict) = (0, None);
        for at in 0..watches.len() {
            let Watch { clause, other } = watches[at];
            if conflict.is_some() || self.values[other.index()] == Some(true) {
                watches[kept] = watches[at];
                kept += 1;
                continue;
            }
            let values = &self.values;
            match self.clauses.watch_other(clause, falsified, |lit| values[lit.index()]) {
                None => {}
                Some(first) => {
                    watches[kept] = Watch { clause, other: first };
                    kept += 1;
                    match self.values[first.index()] {
                        Some(true) => {}
                        Some(false) => conflict = Some(clause),
                        None => self.enqueue(first, Reason::Clause(clause)),
                    }
                }
            }
        }
        watches.truncate(kept);
        self.clauses.put_watches(falsified, watches);
        conflict.map_or(Ok(()), |clause| Err(Conflict::Clause(clause)))
    }

    /// Learns from a conflict and goes back to where what was learned makes a difference; false
    /// when nothing is left to change.
    fn resolve(&mut self, conflict: Conflict, theory: &mut dyn Theory) -> bool {
        let clause = match conflict {
            Conflict::Clause(clause) => clause,
            Conflict::Theory(mut lits) => {
                // The two that were assigned last are to be watched.
                let latest = |lit: &Lit| std::cmp::Reverse(self.vars[lit.var()].position);
                lits.sort_unstable_by_key(latest);
                lits.dedup();
                let level = |lit: &Lit| self.vars[lit.var()].level as usize;
                let (top, next) = (lits.first().map_or(0, level), lits.get(1).map_or(0, level));
                let id = self.proof.as_mut().map_or(0, |proof| proof.given(&lits));
                if lits.is_empty() {
                    return false;
                }
                let rank = lits.len() as u32;
                let clause = self.clauses.learn(&lits, id, rank);
                if next < top || lits.len() == 1 && top > 0 {
                    self.assert(&lits, clause, next, theory);
                    return true;
                }
                self.backtrack(top, theory);
                clause
            }
        };
        if self.levels.is_empty() {
            self.learn(&[], clause);
            return false;
        }
        let lits = self.analyse(clause, theory);
        let id = self.learn(&lits, clause);
        let level = |lit: &Lit| self.vars[lit.var()].level;
        let mut levels: Vec<u32> = lits.iter().map(level).collect();
        let next = levels.get(1).copied().unwrap_or(0);
        levels.sort_unstable();
        levels.dedup();
        let learned = self.clauses.learn(&lits, id, levels.len() as u32);
        self.assert(&lits, learned, next as usize, theory);
        true
    }

    /// Goes back to level `next`, where a clause makes its first literal true. If the literal
    /// follows from nothing, that is level 0; then only the last decision is withdrawn, because
    /// all others would be made again, and level 0 hears of the literal later.
    fn assert(&mut self, lits: &[Lit], clause: u32, next: usize, theory: &mut dyn Theory) {
        match *lits {
            [lit] if self.levels.len() > 1 => {
                self.units.push((lit, clause));
                self.backtrack((self.vars[lit.var()].level as usize).saturating_sub(1), theory);
            }
            _ => self.backtrack(next, theory),
        }
        self.enqueue(lits[0], Reason::Clause(clause));
        self.enqueue_units();
    }

    /// Makes those literals true again that follow from nothing.
    fn enqueue_units(&mut self) {
        for at in 0..self.units.len() {
            let (lit, clause) = self.units[at];
            match self.value(lit) {
                None => self.enqueue(lit, Reason::Clause(clause)),
                Some(false) if self.levels.is_empty() => {
                    self.learn(&[], clause);
                    self.contradiction = true;
                }
                Some(_) => {}
            }
        }
        if self.levels.is_empty() {
            self.units.clear();
        }
    }

    /// The clause to learn: the first that has one literal of the current level only. That literal
    /// comes first, then one of the level to go back to.
    fn analyse(&mut self, conflict: u32, theory: &mut dyn Theory) -> Vec<Lit> {
        let current = self.levels.len() as u32;
        let mut learned = Vec::new();
        let (mut open, mut at, mut clause) = (0, self.trail.len(), conflict);
        let mut resolved: Option<Lit> = None;
        loop {
            for lit in self.clauses.lits(clause).filter(|&lit| Some(lit) != resolved) {
                let var = lit.var();
                if self.seen[var] || self.vars[var].level == 0 {
                    continue;
                }
                self.seen[var] = true;
                self.heap.bump(var);
                if self.vars[var].level == current {
                    open += 1;
                } else {
                    learned.push(lit);
                }
            }
            at = (0..at).rev().find(|&at| self.seen[self.trail[at].var()]).unwrap_or(0);
            let lit = self.trail[at];
            self.seen[lit.var()] = false;
            open -= 1;
            if open <= 0 {
                learned.insert(0, !lit);
                break;
            }
            clause = self.reason(lit, theory);
            resolved = Some(lit);
        }
        let marked = learned[1..].to_vec();
        let mut extra = Vec::new();
        let mut at = 1;
        while at < learned.len() {
            match self.is_redundant(learned[at], &mut extra) {
                true => drop(learned.swap_remove(at)),
                false => at += 1,
            }
        }
        for lit in marked.into_iter().chain(extra) {
            self.seen[lit.var()] = false;
        }
        let level = |lit: &Lit| self.vars[lit.var()].level;
        if let Some(last) = (1..learned.len()).max_by_key(|&at| level(&learned[at])) {
            learned.swap(1, last);
        }
        learned
    }

    /// Whether a literal of the learned clause follows from others that are seen; then what it
    /// follows from is seen as well.
    fn is_redundant(&mut self, lit: Lit, marked: &mut Vec<Lit>) -> bool {
        let before = marked.len();
        let mut stack = vec![lit];
        while let Some(lit) = stack.pop() {
            let reason = self.vars[lit.var()].reason;
            let Reason::Clause(clause) = reason else {
                for lit in marked.drain(before..) {
                    self.seen[lit.var()] = false;
                }
                return false;
            };
            for other in self.clauses.lits(clause).filter(|other| other.var() != lit.var()) {
                if !self.seen[other.var()] && self.vars[other.var()].level > 0 {
                    self.seen[other.var()] = true;
                    marked.push(other);
                    stack.push(other);
                }
            }
        }
        true
    }

    /// Records a learned clause. Its hints are the reasons of all that is between the conflict and
    /// the clause, in the order in which it happened.
    fn learn(&mut self, lits: &[Lit], conflict: u32) -> u32 {
        let Some(proof) = &mut self.proof else { return 0 };
        let mut marked: Vec<usize> = lits.iter().map(|lit| lit.var()).collect();
        marked.iter().for_each(|&var| self.seen[var] = true);
        let (mut hints, mut reasons) = (Vec::new(), Vec::new());
        let mut stack = vec![conflict];
        while let Some(clause) = stack.pop() {
            for lit in self.clauses.lits(clause) {
                if self.seen[lit.var()] {
                    continue;
                }
                self.seen[lit.var()] = true;
                marked.push(lit.var());
                match self.vars[lit.var()] {
                    Var { level: 0, unit, .. } => hints.push(unit),
                    Var { reason: Reason::Clause(clause), position, .. } => {
                        reasons.push((position, self.clauses.id(clause)));
                        stack.push(clause);
                    }
                    _ => {}
                }
            }
        }
        marked.iter().for_each(|&var| self.seen[var] = false);
        reasons.sort_unstable();
        hints.extend(reasons.into_iter().map(|(_, id)| id));
        hints.push(self.clauses.id(conflict));
        proof.derived(lits, &hints)
    }

    /// The clause that made a literal true that was not decided.
    fn reason(&mut self, lit: Lit, theory: &mut dyn Theory) -> u32 {
        match self.vars[lit.var()].reason {
            Reason::Clause(clause) => clause,
            Reason::Decision => unreachable!("a decision has no reason"),
            Reason::Theory(theory_head) => {
                let mut lits = theory.explain(lit, theory_head as usize);
                let position = |lit: &Lit| std::cmp::Reverse(self.vars[lit.var()].position);
                lits[1..].sort_unstable_by_key(position);
                let id = self.proof.as_mut().map_or(0, |proof| proof.given(&lits));
                let clause = self.clauses.learn(&lits, id, lits.len() as u32);
                self.vars[lit.var()].reason = Reason::Clause(clause);
                clause
            }
        }
    }

    fn backtrack(&mut self, level: usize, theory: &mut dyn Theory) {
        let Some(&length) = self.levels.get(level) else { return };
        for lit in self.trail.drain(length..) {
            self.values[lit.index()] = None;
            self.values[(!lit).index()] = None;
            self.vars[lit.var()].saved = Some(lit.is_positive());
            self.heap.insert(lit.var() as u32);
        }
        self.levels.truncate(level);
        self.propagated = self.propagated.min(length);
        if self.theory_head > length {
            self.theory_head = length;
            theory.retract(length);
        }
    }

    /// Forgets half of the learned clauses. Only at level 0, where reasons are not needed: the
    /// literals have clauses of their own.
    fn forget(&mut self) {
        for lit in &self.trail {
            self.vars[lit.var()].reason = Reason::Decision;
        }
        self.clauses.forget();
    }
}

/// The sequence 1 1 2 1 1 2 4 1 1 2 ... of Luby, Sinclair and Zuckerman, from 1 on.
fn luby(mut i: u64) -> u64 {
    loop {
        let size = (i + 1).next_power_of_two();
        if size == i + 1 {
            return size / 2;
        }
        i -= size / 2 - 1;
    }
}
