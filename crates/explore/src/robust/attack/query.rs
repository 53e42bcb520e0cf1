//! Robustness against TSO by attacks, as in Trencher: Bouajjani, Derevenetc, Meyer, "Checking and
//! Enforcing Robustness against TSO" (ESOP 2013), and section 4 of the lazy TSO reachability paper
//! (Fig. 5, conditions W1-W5). A program that is not robust has a run in which one thread, the
//! attacker, holds back a store past a later load of its own, everybody else behaves as under SC,
//! and everything from the load on happens after it, up to an access to the place of the store.
//! So each pair of a store and a load of one thread is one question about SC runs:
//!
//! 1. all threads run under SC, up to the store;
//! 2. the attacker's stores go to copies of their locations that only itself reads; the others,
//!    its helpers, run on under SC. What would empty the attacker's buffer ends the attempt;
//! 3. from the load on, which has to read memory, the attacker rests and helpers take only events
//!    that happen after it: those of a helper that has such an event, and those that conflict
//!    with an access that does. When one of them accesses the location of the store, the attack
//!    has succeeded.
//!
//! Deviations: an atomic block is one event, so that it may take part if any of its accesses
//! happens after the load, and has to get to its end. Not every pair is asked about, see
//! [`pairs`](super::pairs).
//!
//! Cost: per pair the SC states, times the attacker's copies and which helpers and locations come
//! after the load. Rows are pruned that cannot come to the store, to the load or, through some
//! helper, to the location of the store.

use weakspot_core::machine::{Failure, Step};
use weakspot_core::{Fence, ThreadId};

use super::pairs::{Ground, Pair, Place, before, keeps, leads_to};
use crate::memory::loc_bit;
use crate::sc::independence::Access;
use crate::sc::moves::{
    Sink, Stopped, next_accesses, not_asleep, past_fences, run_block, steps_of,
};
use crate::sc::packed::{Expanded, Sleep, Successors, System};
use crate::sc::threads::{Act, ActKind, Missing, Threads};
use crate::sc::walk::Walk;

/// The question about one pair, as a system to search.
pub(super) struct Attack<'g, 'p> {
    ground: &'g Ground<'p>,
    n: usize,
    pair: Pair,
    /// Per point of the attacker whether a way leads from there to the store.
    to_store: Vec<bool>,
    /// The same for the load, past nothing that would empty the buffer.
    to_load: Vec<bool>,
}

// A row: the local states, then these fields, then three fields per location: its value, the
// number of the attacker's own value plus one, and flags.
/// Who holds the lock, plus one.
const OWNER: usize = 0;
/// How far the attack has come.
const PHASE: usize = 1;
/// The location of the store, plus one.
const LOC: usize = 2;
/// The threads with an event that happens after the load.
const AFTER: usize = 3;
pub(super) const FIELDS: usize = 4;
pub(super) const PER_LOC: usize = 3;

// The phases.
const BEFORE: u32 = 0;
const ATTACKING: u32 = 1;
const LOADED: u32 = 2;

// Flags of a location.
/// A read that happens after the load.
const READ: u32 = 1;
/// A write that happens after the load.
const WRITTEN: u32 = 2;
/// The open block has read it.
const BLOCK_READ: u32 = 4;
/// The open block has written it.
const BLOCK_WROTE: u32 = 8;

/// Whether an event happens after the load.
#[derive(PartialEq, Eq)]
enum Event {
    After,
    NotAfter,
    /// It does, and accesses the location of the store.
    Succeeds,
}

impl<'g, 'p> Attack<'g, 'p> {
    pub(super) fn new(ground: &'g Ground<'p>, pair: Pair) -> Attack<'g, 'p> {
        let thread = &ground.program.threads[pair.thread];
        Attack {
            ground,
            n: ground.n,
            pair,
            to_store: leads_to(&before(thread, |_| true), pair.store.point),
            to_load: leads_to(&before(thread, keeps), pair.load.point),
        }
    }

    /// How many of the first of `rows` come before the attack.
    pub(super) fn start(&self, rows: &[Vec<u32>]) -> usize {
        rows.iter().take_while(|row| row[self.n + PHASE] == BEFORE).count()
    }

    fn own_at(&self, loc: u32) -> usize {
        self.value_at(loc) + 1
    }

    fn flags_at(&self, loc: u32) -> usize {
        self.value_at(loc) + 2
    }

    fn attacks(&self, row: &[u32], t: usize) -> bool {
        t == self.pair.thread && row[self.n + PHASE] != BEFORE
    }

    /// What an act of thread `t` does to memory.
    fn access(&self, row: &[u32], t: usize, act: &Act) -> Access {
        match act.kind {
            ActKind::Read if self.attacks(row, t) && row[self.own_at(act.loc)] == 0 => {
                Access::of(act)
            }
            _ if self.attacks(row, t) => Access::default(),
            _ => Access::of(act),
        }
    }

