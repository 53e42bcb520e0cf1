//! Why no run of a program ends with certain values, by definition: of all candidate executions
//! that end with them (each read takes its value from some write of that value, the writes to each
//! location are in some order) none satisfies the axioms of the model.
//!
//! This is brute force, for programs of the size that people ask such questions about.

use std::collections::BTreeSet;

use crate::axioms::{self, Axiom};
use crate::cycle::{Arc, Link, arcs_of, sc_cycle};
use crate::evidence::reference::{
    Bound, Extent, combinations, for_each_combination, for_each_execution, observe, thread_runs,
};
use crate::{Execution, Model, Observable, PointId, Program, ThreadId, Value};

/// Why no run ends with certain values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyNot {
    /// There are candidate executions, and each has a cycle.
    Cycle(Box<Forbidden>),
    /// Whatever the memory does, the threads do not compute these values.
    NoCandidate {
        /// Which of the values that were asked for: none of them can be left out. One that is there twice was asked for with two
        /// values.
        components: Vec<usize>,
        /// If it is one value, those that there are instead.
        instead: BTreeSet<Value>,
    },
}

/// A candidate execution that the model forbids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forbidden {
    /// The execution. Of those that are coherent, if there are some, it is one with a shortest cycle.
    pub execution: Execution,
    /// For each event the instruction: where it leaves from, and which edge it is there.
    pub edges: Vec<(PointId, usize)>,
    /// The axiom that it breaks.
    pub axiom: Axiom,
    /// The cycle that shows it.
    pub cycle: Vec<Arc>,
    /// How many candidate executions end with these values.
    pub candidates: usize,
    /// How many of these are not even coherent.
    pub incoherent: usize,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoReason {
    /// There are too many candidate executions, or the program has loops, several initial values, or
    /// accesses to places that it does not declare.
    TooLarge,
    /// The axioms allow an execution that ends with these values.
    Allowed,
}

