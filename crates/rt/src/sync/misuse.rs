//! Locks that are used in a way that nothing is promised for: what libc would do then depends on the
//! moment, so it is a failure. Functions that return an error for it, as those of mutexes that check
//! their owners, are left to do so.
//!
//! That an object was destroyed is written into it, so that whoever puts it back to its first state in
//! whatever way can use it again.

use crate::Rt;
use crate::execution::ends;
use crate::memory::blocks::Done;

/// Where objects were destroyed in this execution, by address.
pub struct Destroyed(Vec<(usize, Done)>);

impl Destroyed {
    /// None.
    pub fn new() -> Destroyed {
        Destroyed(Vec::new())
    }

    /// Before an execution.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The object there is made again.
    pub fn forget(&mut self, addr: usize) {
        self.0.retain(|d| d.0 != addr);
    }
}

/// The current thread has destroyed an object.
pub fn destroyed(rt: &mut Rt, addr: usize, pc: usize) {
    let done = Done { pc, thread: rt.threads.current() as u16 };
    let all = &mut rt.destroyed.0;
    match all.iter_mut().find(|d| d.0 == addr) {
        Some(known) => known.1 = done,
        None => all.push((addr, done)),
    }
}

/// The current thread misuses the object there.
#[cold]
pub fn misuse(rt: &mut Rt, addr: usize, pc: usize, text: &str) -> ! {
    let known = rt.destroyed.0.iter().find(|d| d.0 == addr).map(|d| d.1);
    let related = known.map(|d| ("destroyed here", Some(usize::from(d.thread)), d.pc));
    let me = rt.threads.current();
    ends::fail_with(rt, me, "lock-misuse", pc, text, related.as_slice())
}
