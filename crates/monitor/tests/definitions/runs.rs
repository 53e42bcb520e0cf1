//! SC executions of programs as logs.

use weakspot_core::machine::{Entry, Machine, Outcome, Schedule, State, Step};
use weakspot_core::testing::{Rng, Size, random_program, scaled, show, shrink};
use weakspot_core::{
    DelayedRun, Edge, Fence, Instr, LogEvent, LogKind, LogLoc, LogTables, Model, Program, Thread,
    ThreadId,
};

/// One SC execution.
#[derive(Clone, Default)]
pub(crate) struct Run {
    /// What memory saw.
    pub(crate) events: Vec<LogEvent>,
    /// All steps, with the place of the event that each gave.
    steps: Vec<(Step, Option<usize>)>,
}

/// A random program without atomic blocks. Few of all programs break, so that these have two
/// threads with two accesses, and two of three have few fences and updates.
pub(crate) fn program(seed: u64, size: Size) -> Program {
    let mut rng = Rng::new(seed);
    loop {
        let mut program = random_program(&mut rng, size);
        let points = program.threads.iter_mut().flat_map(|t| &mut t.points);
        for edge in points.flat_map(|p| &mut p.edges) {
            let goes = match edge.instr {
                Instr::Lock | Instr::Unlock => true,
                Instr::Fence(_) | Instr::Update { .. } => !seed.is_multiple_of(3) && !rng.one_in(5),
                _ => false,
            };
            if goes {
                edge.instr = Instr::Nop;
            }
        }
        let access = |edge: &&Edge| {
            let instr = &edge.instr;
            matches!(instr, Instr::Load { .. } | Instr::Store { .. } | Instr::Update { .. })
        };
        let busy = |thread: &&Thread| {
            thread.points.iter().flat_map(|p| &p.edges).filter(access).count() > 1
        };
        if program.threads.iter().filter(busy).count() > 1 && program.locs.len() > 1 {
            return program;
        }
    }
}

/// Runs `fails` on `count` random programs; on the first failure panics with its seed and what is
/// left of the program after shrinking.
pub(crate) fn check(seed: u64, all: usize, size: Size, fails: &(dyn Fn(&Program) -> bool + Sync)) {
    let count = scaled(all) as u64;
    std::thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || {
                for seed in (seed + half..seed + count).step_by(2) {
                    let program = program(seed, size);
                    if fails(&program) {
                        panic!("seed {seed} fails:\n{}", show(&shrink(&program, fails)));
                    }
                }
            });
        }
    });
}

/// The names for the logs of a program: its locations do not overlap.
pub(crate) fn tables(program: &Program) -> LogTables {
    LogTables {
        threads: (0..program.threads.len()).map(|t| format!("P{t}")).collect(),
        locs: program
            .locs
            .iter()
            .map(|l| LogLoc { name: l.addr.to_string(), bytes: None })
            .collect(),
        sites: Vec::new(),
    }
}

/// Calls `each` with every SC execution of a program without loops and atomic blocks, as far as
/// it gets. Stops and returns false if there are more than `max` or if `each` does not go on.
pub(crate) fn for_each(program: &Program, max: usize, each: &mut dyn FnMut(&Run) -> bool) -> bool {
    let machine = Machine { program, model: Model::Sc };
    let mut left = max;
    let mut go_on = |run: &Run| {
        left = left.saturating_sub(1);
        left > 0 && each(run)
    };
    machine
        .initial_states()
        .iter()
        .all(|state| search(machine, state, &mut Run::default(), &mut go_on))
}

fn search(
    machine: Machine<'_>,
    state: &State,
    run: &mut Run,
    go_on: &mut dyn FnMut(&Run) -> bool,
) -> bool {
    let mut nexts = nexts(machine, state);
    // What memory does not see may as well come first; a thread that chooses has several ways.
    if let Some(&(first, None, _)) = nexts.iter().find(|(_, event, _)| event.is_none()) {
        nexts.retain(|(step, ..)| thread(*step) == thread(first));
    }
    if nexts.is_empty() {
        return go_on(run);
    }
    nexts.into_iter().all(|(step, event, next)| {
        run.push(step, event);
        let done = search(machine, &next, run, go_on);
        run.pop();
        done
    })
}

