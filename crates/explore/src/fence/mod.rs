//! Which fences make a program robust, or safe, at the least cost?
//!
//! Implicit hitting sets: take a run that misses the goal and the set of all single fences that
//! make this very run impossible. Whatever reaches the goal has one of them, so the cheapest set
//! with an element of each clause found so far costs no more than the best answer; and if the
//! program with that set reaches the goal, it is a best answer. Else it gives another run, whose
//! clause the set misses, so the search ends: there are finitely many sets.
//!
//! The idea of placing fences by one query per violation and solving for the optimum is that of
//! Trencher's fence insertion, there with an integer program over the (store, load) pairs of TSO;
//! here the runs come from either goal and any of the models, and the fences of two kinds.
//!
//! Before the first set is solved for, runs are collected that have no fence in common: each with
//! all the fences of the earlier ones in place. When no more comes, these fences together reach the
//! goal, which gives a first answer to fall back on.
//!
//! Cost: a search that finds a run for each clause, two that find none, and the hitting sets, which
//! are small beside them. In theory there may be exponentially many clauses; in the corpus there
//! are at most a few for each fence.

pub mod hitting;

mod clause;
mod contract;

use weakspot_core::certify::Rejected;
use weakspot_core::machine::Schedule;
use weakspot_core::{
    Certified, Claim, Clause, Effort, Evidence, Fence, FenceClaim, FenceCosts, FencePlaces, Goal,
    Limit, Limits, Model, PlacedFence, Program, Progress, Snapshot, Span, Verdict,
};

