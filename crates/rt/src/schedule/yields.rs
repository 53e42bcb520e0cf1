//! Giving way to others.

use weakspot_live::{Op, OpKind};

use crate::Rt;
use crate::entry::frame::entry;
use crate::schedule::threads::Parked;
use crate::schedule::turns::{park, step};

/// Lets others run, from this place of the program.
pub fn give_way(rt: &mut Rt, pc: usize) {
    let state = rt.state_of_loop().map(|state| state ^ rt.clock.state());
    let yields = &mut rt.threads.me_mut().yields;
    if state.is_some_and(|state| yields.is_endless(pc, state)) {
        park(rt, pc, Parked::Yields);
    }
    step(rt, Op::plain(OpKind::Yield));
}

/// The program pauses by an instruction.
extern "C" fn pause() {
    // SAFETY: entered from the program, see `Rt::live`.
    if let Some(mut rt) = unsafe { Rt::live() } {
        // The caller is `__weakspot_asm_pause`, which keeps its stack pointer in rbp.
        let pc = rt.called_from_assembly();
        give_way(&mut rt, pc);
    }
}

extern "C" fn yields() -> i32 {
    // SAFETY: entered from the program, see `Rt::live`.
    if let Some(mut rt) = unsafe { Rt::live() } {
        let pc = rt.pc();
        give_way(&mut rt, pc);
    }
    0
}

entry! {
    __weakspot_pause => pause;
    pthread_yield => yields;
    sched_yield => yields;
    thrd_yield => yields;
}
