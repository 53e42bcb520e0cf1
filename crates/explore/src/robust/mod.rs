//! Is a program robust: does every run under TSO or PSO do what some run under SC does, too?

pub(crate) mod attack;
pub(crate) mod delay;
pub(crate) mod hear;
pub(crate) mod holds;
pub(crate) mod overtakings;
pub(crate) mod pending;
pub(crate) mod plain_pending;
pub(crate) mod tidy;
pub(crate) mod triangular;
pub(crate) mod wide;

use weakspot_core::machine::{FailureKind, Machine, Outcome, State, Step};
use weakspot_core::{
    Certified, Claim, Effort, Evidence, Expr, Instr, Limits, Model, Program, Progress, Undeclared,
    Verdict, certify,
};

use crate::abstraction;
use crate::answer::NoAnswer;
use crate::buffers::roles::divides;
use crate::keep::Keep;
use crate::robust::tidy::{MAX_STEPS, tidy};
use crate::sc::packed::Plan;
use crate::sc::safety;
use crate::storage::Storage;
use crate::team::Team;

/// The answer.
#[derive(Clone, Debug)]
pub struct Robust {
    /// Holds if the program is robust.
    pub verdict: Verdict,
    /// Why the verdict is to be believed; checked. `None` only for an unknown.
    pub evidence: Option<Evidence>,
    /// What is reordered in the run of the evidence.
    pub reordered: Option<Reordered>,
    /// States that the searches visited.
    pub states: u64,
    /// SC searches that were made.
    pub queries: u64,
}

impl Claim for Robust {
    type Evidence = Evidence;

    fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    fn evidence(&self) -> Option<&Evidence> {
        self.evidence.as_ref()
    }
}

/// Two accesses of one thread that take effect in the wrong order in a run: the store reaches
/// memory only after the later access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reordered {
    /// The step that issues the store.
    pub store: usize,
    /// The step of the access that overtakes it: a load, or under PSO also a store.
    pub access: usize,
}

/// How robustness is decided. Both decide it exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decide {
    /// One search for all pairs: see the pending store of the monitoring paper.
    Pending,
    /// One search for each pair of a store and a load: the attacks of Trencher. There are such
    /// attacks under TSO only; against other models it means [`Decide::Pending`].
    Attack,
}

