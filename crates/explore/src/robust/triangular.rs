//! Triangular-race freedom (Owens, ECOOP 2010; `-trf` of Trencher): is there a run in which a
//! thread loads from memory while a store of it is pending, and another thread then writes to the
//! loaded location, see [`TriangularRace`]? It is a cheaper question than robustness, and a
//! program without such races is robust.
//!
//! It is enough to look at runs under SC that end with the race: the last store before the load
//! is the one that is pending, and from it on only its thread moves, up to the load; then the
//! other thread writes. `docs/how/attacks.md` says why. So this is an SC search with a guess. Once a
//! store is guessed to be pending:
//! - only its thread moves, reads its own store back, and neither stores nor fences;
//! - where it loads from memory and another thread stands before a write to that location, or
//!   before an atomic block that writes there, there is a race.
//!
//! Deviations: for Owens, atomic blocks are single instructions. Here a race with a block counts
//! as soon as the block writes. What a block does may depend on which stores have not reached
//! memory; so in programs with blocks further stores of the thread become pending, too.
//!
//! Cost: the SC states, times the stores that can be guessed and what their threads read then.

use weakspot_core::certify::Rejected;
use weakspot_core::machine::{Entry, Failure, Machine, Outcome, Schedule, Step};
use weakspot_core::{
    Certified, Claim, Effort, Evidence, Fence, Instr, Limits, Model, Program, Progress, ThreadId,
    TriangularRace, Verdict, triangular_race,
};

use crate::answer::NoAnswer;
use crate::flow::{in_loop, postorder};
use crate::memory::loc_bit;
use crate::meter::Meter;
use crate::sc::independence::{Access, future};
use crate::sc::moves::{
    Sink, Stopped, initial_rows, next_accesses, not_asleep, past_fences, steps_of,
};
use crate::sc::packed::{Ended, Expanded, Plan, Sleep, Successors, System, search};
use crate::sc::threads::{Act, ActKind, Missing, Threads};
use crate::sc::walk::{Walk, tell};

/// The answer.
#[derive(Clone, Debug)]
pub struct TriangularRaceFree {
    /// Holds if the program has no triangular race.
    pub verdict: Verdict,
    /// Why the verdict is to be believed; checked. `None` only for an unknown.
    pub evidence: Option<Evidence>,
    /// The race in the run of the evidence.
    pub race: Option<TriangularRace>,
    /// States that the search visited.
    pub states: u64,
}

impl Claim for TriangularRaceFree {
    type Evidence = Evidence;

    fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    fn evidence(&self) -> Option<&Evidence> {
        self.evidence.as_ref()
    }
}

/// Decides whether `program` is free of triangular races.
pub fn triangular_race_free(
    program: &Program,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Certified<TriangularRaceFree>, NoAnswer> {
    let limits = limits.begin();
    if !program.wides.is_empty() {
        let why = "triangular races are not asked about where accesses have different widths";
        return Err(NoAnswer::NotApplicable(why));
    }
    let answer = decide(program, Plan::breadth_first(limits.workers), &limits, progress)?;
    Certified::triangular_race_free(program, answer, Effort::within(&limits))
        .map_err(NoAnswer::Rejected)
}

fn decide(
    program: &Program,
    plan: Plan<'_>,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<TriangularRaceFree, NoAnswer> {
    let mut meter = Meter::new(*limits, progress);
    let mut threads = Threads::new(program, true);
    let system = Races::new(program, &threads);
    let initial =
        initial_rows(program, &mut threads, FIELDS, PER_LOC, &mut meter, &mut |_, row| Ok(row))
            .map_err(NoAnswer::Fault)?;
    let found = search(&system, threads, initial, plan, &mut meter);
    let states = found.states;
    let mut threads = found.tables;
    let (verdict, evidence, race) = match found.ended {
        Ended::Fault(failure) => return Err(NoAnswer::Fault(failure)),
        Ended::Limit(limit) => (Verdict::Unknown(limit), None, None),
        Ended::Complete => (Verdict::Holds, Some(Evidence::Exhausted { states }), None),
        Ended::Found(rows) => {
            let (run, race) =
                system.run(&mut threads, &rows).ok_or(NoAnswer::Rejected(Rejected::WrongState))?;
            (Verdict::Violated, Some(Evidence::Run(run)), Some(race))
        }
    };
    Ok(TriangularRaceFree { verdict, evidence, race, states })
}

/// The search as a system.
struct Races<'p> {
    program: &'p Program,
    n: usize,
    future: Vec<Vec<Access>>,
    in_loop: Vec<Vec<bool>>,
    /// The program has atomic blocks.
    blocks: bool,
    /// Per thread and point whether a way leads from there to a load that may be part of a race.
    loads: Vec<Vec<bool>>,
}

