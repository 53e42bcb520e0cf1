//! Mutexes, and what all locks have in common. The state of locks is in the program's own objects, so that it
//! is restored with them, and objects that were initialised statically need nothing else.

use weakspot_live::wire::Awaited;
use weakspot_live::{Op, OpKind, Order, Sync};

use crate::access::pending::settle;
use crate::access::plain::read_step;
use crate::entry::frame::{Call, stand_in};
use crate::entry::guest::{Area, Guest, Question};
use crate::execution::ends::refuse;
use crate::execution::monitors::Event;
use crate::memory::check::check_object;
use crate::report::thread_name;
use crate::schedule::threads::{Patience, Until, Varying};
use crate::schedule::turns::{step, wait};
use crate::sync::late::begin_to_wait;
use crate::sync::misuse::{destroyed, misuse};
use crate::sync::mutex::{MUTEX, Mutex};
use crate::{Rt, Runtime};

/// The kind of one that was destroyed, as glibc marks it.
const GONE: i32 = -1;
/// The bit of one whose next owner hears that the last one has ended with it.
const ROBUST: i32 = 0x10;
/// What a kind may be made of.
const KINDS: i32 = 0x3ff;
const RECURSIVE: i32 = 1;
const CHECKED: i32 = 2;

/// A step that is about an object of this size.
pub(super) fn op<T: Copy>(kind: OpKind, object: Guest<T>, len: u32) -> Op {
    Op { kind, len, addr: object.addr() as u64 }
}

/// How objects name the current thread.
pub(super) fn me(rt: &Runtime) -> u32 {
    rt.threads.current() as u32 + 1
}

/// The current thread has the lock there. Locks say so themselves, but what was there before may look like one that is held.
pub(super) fn taken(rt: &mut Runtime, addr: usize) {
    let me = rt.threads.current();
    rt.owners.take(addr, me);
}

/// The current thread has taken or freed a lock, or has found that it cannot.
pub(super) fn done(rt: &mut Runtime, op: Op, pc: usize) {
    // An attempt that failed says nothing about what others did.
    let failed = matches!(op.kind, OpKind::Compare | OpKind::Read);
    done_with(rt, op, pc, if failed { Sync::Use } else { Sync::Lock });
}

pub(super) fn done_with(rt: &mut Runtime, op: Op, pc: usize, sync: Sync) {
    let spin = &mut rt.threads.me_mut().spin;
    let place = Area::place(op.addr as usize);
    match op.kind {
        OpKind::Acquire => {
            spin.locked();
            spin.undone.changed(place, 0, 1);
        }
        OpKind::Release => {
            spin.unlocked();
            spin.undone.changed(place, 1, 0);
        }
        _ => {}
    }
    rt.record(Event::new(op, Order::SeqCst, pc).orders(sync));
}

/// Announces that a lock is taken; returns when it is this thread's turn. Whether it can.
pub(super) fn wait_for(
    rt: &mut Rt,
    op: Op,
    free: Question<bool>,
    patience: Patience,
    call: Call,
) -> bool {
    if !rt.threads.alone() {
        begin_to_wait(rt, op.addr as usize);
        settle(rt);
        let timed = patience == Patience::Timed;
        // Who tries for some time again and again goes on when the lock is free.
        let seen = if timed { area_of(op) } else { Area::place(op.addr as usize) };
        rt.spins(call, seen, 0);
    }
    rt.threads.me_mut().awaits = Some(Awaited::Lock);
    let got = wait(rt, op, Until::Object(free), patience);
    check_object(rt, area_of(op), call.pc());
    got
}

/// Announces a step that frees a lock, or ends it; returns when it is this thread's turn.
pub(super) fn turn(rt: &mut Rt, op: Op, pc: usize) {
    step(rt, op);
    check_object(rt, area_of(op), pc);
}