    /// The attack cannot go on to its end from here.
    fn is_hopeless(&self, threads: &Threads<'_>, row: &[u32]) -> bool {
        let Pair { thread, store, load } = self.pair;
        let point = threads.point(thread, row[thread]).index();
        let helpers = self.ground.others(thread, |u| threads.point(u, row[u]));
        let store = match row[self.n + LOC] {
            0 => store.locs,
            loc => loc_bit(loc - 1),
        };
        let closes = (helpers.reads | helpers.writes) & store != 0;
        let goes_on = match row[self.n + PHASE] {
            BEFORE => self.to_store[point] && helpers.writes & load.locs != 0,
            ATTACKING => self.to_load[point] && helpers.writes & load.locs != 0,
            _ => true,
        };
        !closes || !goes_on
    }

    /// Whether `t` is a persistent set: nobody else can ever conflict with what it may do next.
    fn may_move_alone(&self, threads: &Threads<'_>, row: &[u32], t: usize, next: Access) -> bool {
        let moves = self.attacks(row, t) || next != Access::default() && next != Access::ALL;
        let point = threads.point(t, row[t]);
        moves
            && row[self.n + PHASE] != LOADED
            && !self.ground.in_loop[t][point.index()]
            && !self.ground.others(t, |u| threads.point(u, row[u])).conflicts(next)
    }

    /// All moves of thread `t`, apart from the load of the attack.
    fn move_thread(
        &self,
        threads: &Threads<'_>,
        row: &[u32],
        t: usize,
        asleep: &dyn Fn(&Act) -> u32,
        sink: &mut impl Sink,
    ) -> Result<(), Stopped<()>> {
        if self.attacks(row, t) {
            return self.move_attacker(threads, row, asleep, sink);
        }
        let thread = ThreadId::new(t);
        let local = row[t];
        let owner = row[self.n + OWNER];
        for (i, &act) in threads.acts(t, local)?.iter().enumerate() {
            if act.kind == ActKind::Assertion || act.kind.has_to_wait(owner) {
                continue;
            }
            let first = Step::Execute { thread, edge: act.edge, choice: act.choice };
            let seen = row.get(self.value_at(act.loc)).copied().unwrap_or(0);
            let (stored, targets) = threads.after(t, local, i, act, seen)?;
            let mut next = row.to_vec();
            match act.kind {
                ActKind::Lock => next[self.n + OWNER] = t as u32 + 1,
                ActKind::Unlock => next[self.n + OWNER] = 0,
                ActKind::Write | ActKind::Update => next[self.value_at(act.loc)] = stored,
                _ => {}
            }
            if row[self.n + PHASE] == LOADED {
                match self.takes_part(&mut next, t, act) {
                    Event::After => {}
                    Event::NotAfter => continue,
                    Event::Succeeds => return Err(Stopped::Goal(vec![first], ())),
                }
            }
            let asleep = asleep(&act);
            if t == self.pair.thread && owner == 0 && self.is(self.pair.store, threads, local, act)
            {
                let mut start = row.to_vec();
                start[self.n + PHASE] = ATTACKING;
                start[self.n + LOC] = act.loc + 1;
                start[self.own_at(act.loc)] = stored + 1;
                for &target in targets {
                    start[t] = target;
                    sink.push(&start, asleep, &|| {
                        steps_of(threads, t, (local, act, seen), target, false)
                    })?;
                }
            }
            for &target in targets {
                let target = past_fences(threads, t, target)?;
                next[t] = target;
                let steps = || steps_of(threads, t, (local, act, seen), target, true);
                if owner == 0 && next[self.n + OWNER] != 0 {
                    run_block(
                        &next,
                        self.n + OWNER,
                        &steps,
                        sink,
                        |_| None,
                        |row, inner| self.move_thread(threads, row, t, &|_| 0, inner),
                    )?;
                } else {
                    sink.push(&next, asleep, &steps)?;
                }
            }
        }
        Ok(())
    }

    /// The attacker goes on, its stores in its buffer.
    fn move_attacker(
        &self,
        threads: &Threads<'_>,
        row: &[u32],
        asleep: &dyn Fn(&Act) -> u32,
        sink: &mut impl Sink,
    ) -> Result<(), Stopped<()>> {
        let t = self.pair.thread;
        let local = row[t];
        if row[self.n + PHASE] == LOADED {
            return Ok(());
        }
        for (i, &act) in threads.acts(t, local)?.iter().enumerate() {
            let goes_on = matches!(
                act.kind,
                ActKind::Read
                    | ActKind::Write
                    | ActKind::Silent
                    | ActKind::Fence(Fence::StoreStore)
            );
            if !goes_on {
                continue;
            }
            let seen = match row.get(self.own_at(act.loc)).copied().unwrap_or(0) {
                0 => row.get(self.value_at(act.loc)).copied().unwrap_or(0),
                own => own - 1,
            };
            let (stored, targets) = threads.after(t, local, i, act, seen)?;
            let mut next = row.to_vec();
            if act.kind == ActKind::Write {
                next[self.own_at(act.loc)] = stored + 1;
            }
            for &target in targets {
                next[t] = target;
                sink.push(&next, asleep(&act), &|| {
                    steps_of(threads, t, (local, act, seen), target, false)
                })?;
            }
        }
        Ok(())
    }

