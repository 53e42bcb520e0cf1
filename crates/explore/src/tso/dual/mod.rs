//! Can a program with finite data reach a bad state under TSO or PSO? A complete answer, loops and
//! unbounded store buffers included. What follows is about TSO; for PSO see [`pso`].
//!
//! The load-buffer ("dual TSO") semantics of Abdulla, Atig, Bouajjani and Ngo ("The benefits of
//! duality in verifying concurrent programs under TSO", CONCUR 2016; "A load-buffer semantics for
//! total store ordering", LMCS 2018) reaches the same local states and memories as the machine,
//! and its steps are monotone for a well-quasi-ordering. So the set of configurations from which
//! a goal can be reached has finitely many minimal elements, and going backwards from the goals
//! finds them all and ends.
//!
//! Deviations from the paper: what is kept is not configurations but *demands* ([`demand`]), which
//! leave open what does not matter: the local states of bystanders, locations whose value is not
//! asked for, where exactly an own message stands in its buffer. Messages that cannot be read any
//! more are never there. Threads are first looked at one by one ([`graph`], [`facts`]): local
//! states, values and buffered stores that this rules out are not considered, and loads that a
//! thread has to take are taken at once. Atomic blocks, faults and several initial memories are
//! ours ([`goals`]).
//!
//! Cost: reachability under TSO is not primitive recursive; what is kept grows with the number of
//! combinations of local states and of words that threads may still have to read.

mod buffer;
mod demand;
mod facts;
mod goals;
mod graph;
mod pso;
mod pso_run;
mod run;
mod search;
mod steps;
mod tails;

use weakspot_core::certify::{self, Rejected};
use weakspot_core::machine::{FailureKind, Machine, Outcome, Schedule};
use weakspot_core::{
    Certified, Evidence, Limit, Limits, Model, Program, Progress, Quantifier, Verdict, Violation,
};

use crate::answer::{NoAnswer, Reach};
use crate::meter::Meter;

use demand::Demand;
use facts::Facts;
use goals::Inside;
use graph::NoGraphs;
use pso::PsoDemand;
use search::{Demanded, Goal, GoalKind, Search};

/// Local states, steps and visits inside of blocks: more than that is not finite data.
const BOUND: usize = 1 << 18;
/// Bytes that the facts about local states may take.
const FACTS: u64 = 1 << 28;

