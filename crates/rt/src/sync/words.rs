//! The locks of Rust's standard library: a word that is 0 when nobody has it. Who finds it taken would try again
//! some times, say in the word that it waits, and sleep; and who frees it would wake it. All of that is there to take
//! it when it is free, so that is what the step is: as for locks of pthreads, there is nothing else to explore.
//!
//! Of a read-write lock, the word is how many have it for reading, or [`WRITES`]. It is a lock that prefers writers: while one waits,
//! no reader comes in, not even one that has the lock already, which is a deadlock. So it is a step
//! of its own that a writer begins to wait.
//!
//! The same goes for the word by which a thread parks: whoever unparks it changes the word, and then it goes on. Of a condition variable,
//! it is one step to change its word and to wake those who wait for it.
//!
//! Code that was compiled without us may do the rest all the same, with the same word; then it is explored.

use weakspot_live::wire::Awaited;
use weakspot_live::{OpKind, Plan};

use crate::access::pending::settle;
use crate::entry::frame::Call;
use crate::entry::guest::{Area, Guest, Question};
use crate::schedule::threads::{Patience, Until, Varying};
use crate::schedule::turns::{channels, step, wait};
use crate::sync::waits::wakes;
use crate::{Rt, Runtime};

/// Waits until a mutex is free; returns when it is the current thread's turn to take it.
pub fn wait_for_mutex(rt: &mut Rt, area: Area, call: Option<Call>) {
    if !rt.threads.alone() {
        settle(rt);
        channels::enter(rt, area);
        if let Some(call) = call {
            rt.spins(call, Area::place(area.addr()), 0);
        }
    }
    rt.threads.me_mut().awaits = Some(Awaited::Word);
    // SAFETY: the program has the word of a mutex there.
    let word: Guest<u32> = unsafe { Guest::at(area.addr()) };
    let free = Until::Object(Question::about(word, |word| word.get() == 0));
    wait(rt, area.op(OpKind::Acquire), free, Patience::Endless);
    let me = rt.threads.current();
    rt.owners.take(area.addr(), me);
    // That the word changes is no change to a loop that asks for something under the mutex.
    rt.threads.me_mut().spin.locked();
}

/// Of a read-write lock: somebody waits in order to write. It is said to those who only try to read; those who wait
/// here do not set it, because nobody has to wake them.
pub const WRITER_WAITS: u128 = 1 << 31;

/// Of a read-write lock: somebody writes. Fewer than this read.
const WRITES: u32 = (1 << 30) - 1;

fn can_read(rt: &Runtime, _thread: usize, addr: usize) -> bool {
    // SAFETY: the program has the word of a read-write lock there.
    let word: Guest<u32> = unsafe { Guest::at(addr) };
    // The upper bits say that somebody waits in a way that is explored step by step.
    word.get() < WRITES - 1 && !rt.owners.is_wanted(addr)
}

/// Waits until a read-write lock is free for reading; returns when it is the current thread's turn. What it does next
/// is to take it.
pub fn wait_to_read(rt: &mut Rt, area: Area, call: Call) {
    if !rt.threads.alone() {
        settle(rt);
        rt.spins(call, Area::place(area.addr()), 0);
    }
    rt.threads.me_mut().awaits = Some(Awaited::Word);
    let free = Until::Known(can_read, area.addr());
    wait(rt, area.op(OpKind::Acquire), free, Patience::Endless);
    rt.owners.reading = Some(area.addr());
    rt.threads.me_mut().spin.locked();
}

/// Waits until a read-write lock is free for writing; returns when it is the current thread's turn to take it.
pub fn wait_to_write(rt: &mut Rt, area: Area, call: Option<Call>) {
    if !rt.threads.alone() {
        settle(rt);
        if let Some(call) = call {
            rt.spins(call, Area::place(area.addr()), 0);
        }
    }
    step(rt, area.op(OpKind::Update));
    // SAFETY: the program has the word of a read-write lock there.
    let word: Guest<u32> = unsafe { Guest::at(area.addr()) };
    if word.get() != 0 {
        rt.owners.want(area.addr());
        rt.threads.me_mut().awaits = Some(Awaited::Word);
        let free = Until::Object(Question::about(word, |word| word.get() == 0));
        wait(rt, area.op(OpKind::Acquire), free, Patience::Endless);
        rt.owners.got(area.addr());
    }
    let me = rt.threads.current();
    rt.owners.take(area.addr(), me);
    rt.threads.me_mut().spin.locked();
}

/// Returns when it is the current thread's turn to free a read-write lock.
pub fn turn_to_free(rt: &mut Rt, area: Area) {
    // SAFETY: the program has the word of a read-write lock there.
    let word: Guest<u32> = unsafe { Guest::at(area.addr()) };
    // When a reader leaves, another could have come before.
    let kind = if word.get() & WRITES == WRITES { OpKind::Release } else { OpKind::Update };
    step(rt, area.op(kind));
    if kind == OpKind::Release {
        rt.owners.free(area.addr());
    }
    rt.threads.me_mut().spin.unlocked();
}

/// Returns when it is the current thread's turn to free a mutex.
pub fn turn_to_free_mutex(rt: &mut Rt, area: Area) {
    step(rt, area.op(OpKind::Release));
    rt.owners.free(area.addr());
    rt.threads.me_mut().spin.unlocked();
}

/// Words that Rust's standard library waits for, of which it is known what they are there for.
pub struct Words {
    conditions: Vec<usize>,
    parkers: Vec<usize>,
}

/// What the word of a thread is that has parked.
pub const PARKED: u32 = u32::MAX;

impl Words {
    /// None.
    pub fn new() -> Words {
        Words { conditions: Vec::new(), parkers: Vec::new() }
    }

    /// Before an execution.
    pub fn clear(&mut self) {
        self.conditions.clear();
        self.parkers.clear();
    }

    /// A thread waits for the condition variable there.
    pub fn add_condition(&mut self, addr: usize) {
        if !self.conditions.contains(&addr) {
            self.conditions.push(addr);
        }
    }

    /// A thread parks, and others unpark it by this word.
    pub fn add_parker(&mut self, addr: usize) {
        if !self.parkers.contains(&addr) {
            self.parkers.push(addr);
        }
    }

    /// Whether threads wait for a condition variable there.
    pub fn is_condition(&self, addr: usize) -> bool {
        self.conditions.contains(&addr)
    }

    /// Whether a thread parks there.
    pub fn is_parker(&self, addr: usize) -> bool {
        self.parkers.contains(&addr)
    }
}

impl Runtime {
    /// What it depends on what an update is that lets others go on, if it is one of a known word.
    pub fn waking(&self, area: Area) -> Option<Varying> {
        match area.addr() {
            _ if self.config.plan == Plan::Rf => None,
            addr if self.words.is_parker(addr) => Some(Varying::Known(unparks, addr)),
            addr if self.words.is_condition(addr) => Some(Varying::Known(wakes, addr)),
            _ => None,
        }
    }

    /// The current thread has updated a word: if it is that of a condition variable, what comes next is to wake others.
    pub fn updated_word(&mut self, area: Area) {
        let condition = self.words.is_condition(area.addr()).then_some(area.addr());
        self.threads.me_mut().waiting.notifies = condition;
    }
}

/// Without it, a thread that has parked could not have gone on.
fn unparks(_rt: &Runtime, word: usize) -> OpKind {
    // SAFETY: the program has the word of a thread there that parks.
    let word: Guest<u32> = unsafe { Guest::at(word) };
    if word.get() == PARKED { OpKind::Release } else { OpKind::Update }
}
