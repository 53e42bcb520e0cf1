//! All pairs of a store and an access of another thread that the model lets take effect before
//! it, over all SC executions of a program: what the monitors of the monitoring paper (Figs. 4
//! and 5) report on some execution. A pair is two edges of the program.
//!
//! The search is that of [`pending`](crate::robust::pending), which guesses one pending store and stops at
//! the first violation. Here a violation becomes a row of its own, from which nothing follows (the
//! access has made the store reach memory in the monitor as well), and the search goes on. Rows
//! carry the edge of the guessed store, so that stores are told apart.
//!
//! *Why the reductions keep every pair.* Take an SC run in which the monitor reports (s, e). What
//! it reports depends on the run's happens-before relation and on which stores are pending, and
//! neither changes when two neighbouring moves of different threads without a conflict change
//! places: the clocks are those of the same partial order; s stays pending unless somebody
//! accesses its location, or one where a store waits behind it, which both are conflicts with that
//! store, or unless its own thread waits for it, which is not undone by what others do.
//! - *Persistent sets*: let t be the thread that moves alone, by a move m that no move of another
//!   thread, now or later, conflicts with. If m is in the rest of the run before e, it can be put
//!   first. If it is not, t does not move at all before e, and m can be added in front: it touches
//!   nothing that the others touch with a conflict. m is not e, because with a guess m must not
//!   touch the location of s, and it is not a move of the thread of s.
//! - *Sleep sets* leave out a move m at a row R only if it was taken at a row R0 from where moves
//!   of others lead to R, none of which conflicts with m. Whether m closes a cycle, or ends the
//!   guess, depends on what its own thread did and on marks at the location of m, which only
//!   moves in conflict with m change. So at R0 the same pair was found, or the guess ended as well.
//! - *Symmetry* would mix up who did what, and is off.
//! - A store is not guessed if nothing of its thread can overtake it before the next fence: then
//!   nothing that happens after it comes to another thread while it is pending. A guess is given
//!   up if nobody will access its location any more: then there is no e.
//!
//! An atomic block is one event, as in `docs/how/robustness.md`; the access is its first one to the
//! location of the store.
//!
//! Each pair comes with a run under the model that is not one of SC, accepted by the checker.
//!
//! Cost: as `pending`, times the stores with different edges that are pending at one location.

use std::time::Instant;

use weakspot_core::certify;
use weakspot_core::machine::{Machine, Schedule};
use weakspot_core::{Evidence, Instr, Limit, Limits, Model, PlaceEdge, Program, Progress, Verdict};

use crate::answer::NoAnswer;
use crate::meter::Meter;
use crate::robust::delay::{Pair, delay};
use crate::robust::tidy::{places, tidy_pair};
use crate::robust::{pending, plain_pending, wide};
use crate::sc::packed::Plan;

/// All pairs of a program.
#[derive(Clone, Debug)]
pub struct Overtakings {
    /// The pairs, by store and then by access.
    pub pairs: Vec<Overtaken>,
    /// Why there may be more; `None` if the search is complete.
    pub limit: Option<Limit>,
    /// States that the search visited.
    pub states: u64,
}

/// A store that an access of another thread can overtake, though it comes after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overtaken {
    /// The store.
    pub store: PlaceEdge,
    /// The access.
    pub access: PlaceEdge,
    /// What the thread of the access did just before that others may see.
    pub previous: Option<PlaceEdge>,
    /// A run under the model in which the access takes effect first, and which SC does not have.
    pub run: Schedule,
}

/// Finds all pairs under `model`.
pub fn overtakings(
    program: &Program,
    model: Model,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Overtakings, NoAnswer> {
    let limits = &limits.begin();
    let plan = Plan::breadth_first(limits.workers);
    let mut found = match pending::is_for(program, model) {
        _ if !program.wides.is_empty() => wide::overtakings(program, model, limits, progress)?,
        true => pending::overtakings(program, model, plan, limits, progress)?,
        false => plain_pending::overtakings(program, model, limits, progress)?,
    };
    let mut meter = Meter::new(*limits, progress);
    let (since, mut bytes) = (Instant::now(), 0);
    let mut pairs = Vec::with_capacity(found.pairs.len());
    for Pair { store, access, run } in found.pairs {
        let evidence = Evidence::Run(run.clone());
        certify::robust(program, model, &Verdict::Violated, &evidence)
            .map_err(NoAnswer::Rejected)?;
        let previous = previous(program, model, &run, access);
        bytes += size_of_val(&run.steps[..]);
        pairs.push(Overtaken { store, access, previous, run });
        if let Err(reached) = meter.telling(since, bytes as u64) {
            found.limit.get_or_insert(reached);
            break;
        }
    }
    pairs.sort_by_key(|pair| (pair.store, pair.access));
    Ok(Overtakings { pairs, limit: found.limit, states: found.states })
}

/// The run under `model` that does what the SC run `sc` does, but in which the store of its step
/// `store` reaches memory only after the last step, and with it what cannot overtake it. `None` if
/// there is no such run, or if SC has it, too.
#[must_use]
pub(crate) fn delayed_run(
    program: &Program,
    model: Model,
    sc: &Schedule,
    store: usize,
) -> Option<Schedule> {
    let (run, _) = delay(program, model, sc, store, &[])?;
    let evidence = Evidence::Run(run.clone());
    certify::robust(program, model, &Verdict::Violated, &evidence).ok()?;
    Some(run)
}

/// The run of a pair, made easier to follow: without what its cycle does not need. When the time of the question is
/// over, it is as easy as it got until then.
#[must_use]
pub fn plainer_run(program: &Program, model: Model, pair: &Overtaken, limits: &Limits) -> Schedule {
    let shorter = tidy_pair(program, model, &pair.run, pair.store, pair.access, limits);
    shorter.unwrap_or_else(|| pair.run.clone())
}

/// What the thread of the last `access` of a run did before it that others may see.
fn previous(
    program: &Program,
    model: Model,
    run: &Schedule,
    access: PlaceEdge,
) -> Option<PlaceEdge> {
    let places = places(Machine { program, model }, run)?;
    let at = places.iter().rposition(|&p| p == Some(access))?;
    let visible = |p: &PlaceEdge| {
        let instr = &program.edge(p.thread, p.point, p.edge).instr;
        p.thread == access.thread
            && !matches!(
                instr,
                Instr::Nop
                    | Instr::Assign { .. }
                    | Instr::Choose { .. }
                    | Instr::Assume(_)
                    | Instr::Assert(_)
            )
    };
    places[..at].iter().rev().flatten().copied().find(visible)
}
