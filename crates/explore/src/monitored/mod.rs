//! Monitors on programs: the SC executions of a program that few preemptions lead to, or random
//! ones, each run once through the monitors of Figs. 4 and 5 of the monitoring paper, as in its
//! section 7 and the report's Table 1. What is found is true; what is not found may be there.
//!
//! *Preemptions*: depth first over all choices of who moves next, without memory of states. A
//! switch away from a thread that could go on is a preemption. Scheduling points, choices, atomic
//! blocks and loops that wait are those of the `runner`.
//!
//! *Random*: at each scheduling point one of the threads that can go on, all alike, then one of
//! its moves; the same for choices within a thread.
//!
//! Reports are grouped by the edges of store and access. The first report of a pair is turned into
//! a run under the model, which the checker in core has to accept. In programs without atomic
//! blocks it always does. A block is one event to the model but several to the monitor; a pair with
//! an access in a block counts if the block, run to its end on a memory without the store, gives an
//! accepted run.
//!
//! Cost: linear in the length of each execution.

mod count;
mod runner;
mod tables;
mod witness;

use rustc_hash::FxHashMap;
use weakspot_core::certify::Rejected;
use weakspot_core::machine::{Machine, Schedule};
use weakspot_core::testing::Rng;
use weakspot_core::{Limit, Limits, LogTables, Model, Overtaking, Program, Progress, Value};
use weakspot_monitor::Monitor;
use weakspot_monitor::reference::{Form, Report, reports};

use crate::answer::NoAnswer;
use crate::meter::Meter;
use crate::robust::overtakings::Overtaken;
use runner::{Move, Runner, Saved};

pub use count::{Interleavings, interleavings};

/// Which executions are monitored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All with at most this many preemptions.
    Preemptions(u32),
    /// As many random ones, the same for the same seed.
    Random {
        /// The number of executions.
        executions: u64,
        /// The seed of the random numbers.
        seed: u64,
    },
}

/// What monitored executions showed.
#[derive(Clone, Debug)]
pub struct Monitored {
    /// Per model that was asked about.
    pub models: Vec<Seen>,
    /// Executions that were monitored.
    pub executions: u64,
    /// Those among them that were cut off because they were too long.
    pub cut_off: u64,
    /// The events of all of them.
    pub events: u64,
    /// Threads that waited in a loop were put off until memory changed.
    pub waited: bool,
    /// Why there are fewer executions than were asked for.
    pub limit: Option<Limit>,
}

/// What was seen under one model.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The model.
    pub model: Model,
    /// The distinct pairs, by store and then by access, each with how often it was reported.
    pub pairs: Vec<(Overtaken, u64)>,
    /// Executions with a report.
    pub executions: u64,
}

