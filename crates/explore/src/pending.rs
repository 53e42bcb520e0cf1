//! Robustness by one search for all pairs at once, from the completeness theorem of the
//! monitoring paper (section 4): explore SC runs, guess one store, and carry along only what has
//! to be known about it while it is pending. `docs/robustness.md` proves that this is exact.
//!
//! Carried along: whose store it is (`p`) and where it goes (`a`); per thread one bit, some event
//! of it happens after the store; per location whether its last write, or some read since,
//! happens after the store, and whether a later store of `p` waits behind the pending one. The
//! store is pending until a fence or update of `p`, or until another thread accesses `a` or a
//! location where a store waits behind it. A thread with an event after the store that accesses
//! `a` closes a cycle: under the model that access can take effect before the store does.
//!
//! An atomic block counts as one event. When another thread enters one, it may be the block that
//! closes the cycle; then it runs on the memory without the pending store and those that wait
//! behind it, whose old values are carried along for that.
//!
//! Cost: the SC states, times what is carried along.

use rustc_hash::FxHashSet;
use weakspot_core::certify::Rejected;
use weakspot_core::machine::{Failure, Schedule, Step};
use weakspot_core::{
    Drain, Evidence, Fence, Instr, Limits, Model, Program, Progress, ThreadId, Verdict,
};

use crate::independence::{Access, future, in_loop};
use crate::memory::loc_bit;
use crate::meter::Meter;
use crate::packed::{Ended, Expanded, Plan, Sleep, Successors, System, search};
use crate::plain_pending::delay;
use crate::reach::NoAnswer;
use crate::robust::Robust;
use crate::threads::{Act, Kind, Missing, Threads};

/// The search as a system.
struct Pending<'p> {
    program: &'p Program,
    model: Model,
    n: usize,
    /// The program has atomic blocks.
    blocks: bool,
    future: Vec<Vec<Access>>,
    in_loop: Vec<Vec<bool>>,
    /// Per thread and point whether a store just before it can be overtaken by what follows.
    overtaken: Vec<Vec<bool>>,
}

// A row: the local states, then these fields, then per location the number of its value, its
// flags, and, in programs with atomic blocks, the number of its value without pending stores.
/// Who holds the lock, plus one.
const OWNER: usize = 0;
/// Whose store is pending, plus one; 0 before the guess.
const THREAD: usize = 1;
/// Where it goes, plus one.
const LOC: usize = 2;
/// The threads with an event after it.
const AFTER: usize = 3;
/// `FENCED` and `LAST`.
const BITS: usize = 4;
const FIELDS: usize = 5;
/// Fields per location.
const PER_LOC: usize = 3;

/// A store-store fence followed the pending store.
const FENCED: u32 = 1;
/// The open block runs on the memory without the pending store.
const LAST: u32 = 2;

// Flags of a location.
/// A read since the last write happens after the store.
const READ: u32 = 1;
/// The last write happens after the store.
const WRITTEN: u32 = 2;
/// A store waits behind the pending one.
const WAITS: u32 = 4;
/// The open block has read it.
const BLOCK_READ: u32 = 8;
/// The open block has written it.
const BLOCK_WROTE: u32 = 16;