/// Announces that an object is ended that glibc does nothing with, or stores to: that is no fence. Strategies keep it in an order with
/// its uses all the same.
pub(super) fn turn_to_end<T: Copy>(rt: &mut Rt, object: Guest<T>, len: u32, pc: usize) {
    // With store buffers, an update would wait for that of the thread.
    let kind = if rt.stores_are_buffered() { OpKind::Read } else { OpKind::Update };
    turn(rt, op(kind, object, len), pc);
}

/// The bytes of an object.
pub(super) fn area_of(op: Op) -> Area {
    // SAFETY: the bytes are those of the object that the program passed.
    unsafe { Area::at(op.addr as usize, op.len as usize) }
}

/// Announces an attempt to take a lock that is an update only if it succeeds.
pub(super) fn try_step(rt: &mut Rt, op: Op, varying: Varying, call: Call) {
    read_step(rt, area_of(op), op, call, Some(varying));
    check_object(rt, area_of(op), call.pc());
}

/// What an attempt is that only looks if it cannot succeed: that is no fence.
pub(super) fn look(succeeds: bool) -> OpKind {
    if succeeds { OpKind::Update } else { OpKind::Read }
}

/// A mutex that is used has to be there.
fn usable(rt: &mut Rt, mutex: Guest<Mutex>, what: &str, pc: usize) {
    let kind = mutex.get().kind;
    if kind == GONE {
        misuse(rt, mutex.addr(), pc, &format!("{what} a mutex that was destroyed"));
    }
    if kind & !KINDS != 0 {
        misuse(rt, mutex.addr(), pc, &format!("{what} a mutex that was not initialised"));
    }
}

pub(super) fn mutex_is_free(mutex: Guest<Mutex>) -> bool {
    mutex.get().held == 0
}

/// Takes a mutex, after waiting for it; 0 or an error.
pub fn lock(rt: &mut Rt, mutex: Guest<Mutex>, patience: Patience) -> i32 {
    let call = rt.call();
    let state = mutex.get();
    if state.kind != GONE && state.kind & ROBUST != 0 && state.kind & !KINDS == 0 {
        refuse(rt, "pthread_mutex_lock of a robust mutex", call.pc());
    }
    if state.is_held_by(me(rt)) {
        match state.kind() {
            RECURSIVE => {
                mutex.set(Mutex { count: state.count + 1, ..state });
                rt.threads.me_mut().spin.undone.clear();
                return 0;
            }
            CHECKED => return libc::EDEADLK,
            _ => {}
        }
    }
    let free = Question::about(mutex, mutex_is_free);
    let got = wait_for(rt, op(OpKind::Acquire, mutex, MUTEX), free, patience, call);
    usable(rt, mutex, "locks", call.pc());
    if !got {
        done(rt, op(OpKind::Compare, mutex, MUTEX), call.pc());
        return libc::ETIMEDOUT;
    }
    take(rt, mutex, call.pc());
    0
}

/// Takes a mutex again that a wait has freed.
pub fn relock(rt: &mut Rt, mutex: Guest<Mutex>, pc: usize) {
    let free = Until::Object(Question::about(mutex, mutex_is_free));
    rt.threads.me_mut().awaits = Some(Awaited::Lock);
    wait(rt, op(OpKind::Acquire, mutex, MUTEX), free, Patience::Endless);
    check_object(rt, area_of(op(OpKind::Acquire, mutex, MUTEX)), pc);
    usable(rt, mutex, "locks", pc);
    take(rt, mutex, pc);
}

fn take(rt: &mut Runtime, mutex: Guest<Mutex>, pc: usize) {
    mutex.set(Mutex { held: 1, count: 1, owner: me(rt), ..mutex.get() });
    taken(rt, mutex.addr());
    done(rt, op(OpKind::Acquire, mutex, MUTEX), pc);
}