// A row: the local states, then these fields, then two fields per location: its value, and the
// number of the newest value that is pending, plus one.
/// Who holds the lock, plus one.
const OWNER: usize = 0;
/// Whose store is pending, plus one; 0 before the guess.
const THREAD: usize = 1;
/// The location that was loaded, plus one; 0 before the load.
const LOADED: usize = 2;
const FIELDS: usize = 3;
const PER_LOC: usize = 2;

impl<'p> Races<'p> {
    fn new(program: &'p Program, threads: &Threads<'p>) -> Races<'p> {
        let n = program.threads.len();
        let mut edges = program.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
        let blocks = edges.any(|e| e.instr == Instr::Lock);
        Races {
            program,
            n,
            future: (0..n).map(|t| future(program, threads, t)).collect(),
            in_loop: program.threads.iter().map(in_loop).collect(),
            blocks,
            loads: (0..n).map(|t| loads(program, t, blocks)).collect(),
        }
    }

    fn pending_at(&self, loc: u32) -> usize {
        self.value_at(loc) + 1
    }

    /// What the threads other than `t` may access from where they stand.
    fn others(&self, threads: &Threads<'_>, row: &[u32], t: usize) -> Access {
        (0..self.n).filter(|&u| u != t).fold(Access::default(), |a, u| {
            a.with(self.future[u][threads.point(u, row[u]).index()])
        })
    }

    /// Whether a store of `t` that leads to point `to` may be the one of a race.
    fn may_wait(&self, t: usize, act: &Act, threads: &Threads<'_>, local: u32) -> bool {
        let point = threads.point(t, local);
        let to = self.program.edge(ThreadId::new(t), point, act.edge as usize).to;
        act.kind == ActKind::Write && self.loads[t][to.index()]
    }

    /// Whether `t` is a persistent set: nobody else can ever conflict with what it may do next,
    /// and that is no store with which a race may begin.
    fn may_move_alone(
        &self,
        threads: &Threads<'_>,
        row: &[u32],
        t: usize,
        next: Access,
    ) -> Result<bool, Missing> {
        let point = threads.point(t, row[t]);
        let may_wait =
            threads.acts(t, row[t])?.iter().any(|act| self.may_wait(t, act, threads, row[t]));
        Ok(next != Access::default()
            && next != Access::ALL
            && !may_wait
            && !self.in_loop[t][point.index()]
            && !self.others(threads, row, t).conflicts(next))
    }

    /// All moves of thread `t` under SC.
    fn move_thread(
        &self,
        threads: &Threads<'_>,
        row: &[u32],
        t: usize,
        asleep: &dyn Fn(&Act) -> u32,
        sink: &mut impl Sink,
    ) -> Result<(), Stopped<()>> {
        let local = row[t];
        let owner = row[self.n + OWNER];
        for (i, &act) in threads.acts(t, local)?.iter().enumerate() {
            if act.kind == ActKind::Assertion || act.kind.has_to_wait(owner) {
                continue;
            }
            let seen = row.get(self.value_at(act.loc)).copied().unwrap_or(0);
            let (stored, targets) = threads.after(t, local, i, act, seen)?;
            let mut next = row.to_vec();
            match act.kind {
                ActKind::Lock => next[self.n + OWNER] = t as u32 + 1,
                ActKind::Unlock => next[self.n + OWNER] = 0,
                ActKind::Write | ActKind::Update => next[self.value_at(act.loc)] = stored,
                _ => {}
            }
            for &target in targets {
                next[t] = past_fences(threads, t, target)?;
                let target = next[t];
                sink.push(&next, asleep(&act), &|| {
                    steps_of(threads, t, (local, act, seen), target, true)
                })?;
            }
        }
        Ok(())
    }

    /// The stores of `t` that it can take now, as pending ones.
    fn guess(
        &self,
        threads: &Threads<'_>,
        row: &[u32],
        t: usize,
        sink: &mut impl Sink,
    ) -> Result<(), Stopped<()>> {
        let local = row[t];
        for (i, &act) in threads.acts(t, local)?.iter().enumerate() {
            if !self.may_wait(t, &act, threads, local) {
                continue;
            }
            let (stored, targets) = threads.after(t, local, i, act, 0)?;
            let mut next = row.to_vec();
            next[self.n + THREAD] = t as u32 + 1;
            next[self.pending_at(act.loc)] = stored + 1;
            for &target in targets {
                next[t] = target;
                sink.push(&next, 0, &|| steps_of(threads, t, (local, act, 0), target, false))?;
            }
        }
        Ok(())
    }

    /// The thread with the pending store goes on; where it loads from memory, the others may race.
    fn move_waiting(
        &self,
        threads: &Threads<'_>,
        row: &[u32],
        sink: &mut impl Sink,
    ) -> Result<(), Stopped<()>> {
        let t = row[self.n + THREAD] as usize - 1;
        let local = row[t];
        let writes = self.others(threads, row, t).writes;
        for (i, &act) in threads.acts(t, local)?.iter().enumerate() {
            let goes_on = match act.kind {
                ActKind::Read | ActKind::Silent | ActKind::Fence(Fence::StoreStore) => true,
                ActKind::Write => self.blocks,
                _ => false,
            };
            if !goes_on {
                continue;
            }
            let own = row.get(self.pending_at(act.loc)).copied().unwrap_or(0);
            let seen = match own {
                0 => row.get(self.value_at(act.loc)).copied().unwrap_or(0),
                own => own - 1,
            };
            let (stored, targets) = threads.after(t, local, i, act, seen)?;
            let mut next = row.to_vec();
            if act.kind == ActKind::Write {
                next[self.pending_at(act.loc)] = stored + 1;
            }
            for &target in targets {
                next[t] = target;
                sink.push(&next, 0, &|| steps_of(threads, t, (local, act, seen), target, false))?;
            }
            if act.kind == ActKind::Read && own == 0 && writes & loc_bit(act.loc) != 0 {
                next[self.n + LOADED] = act.loc + 1;
                // Where the thread stands, and what it has stored, matters no more.
                next[t] = 0;
                for at in (self.pending_at(0)..next.len()).step_by(PER_LOC) {
                    next[at] = 0;
                }
                let thread = ThreadId::new(t);
                let load = Step::Execute { thread, edge: act.edge, choice: 0 };
                sink.push(&next, 0, &|| vec![load])?;
            }
        }
        Ok(())
    }

    /// Whether another thread can write now to the location that was loaded, or begins or goes on
    /// with an atomic block.
    fn race(
        &self,
        threads: &Threads<'_>,
        row: &[u32],
        sink: &mut impl Sink,
    ) -> Result<(), Stopped<()>> {
        let waiting = row[self.n + THREAD] as usize - 1;
        let owner = row[self.n + OWNER] as usize;
        for t in (0..self.n).filter(|&t| t != waiting && (owner == 0 || owner == t + 1)) {
            for act in threads.acts(t, row[t])? {
                if matches!(act.kind, ActKind::Write | ActKind::Update)
                    && row[self.n + LOADED] == act.loc + 1
                {
                    let thread = ThreadId::new(t);
                    let step = Step::Execute { thread, edge: act.edge, choice: 0 };
                    return Err(Stopped::Goal(vec![step], ()));
                }
            }
            let locks = threads.acts(t, row[t])?.iter().any(|act| act.kind == ActKind::Lock);
            if locks || owner != 0 {
                let mut inside = Inside { sink, owner: self.n + OWNER };
                self.move_thread(threads, row, t, &|_| 0, &mut inside)?;
            }
        }
        Ok(())
    }

    /// The run under TSO through `rows` to the race, and the race.
    fn run(
        &self,
        threads: &mut Threads<'p>,
        rows: &[Vec<u32>],
    ) -> Option<(Schedule, TriangularRace)> {
        let found = tell(self, self.program, threads, rows)?;
        let before = rows.iter().take_while(|row| row[self.n + THREAD] == 0).count();
        let store = *found.at.get(before.checked_sub(1)?)?;
        let machine = Machine { program: self.program, model: Model::Tso };
        let mut state = machine.initial_state(&found.run.init);
        let mut steps = Vec::new();
        for (i, &step) in found.run.steps.iter().enumerate() {
            let Step::Execute { thread, .. } = step else { return None };
            let Outcome::Next(mut next) = machine.take(&state, step) else { return None };
            steps.push(step);
            let waits = i >= store && rows.last()?[self.n + THREAD] == thread.0 + 1;
            if let Some(&Entry::Store { addr, .. }) =
                next.threads[thread.index()].buffer.first().filter(|_| !waits)
            {
                let commit = Step::Commit { thread, addr };
                let Outcome::Next(committed) = machine.take(&next, commit) else { return None };
                next = committed;
                steps.push(commit);
            }
            state = next;
        }
        let run = Schedule { init: found.run.init, steps };
        let race = triangular_race(self.program, &run).ok()??;
        Some((run, race))
    }
}

