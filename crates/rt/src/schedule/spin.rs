//! When does a thread wait in a loop? When it comes back to a load in the same state in which it
//! was there before: it will go round until another thread changes something that it reads in there.
//!
//! The state is made of the registers that outlive a call, the part of the stack that the loop can
//! see, what a compare-and-swap expects, and how many other stores the thread has made. If it is the
//! same (`weakspot cc` sees to it that what nobody needs any more of the last round is 0: `build/src/temporaries.rs`), and all
//! that was read since has not changed, the thread will do again what it has just done:
//! that is certain as far as a thread changes memory only where it is instrumented. If only the value
//! that it reads is the same, a number of times, it is taken to wait as well, which is a guess, and
//! counted. Taking a lock is looked at like a load, because a loop may ask under a lock; who holds one
//! that it frees in the loop is not taken to wait.
//!
//! Channels of Rust's standard library count how long they have waited, so that their state is never the
//! same; but nothing depends on that count except how long they wait before they look again. Of their loops,
//! which are known by their places, two rounds are the same if they are in the same call of the same function and have
//! read the same: all else that is alive there was read in the round itself.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::Runtime;
use crate::entry::frame::Call;
use crate::entry::guest::Area;
use crate::memory::shadow::mark;
use crate::schedule::undone::{Place, Undone};

/// How much of the stack belongs to the state, in words.
const WORDS: usize = 128;
/// How much of a larger stack is looked at when everything else is the same, in words.
const MOST_WORDS: usize = 1 << 16;

/// After so many loads without a step, a thread may wait for bytes of which nobody knows yet that
/// they are shared: so many loads more are looked at.
const QUIET: u32 = 10_000;
const LOOKED_AT: u32 = 200;
/// After so many times of that the thread may go on for ever, with stores to bytes of which nobody
/// knows yet that they are shared: others come first.
const ROUNDS: u32 = 20;

/// How many functions the current thread has entered and left.
pub static PASSED: AtomicU64 = AtomicU64::new(0);

/// What the current thread does with memory that only it touches.
pub struct Private {
    /// What it leaves in cells of the shadow that only it reads, and only it touches.
    read: u16,
    /// The same for cells that it also writes.
    written: u16,
    /// What it has stored there.
    stores: PrivateStores,
    /// How many loads of its own memory it made since its last step.
    loads: u32,
    /// How often that were too many.
    rounds: u32,
}

/// What a thread has stored to its own memory.
#[derive(Clone, Copy, Default)]
struct PrivateStores {
    /// How many stores, those close to the end of its stack left out.
    count: u64,
    /// The end of what it has written on its stack lately, close enough to be part of its state.
    near: usize,
}

/// What is to be done about a load of memory that only the current thread touches.
pub enum Long {
    /// Nothing.
    No,
    /// There were many without a step: this one is looked at.
    LookedAt,
    /// There were so many that others come first.
    LetOthers,
}

impl Private {
    /// Before any thread is the current one.
    pub fn new() -> Private {
        Private { read: 0, written: 0, stores: PrivateStores::default(), loads: 0, rounds: 0 }
    }

    /// A thread becomes the current one.
    pub(super) fn enter(&mut self, t: usize, spin: &Spin) {
        self.read = mark(t, false);
        self.written = mark(t, true);
        self.stores = spin.private;
        PASSED.store(spin.passed, Ordering::Relaxed);
    }

    /// The current thread stops.
    pub(super) fn leave(&self, spin: &mut Spin) {
        spin.private = self.stores;
        spin.passed = PASSED.load(Ordering::Relaxed);
    }

    /// The current thread takes a step.
    #[inline(always)]
    pub(super) fn step(&mut self) {
        self.loads = 0;
        self.rounds = 0;
    }