/// Takes a mutex if it is free.
pub fn try_lock(rt: &mut Rt, mutex: Guest<Mutex>) -> i32 {
    let call = rt.call();
    let state = mutex.get();
    if state.is_held_by(me(rt)) && state.kind() == RECURSIVE {
        mutex.set(Mutex { count: state.count + 1, ..state });
        rt.threads.me_mut().spin.undone.clear();
        return 0;
    }
    let varying = free_word(mutex);
    try_step(rt, op(OpKind::Update, mutex, MUTEX), varying, call);
    usable(rt, mutex, "locks", call.pc());
    if mutex.get().held != 0 {
        done(rt, op(OpKind::Compare, mutex, MUTEX), call.pc());
        return libc::EBUSY;
    }
    take(rt, mutex, call.pc());
    0
}

/// A step that is an update if the first word of an object is 0.
pub(super) fn free_word<T: Copy>(object: Guest<T>) -> Varying {
    // SAFETY: the objects that this is asked for begin with a word.
    Varying::Exchange(unsafe { Area::at(object.addr(), 4) }, 0)
}

/// Frees a mutex.
pub fn unlock(rt: &mut Rt, mutex: Guest<Mutex>, pc: usize) -> i32 {
    let state = mutex.get();
    let kind = state.kind();
    if (kind == RECURSIVE || kind == CHECKED) && !state.is_held_by(me(rt)) {
        return libc::EPERM;
    }
    if kind == RECURSIVE && state.count > 1 {
        mutex.set(Mutex { count: state.count - 1, ..state });
        rt.threads.me_mut().spin.undone.clear();
        return 0;
    }
    let op = op(OpKind::Release, mutex, MUTEX);
    turn(rt, op, pc);
    usable(rt, mutex, "unlocks", pc);
    let Mutex { held, owner, .. } = mutex.get();
    if held == 0 {
        misuse(rt, mutex.addr(), pc, "unlocks a mutex that nobody holds");
    }
    // Before `main`, threads have other numbers.
    if owner != me(rt) && (1..=rt.threads.count()).contains(&(owner as usize)) {
        let text = format!("unlocks a mutex that {} holds", thread_name(owner as usize - 1));
        misuse(rt, mutex.addr(), pc, &text);
    }
    mutex.set(Mutex { held: 0, count: 0, owner: 0, ..mutex.get() });
    rt.owners.free(mutex.addr());
    done(rt, op, pc);
    0
}

/// Ends a mutex.
pub fn destroy(rt: &mut Rt, mutex: Guest<Mutex>, pc: usize) {
    turn_to_end(rt, mutex, MUTEX, pc);
    usable(rt, mutex, "destroys", pc);
    let Mutex { held, owner, .. } = mutex.get();
    if held != 0 {
        let text = format!(
            "destroys a mutex that {} holds",
            thread_name(owner.saturating_sub(1) as usize)
        );
        misuse(rt, mutex.addr(), pc, &text);
    }
    mutex.set(Mutex { kind: GONE, ..mutex.get() });
    destroyed(rt, mutex.addr(), pc);
}

stand_in! {
    fn pthread_mutex_destroy(rt, mutex: Guest<Mutex>) -> i32 {
        let pc = rt.pc();
        destroy(rt, mutex, pc);
        0
    }

    fn pthread_mutex_lock(rt, mutex: Guest<Mutex>) -> i32 {
        lock(rt, mutex, Patience::Endless)
    }

    fn pthread_mutex_trylock(rt, mutex: Guest<Mutex>) -> i32 {
        try_lock(rt, mutex)
    }

    fn pthread_mutex_timedlock(rt, mutex: Guest<Mutex>, until: usize) -> i32 {
        rt.wait_until(until, false);
        lock(rt, mutex, Patience::Timed)
    }

    fn pthread_mutex_clocklock(rt, mutex: Guest<Mutex>, clock: i32, until: usize) -> i32 {
        let _ = clock;
        rt.wait_until(until, false);
        lock(rt, mutex, Patience::Timed)
    }

    fn pthread_mutex_unlock(rt, mutex: Guest<Mutex>) -> i32 {
        let pc = rt.pc();
        unlock(rt, mutex, pc)
    }
}