/// Answers everything that `program` asks about TSO or PSO, like [`reach`](crate::reach()), by the
/// dual semantics, or under PSO by that of the buffers themselves, backwards. `None` if the data
/// are not finite, or too many to tell, or if `model` is SC.
pub fn dual_reach(
    program: &Program,
    model: Model,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Option<Certified<Reach>>, NoAnswer> {
    let limits = limits.begin();
    let Some(answer) = decided(program, model, &limits, progress)? else { return Ok(None) };
    answer.certified(program, model, &limits).map(Some)
}

/// The answer before its evidence is checked.
pub(crate) fn decided(
    program: &Program,
    model: Model,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Option<Reach>, NoAnswer> {
    match model {
        Model::Sc => Ok(None),
        Model::Tso => {
            let kind = How { model, inside: tails::add_inside, run: run::run };
            decided_by::<Demand>(program, kind, limits, progress)
        }
        Model::Pso(_) => {
            let kind = How { model, inside: goals::add_inside, run: pso_run::run };
            decided_by::<PsoDemand>(program, kind, limits, progress)
        }
    }
}

/// What differs from model to model, besides the demands.
struct How<D> {
    model: Model,
    inside: Inside<D>,
    run: ToRun<D>,
}

/// From a finding to a run.
type ToRun<D> = fn(&Search<'_, '_, '_, D>, Model) -> Option<(Schedule, Goal)>;

fn decided_by<D: Demanded>(
    program: &Program,
    How { model, inside, run }: How<D>,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Option<Reach>, NoAnswer> {
    // Registers that the question does not mention are of no interest in final states.
    let mut asked = program.clone();
    let mut mentioned = vec![false; program.observed.len()];
    if let Some(condition) = &program.condition {
        condition.prop.for_each_reg(&mut |i| mentioned[i.index()] = true);
    }
    let mut keep = mentioned.iter();
    asked.observed.retain(|_| keep.next() == Some(&true));
    let mut meter = Meter::new(*limits, progress);
    let graphs = match graph::graphs(program, &asked, model, BOUND, &mut meter) {
        Ok(graphs) if facts::bytes(&graphs) > FACTS => return Ok(None),
        Ok(graphs) => graphs,
        Err(NoGraphs::NotFinite) => return Ok(None),
        Err(NoGraphs::Limit(limit)) => return Ok(Some(stopped(limit, 0))),
    };
    let mut facts = Facts::new(&graphs);
    let condition = program.condition.as_ref();
    let decisive = condition.and_then(|c| certify::decisive(c.quantifier, &Verdict::Violated));

    let mut search = Search::<D>::new(&graphs, &mut facts, &mut meter);
    let mut searched = goals::add_safety(&mut search, inside);
    if let (Some(condition), Some(wanted)) = (condition, decisive) {
        searched = searched.and_then(|()| goals::add_final(&mut search, condition, wanted));
    }
    if let Err(limit) = searched.and_then(|()| search.run()) {
        return Ok(Some(stopped(limit, meter.states)));
    }
    if search.found.is_some() {
        let (run, goal) = run(&search, model).ok_or(NoAnswer::Rejected(Rejected::WrongState))?;
        return violated(program, model, run, goal.kind, meter.states).map(Some);
    }

    if let Some(condition) = condition.filter(|c| c.quantifier == Quantifier::Exists) {
        let mut search = Search::<D>::new(&graphs, &mut facts, &mut meter);
        let searched = goals::add_final(&mut search, condition, true).and_then(|()| search.run());
        if let Err(limit) = searched {
            return Ok(Some(stopped(limit, meter.states)));
        }
        if search.found.is_none() {
            return Ok(Some(Reach {
                verdict: Verdict::Violated,
                violation: Some(Violation::FinalStates),
                evidence: Some(Evidence::Exhausted { states: meter.states }),
                states: meter.states,
                algorithm: ALGORITHM,
            }));
        }
        let (run, _) = run(&search, model).ok_or(NoAnswer::Rejected(Rejected::WrongState))?;
        certify::condition(program, model, &Verdict::Holds, &Evidence::Run(run))
            .map_err(NoAnswer::Rejected)?;
    }
    Ok(Some(Reach {
        verdict: Verdict::Holds,
        violation: None,
        evidence: Some(Evidence::Exhausted { states: meter.states }),
        states: meter.states,
        algorithm: ALGORITHM,
    }))
}

const ALGORITHM: &str = "dual";

fn stopped(limit: Limit, states: u64) -> Reach {
    let verdict = Verdict::Unknown(limit);
    Reach { verdict, violation: None, evidence: None, states, algorithm: ALGORITHM }
}

/// The answer that rests on `run`, once the machine has agreed.
fn violated(
    program: &Program,
    model: Model,
    run: Schedule,
    kind: GoalKind,
    states: u64,
) -> Result<Reach, NoAnswer> {
    let violation = match kind {
        GoalKind::ControlPoints => Violation::ControlPoints,
        GoalKind::Final => Violation::FinalStates,
        GoalKind::Fails(failure) if failure.kind == FailureKind::Assertion => {
            Violation::Assertion(failure)
        }
        GoalKind::Fails(failure) => {
            let machine = Machine { program, model };
            let Some((&last, steps)) = run.steps.split_last() else {
                return Err(NoAnswer::Rejected(Rejected::WrongState));
            };
            let run = Schedule { init: run.init.clone(), steps: steps.to_vec() };
            let before = certify::replay(machine, &run).map_err(NoAnswer::Rejected)?;
            return Err(match machine.take(&before, last) {
                Outcome::Failed(f) if f == failure => NoAnswer::Fault(failure),
                _ => NoAnswer::Rejected(Rejected::WrongState),
            });
        }
    };
    let evidence = Evidence::Run(run);
    let checked = match violation {
        Violation::FinalStates => certify::condition(program, model, &Verdict::Violated, &evidence),
        _ => certify::safety(program, model, &Verdict::Violated, &evidence),
    };
    checked.map_err(NoAnswer::Rejected)?;
    Ok(Reach {
        verdict: Verdict::Violated,
        violation: Some(violation),
        evidence: Some(evidence),
        states,
        algorithm: ALGORITHM,
    })
}