/// Decides whether `program` is robust against `model`.
pub fn robust(
    program: &Program,
    model: Model,
    decide: Decide,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Certified<Robust>, NoAnswer> {
    let limits = limits.begin();
    let answer = decided(program, model, decide, &limits, progress)?;
    Certified::robust(program, model, answer, Effort::within(&limits)).map_err(NoAnswer::Rejected)
}

/// [`robust`] by several processes, each of which gets the answer. [`Decide::Pending`] is what they do. Process
/// 0 keeps the search and goes on with one that was kept; others have no use for a place where that is.
///
/// # Errors
///
/// As for one process; also where robustness takes another search than that.
pub fn robust_together(
    program: &Program,
    model: Model,
    team: &dyn Team,
    keep: Option<&dyn Keep>,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Certified<Robust>, NoAnswer> {
    if !program.wides.is_empty() || !pending::is_for(program, model) {
        return Err(NoAnswer::NotApplicable(
            "this program is not for several processes: its accesses have different widths, its \
             atomic blocks depend on values under PSO, or it has too many threads",
        ));
    }
    let limits = limits.begin();
    let plan = Plan { team: Some(team), keep, ..Plan::breadth_first(limits.workers) };
    by_pending(program, model, plan, &limits, progress)
}

/// [`robust`] by a search that is kept, or goes on with one that was. [`Decide::Pending`] is what it does.
///
/// # Errors
///
/// As for one that is not; also where robustness takes another search than that, or what was kept is none
/// of this program.
pub fn robust_kept(
    program: &Program,
    model: Model,
    keep: &dyn Keep,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Certified<Robust>, NoAnswer> {
    if !program.wides.is_empty() || !pending::is_for(program, model) {
        return Err(NoAnswer::NotApplicable(
            "no checkpoint can be made of this search: the program's accesses have different widths, its \
             atomic blocks depend on values under PSO, or it has too many threads",
        ));
    }
    let limits = limits.begin();
    let plan = Plan { keep: Some(keep), ..Plan::breadth_first(limits.workers) };
    by_pending(program, model, plan, &limits, progress)
}

/// [`robust`] with less memory. [`Decide::Pending`] is what it does.
///
/// # Errors
///
/// As for a search that takes more; also where robustness takes another search than that.
pub fn robust_with_storage(
    program: &Program,
    model: Model,
    storage: Storage<'_>,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Certified<Robust>, NoAnswer> {
    if !program.wides.is_empty() || !pending::is_for(program, model) {
        return Err(NoAnswer::NotApplicable(
            "this program is not for --hash-compact and --disk: its accesses have different widths, its atomic blocks \
             depend on values under PSO, or it has too many threads",
        ));
    }
    let limits = limits.begin();
    let plan = Plan { storage: Some(storage), ..Plan::breadth_first(limits.workers) };
    by_pending(program, model, plan, &limits, progress)
}

/// The answer of the search of pending stores, by this plan.
fn by_pending(
    program: &Program,
    model: Model,
    plan: Plan<'_>,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Certified<Robust>, NoAnswer> {
    let answer = match at_a_glance(program, model) {
        Some(answer) => answer,
        None => pending::robust(program, model, plan, limits, progress)?,
    };
    let answer = tidied(program, model, answer, limits);
    Certified::robust(program, model, answer, Effort::within(limits)).map_err(NoAnswer::Rejected)
}

/// The answer before its evidence is checked, for those who check what they make of it.
pub(crate) fn decided(
    program: &Program,
    model: Model,
    decide: Decide,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Robust, NoAnswer> {
    let limits = &limits.begin();
    let plan = Plan::breadth_first(limits.workers);
    if let Some(answer) = at_a_glance(program, model) {
        return Ok(answer);
    }
    let answer = match (pending::is_for(program, model), decide) {
        _ if !program.wides.is_empty() => wide::search(program, model, limits, progress)?,
        (true, Decide::Attack)
            if model == Model::Tso && program.threads.len() <= attack::MOST_THREADS =>
        {
            let mut answer = attack::robust(program, limits, progress)?;
            // Attacks look at parts of the runs only. That nothing faults takes all of them.
            if answer.verdict == Verdict::Holds && can_fault(program) {
                let all = safety::reach(&without_questions(program), plan, limits, progress)?;
                answer.states += all.states;
                answer.queries += 1;
                if let Verdict::Unknown(_) = all.verdict {
                    (answer.verdict, answer.evidence) = (all.verdict, None);
                }
            }
            answer
        }
        (true, _) => pending::robust(program, model, plan, limits, progress)?,
        (false, _) => plain_pending::search(program, model, limits, progress)?,
    };
    Ok(tidied(program, model, answer, limits))
}

/// The answer where no access can overtake a store and values grow for ever: a search through them has no end.
fn at_a_glance(program: &Program, model: Model) -> Option<Robust> {
    let grows = abstraction::is_for(program) && !can_fault(program);
    (grows && certify::keeps_order(program, model)).then(|| {
        let evidence = Some(Evidence::Exhausted { states: 0 });
        Robust { verdict: Verdict::Holds, evidence, reordered: None, states: 0, queries: 0 }
    })
}

/// The answer with a run that is easier to follow, if there is time for that.
fn tidied(program: &Program, model: Model, mut answer: Robust, limits: &Limits) -> Robust {
    if let Some(Evidence::Run(run)) = &answer.evidence
        && run.steps.len() <= MAX_STEPS
        && limits.check(0).is_ok()
        && let Some((run, reordered)) = tidy(program, model, run, limits)
    {
        answer.evidence = Some(Evidence::Run(run));
        answer.reordered = Some(reordered);
    }
    answer
}

/// The program with the same runs, but nothing that would end a search for faults early.
fn without_questions(program: &Program) -> Program {
    let mut program = program.clone();
    program.forbidden.clear();
    for edge in program.threads.iter_mut().flat_map(|t| &mut t.points).flat_map(|p| &mut p.edges) {
        if let Instr::Assert(e) = &edge.instr {
            edge.instr = Instr::Assume(e.clone());
        }
    }
    program
}

/// Whether some instruction might fault: divide by zero, or leave the declared memory or a range.
fn can_fault(program: &Program) -> bool {
    let ranges = program.locs.iter().any(|l| l.range.is_some());
    let leaves = |addr: &Expr| match addr {
        Expr::Const(addr) => program.loc_at(*addr).is_none(),
        _ => true,
    };
    let leaves = |addr| program.undeclared == Undeclared::Fault && leaves(addr);
    let edges = program.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
    edges.map(|e| &e.instr).any(|instr| match instr {
        Instr::Assign { value, .. } | Instr::Assume(value) | Instr::Assert(value) => divides(value),
        Instr::Load { addr, .. } => divides(addr) || leaves(addr),
        Instr::Store { addr, value } | Instr::Update { addr, value, .. } => {
            ranges || divides(addr) || divides(value) || leaves(addr)
        }
        _ => false,
    })
}

/// The state after a step; `None` if the step is blocked, or is an assertion that fails: runs end there.
fn state_after(
    machine: &Machine<'_>,
    state: &State,
    step: Step,
) -> Result<Option<State>, NoAnswer> {
    match machine.take(state, step) {
        Outcome::Next(next) => Ok(Some(next)),
        Outcome::Blocked => Ok(None),
        Outcome::Failed(failure) if failure.kind == FailureKind::Assertion => Ok(None),
        Outcome::Failed(failure) => Err(NoAnswer::Fault(failure)),
    }
}
