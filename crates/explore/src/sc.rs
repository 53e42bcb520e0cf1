//! Control points and assertions under SC, by explicit search over packed states.
//!
//! A row is the local state of each thread, who holds the lock, and the value of each location.
//! Reductions, each of which keeps the answer:
//! - steps that memory does not see are collapsed ([`threads`](crate::threads)), and an atomic
//!   block is one step;
//! - *persistent sets*: where no other thread can ever again conflict with what a thread may do
//!   next, only that thread moves. It must not stand at a point that the question names, nor
//!   come to one, nor be in a loop, so that nobody is put off for ever;
//! - *sleep sets*: of two independent moves one order is enough;

use rustc_hash::FxHashSet;
use weakspot_core::certify::Rejected;
use weakspot_core::machine::{Failure, Schedule, Step};
use weakspot_core::{Evidence, Limits, PointId, Program, Progress, ThreadId, Verdict, Violation};

use crate::memory::loc_bit;
use crate::meter::Meter;
use crate::packed::{Ended, Expanded, Plan, Sleep, Successors, System, search};
use crate::reach::{NoAnswer, Reach};
use crate::threads::{Act, Kind, Missing, Threads};

/// The question as a system to search.
pub(crate) struct Sc<'p> {
    program: &'p Program,
    n: usize,
    /// Per thread and point what the thread may access from there on.
    future: Vec<Vec<Access>>,
    /// Per thread and point whether the thread may come back to it.
    in_loop: Vec<Vec<bool>>,
}

/// Locations read and written, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
}

impl Access {
    const ALL: Access = Access { reads: u64::MAX, writes: u64::MAX };

    fn of(act: &Act) -> Access {
        let bit = loc_bit(act.loc);
        match act.kind {
            Kind::Read => Access { reads: bit, writes: 0 },
            Kind::Write => Access { reads: 0, writes: bit },
            Kind::Update => Access { reads: bit, writes: bit },
            Kind::Fence(_) | Kind::Silent => Access::default(),
            Kind::Lock | Kind::Unlock | Kind::Assertion => Access::ALL,
        }
    }

    fn with(self, other: Access) -> Access {
        Access { reads: self.reads | other.reads, writes: self.writes | other.writes }
    }

    fn conflicts(self, other: Access) -> bool {
        self.writes & (other.reads | other.writes) != 0 || self.reads & other.writes != 0
    }
}

