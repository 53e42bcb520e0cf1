//! Answers together with what the checker of evidence said about them.
//!
//! An engine hands its answer to the constructor for its question. That checks the evidence by the
//! definitions of [`certify`]: a run is replayed, a cycle is looked up edge by edge, and a claim
//! that everything was searched is derived again by brute force, as far as an [`Effort`] allows.
//! Evidence that does not hold is [`Rejected`]: a defect of the engine, and no answer.
//!
//! The fields are private, so that nobody can claim a check that was not made:
//!
//! ```compile_fail,E0451
//! use weakspot_core::{Certification, Certified, Verdict};
//! let forged = Certified { answer: Verdict::Holds, certification: Certification::Checked };
//! ```

use std::fmt;
use std::ops::Deref;
use std::time::Instant;

use crate::evidence::fence_proof::FencesClaimed;
use crate::evidence::in_order::keeps_order;
use crate::evidence::inductive::Shows;
use crate::evidence::monitors::{self, Form};
use crate::evidence::rejected::Rejected;
use crate::evidence::{abstraction, certify};
use crate::serial::{
    BufferedReads, NoCycle, Passed, TraceEvidence, TraceMode, TxnCycle, is_whole,
    search_transactions_within,
};
use crate::{
    Clause, DelayedRun, Evidence, FenceCosts, FencePlaces, Goal, History, HistoryEvidence,
    HistoryModel, Limits, LogEvent, LogTables, Model, PlacedFence, Program, Transactions, TxnEvent,
    TxnEvidence, TxnHistory, TxnModel, Verdict, fence_proof, reference,
};

/// An answer, and whether its evidence was checked. It reads like the answer itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certified<A> {
    answer: A,
    certification: Certification,
}

/// What the checker of evidence said about an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Certification {
    /// The evidence shows the verdict, by definition.
    Checked,
    /// The definition takes more work than is spent on a check. Nothing contradicts the verdict.
    TooLarge,
    /// There is nothing to check: the verdict is unknown, or answers of this kind have no evidence.
    NotChecked,
}

/// An answer that can be certified.
pub trait Claim {
    /// Why the verdict is to be believed.
    type Evidence: ?Sized;

    /// What it says.
    fn verdict(&self) -> &Verdict;

    /// Why; `None` for an unknown.
    fn evidence(&self) -> Option<&Self::Evidence>;
}

/// An answer on whether the transactions of a program are serializable.
pub trait TxnClaim: Claim<Evidence = Evidence> {
    /// The cycle of transactions in the run of the evidence.
    fn cycle(&self) -> Option<&TxnCycle>;
}

/// An answer on which fences reach a goal. The evidence are runs that miss it without fences.
pub trait FenceClaim: Claim<Evidence = [Clause]> {
    /// Fences with which the goal is reached, if some were found.
    fn fences(&self) -> Option<&[PlacedFence]>;

    /// Whether no cheaper ones reach it; without fences, whether none do at all.
    fn is_optimal(&self) -> bool;
}

/// How much work a claim of completeness is worth: what the brute-force definitions may take.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Units of work, about a microsecond each, in searches of states and executions.
    pub work: u64,
    /// The same, for states that stand for infinitely many.
    pub abstracted: u64,
    /// Operations of a history whose model is evaluated literally; the time is their fourth power.
    pub operations: usize,
    /// Events of a trace whose executions are all listed; there are exponentially many.
    pub events: usize,
    /// When the time of the question is over.
    pub until: Option<Instant>,
}

impl Effort {
    /// A few milliseconds, within what is left of the limits of a question that
    /// [began](Limits::begin). How much is checked does not depend on the clock unless time runs out.
    #[must_use]
    pub fn within(limits: &Limits) -> Effort {
        // A unit of work keeps a kilobyte at most.
        let most = limits.memory_left().map_or(u64::MAX, |bytes| bytes / 1024);
        let (work, abstracted) = (WORK.min(most), ABSTRACTED.min(most));
        let until = limits.time_left().and_then(|time| Instant::now().checked_add(time));
        Effort { work, abstracted, operations: 40, events: 8, until }
    }

    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Counts work down, and looks at the clock now and then.
    fn counter(self) -> impl FnMut(u64) -> bool {
        let (mut left, mut look) = (self.work, 0u64);
        move |work| {
            look += work;
            if look >= 1024 {
                look = 0;
                if self.is_over() {
                    left = 0;
                }
            }
            left = left.saturating_sub(work);
            left > 0
        }
    }
}

