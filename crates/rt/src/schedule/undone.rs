//! Loops that store something in each round, and undo that before the round ends: who counts itself among the readers of a lock, finds
//! that somebody writes, and leaves again; who takes a lock by trying, and frees it; who parks for some time.
//!
//! Others notice such a round, unlike those of a loop that only reads (`spin.rs`). But when the thread is back in the state in which the
//! round began, and all that it has changed is as it was, then everything is as it was, unless somebody else took a step in
//! between. Whether that is so in some order of the same steps is for the strategy to say, which knows what comes before
//! what. Here is said how many steps there were.
//!
//! **Two rounds**, one directly after the other: all that follows them also follows the first of them, with the same accesses of others
//! before and after it. Whoever comes after a step of the second round, or before it, stands in the same way to that step of the first one,
//! since nobody comes in between. So what is left out shows nothing new: no crash and no thread that waits for ever, because the
//! state is the same; no data race, and nothing that monitors see, because what happens before what is the same for all the rest.
//!
//! **One round** is enough for the state, but others may come after what it does. Threads that go round in turn have no two rounds without
//! the others in between, and would do so for ever. So from the third round on a single one is left out. Monitors may miss what it
//! did, which is said ([`Message::Undone`](weakspot_live::wire::Message)). Data races are not missed if it has only updates, atomic loads,
//! and locks: who takes part in these is ordered after more of the others by such a round, never after fewer. A store could hide what others
//! have released there before.
//!
//! A round counts only if it is known of each of its steps what it has done: loads, stores, updates, fences, locks of one owner, and to wait
//! for some time. Everything else begins anew ([`Spin::changed`](crate::schedule::spin::Spin::changed)): what is kept by libc or by the kernel,
//! memory that is allocated, threads that begin or end. Bytes are as they were if the differences add up to 0; what an addition finds that may be
//! exchanged with those of others depends on these, but not the difference that it makes.
//!
//! What nobody announces would not be missed: a function that keeps something of its own, or stores to memory of the program. So a program
//! that calls functions of which that is not known ([`Config::announced`](crate::config::Config)) goes round.
//!
//! How much time has passed depends on how many rounds there were. Nobody knows if nobody asks, but to say how long to wait; if
//! somebody does, rounds in which time passes are explored (`world/clock.rs`).

use weakspot_core::Model;
use weakspot_live::{OpKind, Plan};

use crate::Runtime;
use crate::entry::frame::Call;
use crate::entry::guest::Area;

/// How many changes and places of loads are remembered: if there are more, all are forgotten.
const MOST: usize = 64;
/// The how-manieth round may be left out alone.
const LATE: u32 = 3;

/// What a thread has changed since it last did something that it cannot undo, and where it was.
#[derive(Default)]
pub struct Undone {
    heads: Vec<Head>,
    changes: Vec<Change>,
    /// How many steps it has taken while there were others.
    steps: u32,
    /// Its last step may have changed something, and it is not known what.
    open: bool,
    /// That is a store.
    stores: bool,
    /// It has asked for the time, and did nothing else since then.
    asked: bool,
    /// How often it has let time pass.
    passed: u32,
    /// How many loads it has made that are not atomic.
    plain: u32,
    /// An update that the program does itself when it goes on, and what was there before.
    follows: Option<(Area, u64)>,
}

/// A load, where a round may begin.
struct Head {
    pc: usize,
    addr: usize,
    state: u64,
    /// The state with all of the stack, if that was looked at.
    deep: Option<u64>,
    stores: u64,
    /// What there was of these before.
    steps: u32,
    changes: usize,
    passed: u32,
    plain: u32,
    /// How many steps the round had that ends here, if it was undone.
    round: u32,
    /// How many such rounds there were so far.
    rounds: u32,
}

/// A change of some bytes.
#[derive(Clone, Copy)]
struct Change {
    area: Area,
    difference: u64,
    /// By a store, which does not go on with what others have released there.
    stores: bool,
}

/// Rounds that a thread has undone before it loads.
struct Found {
    /// How many of its latest steps they have; 0 if they are none.
    steps: u32,
    /// Whether time has passed.
    passed: bool,
    /// There were others before, and this is one.
    late: bool,
}

/// Where a thread is when it is about to load.
pub(super) struct Place {
    pub(super) pc: usize,
    pub(super) addr: usize,
    pub(super) state: u64,
    pub(super) stores: u64,
}

impl Undone {
    /// Forgets everything: what comes next cannot be undone.
    pub fn clear(&mut self) {
        self.heads.clear();
        self.changes.clear();
        self.open = false;
        self.follows = None;
    }

    /// The thread takes a step.
    pub(super) fn step(&mut self, kind: OpKind) {
        use OpKind::{
            Acquire, Add, Compare, Fence, LoadFence, Read, Release, StoreFence, Update, Write,
            Yield,
        };
        self.settle();
        if self.open {
            self.clear();
        }
        self.steps = self.steps.wrapping_add(1);
        self.stores = kind == OpKind::Write;
        match kind {
            Read | Compare | Fence | StoreFence | LoadFence | Yield => {}
            Update | Add | Acquire | Release | Write => self.open = true,
            _ => self.clear(),
        }
    }

    /// The last step has changed nothing.
    pub fn nothing(&mut self) {
        self.open = false;
    }

