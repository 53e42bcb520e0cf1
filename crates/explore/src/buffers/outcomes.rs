//! The question of a litmus test: which final states does a model allow?
//!
//! Two searches, [`write_order`](crate::buffers::write_order) and [`explicit`](crate::buffers::explicit), give the same answer at costs that can differ
//! by orders of magnitude either way. They take turns with growing budgets until one of them has
//! seen everything, so that the cost is within a small factor of the cheaper one.

use weakspot_core::certify::Rejected;
use weakspot_core::machine::{Failure, Schedule};
use weakspot_core::{
    Certified, Claim, Effort, Evidence, Limit, Limits, Model, OutcomeSet, Program, Progress,
    Quantifier, Value, Verdict,
};

use crate::answer::NoAnswer;
use crate::buffers::schedule;
use crate::buffers::search::Search;
use crate::buffers::space::{Ended, Stop, Until};
use crate::buffers::turn::Turn;
use crate::keep::Keep;
use crate::meter::Meter;

/// What was found about a program's final states.
pub struct Outcomes<'p> {
    /// The final states. All of them, unless `stopped` says otherwise.
    pub set: OutcomeSet,
    /// What ended the search before it had seen everything.
    pub stopped: Option<Limit>,
    /// Nodes that the searches visited.
    pub states: u64,
    /// Those of the question.
    limits: Limits,
    search: Search<'p>,
}

/// The answer to a program's question about its final states.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// Whether the condition is valid.
    pub verdict: Verdict,
    /// How many final states satisfy the proposition.
    pub positive: u64,
    /// How many do not.
    pub negative: u64,
    /// Why the verdict is to be believed; checked. `None` only for an unknown.
    pub evidence: Option<Evidence>,
}

impl Claim for Judgement {
    type Evidence = Evidence;

    fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    fn evidence(&self) -> Option<&Evidence> {
        self.evidence.as_ref()
    }
}

/// Which search to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Both in turns.
    Auto,
    /// By the order of writes only.
    WriteOrder,
    /// State by state only.
    Explicit,
}

/// The first budget of the search by write order, in local states; each round has four times more.
const FIRST_BUDGET: u64 = 200_000;

/// How many entries a buffer may hold at first, in a thread that stores in a loop.
const FIRST_BUFFER: usize = 16;

/// How many final states are kept when a limit was reached.
const WHEN_STOPPED: usize = 100_000;

/// The final states of `program` under `model`. `Err` if the program does what has no meaning,
/// such as a load from an address that does not exist.
pub fn outcomes<'p>(
    program: &'p Program,
    model: Model,
    strategy: Strategy,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Outcomes<'p>, Failure> {
    match outcomes_at(program, model, strategy, None, limits, progress) {
        Ok(found) => Ok(found),
        Err(NoAnswer::Fault(failure)) => Err(failure),
        Err(_) => unreachable!("a search that is not kept has nothing to go on with"),
    }
}

/// [`outcomes`] by searches that are kept, or go on with one that was.
///
/// # Errors
///
/// Also that what was kept is no search of this program.
pub fn outcomes_kept<'p>(
    program: &'p Program,
    model: Model,
    keep: &dyn Keep,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Outcomes<'p>, NoAnswer> {
    outcomes_at(program, model, Strategy::Auto, Some(keep), limits, progress)
}

/// The same wherever it is kept, if anywhere.
pub(crate) fn outcomes_at<'p>(
    program: &'p Program,
    model: Model,
    strategy: Strategy,
    place: Option<&dyn Keep>,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Outcomes<'p>, NoAnswer> {
    let limits = limits.begin();
    let mut meter = Meter::new(limits, progress);
    let (search, ended) =
        in_turns((program, model), (strategy, false), place, &limits, &mut meter)?;
    Outcomes::new(search, ended, &limits, &mut meter).map_err(NoAnswer::Fault)
}

/// Both searches in turns, or one of them alone. Buffers may hold few entries at first; the search
/// is repeated with more as long as they were full and nothing shows that no limit is enough.
pub(crate) fn in_turns<'p>(
    asked: (&'p Program, Model),
    (strategy, violation): (Strategy, bool),
    place: Option<&dyn Keep>,
    limits: &Limits,
    meter: &mut Meter<'_>,
) -> Result<(Search<'p>, Ended), NoAnswer> {
    let until = |turn: &Turn<'_>| {
        let work = match (strategy, turn.is_write_order) {
            (Strategy::Auto, true) => turn.budget,
            // A state costs about four times what a local state costs in the other search.
            (Strategy::Auto, false) => turn.budget / 4,
            _ => u64::MAX,
        };
        Until { work, violation }
    };
    let first = |buffer| Turn {
        place,
        buffer,
        budget: FIRST_BUDGET,
        is_write_order: strategy != Strategy::Explicit,
    };
    let (mut turn, mut search) = match Search::earlier(asked, place, (until, limits.buffer), meter)
    {
        Ok(Some(earlier)) => earlier,
        Ok(None) => {
            let turn = first(FIRST_BUFFER.min(limits.buffer));
            (turn, Search::new(asked, &turn, until(&turn)))
        }
        Err(why) => {
            let turn = first(0);
            let nothing = Search::new(asked, &turn, until(&turn));
            return Ok((nothing, Ended::Stopped(Stop::Limit(why.limit()?))));
        }
    };
    loop {
        let (search_now, ended) = with_buffer(asked, (&mut turn, &until), search, meter);
        let more_may_do = matches!(ended, Ended::Complete)
            && !(violation && search_now.is_violated())
            && turn.buffer < limits.buffer
            && matches!(
                search_now.space().buffer_limit(),
                Some(Limit::Buffer { unbounded: false, .. })
            );
        if !more_may_do {
            return Ok((search_now, ended));
        }
        turn = first((4 * turn.buffer).min(limits.buffer));
        search = Search::new(asked, &turn, until(&turn));
    }
}

