//! From the rows that a search found back to the steps of a run.

use weakspot_core::machine::{Failure, Schedule, Step};
use weakspot_core::{Program, ThreadId};

use crate::sc::packed::{Sleep, Successors, System};
use crate::sc::product::{extend, full, past_fences, retry};
use crate::sc::threads::{Act, Missing, Threads};

/// Hears of each successor: its row, the threads asleep there, and the steps that lead to it.
pub(crate) trait Sink {
    fn push(&mut self, row: &[u32], asleep: u32, steps: &dyn Fn() -> Vec<Step>);
}

impl Sink for Successors {
    fn push(&mut self, row: &[u32], asleep: u32, _: &dyn Fn() -> Vec<Step>) {
        Successors::push(self, row, asleep);
    }
}

/// Successors with the steps that lead to them.
pub(crate) type WithSteps = Vec<(Vec<u32>, Vec<Step>)>;

impl Sink for WithSteps {
    fn push(&mut self, row: &[u32], _: u32, steps: &dyn Fn() -> Vec<Step>) {
        Vec::push(self, (row.to_vec(), steps()));
    }
}

/// Why an expansion did not get to its end.
pub(crate) enum Stopped {
    Missing(Missing),
    /// These steps lead to what is looked for.
    Goal(Vec<Step>),
}

impl From<Missing> for Stopped {
    fn from(missing: Missing) -> Stopped {
        Stopped::Missing(missing)
    }
}

/// A search whose rows start with the local states of the threads and hold a value per location.
pub(crate) trait Walk {
    /// Where in a row the number of the value of `loc` stands.
    fn value_at(&self, loc: u32) -> usize;

    /// All moves from `row`, or those that suffice if sleep sets are given.
    fn moves(
        &self,
        threads: &Threads<'_>,
        row: &[u32],
        sleep: Option<Sleep>,
        sink: &mut impl Sink,
    ) -> Result<(), Stopped>;
}

/// A run through rows.
pub(crate) struct Told {
    pub(crate) run: Schedule,
    /// Per row how many steps lead there.
    pub(crate) at: Vec<usize>,
}

/// The rows in which a search starts: every choice of local states and of initial values.
/// `between` is how many fields, all 0, stand between the local states and the locations, and
/// `each` how many fields, the first of them its value, a location has.
pub(crate) fn initial_rows(
    program: &Program,
    threads: &mut Threads<'_>,
    between: usize,
    each: usize,
) -> Result<Successors, Failure> {
    let mut rows = vec![Vec::new()];
    for t in 0..program.threads.len() {
        let mut starts = threads.initial(t)?;
        for start in &mut starts {
            *start = retry(threads, &mut |threads| past_fences(threads, t, *start))?;
        }
        rows = extend(rows, &starts);
    }
    rows.iter_mut().for_each(|row| row.resize(row.len() + between, 0));
    for loc in &program.locs {
        let numbers: Vec<u32> = (0..loc.init.len() as u32).collect();
        rows = extend(rows, &numbers);
        rows.iter_mut().for_each(|row| row.resize(row.len() + each - 1, 0));
    }
    let mut initial = Successors::default();
    for mut row in rows {
        // Addresses that are not declared may be known, too.
        row.resize(row.len() + each * (threads.locs.len() - program.locs.len()), 0);
        initial.push(&row, 0);
    }
    Ok(initial)
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

/// The run through `rows` and on to what was looked for.
pub(crate) fn tell<'p, S>(
    system: &S,
    program: &Program,
    threads: &mut Threads<'p>,
    rows: &[Vec<u32>],
) -> Option<Told>
where
    S: Walk + System<Tables = Threads<'p>>,
{
    let (first, rest) = rows.split_first()?;
    let mut at = full(system, threads, first);
    let value = |l| threads.locs.value(l, at[system.value_at(l)]);
    let init = (0..program.locs.len() as u32).map(value).collect();
    let mut steps = Vec::new();
    for (t, &met) in at.iter().take(program.threads.len()).enumerate() {
        steps.extend(threads.silent_path(t, threads.start(t)?, met, true));
    }
    let mut reached = vec![steps.len()];
    let mut rest = rest.iter();
    loop {
        let mut found = WithSteps::new();
        // Without reductions new locations may be met.
        at = full(system, threads, &at);
        match system.moves(threads, &at, None, &mut found) {
            // For the same reason a goal may show up earlier than in the search.
            Err(Stopped::Goal(more)) => {
                steps.extend(more);
                return Some(Told { run: Schedule { init, steps }, at: reached });
            }
            Err(Stopped::Missing(missing)) => threads.resolve(missing).ok()?,
            Ok(()) => {
                let row = full(system, threads, rest.next()?);
                let (next, more) = found.into_iter().find(|(to, _)| *to == row)?;
                steps.extend(more);
                reached.push(steps.len());
                at = next;
            }
        }
    }
}