    /// The last step has changed these bytes.
    pub fn changed(&mut self, area: Area, old: u64, new: u64) {
        self.open = false;
        if area.len() > 8 || self.changes.len() == MOST {
            return self.clear();
        }
        self.changes.push(Change { area, difference: new.wrapping_sub(old), stores: self.stores });
    }

    /// The last step is an update of these bytes that the program does itself when it goes on.
    pub fn follows(&mut self, area: Area) {
        self.open = false;
        if area.len() > 8 {
            return self.clear();
        }
        self.follows = Some((area, area.value()));
    }

    /// The thread asks for the time.
    pub(super) fn asks_time(&mut self) {
        self.asked = true;
    }

    /// Whether it has, and did nothing else since then.
    pub fn has_asked_time(&self) -> bool {
        self.asked
    }

    /// The thread waits for a time at most. If it has asked what time it is, that was in order to say so.
    pub fn waits_for_time(&mut self) {
        self.asked = false;
    }

    /// The thread goes on. Whether it has looked at the time, which may be different after a round.
    pub fn looks_at_time(&mut self) -> bool {
        let asked = core::mem::take(&mut self.asked);
        if asked {
            self.clear();
        }
        asked
    }

    /// The thread has loaded what is not atomic.
    pub fn loads(&mut self) {
        self.plain = self.plain.wrapping_add(1);
    }

    /// The thread lets time pass.
    pub fn passes(&mut self) {
        self.passed = self.passed.wrapping_add(1);
    }

    /// Whether the program has done something itself since then.
    #[inline(always)]
    pub fn has_followed(&self) -> bool {
        self.follows.is_some()
    }

    /// What the program did itself was done by now.
    pub fn settle(&mut self) {
        if let Some((area, old)) = self.follows.take() {
            self.changed(area, old, area.value());
        }
    }

    /// The thread is about to load.
    fn arrive(&mut self, place: &Place, deep: impl FnOnce() -> Option<Option<u64>>) -> Found {
        let Place { pc, addr, state, stores } = *place;
        self.settle();
        if self.open {
            self.clear();
        }
        let mut head = Head {
            pc,
            addr,
            state,
            deep: None,
            stores,
            steps: self.steps,
            changes: self.changes.len(),
            passed: self.passed,
            plain: self.plain,
            round: 0,
            rounds: 0,
        };
        let Some(known) = self.heads.iter_mut().find(|h| (h.pc, h.addr) == (pc, addr)) else {
            if self.heads.len() == MOST {
                self.clear();
                head.changes = 0;
            }
            self.heads.push(head);
            return Found { steps: 0, passed: false, late: false };
        };
        let passed = known.passed != self.passed;
        let changes = &self.changes[known.changes..];
        let back = known.state == state
            // Without a change it is left to those who look for loops that only wait.
            && (known.stores != stores || passed)
            && all_undone(changes);
        head.rounds = known.rounds;
        let mut steps = 0;
        let mut late = false;
        if back && let Some(deep) = deep() {
            if deep.is_none() || deep == known.deep {
                head.round = self.steps - known.steps;
                head.rounds += 1;
                let atomic = known.plain == self.plain && !changes.iter().any(|c| c.stores);
                late = head.rounds >= LATE && atomic;
                steps = match known.round {
                    _ if late => head.round,
                    0 => 0,
                    before => before + head.round,
                };
            }
            head.deep = deep;
        }
        *known = head;
        Found { steps, passed, late }
    }
}

/// Whether everything is as it was before these changes.
fn all_undone(changes: &[Change]) -> bool {
    let same = |a: Area, b: Area| (a.addr(), a.len()) == (b.addr(), b.len());
    let end = |a: Area| a.addr() + a.len() as usize;
    let apart = |a: Area, b: Area| end(a) <= b.addr() || end(b) <= a.addr();
    changes.iter().all(|&Change { area, .. }| {
        let of = changes.iter().filter(|c| same(c.area, area));
        let sum = of.fold(0_u64, |sum, c| sum.wrapping_add(c.difference));
        let undone = sum.checked_shl(64 - 8 * area.len()).unwrap_or(sum) == 0;
        undone && changes.iter().all(|c| same(c.area, area) || apart(c.area, area))
    })
}

impl Runtime {
    /// The current thread is about to load from here, and has just been [looked at](Runtime::spins). How many of its latest steps
    /// are a round that it has undone; 0 if they are none.
    pub fn undone(&mut self, call: Call, area: Area) -> u32 {
        let config = &self.config;
        let may = config.announced
            && config.plan == Plan::Dpor
            && config.under == Model::Sc
            && config.transactions.is_none()
            // Who sleeps goes on only when all others wait, so that executions without this round are not explored.
            && !config.virtual_time;
        if !may || area.len() == 0 {
            return 0;
        }
        self.has_looked_at_time();
        let (top, pc) = (self.coroutines.slot(self.threads.current()).top(), call.pc());
        let shallow = self.is_shallow(top, call);
        let place = self.threads.me().spin.place(pc, area);
        let mut undone = core::mem::take(&mut self.threads.me_mut().spin.undone);
        let deep = || match shallow {
            true => Some(None),
            false => self.state_of_loop().map(Some),
        };
        let found = undone.arrive(&place, deep);
        self.threads.me_mut().spin.undone = undone;
        if found.steps == 0 || found.passed && !self.may_forget_time() {
            return 0;
        }
        if found.late && !self.scheduler.goes_on_alone() {
            self.exploration.undoes();
        }
        found.steps
    }
}