/// Units of work that are spent on deriving a claim again.
const WORK: u64 = 5_000;

/// The same for abstractions: a claim about infinitely many states is worth more.
const ABSTRACTED: u64 = 200_000;

/// Threads with more control points are not walked through one way after the other.
const MOST_POINTS: usize = 500;

impl Certification {
    /// Whether the evidence was checked.
    #[must_use]
    pub fn is_checked(self) -> bool {
        self == Certification::Checked
    }

    /// Of two parts of one answer: it is checked if both are.
    #[must_use]
    pub fn and(self, other: Certification) -> Certification {
        match (self, other) {
            (Certification::Checked, other) => other,
            (Certification::TooLarge, Certification::NotChecked) => other,
            (certification, _) => certification,
        }
    }

    /// The outcome of a check that may turn out too large.
    fn of(checked: Result<(), Rejected>) -> Result<Certification, Rejected> {
        match checked {
            Ok(()) => Ok(Certification::Checked),
            Err(Rejected::TooLarge(_) | Rejected::OutOfReach(_)) => Ok(Certification::TooLarge),
            Err(rejected) => Err(rejected),
        }
    }
}

impl fmt::Display for Certification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Certification::Checked => "checked",
            Certification::TooLarge => "too large to check",
            Certification::NotChecked => "not checked",
        })
    }
}

impl<A> Deref for Certified<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.answer
    }
}

impl<A> Certified<A> {
    /// What the checker said.
    #[must_use]
    pub fn certification(&self) -> Certification {
        self.certification
    }

    /// The answer without the checker's word.
    #[must_use]
    pub fn into_answer(self) -> A {
        self.answer
    }

    /// An answer of a kind that has no evidence yet.
    #[must_use]
    pub fn not_checked(answer: A) -> Certified<A> {
        Certified { answer, certification: Certification::NotChecked }
    }

    /// An answer whose evidence was given up because of its size.
    #[must_use]
    pub fn too_large(answer: A) -> Certified<A> {
        Certified { answer, certification: Certification::TooLarge }
    }
}

impl<A: Claim> Certified<A> {
    /// Checks `answer` with `check`, unless it is unknown.
    fn checked(
        answer: A,
        check: impl FnOnce(&Verdict, &A::Evidence) -> Result<Certification, Rejected>,
    ) -> Result<Certified<A>, Rejected> {
        let certification = match (answer.verdict(), answer.evidence()) {
            (Verdict::Unknown(_), None) => Certification::NotChecked,
            (Verdict::Unknown(_), Some(_)) => return Err(Rejected::WrongKind),
            (verdict, Some(evidence)) => check(verdict, evidence)?,
            (_, None) => return Err(Rejected::WrongKind),
        };
        Ok(Certified { answer, certification })
    }

    /// An answer about an execution with transactions whose events went through a check of its
    /// cycle, or of its order.
    pub fn passed(answer: A, passed: Passed) -> Result<Certified<A>, Rejected> {
        match answer.verdict() == passed.shows() {
            true => Ok(Certified { answer, certification: Certification::Checked }),
            false => Err(Rejected::WrongKind),
        }
    }
}

/// Questions about programs whose evidence is a run or a search.
impl<A: Claim<Evidence = Evidence>> Certified<A> {
    /// Whether the program's condition on final states is valid.
    pub fn condition(
        program: &Program,
        model: Model,
        answer: A,
        effort: Effort,
    ) -> Result<Certified<A>, Rejected> {
        Certified::checked(answer, |verdict, evidence| {
            certify::condition(program, model, verdict, evidence)?;
            search(evidence, effort, |most, go_on| {
                certify::search_within(program, model, verdict, most, go_on)
            })
        })
    }

    /// Whether everything holds that the program asks.
    pub fn everything(
        program: &Program,
        model: Model,
        answer: A,
        effort: Effort,
    ) -> Result<Certified<A>, Rejected> {
        Certified::checked(answer, |verdict, evidence| {
            certify::everything(program, model, verdict, evidence)?;
            if let Evidence::Inductive(set) = evidence {
                let checked = certify::inductive(program, model, Shows::Everything, set);
                return Certification::of(checked);
            }
            if let Evidence::Abstracted { abstraction, .. } = evidence {
                let effort = Effort { work: effort.abstracted, ..effort };
                return search(evidence, effort, |most, go_on| {
                    abstraction::check_within(program, model, abstraction, most, go_on)
                });
            }
            search(evidence, effort, |most, go_on| {
                certify::search_everything_within(program, model, verdict, most, go_on)
            })
        })
    }