/// From this search and its turn on.
fn with_buffer<'p>(
    asked: (&'p Program, Model),
    (turn, until): (&mut Turn<'_>, &dyn Fn(&Turn<'_>) -> Until),
    mut search: Search<'p>,
    meter: &mut Meter<'_>,
) -> (Search<'p>, Ended) {
    // The unfinished search that found most: if a limit is reached, it may know more than the last.
    let mut best: Option<Search<'p>> = None;
    loop {
        let ended = search.search(turn, until(turn), meter);
        let found_more = best.as_ref().is_none_or(|b| search.found() > b.found());
        match ended {
            Ended::Stopped(Stop::Limit(_)) if !found_more => {
                return (best.unwrap_or(search), ended);
            }
            Ended::OutOfWork => {
                if found_more {
                    meter.held = search.bytes() as u64;
                    best = Some(search);
                }
            }
            _ => return (search, ended),
        }
        if !turn.is_write_order {
            turn.budget = turn.budget.saturating_mul(4);
        }
        turn.is_write_order = !turn.is_write_order;
        search = Search::new(asked, turn, until(turn));
    }
}

impl<'p> Outcomes<'p> {
    fn new(
        search: Search<'p>,
        ended: Ended,
        limits: &Limits,
        meter: &mut Meter<'_>,
    ) -> Result<Outcomes<'p>, Failure> {
        let space = search.space();
        let mut stopped = match ended {
            Ended::Stopped(Stop::Fault(failure)) => return Err(failure),
            Ended::Stopped(Stop::Limit(limit)) => Some(limit),
            Ended::Stopped(Stop::OutOfWork) | Ended::Complete | Ended::OutOfWork => None,
        };
        // A search that was stopped still tells what it found, but does not take long over it.
        let enough = if stopped.is_some() { WHEN_STOPPED } else { usize::MAX };
        let mut at_limit = None;
        let bytes = search.bytes();
        let mut go_on = |rows: usize, row_bytes: usize| {
            let usage = || (0, (bytes + row_bytes) as u64);
            at_limit = at_limit.take().or(meter.work(usage).err());
            rows < enough && at_limit.is_none()
        };
        let mut set = match &search {
            Search::WriteOrder(s) => s.outcomes(&mut go_on),
            Search::Explicit(s) => s.outcomes(&mut go_on),
        };
        if at_limit.is_some() {
            set.truncate(WHEN_STOPPED);
        }
        stopped = stopped.or(at_limit).or_else(|| space.buffer_limit());
        Ok(Outcomes { set, stopped, states: meter.states, limits: *limits, search })
    }

    /// Answers the condition of `program`, whose final states under `model` these are.
    ///
    /// # Errors
    /// When the evidence did not pass its check, which is a defect of this crate and no answer.
    pub fn judge(
        &mut self,
        program: &Program,
        model: Model,
    ) -> Result<Certified<Judgement>, Rejected> {
        let answer = self.judged(program)?;
        Certified::condition(program, model, answer, Effort::within(&self.limits))
    }

    /// The answer before its evidence is checked.
    pub(crate) fn judged(&mut self, program: &Program) -> Result<Judgement, Rejected> {
        let condition = program.condition.as_ref().ok_or(Rejected::NoQuestion)?;
        let wanted = condition.quantifier != Quantifier::Forall;
        let (mut positive, mut negative) = (0, 0);
        let mut decisive = None;
        self.set.for_each(|row| {
            let satisfied = condition.prop.holds(row);
            *(if satisfied { &mut positive } else { &mut negative }) += 1;
            if satisfied == wanted && decisive.is_none() {
                decisive = Some(row.to_vec());
            }
            true
        });
        let (verdict, evidence) = match (decisive, &self.stopped) {
            (Some(outcome), _) => {
                let run = self.run_to(&outcome).ok_or(Rejected::NotFinal)?;
                let holds = condition.quantifier == Quantifier::Exists;
                let verdict = if holds { Verdict::Holds } else { Verdict::Violated };
                (verdict, Some(Evidence::Run(run)))
            }
            (None, Some(limit)) => (Verdict::Unknown(limit.clone()), None),
            (None, None) => {
                let holds = condition.quantifier != Quantifier::Exists;
                let verdict = if holds { Verdict::Holds } else { Verdict::Violated };
                (verdict, Some(Evidence::Exhausted { states: self.states }))
            }
        };
        Ok(Judgement { verdict, positive, negative, evidence })
    }

    /// An assertion that can fail. What would come after it is not among the final states.
    #[must_use]
    pub fn assertion(&self) -> Option<&Failure> {
        self.search.space().assertion.as_ref().map(|a| &a.failure)
    }

    /// A run of the machine that ends in a final state with these observed values.
    pub fn run_to(&mut self, outcome: &[Value]) -> Option<Schedule> {
        match &mut self.search {
            Search::WriteOrder(search) => schedule::run_to(search, outcome),
            Search::Explicit(search) => search.run_to(outcome),
        }
    }
}