    /// Whether a cell, or a pair of them as one number, says that only the current thread touches it
    /// and that this access changes nothing about that.
    #[inline(always)]
    pub fn knows<const WRITE: bool>(&self, cell: u32, pair: bool) -> bool {
        let wide = |mark: u16| u32::from(mark) << if pair { 16 } else { 0 } | u32::from(mark);
        cell == wide(self.written) || (!WRITE && cell == wide(self.read))
    }

    /// The current thread stores to memory of its own. What is close to the end of its stack will be
    /// looked at itself.
    #[inline(always)]
    pub fn store(&mut self, addr: usize, len: usize) {
        let here = 0_u8;
        let above = addr.wrapping_sub(&raw const here as usize);
        if above < WORDS * 4 {
            self.stores.near = self.stores.near.max(addr + len);
        } else {
            self.stores.count += 1;
        }
    }

    /// The current thread loads from memory that may be its own.
    #[inline(always)]
    pub fn load(&mut self) {
        self.loads += 1;
    }

    /// Whether there were many loads of its own memory since the last step of the current thread.
    #[inline(always)]
    pub fn is_long(&self) -> bool {
        self.loads > QUIET
    }

    /// Whether the current thread loads from its own memory for long.
    pub fn long(&mut self) -> Long {
        if !self.is_long() {
            return Long::No;
        }
        self.loads += 1;
        if self.loads <= QUIET + LOOKED_AT {
            return Long::LookedAt;
        }
        self.loads = 0;
        self.rounds += 1;
        if self.rounds < ROUNDS {
            return Long::No;
        }
        self.rounds = 0;
        Long::LetOthers
    }
}

/// What a thread has read since its last store.
#[derive(Default)]
pub struct Spin {
    loads: Vec<Load>,
    /// How many stores to shared memory there were when they were read.
    loads_after: u64,
    visits: u64,
    /// The last visit that read something else than the one before it at the same place.
    changed: u64,
    /// The last visit at a place that was not read since the last store.
    new: u64,
    /// It waits for one of the loads since this visit to read something else, and whether that is
    /// certain.
    idle: Option<(u64, bool)>,
    /// How many of its steps changed shared memory; taking and freeing a lock, which loops do in
    /// turn, is none.
    stores: u64,
    /// It is back where a round began, in the same state, and nobody could notice that round.
    again: bool,
    /// The read-write lock that was not taken because a writer waits for it, and the visit at which that was seen.
    writer: Option<(usize, u64)>,
    /// How many of its steps others could notice.
    noticed: u64,
    /// How many locks it holds.
    held: u32,
    /// How often it has taken or freed one.
    turns: u64,
    /// How often it asked for the time, or for something random.
    asked: u64,
    /// What it has stored to its own memory, while it does not run.
    private: PrivateStores,
    /// How many functions it has entered and left, while it does not run.
    passed: u64,
    /// Its state when it was last looked at.
    state: u64,
    /// What it may have undone.
    pub undone: Undone,
}

struct Load {
    pc: usize,
    area: Area,
    value: u64,
    state: u64,
    /// The state with all of the stack, if there is more of it.
    deep: Option<u64>,
    times: u32,
    visit: u64,
    asked: u64,
    turns: u64,
    noticed: u64,
    passed: u64,
}

/// Whether a thread waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// Not that we know.
    No,
    /// Probably.
    Guess,
    /// Until another thread changes something.
    Certain,
}

impl Spin {
    /// Of a new thread, with the room of this one.
    pub fn emptied(self) -> Spin {
        let mut loads = self.loads;
        loads.clear();
        Spin { loads, ..Spin::default() }
    }

    /// Forgets what was read.
    pub fn clear(&mut self) {
        self.loads.clear();
        self.visits = 0;
        self.changed = 0;
        self.new = 0;
        self.loads_after = 0;
        self.idle = None;
        self.again = false;
        self.writer = None;
        self.undone.clear();
    }

    /// The thread has gone on for so long that it waits until nobody else can go on.
    pub fn tired(&mut self) {
        self.idle = Some((u64::MAX, false));
    }

    /// Others can notice the step that the thread takes.
    pub(super) fn noticed(&mut self) {
        self.noticed += 1;
    }