/// Can a forbidden combination of control points be reached under SC, or an assertion fail?
pub(crate) fn reach(
    program: &Program,
    plan: Plan,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Reach, NoAnswer> {
    let mut meter = Meter::new(*limits, progress);
    let mut threads = Threads::new(program, false);
    let system = Sc::new(program, &threads);
    let initial = system.initial(&mut threads).map_err(NoAnswer::Fault)?;
    let found = search(&system, threads, initial, plan, &mut meter);
    let states = found.states;
    let mut threads = found.tables;
    let (verdict, violation, evidence) = match found.ended {
        Ended::Fault(failure) => return Err(NoAnswer::Fault(failure)),
        Ended::Limit(limit) => (Verdict::Unknown(limit), None, None),
        Ended::Complete => (Verdict::Holds, None, Some(Evidence::Exhausted { states })),
        Ended::Found(rows) => {
            let (run, violation) =
                system.run(&mut threads, &rows).ok_or(NoAnswer::Rejected(Rejected::WrongState))?;
            (Verdict::Violated, Some(violation), Some(Evidence::Run(run)))
        }
    };
    Ok(Reach { verdict, violation, evidence, states, algorithm: "sc" })
}

/// Hears of each successor: its row, the threads asleep there, and the steps that lead to it.
trait Sink {
    fn push(&mut self, row: &[u32], asleep: u32, steps: &dyn Fn() -> Vec<Step>);
}

impl Sink for Successors {
    fn push(&mut self, row: &[u32], asleep: u32, _: &dyn Fn() -> Vec<Step>) {
        Successors::push(self, row, asleep);
    }
}

/// Successors with the steps that lead to them.
type WithSteps = Vec<(Vec<u32>, Vec<Step>)>;

impl Sink for WithSteps {
    fn push(&mut self, row: &[u32], _: u32, steps: &dyn Fn() -> Vec<Step>) {
        Vec::push(self, (row.to_vec(), steps()));
    }
}

/// Why an expansion did not get to its end.
enum Stopped {
    Missing(Missing),
    Goal(Vec<Step>, Violation),
}

impl From<Missing> for Stopped {
    fn from(missing: Missing) -> Stopped {
        Stopped::Missing(missing)
    }
}

impl<'p> Sc<'p> {
    fn new(program: &'p Program, threads: &Threads<'p>) -> Sc<'p> {
        let n = program.threads.len();
        Sc {
            program,
            n,
            future: (0..n).map(|t| future(program, threads, t)).collect(),
            in_loop: (0..n).map(|t| in_loop(program, t)).collect(),
        }
    }

    fn initial(&self, threads: &mut Threads<'_>) -> Result<Successors, Failure> {
        let mut rows = vec![Vec::new()];
        for t in 0..self.n {
            let starts = threads.initial(t)?;
            rows = extend(rows, &starts);
        }
        rows = extend(rows, &[0]);
        for loc in &self.program.locs {
            let numbers: Vec<u32> = (0..loc.init.len() as u32).collect();
            rows = extend(rows, &numbers);
        }
        let mut initial = Successors::default();
        for row in rows {
            initial.push(&row, 0);
        }
        Ok(initial)
    }

    /// Whether the threads stand at a forbidden combination of control points.
    fn is_forbidden(&self, threads: &Threads<'_>, row: &[u32]) -> bool {
        self.program.forbidden.iter().any(|combination| {
            combination
                .iter()
                .enumerate()
                .all(|(t, point)| point.is_none_or(|p| threads.point(t, row[t]) == p))
        })
    }

    /// All moves, or those that suffice if sleep sets are given.
    fn moves(
        &self,
        threads: &Threads<'_>,
        row: &[u32],
        sleep: Option<Sleep>,
        sink: &mut impl Sink,
    ) -> Result<(), Stopped> {
        if self.is_forbidden(threads, row) {
            return Err(Stopped::Goal(Vec::new(), Violation::ControlPoints));
        }
        let owner = row[self.n];
        if owner != 0 {
            return self.move_thread(threads, row, owner as usize - 1, &|_| 0, sink);
        }
        let Some(sleep) = sleep.filter(|_| self.n <= 32) else {
            return (0..self.n).try_for_each(|t| self.move_thread(threads, row, t, &|_| 0, sink));
        };
        // What each thread may do next.
        let mut next = [Access::default(); 32];
        for t in 0..self.n {
            let acts = threads.acts(t, row[t])?;
            next[t] = acts.iter().fold(Access::default(), |a, act| a.with(Access::of(act)));
        }
        let alone = (0..self.n).find(|&t| self.may_move_alone(threads, row, t, next[t]));
        let mut covered = sleep.asleep;
        for t in (0..self.n).filter(|&t| alone.is_none_or(|a| a == t)) {
            if sleep.awake & 1 << t == 0 {
                continue;
            }
            let asleep = |act: &Act| {
                let own = Access::of(act);
                (0..self.n)
                    .filter(|&u| covered & 1 << u != 0 && !next[u].conflicts(own))
                    .fold(0, |mask, u| mask | 1 << u)
            };
            self.move_thread(threads, row, t, &asleep, sink)?;
            covered |= 1 << t;
        }
        Ok(())
    }

    /// Whether `t` is a persistent set: nobody else can ever conflict with what it may do next.
    fn may_move_alone(&self, threads: &Threads<'_>, row: &[u32], t: usize, next: Access) -> bool {
        let point = threads.point(t, row[t]);
        let named = |p: PointId| {
            self.program.forbidden.iter().any(|f| f.get(t).copied().flatten() == Some(p))
        };
        let constrained =
            |t: usize| self.program.forbidden.iter().any(|f| f.get(t).copied().flatten().is_some());
        next != Access::default()
            && next != Access::ALL
            && !self.in_loop[t][point.index()]
            && !named(point)
            && (!constrained(t)
                || threads.acts(t, row[t]).is_ok_and(|acts| {
                    acts.iter().enumerate().all(|(i, &act)| {
                        let seen = self.seen(row, act);
                        threads
                            .after(t, row[t], i, act, seen)
                            .is_ok_and(|(_, to)| to.iter().all(|&l| !named(threads.point(t, l))))
                    })
                }))
            && (0..self.n)
                .filter(|&u| u != t)
                .all(|u| !self.future[u][threads.point(u, row[u]).index()].conflicts(next))
    }

    fn seen(&self, row: &[u32], act: Act) -> u32 {
        row.get(self.n + 1 + act.loc as usize).copied().unwrap_or(0)
    }

    /// All moves of thread `t`.
    fn move_thread(
        &self,
        threads: &Threads<'_>,
        row: &[u32],
        t: usize,
        asleep: &dyn Fn(&Act) -> u32,
        sink: &mut impl Sink,
    ) -> Result<(), Stopped> {
        let thread = ThreadId::new(t);
        let local = row[t];
        for (i, &act) in threads.acts(t, local)?.iter().enumerate() {
            let first = Step::Execute { thread, edge: act.edge, choice: act.choice };
            let owner = row[self.n];
            let (owner, blocked) = match act.kind {
                Kind::Assertion => {
                    let span =
                        self.program.edge(thread, threads.point(t, local), act.edge as usize).span;
                    let kind = weakspot_core::machine::FailureKind::Assertion;
                    let failure = Failure { thread, span, kind };
                    return Err(Stopped::Goal(vec![first], Violation::Assertion(failure)));
                }
                Kind::Lock => (t as u32 + 1, owner != 0),
                Kind::Unlock => (0, owner == 0),
                _ => (owner, false),
            };
            if blocked {
                continue;
            }
            let seen = self.seen(row, act);
            let (stored, targets) = threads.after(t, local, i, act, seen)?;
            let mut next = row.to_vec();
            next[self.n] = owner;
            if matches!(act.kind, Kind::Write | Kind::Update) {
                next[self.n + 1 + act.loc as usize] = stored;
            }
            let asleep = asleep(&act);
            for &target in targets {
                next[t] = target;
                let steps = || {
                    let mut steps = vec![first];
                    if let Some(from) = threads.right_after(t, local, act, seen) {
                        steps.extend(threads.silent_path(t, from, target));
                    }
                    steps
                };
                if owner != 0 && row[self.n] == 0 {
                    self.run_block(threads, &next, t, &steps, sink)?;
                } else {
                    sink.push(&next, asleep, &steps);
                }
            }
        }
        Ok(())
    }

    /// Runs the atomic block that `t` has just entered to its end, without stops on the way. A
    /// very long one is given back in the middle and goes on from there.
    fn run_block(
        &self,
        threads: &Threads<'_>,
        row: &[u32],
        t: usize,
        steps: &dyn Fn() -> Vec<Step>,
        sink: &mut impl Sink,
    ) -> Result<(), Stopped> {
        let prefix = |mut stopped: Stopped, before: Vec<Step>| {
            if let Stopped::Goal(steps, _) = &mut stopped {
                steps.splice(0..0, before);
            }
            stopped
        };
        let mut todo = vec![(row.to_vec(), Vec::new())];
        let mut seen = FxHashSet::from_iter([row.to_vec()]);
        while let Some((row, before)) = todo.pop() {
            let whole = |before: &[Step]| [&steps()[..], before].concat();
            if self.is_forbidden(threads, &row) {
                return Err(Stopped::Goal(whole(&before), Violation::ControlPoints));
            }
            if seen.len() > 1_000 {
                sink.push(&row, 0, &|| whole(&before));
                continue;
            }
            let mut inner = WithSteps::new();
            self.move_thread(threads, &row, t, &|_| 0, &mut inner)
                .map_err(|s| prefix(s, whole(&before)))?;
            for (row, more) in inner {
                let before = [&before[..], &more].concat();
                if row[self.n] == 0 {
                    sink.push(&row, 0, &|| whole(&before));
                } else if seen.insert(row.clone()) {
                    todo.push((row, before));
                }
            }
        }
        Ok(())
    }

    /// The run through `rows` to what was looked for.
    fn run(&self, threads: &mut Threads<'_>, rows: &[Vec<u32>]) -> Option<(Schedule, Violation)> {
        let width = self.width(threads);
        let full = |row: &[u32]| {
            let mut row = row.to_vec();
            row.resize(width.max(row.len()), 0);
            row
        };
        let (first, rest) = rows.split_first()?;
        let init = (0..self.program.locs.len())
            .map(|l| threads.locs.value(l as u32, *first.get(self.n + 1 + l).unwrap_or(&0)))
            .collect();
        let mut steps = Vec::new();
        for t in 0..self.n {
            let start = threads.start(t)?;
            steps.extend(threads.silent_path(t, start, first[t]));
        }
        let mut at = full(first);
        let mut rest = rest.iter();
        loop {
            let mut found = WithSteps::new();
            match self.moves(threads, &at, None, &mut found) {
                // Without reductions a goal may show up earlier than in the search.
                Err(Stopped::Goal(more, violation)) => {
                    steps.extend(more);
                    return Some((Schedule { init, steps }, violation));
                }
                Err(Stopped::Missing(missing)) => threads.resolve(missing).ok()?,
                Ok(()) => {
                    let row = full(rest.next()?);
                    let (next, more) = found.into_iter().find(|(to, _)| *to == row)?;
                    steps.extend(more);
                    at = next;
                }
            }
        }
    }
}

