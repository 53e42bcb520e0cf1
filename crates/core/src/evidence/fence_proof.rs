//! Why a set of fences is the cheapest, and the check of it.
//!
//! Each *clause* is a violating run with the fences that forbid it. Fences act on a run one by
//! one: a full fence asks that the buffer is empty when the thread passes it, a store-store fence
//! that what was in the buffer then reaches memory before what comes later, and neither changes
//! anything else. So a set of fences that has none of a clause leaves its run possible, and a set
//! that reaches the goal has one of each clause. If no cheaper set does, the set at hand is optimal.

use std::collections::HashSet;

use crate::evidence::certify;
use crate::evidence::rejected::Rejected;
use crate::machine::{Machine, Schedule, Step};
use crate::{
    Evidence, Fence, FencePlaces, Goal, Model, PlaceEdge, PlacedFence, Program, Quantifier, Verdict,
};

/// A violating run of the program without fences, and what forbids it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// The run, with steps over the edges of the places.
    pub run: Schedule,
    /// Every single fence that makes this run impossible.
    pub hit_by: Vec<PlacedFence>,
}

/// What fences cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FenceCosts {
    /// A full fence.
    pub full: u32,
    /// A store-store fence; `None` if there are none to be had.
    pub store_store: Option<u32>,
}

impl FenceCosts {
    /// The kinds of fence that may be put in, and do something under `model`.
    #[must_use]
    pub fn kinds(&self, model: Model) -> Vec<Fence> {
        let mut kinds = vec![Fence::Full];
        if let Model::Pso(_) = model {
            kinds.extend(self.store_store.map(|_| Fence::StoreStore));
        }
        kinds
    }

    /// What a fence of this kind costs.
    #[must_use]
    pub fn of(&self, kind: Fence) -> u64 {
        match kind {
            Fence::Full => u64::from(self.full),
            Fence::StoreStore => self.store_store.map_or(u64::MAX, u64::from),
        }
    }

    /// What these fences cost together.
    #[must_use]
    pub fn total(&self, fences: &[PlacedFence]) -> u64 {
        fences.iter().map(|f| self.of(f.kind)).fold(0, u64::saturating_add)
    }
}

/// How many sets the check of the lower bound looks at before it gives up.
const MOST_SETS: usize = 200_000;

impl Goal {
    /// The program with only those questions that belong to the goal.
    #[must_use]
    pub fn question(self, program: &Program) -> Program {
        let mut asked = program.clone();
        if self == Goal::Robust {
            asked.forbidden.clear();
            asked.condition = None;
        }
        asked.condition = asked.condition.filter(|c| c.quantifier != Quantifier::Exists);
        asked
    }

    /// Whether `run` shows that `program` misses the goal. `program` is one that
    /// [`Goal::question`] made.
    pub fn is_missed(
        self,
        program: &Program,
        model: Model,
        run: &Schedule,
    ) -> Result<(), Rejected> {
        let evidence = Evidence::Run(run.clone());
        match self {
            Goal::Robust => certify::robust(program, model, &Verdict::Violated, &evidence),
            Goal::Safe => certify::everything(program, model, &Verdict::Violated, &evidence),
        }
    }
}

/// What is said about fences: the answer, but for the evidence that those that were chosen reach the goal.
#[derive(Clone, Copy, Debug)]
pub struct FencesClaimed<'a> {
    /// Holds if no fence is needed, violated if the goal is missed without fences.
    pub verdict: &'a Verdict,
    /// Fences with which the goal is reached, if some are known.
    pub fences: Option<&'a [PlacedFence]>,
    /// No cheaper ones reach it; without fences, none do at all.
    pub optimal: bool,
    /// Runs that miss the goal.
    pub clauses: &'a [Clause],
}

/// Checks all of it. What the fences are put into reaches the goal is a claim of completeness, for which there is other
/// evidence.
pub fn check_claim(
    places: &FencePlaces,
    asked: (Model, Goal),
    costs: &FenceCosts,
    claimed: FencesClaimed<'_>,
) -> Result<(), Rejected> {
    check_claim_while(places, asked, costs, claimed, &mut || true)
}

/// The same, as long as `go_on` says so; else it is too large. That each run misses the goal is checked
/// whatever it says.
pub fn check_claim_while(
    places: &FencePlaces,
    (model, goal): (Model, Goal),
    costs: &FenceCosts,
    claimed: FencesClaimed<'_>,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<(), Rejected> {
    let FencesClaimed { verdict, fences, optimal, clauses } = claimed;
    let needed = match verdict {
        Verdict::Holds => false,
        Verdict::Violated => true,
        Verdict::Unknown(_) => return Err(Rejected::WrongKind),
    };
    if needed == clauses.is_empty() || !needed && fences != Some(&[]) {
        return Err(Rejected::WrongKind);
    }
    let kinds = costs.kinds(model);
    let chosen = fences.unwrap_or_default();
    let has_place = |f: &PlacedFence| f.place < places.places.len() && kinds.contains(&f.kind);
    if !chosen.iter().all(has_place) {
        return Err(Rejected::Fences("a fence is in no place, or of a kind that there is not"));
    }
    if is_doubled(chosen)
        || is_doubled(clauses)
        || clauses.iter().any(|clause| is_doubled(&clause.hit_by))
    {
        return Err(Rejected::Fences("a fence or a run is there twice"));
    }
    check_clauses(places, (model, goal), costs, clauses, go_on)?;
    match optimal {
        true => check_bound(costs, chosen, clauses),
        false => Ok(()),
    }
}