/// Lets only those successors through in which somebody is in an atomic block.
struct Inside<'s, S> {
    sink: &'s mut S,
    owner: usize,
}

impl<S: Sink> Sink for Inside<'_, S> {
    fn push(
        &mut self,
        row: &[u32],
        asleep: u32,
        steps: &dyn Fn() -> Vec<Step>,
    ) -> Result<(), Missing> {
        if row[self.owner] != 0 {
            self.sink.push(row, asleep, steps)?;
        }
        Ok(())
    }
}

impl Walk for Races<'_> {
    fn value_at(&self, loc: u32) -> usize {
        self.n + FIELDS + PER_LOC * loc as usize
    }

    fn moves(
        &self,
        threads: &Threads<'_>,
        row: &[u32],
        sleep: Option<Sleep>,
        sink: &mut impl Sink,
    ) -> Result<(), Stopped<()>> {
        match (row[self.n + THREAD], row[self.n + LOADED], row[self.n + OWNER]) {
            (0, _, 0) => {}
            (0, _, owner) => {
                return self.move_thread(threads, row, owner as usize - 1, &|_| 0, sink);
            }
            (_, 0, _) => return self.move_waiting(threads, row, sink),
            _ => return self.race(threads, row, sink),
        }
        // Where others stand matters to a race, so that it has to be tried in every order.
        (0..self.n).try_for_each(|t| self.guess(threads, row, t, sink))?;
        let Some(sleep) = sleep.filter(|_| self.n <= 32) else {
            return (0..self.n).try_for_each(|t| self.move_thread(threads, row, t, &|_| 0, sink));
        };
        let access = |_, act: &Act| Access::of(act);
        let next = next_accesses(threads, row, self.n, access)?;
        let mut alone = None;
        for (t, &access) in next.iter().enumerate().take(self.n) {
            if alone.is_none() && self.may_move_alone(threads, row, t, access)? {
                alone = Some(t);
            }
        }
        not_asleep(sleep, &next[..self.n], alone, access, |t, asleep| {
            self.move_thread(threads, row, t, asleep, sink)
        })
    }
}