/// Why no run of `program` under `model` ends with `wanted`: observed components, by their indices,
/// and their values. `go_on` hears how much work is about to be done and says whether to go on.
///
/// # Errors
///
/// If there is no such reason, or if it is too much work to find it.
pub fn why_not(
    program: &Program,
    model: Model,
    wanted: &[(usize, Value)],
    max_candidates: usize,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<WhyNot, NoReason> {
    if program.locs.iter().any(|l| l.init.len() != 1)
        || wanted.iter().any(|&(c, _)| c >= program.observed.len())
    {
        return Err(NoReason::TooLarge);
    }
    let other = |&(c, value): &(usize, Value)| wanted.iter().any(|w| w.0 == c && w.1 != value);
    if let Some(&(c, _)) = wanted.iter().find(|w| other(w)) {
        return Ok(WhyNot::NoCandidate { components: vec![c, c], instead: BTreeSet::new() });
    }
    let mut bound = Bound { extent: Extent::Whole, max: max_candidates, go_on };
    let runs = thread_runs(program, &mut bound).ok_or(NoReason::TooLarge)?;
    let choices = combinations(&runs).ok_or(NoReason::TooLarge)?;
    if choices > max_candidates.saturating_mul(100) {
        return Err(NoReason::TooLarge);
    }
    let mut best: Option<Forbidden> = None;
    let (mut looked_at, mut candidates, mut incoherent) = (0, 0, 0);
    let mut allowed = false;
    let done = for_each_combination(&runs, &mut |combination| {
        // Registers are known before memory is; most combinations fail here.
        let fits = |&(c, value): &(usize, Value)| {
            let observed = &program.observed[c];
            match observed.what {
                Observable::Reg(t, r) => {
                    observed.view.apply(combination[ThreadId::index(t)].regs[r.index()]) == value
                }
                Observable::Loc(_) => true,
            }
        };
        if !wanted.iter().all(fits) {
            return (bound.go_on)(1);
        }
        for_each_execution(program, combination, &mut |execution| {
            looked_at += 1;
            let events = execution.events.len() as u64;
            if looked_at > max_candidates || !(bound.go_on)(1 + events * events / 16) {
                return false;
            }
            let outcome = observe(program, combination, execution);
            if wanted.iter().any(|&(c, value)| outcome[c] != value) {
                return true;
            }
            candidates += 1;
            let Err(broken) = axioms::check(model, execution) else {
                allowed = true;
                return false;
            };
            incoherent += usize::from(broken.axiom == Axiom::Coherence);
            // An execution that is not coherent says little about the model.
            let rank = |axiom, length| (axiom == Axiom::Coherence, length);
            let is_better = best.as_ref().is_none_or(|best| {
                rank(broken.axiom, broken.cycle.len()) < rank(best.axiom, best.length())
            });
            if is_better {
                let plain = (broken.axiom == Axiom::Sc).then(|| sc_cycle(execution)).flatten();
                if let Some(cycle) = plain.or_else(|| arcs_of(execution, &broken.cycle)) {
                    let edges = combination.iter().flat_map(|run| run.edges.iter().copied());
                    best = Some(Forbidden {
                        execution: execution.clone(),
                        edges: edges.collect(),
                        axiom: broken.axiom,
                        cycle,
                        candidates: 0,
                        incoherent: 0,
                    });
                }
            }
            true
        })
    });
    if allowed {
        return Err(NoReason::Allowed);
    }
    if !done {
        return Err(NoReason::TooLarge);
    }
    if let Some(best) = best {
        return Ok(WhyNot::Cycle(Box::new(Forbidden { candidates, incoherent, ..best })));
    }
    // What the threads compute together, of what was asked for.
    let mut computed: BTreeSet<Vec<Value>> = BTreeSet::new();
    let done = for_each_combination(&runs, &mut |combination| {
        for_each_execution(program, combination, &mut |execution| {
            looked_at += 1;
            let outcome = observe(program, combination, execution);
            computed.insert(wanted.iter().map(|&(c, _)| outcome[c]).collect());
            looked_at <= max_candidates && (bound.go_on)(1)
        }) && (bound.go_on)(1)
    });
    match done && candidates == 0 {
        true => Ok(no_candidate(wanted, &computed)),
        false => Err(NoReason::TooLarge),
    }
}

impl Forbidden {
    /// The events on the cycle; those of an atomic block count as one.
    #[must_use]
    pub fn length(&self) -> usize {
        self.cycle.iter().filter(|arc| arc.link != Link::Block).count()
    }

    /// Whether this is a cycle of a relation that `model` wants to be acyclic.
    #[must_use]
    pub fn is_cycle_of(&self, model: Model) -> bool {
        let next = self.cycle.iter().cycle().skip(1);
        let steps: Vec<_> = self.cycle.iter().map(|arc| (arc.from, arc.to)).collect();
        self.cycle.iter().zip(next).all(|(arc, next)| arc.to == next.from)
            && axioms::has_cycle(model, &self.execution, self.axiom, &steps)
    }
}

/// The fewest of the values that do not occur together: one after the other is left out, if it can be.
fn no_candidate(wanted: &[(usize, Value)], computed: &BTreeSet<Vec<Value>>) -> WhyNot {
    let absent =
        |kept: &[usize]| computed.iter().all(|row| kept.iter().any(|&i| row[i] != wanted[i].1));
    let single = (0..wanted.len()).find(|&i| absent(&[i]));
    let mut kept: Vec<usize> = (0..wanted.len()).collect();
    match single {
        Some(i) => kept = vec![i],
        None => {
            for i in (0..wanted.len()).rev() {
                let rest: Vec<usize> = kept.iter().copied().filter(|&k| k != i).collect();
                if absent(&rest) {
                    kept = rest;
                }
            }
        }
    }
    let instead = match kept[..] {
        [one] => computed.iter().map(|row| row[one]).collect(),
        _ => BTreeSet::new(),
    };
    WhyNot::NoCandidate { components: kept.iter().map(|&i| wanted[i].0).collect(), instead }
}