use crate::answer::NoAnswer;
use crate::reach::{self, Algorithm};
use crate::robust::{self, Decide};
use contract::contract;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct FenceQuestion {
    /// The memory model.
    pub model: Model,
    /// What the fences are for.
    pub goal: Goal,
    /// What they cost.
    pub costs: FenceCosts,
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Fences {
    /// Holds if no fence is needed, violated if the goal is missed without fences, unknown if that
    /// is not known.
    pub verdict: Verdict,
    /// Fences with which the goal is reached, in the order of their places; `None` if there are
    /// none, or if none were found. Empty if none are needed.
    pub fences: Option<Vec<PlacedFence>>,
    /// For each fence two accesses that it keeps in order: the store and what overtakes it.
    pub reasons: Vec<Option<(Span, Span)>>,
    /// No cheaper fences reach the goal; without fences, none do at all. Checked.
    pub optimal: bool,
    /// What stopped the search, if it was stopped.
    pub limit: Option<Limit>,
    /// The runs that fences have to forbid.
    pub clauses: Vec<Clause>,
    /// States that the searches visited.
    pub states: u64,
    /// Searches that were made.
    pub queries: u64,
}

impl Claim for Fences {
    type Evidence = [Clause];

    fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    fn evidence(&self) -> Option<&[Clause]> {
        (!matches!(self.verdict, Verdict::Unknown(_))).then_some(&self.clauses)
    }
}

impl FenceClaim for Fences {
    fn fences(&self) -> Option<&[PlacedFence]> {
        self.fences.as_deref()
    }

    fn is_optimal(&self) -> bool {
        self.optimal
    }
}

/// Looks for the cheapest fences in `places` that reach the goal.
pub fn fences(
    places: &FencePlaces,
    question: FenceQuestion,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Certified<Fences>, NoAnswer> {
    let limits = limits.begin();
    let places = FencePlaces { program: question.goal.question(&places.program), ..places.clone() };
    let kinds = question.costs.kinds(question.model);
    let candidates: Vec<PlacedFence> = (0..places.places.len())
        .flat_map(|place| kinds.iter().map(move |&kind| PlacedFence { place, kind }))
        .collect();
    let mut search = Search {
        places: &places,
        question,
        kinds,
        candidates,
        clauses: Vec::new(),
        fallback: None,
        asker: Asker { limits, progress: &mut *progress, states: 0, queries: 0 },
    };
    let end = search.run()?;
    if let (End::Stopped(Limit::Buffer { .. }), None) = (&end, &search.fallback) {
        search.bound_buffers()?;
    }
    let answer = search.answer(end);
    let FenceQuestion { model, goal, costs } = question;
    let so_far = Snapshot { states: answer.states, ..Snapshot::default() };
    let mut go_on = || progress.tick(so_far) && limits.check(0).is_ok();
    let effort = Effort::within(&limits);
    Certified::fences(&places, (model, goal), &costs, answer, effort, &mut go_on)
        .map_err(NoAnswer::Rejected)
}

/// Whether `program` reaches the goal: the run that shows that it does not.
pub fn misses_goal(
    program: &Program,
    model: Model,
    goal: Goal,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<(Verdict, Option<Schedule>), NoAnswer> {
    let mut asker = Asker { limits: limits.begin(), progress, states: 0, queries: 0 };
    Ok(match asker.ask(&goal.question(program), model, goal)? {
        Asked::Holds => (Verdict::Holds, None),
        Asked::Run(run) => (Verdict::Violated, Some(run)),
        Asked::Stopped(limit) => (Verdict::Unknown(limit), None),
    })
}

/// The program with these fences in its places, without steps for the places that stay empty.
#[must_use]
pub fn fenced(places: &FencePlaces, fences: &[PlacedFence]) -> Program {
    contract(places, fences).program
}

/// How the search ended.
enum End {
    /// With the cheapest fences.
    Optimal(Vec<PlacedFence>),
    /// Some run is forbidden by no fence.
    Hopeless,
    Stopped(Limit),
}

/// What one search said.
enum Asked {
    Holds,
    Run(Schedule),
    Stopped(Limit),
}

struct Search<'a> {
    places: &'a FencePlaces,
    question: FenceQuestion,
    kinds: Vec<Fence>,
    /// All fences that may be put in, in the order of the source.
    candidates: Vec<PlacedFence>,
    clauses: Vec<Clause>,
    /// Fences that are known to reach the goal.
    fallback: Option<Vec<PlacedFence>>,
    asker: Asker<'a>,
}

impl Search<'_> {
    fn run(&mut self) -> Result<End, NoAnswer> {
        if let Some(end) = self.collect()? {
            return Ok(end);
        }
        loop {
            let chosen = match self.cheapest() {
                Ok(chosen) => chosen,
                Err(limit) => return Ok(End::Stopped(limit)),
            };
            match self.try_out(&chosen)? {
                Tried::Reached => return Ok(End::Optimal(chosen)),
                Tried::Clause => {}
                Tried::End(end) => return Ok(end),
            }
        }
    }

    /// The first clauses, which have no fence in common. Some end if that was all there is to do.
    fn collect(&mut self) -> Result<Option<End>, NoAnswer> {
        let mut fences: Vec<PlacedFence> = Vec::new();
        loop {
            match self.try_out(&fences)? {
                Tried::Reached if fences.is_empty() => {
                    return Ok(Some(End::Optimal(Vec::new())));
                }
                Tried::Reached => {
                    self.fallback = Some(fences);
                    return Ok(None);
                }
                Tried::Clause => {
                    let last = self.clauses.last();
                    let full = last.into_iter().flat_map(|c| &c.hit_by);
                    fences.extend(full.filter(|f| f.kind == Fence::Full));
                    fences.sort_by_key(|f| f.place);
                }
                Tried::End(end) => return Ok(Some(end)),
            }
        }
    }

    /// Buffers that grow without bound stop some searches, and fences keep them small: starts
    /// from a fence in every place and takes out what can be. Not the cheapest fences, but some.
    fn bound_buffers(&mut self) -> Result<(), NoAnswer> {
        let FenceQuestion { model, goal, .. } = self.question;
        let mut fences: Vec<PlacedFence> =
            self.candidates.iter().copied().filter(|f| f.kind == Fence::Full).collect();
        let mut asks = |fences: &[PlacedFence]| {
            let program = contract(self.places, fences).program;
            Ok(matches!(self.asker.ask(&program, model, goal)?, Asked::Holds))
        };
        if !asks(&fences)? {
            return Ok(());
        }
        for i in (0..fences.len()).rev() {
            let without = fences.remove(i);
            if !asks(&fences)? {
                fences.insert(i, without);
            }
        }
        self.fallback = Some(fences);
        Ok(())
    }

    /// Asks whether the goal is reached with `fences`; if not, adds a clause.
    fn try_out(&mut self, fences: &[PlacedFence]) -> Result<Tried, NoAnswer> {
        let FenceQuestion { model, goal, .. } = self.question;
        let contracted = contract(self.places, fences);
        let run = match self.asker.ask(&contracted.program, model, goal)? {
            Asked::Holds => return Ok(Tried::Reached),
            Asked::Stopped(limit) => return Ok(Tried::End(End::Stopped(limit))),
            Asked::Run(run) => run,
        };
        let asker = &mut self.asker;
        let run = clause::tighten(&contracted.program, model, goal, run, &mut || {
            asker.stopped().is_none()
        });
        let run = contracted.lift(model, &run);
        goal.is_missed(&self.places.program, model, &run).map_err(NoAnswer::Rejected)?;
        let mut stopped = None;
        let hit_by = clause::forbidding(self.places, model, goal, &self.kinds, &run, &mut || {
            stopped = asker.stopped();
            stopped.is_none()
        });
        let Some(hit_by) = hit_by else {
            return Ok(Tried::End(End::Stopped(stopped.unwrap_or(Limit::Interrupted))));
        };
        if hit_by.iter().any(|f| fences.contains(f)) {
            let why = "a run passes a fence that forbids it";
            return Err(NoAnswer::Rejected(Rejected::Fences(why)));
        }
        let hopeless = hit_by.is_empty();
        self.clauses.push(Clause { run, hit_by });
        Ok(if hopeless { Tried::End(End::Hopeless) } else { Tried::Clause })
    }

    /// The cheapest fences that hit all clauses: by cost, then by the number of full fences, then
    /// by their places.
    fn cheapest(&mut self) -> Result<Vec<PlacedFence>, Limit> {
        let scale = self.candidates.len() as u64 + 1;
        let costs: Vec<u64> = self
            .candidates
            .iter()
            .map(|f| {
                let full = u64::from(f.kind == Fence::Full);
                self.question.costs.of(f.kind).saturating_mul(scale).saturating_add(full)
            })
            .collect();
        let clauses: Vec<hitting::Clause> = self
            .clauses
            .iter()
            .map(|c| {
                let number = |f| self.candidates.iter().position(|x| x == f);
                c.hit_by.iter().filter_map(number).collect()
            })
            .collect();
        let mut stopped = None;
        let asker = &mut self.asker;
        let found = hitting::solve(&clauses, &costs, &mut || {
            stopped = asker.stopped();
            stopped.is_none()
        });
        match found {
            Some(chosen) => Ok(chosen.into_iter().map(|i| self.candidates[i]).collect()),
            None => Err(stopped.unwrap_or(Limit::Interrupted)),
        }
    }

    fn answer(self, end: End) -> Fences {
        let model = self.question.model;
        let (fences, optimal, limit) = match end {
            End::Optimal(fences) => (Some(fences), true, None),
            End::Hopeless => (None, true, None),
            End::Stopped(limit) => (self.fallback, false, Some(limit)),
        };
        let reasons = fences.iter().flatten().map(|f| {
            let forbidden = self.clauses.iter().filter(|c| c.hit_by.contains(f));
            let mut found =
                forbidden.filter_map(|c| clause::kept_in_order(self.places, model, &c.run, *f));
            found.next()
        });
        Fences {
            reasons: reasons.collect(),
            verdict: match (&limit, self.clauses.is_empty()) {
                (_, false) => Verdict::Violated,
                (None, true) => Verdict::Holds,
                (Some(limit), true) => Verdict::Unknown(limit.clone()),
            },
            fences,
            optimal,
            limit,
            clauses: self.clauses,
            states: self.asker.states,
            queries: self.asker.queries,
        }
    }
}

/// What became of a try.
enum Tried {
    Reached,
    /// A clause was added.
    Clause,
    End(End),
}

/// Makes the searches, within the limits.
struct Asker<'a> {
    limits: Limits,
    progress: &'a mut dyn Progress,
    states: u64,
    queries: u64,
}

