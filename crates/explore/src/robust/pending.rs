//! Robustness by one search for all pairs at once, from the completeness theorem of the
//! monitoring paper (section 4): explore SC runs, guess one store, and carry along only what has
//! to be known about it while it is pending. `docs/how/robustness.md` proves that this is exact.
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

use std::time::Instant;

use weakspot_core::certify::Rejected;
use weakspot_core::{
    Drain, Evidence, Fence, Instr, Limits, Model, PlaceEdge, PointId, Program, Progress, ThreadId,
    Verdict,
};

use crate::answer::NoAnswer;
use crate::memory::loc_bit;
use crate::meter::Meter;
use crate::robust::Robust;
use crate::robust::delay::{Pair, Pairs, delay};
use crate::robust::holds;
use crate::sc::frame::{Fields, Frame, Row};
use crate::sc::independence::Access;
use crate::sc::packed::{Ended, Plan};
use crate::sc::product::{Product, Taken, Watch};
use crate::sc::spread::search_together;
use crate::sc::threads::{ActKind, Missing, Threads};

/// Programs with more threads are not for this search: it keeps a set of threads as bits.
const MOST_THREADS: usize = 32 * AFTER.len();

/// Whether `program` is for this search, which keeps the stores of one thread back.
pub(crate) fn is_for(program: &Program, model: Model) -> bool {
    program.threads.len() <= MOST_THREADS
        && (model == Model::Tso || !holds::blocks_depend_on_values(program))
}

/// Decides robustness against `model`. The program has to be for this search.
pub(crate) fn robust(
    program: &Program,
    model: Model,
    plan: Plan<'_>,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Robust, NoAnswer> {
    let mut meter = Meter::new(*limits, progress);
    let mut threads = Threads::new(program, true);
    let product = Product::new(program, &threads, Pending::new(program, model, false));
    let initial = product.initial(&mut threads, &mut meter).map_err(NoAnswer::Fault)?;
    let found = search_together(&product, threads, initial, plan, &mut meter)?;
    let states = found.states;
    let mut threads = found.tables;
    let (verdict, evidence, reordered) = match found.ended {
        Ended::Fault(failure) => return Err(NoAnswer::Fault(failure)),
        Ended::Limit(limit) => (Verdict::Unknown(limit), None, None),
        Ended::Complete => (Verdict::Holds, Some(Evidence::Exhausted { states }), None),
        Ended::Found(rows) => {
            let wrong = NoAnswer::Rejected(Rejected::WrongState);
            let hit = product.run(&mut threads, &rows).ok_or(wrong.clone())?;
            // The guess is made in the step after the last row without one.
            let guess = product.frame.field(THREAD);
            let before = hit.rows.iter().rev().find(|(row, _)| row[guess] == 0);
            let (_, store) = *before.ok_or(wrong.clone())?;
            let (run, reordered) = delay(program, model, &hit.run, store, &[]).ok_or(wrong)?;
            (Verdict::Violated, Some(Evidence::Run(run)), Some(reordered))
        }
    };
    Ok(Robust { verdict, evidence, reordered, states, queries: 1 })
}

/// Collects every pair: goes on after the first violation.
pub(crate) fn overtakings(
    program: &Program,
    model: Model,
    plan: Plan<'_>,
    limits: &Limits,
    progress: &mut dyn Progress,
) -> Result<Pairs, NoAnswer> {
    let mut meter = Meter::new(*limits, progress);
    let mut threads = Threads::new(program, true);
    let product = Product::new(program, &threads, Pending::new(program, model, true));
    let product = product.without_symmetry();
    let initial = product.initial(&mut threads, &mut meter).map_err(NoAnswer::Fault)?;
    let found = search_together(&product, threads, initial, plan, &mut meter)?;
    let mut limit = match found.ended {
        Ended::Fault(failure) => return Err(NoAnswer::Fault(failure)),
        Ended::Limit(limit) => Some(limit),
        Ended::Complete | Ended::Found(_) => None,
    };
    let mut threads = found.tables;
    let mut pairs: Vec<Pair> = Vec::new();
    let (since, mut bytes) = (Instant::now(), 0);
    for rows in &found.kept {
        let Some(last) = rows.last() else { continue };
        let place = |field: usize| product.watch.place(last[product.frame.field(field)]);
        let (Some(store), Some(access)) = (place(SITE), place(ACCESS)) else { continue };
        if pairs.iter().any(|p| (p.store, p.access) == (store, access)) {
            continue;
        }
        let wrong = || NoAnswer::Rejected(Rejected::WrongState);
        let hit = product.run(&mut threads, rows).ok_or_else(wrong)?;
        let guess = product.frame.field(THREAD);
        let before = hit.rows.iter().rev().find(|(row, _)| row[guess] == 0);
        let (_, step) = *before.ok_or_else(wrong)?;
        let (run, _) = delay(program, model, &hit.run, step, &[]).ok_or_else(wrong)?;
        bytes += size_of_val(&run.steps[..]);
        pairs.push(Pair { store, access, run });
        if let Err(reached) = meter.telling(since, bytes as u64) {
            limit.get_or_insert(reached);
            break;
        }
    }
    Ok(Pairs { pairs, limit, states: found.states })
}