    /// The load of the attack, if the attacker can take it now and memory has to answer it.
    fn load(
        &self,
        threads: &Threads<'_>,
        row: &[u32],
        sink: &mut impl Sink,
    ) -> Result<(), Stopped<()>> {
        let t = self.pair.thread;
        let local = row[t];
        for &act in threads.acts(t, local)? {
            let others = self.ground.others(t, |u| threads.point(u, row[u]));
            if !self.is(self.pair.load, threads, local, act)
                || row[self.own_at(act.loc)] != 0
                || others.writes & loc_bit(act.loc) == 0
            {
                continue;
            }
            let mut next = row.to_vec();
            // What the attacker has stored, and where it stands, matters no more.
            for at in (self.n + FIELDS + 1..row.len()).step_by(PER_LOC) {
                next[at] = 0;
            }
            next[t] = 0;
            next[self.n + PHASE] = LOADED;
            next[self.flags_at(act.loc)] = READ;
            sink.push(&next, 0, &|| {
                vec![Step::Execute { thread: ThreadId::new(t), edge: act.edge, choice: 0 }]
            })?;
        }
        Ok(())
    }

    fn is(&self, place: Place, threads: &Threads<'_>, local: u32, act: Act) -> bool {
        matches!(act.kind, ActKind::Read | ActKind::Write)
            && act.edge == place.edge
            && threads.point(self.pair.thread, local) == place.point
    }

    /// Whether `act` of helper `t`, which leads to `row`, happens after the load; if it does, what
    /// else does from now on.
    fn takes_part(&self, row: &mut [u32], t: usize, act: Act) -> Event {
        let writes = match act.kind {
            ActKind::Read => false,
            ActKind::Write | ActKind::Update => true,
            ActKind::Unlock => return self.leave_block(row, t),
            _ => return Event::After,
        };
        let inside = row[self.n + OWNER] != 0;
        let flags = row[self.flags_at(act.loc)];
        if !inside && row[self.n + AFTER] & 1 << t != 0 && row[self.n + LOC] == act.loc + 1 {
            return Event::Succeeds;
        }
        if flags & WRITTEN != 0 || writes && flags & READ != 0 {
            row[self.n + AFTER] |= 1 << t;
        }
        let after = row[self.n + AFTER] & 1 << t != 0;
        let flags = &mut row[self.flags_at(act.loc)];
        if inside {
            // The block counts as a whole: see `leave_block`.
            *flags |= if writes { BLOCK_WROTE } else { BLOCK_READ };
        } else if after {
            mark(flags, writes);
            self.forget(row);
        } else {
            return Event::NotAfter;
        }
        Event::After
    }

    fn leave_block(&self, row: &mut [u32], t: usize) -> Event {
        if row[self.n + AFTER] & 1 << t == 0 {
            return Event::NotAfter;
        }
        if row[self.flags_at(row[self.n + LOC] - 1)] & (BLOCK_READ | BLOCK_WROTE) != 0 {
            return Event::Succeeds;
        }
        for at in (self.n + FIELDS + 2..row.len()).step_by(PER_LOC) {
            let flags = &mut row[at];
            if *flags & BLOCK_WROTE != 0 {
                mark(flags, true);
            } else if *flags & BLOCK_READ != 0 {
                mark(flags, false);
            }
            *flags &= !(BLOCK_READ | BLOCK_WROTE);
        }
        self.forget(row);
        Event::After
    }

    /// When every helper has an event after the load, it no longer matters where they come from.
    fn forget(&self, row: &mut [u32]) {
        let all = ((1u64 << self.n) - 1) as u32 & !(1 << self.pair.thread);
        if row[self.n + AFTER] == all {
            for at in (self.n + FIELDS + 2..row.len()).step_by(PER_LOC) {
                row[at] &= !(READ | WRITTEN);
            }
        }
    }
}

/// Notes an access that happens after the load. A write says more than a read.
fn mark(flags: &mut u32, writes: bool) {
    if writes {
        *flags = *flags & !READ | WRITTEN;
    } else if *flags & WRITTEN == 0 {
        *flags |= READ;
    }
}

impl Walk for Attack<'_, '_> {
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
        let owner = row[self.n + OWNER];
        if owner != 0 {
            return self.move_thread(threads, row, owner as usize - 1, &|_| 0, sink);
        }
        if self.is_hopeless(threads, row) {
            return Ok(());
        }
        if row[self.n + PHASE] == ATTACKING {
            // It changes what others may do, so that it has to be tried in every order.
            self.load(threads, row, sink)?;
        }
        let Some(sleep) = sleep else {
            return (0..self.n).try_for_each(|t| self.move_thread(threads, row, t, &|_| 0, sink));
        };
        let access = |t, act: &Act| self.access(row, t, act);
        let next = next_accesses(threads, row, self.n, access)?;
        let alone = (0..self.n).find(|&t| self.may_move_alone(threads, row, t, next[t]));
        not_asleep(sleep, &next[..self.n], alone, access, |t, asleep| {
            self.move_thread(threads, row, t, asleep, sink)
        })
    }
}

impl<'p> System for Attack<'_, 'p> {
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