impl<'p> System for Sc<'p> {
    type Tables = Threads<'p>;
    type Missing = Missing;

    fn width(&self, threads: &Threads<'p>) -> usize {
        self.n + 1 + threads.locs.len()
    }

    fn expand(
        &self,
        threads: &Threads<'p>,
        row: &[u32],
        sleep: Sleep,
        out: &mut Successors,
    ) -> Expanded<Missing> {
        match self.moves(threads, row, Some(sleep), out) {
            Ok(()) => Expanded::Done,
            Err(Stopped::Goal(..)) => Expanded::Goal,
            Err(Stopped::Missing(missing)) => Expanded::Missing(missing),
        }
    }

    fn resolve(&self, threads: &mut Threads<'p>, missing: Missing) -> Result<(), Failure> {
        threads.resolve(missing)
    }

    fn bytes(&self, threads: &Threads<'p>) -> usize {
        threads.bytes()
    }
}

/// Every row with every one of `values` at its end.
fn extend(rows: Vec<Vec<u32>>, values: &[u32]) -> Vec<Vec<u32>> {
    let with = |row: &Vec<u32>, v| [&row[..], &[v]].concat();
    rows.iter().flat_map(|row| values.iter().map(move |&v| with(row, v))).collect()
}

/// Per point of thread `t` what the thread may access from there on.
fn future(program: &Program, threads: &Threads<'_>, t: usize) -> Vec<Access> {
    use weakspot_core::Instr;
    let points = &program.threads[t].points;
    let mut future = vec![Access::default(); points.len()];
    loop {
        let mut changed = false;
        for (p, point) in points.iter().enumerate().rev() {
            for edge in &point.edges {
                let locs = threads.may_access(&edge.instr);
                let own = match edge.instr {
                    Instr::Load { .. } => Access { reads: locs, writes: 0 },
                    Instr::Store { .. } => Access { reads: 0, writes: locs },
                    _ => Access { reads: locs, writes: locs },
                };
                let all = future[p].with(own).with(future[edge.to.index()]);
                changed |= all != future[p];
                future[p] = all;
            }
        }
        if !changed {
            return future;
        }
    }
}

