//! Static variables of functions in C++, which are initialised once: the compiler asks for their guards.
//!
//! The first byte of a guard says that it is done, which compiled code looks at itself, as an acquire
//! load; the second that a thread is at it.

use weakspot_live::{Op, OpKind, Order};

use crate::Rt;
use crate::entry::frame::stand_in;
use crate::entry::guest::{Guest, Question};
use crate::execution::monitors::Event;
use crate::schedule::threads::{Patience, Until, Varying};
use crate::schedule::turns::{step, wait};

type Guard = Guest<[u8; 8]>;

const DONE: usize = 0;
const BUSY: usize = 1;

/// A step on a guard, which is known by the byte that compiled code looks at.
fn op(kind: OpKind, guard: Guard) -> Op {
    Op { kind, len: 1, addr: guard.addr() as u64 }
}

/// Initialisation is over, one way or the other.
fn leave(rt: &mut Rt, guard: Guard, done: bool) {
    let pc = rt.pc();
    let release = op(OpKind::Release, guard);
    step(rt, release);
    let mut state = guard.get();
    state[DONE] = u8::from(done);
    state[BUSY] = 0;
    guard.set(state);
    rt.threads.me_mut().spin.changed();
    rt.record(Event::new(release, Order::SeqCst, pc));
}

stand_in! {
    /// Whether the caller is the one who initialises the variable.
    fn __cxa_guard_acquire(rt, guard: Guard) -> i32 {
        let pc = rt.pc();
        let acquire = op(OpKind::Acquire, guard);
        let rests = Question::about(guard, |guard: Guard| guard.get()[BUSY] == 0);
        if !rt.threads.alone() {
            // Who finds that it was done by now has only looked, which is no fence.
            let kind = |g: Guard| if g.get()[DONE] == 0 { OpKind::Acquire } else { OpKind::Read };
            rt.threads.me_mut().set_varying(Varying::Object(Question::about(guard, kind)));
        }
        wait(rt, acquire, Until::Object(rests), Patience::Endless);
        let mut state = guard.get();
        if state[DONE] != 0 {
            rt.record(Event::new(op(OpKind::Read, guard), Order::Acquire, pc));
            return 0;
        }
        state[BUSY] = 1;
        guard.set(state);
        rt.threads.me_mut().spin.changed();
        rt.record(Event::new(acquire, Order::SeqCst, pc));
        1
    }

    fn __cxa_guard_release(rt, guard: Guard) {
        leave(rt, guard, true);
    }

    fn __cxa_guard_abort(rt, guard: Guard) {
        leave(rt, guard, false);
    }
}
