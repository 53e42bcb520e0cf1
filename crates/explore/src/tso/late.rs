//! Violations by stores that are late, in runs that are tried one by one.
//!
//! A program that breaks under TSO or PSO mostly breaks because stores of one thread are late, and
//! where that is so in one run it is so in many: a lock that is handed on before its data are in
//! memory loses them whoever comes next. Searches that go level by level, or that ask about SC as a
//! whole before they hold back the next store, meet such a run late if there are many threads. So
//! here one thread is chosen, or all, under PSO also one address, and stores of that choice stay in
//! the buffer until nothing else can be done, or now and then a while less; all other stores reach
//! memory at once. Threads take turns after some steps each. Each choice is tried with several such
//! schedules. They are scattered by a hash, but are the same each time.
//!
//! It knows only violations. What it finds is a run of the machine, which is checked as every run is.
//!
//! Cost: a fraction of a microsecond per step, at most [`MOST_STEPS`] of them, and no memory.

use weakspot_core::machine::{Entry, FailureKind, Local, Machine, Schedule, State, Step};
use weakspot_core::{
    Evidence, Instr, Limit, Limits, Model, PointId, Program, Progress, ThreadId, Value, Verdict,
    Violation, certify,
};

use crate::answer::Reach;
use crate::meter::Meter;

/// Steps of all runs together.
const MOST_STEPS: u64 = 400_000;
/// Steps of one run.
const LONGEST: usize = 4_000;
/// How many steps a thread takes at a time, on average.
const TURN: u64 = 8;
/// Among how many steps one lets a late store go.
const PATIENCE: u64 = 64;

/// Whose stores are late, and where to: anybody's and anywhere where nothing is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Late {
    thread: Option<ThreadId>,
    addr: Option<Value>,
}

/// A violation, if one is found soon. `None` says nothing.
pub(crate) fn decided(
    program: &Program,
    model: Model,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Option<Reach> {
    let mut meter = Meter::new(*limits, progress);
    let (violation, run) = violation(program, model, &mut meter).ok()??;
    Some(Reach {
        verdict: Verdict::Violated,
        violation: Some(violation),
        evidence: Some(Evidence::Run(run)),
        states: meter.states,
        algorithm: "late",
    })
}

fn violation(
    program: &Program,
    model: Model,
    meter: &mut Meter<'_>,
) -> Result<Option<(Violation, Schedule)>, Limit> {
    let machine = Machine { program, model };
    let mut choices = vec![Late { thread: None, addr: None }];
    let mut inits = machine.initial_values();
    for number in 0.. {
        let init = inits.next().or_else(|| {
            inits = machine.initial_values();
            inits.next()
        });
        let Some(init) = init.filter(|_| meter.states < MOST_STEPS) else { break };
        // Choices are found on the way.
        let mut i = 0;
        while let Some(&late) = choices.get(i) {
            i += 1;
            let state = machine.initial_state(&init);
            let hash = mixed(number << 32 | i as u64);
            let mut walk = Walk { machine, late, state, steps: Vec::new(), hash, at: 0 };
            if let Some(violation) = walk.go(&mut choices, meter)? {
                return Ok(Some((violation, Schedule { init, steps: walk.steps })));
            }
        }
    }
    Ok(None)
}

/// A number that has nothing to do with `n` (the last step of splitmix64).
fn mixed(n: u64) -> u64 {
    let z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 31)
}

/// One run.
struct Walk<'p> {
    machine: Machine<'p>,
    late: Late,
    state: State,
    steps: Vec<Step>,
    hash: u64,
    /// The number of the thread whose turn it is.
    at: usize,
}