/// Watches one pending store.
struct Pending<'p> {
    program: &'p Program,
    model: Model,
    /// Violations are noted as rows of their own, and the search goes on.
    all: bool,
    /// If so, all edges: their places in this list tell them apart in rows.
    edges: Vec<PlaceEdge>,
    /// The program has atomic blocks.
    blocks: bool,
    /// Per thread and point whether a store just before it can be overtaken by what follows.
    overtaken: Vec<Vec<bool>>,
}

// Fields.
/// Whose store is pending, plus one; 0 before the guess.
const THREAD: usize = 0;
/// Where it goes, plus one.
const LOC: usize = 1;
/// `FENCED`, `LAST` and `FOUND`.
const BITS: usize = 2;
/// If all violations are collected, the edge of the pending store, plus one.
const SITE: usize = 3;
/// The edge of the access that overtakes it, plus one, once that is known.
const ACCESS: usize = 4;
/// The threads with an event after it, 32 in each.
const AFTER: [usize; 4] = [5, 6, 7, 8];
// Fields per location.
const FLAGS: usize = 0;
/// In programs with atomic blocks the number of the value without pending stores.
const OLD: usize = 1;

/// A store-store fence followed the pending store.
const FENCED: u32 = 1;
/// The open block runs on the memory without the pending store.
const LAST: u32 = 2;
/// The row says that a violation was found, and nothing else.
const FOUND: u32 = 4;

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

/// What an event does to the pending store.
#[derive(PartialEq, Eq)]
enum Seen {
    Pending,
    Committed,
    Violation,
}

