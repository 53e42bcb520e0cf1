//! When does a thread wait in a loop? When it comes back to a load in the same state in which it
//! was there before: it will go round until another thread changes something that it reads in there.
//!
//! The state is made of the registers that outlive a call, the part of the stack that the loop can
//! see, what a compare-and-swap expects, and how many other stores the thread has made. If it is the same, and all that was read since has
//! not changed, the thread will do again what it has just done: that is certain as far as a thread
//! changes memory only where it is instrumented. If only the value that it reads is the same, a
//! number of times, it is taken to wait as well, which is a guess, and counted. Taking a lock is
//! looked at like a load, because a loop may ask under a lock; who holds one is never taken to wait.

use crate::access::plain::value;
use crate::entry::frame::Frame;
use crate::runtime::Runtime;

/// How much of the stack belongs to the state, in words.
const WORDS: usize = 128;
/// And at most, if that is not all of it.
const MOST_WORDS: usize = 1 << 16;

/// The current thread stores to memory of its own. What is close to the top of its stack will be
/// looked at itself.
#[inline(always)]
pub unsafe fn private_store(rt: *mut Runtime, addr: usize, len: usize) {
    let here = 0_u8;
    let above = addr.wrapping_sub(&raw const here as usize);
    if above < WORDS * 4 {
        (*rt).near = (*rt).near.max(addr + len);
    } else {
        (*rt).private_stores += 1;
    }
}

/// What a thread has read since its last store.
#[derive(Default)]
pub struct Spin {
    loads: Vec<Load>,
    stores: u64,
    visits: u64,
    /// The last visit that read something else than the one before it at the same place.
    changed: u64,
    /// It waits for one of the loads since this visit to read something else, and whether that is
    /// certain.
    idle: Option<(u64, bool)>,
}

struct Load {
    pc: usize,
    addr: usize,
    len: u32,
    value: u64,
    state: u64,
    /// The same for all of the stack, if there is more of it.
    deep: Option<u64>,
    times: u32,
    visit: u64,
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
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.loads.clear();
        self.visits = 0;
        self.changed = 0;
        self.stores = 0;
        self.idle = None;
    }

    /// The thread is to wait until nobody else can go on.
    pub fn tired(&mut self) {
        self.idle = Some((u64::MAX, false));
    }

    /// Whether the thread waits, with memory as it is now.
    pub unsafe fn idle(&self) -> Idle {
        let Some((since, certain)) = self.idle else { return Idle::No };
        let same = |l: &Load| l.visit < since || l.len == 0 || value(l.addr, l.len) == l.value;
        match self.loads.iter().all(same) {
            true if certain => Idle::Certain,
            true => Idle::Guess,
            false => Idle::No,
        }
    }

    /// The thread has its turn: it does not wait, and its last load reads what is there now.
    pub unsafe fn go(&mut self) {
        self.idle = None;
        let visit = self.visits;
        if let Some(last) = self.loads.iter_mut().find(|l| l.visit == visit && l.len > 0) {
            let seen = value(last.addr, last.len);
            if seen != last.value {
                self.changed = visit;
                last.value = seen;
                last.times = 1;
            }
        }
    }
}

/// The current thread is about to read `len` bytes, or to take the lock there, with `len` 0, and
/// expects something of them that belongs to its state. Whether it waits in a loop.
pub unsafe fn load(
    rt: *mut Runtime,
    frame: *const Frame,
    addr: usize,
    len: u32,
    expected: u64,
) -> Idle {
    let seen = if len == 0 { 0 } else { value(addr, len) };
    let me = (*rt).current;
    let top = (&(*rt).slots)[me].top;
    if (*rt).near > frame as usize + WORDS * 8 {
        (*rt).private_stores += 1;
    }
    (*rt).near = 0;
    let words = top.saturating_sub(frame as usize) / 8;
    let private_stores = (*rt).private_stores;
    let state = hash(frame, words.min(WORDS), private_stores, expected);
    let limit = (*rt).config.spins;
    let thread = &mut (&mut (*rt).threads)[me];
    let free = thread.held == 0;
    let stores = thread.stores;
    let spin = &mut thread.spin;
    if spin.stores != stores {
        spin.loads.clear();
        spin.stores = stores;
    }
    spin.idle = None;
    spin.visits += 1;
    let visit = spin.visits;
    let pc = (*frame).pc;
    let Some(known) = spin.loads.iter_mut().find(|l| l.pc == pc && l.addr == addr) else {
        let deep = None;
        spin.loads.push(Load { pc, addr, len, value: seen, state, deep, times: 1, visit });
        return Idle::No;
    };
    let since = known.visit;
    let same = known.value == seen;
    if !same {
        spin.changed = visit;
    }
    // What was read in between must be what would be read again.
    let alike = same && known.state == state && spin.changed <= since;
    // The rest of a deep stack is looked at only when everything else is the same.
    let deep = (alike && (WORDS..MOST_WORDS).contains(&words))
        .then(|| hash(frame, words, private_stores, expected));
    let certain = alike && (words < WORDS || deep.is_some() && known.deep == deep);
    let times = if same { known.times + 1 } else { 1 };
    *known = Load { pc, addr, len, value: seen, state, deep, times, visit };
    if free && (certain || times > limit) {
        spin.idle = Some((since, certain));
    }
    let idle = spin.idle();
    (*rt).guesses += u64::from(idle == Idle::Guess);
    idle
}

/// The state of a thread, as a number. Four sums side by side, because each step of a sum waits for
/// the one before.
unsafe fn hash(frame: *const Frame, words: usize, stores: u64, expected: u64) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |a: u64, word: u64| (a.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    let from = frame.cast::<u64>();
    let mut sums = [stores, from as u64, mix(1, expected), 2];
    for at in (0..words & !3).step_by(4) {
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum = mix(*sum, from.add(at + i).read());
        }
    }
    for at in words & !3..words {
        sums[0] = mix(sums[0], from.add(at).read());
    }
    sums.into_iter().fold(0, mix)
}