/// Decides robustness against `model`.
pub(crate) fn robust(
    program: &Program,
    model: Model,
    plan: Plan,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Robust, NoAnswer> {
    let mut meter = Meter::new(*limits, progress);
    let mut threads = Threads::new(program, true);
    let system = Pending::new(program, model, &threads);
    let initial = system.initial(&mut threads).map_err(NoAnswer::Fault)?;
    let found = search(&system, threads, initial, plan, &mut meter);
    let states = found.states;
    let mut threads = found.tables;
    let (verdict, evidence, reordered) = match found.ended {
        Ended::Fault(failure) => return Err(NoAnswer::Fault(failure)),
        Ended::Limit(limit) => (Verdict::Unknown(limit), None, None),
        Ended::Complete => (Verdict::Holds, Some(Evidence::Exhausted { states }), None),
        Ended::Found(rows) => {
            let wrong = NoAnswer::Rejected(Rejected::WrongState);
            let (run, store) = system.run(&mut threads, &rows).ok_or(wrong.clone())?;
            let (run, reordered) = delay(program, model, &run, store).ok_or(wrong)?;
            (Verdict::Violated, Some(Evidence::Run(run)), Some(reordered))
        }
    };
    Ok(Robust { verdict, evidence, reordered, states, queries: 1 })
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
    /// A cycle is closed by these steps.
    Goal(Vec<Step>),
}

impl From<Missing> for Stopped {
    fn from(missing: Missing) -> Stopped {
        Stopped::Missing(missing)
    }
}

/// What an event does to the pending store.
#[derive(PartialEq, Eq)]
enum Seen {
    Pending,
    Committed,
    Violation,
}

impl<'p> Pending<'p> {
    fn new(program: &'p Program, model: Model, threads: &Threads<'p>) -> Pending<'p> {
        let n = program.threads.len();
        let edges = program.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
        Pending {
            program,
            model,
            n,
            blocks: edges.filter(|e| e.instr == Instr::Lock).count() > 0,
            future: (0..n).map(|t| future(program, threads, t)).collect(),
            in_loop: (0..n).map(|t| in_loop(program, t)).collect(),
            overtaken: (0..n).map(|t| overtaken(program, model, t)).collect(),
        }
    }

    fn initial(&self, threads: &mut Threads<'_>) -> Result<Successors, Failure> {
        let mut rows = vec![Vec::new()];
        for t in 0..self.n {
            let mut starts = threads.initial(t)?;
            for start in &mut starts {
                *start = loop {
                    match self.past_fences(threads, t, *start) {
                        Ok(start) => break start,
                        Err(missing) => threads.resolve(missing)?,
                    }
                };
            }
            rows = extend(rows, &starts);
        }
        rows.iter_mut().for_each(|row| row.resize(self.n + FIELDS, 0));
        for loc in &self.program.locs {
            let numbers: Vec<u32> = (0..loc.init.len() as u32).collect();
            rows = extend(rows, &numbers);
            rows.iter_mut().for_each(|row| row.extend([0, 0]));
        }
        let mut initial = Successors::default();
        for row in rows {
            initial.push(&row, 0);
        }
        Ok(initial)
    }

    fn value_at(&self, loc: u32) -> usize {
        self.n + FIELDS + PER_LOC * loc as usize
    }

    fn flags_at(&self, loc: u32) -> usize {
        self.value_at(loc) + 1
    }

    fn old_at(&self, loc: u32) -> usize {
        self.value_at(loc) + 2
    }

    fn locs(&self, row: &[u32]) -> std::ops::Range<u32> {
        0..((row.len() - self.n - FIELDS) / PER_LOC) as u32
    }

    /// Fences mean nothing to a thread that has no store pending: it passes them at once.
    fn past_fences(&self, threads: &Threads<'_>, t: usize, mut local: u32) -> Result<u32, Missing> {
        for _ in 0..16 {
            let [act] = threads.acts(t, local)? else { break };
            let (Kind::Fence(_), (_, [to])) = (act.kind, threads.after(t, local, 0, *act, 0)?)
            else {
                break;
            };
            local = *to;
        }
        Ok(local)
    }

    /// All moves, or those that suffice if sleep sets are given.
    fn moves(
        &self,
        threads: &Threads<'_>,
        row: &[u32],
        sleep: Option<Sleep>,
        sink: &mut impl Sink,
    ) -> Result<(), Stopped> {
        let owner = row[self.n + OWNER];
        if owner != 0 {
            return self.move_thread(threads, row, owner as usize - 1, &|_| 0, sink);
        }
        let Some(sleep) = sleep.filter(|_| self.n <= 32) else {
            return (0..self.n).try_for_each(|t| self.move_thread(threads, row, t, &|_| 0, sink));
        };
        let mut next = [Access::default(); 32];
        for t in 0..self.n {
            let acts = threads.acts(t, row[t])?;
            next[t] = acts.iter().fold(Access::default(), |a, act| a.with(Access::of(act)));
        }
        if row[self.n + THREAD] != 0 && self.is_hopeless(threads, row) {
            return Ok(());
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

    /// Nobody else will ever access the location of the pending store.
    fn is_hopeless(&self, threads: &Threads<'_>, row: &[u32]) -> bool {
        let p = row[self.n + THREAD] as usize - 1;
        let bit = loc_bit(row[self.n + LOC] - 1);
        (0..self.n).filter(|&t| t != p).all(|t| {
            let future = self.future[t][threads.point(t, row[t]).index()];
            (future.reads | future.writes) & bit == 0
        })
    }

    /// Whether `t` is a persistent set: nobody else can ever conflict with what it may do next,
    /// and what it does next has nothing to do with the pending store.
    fn may_move_alone(&self, threads: &Threads<'_>, row: &[u32], t: usize, next: Access) -> bool {
        let pending = row[self.n + THREAD];
        let point = threads.point(t, row[t]);
        let touches_pending = || {
            self.locs(row).any(|l| {
                (next.reads | next.writes) & loc_bit(l) != 0
                    && (row[self.flags_at(l)] != 0 || row[self.n + LOC] == l + 1)
            })
        };
        next != Access::default()
            && next != Access::ALL
            && pending != t as u32 + 1
            && !self.in_loop[t][point.index()]
            && (pending == 0 || !touches_pending())
            && (0..self.n)
                .filter(|&u| u != t)
                .all(|u| !self.future[u][threads.point(u, row[u]).index()].conflicts(next))
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
        let owner = row[self.n + OWNER];
        for (i, &act) in threads.acts(t, local)?.iter().enumerate() {
            let blocked = match act.kind {
                Kind::Assertion => true,
                Kind::Lock => owner != 0,
                Kind::Unlock => owner == 0,
                _ => false,
            };
            if blocked {
                continue;
            }
            let first = Step::Execute { thread, edge: act.edge, choice: act.choice };
            let seen = row.get(self.value_at(act.loc)).copied().unwrap_or(0);
            let (stored, targets) = threads.after(t, local, i, act, seen)?;
            let mut next = row.to_vec();
            match act.kind {
                Kind::Lock => next[self.n + OWNER] = t as u32 + 1,
                Kind::Unlock => next[self.n + OWNER] = 0,
                Kind::Write | Kind::Update => next[self.value_at(act.loc)] = stored,
                _ => {}
            }
            let mut nexts = Vec::new();
            if row[self.n + THREAD] == 0 {
                if act.kind == Kind::Write && owner == 0 {
                    let to =
                        self.program.edge(thread, threads.point(t, local), act.edge as usize).to;
                    if self.overtaken[t][to.index()] {
                        nexts.push(self.guess(&next, t, act.loc, seen));
                    }
                }
                nexts.push(next);
            } else {
                if act.kind == Kind::Lock && row[self.n + THREAD] != t as u32 + 1 {
                    let mut last = next.clone();
                    for loc in self.locs(row) {
                        if row[self.n + LOC] == loc + 1 || row[self.flags_at(loc)] & WAITS != 0 {
                            last[self.value_at(loc)] = row[self.old_at(loc)];
                        }
                    }
                    last[self.n + BITS] |= LAST;
                    nexts.push(last);
                }
                match self.sees(&mut next, t, act, seen) {
                    Seen::Pending => nexts.push(next),
                    Seen::Committed => {}
                    Seen::Violation => return Err(Stopped::Goal(vec![first])),
                }
            }
            let asleep = asleep(&act);
            for mut next in nexts {
                let pending = next[self.n + THREAD] == t as u32 + 1;
                for &target in targets {
                    next[t] = if pending { target } else { self.past_fences(threads, t, target)? };
                    let target = next[t];
                    let steps = || {
                        let mut steps = vec![first];
                        if let Some(from) = threads.right_after(t, local, act, seen) {
                            steps.extend(threads.silent_path(t, from, target, !pending));
                        }
                        steps
                    };
                    if owner == 0 && next[self.n + OWNER] != 0 {
                        self.run_block(threads, &next, t, &steps, sink)?;
                    } else {
                        sink.push(&next, asleep, &steps);
                    }
                }
            }
        }
        Ok(())
    }

    /// `row`, right after a store of `t` to `loc`, with that store pending.
    fn guess(&self, row: &[u32], t: usize, loc: u32, old: u32) -> Vec<u32> {
        let mut row = row.to_vec();
        row[self.n + THREAD] = t as u32 + 1;
        row[self.n + LOC] = loc + 1;
        row[self.n + AFTER] = 1 << t;
        row[self.old_at(loc)] = if self.blocks { old } else { 0 };
        row
    }

    /// What `act` of thread `t`, which saw value number `seen`, does to the store that is pending
    /// in `row`.
    fn sees(&self, row: &mut [u32], t: usize, act: Act, seen: u32) -> Seen {
        let pso = matches!(self.model, Model::Pso(_));
        let own = row[self.n + THREAD] == t as u32 + 1;
        let loc = row[self.n + LOC] - 1;
        let fenced = row[self.n + BITS] & FENCED != 0;
        let writes = match act.kind {
            Kind::Read => false,
            Kind::Write => true,
            Kind::Update => {
                let waits = self.model != Model::Pso(Drain::Own) || fenced || act.loc == loc;
                if own && waits {
                    return Seen::Committed;
                }
                true
            }
            Kind::Fence(Fence::Full) | Kind::Lock if own => return Seen::Committed,
            Kind::Fence(Fence::StoreStore) if own && pso => {
                row[self.n + BITS] |= FENCED;
                return Seen::Pending;
            }
            Kind::Unlock => return self.leave_block(row, t, loc),
            _ => return Seen::Pending,
        };
        let hits = !own && act.loc == loc;
        let inside = row[self.n + OWNER] != 0;
        let after = |row: &[u32]| row[self.n + AFTER] & 1 << t != 0;
        if hits && !inside && after(row) {
            return Seen::Violation;
        }
        let flags = row[self.flags_at(act.loc)];
        let last = row[self.n + BITS] & LAST != 0;
        if !own && !last && (hits || flags & WAITS != 0) {
            return Seen::Committed;
        }
        if !hits && (flags & WRITTEN != 0 || writes && flags & READ != 0) {
            row[self.n + AFTER] |= 1 << t;
        }
        let after = after(row);
        let flags = &mut row[self.flags_at(act.loc)];
        if inside {
            *flags |= if writes { BLOCK_WROTE } else { BLOCK_READ };
        }
        if own && writes && act.loc != loc && (!pso || fenced) && *flags & WAITS == 0 {
            *flags |= WAITS;
            row[self.old_at(act.loc)] = if self.blocks { seen } else { 0 };
        }
        let flags = &mut row[self.flags_at(act.loc)];
        if own && act.loc == loc || *flags & WAITS != 0 {
            // Nobody else gets to see these before the store has reached memory.
        } else if after {
            mark(flags, writes);
        } else if writes {
            *flags &= !(WRITTEN | READ);
        }
        if *flags & WAITS != 0 {
            *flags &= !(WRITTEN | READ);
        }
        self.forget(row);
        Seen::Pending
    }

    fn leave_block(&self, row: &mut [u32], t: usize, loc: u32) -> Seen {
        let after = row[self.n + AFTER] & 1 << t != 0;
        if after && row[self.flags_at(loc)] & (BLOCK_READ | BLOCK_WROTE) != 0 {
            return Seen::Violation;
        }
        if row[self.n + BITS] & LAST != 0 {
            return Seen::Committed;
        }
        for loc in self.locs(row) {
            let flags = &mut row[self.flags_at(loc)];
            if after && *flags & BLOCK_READ != 0 {
                mark(flags, false);
            }
            if after && *flags & BLOCK_WROTE != 0 {
                mark(flags, true);
            }
            *flags &= !(BLOCK_READ | BLOCK_WROTE);
        }
        self.forget(row);
        Seen::Pending
    }

    /// When every thread has an event after the store, it no longer matters where they come from.
    fn forget(&self, row: &mut [u32]) {
        let all = ((1u64 << self.n) - 1) as u32;
        if row[self.n + AFTER] == all {
            for loc in self.locs(row) {
                row[self.flags_at(loc)] &= !(READ | WRITTEN);
            }
        }
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
        let mut todo = vec![(row.to_vec(), Vec::new())];
        let mut seen = FxHashSet::from_iter([row.to_vec()]);
        while let Some((row, before)) = todo.pop() {
            let whole = |before: &[Step]| [&steps()[..], before].concat();
            if seen.len() > 1_000 {
                sink.push(&row, 0, &|| whole(&before));
                continue;
            }
            let mut inner = WithSteps::new();
            self.move_thread(threads, &row, t, &|_| 0, &mut inner).map_err(|s| match s {
                Stopped::Goal(more) => Stopped::Goal([whole(&before), more].concat()),
                missing => missing,
            })?;
            for (row, more) in inner {
                let before = [&before[..], &more].concat();
                if row[self.n + OWNER] == 0 {
                    sink.push(&row, 0, &|| whole(&before));
                } else if seen.insert(row.clone()) {
                    todo.push((row, before));
                }
            }
        }
        Ok(())
    }

    /// The SC run through `rows` to the access that closes the cycle, and the index of the store.
    fn run(&self, threads: &mut Threads<'_>, rows: &[Vec<u32>]) -> Option<(Schedule, usize)> {
        let width = self.width(threads);
        let full = |row: &[u32]| {
            let mut row = row.to_vec();
            row.resize(width.max(row.len()), 0);
            row
        };
        let first = full(rows.first()?);
        let value = |l| threads.locs.value(l, first[self.value_at(l)]);
        let init = (0..self.program.locs.len() as u32).map(value).collect();
        let mut steps = Vec::new();
        for t in 0..self.n {
            let start = threads.start(t)?;
            steps.extend(threads.silent_path(t, start, first[t], true));
        }
        let mut store = None;
        let mut at = first;
        let mut rest = rows[1..].iter();
        loop {
            let mut found = WithSteps::new();
            match self.moves(threads, &at, None, &mut found) {
                Err(Stopped::Goal(more)) => {
                    steps.extend(more);
                    return Some((Schedule { init, steps }, store?));
                }
                Err(Stopped::Missing(missing)) => threads.resolve(missing).ok()?,
                Ok(()) => {
                    let row = full(rest.next()?);
                    let (next, more) = found.into_iter().find(|(to, _)| *to == row)?;
                    if at[self.n + THREAD] == 0 && next[self.n + THREAD] != 0 {
                        store = Some(steps.len());
                    }
                    steps.extend(more);
                    at = next;
                }
            }
        }
    }
}

impl<'p> System for Pending<'p> {
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
        match self.moves(threads, row, Some(sleep), out) {
            Ok(()) => Expanded::Done,
            Err(Stopped::Goal(_)) => Expanded::Goal,
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

/// Notes an access that happens after the store. After a write it does not matter what was read.
fn mark(flags: &mut u32, writes: bool) {
    if writes {
        *flags = *flags & !READ | WRITTEN;
    } else if *flags & WRITTEN == 0 {
        *flags |= READ;
    }
}

/// Every row with every one of `values` at its end.
fn extend(rows: Vec<Vec<u32>>, values: &[u32]) -> Vec<Vec<u32>> {
    let with = |row: &Vec<u32>, v| [&row[..], &[v]].concat();
    rows.iter().flat_map(|row| values.iter().map(move |&v| with(row, v))).collect()
}

/// Per point of thread `t` whether a way leads from there, past nothing that would empty the
/// buffer, to an access that the model lets overtake an earlier store.
fn overtaken(program: &Program, model: Model, t: usize) -> Vec<bool> {
    let points = &program.threads[t].points;
    let mut overtaken = vec![false; points.len()];
    loop {
        let mut changed = false;
        for (p, point) in points.iter().enumerate().rev() {
            let now = point.edges.iter().any(|edge| match &edge.instr {
                Instr::Load { .. } => true,
                Instr::Store { .. } if model != Model::Tso => true,
                Instr::Update { .. } => model == Model::Pso(Drain::Own),
                Instr::Fence(Fence::Full) | Instr::Lock | Instr::Unlock => false,
                _ => overtaken[edge.to.index()],
            });
            changed |= now != overtaken[p];
            overtaken[p] = now;
        }
        if !changed {
            return overtaken;
        }
    }
}

#[cfg(test)]
mod tests {
    use weakspot_core::testing::{Size, check_programs};
    use weakspot_core::{Silent, certify};

    use super::*;
    use crate::packed::Order;
    use crate::plain_pending;

    /// Some of the programs count for ever.
    const LIMITS: Limits = Limits { time: None, memory: Some(4 << 20), buffer: 0, workers: 1 };
    const WEAK: [Model; 3] = [Model::Tso, Model::Pso(Drain::All), Model::Pso(Drain::Own)];

    /// The packed search, alone and with others, says what the plain one says.
    fn differs(program: &Program, model: Model) -> bool {
        let expected = plain_pending::search(program, model, &LIMITS, &mut Silent);
        let Ok(expected) = expected else { return false };
        if matches!(expected.verdict, Verdict::Unknown(_)) {
            return false;
        }
        // Workers that wait for each other at every level of a tiny search take their time.
        let workers = if expected.states.is_multiple_of(16) { vec![1, 2] } else { vec![1] };
        workers.into_iter().any(|workers| {
            let plan = Plan { order: Order::Breadth, workers, large: 4 };
            let answer = robust(program, model, plan, &LIMITS, &mut Silent);
            answer.is_ok_and(|answer| {
                answer.verdict != expected.verdict
                    || answer.evidence.is_none_or(|evidence| {
                        certify::robust(program, model, &answer.verdict, &evidence).is_err()
                    })
            })
        })
    }

    #[test]
    fn programs_with_loops_agree_with_the_plain_search() {
        let size = Size { threads: 3, instrs: 6, total: 14, locs: 3, loops: true };
        check_programs(4_000_000, 1_000, size, &WEAK, &differs);
    }

    #[test]
    fn more_threads_agree_with_the_plain_search() {
        let size = Size { threads: 5, instrs: 4, total: 12, locs: 4, loops: false };
        check_programs(4_100_000, 500, size, &WEAK, &differs);
    }
}
