//! What the searches over rows of local states have in common: where they start, which moves are
//! left out because they lead to nothing new, atomic blocks in one go, and how successors come
//! with the steps that lead to them.
//!
//! *Sleep sets* (Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems",
//! 1996): once all moves of a thread from a row were taken, they need not be taken again after moves
//! of others that none of them conflicts with. A persistent set, here one thread that nobody will
//! ever conflict with, moves alone. Cost: the accesses that each thread may do next, per row.

use rustc_hash::FxHashSet;
use weakspot_core::machine::{Failure, Step};
use weakspot_core::{Limit, Program, ThreadId};

use crate::meter::Meter;
use crate::sc::independence::Access;
use crate::sc::packed::{Expanded, Sleep, Successors};
use crate::sc::threads::{Act, ActKind, Missing, Threads};

/// Hears of each successor: its row, the threads asleep there, and the steps that lead to it.
pub(crate) trait Sink {
    fn push(
        &mut self,
        row: &[u32],
        asleep: u32,
        steps: &dyn Fn() -> Vec<Step>,
    ) -> Result<(), Missing>;
}

impl Sink for Successors {
    fn push(&mut self, row: &[u32], asleep: u32, _: &dyn Fn() -> Vec<Step>) -> Result<(), Missing> {
        Successors::push(self, row, asleep);
        Ok(())
    }
}

/// Successors with the steps that lead to them.
pub(crate) type WithSteps = Vec<(Vec<u32>, Vec<Step>)>;

impl Sink for WithSteps {
    fn push(&mut self, row: &[u32], _: u32, steps: &dyn Fn() -> Vec<Step>) -> Result<(), Missing> {
        Vec::push(self, (row.to_vec(), steps()));
        Ok(())
    }
}

/// Why an expansion did not get to its end.
pub(crate) enum Stopped<G> {
    Missing(Missing),
    /// These steps lead to what is looked for.
    Goal(Vec<Step>, G),
}

impl<G> From<Missing> for Stopped<G> {
    fn from(missing: Missing) -> Stopped<G> {
        Stopped::Missing(missing)
    }
}

impl<G> From<Result<(), Stopped<G>>> for Expanded<Missing> {
    fn from(moves: Result<(), Stopped<G>>) -> Expanded<Missing> {
        match moves {
            Ok(()) => Expanded::Done,
            Err(Stopped::Goal(..)) => Expanded::Goal,
            Err(Stopped::Missing(missing)) => Expanded::Missing(missing),
        }
    }
}

/// What makes a row of one that has the local states and the locations.
pub(crate) type Finish<'a, 'p> =
    dyn FnMut(&mut Threads<'p>, Vec<u32>) -> Result<Vec<u32>, Failure> + 'a;

/// The rows in which a search starts: every choice of local states and of initial values, each as
/// `finish` makes it. `between` is how many fields, all 0, stand between the local states and the
/// locations, and `each` how many fields, the first of them its value, a location has. `Err` if a
/// limit was reached before the last row.
pub(crate) fn initial_rows<'p>(
    program: &Program,
    threads: &mut Threads<'p>,
    between: usize,
    each: usize,
    meter: &mut Meter<'_>,
    finish: &mut Finish<'_, 'p>,
) -> Result<Result<Successors, Limit>, Failure> {
    let mut starts = Vec::new();
    for t in 0..program.threads.len() {
        let mut all = threads.initial(t)?;
        for start in &mut all {
            *start = retry(threads, &mut |threads| past_fences(threads, t, *start))?;
        }
        starts.push(all);
    }
    let n = starts.len();
    let at = |loc: usize| n + between + each * loc;
    let sizes: Vec<usize> =
        starts.iter().map(Vec::len).chain(program.locs.iter().map(|l| l.init.len())).collect();
    let mut initial = Successors::default();
    if sizes.contains(&0) {
        return Ok(Ok(initial));
    }
    let mut choice = vec![0; sizes.len()];
    loop {
        // Addresses that are not declared may be known, too.
        let mut row = vec![0; at(threads.locs.len())];
        for (i, &c) in choice.iter().enumerate() {
            match starts.get(i) {
                Some(starts) => row[i] = starts[c],
                None => row[at(i - n)] = c as u32,
            }
        }
        let row = finish(threads, row)?;
        initial.push(&row, 0);
        // The store of the search will hold them, too.
        let usage = || (initial.len() as u64, (2 * initial.bytes() + threads.bytes()) as u64);
        if let Err(limit) = meter.long_work(usage) {
            return Ok(Err(limit));
        }
        // The last choice changes fastest.
        let Some(turn) = (0..choice.len()).rfind(|&i| choice[i] + 1 < sizes[i]) else {
            return Ok(Ok(initial));
        };
        choice[turn] += 1;
        choice[turn + 1..].fill(0);
    }
}

/// So many threads have sleep sets: they are kept as bits.
pub(crate) const MOST_ASLEEP: usize = 32;

