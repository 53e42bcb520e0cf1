//! The locks of Rust's standard library: a word that is 0 when nobody has it. Who finds it taken would try again
//! some times, say in the word that it waits, and sleep; and who frees it would wake it. All of that is there to take
//! it when it is free, so that is what the step is: as for locks of pthreads, there is nothing else to explore.
//!
//! Of a read-write lock, the word is how many have it for reading, or [`WRITES`]. It is a lock that prefers writers: while one waits,
//! no reader comes in, not even one that has the lock already, which is a deadlock. So it is a step
//! of its own that a writer begins to wait.
//!
//! Code that was compiled without us may do the rest all the same, with the same word; then it is explored.

use weakspot_live::OpKind;
use weakspot_live::wire::Awaited;

use crate::access::pending::settle;
use crate::entry::frame::Call;
use crate::entry::guest::{Area, Guest, Question};
use crate::schedule::threads::{Patience, Until};
use crate::schedule::turns::{step, wait};
use crate::{Rt, Runtime};

/// Waits until a mutex is free; returns when it is the current thread's turn to take it.
pub fn wait_for_mutex(rt: &mut Rt, area: Area, call: Option<Call>) {
    if !rt.threads.alone() {
        settle(rt);
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