impl Walk<'_> {
    /// Goes on until something is violated, or nothing can be done, or for too long.
    fn go(
        &mut self,
        choices: &mut Vec<Late>,
        meter: &mut Meter<'_>,
    ) -> Result<Option<Violation>, Limit> {
        while self.steps.len() < LONGEST {
            meter.states += 1;
            meter.work(|| (0, 0))?;
            if self.is_forbidden() {
                return Ok(Some(Violation::ControlPoints));
            }
            match self.step() {
                Ok(true) => self.note_stores(choices),
                Ok(false) => return Ok(self.wrong_end()),
                Err(violation) => return Ok(violation),
            }
            while self.lets_go(false) {}
        }
        Ok(None)
    }

    /// Takes a step that is possible, if there is one.
    ///
    /// # Errors
    /// It fails: an assertion is violated, or what it does has no meaning, which others will tell.
    fn step(&mut self) -> Result<bool, Option<Violation>> {
        let n = self.state.threads.len();
        if self.below(PATIENCE) == 0 && self.lets_go(true) {
            return Ok(true);
        }
        if self.below(TURN) == 0 {
            self.at = self.below(n as u64) as usize;
        }
        for _ in 0..n {
            if self.execute(ThreadId::new(self.at))? {
                return Ok(true);
            }
            self.at = (self.at + 1) % n;
        }
        Ok(self.lets_go(true))
    }

    fn execute(&mut self, thread: ThreadId) -> Result<bool, Option<Violation>> {
        let point = self.state.threads[thread.index()].point;
        let edges = &self.machine.program.threads[thread.index()].points[point.index()].edges;
        let first = self.below(edges.len().max(1) as u64) as usize;
        for i in 0..edges.len() {
            let edge = (first + i) % edges.len();
            let choice = match edges[edge].instr {
                Instr::Choose { low, high, .. } => {
                    low.wrapping_add(self.below(high.abs_diff(low).saturating_add(1)) as Value)
                }
                _ => 0,
            };
            if self.take(Step::Execute { thread, edge: edge as u32, choice })? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn take(&mut self, step: Step) -> Result<bool, Option<Violation>> {
        match self.machine.advance(&mut self.state, step) {
            Ok(taken) => {
                if taken {
                    self.steps.push(step);
                }
                Ok(taken)
            }
            Err(failure) if failure.kind == FailureKind::Assertion => {
                self.steps.push(step);
                Err(Some(Violation::Assertion(failure)))
            }
            Err(_) => Err(None),
        }
    }

    /// A store reaches memory that is `late`, or that is not; whether there is one that can.
    fn lets_go(&mut self, late: bool) -> bool {
        let stores = self.state.threads.iter().enumerate().flat_map(|(t, local)| {
            let thread = ThreadId::new(t);
            local.buffer.iter().filter_map(move |entry| match *entry {
                Entry::Store { addr, .. } => Some((thread, addr)),
                Entry::Barrier => None,
            })
        });
        let stores: Vec<_> = stores.filter(|&(t, addr)| self.is_late(t, addr) == late).collect();
        let mut commits = stores.into_iter().map(|(thread, addr)| Step::Commit { thread, addr });
        commits.any(|commit| self.take(commit) == Ok(true))
    }

    fn is_late(&self, thread: ThreadId, addr: Value) -> bool {
        let Late { thread: t, addr: a } = self.late;
        t.is_none_or(|t| t == thread) && a.is_none_or(|a| a == addr)
    }

    /// What has been stored can be late: with all of its thread, under PSO also alone.
    fn note_stores(&self, choices: &mut Vec<Late>) {
        let Some(&Step::Execute { thread, .. }) = self.steps.last() else { return };
        if let Some(&Entry::Store { addr, .. }) = self.state.threads[thread.index()].buffer.last() {
            let thread = Some(thread);
            let one =
                (self.machine.model != Model::Tso).then_some(Late { thread, addr: Some(addr) });
            for late in [Some(Late { thread, addr: None }), one].into_iter().flatten() {
                if !choices.contains(&late) {
                    choices.push(late);
                }
            }
        }
    }

    fn is_forbidden(&self) -> bool {
        let threads = &self.state.threads;
        let is_at = |(p, local): (&Option<PointId>, &Local)| p.is_none_or(|p| p == local.point);
        let forbidden = &self.machine.program.forbidden;
        forbidden.iter().any(|points| points.iter().zip(threads).all(is_at))
    }

    /// Whether this is a final state that must not be.
    fn wrong_end(&self) -> Option<Violation> {
        let condition = self.machine.program.condition.as_ref()?;
        let wrong = certify::decisive(condition.quantifier, &Verdict::Violated)?;
        let is_wrong = self.machine.is_final(&self.state)
            && condition.prop.holds(&self.machine.observe(&self.state)) == wrong;
        is_wrong.then_some(Violation::FinalStates)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.hash = self.hash.wrapping_add(1);
        mixed(self.hash) % n
    }
}

#[cfg(test)]
mod tests {
    use weakspot_core::testing::{Rng, Size, random_program, scaled};
    use weakspot_core::{Drain, Silent, Thread, reference};

    use super::*;

    fn found(text: &str, model: Model) -> Option<Violation> {
        let parsed = weakspot_lang::parse(weakspot_lang::Format::Weak, text);
        let program = parsed.expect("a good program").program;
        let reach = decided(&program, model, &Limits::UNLIMITED, &mut Silent)?;
        let (verdict, evidence) = (&reach.verdict, reach.evidence.as_ref()?);
        let checked = match reach.violation {
            Some(Violation::FinalStates) => certify::condition(&program, model, verdict, evidence),
            _ => certify::safety(&program, model, verdict, evidence),
        };
        checked.expect("a run of the machine");
        reach.violation
    }

    /// Six threads, so that there are some hundred thousand states before the first final one.
    #[test]
    fn a_lock_that_is_handed_on_too_early() {
        let text = "
            const N = 6
            shared next, serving, count
            thread p[N] {
                var mine, c
                mine = fetch_add(next, 1)
                await (serving == mine)
                c = count
                count = c + 1
                serving = mine + 1
            }
            forall (count == N)
        ";
        assert_eq!(found(text, Model::Pso(Drain::All)), Some(Violation::FinalStates));
        assert_eq!(found(text, Model::Tso), None);
        assert_eq!(
            found(&text.replace("count = c + 1", "count = c"), Model::Tso),
            Some(Violation::FinalStates)
        );
    }

    #[test]
    fn control_points_and_assertions() {
        let text = "
            shared x, y
            thread p { var r; x = 1; r = y; assume(r == 0); cs: skip }
            thread q { var r; y = 1; r = x; assume(r == 0); cs: skip }
            never at (p.cs, q.cs)
        ";
        assert_eq!(found(text, Model::Tso), Some(Violation::ControlPoints));
        assert_eq!(found(&text.replace("r = ", "fence; r = "), Model::Tso), None);
        let text = "
            shared x, y
            thread p { x = 1; y = 1 }
            thread q { var r, s; r = y; s = x; assert(r == 0 || s == 1) }
        ";
        assert_eq!(found(text, Model::Tso), None);
        let said = found(text, Model::Pso(Drain::Own));
        assert!(matches!(said, Some(Violation::Assertion(_))), "{said:?}");
    }

    /// Random programs: what is found is there, and most of what there is is found.
    #[test]
    fn runs_are_runs_of_the_machine() {
        let size = Size { threads: 3, instrs: 5, total: 9, locs: 2, loops: true };
        let [mut all, mut found] = [0; 2];
        for seed in 0..scaled(80) as u64 {
            let mut program = random_program(&mut Rng::new(5_800_000 + seed), size);
            let last = |t: &Thread| Some(PointId::new(t.points.len() - 1));
            program.forbidden = vec![program.threads.iter().map(last).collect()];
            for model in [Model::Tso, Model::Pso(Drain::All), Model::Pso(Drain::Own)] {
                let Some(known) = reference::reachable(&program, model, 3_000) else { continue };
                all += usize::from(known.forbidden);
                let Some(reach) = decided(&program, model, &Limits::UNLIMITED, &mut Silent) else {
                    continue;
                };
                assert!(known.forbidden, "seed {seed}");
                let evidence = reach.evidence.expect("a run");
                let checked = certify::safety(&program, model, &reach.verdict, &evidence);
                assert_eq!(checked, Ok(()), "seed {seed}");
                found += 1;
            }
        }
        assert!(found > all * 9 / 10, "{found} of {all}");
    }
}
