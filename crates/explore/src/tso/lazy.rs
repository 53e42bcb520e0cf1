//! Everything that a program asks, under TSO or PSO, by asking about SC only: Algorithm 1 of the
//! lazy TSO reachability paper with robustness as its oracle.
//!
//! While SC finds no violation, ask whether the program is robust. If it is, SC and the model reach
//! the same states, and there is none. If not, the answer names a path σ of one thread, from a
//! store to an access that overtakes it. Extend the program so that it can do just this under SC,
//! and repeat.
//!
//! Under PSO all is about the reading in which an update waits for the stores to its own address
//! only. In the other one an update has a fence before it, which makes the same of it.
//!
//! Two forms. [`lazy`] extends the program as it is. Lemma 1 of the paper is stated for programs
//! without cycles, but its proof does not use that; the tests check it with cycles, too. [`unroll`]
//! is Theorem 4: the same for P_k with rising k, where each P_k is decided. Both remove the store
//! with which σ begins, as in section 3, so that no σ comes back. (Section 5 keeps it; the oracle
//! would then give the same σ again and again, and would have to be told what not to find.) So both
//! end on programs without cycles, whether these are safe or not. With cycles, unrolling finds all
//! that can be reached; the answer "unreachable" needs an extension that is robust, and for some
//! safe programs there is none.
//!
//! The oracle may be asked several times before SC is asked again: once in the first round, twice
//! as often in each later one, about different threads in turn. With two workers SC is asked while the oracle is at work.
//!
//! Cost: a search under SC and one for robustness per extension, each in a program that is larger
//! by what the extensions added. Docs: `docs/how/lazy.md`.

mod blocks;
mod emulation;
mod extend;
mod unroll;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use weakspot_core::certify::Rejected;
use weakspot_core::machine::{Machine, Outcome, Schedule, Step};
use weakspot_core::{
    Certified, Drain, Edge, Evidence, Fence, Instr, Limit, Limits, Model, Point, PointId, Program,
    Progress, Quantifier, Snapshot, ThreadId, Verdict, Violation,
};

use blocks::{asks_about_the_inside, can_hide_a_combination};
pub use emulation::{At, Emulation};
pub use extend::{First, extend, extend_pso};
use unroll::unroll as unrolled;

use crate::answer::{NoAnswer, Reach};
use crate::buffers::outcomes::Strategy;
use crate::buffers::reach::{by_sc, eager};
use crate::robust::{self, Decide, Robust};

/// The oracle is asked at most this often before SC is asked again.
const MOST_WITNESSES: usize = 16;

/// Bytes that an unrolled program may have if nothing is said about memory: ids of control points
/// have 32 bits.
const MOST_UNROLLED: u64 = 1 << 36;

/// On what the algorithm works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lazily {
    /// On the program itself.
    Whole,
    /// On P_0, P_1, P_2, P_4, ...
    Unrolled,
}

/// Numbers of queries to the searches that lazy search relies on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queries {
    /// Searches under SC.
    pub sc: u64,
    /// Questions to the oracle.
    pub oracle: u64,
}