impl Asker<'_> {
    fn ask(&mut self, program: &Program, model: Model, goal: Goal) -> Result<Asked, NoAnswer> {
        if let Some(limit) = self.stopped() {
            return Ok(Asked::Stopped(limit));
        }
        let limits = self.limits;
        self.queries += 1;
        let (verdict, evidence, states) = match goal {
            Goal::Robust => {
                let found =
                    robust::decided(program, model, Decide::Pending, &limits, self.progress)?;
                (found.verdict, found.evidence, found.states)
            }
            Goal::Safe => {
                let found =
                    reach::decided(program, model, Algorithm::Auto, &limits, self.progress)?;
                (found.verdict, found.evidence, found.states)
            }
        };
        self.states += states;
        match (verdict, evidence) {
            (Verdict::Holds, _) => Ok(Asked::Holds),
            (Verdict::Violated, Some(Evidence::Run(run))) => Ok(Asked::Run(run)),
            (Verdict::Violated, _) => Err(NoAnswer::Rejected(Rejected::WrongKind)),
            (Verdict::Unknown(limit), _) => Ok(Asked::Stopped(limit)),
        }
    }

    /// The limit that has been reached, if one has, or that somebody wants an end.
    fn stopped(&mut self) -> Option<Limit> {
        let so_far = Snapshot { states: self.states, ..Snapshot::default() };
        let goes_on = self.progress.tick(so_far);
        self.limits.check(0).err().or((!goes_on).then_some(Limit::Interrupted))
    }
}