impl<'p> Pending<'p> {
    fn new(program: &'p Program, model: Model, all: bool) -> Pending<'p> {
        let mut edges = program.threads.iter().flat_map(|t| &t.points).flat_map(|p| &p.edges);
        Pending {
            program,
            model,
            all,
            edges: if all { every_edge(program) } else { Vec::new() },
            blocks: edges.any(|e| e.instr == Instr::Lock),
            overtaken: (0..program.threads.len()).map(|t| overtaken(program, model, t)).collect(),
        }
    }

    /// The number of the edge of an act in rows.
    fn number(&self, step: &Taken<'_>) -> u32 {
        let place = PlaceEdge {
            thread: ThreadId::new(step.t),
            point: step.threads.point(step.t, step.local),
            edge: step.act.edge as usize,
        };
        self.edges.binary_search(&place).map_or(0, |i| i as u32 + 1)
    }

    /// The edge with a number.
    fn place(&self, number: u32) -> Option<PlaceEdge> {
        self.edges.get((number as usize).checked_sub(1)?).copied()
    }

    /// The row that says that `access` overtakes the store that is pending in `row`.
    fn find(&self, row: &Row<'_>, access: u32) -> Vec<u32> {
        let mut find = vec![0; row.row.len()];
        find[row.frame.field(THREAD)] = row.field(THREAD);
        find[row.frame.field(BITS)] = FOUND;
        find[row.frame.field(SITE)] = row.field(SITE);
        find[row.frame.field(ACCESS)] = access;
        find
    }

    /// What an act does to the store that is pending in `row`, which becomes the row after it.
    fn sees(&self, step: &Taken<'_>, row: &mut [u32], view: &Row<'_>) -> Seen {
        let &Taken { t, act, seen, .. } = step;
        let frame = view.frame;
        let pso = matches!(self.model, Model::Pso(_));
        let own = view.field(THREAD) == t as u32 + 1;
        let loc = view.field(LOC) - 1;
        let fenced = view.field(BITS) & FENCED != 0;
        let writes = match act.kind {
            ActKind::Read => false,
            ActKind::Write => true,
            ActKind::Update => {
                let waits = self.model != Model::Pso(Drain::Own) || fenced || act.loc == loc;
                if own && waits {
                    return Seen::Committed;
                }
                true
            }
            ActKind::Fence(Fence::Full) | ActKind::Lock if own => return Seen::Committed,
            ActKind::Fence(Fence::StoreStore) if own && pso => {
                row[frame.field(BITS)] |= FENCED;
                return Seen::Pending;
            }
            ActKind::Unlock => return self.leave_block(row, t, view),
            _ => return Seen::Pending,
        };
        let hits = !own && act.loc == loc;
        let inside = view.inside_block();
        if hits && !inside && is_after(view.frame, view.row, t) {
            return Seen::Violation;
        }
        let flags = view.of_loc(act.loc, FLAGS);
        let last = view.field(BITS) & LAST != 0;
        if !own && !last && (hits || flags & WAITS != 0) {
            return Seen::Committed;
        }
        if !hits && (flags & WRITTEN != 0 || writes && flags & READ != 0) {
            set_after(frame, row, t);
        }
        let after = is_after(frame, row, t);
        if own && writes && act.loc != loc && (!pso || fenced) && flags & WAITS == 0 {
            row[frame.of_loc(act.loc, FLAGS)] |= WAITS;
            row[frame.of_loc(act.loc, OLD)] = if self.blocks { seen } else { 0 };
        }
        if last && hits && row[frame.field(ACCESS)] == 0 {
            row[frame.field(ACCESS)] = self.number(step);
        }
        let flags = &mut row[frame.of_loc(act.loc, FLAGS)];
        if inside {
            *flags |= if writes { BLOCK_WROTE } else { BLOCK_READ };
        }
        if own && act.loc == loc || *flags & WAITS != 0 {
            // Nobody else gets to see these before the store has reached memory.
            *flags &= !(WRITTEN | READ);
        } else if after {
            mark(flags, writes);
        } else if writes {
            *flags &= !(WRITTEN | READ);
        }
        forget(row, view);
        Seen::Pending
    }

    fn leave_block(&self, row: &mut [u32], t: usize, view: &Row<'_>) -> Seen {
        let after = is_after(view.frame, view.row, t);
        let touched = view.of_loc(view.field(LOC) - 1, FLAGS) & (BLOCK_READ | BLOCK_WROTE) != 0;
        if after && touched {
            return Seen::Violation;
        }
        if view.field(BITS) & LAST != 0 {
            return Seen::Committed;
        }
        for loc in view.frame.locs(view.row) {
            let flags = &mut row[view.frame.of_loc(loc, FLAGS)];
            if after && *flags & BLOCK_READ != 0 {
                mark(flags, false);
            }
            if after && *flags & BLOCK_WROTE != 0 {
                mark(flags, true);
            }
            *flags &= !(BLOCK_READ | BLOCK_WROTE);
        }
        forget(row, view);
        Seen::Pending
    }
}

impl Watch for Pending<'_> {
    type Goal = ();
    const FIELDS: Fields = Fields {
        fields: 9,
        threads: &[THREAD],
        masks: &AFTER,
        locs: &[LOC],
        per_loc: 2,
        values: &[OLD],
    };

    fn is_goal(&self, _: &Threads<'_>, _: &Row<'_>) -> Option<()> {
        None
    }