/// Answers everything that `program` asks under TSO or PSO.
pub(crate) fn lazy(
    program: &Program,
    model: Model,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Reach, NoAnswer> {
    answer(program, model, Lazily::Whole, limits, progress).map(|(answer, _)| answer)
}

/// Answers everything that `program` asks under TSO or PSO, by unrolling its loops.
pub(crate) fn unroll(
    program: &Program,
    model: Model,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Reach, NoAnswer> {
    answer(program, model, Lazily::Unrolled, limits, progress).map(|(answer, _)| answer)
}

/// Answers everything that `program` asks under TSO or PSO, and tells how many questions it took.
pub fn reach_lazily(
    program: &Program,
    model: Model,
    lazily: Lazily,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<(Certified<Reach>, Queries), NoAnswer> {
    let limits = limits.begin();
    let (answer, queries) = answer(program, model, lazily, &limits, progress)?;
    Ok((answer.certified(program, model, &limits)?, queries))
}

fn answer(
    program: &Program,
    model: Model,
    lazily: Lazily,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<(Reach, Queries), NoAnswer> {
    let exists = program.condition.as_ref().is_some_and(|c| c.quantifier == Quantifier::Exists);
    let mut work = Work {
        original: program,
        model,
        limits: limits.begin(),
        progress,
        wanted: exists,
        states: 0,
        queries: Queries::default(),
        held: 0,
    };
    let decided = match lazily {
        Lazily::Whole => work.decide(work.first(Emulation::of(program)))?,
        Lazily::Unrolled => work.decide_unrolled()?,
    };
    let algorithm = match lazily {
        Lazily::Whole => "lazy",
        Lazily::Unrolled => "unroll",
    };
    let (queries, states) = (work.queries, work.states);
    let answer = |verdict, violation, evidence| {
        Ok((Reach { verdict, violation, evidence, states, algorithm }, queries))
    };
    match decided {
        Decided::Violated(violation, run) => {
            answer(Verdict::Violated, Some(violation), Some(Evidence::Run(run)))
        }
        Decided::Unknown(limit) => answer(Verdict::Unknown(limit), None, None),
        Decided::NothingLeft | Decided::Robust(_) if work.wanted => {
            let violation = Some(Violation::FinalStates);
            answer(Verdict::Violated, violation, Some(Evidence::Exhausted { states }))
        }
        Decided::Robust(_) if hides_something(program, model) => {
            let limits = match work.remaining() {
                Ok(limits) => limits,
                Err(limit) => return answer(Verdict::Unknown(limit), None, None),
            };
            let mut found = eager(program, model, Strategy::Auto, &limits, work.progress)?;
            found.states += states;
            Ok((found, queries))
        }
        Decided::NothingLeft | Decided::Robust(_) => {
            answer(Verdict::Holds, None, Some(Evidence::Exhausted { states }))
        }
    }
}

/// Whether a program that is robust against `model` may still do more than under SC inside of its
/// atomic blocks, where the questions look.
fn hides_something(program: &Program, model: Model) -> bool {
    match model {
        Model::Pso(_) => asks_about_the_inside(program),
        _ => can_hide_a_combination(program),
    }
}

/// What came out for one program without unrolling.
enum Decided {
    /// A violation with a run of the original.
    Violated(Violation, Schedule),
    /// None, and the emulation is robust.
    Robust(Emulation),
    /// All that was asked was whether some final state exists, and one was found.
    NothingLeft,
    Unknown(Limit),
}

/// What SC says about an emulation.
enum Sc {
    Violated(Violation, Schedule),
    /// No violation; whether the final state was found that the condition asks for.
    Clean {
        found: bool,
    },
    Unknown(Limit),
}

/// What a round of questions to the oracle gave.
enum Round {
    /// Extensions by all that the oracle named.
    Extended(Emulation),
    /// The same, and the last one is robust.
    Robust(Emulation),
    Unknown(Limit),
}

struct Work<'a> {
    original: &'a Program,
    model: Model,
    limits: Limits,
    progress: &'a mut dyn Progress,
    /// A final state is asked for that has not been found yet.
    wanted: bool,
    states: u64,
    queries: Queries,
    /// Bytes of the emulation at hand.
    held: u64,
}

impl Work<'_> {
    /// An emulation to start with, under [`Work::emulated`].
    fn first(&self, mut emulation: Emulation) -> Emulation {
        if self.model == Model::Pso(Drain::All) {
            emulation.fence_updates();
        }
        emulation
    }

    /// The model on which emulations do what the program does.
    fn emulated(&self) -> Model {
        match self.model {
            Model::Pso(_) => Model::Pso(Drain::Own),
            other => other,
        }
    }

    /// Algorithm 1.
    fn decide(&mut self, mut r: Emulation) -> Result<Decided, NoAnswer> {
        let mut witnesses = 1;
        let mut robust = false;
        loop {
            self.drop_what_is_settled(&mut r.program);
            self.held = r.bytes();
            let (sc, round) = if robust {
                (self.sc_alone(&r)?, None)
            } else if self.limits.workers > 1 {
                let (sc, round) = self.sc_and_oracle(&r, witnesses);
                (sc?, Some(round))
            } else {
                (self.sc_alone(&r)?, None)
            };
            match sc {
                Sc::Violated(violation, run) => {
                    let run = r.original_run(self.original, self.model, &run)?;
                    return Ok(Decided::Violated(violation, run));
                }
                Sc::Unknown(limit) => return Ok(Decided::Unknown(limit)),
                Sc::Clean { found } => self.wanted &= !found,
            }
            if robust {
                return Ok(Decided::Robust(r));
            }
            if !self.wanted && !asks_for_more(self.original) {
                return Ok(Decided::NothingLeft);
            }
            let round = match round {
                Some(round) => round?,
                None => self.oracle_round(&r, witnesses, &AtomicBool::new(false))?,
            };
            match round {
                Round::Unknown(limit) => return Ok(Decided::Unknown(limit)),
                Round::Extended(next) => r = next,
                Round::Robust(next) => {
                    // If nothing was added SC has been asked already.
                    if next.program == r.program {
                        return Ok(Decided::Robust(r));
                    }
                    r = next;
                    robust = true;
                }
            }
            witnesses = (2 * witnesses).min(MOST_WITNESSES);
        }
    }

    /// Theorem 4. Ends with a P_k that does all that the program does, or with a violation.
    fn decide_unrolled(&mut self) -> Result<Decided, NoAnswer> {
        let mut backward = 0;
        loop {
            let bytes = Emulation::of(self.original).bytes().saturating_mul(backward as u64 + 1);
            let most = self.limits.memory.unwrap_or(MOST_UNROLLED);
            if bytes > most {
                return Ok(Decided::Unknown(Limit::Memory(most)));
            }
            let p = unrolled(self.original, backward);
            let mut robust = match self.decide(self.first(p.emulation))? {
                Decided::Robust(r) => r,
                other => return Ok(other),
            };
            // The robust one has all of P_k's runs under SC: look whether one comes to a cut.
            let goes_on = &mut robust.program;
            goes_on.forbidden.clear();
            for &(thread, cut) in &p.cuts {
                let mut combination = vec![None; goes_on.threads.len()];
                combination[thread.index()] = Some(cut);
                goes_on.forbidden.push(combination);
            }
            goes_on.condition = None;
            goes_on.observed.clear();
            match self.sc_alone(&robust)? {
                Sc::Clean { .. } => return Ok(Decided::Robust(robust)),
                Sc::Unknown(limit) => return Ok(Decided::Unknown(limit)),
                Sc::Violated(..) => backward = (2 * backward).max(1),
            }
        }
    }

    /// A final state that was found need not be found again, and registers that nobody asks about
    /// need not be told apart.
    fn drop_what_is_settled(&self, program: &mut Program) {
        let settled = !self.wanted
            && program.condition.as_ref().is_some_and(|c| c.quantifier == Quantifier::Exists);
        if settled {
            program.condition = None;
        }
        if program.condition.is_none() {
            program.observed.clear();
        }
    }

    fn sc_alone(&mut self, r: &Emulation) -> Result<Sc, NoAnswer> {
        let limits = match self.remaining() {
            Ok(limits) => limits,
            Err(limit) => return Ok(Sc::Unknown(limit)),
        };
        self.queries.sc += 1;
        let stop = AtomicBool::new(false);
        let mut progress = Adding { inner: self.progress, states: self.states, stop: &stop };
        let found = sc_reach(&r.program, &limits, &mut progress)?;
        self.states += found.states;
        self.read_sc(found)
    }

    /// Asks about SC while the oracle is at work. What SC says counts first, so that the answer is
    /// the same as one after the other.
    fn sc_and_oracle(
        &mut self,
        r: &Emulation,
        witnesses: usize,
    ) -> (Result<Sc, NoAnswer>, Result<Round, NoAnswer>) {
        let limits = match self.remaining() {
            Ok(limits) => limits,
            Err(limit) => return (Ok(Sc::Unknown(limit.clone())), Ok(Round::Unknown(limit))),
        };
        // The oracle has the other half of the memory.
        let half = limits.memory_left().map_or(0, |left| left / 2);
        let limits = Limits { workers: 1, ..limits.holding(half) };
        self.queries.sc += 1;
        let (stop_sc, stop_oracle) = (AtomicBool::new(false), AtomicBool::new(false));
        let (found, round) = std::thread::scope(|scope| {
            let sc = scope.spawn(|| {
                let mut listener = Until { stop: &stop_sc };
                let found = sc_reach(&r.program, &limits, &mut listener);
                // Unless every state was seen, what the oracle says is not needed.
                let all = |f: &Reach| matches!(f.evidence, Some(Evidence::Exhausted { .. }));
                stop_oracle.store(!found.as_ref().is_ok_and(all), Ordering::Relaxed);
                found
            });
            let round = self.oracle_round(r, witnesses, &stop_oracle);
            let interrupted = matches!(&round, Ok(Round::Unknown(Limit::Interrupted)));
            if interrupted && !stop_oracle.load(Ordering::Relaxed) {
                stop_sc.store(true, Ordering::Relaxed);
            }
            (sc.join(), round)
        });
        let found = match found {
            Ok(Ok(found)) => {
                self.states += found.states;
                self.read_sc(found)
            }
            Ok(Err(no_answer)) => Err(no_answer),
            Err(panic) => std::panic::resume_unwind(panic),
        };
        (found, round)
    }

    fn read_sc(&self, found: Reach) -> Result<Sc, NoAnswer> {
        Ok(match (found.verdict, found.violation, found.evidence) {
            (Verdict::Holds, ..) => Sc::Clean { found: true },
            (Verdict::Unknown(limit), ..) => Sc::Unknown(limit),
            (Verdict::Violated, Some(violation), Some(Evidence::Run(run))) => {
                Sc::Violated(violation, run)
            }
            (Verdict::Violated, _, Some(Evidence::Exhausted { .. })) if self.wanted => {
                Sc::Clean { found: false }
            }
            (Verdict::Violated, ..) => return Err(NoAnswer::Rejected(Rejected::WrongKind)),
        })
    }

    /// Asks the oracle up to `witnesses` times, extending by each answer. A thread that was named
    /// is given fences for the questions that follow, until all others have had their turn: the
    /// oracle likes short runs, and a loop has one more of these each time.
    fn oracle_round(
        &mut self,
        r: &Emulation,
        witnesses: usize,
        stop: &AtomicBool,
    ) -> Result<Round, NoAnswer> {
        let model = self.emulated();
        let mut r = r.clone();
        let mut named = BTreeSet::new();
        for _ in 0..witnesses {
            let limits = match self.remaining() {
                Ok(limits) => limits,
                Err(limit) => return Ok(Round::Unknown(limit)),
            };
            self.queries.oracle += 1;
            let half = limits.memory_left().map_or(0, |left| left / 2);
            let limits = limits.holding(if self.limits.workers > 1 { half } else { 0 });
            let mut progress = Adding { inner: self.progress, states: self.states, stop };
            let asked = with_fences(&r.program, &named);
            let found = robust::decided(&asked, model, Decide::Pending, &limits, &mut progress)?;
            self.states += found.states;
            match found.verdict {
                Verdict::Unknown(limit) => return Ok(Round::Unknown(limit)),
                Verdict::Holds if named.is_empty() => return Ok(Round::Robust(r)),
                Verdict::Holds => named.clear(),
                Verdict::Violated => {
                    let wrong = NoAnswer::Rejected(Rejected::WrongState);
                    let sigma = overtaken_path(&asked, model, &found).ok_or(wrong.clone())?;
                    r = sigma.extend(&r, model).ok_or(wrong)?;
                    self.held = r.bytes();
                    named.insert(sigma.thread);
                }
            }
        }
        Ok(Round::Extended(r))
    }

    /// The limits, if they allow more work. Small searches never look at the clock, so this does.
    fn remaining(&mut self) -> Result<Limits, Limit> {
        let snapshot = Snapshot { states: self.states, ..Snapshot::default() };
        if !self.progress.tick(snapshot) {
            return Err(Limit::Interrupted);
        }
        let limits = self.limits.holding(self.held);
        limits.check(0)?;
        Ok(limits)
    }
}

/// Everything that a program asks, under SC.
fn sc_reach(
    program: &Program,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Reach, NoAnswer> {
    by_sc(program, limits, progress)
}

/// Whether a program asks more than that some final state exists.
fn asks_for_more(program: &Program) -> bool {
    let mut edges = program.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
    !program.forbidden.is_empty()
        || program.condition.as_ref().is_some_and(|c| c.quantifier != Quantifier::Exists)
        || edges.any(|e| matches!(e.instr, Instr::Assert(_)))
}

/// The program with a fence behind each store of these threads, which then delay nothing. Points
/// and edges keep their ids.
fn with_fences(program: &Program, threads: &BTreeSet<ThreadId>) -> Program {
    let mut program = program.clone();
    for t in threads {
        let points = &mut program.threads[t.index()].points;
        for p in 0..points.len() {
            for e in 0..points[p].edges.len() {
                let behind = PointId::new(points.len());
                let edge = &mut points[p].edges[e];
                if let Instr::Store { .. } = edge.instr {
                    let instr = Instr::Fence(Fence::Full);
                    let fence = Edge { instr, to: edge.to, span: edge.span };
                    edge.to = behind;
                    points.push(Point { edges: vec![fence] });
                }
            }
        }
    }
    program
}

/// σ: what the delaying thread does in a robustness witness from its store to the last access that
/// overtakes it.
struct Sigma {
    thread: ThreadId,
    path: Vec<At>,
    /// Whether each is a store to the address of the first.
    meets: Vec<bool>,
}

impl Sigma {
    fn extend(&self, r: &Emulation, model: Model) -> Option<Emulation> {
        match model {
            Model::Pso(_) => extend_pso(r, self.thread, &self.path, &self.meets),
            _ => extend(r, self.thread, &self.path, First::Removed),
        }
    }
}

fn overtaken_path(program: &Program, model: Model, witness: &Robust) -> Option<Sigma> {
    let Some(Evidence::Run(run)) = &witness.evidence else { return None };
    let reordered = witness.reordered?;
    let machine = Machine { program, model };
    let Some(&Step::Execute { thread: delayer, .. }) = run.steps.get(reordered.store) else {
        return None;
    };
    let mut state = machine.initial_state(&run.init);
    let mut sigma = Sigma { thread: delayer, path: Vec::new(), meets: Vec::new() };
    let mut first = None;
    for (i, &step) in run.steps.iter().enumerate().take(reordered.access + 1) {
        if let Step::Execute { thread, edge, .. } = step
            && thread == delayer
            && i >= reordered.store
        {
            let local = &state.threads[thread.index()];
            sigma.path.push(At { point: local.point, edge: edge as usize });
            let stored = match &program.edge(thread, local.point, edge as usize).instr {
                Instr::Store { addr, .. } => addr.eval(&local.regs).ok(),
                _ => None,
            };
            first = first.or(stored);
            sigma.meets.push(stored.is_some() && stored == first);
        }
        let Outcome::Next(next) = machine.take(&state, step) else { return None };
        state = next;
    }
    Some(sigma)
}

/// Adds what was done before to the states of the search at work.
struct Adding<'a> {
    inner: &'a mut dyn Progress,
    states: u64,
    stop: &'a AtomicBool,
}

impl Progress for Adding<'_> {
    fn tick(&mut self, snapshot: Snapshot) -> bool {
        let snapshot = Snapshot { states: self.states + snapshot.states, ..snapshot };
        self.inner.tick(snapshot) && !self.stop.load(Ordering::Relaxed)
    }
}

/// Listens to a flag only.
struct Until<'a> {
    stop: &'a AtomicBool,
}

impl Progress for Until<'_> {
    fn tick(&mut self, _: Snapshot) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }
}
