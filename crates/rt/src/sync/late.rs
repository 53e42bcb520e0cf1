//! Objects that are initialised where a thread may already wait for them.
//!
//! Whoever waits for an object that nobody frees before it is initialised comes after that in every order of their steps: that it
//! waited before would be in none. So to begin to wait becomes a step of its own, once an execution has shown that such an
//! object is initialised while there are other threads. These steps are additions, which may be exchanged with
//! each other; to initialise the object reads them.

use weakspot_live::OpKind;

use crate::entry::guest::Area;
use crate::schedule::turns::step;
use crate::{Rt, Runtime};

/// Stands for all objects that are initialised so: no program has anything there.
const LATE: Area = Area::nowhere(0x1020, 8);

/// Stands for those who wait for an object: the addresses of programs are lower.
fn waiters(object: usize) -> Area {
    Area::nowhere(object | 1 << 63, 1)
}

/// The current thread is about to wait for an object, if it has to.
pub fn begin_to_wait(rt: &mut Rt, object: usize) {
    if !rt.threads.alone() && matters(rt) {
        step(rt, waiters(object).op(OpKind::Add));
    }
}

/// The current thread is about to initialise an object.
pub fn ask_for_waiters(rt: &mut Rt, object: usize) {
    if !rt.threads.alone() && matters(rt) {
        step(rt, waiters(object).op(OpKind::Read));
    }
}

/// The current thread initialises an object that would have kept others waiting.
pub fn may_be_late(rt: &mut Runtime) {
    if !rt.threads.alone() && rt.lets_steps_commute() && !matters(rt) {
        let (addr, len) = (LATE.addr(), LATE.len() as usize);
        rt.shadow.set_shared(addr, len);
        rt.learn(addr, len);
    }
}

fn matters(rt: &Runtime) -> bool {
    rt.lets_steps_commute() && rt.shadow.is_shared(LATE)
}