/// A random SC execution of at most `max` steps.
pub(crate) fn random(program: &Program, rng: &mut Rng, max: usize) -> Run {
    let machine = Machine { program, model: Model::Sc };
    let mut run = Run::default();
    let mut states = machine.initial_states();
    let mut state = states.swap_remove(rng.below(states.len()));
    while run.steps.len() < max {
        let mut nexts = nexts(machine, &state);
        if nexts.is_empty() {
            break;
        }
        let (step, event, next) = nexts.swap_remove(rng.below(nexts.len()));
        run.push(step, event);
        state = next;
    }
    run
}

fn thread(step: Step) -> ThreadId {
    match step {
        Step::Execute { thread, .. } | Step::Commit { thread, .. } => thread,
    }
}

fn nexts(machine: Machine<'_>, state: &State) -> Vec<(Step, Option<LogEvent>, State)> {
    let mut nexts = Vec::new();
    for step in machine.steps(state) {
        if let Outcome::Next(next) = machine.take(state, step) {
            nexts.push((step, event(machine.program, state, step), next));
        }
    }
    nexts
}

fn event(program: &Program, state: &State, step: Step) -> Option<LogEvent> {
    let Step::Execute { thread, edge, .. } = step else { return None };
    let local = &state.threads[thread.index()];
    let (kind, addr) = match &program.edge(thread, local.point, edge as usize).instr {
        Instr::Load { addr, .. } => (LogKind::Read, Some(addr)),
        Instr::Store { addr, .. } => (LogKind::Write, Some(addr)),
        Instr::Update { addr, .. } => (LogKind::Update, Some(addr)),
        Instr::Fence(Fence::Full) => (LogKind::Fence, None),
        Instr::Fence(Fence::StoreStore) => (LogKind::StoreFence, None),
        _ => return None,
    };
    let loc = addr.and_then(|addr| program.loc_at(addr.eval(&local.regs).ok()?));
    Some(LogEvent::new(thread.index() as u16, kind, loc.map_or(0, |loc| loc.0)))
}

impl Run {
    fn push(&mut self, step: Step, event: Option<LogEvent>) {
        self.steps.push((step, event.map(|_| self.events.len())));
        self.events.extend(event);
    }

    fn pop(&mut self) {
        if let Some((_, Some(_))) = self.steps.pop() {
            self.events.pop();
        }
    }

    /// A run with delayed stores as a schedule of the machine for its model.
    pub(crate) fn schedule(&self, program: &Program, run: &DelayedRun) -> Option<Schedule> {
        let machine = Machine { program, model: run.model };
        let init: Vec<i64> = program.locs.iter().map(|l| l.init[0]).collect();
        let mut state = machine.initial_state(&init);
        let mut steps = Vec::new();
        let mut take = |state: &mut State, step: Step| match machine.take(state, step) {
            Outcome::Next(next) => {
                *state = next;
                steps.push(step);
                Some(())
            }
            Outcome::Blocked | Outcome::Failed(_) => None,
        };
        let mut commits = run.commits.iter().peekable();
        for &(step, place) in &self.steps {
            while let Some(commit) = commits.next_if(|commit| Some(commit.before) == place) {
                let addr = program.locs[commit.loc as usize].addr;
                let thread = ThreadId(u32::from(commit.thread));
                take(&mut state, Step::Commit { thread, addr })?;
            }
            take(&mut state, step)?;
            if place == Some(run.access) {
                break;
            }
        }
        let first = usize::from(self.events[run.access].thread);
        let others = (0..program.threads.len()).filter(|&t| t != first);
        for t in [first].into_iter().chain(others) {
            while let Some(&Entry::Store { addr, .. }) = state.threads[t].buffer.first() {
                take(&mut state, Step::Commit { thread: ThreadId::new(t), addr })?;
            }
        }
        Some(Schedule { init, steps })
    }
}