    fn follow(
        &self,
        step: &Taken<'_>,
        row: &Row<'_>,
        mut next: Vec<u32>,
        out: &mut Vec<Vec<u32>>,
    ) -> Option<()> {
        let &Taken { threads, t, act, seen, local } = step;
        let frame = row.frame;
        if act.kind == ActKind::Assertion {
            return None;
        }
        if row.field(THREAD) == 0 {
            let point = threads.point(t, local);
            let to = self.program.edge(ThreadId::new(t), point, act.edge as usize).to;
            let delayed = act.kind == ActKind::Write && !row.inside_block();
            if delayed && self.overtaken[t][to.index()] {
                let mut guess = next.clone();
                guess[frame.field(THREAD)] = t as u32 + 1;
                guess[frame.field(LOC)] = act.loc + 1;
                set_after(frame, &mut guess, t);
                guess[frame.field(SITE)] = self.number(step);
                guess[frame.of_loc(act.loc, OLD)] = if self.blocks { seen } else { 0 };
                out.push(guess);
            }
            out.push(next);
            return None;
        }
        if act.kind == ActKind::Lock && row.field(THREAD) != t as u32 + 1 {
            let mut last = next.clone();
            for loc in frame.locs(row.row) {
                if row.field(LOC) == loc + 1 || row.of_loc(loc, FLAGS) & WAITS != 0 {
                    last[frame.value(loc)] = row.of_loc(loc, OLD);
                }
            }
            last[frame.field(BITS)] |= LAST;
            out.push(last);
        }
        match self.sees(step, &mut next, row) {
            Seen::Pending => out.push(next),
            Seen::Committed => {}
            Seen::Violation if self.all => {
                let access =
                    if act.kind == ActKind::Unlock { row.field(ACCESS) } else { self.number(step) };
                out.push(self.find(row, access));
            }
            Seen::Violation => return Some(()),
        }
        None
    }

    fn is_find(&self, row: &Row<'_>) -> bool {
        row.field(BITS) & FOUND != 0
    }

    fn makes_finds(&self) -> bool {
        self.all
    }

    fn minds_fences(&self, row: &Row<'_>, t: usize) -> bool {
        row.field(THREAD) == t as u32 + 1
    }

    /// Not the thread of the pending store, and nothing that has to do with it.
    fn may_go_first(
        &self,
        _: &Threads<'_>,
        row: &Row<'_>,
        t: usize,
        next: Access,
    ) -> Result<bool, Missing> {
        let touches = |loc: u32| {
            (next.reads | next.writes) & loc_bit(loc) != 0
                && (row.of_loc(loc, FLAGS) != 0 || row.field(LOC) == loc + 1)
        };
        Ok(row.field(THREAD) == 0
            || row.field(THREAD) != t as u32 + 1 && !row.frame.locs(row.row).any(touches))
    }

    /// Nobody else will ever access the location of the pending store.
    fn is_hopeless(&self, row: &Row<'_>, future: &dyn Fn(usize) -> Access) -> bool {
        row.field(THREAD) != 0
            && (0..row.frame.n)
                .filter(|&t| row.field(THREAD) != t as u32 + 1)
                .all(|t| (future(t).reads | future(t).writes) & loc_bit(row.field(LOC) - 1) == 0)
    }
}

/// All edges of a program, sorted.
fn every_edge(program: &Program) -> Vec<PlaceEdge> {
    let mut edges = Vec::new();
    for (t, thread) in program.threads.iter().enumerate() {
        for (p, point) in thread.points.iter().enumerate() {
            edges.extend((0..point.edges.len()).map(|edge| PlaceEdge {
                thread: ThreadId::new(t),
                point: PointId::new(p),
                edge,
            }));
        }
    }
    edges
}

/// Whether thread `t` has an event after the store.
fn is_after(frame: Frame, row: &[u32], t: usize) -> bool {
    row[frame.field(AFTER[t / 32])] >> (t % 32) & 1 != 0
}

fn set_after(frame: Frame, row: &mut [u32], t: usize) {
    row[frame.field(AFTER[t / 32])] |= 1 << (t % 32);
}