    /// Whether the thread is back where a round of a loop began, in the same state, and nobody could notice that
    /// round.
    pub fn is_again(&self) -> bool {
        self.again
    }

    /// The thread has changed shared memory, or something else, in a way that it does not undo.
    pub fn changed(&mut self) {
        self.stores += 1;
        self.undone.clear();
    }

    /// The thread has changed shared memory: what, is said to [`Undone`].
    pub fn stored(&mut self) {
        self.stores += 1;
    }

    /// Where the thread was when it was last looked at, about to load from here.
    pub(super) fn place(&self, pc: usize, area: Area) -> Place {
        let Spin { state, stores, .. } = *self;
        Place { pc, addr: area.addr(), state, stores }
    }

    /// The thread asks for the time, or for something random, which may end a loop. How often it has done so.
    pub fn asks(&mut self) -> u64 {
        self.asked += 1;
        self.undone.clear();
        self.asked
    }

    /// The thread asks for the time. How often it has asked.
    pub fn asks_time(&mut self) -> u64 {
        self.asked += 1;
        self.undone.asks_time();
        self.asked
    }

    /// The thread has taken a lock.
    pub fn locked(&mut self) {
        self.held += 1;
        self.turns += 1;
    }

    /// The thread has freed a lock.
    pub fn unlocked(&mut self) {
        self.held = self.held.saturating_sub(1);
        self.turns += 1;
    }

    /// The thread has not taken a read-write lock because a writer waits for it, which its word does not say.
    pub fn sees_writer(&mut self, lock: usize) {
        self.writer = Some((lock, self.visits));
    }

    /// The read-write lock in whose writer the thread waits.
    pub fn writer(&self) -> Option<usize> {
        let (since, _) = self.idle?;
        self.writer.filter(|&(_, visit)| visit >= since).map(|(lock, _)| lock)
    }

    /// Whether the thread waits, with memory as it is now.
    pub fn idle(&self) -> Idle {
        let Some((since, certain)) = self.idle else { return Idle::No };
        let same = |l: &Load| l.visit < since || l.area.len() == 0 || l.area.value() == l.value;
        match self.loads.iter().all(same) {
            true if certain => Idle::Certain,
            true => Idle::Guess,
            false => Idle::No,
        }
    }

    /// The thread has its turn: it does not wait, and its last load reads what is there now.
    pub fn go(&mut self) {
        self.idle = None;
        let visit = self.visits;
        if let Some(last) = self.loads.iter_mut().find(|l| l.visit == visit && l.area.len() > 0) {
            let seen = last.area.value();
            if seen != last.value {
                self.changed = visit;
                last.value = seen;
                last.times = 1;
            }
        }
    }
}

impl Runtime {
    /// The state of the current thread, with all of its stack. Nothing if that is too much.
    pub(super) fn state_of_loop(&mut self) -> Option<u64> {
        let call = self.call();
        let top = self.coroutines.slot(self.threads.current()).top();
        let stack = Stack { call, stores: self.private.stores.count, expected: 0 };
        let words = top.checked_sub(call.addr())? / 8;
        // SAFETY: the stack of the thread reaches to `top`.
        (words < MOST_WORDS).then(|| unsafe { stack.hash(words) })
    }

    /// Whether what is looked at of the stack first is all of it.
    pub(super) fn is_shallow(&self, top: usize, call: Call) -> bool {
        top.saturating_sub(call.addr()) / 8 < WORDS
    }