impl<'p> System for Races<'p> {
    type Tables = Threads<'p>;
    type Missing = Missing;

    fn width(&self, threads: &Threads<'p>) -> usize {
        self.n + FIELDS + PER_LOC * threads.locs.len()
    }

    fn expand(
        &self,
        threads: &Threads<'p>,
        row: &[u32],
        sleep: Sleep,
        out: &mut Successors,
    ) -> Expanded<Missing> {
        self.moves(threads, row, Some(sleep), out).into()
    }

    fn resolve(&self, threads: &mut Threads<'p>, missing: Missing) -> Result<(), Failure> {
        threads.resolve(missing)
    }

    fn bytes(&self, threads: &Threads<'p>) -> usize {
        threads.bytes()
    }
}

/// Per point of thread `t` whether a way leads from there to a load, past nothing that empties the
/// buffer, nor past stores unless those may become pending, too.
fn loads(program: &Program, t: usize, past_stores: bool) -> Vec<bool> {
    let points = &program.threads[t].points;
    let order = postorder(&program.threads[t]);
    let mut loads = vec![false; points.len()];
    loop {
        let mut changed = false;
        for &p in &order {
            let now = points[p].edges.iter().any(|edge| match &edge.instr {
                Instr::Load { .. } => true,
                Instr::Store { .. } => past_stores && loads[edge.to.index()],
                Instr::Update { .. } | Instr::Fence(Fence::Full) | Instr::Lock | Instr::Unlock => {
                    false
                }
                _ => loads[edge.to.index()],
            });
            changed |= now != loads[p];
            loads[p] = now;
        }
        if !changed {
            return loads;
        }
    }
}