/// Per point of thread `t` whether a way leads back to it.
fn in_loop(program: &Program, t: usize) -> Vec<bool> {
    let points = &program.threads[t].points;
    (0..points.len())
        .map(|start| {
            let mut seen = vec![false; points.len()];
            let mut todo = vec![start];
            while let Some(p) = todo.pop() {
                for edge in &points[p].edges {
                    let to = edge.to.index();
                    if to == start {
                        return true;
                    }
                    if !std::mem::replace(&mut seen[to], true) {
                        todo.push(to);
                    }
                }
            }
            false
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use weakspot_core::testing::{Size, check_programs};
    use weakspot_core::{Model, PointId, Silent, certify, reference};

    use super::*;
    use crate::packed::Order;

    /// Breadth first and depth first, alone and with others from the first states on: the answer
    /// of the brute-force reference, with a run that replays.
    fn differs(program: &Program) -> bool {
        let Some(expected) = reference::reachable(program, Model::Sc, 100_000) else {
            return false;
        };
        let limits = Limits { time: None, memory: None, buffer: 0, workers: 1 };
        let plans = [(Order::Breadth, 1), (Order::Depth, 1), (Order::Breadth, 3)];
        // Workers that wait for each other at every level of a tiny search take their time.
        let plans = &plans[..if expected.states % 16 == 0 { 3 } else { 2 }];
        plans.iter().any(|&(order, workers)| {
            let plan = Plan { order, workers, large: 4 };
            let Ok(answer) = reach(program, plan, &limits, &mut Silent) else { return true };
            let violated = expected.forbidden || expected.failure.is_some();
            violated != (answer.verdict == Verdict::Violated)
                || answer.evidence.is_none_or(|evidence| {
                    certify::safety(program, Model::Sc, &answer.verdict, &evidence).is_err()
                })
        })
    }

    fn check(seed: u64, count: usize, size: Size) {
        check_programs(seed, count, size, &[Model::Sc], &|program, _| {
            let mut program = program.clone();
            // A combination in the middle of the threads, and one that leaves threads open.
            let middle = |t: &weakspot_core::Thread| Some(PointId::new(t.points.len() / 2));
            program.forbidden = vec![program.threads.iter().map(middle).collect()];
            let open = program.threads.iter().enumerate().map(|(i, t)| {
                let last = Some(PointId::new(t.points.len() - 1));
                if i % 2 == 0 { last } else { None }
            });
            let open = open.collect();
            differs(&program) || {
                program.forbidden = vec![open];
                differs(&program)
            }
        });
    }

    #[test]
    fn straight_programs_agree_with_the_reference() {
        check(3_000_000, 800, Size { threads: 4, instrs: 5, total: 12, locs: 4, loops: false });
    }

    #[test]
    fn loops_agree_with_the_reference() {
        check(3_100_000, 800, Size { threads: 3, instrs: 5, total: 12, locs: 3, loops: true });
    }
}
