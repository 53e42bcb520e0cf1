//! Accesses are looked at before they are done: one to memory that is not there is reported, and ends
//! its execution.

use crate::Rt;
use crate::entry::guest::Area;
use crate::execution::ends;
use crate::memory::blocks::HEAPS;
use crate::memory::errors::{MemoryError, Use};
use crate::schedule::coroutine::STACKS;

/// The current thread is about to access bytes, now. Returns if they are there.
#[inline]
pub fn check(rt: &mut Rt, area: Area, what: Use, pc: usize) {
    let addr = area.addr();
    // Stacks come first, then heaps, then everything else.
    if addr < STACKS || addr >= HEAPS && rt.heap.blocks.fine_all(area) {
        return;
    }
    let me = rt.threads.current();
    if let Some(error) = rt.memory_error(me, area, what) {
        wrong(rt, &error, pc);
    }
}

/// The same for something that a thread waits by, or lets others go on by.
pub fn check_object(rt: &mut Rt, area: Area, pc: usize) {
    check(rt, area, Use::Write, pc);
    if rt.heap.blocks.hold(area.addr()) {
        let me = rt.threads.current();
        rt.heap.blocks.synchronise(area.addr(), me);
    }
}

/// The current thread does something with memory that it must not do.
#[cold]
pub fn wrong(rt: &mut Rt, error: &MemoryError, pc: usize) -> ! {
    let me = rt.threads.current();
    // That the other order is possible, too, can only be found out if both are steps.
    if let Some(area) = error.shared
        && !rt.threads.alone()
        && rt.config.filter
        && !rt.shadow.is_shared(area)
    {
        rt.shadow.set_shared(area.addr(), area.len() as usize);
        rt.learn(area.addr(), area.len() as usize);
    }
    rt.trace_misuse(me, error.op, pc);
    ends::fail_with(rt, me, error.kind, pc, &error.text, &error.related)
}