    /// The current thread is about to read bytes, or to take the lock at a [place](Area::place), and
    /// expects something of them that belongs to its state. Whether it waits in a loop.
    pub fn spins(&mut self, call: Call, area: Area, expected: u64) -> Idle {
        let seen = if area.len() == 0 { 0 } else { area.value() };
        let top = self.coroutines.slot(self.threads.current()).top();
        let own = &mut self.private.stores;
        if own.near > call.addr() + WORDS * 8 {
            own.count += 1;
        }
        own.near = 0;
        let pc = call.pc();
        let patient = self.patient.hold(pc);
        let stack = Stack { call, stores: own.count, expected };
        let words = top.saturating_sub(call.addr()) / 8;
        // SAFETY: the stack of the thread reaches to `top`.
        let state = unsafe { stack.hash(words.min(WORDS)) };
        let passed = PASSED.load(Ordering::Relaxed);
        let spin = &mut self.threads.me_mut().spin;
        spin.state = state;
        if spin.loads_after != spin.stores {
            spin.loads.clear();
            spin.loads_after = spin.stores;
        }
        spin.idle = None;
        spin.again = false;
        spin.visits += 1;
        let visit = spin.visits;
        let (asked, turns, noticed) = (spin.asked, spin.turns, spin.noticed);
        let same_place = |l: &&mut Load| l.pc == pc && l.area.addr() == area.addr();
        let Some(known) = spin.loads.iter_mut().find(same_place) else {
            let deep = None;
            spin.new = visit;
            spin.loads.push(Load {
                pc,
                area,
                value: seen,
                state,
                deep,
                times: 1,
                visit,
                asked,
                turns,
                noticed,
                passed,
            });
            return Idle::No;
        };
        let since = known.visit;
        let same = known.value == seen;
        if !same {
            spin.changed = visit;
        }
        // What was read in between must be what would be read again.
        let alike = same && known.state == state && spin.changed <= since;
        // What it reads now need not be what it read then: its own state is all that counts.
        let unnoticed = known.state == state
            && (known.asked, known.turns, known.noticed) == (asked, turns, noticed);
        // The rest of a deep stack is looked at only when everything else is the same.
        let looks_deep = (alike || unnoticed) && (WORDS..MOST_WORDS).contains(&words);
        let deep = looks_deep.then(|| {
            // SAFETY: the stack of the thread reaches to `top`.
            unsafe { stack.hash(words) }
        });
        let same_stack = words < WORDS || deep.is_some() && known.deep == deep;
        spin.again = unnoticed && same_stack && area.len() > 0;
        // All that was read in this round was read in the one before, and has not changed.
        let waits_longer =
            patient && same && known.passed == passed && spin.changed <= since && spin.new <= since;
        let certain = waits_longer || alike && known.asked == asked && same_stack;
        let times = if same { known.times + 1 } else { 1 };
        // Who holds a lock may free it in this loop, so that others go on, unless it did not in the last round.
        let keeps = known.turns == turns;
        *known = Load {
            pc,
            area,
            value: seen,
            state,
            deep,
            times,
            visit,
            asked,
            turns,
            noticed,
            passed,
        };
        if (spin.held == 0 || keeps) && (certain || times > self.config.spins) {
            spin.idle = Some((since, certain));
        }
        let idle = spin.idle();
        if idle == Idle::Guess && !self.scheduler.goes_on_alone() {
            self.exploration.guessed();
        }
        idle
    }
}

/// What the state of a thread is made of.
struct Stack {
    call: Call,
    stores: u64,
    expected: u64,
}

impl Stack {
    /// The state, as a number. Four sums side by side, because each step of a sum waits for the one
    /// before.
    ///
    /// # Safety
    /// So many words of the stack are above the call.
    unsafe fn hash(&self, words: usize) -> u64 {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let mix = |a: u64, word: u64| (a.rotate_left(23) ^ word).wrapping_mul(FACTOR);
        // SAFETY: no word beyond those that the caller vouches for is asked for.
        let word = |i: usize| unsafe { self.call.word(i) };
        let mut sums = [self.stores, self.call.addr() as u64, mix(1, self.expected), 2];
        for at in (0..words & !3).step_by(4) {
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = mix(*sum, word(at + i));
            }
        }
        for at in words & !3..words {
            sums[0] = mix(sums[0], word(at));
        }
        sums.into_iter().fold(0, mix)
    }
}
