//! The end of an execution, from wherever it is noticed.

use weakspot_live::Ended;
use weakspot_live::wire::TOO_LONG;

use crate::report::DEFECT;
use crate::schedule::coroutine::switch;
use crate::sys;
use crate::{Rt, Runtime};

/// The execution is over, from wherever that is noticed: the worker goes on.
pub fn finish(rt: &mut Rt, ended: Ended) -> ! {
    rt.exploration.set_ended(ended);
    rt.remember_stack();
    rt.set_live(false);
    rt.coroutines.set_main_thread_pointer();
    // SAFETY: the worker has left its stack pointer there when it started the execution.
    unsafe { leave_for(rt.coroutines.base()) }
}

/// Goes on at another stack pointer, and never comes back.
///
/// # Safety
/// The stack pointer is one that `switch` or `prepare` has left, of a coroutine that does not run.
pub(super) unsafe fn leave_for(sp: usize) -> ! {
    let mut nowhere = 0;
    // SAFETY: as the caller says; what this coroutine has borrowed is never used again.
    unsafe { switch(&raw mut nowhere, sp) };
    sys::quit(DEFECT)
}

/// One more step; an execution with too many of them ends here.
pub(super) fn count(rt: &mut Rt) {
    rt.private.step();
    rt.signals().add_step();
    if rt.threads.count() <= 1 + usize::from(rt.config.harness) {
        rt.exploration.no_thread_yet();
    }
    let limit = rt.config.steps;
    let too_long = rt.exploration.add_step(limit);
    if too_long || rt.signals().stopped() {
        if too_long {
            let (current, pc) = (rt.threads.current(), rt.pc());
            rt.finding(TOO_LONG, Some(current), pc, "");
        }
        finish(rt, Ended::Cut);
    }
}

impl Runtime {
    /// The current thread has used its stack down to here, unless it is on another one, in a signal
    /// handler.
    pub(super) fn remember_stack(&mut self) {
        let here = 0_u8;
        let here = &raw const here as usize;
        if self.coroutines.slot(self.threads.current()).holds(here) {
            self.threads.me_mut().used_down_to(here);
        }
    }
}