/// Per thread what it may access next, by what each of its acts accesses. For up to
/// [`MOST_ASLEEP`] threads.
pub(crate) fn next_accesses(
    threads: &Threads<'_>,
    row: &[u32],
    n: usize,
    access: impl Fn(usize, &Act) -> Access,
) -> Result<[Access; MOST_ASLEEP], Missing> {
    let mut next = [Access::default(); MOST_ASLEEP];
    for (t, next) in next.iter_mut().enumerate().take(n) {
        *next = next_access(threads, row, t, &access)?;
    }
    Ok(next)
}

/// What a thread may access next, by what each of its acts accesses.
pub(crate) fn next_access(
    threads: &Threads<'_>,
    row: &[u32],
    t: usize,
    access: impl Fn(usize, &Act) -> Access,
) -> Result<Access, Missing> {
    let acts = threads.acts(t, row[t])?.iter();
    Ok(acts.fold(Access::default(), |a, act| a.with(access(t, act))))
}

/// Takes the moves of one thread after the other, or of `alone` only, but for those that are
/// asleep. `take` is given a thread and which threads are asleep after each of its acts.
pub(crate) fn not_asleep<E>(
    sleep: Sleep,
    next: &[Access],
    alone: Option<usize>,
    access: impl Fn(usize, &Act) -> Access,
    mut take: impl FnMut(usize, &dyn Fn(&Act) -> u32) -> Result<(), E>,
) -> Result<(), E> {
    let mut covered = sleep.asleep;
    for t in (0..next.len()).filter(|&t| alone.is_none_or(|a| a == t)) {
        if sleep.awake & 1 << t == 0 {
            continue;
        }
        let asleep = |act: &Act| {
            let own = access(t, act);
            (0..next.len())
                .filter(|&u| covered & 1 << u != 0 && !next[u].conflicts(own))
                .fold(0, |mask, u| mask | 1 << u)
        };
        take(t, &asleep)?;
        covered |= 1 << t;
    }
    Ok(())
}

/// Runs the atomic block that a thread has just entered to its end, without stops on the way. A
/// very long one is given back in the middle and goes on from there. `owner` is the field that is
/// 0 outside of blocks, and `steps` lead to `row`.
pub(crate) fn run_block<G>(
    row: &[u32],
    owner: usize,
    steps: &dyn Fn() -> Vec<Step>,
    sink: &mut impl Sink,
    goal: impl Fn(&[u32]) -> Option<G>,
    moves: impl Fn(&[u32], &mut WithSteps) -> Result<(), Stopped<G>>,
) -> Result<(), Stopped<G>> {
    let mut todo = vec![(row.to_vec(), Vec::new())];
    let mut seen = FxHashSet::from_iter([row.to_vec()]);
    while let Some((row, before)) = todo.pop() {
        let whole = |before: &[Step]| [&steps()[..], before].concat();
        if let Some(goal) = goal(&row) {
            return Err(Stopped::Goal(whole(&before), goal));
        }
        if seen.len() > 1_000 {
            sink.push(&row, 0, &|| whole(&before))?;
            continue;
        }
        let mut inner = WithSteps::new();
        moves(&row, &mut inner).map_err(|s| match s {
            Stopped::Goal(more, goal) => Stopped::Goal([whole(&before), more].concat(), goal),
            missing => missing,
        })?;
        for (row, more) in inner {
            let before = [&before[..], &more].concat();
            if row[owner] == 0 {
                sink.push(&row, 0, &|| whole(&before))?;
            } else if seen.insert(row.clone()) {
                todo.push((row, before));
            }
        }
    }
    Ok(())
}

/// Fences mean nothing to a thread that has no store pending: it passes them at once.
pub(crate) fn past_fences(threads: &Threads<'_>, t: usize, mut local: u32) -> Result<u32, Missing> {
    for _ in 0..16 {
        if !threads.fences_are_acts() {
            break;
        }
        let [act] = threads.acts(t, local)? else { break };
        let ActKind::Fence(_) = act.kind else { break };
        let (_, [to]) = threads.after(t, local, 0, *act, 0)? else { break };
        local = *to;
    }
    Ok(local)
}

/// The steps of an act of `t` that sees value number `seen`, and of what follows silently up to
/// `target`, also past fences if they mean nothing.
pub(crate) fn steps_of(
    threads: &Threads<'_>,
    t: usize,
    (local, act, seen): (u32, Act, u32),
    target: u32,
    fences: bool,
) -> Vec<Step> {
    let thread = ThreadId::new(t);
    let mut steps = vec![Step::Execute { thread, edge: act.edge, choice: act.choice }];
    if let Some(from) = threads.right_after(t, local, act, seen) {
        steps.extend(threads.silent_path(t, from, target, fences));
    }
    steps
}

/// Asks until nothing is missing.
pub(crate) fn retry<'p, T>(
    threads: &mut Threads<'p>,
    ask: &mut dyn FnMut(&Threads<'p>) -> Result<T, Missing>,
) -> Result<T, Failure> {
    loop {
        match ask(threads) {
            Ok(answer) => return Ok(answer),
            Err(missing) => threads.resolve(missing)?,
        }
    }
}
