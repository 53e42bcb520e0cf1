//! What libc and the kernel keep for the whole process, and not in memory of the program: numbers that are random, descriptors, the
//! environment, what is registered for the end, handlers of signals. In which order threads use it matters, so each use is a
//! step. It is known to strategies only: it empties no buffer, and orders no accesses for monitors and the detector of
//! data races.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU64, Ordering};

use weakspot_live::{BEYOND_MEMORY, Op, OpKind};

use crate::Rt;
use crate::access::plain::read_step;
use crate::entry::frame::{entry, stand_in};
use crate::entry::guest::Area;
use crate::entry::native::native;
use crate::schedule::turns::step;

/// Something that is kept.
#[derive(Clone, Copy)]
pub enum Kept {
    /// Where the sequences of `rand` and its like are.
    Random,
    /// The environment.
    Environment,
    /// What is registered for the end of the program.
    Exits,
    /// What is done with signals.
    Handlers,
    /// Which descriptors are open: who opens one gets the lowest that is free.
    Descriptors,
    /// One of them.
    Descriptor(i32),
    /// An object of libc in which it keeps where it is, by its address: a stream, a folder that is read.
    Object(usize),
    /// Whatever else functions remember from one call to the next, such as `getopt`, and what paths stand for.
    Other,
}

/// How many times something was changed, by a hash of its place: who waits in a loop for that looks at this.
static CHANGES: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// Before an execution.
pub fn begin() {
    for changes in &CHANGES {
        changes.store(0, Ordering::Relaxed);
    }
}

impl Kept {
    fn changes(self) -> &'static AtomicU64 {
        // Objects are this far apart.
        const APART: u64 = 16;
        let place = self.op(OpKind::Read).addr;
        &CHANGES[((place / APART) ^ place) as usize % CHANGES.len()]
    }

    fn op(self, kind: OpKind) -> Op {
        /// Descriptors are one after the other. Those of a program are fewer.
        const FIRST: u64 = 0x100;
        const MOST: u32 = 1024;
        let (place, len) = match self {
            Kept::Random => (1, 1),
            Kept::Environment => (2, 1),
            Kept::Exits => (3, 1),
            Kept::Handlers => (4, 1),
            Kept::Descriptors => (FIRST, MOST),
            Kept::Descriptor(fd) => (FIRST + u64::from(fd.unsigned_abs().min(MOST - 1)), 1),
            Kept::Object(addr) => (addr as u64, 1),
            Kept::Other => (5, 1),
        };
        Op { kind, len, addr: BEYOND_MEMORY + place }
    }
}

/// The current thread is about to look at it.
pub fn look(rt: &mut Rt, kept: Kept) {
    let call = rt.call();
    // SAFETY: it may change at any time, as memory of the program does.
    let changes = unsafe { Area::at(kept.changes().as_ptr() as usize, 8) };
    read_step(rt, changes, kept.op(OpKind::Read), call, None);
}

/// The current thread is about to change it.
pub fn change(rt: &mut Rt, kept: Kept) {
    step(rt, kept.op(OpKind::Update));
    // A loop that changes it is not where it was, such as one that takes descriptors until there are none. Who asks for
    // random numbers may get any (`Spin::asks`).
    if !matches!(kept, Kept::Random) {
        rt.threads.me_mut().spin.changed();
        kept.changes().fetch_add(1, Ordering::Relaxed);
    }
}

extern "C" fn at_exit(f: extern "C" fn(*mut c_void), arg: *mut c_void, dso: *mut c_void) -> i32 {
    // SAFETY: entered from the program, see `Rt::live`.
    let Some(mut rt) = (unsafe { Rt::home() }) else {
        return native!(__cxa_atexit(f: extern "C" fn(*mut c_void), arg: *mut c_void, dso: *mut c_void) -> i32);
    };
    if rt.is_live() {
        change(&mut rt, Kept::Exits);
    }
    rt.exits.register(f, arg);
    0
}

extern "C" fn at_quick_exit(f: extern "C" fn(*mut c_void), dso: *mut c_void) -> i32 {
    // SAFETY: entered from the program, see `Rt::live`.
    let Some(mut rt) = (unsafe { Rt::home() }) else {
        return native!(__cxa_at_quick_exit(f: extern "C" fn(*mut c_void), dso: *mut c_void) -> i32);
    };
    if rt.is_live() {
        change(&mut rt, Kept::Exits);
    }
    rt.exits.register_quick(f);
    0
}

entry! {
    __cxa_atexit => at_exit;
    __cxa_at_quick_exit => at_quick_exit;
}

stand_in! {
    fn getenv(rt, name: usize) -> usize {
        look(rt, Kept::Environment);
        native!(getenv(name: usize) -> usize)
    }

    fn secure_getenv(rt, name: usize) -> usize {
        look(rt, Kept::Environment);
        native!(secure_getenv(name: usize) -> usize)
    }

    fn setenv(rt, name: usize, value: usize, again: i32) -> i32 {
        change(rt, Kept::Environment);
        native!(setenv(name: usize, value: usize, again: i32) -> i32)
    }

    fn unsetenv(rt, name: usize) -> i32 {
        change(rt, Kept::Environment);
        native!(unsetenv(name: usize) -> i32)
    }

    fn putenv(rt, entry: usize) -> i32 {
        change(rt, Kept::Environment);
        native!(putenv(entry: usize) -> i32)
    }

    fn clearenv(rt) -> i32 {
        change(rt, Kept::Environment);
        native!(clearenv() -> i32)
    }
}