/// When every thread has an event after the store, it no longer matters where they come from.
fn forget(row: &mut [u32], view: &Row<'_>) {
    if (0..view.frame.n).all(|t| is_after(view.frame, row, t)) {
        for loc in view.frame.locs(view.row) {
            row[view.frame.of_loc(loc, FLAGS)] &= !(READ | WRITTEN);
        }
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
    use weakspot_core::testing::{Rng, Size, check_programs, random_program, scaled};
    use weakspot_core::{Point, Silent, Thread, certify};

    use super::*;
    use crate::robust::plain_pending;

    /// Some of the programs count for ever.
    const LIMITS: Limits =
        Limits { time: None, memory: Some(4 << 20), buffer: 0, workers: 1, ..Limits::UNLIMITED };
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
            let plan = Plan { large: 4, ..Plan::breadth_first(workers) };
            let answer = robust(program, model, plan, &LIMITS, &mut Silent);
            let Ok(answer) = answer else { return true };
            answer.verdict != expected.verdict
                || answer.evidence.is_none_or(|evidence| {
                    certify::robust(program, model, &answer.verdict, &evidence).is_err()
                })
        })
    }

    #[test]
    fn programs_with_loops_agree_with_the_plain_search() {
        let size = Size { threads: 3, instrs: 6, total: 14, locs: 3, loops: true };
        check_programs(4_000_000, scaled(4_000), size, &WEAK, &differs);
    }

    #[test]
    fn more_threads_agree_with_the_plain_search() {
        let size = Size { threads: 5, instrs: 4, total: 12, locs: 4, loops: false };
        check_programs(4_100_000, scaled(2_000), size, &WEAK, &differs);
    }

    /// What a search that ends says, and how many states it has, depends on the program only.
    #[test]
    fn answers_are_the_same_for_any_number_of_workers() {
        let size = Size { threads: 4, instrs: 6, total: 16, locs: 3, loops: true };
        let random = |seed| random_program(&mut Rng::new(4_300_000 + seed), size);
        let mut compared = [0; 2];
        for seed in 0..scaled(800) as u64 {
            let program = match seed % 2 {
                0 => random(seed),
                _ => crate::sc::symmetry::tests::copies(seed),
            };
            let ask = |workers| {
                let plan = Plan { large: 4, ..Plan::breadth_first(workers) };
                robust(&program, Model::Tso, plan, &LIMITS, &mut Silent)
            };
            let one = ask(1);
            match &one {
                Ok(Robust { verdict: Verdict::Unknown(_), .. }) => continue,
                Ok(Robust { verdict: Verdict::Holds, states, .. }) => {
                    compared[0] += u32::from(*states > 50);
                }
                Ok(Robust { states, .. }) => compared[1] += u32::from(*states > 8),
                Err(_) => {}
            }
            let (one, show) = (format!("{one:?}"), weakspot_core::testing::show(&program));
            for workers in [2, 3] {
                let more = format!("{:?}", ask(workers));
                assert_eq!(more, one, "seed {seed}, {workers} workers\n{show}");
            }
        }
        assert!(compared[0] > 5 && compared[1] > 0, "{compared:?} large ones");
    }

    /// Threads that do nothing change nothing, also if there are so many of them that the others
    /// are beyond the first word of a set.
    #[test]
    fn idle_threads_do_not_matter() {
        let size = Size { threads: 3, instrs: 5, total: 10, locs: 3, loops: false };
        for seed in 0..scaled(600) as u64 {
            let mut few = random_program(&mut Rng::new(4_200_000 + seed), size);
            few.observed.clear();
            (few.condition, few.forbidden) = (None, Vec::new());
            let mut many = few.clone();
            let idle = Thread { regs: vec![], entry: PointId(0), points: vec![Point::default()] };
            let before = 30 + seed as usize % 70;
            many.threads.splice(0..0, vec![idle; before]);
            for model in WEAK.into_iter().filter(|&model| is_for(&many, model)) {
                let plan = Plan::breadth_first(1);
                let ask = |program| robust(program, model, plan, &LIMITS, &mut Silent);
                let (Ok(expected), Ok(answer)) = (ask(&few), ask(&many)) else { continue };
                let show = weakspot_core::testing::show(&few);
                assert_eq!(answer.verdict, expected.verdict, "seed {seed} {model}\n{show}");
                if let Some(run @ Evidence::Run(_)) = &answer.evidence {
                    let checked = certify::robust(&many, model, &answer.verdict, run);
                    checked.unwrap_or_else(|e| panic!("seed {seed} {model}: {e}\n{show}"));
                }
            }
        }
    }

    #[test]
    fn copies_of_threads_agree_with_the_plain_search() {
        for seed in 0..scaled(2_800) as u64 {
            let program = crate::sc::symmetry::tests::copies(seed);
            for model in WEAK {
                let show = weakspot_core::testing::show(&program);
                assert!(!differs(&program, model), "seed {seed} {model}\n{show}");
            }
        }
    }
}