/// Monitors executions of `program` for each of `models`. Executions end after `steps` steps.
pub fn monitored(
    program: &Program,
    models: &[Model],
    which: Which,
    steps: usize,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Monitored, NoAnswer> {
    if program.threads.len() > Monitor::MAX_THREADS {
        return Err(TOO_MANY_THREADS);
    }
    let mut monitors = Monitors::new(program, models);
    let mut runner = Runner::new(program);
    let mut meter = Meter::new(*limits, progress);
    let ended = match which {
        Which::Preemptions(most) => bounded(&mut runner, &mut monitors, most, steps, &mut meter),
        Which::Random { executions, seed } => {
            random(&mut runner, &mut monitors, (executions, seed), steps, &mut meter)
        }
    };
    let limit = match ended {
        Ok(()) => None,
        Err(Stopped::Limit(limit)) => Some(limit),
        Err(Stopped::NoAnswer(no_answer)) => return Err(no_answer),
    };
    let seen = |mut m: ModelMonitor| {
        m.pairs.sort_by_key(|(pair, _)| (pair.store, pair.access));
        Seen { model: m.model, pairs: m.pairs, executions: m.executions }
    };
    Ok(Monitored {
        models: monitors.models.into_iter().map(seen).collect(),
        executions: monitors.executions,
        cut_off: monitors.cut_off,
        events: monitors.events,
        waited: runner.waited,
        limit,
    })
}

const TOO_MANY_THREADS: NoAnswer =
    NoAnswer::NotApplicable("executions are monitored for programs of at most 1024 threads");

/// Why no more executions are made.
enum Stopped {
    Limit(Limit),
    NoAnswer(NoAnswer),
}

impl From<Limit> for Stopped {
    fn from(limit: Limit) -> Stopped {
        Stopped::Limit(limit)
    }
}

impl From<weakspot_core::machine::Failure> for Stopped {
    fn from(failure: weakspot_core::machine::Failure) -> Stopped {
        Stopped::NoAnswer(NoAnswer::Fault(failure))
    }
}

/// A place where an execution could have gone on otherwise.
#[derive(Default)]
struct Branch {
    saved: Saved,
    moves: Vec<Move>,
    /// The move to take next.
    next: usize,
    /// The thread that moved last.
    current: Option<usize>,
    could_go_on: bool,
    preemptions: u32,
}

/// All executions with at most `most` preemptions.
fn bounded(
    runner: &mut Runner<'_>,
    monitors: &mut Monitors<'_>,
    most: u32,
    steps: usize,
    meter: &mut Meter<'_>,
) -> Result<(), Stopped> {
    let mut stack: Vec<Branch> = Vec::new();
    // Branches that are no longer needed, for their memory.
    let mut spare: Vec<Branch> = Vec::new();
    let mut moves = Vec::new();
    let machine = Machine { program: monitors.program, model: Model::Sc };
    for init in machine.initial_values() {
        runner.start(&init);
        let (mut current, mut preemptions) = (None, 0);
        loop {
            meter.states += 1;
            meter.work(|| (stack.len() as u64, 0))?;
            let cut_off = runner.moves(steps, &mut moves)? || runner.steps.len() >= steps;
            // To stop a thread that could go on is a preemption.
            let goes_on = |m: &Move| m.is_scheduled() && Some(m.thread()) == current;
            let mut could = moves.iter().any(goes_on);
            if could && preemptions == most {
                moves.retain(goes_on);
            } else if could {
                // The thread itself goes on first.
                moves.sort_by_key(|m| !goes_on(m));
            }
            let taken = if cut_off || moves.is_empty() {
                monitors.look_at(runner, &init, cut_off, meter)?;
                while stack.last().is_some_and(|branch| branch.next == branch.moves.len()) {
                    spare.extend(stack.pop());
                }
                let Some(branch) = stack.last_mut() else { break };
                runner.restore(&branch.saved);
                (current, preemptions, could) =
                    (branch.current, branch.preemptions, branch.could_go_on);
                branch.next += 1;
                &branch.moves[branch.next - 1]
            } else if let [only] = &moves[..] {
                only
            } else {
                let mut branch = spare.pop().unwrap_or_default();
                runner.save(&mut branch.saved);
                std::mem::swap(&mut branch.moves, &mut moves);
                (branch.next, branch.current, branch.preemptions) = (1, current, preemptions);
                branch.could_go_on = could;
                stack.push(branch);
                &stack[stack.len() - 1].moves[0]
            };
            if taken.is_scheduled() {
                let thread = Some(taken.thread());
                preemptions += u32::from(could && current != thread);
                current = thread;
            }
            runner.take(taken)?;
        }
    }
    Ok(())
}

/// Random executions.
fn random(
    runner: &mut Runner<'_>,
    monitors: &mut Monitors<'_>,
    (executions, seed): (u64, u64),
    steps: usize,
    meter: &mut Meter<'_>,
) -> Result<(), Stopped> {
    let mut rng = Rng::new(seed);
    let (mut moves, mut threads) = (Vec::new(), Vec::new());
    for _ in 0..executions {
        let locs = &monitors.program.locs;
        let init: Vec<Value> = locs.iter().map(|l| l.init[rng.below(l.init.len())]).collect();
        runner.start(&init);
        let cut_off = loop {
            meter.states += 1;
            meter.work(|| (0, 0))?;
            if runner.moves(steps, &mut moves)? || runner.steps.len() >= steps {
                break true;
            }
            threads.clear();
            threads.extend(moves.iter().map(Move::thread));
            threads.dedup();
            if threads.is_empty() {
                break false;
            }
            let thread = threads[rng.below(threads.len())];
            let own = moves.iter().filter(|m| m.thread() == thread).count();
            let nth = if own > 1 { rng.below(own) } else { 0 };
            let Some(taken) = moves.iter().filter(|m| m.thread() == thread).nth(nth) else {
                break false;
            };
            runner.take(taken)?;
        };
        monitors.look_at(runner, &init, cut_off, meter)?;
    }
    Ok(())
}

/// The monitors of all models, and what they have seen.
struct Monitors<'p> {
    program: &'p Program,
    models: Vec<ModelMonitor>,
    /// Which models share a pass: TSO and one kind of PSO.
    passes: Vec<Vec<usize>>,
    /// Which places overlap.
    tables: LogTables,
    executions: u64,
    cut_off: u64,
    events: u64,
}

/// What was seen under one model.
struct ModelMonitor {
    model: Model,
    pairs: Vec<(Overtaken, u64)>,
    /// By the sites of store and access: the place among the pairs; or how often a run was sought
    /// in vain.
    known: FxHashMap<(u32, u32), Result<usize, u32>>,
    executions: u64,
}

/// How often a run is sought for a pair with an access in an atomic block.
const TRIES: u32 = 16;

