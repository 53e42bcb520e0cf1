//! From the rows that a search found back to the steps of a run.

use weakspot_core::Program;
use weakspot_core::machine::Schedule;

use crate::sc::moves::{Sink, Stopped, WithSteps};
use crate::sc::packed::{Sleep, System};
use crate::sc::threads::Threads;

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
    ) -> Result<(), Stopped<()>>;
}

/// A run through rows.
pub(crate) struct Told {
    pub(crate) run: Schedule,
    /// Per row how many steps lead there.
    pub(crate) at: Vec<usize>,
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
            Err(Stopped::Goal(more, ())) => {
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

/// `row` with all fields that rows have by now.
pub(crate) fn full<'p, S: System<Tables = Threads<'p>>>(
    system: &S,
    threads: &Threads<'p>,
    row: &[u32],
) -> Vec<u32> {
    let mut row = row.to_vec();
    row.resize(system.width(threads).max(row.len()), 0);
    row
}