/// Whether something is there twice. Lists are short: every run took a search.
fn is_doubled<T: PartialEq>(list: &[T]) -> bool {
    list.iter().enumerate().any(|(i, one)| list[..i].contains(one))
}

/// Checks that no set of fences that is cheaper than `chosen` reaches the goal; with `chosen`
/// empty and a clause that nothing hits, that no set does. That `chosen` reaches it is a claim of
/// completeness, which is for a search to make.
pub fn check(
    places: &FencePlaces,
    model: Model,
    goal: Goal,
    costs: &FenceCosts,
    chosen: &[PlacedFence],
    clauses: &[Clause],
) -> Result<(), Rejected> {
    check_clauses(places, (model, goal), costs, clauses, &mut || true)?;
    check_bound(costs, chosen, clauses)
}

/// Checks that each run misses the goal, and that those fences forbid it which are said to.
fn check_clauses(
    places: &FencePlaces,
    (model, goal): (Model, Goal),
    costs: &FenceCosts,
    clauses: &[Clause],
    go_on: &mut dyn FnMut() -> bool,
) -> Result<(), Rejected> {
    let plain = FencePlaces { program: goal.question(&places.program), ..places.clone() };
    let all: Vec<PlacedFence> = (0..places.places.len())
        .flat_map(|place| {
            costs.kinds(model).into_iter().map(move |kind| PlacedFence { place, kind })
        })
        .collect();
    for clause in clauses {
        if !clause.hit_by.iter().all(|fence| all.contains(fence)) {
            return Err(Rejected::Fences("a clause has a fence that there is no place for"));
        }
        goal.is_missed(&plain.program, model, &clause.run)?;
    }
    for clause in clauses {
        let passed = passed(Machine { program: &plain.program, model }, &clause.run);
        let touches = |f: &PlacedFence| places.places[f.place].iter().any(|e| passed.contains(e));
        for fence in all.iter().filter(|f| touches(f) || clause.hit_by.contains(f)) {
            if !go_on() {
                return Err(Rejected::TooLarge(all.len()));
            }
            let forbids = goal.is_missed(&plain.with(&[*fence]), model, &clause.run).is_err();
            match (forbids, clause.hit_by.contains(fence)) {
                (true, false) => {
                    return Err(Rejected::Fences("a clause lacks a fence that forbids its run"));
                }
                (false, true) => {
                    return Err(Rejected::Fences(
                        "a clause has a fence that does not forbid its run",
                    ));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Checks that no set of fences that is cheaper than `chosen` has one of each clause.
fn check_bound(
    costs: &FenceCosts,
    chosen: &[PlacedFence],
    clauses: &[Clause],
) -> Result<(), Rejected> {
    if clauses.iter().any(|c| c.hit_by.is_empty()) {
        return match chosen {
            [] => Ok(()),
            _ => Err(Rejected::Fences("no fence forbids one of the runs")),
        };
    }
    if clauses.iter().any(|c| !c.hit_by.iter().any(|f| chosen.contains(f))) {
        return Err(Rejected::Fences("one of the runs is still possible"));
    }
    match cheaper(clauses, costs, &mut Vec::new(), costs.total(chosen), &mut 0)? {
        true => Err(Rejected::Fences("a cheaper set forbids all of the runs")),
        false => Ok(()),
    }
}

/// The edges that a run takes while the thread's buffer holds something. A fence that finds the
/// buffer empty does nothing.
fn passed(machine: Machine<'_>, run: &Schedule) -> HashSet<PlaceEdge> {
    let mut state = machine.initial_state(&run.init);
    let mut edges = HashSet::new();
    for &step in &run.steps {
        if let Step::Execute { thread, edge, .. } = step {
            let local = &state.threads[thread.index()];
            if !local.buffer.is_empty() {
                edges.insert(PlaceEdge { thread, point: local.point, edge: edge as usize });
            }
        }
        if machine.advance(&mut state, step) != Ok(true) {
            break;
        }
    }
    edges
}

/// Whether some set that contains `set` and costs less than `most` hits every clause.
fn cheaper(
    clauses: &[Clause],
    costs: &FenceCosts,
    set: &mut Vec<PlacedFence>,
    most: u64,
    sets: &mut usize,
) -> Result<bool, Rejected> {
    *sets += 1;
    if *sets > MOST_SETS {
        return Err(Rejected::TooLarge(MOST_SETS));
    }
    if costs.total(set) >= most {
        return Ok(false);
    }
    let Some(open) = clauses.iter().find(|c| !c.hit_by.iter().any(|f| set.contains(f))) else {
        return Ok(true);
    };
    for &fence in &open.hit_by {
        set.push(fence);
        let found = cheaper(clauses, costs, set, most, sets)?;
        set.pop();
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}