impl<'p> Monitors<'p> {
    fn new(program: &'p Program, models: &[Model]) -> Monitors<'p> {
        let model = |&model| ModelMonitor {
            model,
            pairs: Vec::new(),
            known: FxHashMap::default(),
            executions: 0,
        };
        let mut passes: Vec<Vec<usize>> = Vec::new();
        for (i, model) in models.iter().enumerate() {
            let is_tso = |&j: &usize| models[j] == Model::Tso;
            let fits = |pass: &&mut Vec<usize>| {
                pass.iter().filter(|j| is_tso(j) == (*model == Model::Tso)).count() == 0
            };
            match passes.iter_mut().find(fits) {
                Some(pass) => pass.push(i),
                None => passes.push(vec![i]),
            }
        }
        Monitors {
            program,
            models: models.iter().map(model).collect(),
            passes,
            tables: tables::of(program),
            executions: 0,
            cut_off: 0,
            events: 0,
        }
    }

    /// Monitors the execution that the runner has made.
    fn look_at(
        &mut self,
        runner: &Runner<'_>,
        init: &[Value],
        cut_off: bool,
        meter: &mut Meter<'_>,
    ) -> Result<(), Stopped> {
        self.executions += 1;
        self.cut_off += u64::from(cut_off);
        self.events += runner.events.len() as u64;
        for pass in &self.passes {
            let models: Vec<Model> = pass.iter().map(|&i| self.models[i].model).collect();
            let mut monitor = Monitor::new(&models, Form::All);
            if !self.tables.locs.is_empty() {
                monitor.learn(&self.tables);
            }
            monitor.events(&runner.events).map_err(|_| Stopped::NoAnswer(TOO_MANY_THREADS))?;
            for &i in pass {
                let of_model = &mut self.models[i];
                let found = monitor.reports(of_model.model);
                let mut any = of_model.count(&found);
                // Which events a report is about is asked only if that is news.
                if found.iter().any(|report| of_model.is_news(report)) {
                    for report in reports(&runner.events, &self.tables, of_model.model, Form::All) {
                        any |= of_model.note(self.program, runner, init, report)?;
                        // The check of a long run takes its time.
                        meter.long_work(|| (0, 0))?;
                    }
                    of_model.count_news(&found);
                }
                of_model.executions += u64::from(any);
            }
        }
        Ok(())
    }
}

impl ModelMonitor {
    /// Counts the reports about pairs that are known; true if there are some.
    fn count(&mut self, found: &[Overtaking]) -> bool {
        let mut any = false;
        for report in found {
            if let Some(&Ok(pair)) = self.known.get(&(report.store.site, report.access.site)) {
                self.pairs[pair].1 += report.count;
                any = true;
            }
        }
        any
    }

    /// Whether it is not known yet if the pair of a report has a run.
    fn is_news(&self, report: &Overtaking) -> bool {
        let known = self.known.get(&(report.store.site, report.access.site));
        known.is_none_or(|known| known.is_err_and(|tries| tries < TRIES))
    }

    /// Counts the reports about pairs that this execution was the first to show.
    fn count_news(&mut self, found: &[Overtaking]) {
        for report in found {
            if let Some(&Ok(pair)) = self.known.get(&(report.store.site, report.access.site))
                && self.pairs[pair].1 == 0
            {
                self.pairs[pair].1 = report.count;
            }
        }
    }

    /// Seeks a run for a report whose pair has none; true if there is one now.
    fn note(
        &mut self,
        program: &Program,
        runner: &Runner<'_>,
        init: &[Value],
        report: Report,
    ) -> Result<bool, Stopped> {
        let site = |event: usize| runner.events[event].site;
        let sites = (site(report.store), site(report.access));
        let tries = match self.known.get(&sites) {
            Some(Ok(_)) => return Ok(true),
            Some(&Err(tries)) => tries,
            None => 0,
        };
        let (Some(store), Some(access)) = (runner.edge(sites.0), runner.edge(sites.1)) else {
            return Ok(false);
        };
        if tries >= TRIES {
            return Ok(false);
        }
        let step = |event: usize| runner.step_of[event] as usize;
        let steps = runner.steps[..=step(report.access)].to_vec();
        let sc = Schedule { init: init.to_vec(), steps };
        match witness::run(program, self.model, &sc, step(report.store)) {
            Some(run) => {
                let previous = report.previous.and_then(|event| runner.edge(site(event)));
                self.known.insert(sites, Ok(self.pairs.len()));
                self.pairs.push((Overtaken { store, access, previous, run }, 0));
                Ok(true)
            }
            None if witness::inside_block(program, &sc) => {
                self.known.insert(sites, Err(tries + 1));
                Ok(false)
            }
            None => Err(Stopped::NoAnswer(NoAnswer::Rejected(Rejected::AllowedBySc))),
        }
    }
}
