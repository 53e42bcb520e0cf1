//! The mutexes of Rust's standard library: a word that is 0 when nobody has it. Who finds it taken would try again
//! some times, say in the word that it waits, and sleep; and who frees it would wake it. All of that is there to take
//! it when it is free, so that is what the step is: as for mutexes of pthreads, there is nothing else to explore.
//!
//! Code that was compiled without us may do the rest all the same, with the same word; then it is explored.

use weakspot_live::OpKind;
use weakspot_live::wire::Awaited;

use crate::Rt;
use crate::access::pending::settle;
use crate::entry::frame::Call;
use crate::entry::guest::{Area, Guest, Question};
use crate::schedule::threads::{Patience, Until};
use crate::schedule::turns::{step, wait};

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

/// Returns when it is the current thread's turn to free a mutex.
pub fn turn_to_free_mutex(rt: &mut Rt, area: Area) {
    step(rt, area.op(OpKind::Release));
    rt.owners.free(area.addr());
    rt.threads.me_mut().spin.unlocked();
}