    /// Whether the program is robust.
    pub fn robust(
        program: &Program,
        model: Model,
        answer: A,
        effort: Effort,
    ) -> Result<Certified<A>, Rejected> {
        Certified::checked(answer, |verdict, evidence| {
            certify::robust(program, model, verdict, evidence)?;
            if let Evidence::Inductive(set) = evidence {
                return Certification::of(certify::inductive(program, model, Shows::Robust, set));
            }
            search(evidence, effort, |most, go_on| {
                search_robust(program, model, verdict, most, go_on)
            })
        })
    }

    /// Whether the program is free of triangular races.
    pub fn triangular_race_free(
        program: &Program,
        answer: A,
        effort: Effort,
    ) -> Result<Certified<A>, Rejected> {
        Certified::checked(answer, |verdict, evidence| {
            certify::triangular_race_free(program, verdict, evidence)?;
            search(evidence, effort, |most, go_on| {
                let free = reference::triangular_race_free_within(program, most, go_on);
                match free.ok_or(Rejected::TooLarge(most))? {
                    true => Ok(()),
                    false => Err(Rejected::Contradicted),
                }
            })
        })
    }
}

impl<A: TxnClaim> Certified<A> {
    /// Whether all executions of the program are serializable.
    pub fn transactions(
        program: &Program,
        transactions: &Transactions,
        asked: (Model, BufferedReads),
        answer: A,
        effort: Effort,
    ) -> Result<Certified<A>, Rejected> {
        let cycle = answer.cycle().cloned();
        Certified::checked(answer, |verdict, evidence| {
            let cycle = cycle.as_ref();
            certify::transactions(program, transactions, asked, verdict, evidence, cycle)?;
            search(evidence, effort, |most, go_on| {
                search_transactions_within(program, transactions, asked, verdict, most, go_on)
            })
        })
    }
}

