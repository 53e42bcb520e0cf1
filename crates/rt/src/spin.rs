//! When does a thread wait in a loop? When it comes back to a load in the same state in which it
//! was there before: it will go round until some other thread changes something.
//!
//! The state is made of the registers that outlive a call, the part of the stack that the loop can
//! see, how many stores the thread has made, and what it has read since. If all that is the same,
//! and no other thread has changed shared memory, the thread cannot leave the loop: that is certain
//! as far as the thread changes memory only where it is instrumented. If only the value that it read
//! is the same, a number of times, it is taken to wait as well, which is a guess, and counted.

use crate::frame::Frame;
use crate::runtime::Runtime;

/// How much of the stack belongs to the state, in words.
const WORDS: usize = 128;

/// What a thread has read since something changed.
#[derive(Default)]
pub struct Spin {
    reads: Vec<Load>,
    others: u64,
    stores: u64,
    /// It waits until this number of changes by others is exceeded.
    idle: Option<(u64, bool)>,
}

struct Load {
    pc: usize,
    addr: usize,
    value: u64,
    state: u64,
    times: u32,
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
        self.reads.clear();
        self.idle = None;
    }

    /// Whether the thread waits, after so many changes by others.
    pub fn idle(&self, others: u64) -> Idle {
        match self.idle {
            Some((then, certain)) if then == others => {
                if certain { Idle::Certain } else { Idle::Guess }
            }
            _ => Idle::No,
        }
    }
}

/// The current thread is about to read a value. Whether it waits in a loop; `stack` is the end of
/// its stack.
pub unsafe fn load(
    rt: *mut Runtime,
    frame: *const Frame,
    addr: usize,
    value: u64,
    stack: usize,
) -> Idle {
    let state = state(frame, stack, (*rt).private_stores);
    let limit = (*rt).config.spins;
    let me = (*rt).current;
    let changes = (*rt).changes;
    let thread = &mut (&mut (*rt).threads)[me];
    let others = changes - thread.changes;
    let stores = thread.stores;
    let spin = &mut thread.spin;
    if spin.others != others || spin.stores != stores {
        spin.reads.clear();
        spin.others = others;
        spin.stores = stores;
    }
    spin.idle = None;
    let pc = (*frame).pc;
    let known = spin.reads.iter_mut().find(|l| l.pc == pc && l.addr == addr);
    let Some(load) = known else {
        spin.reads.push(Load { pc, addr, value, state, times: 1 });
        return Idle::No;
    };
    if load.value != value {
        *load = Load { pc, addr, value, state, times: 1 };
        return Idle::No;
    }
    if load.state == state {
        spin.idle = Some((others, true));
        return Idle::Certain;
    }
    load.state = state;
    load.times += 1;
    if load.times > limit {
        spin.idle = Some((others, false));
        return Idle::Guess;
    }
    Idle::No
}

/// The state of a thread, as a number.
unsafe fn state(frame: *const Frame, stack: usize, stores: u64) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |a: u64, word: u64| (a.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    let from = frame.cast::<u64>();
    let words = ((stack - frame as usize) / 8).min(WORDS);
    let mut a = mix(stores, from as u64);
    for i in 0..words {
        a = mix(a, from.add(i).read_volatile());
    }
    a
}
