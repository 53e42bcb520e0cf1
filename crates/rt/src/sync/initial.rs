//! Objects that threads wait by are made.
//!
//! To make one is a plain store to it. Nothing of it is ordered, so that others may use it only when they know by something
//! else that it is there: a use that comes too early is a data race. One that somebody holds or waits for cannot be made again.

use weakspot_live::OpKind;

use crate::access::plain::access;
use crate::entry::frame::stand_in;
use crate::entry::guest::{Area, Guest};
use crate::entry::native::native;
use crate::memory::frames::stack_of;
use crate::report::thread_name;
use crate::sync::barriers::{BARRIER, Barrier, make};
use crate::sync::late::{ask_for_waiters, may_be_late};
use crate::sync::locks::{area_of, mutex_is_free, op};
use crate::sync::misuse::misuse;
use crate::sync::mutex::{MUTEX, Mutex, RW_LOCK, RwLock, SPIN_LOCK};
use crate::sync::rwlocks::{can_write, spin_is_free};
use crate::sync::waits::{CONDITION, Condition, SEMAPHORE, Semaphore, is_positive};
use crate::{Rt, Runtime};

/// What threads wait for that use an object.
#[derive(Clone, Copy)]
struct Kind<T> {
    name: &'static str,
    len: u32,
    /// Whether they need not wait as it is.
    free: fn(Guest<T>) -> bool,
}

const A_MUTEX: Kind<Mutex> = Kind { name: "a mutex", len: MUTEX, free: mutex_is_free };
const A_RW_LOCK: Kind<RwLock> = Kind { name: "a read-write lock", len: RW_LOCK, free: can_write };
const A_SPIN_LOCK: Kind<u32> = Kind { name: "a spin lock", len: SPIN_LOCK, free: spin_is_free };
const A_SEMAPHORE: Kind<u32> = Kind { name: "a semaphore", len: SEMAPHORE, free: is_positive };
// To begin to wait for these is a step in any case.
const A_CONDITION: Kind<()> = Kind { name: "a condition variable", len: CONDITION, free: |_| true };
const A_BARRIER: Kind<Barrier> = Kind { name: "a barrier", len: BARRIER, free: |_| true };

/// The current thread makes an object; when this returns, it writes its bytes.
fn initialise<T: Copy>(rt: &mut Rt, object: Guest<T>, kind: &Kind<T>) {
    let (call, addr) = (rt.call(), object.addr());
    let &Kind { name, len, free } = kind;
    ask_for_waiters(rt, addr);
    let area = area_of(op(OpKind::Write, object, len));
    // Those who use it do not say which bytes they touch, so that nobody would learn that they are shared.
    if !rt.threads.alone() && rt.config.filter && !rt.shadow.is_shared(area) {
        rt.shadow.set_shared(addr, len as usize);
        rt.learn(addr, len as usize);
    }
    access(rt, area, true, call);
    if !free(object) {
        may_be_late(rt);
    }
    // On the stack of its owner, one that was not freed may be a variable of a function that has returned, and what is
    // there now another.
    if rt.owners.others_have(addr, stack_of(addr)) {
        misuse(rt, addr, call.pc(), &format!("initialises {name} that is held"));
    }
    if let Some(waiting) = waits_by(rt, area) {
        let text = format!("initialises {name} that {} waits for", thread_name(waiting));
        misuse(rt, addr, call.pc(), &text);
    }
    rt.owners.free(addr);
    rt.destroyed.forget(addr);
}

/// A thread that waits by an object, and cannot go on as things are.
fn waits_by(rt: &Runtime, object: Area) -> Option<usize> {
    let waiting = |t: &usize| {
        let waiting = &rt.threads.get(*t).waiting;
        waiting.is_in(object.addr()) && !waiting.is_woken()
    };
    let mut others = (0..rt.threads.count()).filter(|t| *t != rt.threads.current());
    others.find(|t| waiting(t) || rt.is_kept_by(object, *t))
}

stand_in! {
    fn pthread_mutex_init(rt, mutex: Guest<Mutex>, attributes: usize) -> i32 {
        initialise(rt, mutex, &A_MUTEX);
        native!(pthread_mutex_init(mutex: Guest<Mutex>, attributes: usize) -> i32)
    }

    fn mtx_init(rt, mutex: Guest<Mutex>, kind: i32) -> i32 {
        initialise(rt, mutex, &A_MUTEX);
        native!(mtx_init(mutex: Guest<Mutex>, kind: i32) -> i32)
    }

    fn pthread_rwlock_init(rt, lock: Guest<RwLock>, attributes: usize) -> i32 {
        initialise(rt, lock, &A_RW_LOCK);
        native!(pthread_rwlock_init(lock: Guest<RwLock>, attributes: usize) -> i32)
    }

    fn pthread_cond_init(rt, condition: Condition, attributes: usize) -> i32 {
        initialise(rt, condition, &A_CONDITION);
        native!(pthread_cond_init(condition: Condition, attributes: usize) -> i32)
    }

    fn cnd_init(rt, condition: Condition) -> i32 {
        initialise(rt, condition, &A_CONDITION);
        native!(cnd_init(condition: Condition) -> i32)
    }

    fn sem_init(rt, semaphore: Semaphore, shared: i32, value: u32) -> i32 {
        initialise(rt, semaphore, &A_SEMAPHORE);
        native!(sem_init(semaphore: Semaphore, shared: i32, value: u32) -> i32)
    }

    fn pthread_barrier_init(rt, barrier: Guest<Barrier>, attributes: usize, n: u32) -> i32 {
        let _ = attributes;
        if n == 0 {
            return libc::EINVAL;
        }
        initialise(rt, barrier, &A_BARRIER);
        make(rt, barrier, n);
        0
    }

    /// glibc would write that it is free in its own way.
    fn pthread_spin_init(rt, lock: Guest<u32>, shared: i32) -> i32 {
        let _ = shared;
        initialise(rt, lock, &A_SPIN_LOCK);
        lock.set(0);
        0
    }
}