impl<A: FenceClaim> Certified<A> {
    /// Whether the goal is reached without fences; if not, whether it is with those of the answer,
    /// and whether they are the cheapest, if it says so. `go_on` is asked before each replay of a run with
    /// a fence; if it says no, the rest is too large.
    pub fn fences(
        places: &FencePlaces,
        (model, goal): (Model, Goal),
        costs: &FenceCosts,
        answer: A,
        effort: Effort,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Certified<A>, Rejected> {
        let (fences, is_optimal) = (answer.fences().map(<[_]>::to_vec), answer.is_optimal());
        Certified::checked(answer, |verdict, clauses| {
            let fences = fences.as_deref();
            let claimed = FencesClaimed { verdict, fences, optimal: is_optimal, clauses };
            let asked = (model, goal);
            let proof = fence_proof::check_claim_while(places, asked, costs, claimed, go_on);
            let certification = Certification::of(proof)?;
            let Some(fences) = fences else { return Ok(certification) };
            let fenced = goal.question(&places.with(fences));
            let reached = search(&Evidence::Exhausted { states: 0 }, effort, |most, go_on| {
                let holds = &Verdict::Holds;
                match goal {
                    Goal::Robust => search_robust(&fenced, model, holds, most, go_on),
                    Goal::Safe => {
                        certify::search_everything_within(&fenced, model, holds, most, go_on)
                    }
                }
            })?;
            Ok(certification.and(reached))
        })
    }
}

impl<A: Claim<Evidence = HistoryEvidence>> Certified<A> {
    /// Whether a history satisfies a model.
    pub fn history(
        ops: &History,
        model: HistoryModel,
        answer: A,
        effort: Effort,
    ) -> Result<Certified<A>, Rejected> {
        Certified::checked(answer, |verdict, evidence| {
            certify::history(ops, model, verdict, evidence)?;
            match evidence {
                HistoryEvidence::ByDefinition if effort.is_over() => Ok(Certification::TooLarge),
                HistoryEvidence::ByDefinition => Certification::of(certify::search_history(
                    ops,
                    model,
                    verdict,
                    effort.operations,
                )),
                _ => Ok(Certification::Checked),
            }
        })
    }
}

impl<A: Claim<Evidence = TxnEvidence>> Certified<A> {
    /// Whether a history of transactions satisfies a model.
    pub fn transactional(
        history: &TxnHistory,
        model: TxnModel,
        answer: A,
        effort: Effort,
    ) -> Result<Certified<A>, Rejected> {
        Certified::checked(answer, |verdict, evidence| {
            certify::transactional(history, model, verdict, evidence)?;
            match evidence {
                TxnEvidence::Searched if effort.is_over() => Ok(Certification::TooLarge),
                TxnEvidence::Searched => {
                    Certification::of(certify::search_transactional(history, effort.work as usize))
                }
                _ => Ok(Certification::Checked),
            }
        })
    }
}

impl<A: Claim<Evidence = TraceEvidence>> Certified<A> {
    /// Whether all that a trace stands for is serializable. Events with the same number in `access`
    /// are parts of one access, which an execution does at once.
    pub fn trace(
        events: &[TxnEvent],
        access: &[u32],
        mode: TraceMode,
        answer: A,
        effort: Effort,
    ) -> Result<Certified<A>, Rejected> {
        Certified::checked(answer, |verdict, evidence| {
            certify::trace(events, mode, verdict, evidence)?;
            match evidence {
                TraceEvidence::Execution { events: found, .. }
                    if !access.is_empty() && !is_whole(found, events, access) =>
                {
                    Err(Rejected::Trace("an access is taken apart"))
                }
                TraceEvidence::Groups(groups)
                    if groups.iter().any(|g| matches!(g.why, NoCycle::Searched { .. })) =>
                {
                    let most = effort.events;
                    Certification::of(certify::search_trace(events, access, mode, verdict, most))
                }
                _ => Ok(Certification::Checked),
            }
        })
    }
}

impl<A: Claim<Evidence = DelayedRun>> Certified<A> {
    /// What a monitor reports about a log of an SC execution.
    pub fn delayed(
        events: &[LogEvent],
        tables: &LogTables,
        answer: A,
    ) -> Result<Certified<A>, Rejected> {
        Certified::checked(answer, |verdict, run| match verdict {
            Verdict::Violated => {
                certify::delayed(events, tables, run).map(|()| Certification::Checked)
            }
            _ => Err(Rejected::WrongKind),
        })
    }
}

/// Logs with more events are not monitored again by the definition, which may take their square.
const MOST_EVENTS: usize = 2_000;

impl<A: Claim<Evidence = DelayedRun>> Certified<A> {
    /// That a monitor reports nothing about a log of an SC execution.
    pub fn silent(
        events: &[LogEvent],
        tables: &LogTables,
        (model, form): (Model, Form),
        answer: A,
    ) -> Result<Certified<A>, Rejected> {
        if *answer.verdict() != Verdict::Holds {
            return Err(Rejected::WrongKind);
        }
        if events.len() > MOST_EVENTS {
            return Ok(Certified::too_large(answer));
        }
        match monitors::reports(events, tables, model, form).is_empty() {
            true => Ok(Certified { answer, certification: Certification::Checked }),
            false => Err(Rejected::Contradicted),
        }
    }
}

/// Derives a claim of completeness again with `by_definition`, which hears how many states it may
/// have and whom to ask whether to go on. A run needs none of that.
fn search(
    evidence: &Evidence,
    effort: Effort,
    by_definition: impl FnOnce(usize, &mut dyn FnMut(u64) -> bool) -> Result<(), Rejected>,
) -> Result<Certification, Rejected> {
    match evidence {
        Evidence::Run(_) => Ok(Certification::Checked),
        _ if effort.is_over() => Ok(Certification::TooLarge),
        Evidence::Exhausted { .. } | Evidence::Abstracted { .. } | Evidence::Inductive(_) => {
            let most = usize::try_from(effort.work).unwrap_or(usize::MAX);
            Certification::of(by_definition(most, &mut effort.counter()))
        }
    }
}

fn search_robust(
    program: &Program,
    model: Model,
    verdict: &Verdict,
    most: usize,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<(), Rejected> {
    if *verdict == Verdict::Holds && keeps_order(program, model) {
        return Ok(());
    }
    match program.threads.iter().any(|thread| thread.points.len() > MOST_POINTS) {
        true => Err(Rejected::TooLarge(most)),
        false => certify::search_robust_within(program, model, verdict, most, go_on),
    }
}
